//! Why an argument of a fetch, a converter or an action is refused.

use super::digest::DigestError;
use super::protobuf::FieldPathError;
use super::variable::SetVarError;
use crate::pattern::DictionaryError;
use crate::regex::RegexError;
use crate::vars::VarNameError;
use std::fmt;

/// Why an argument is refused: always the configuration's fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgError {
    /// The closing parenthesis is missing.
    Unclosed,
    /// A rule of the keyword, which the arguments break.
    Rule(&'static str),
    /// A value that the keyword does not take; the message names it.
    Value(String),
    /// The name of a variable.
    Variable(VarNameError),
    /// A variable to write, with its conditions.
    SetVar(SetVarError),
    /// The name of a digest.
    Digest(DigestError),
    /// The path of a field in a message of Protocol Buffers.
    FieldPath(FieldPathError),
    /// A regular expression.
    Regex(RegexError),
    /// The file of a map.
    Map(DictionaryError),
}

impl fmt::Display for ArgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed => f.write_str("expected ')'"),
            Self::Rule(rule) => f.write_str(rule),
            Self::Value(message) => f.write_str(message),
            Self::Variable(error) => error.fmt(f),
            Self::SetVar(error) => error.fmt(f),
            Self::Digest(error) => error.fmt(f),
            Self::FieldPath(error) => error.fmt(f),
            Self::Regex(error) => error.fmt(f),
            Self::Map(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ArgError {}

impl From<VarNameError> for ArgError {
    fn from(error: VarNameError) -> Self {
        Self::Variable(error)
    }
}

impl From<SetVarError> for ArgError {
    fn from(error: SetVarError) -> Self {
        Self::SetVar(error)
    }
}

impl From<DigestError> for ArgError {
    fn from(error: DigestError) -> Self {
        Self::Digest(error)
    }
}

impl From<FieldPathError> for ArgError {
    fn from(error: FieldPathError) -> Self {
        Self::FieldPath(error)
    }
}

impl From<RegexError> for ArgError {
    fn from(error: RegexError) -> Self {
        Self::Regex(error)
    }
}

impl From<DictionaryError> for ArgError {
    fn from(error: DictionaryError) -> Self {
        Self::Map(error)
    }
}
