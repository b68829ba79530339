//! The state of servers while the process serves: checks, names that are resolved, changes of state.
#![forbid(unsafe_code)]

pub mod checks;
pub mod discovery;
pub mod servers;
