//! Why a process cannot start, apart from mistakes in its configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a process cannot start: the system or the command line forbids it.
#[derive(Debug)]
pub(crate) enum StartError {
    /// The limit of memory is too low; all in MB.
    Memory { limit: u64, used: u64, least: u64 },
    /// The system allows fewer descriptors than are needed.
    Descriptors { wanted: u64, allowed: u64 },
    /// No copy of the process can be made.
    Fork(io::Error),
    /// The process cannot leave its terminal.
    Detach(io::Error),
    /// `chroot`
    Chroot { path: PathBuf, error: io::Error },
    /// `user`, `group`
    User(io::Error),
    /// `pidfile`
    PidFile { path: PathBuf, error: io::Error },
    /// The rehearsal of this start in a copy of the process failed, with its message.
    Rehearsal(String),
    /// The file of a unix socket cannot get its final name.
    SocketFile { path: PathBuf, reason: String },
    /// The process that `-x` names does not hand its listening sockets over.
    Handover(io::Error),
    /// `-S`: the word, and the mistake in it or the reason why the socket cannot be opened.
    MasterSocket { given: String, reason: String },
    /// A program of a `program` section cannot be executed.
    Program { name: String, error: io::Error },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { limit, used, least } => write!(
                f,
                "A memory limit of {limit} MB leaves too little: {used} MB are in use at the start, and at least \
                 {least} MB more are needed."
            ),
            Self::Descriptors { wanted, allowed } => {
                write!(f, "Cannot raise FD limit to {wanted}, limit is {allowed}.")
            }
            Self::Fork(error) => write!(f, "Cannot fork: {error}"),
            Self::Detach(error) => write!(f, "Cannot detach from the terminal: {error}"),
            Self::Chroot { path, error } => {
                write!(f, "Cannot chroot({}): {error}", path.display())
            }
            Self::User(error) => write!(f, "Cannot change user: {error}"),
            Self::PidFile { path, error } => {
                write!(f, "Cannot create pidfile {}: {error}", path.display())
            }
            Self::Rehearsal(message) => f.write_str(message),
            Self::SocketFile { path, reason } => {
                write!(f, "Cannot rename UNIX socket to {} ({reason})", path.display())
            }
            Self::Handover(error) => {
                write!(f, "Failed to get the sockets from the old process! ({error})")
            }
            Self::MasterSocket { given, reason } => write!(f, "-S {given}: {reason}"),
            Self::Program { name, error } => write!(f, "Cannot start program '{name}': {error}"),
        }
    }
}

impl std::error::Error for StartError {}
