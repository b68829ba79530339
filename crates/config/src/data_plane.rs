//! Settings of the data plane, built from the model.
//!
//! The caller opens sockets and files, and puts their addresses in place of the configured ones.

mod balancing;
mod filters;
mod link;
mod logs;
mod peers;
mod process;
mod proxies;
mod servers;

use crate::model::Global;

pub use link::{ServerBase, preamble};
pub(crate) use link::{links, never_inherit};
pub(crate) use servers::server;

/// Facts about the machine and the program that settings contain.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The host name of the system.
    pub hostname: String,
    /// Name and version of the program, as FastCGI applications get them (`SERVER_SOFTWARE`).
    pub software: String,
}

/// Builds the settings of the sections of a model: of its proxies first, of the process at last.
#[derive(Debug)]
pub struct Builder<'a> {
    global: &'a Global,
    machine: Machine,
    /// Samples of log targets so far.
    log_samples: usize,
}

impl<'a> Builder<'a> {
    /// A builder for a model with these `global` sections.
    pub fn new(global: &'a Global, machine: Machine) -> Self {
        Self { global, machine, log_samples: 0 }
    }
}

/// Milliseconds; longer spans become the longest that a setting can hold.
fn millis(span: u64) -> u32 {
    u32::try_from(span).unwrap_or(u32::MAX)
}

/// Bytes on the wire of a word of the configuration.
fn content(word: &str) -> Vec<u8> {
    sample::word::to_bytes(word).into_owned()
}
