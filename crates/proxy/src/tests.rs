//! Tests that need whole workers: the behaviour of the crates below in a running process.

mod accounting;
mod bandwidth;
mod call;
mod checks;
mod filters;
mod flight_recorder;
mod forwarder;
mod history;
mod mail;
mod outside_answers;
mod pool;
mod ring;
pub(crate) mod service;
mod streams;
