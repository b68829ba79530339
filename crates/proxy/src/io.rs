//! Reading and writing that needs the state of a thread: TLS handshakes, the I/O of HTTP/2 connections, byte-stream clients.

pub(crate) mod byte_client;
pub(crate) mod h2_pump;
pub(crate) mod tls_handshake;
