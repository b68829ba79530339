//! Why a subcommand failed, in one line for a person.

use std::fmt;

/// The result of every subcommand.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// The kind of a failure decides the exit status: 1 for a failed check, 2 for a wrong command line
/// or a machine that lacks something.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work ran and its verdict is "no".
    Check(String),
    /// The command line is wrong.
    Usage(String),
    /// The machine lacks something, or a file or program could not be used.
    Machine(String),
}

impl Failure {
    /// The exit status of the process.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Check(_) => 1,
            Self::Usage(_) | Self::Machine(_) => 2,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(text) | Self::Usage(text) | Self::Machine(text) => out.write_str(text),
        }
    }
}

/// A failed check.
pub(crate) fn check(text: impl Into<String>) -> Failure {
    Failure::Check(text.into())
}

/// A wrong command line.
pub(crate) fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

/// A machine that lacks something.
pub(crate) fn machine(text: impl Into<String>) -> Failure {
    Failure::Machine(text.into())
}
