//! The peers of `compare` that are no web servers: a FastCGI application, and an agent of SPOE.

use super::process::{self, Process};
use crate::failure::{self, Outcome};
use crate::workspace;

/// A protocol that a peer answers in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Fcgi,
    Spop,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Fcgi => "fcgi",
            Self::Spop => "spop",
        }
    }

    /// Its port in scenarios.
    pub(super) fn port(self) -> u16 {
        match self {
            Self::Fcgi => 19_003,
            Self::Spop => 19_004,
        }
    }

    /// Starts a peer on processor 1.
    pub(super) fn start(self) -> Outcome<Process> {
        let program = workspace::release_example(&workspace::root()?, "bench", "responder")?;
        let port = self.port();
        let mut command = process::pinned(1, &program);
        command.args([self.name(), &port.to_string()]);
        let peer = Process::start(&command, None)?;
        match process::wait_for_port(port) {
            true => Ok(peer),
            false => Err(failure::machine(format!("no peer listens on port {port}"))),
        }
    }
}
