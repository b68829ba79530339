//! Expressions: fetches, converters, typed values, patterns, ACLs, log formats. Sees the world only through `Facts`.
#![forbid(unsafe_code)]
