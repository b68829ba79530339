//! Tests of `pattern`.
