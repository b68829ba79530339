//! HTTP/2 connections: a task each, and one for each stream that a client opens.
//!
//! The protocol machine of a connection is shared by its task and by the tasks of its streams, all
//! of one thread: each borrows it briefly, and never while it waits. A task that produces an event
//! for another wakes it: output wakes the connection's task, which writes the output of all streams
//! of a turn in one call.

pub(crate) mod session;
pub mod stats;
pub(crate) mod stream;

pub use session::Session;
pub use stream::{Half, Stream, StreamCarrier};
