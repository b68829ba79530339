//! HTTP/3 connections to clients (RFC 9114): requests, control streams, field compression.
//!
//! The machine knows streams of bytes with numbers, not their transport. The transport passes in
//! what streams receive (`open_request`, `receive`, `finish`, `receive_reset`, `receive_stop`) and
//! takes out what they send (`poll_write` -> `output` -> `advance` -> `take_end`), which of them
//! end early (`poll_abort`), and which are to be read on (`poll_resume`). The connection reads as
//! many bytes of a stream as `room` says, so that flow control reaches the peer.
//!
//! Requests are identified by keys and used as the streams of HTTP/2 are: `handle_head` ->
//! (`read`)* -> `encode_head` -> (`send`)* -> `encode_end` -> `release`.
//!
//! Reading order: [`conn`], `stream`, `recv`, `headers`, `control`, `send`, `shutdown`.

pub mod conn;
mod control;
pub mod counters;
mod headers;
mod recv;
mod send;
pub mod settings;
mod shutdown;
mod stream;

pub use conn::{H3Conn, H3Error};
pub use counters::H3Counters;
pub use send::{Abort, Target};
pub use settings::H3ConnSettings;
pub use stdx::Key;

#[cfg(test)]
mod tests;
