//! HTTP/2 connections, to clients and to servers (RFC 9113): frames, streams, flow control both
//! ways, and what a peer may not do. Never owns a socket and never forwards anything itself.
//!
//! A connection takes bytes from its peer (`handle_input`) and has bytes for it (`output`). Its
//! streams are named by a key and used like connections of HTTP/1, one exchange each: `handle_head`
//! -> (`read`)* -> `encode_head` -> (`send`)* -> `encode_end` -> `release`. What a stream waits for
//! is asked for with `want`; who has to be woken is told by `take_woken`. Streams share the way to
//! the peer fairly: when it is narrow, each sends a frame in turn.
//!
//! Reading order: [`conn`], `stream`, `recv`, `headers`, [`send`], `flow`, `credit`,
//! `squeeze`, then [`abuse`], which
//! says what is too much.

pub mod abuse;
pub mod conn;
pub mod counters;
mod credit;
mod flow;
mod headers;
mod recv;
pub mod send;
pub mod settings;
mod shutdown;
mod spares;
mod squeeze;
mod stream;

pub use conn::{Broken, Conn, Ready};
pub use counters::Counters;
pub use send::Gone;
pub use settings::Settings;
pub use spares::Spares;
pub use stdx::Key;

#[cfg(test)]
mod tests;
