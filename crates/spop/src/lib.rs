//! The Stream Processing Offload Protocol 2.0, as a client of agents speaks it (SPOE.txt, section
//! 3).
//!
//! Reading order: [`data`] (typed values), [`frame`] (length, type, flags, ids), [`handshake`]
//! (HELLO and DISCONNECT), [`notify`] (messages out, in fragments), [`ack`] (actions in),
//! [`conn`] (one connection: bytes in, frames out).
//!
//! There is no I/O and no clock here.
#![forbid(unsafe_code)]

pub mod ack;
pub mod conn;
pub mod data;
pub mod frame;
pub mod handshake;
pub mod notify;
mod status;

pub use ack::{Action, Actions, Scope};
pub use conn::{Received, SpopConn, SpopSettings, Submission};
pub use data::Data;
pub use frame::{Frame, FrameId, FrameKind};
pub use handshake::{AgentHello, Capabilities, Disconnect, Hello};
pub use notify::MessageWriter;
pub use status::Status;

#[cfg(test)]
mod tests;
