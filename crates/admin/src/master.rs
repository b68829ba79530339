//! The master's own runtime socket (management.txt 9.4): what it knows of its processes, and a way
//! to the runtime socket of each.

mod processes;
mod relay;
mod session;
mod table;

pub use processes::{Process, ProcessKind};
pub use session::serve;
pub use table::commands;

use reactor::Handle;
use std::io;

/// The object that manages the processes.
pub trait Supervisor {
    /// All processes, the master first.
    fn processes(&self) -> Vec<Process>;
    /// Failed reloads since the last successful one.
    fn failed_reloads(&self) -> u32;
    /// Its version.
    fn version(&self) -> &str;
    /// The messages about the configuration when it was last read.
    fn startup_logs(&self) -> &str;
    /// The addresses of its own sockets, with their levels.
    fn sockets(&self) -> Vec<crate::CliSocket>;
    /// Seconds since 1970.
    fn now(&self) -> u64;
    /// A connection to the runtime socket of a worker.
    ///
    /// # Errors
    /// The process has ended, or is too busy to accept.
    fn connect(&self, pid: u32) -> io::Result<Handle>;
    /// Reads the configuration again soon. The session that asked gets the result, and its
    /// connection is closed.
    fn reload(&self, asked: Option<Handle>);
}
