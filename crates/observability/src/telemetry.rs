//! Records of traffic: access logs, accounting, traces, the flight recorder, the list of streams.

pub mod accounting;
pub mod bandwidth;
mod cache_use;
pub mod contstats;
mod fetch_signal;
pub mod flight_recorder;
pub mod h2_byte_count;
pub mod history;
pub mod last_invalid;
pub mod sample_context;
mod script_action;
pub mod spoe;
pub mod trace;
