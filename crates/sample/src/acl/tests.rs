//! Tests of `acl`.
