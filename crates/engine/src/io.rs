//! Reading and writing that needs the state of a thread: TLS handshakes, the I/O of connections that carry streams, byte-stream clients.

pub mod byte_client;
pub mod stream_pump;
pub mod tls_handshake;
