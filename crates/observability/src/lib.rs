//! Log lines and their targets, rings, alert mails, and the records of traffic.
#![forbid(unsafe_code)]

pub mod logging;
pub mod telemetry;
