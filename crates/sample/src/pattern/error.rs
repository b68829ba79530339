//! Why a pattern, or a dictionary of patterns, is refused.

use crate::regex::RegexError;
use std::fmt;

/// Why a pattern is refused. The messages are HAProxy's where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternError {
    /// The text is no number.
    Number(String),
    /// The range ends before it begins.
    Range(String),
    /// No number is greater, or less, than this one.
    Beyond(String),
    /// The text is not an even number of hexadecimal digits.
    Hex(String),
    /// The text is no address and no network.
    Network(String),
    /// The value behind the pattern does not have the type of the map.
    Value(String),
    /// The regular expression does not compile.
    Regex(RegexError),
    /// There are more patterns than a dictionary holds.
    TooMany,
    /// The texts need a larger automaton than the library builds; with its reason.
    TooManyTexts(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => write!(f, "'{text}' is not a number"),
            Self::Range(text) => write!(f, "'{text}' is not a valid number range"),
            Self::Beyond(text) => write!(f, "no number is beyond '{text}'"),
            Self::Hex(text) => write!(f, "'{text}' is not an even number of hex digits"),
            Self::Network(text) => write!(f, "'{text}' is not a valid IPv4 or IPv6 address"),
            Self::Value(text) => write!(f, "unable to parse '{text}'"),
            Self::Regex(error) => error.fmt(f),
            Self::TooMany => f.write_str("too many patterns"),
            Self::TooManyTexts(reason) => write!(f, "too many patterns ({reason})"),
        }
    }
}

impl std::error::Error for PatternError {}

impl From<RegexError> for PatternError {
    fn from(error: RegexError) -> Self {
        Self::Regex(error)
    }
}

/// Why the file of a dictionary is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DictionaryError {
    /// The file is in use with another number of columns.
    Columns {
        /// The file.
        name: String,
        /// Whether the file has a second column.
        two: bool,
    },
    /// The file cannot be read.
    Unreadable(String),
    /// The file has more rows than a dictionary holds.
    TooMany(String),
    /// A row is refused.
    Row {
        /// Why.
        error: PatternError,
        /// The line, counted from 1.
        line: usize,
        /// The file.
        name: String,
    },
}

impl fmt::Display for DictionaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns { name, two } => {
                let word = |two| if two { "two" } else { "one" };
                write!(
                    f,
                    "The file \"{name}\" is already used as {} column file and cannot be used by \
                     as {} column file.",
                    word(!two),
                    word(*two)
                )
            }
            Self::Unreadable(name) => write!(f, "failed to open pattern file <{name}>"),
            Self::TooMany(name) => write!(f, "too many patterns in file '{name}'"),
            Self::Row { error, line, name } => write!(f, "{error} at line {line} of file '{name}'"),
        }
    }
}

impl std::error::Error for DictionaryError {}
