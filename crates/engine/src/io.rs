//! Reading and writing that needs the state of a thread: TLS handshakes, the I/O of connections that carry streams, byte-stream clients, waits of scripts, payload that scripts keep.

pub mod byte_client;
pub mod kept_payload;
pub(crate) mod script_socket;
pub mod script_state;
pub mod stream_pump;
pub mod tls_handshake;
