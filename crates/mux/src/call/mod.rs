//! The exchange of one request that the process itself makes.
//!
//! Both ends are tasks of one thread. The transaction sees the stream of a client ([`channel`]):
//! it reads the request and writes the response. The caller writes the request and reads the
//! response ([`caller`]). Payload waits in one bounded pipe per direction, so that a slow end holds
//! the other back. Interim responses are dropped.
//!
//! Invariant: a response never ends as complete for the caller unless the transaction has ended it.

mod caller;
mod channel;
mod conn;

pub use conn::CallConn;

#[cfg(test)]
mod tests;
