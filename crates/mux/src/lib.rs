//! Protocol machines of connections, one module per protocol, for both sides.
//!
//! Invariant: no I/O, no clock and no rules (`cargo xtask tidy`): the caller owns sockets and
//! buffers, passes bytes in (`handle_*`) and takes bytes out (`encode_*`).
//!
//! Every module has the same files: `conn` (the machine and its state), `recv`, `send`, `settings`,
//! and what the protocol needs besides.
#![forbid(unsafe_code)]

mod body;
pub mod call;
mod error;
pub mod fcgi;
pub mod h1;
pub mod h2;
pub mod h3;
mod length;
pub mod local;
mod pipe;
mod ready;
mod step;
mod stream_response;
mod stream_table;
mod websocket_upgrade;

pub use body::BodyKind;
pub use error::{Fault, MessageError};
pub use ready::{Ready, StreamGone};
pub use step::{BodyStep, Eof, HeadStep};

/// The side of the proxy that a connection is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A client is at the other end: requests come in, responses go out.
    Client,
    /// A server is at the other end: requests go out, responses come in.
    Server,
}
