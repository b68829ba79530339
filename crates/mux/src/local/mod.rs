//! The exchange of one request with a server inside the process: a service of `use-service`.
//!
//! Both ends are tasks of one thread. The transaction sees a stream as of any shared connection
//! ([`channel`]); the service reads the request and writes the response ([`service`]). Payload
//! waits in one bounded pipe per direction, so that a slow end holds the other back.
//!
//! Invariant: a response never ends as complete when less was sent than its head announces.

mod channel;
mod conn;
mod service;

pub use crate::pipe::WINDOW;
pub use conn::LocalConn;

#[cfg(test)]
mod tests;
