//! DNS queries, the interpretation of answers, and the choice of a server's address.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`).
//!
//! [`message`] is the wire format, [`resolution`] the state machine of one name; [`address_choice`]
//! picks addresses, and [`srv_assignment`] assigns SRV records to servers. Time is an argument, in
//! milliseconds of a monotonic clock.
#![forbid(unsafe_code)]

pub mod address_choice;
pub mod message;
pub mod resolution;
pub mod srv_assignment;

pub use address_choice::{Candidates, ResolveSettings};
pub use message::{Answer, Record, RecordType, Reply, ResolveError, SrvRecord};
pub use resolution::{Event, Hold, Resolution, Settings};
