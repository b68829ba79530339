//! A virtual kernel: sockets, clock, latency and faults by seed. Drives the production crates; never touches a real descriptor.
#![forbid(unsafe_code)]
