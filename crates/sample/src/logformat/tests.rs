//! Tests of `logformat`.
