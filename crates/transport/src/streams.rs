//! Connections that carry streams, in any protocol: HTTP/2 on both sides, FastCGI to servers, and
//! exchanges inside the process, with its services and for its own requests.
//!
//! The protocol machine of a connection is shared by its task and by the tasks of its streams, all
//! of one thread: each borrows it briefly, and never while it waits. A task that produces an event
//! for another wakes it: output wakes the connection's task, which writes the output of all streams
//! of a turn in one call.
//!
//! Reading order: [`mux`] (the machine of any protocol), [`session`] (the shared state), [`stream`]
//! (one stream as a channel and as a codec), [`local`] (the service's end), [`call`] (the caller's
//! end).

pub mod call;
mod inside;
pub mod local;
pub mod mux;
pub(crate) mod session;
pub(crate) mod stream;

pub use call::{CallExchange, call};
pub use local::{LocalExchange, byte_exchange, exchange};
pub use mux::StreamMux;
pub use session::Session;
pub use stream::{Half, Stream, StreamCarrier};
