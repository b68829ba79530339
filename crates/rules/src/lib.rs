//! Compiled rule sets and actions. Returns a verdict; never does I/O and never waits.
#![forbid(unsafe_code)]
