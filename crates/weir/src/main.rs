//! The `weir` command. Never forwards a byte itself.
#![forbid(unsafe_code)]

#[allow(dead_code, reason = "main does not read the command line yet")]
mod cli;
#[allow(dead_code, reason = "main does not read the command line yet")]
mod version;

fn main() {}
