//! DNS queries, the interpretation of answers, and the choice of a server's address.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`).
//!
//! [`message`] is the wire format, [`resolution`] the state machine of one name; [`choice`] picks
//! addresses, and [`service`] assigns SRV records to servers. Time is an argument, in milliseconds
//! of a monotonic clock.
#![forbid(unsafe_code)]

pub mod choice;
pub mod message;
pub mod resolution;
pub mod service;

pub use choice::{Choices, Resolve};
pub use message::{Answer, Failure, Kind, Record, Reply, Service};
pub use resolution::{Event, Hold, Resolution, Settings};
