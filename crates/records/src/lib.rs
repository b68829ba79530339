//! The record layer of TLS sessions whose handshake is over: protection, alerts, key updates.
//! Invariant: no I/O and no clock (`cargo xtask tidy`).
//!
//! A [`RecordLayer`] has two traffic keys and two counters, some 400 bytes. It speaks TLS 1.3 (RFC
//! 8446) and TLS 1.2 with AEAD cipher suites (RFC 5246, 5288 and 7905), as the side of a server or,
//! in tests, of a client. The algorithms are those of the TLS library. Contexts with expanded keys
//! are kept per thread, for the connections that are active.

#![forbid(unsafe_code)]

mod contexts;
mod direction;
mod error;
mod forging;
mod handshake_messages;
mod header;
mod layer;
mod opening;
mod schedule;
mod sealing;
mod suite;

#[cfg(test)]
mod tests;

pub use direction::Direction;
pub use error::RecordError;
pub use header::{HEADER, MOST_CIPHERTEXT, MOST_PLAIN};
pub use layer::RecordLayer;
pub use opening::Opened;
pub use suite::{Hash, Suite};
