//! Why the file of an SPOE engine is refused.

use crate::diag::Place;
use std::fmt;

/// Why the file of an SPOE engine is refused.
#[derive(Debug)]
pub(super) enum SpoeFileError {
    /// The file has no agent.
    NoAgent,
    /// The agent has no backend.
    NoBackend { agent: String, place: Place },
    /// The agent uses a message that the file does not define.
    UnknownMessage { agent: String, message: String, place: Place },
    /// The agent uses a group that the file does not define.
    UnknownGroup { agent: String, group: String, place: Place },
    /// A group uses a message that the file does not define.
    GroupMessage { group: String, message: String, place: Place },
    /// A message needs samples that do not exist at its event.
    Arguments { message: String, place: Place, needed: String, places: String },
    /// The name of a variable is invalid from `bad` on.
    Variable { agent: String, variable: String, bad: String },
}

impl fmt::Display for SpoeFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAgent => f.write_str("No SPOE agent found"),
            Self::NoBackend { agent, place } => {
                write!(f, "No backend declared for SPOE agent '{agent}' declared at {place}")
            }
            Self::UnknownMessage { agent, message, place } => {
                let used = format_args!("undefined SPOE message '{message}' at {place}");
                write!(f, "SPOE agent '{agent}' try to use {used}")
            }
            Self::UnknownGroup { agent, group, place } => {
                let used = format_args!("undefined SPOE group '{group}' at {place}");
                write!(f, "SPOE agent '{agent}' try to use {used}")
            }
            Self::GroupMessage { group, message, place } => {
                let used = format_args!("undefined SPOE message '{message}' at {place}");
                write!(f, "SPOE group '{group}' try to use {used}")
            }
            Self::Arguments { message, place, needed, places } => write!(
                f,
                "Ignore SPOE message '{message}' at {place}: some args extract information from '{needed}', none of which is available here ('{places}')"
            ),
            Self::Variable { agent, variable, bad } => {
                let why = format_args!("(invalid syntax at char '{bad}')");
                write!(f, "SPOE agent '{agent}': failed to register variable {variable} {why}")
            }
        }
    }
}
