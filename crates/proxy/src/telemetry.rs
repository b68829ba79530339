//! Records of traffic: access logs, accounting, traces, the flight recorder, the list of streams.

pub(crate) mod accounting;
pub(crate) mod contstats;
pub mod flight_recorder;
pub(crate) mod h2_byte_count;
pub mod history;
pub mod last_invalid;
pub(crate) mod sample_context;
pub mod trace;
