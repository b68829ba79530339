//! Helpers for tests of any floor: certificates and files in memory, and the TLS side of QUIC clients.
#![forbid(unsafe_code)]

pub mod certificates;
pub mod quic_client;
