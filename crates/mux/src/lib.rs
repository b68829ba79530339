//! One connection's protocol machine per module, both sides. No I/O, no clock, no rules.
#![forbid(unsafe_code)]
