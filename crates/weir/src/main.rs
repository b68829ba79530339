//! The `weir` command. Never forwards a byte itself.

fn main() {}
