//! Tests that need whole workers: what the crates below do once a process runs.

mod accounting;
mod bandwidth;
mod checks;
mod filters;
mod flight_recorder;
mod forwarder;
mod history;
mod mail;
pub(crate) mod pool;
mod ring;
mod streams;
