//! The `weir` command. Never forwards a byte itself.
#![forbid(unsafe_code)]

fn main() {}
