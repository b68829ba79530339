//! HTTP/2 connections, to clients and to servers (RFC 9113): frames, streams, flow control in both
//! directions, flood detection.
//!
//! A connection takes bytes from its peer (`handle_input`) and makes bytes for it (`output`). Its
//! streams are identified by keys and used like HTTP/1 connections, one exchange each:
//! `handle_head` -> (`read`)* -> `encode_head` -> (`send`)* -> `encode_end` -> `release`. A caller
//! registers for a stream's readiness with `want`, and `take_woken` returns the tokens to wake.
//! Streams share the output fairly: when it is full, each sends a frame in turn.
//!
//! Reading order: [`conn`], `stream`, `recv`, `headers`, [`send`], `flow`, `credit`, `squeeze`,
//! then [`flood`].

pub mod conn;
pub mod counters;
mod credit;
pub mod flood;
mod flow;
mod free_list;
mod headers;
mod recv;
pub mod send;
pub mod settings;
mod shutdown;
mod squeeze;
mod stream;

pub use crate::{Ready, StreamGone};
pub use conn::{ConnectionError, H2Conn};
pub use counters::Counters;
pub use free_list::FreeList;
pub use settings::H2ConnSettings;
pub use stdx::Key;

#[cfg(test)]
mod tests;
