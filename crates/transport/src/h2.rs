//! HTTP/2 connections: a task each, and one for each stream that a client opens.
//!
//! The protocol machine of a connection is shared by its task and by those that use its streams,
//! all of one thread: each borrows it for a moment, and never while it waits. Whoever finds
//! something for another wakes it: who has put bytes into the output wakes the connection's task,
//! which writes what all streams of a turn have said in one call.

pub(crate) mod session;
pub mod stats;
pub(crate) mod stream;

pub use session::Session;
pub use stream::{Half, Stream, StreamCarrier};
