//! Reading and writing that needs the state of a thread: TLS handshakes, the I/O of HTTP/2 connections, byte-stream clients.

pub mod byte_client;
pub mod h2_pump;
pub mod tls_handshake;
