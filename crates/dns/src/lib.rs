//! Questions to name servers, what their answers mean, and which address a server takes. No I/O, no clock, no policy of
//! a proxy.
//!
//! [`message`] speaks the wire format, [`resolution`] is the machine of one name, [`choice`] picks
//! addresses and [`service`] hands the records of a service out to servers. Time is an argument, in
//! milliseconds of a clock that never goes back.
#![forbid(unsafe_code)]

pub mod choice;
pub mod message;
pub mod resolution;
pub mod service;

pub use choice::{Choices, Resolve};
pub use message::{Answer, Failure, Kind, Record, Reply, Service};
pub use resolution::{Event, Hold, Resolution, Settings};
