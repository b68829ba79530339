//! Errors of calls that scripts make, and of files that are loaded.

use crate::fault;
use std::fmt;

/// The error of a call that a script makes: Lua raises its text in the script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptError {
    /// An argument of a wrong type or value, in the words of Lua's own library.
    Argument(String),
    /// The function of this name does not exist where the script runs.
    Unavailable(String),
    /// The process refuses the operation: its object is missing, busy or used up.
    Refused(String),
    /// The interpreter fails: a function raised an error, or memory is short.
    Interpreter(String),
}

impl ScriptError {
    /// An operation that the process refuses, with the reason.
    pub fn refused(reason: impl fmt::Display) -> Self {
        Self::Refused(reason.to_string())
    }

    pub(crate) fn out_of_memory() -> Self {
        Self::Interpreter("not enough memory".to_owned())
    }

    /// The error that a function of the script has raised, without its place.
    pub(crate) fn raised(error: &mlua::Error) -> Self {
        Self::Interpreter(fault::of_error(error))
    }
}

impl From<mlua::Error> for ScriptError {
    fn from(error: mlua::Error) -> Self {
        Self::Interpreter(error.to_string())
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(text) | Self::Refused(text) | Self::Interpreter(text) => {
                f.write_str(text)
            }
            Self::Unavailable(name) => write!(f, "'{name}' is not available here"),
        }
    }
}

impl std::error::Error for ScriptError {}

/// Why the scripts of a configuration cannot be loaded or started: always the scripts' fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// The interpreter cannot be made or changed, for lack of memory.
    Interpreter(String),
    /// A file that the compiler refuses, with its message.
    Syntax {
        /// The name of the file.
        file: String,
        /// The compiler's message.
        message: String,
    },
    /// The body of a file raised an error.
    Raised(String),
    /// The body of a file failed otherwise: it waits, or takes too much time or memory.
    Failed(String),
    /// A function of `core.register_init` failed.
    Init(String),
    /// The function of `core.register_filter` failed for a `filter lua.NAME` line.
    Filter {
        /// The name of the filter.
        name: String,
        /// The text of the failure.
        message: String,
    },
}

impl From<mlua::Error> for LoadError {
    fn from(error: mlua::Error) -> Self {
        Self::Interpreter(fault::of_error(&error))
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interpreter(text) => f.write_str(text),
            Self::Syntax { file, message } => write!(f, "error in Lua file '{file}': {message}"),
            Self::Raised(text) => write!(f, "Lua runtime error: {text}"),
            Self::Failed(text) => write!(f, "Lua error: {text}"),
            Self::Init(text) => write!(f, "Lua init: {text}"),
            Self::Filter { name, message } => write!(f, "Lua filter '{name}' : {message}"),
        }
    }
}

impl std::error::Error for LoadError {}
