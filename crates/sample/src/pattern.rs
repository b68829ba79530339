//! Patterns: the match methods, and dictionaries of patterns that change while the program runs.
//!
//! A [`Dictionary`] holds the rows of a file or of an ACL line. Each way of using it has a
//! [`View`]: the rows compiled for one match method. Expressions hold views and read them without a
//! lock; the runtime socket and the actions that change maps go through the dictionary, which takes
//! a lock, compiles what is new and swaps it in. A change of one row compiles a bounded number of
//! patterns; what takes longer happens on another thread.

mod background;
mod dictionary;
mod edition;
mod error;
mod file;
mod index;
mod layer;
mod nets;
pub(crate) mod number;
mod rows;
mod shared_index;
mod table;
mod view;

pub use background::set_background_priority;
pub use dictionary::{Dictionary, Refusal, RowVisitor, Totals, let_rules_add, rows_refused};
pub use error::{DictionaryError, PatternError};
pub use file::{Dictionaries, LateDictionary, PatternFiles};
pub(crate) use shared_index::SharedIndex;
pub use view::{Sighting, View};

use crate::value::Type;

/// How a sample is compared with patterns (manual section 7.1.2, `-m`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Match {
    /// There is a sample.
    Found,
    /// The boolean is true.
    Bool,
    /// The integer is in the range.
    Int,
    /// The address is in the network.
    Ip,
    /// The bytes of the pattern, given in hexadecimal.
    Bin,
    /// Its length is in a range.
    Len,
    /// The sample equals the text.
    Str,
    /// The sample begins with the text.
    Beg,
    /// The sample contains the text.
    Sub,
    /// The sample contains the text between slashes.
    Dir,
    /// The sample contains the text between dots.
    Dom,
    /// The sample ends with the text.
    End,
    /// The regular expression matches.
    Reg,
}

impl Match {
    /// Every method with its name.
    pub const TABLE: &[(&'static str, Match)] = &[
        ("found", Match::Found),
        ("bool", Match::Bool),
        ("int", Match::Int),
        ("ip", Match::Ip),
        ("bin", Match::Bin),
        ("len", Match::Len),
        ("str", Match::Str),
        ("beg", Match::Beg),
        ("sub", Match::Sub),
        ("dir", Match::Dir),
        ("dom", Match::Dom),
        ("end", Match::End),
        ("reg", Match::Reg),
    ];

    /// The method of that name.
    pub fn find(name: &str) -> Option<Match> {
        Self::TABLE.iter().find(|(word, _)| *word == name).map(|(_, method)| *method)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|(_, method)| *method == self).map_or("", |(word, _)| word)
    }

    /// The type that samples are cast to before they are compared.
    pub fn input(self) -> Type {
        match self {
            Match::Found => Type::Any,
            Match::Bool | Match::Int => Type::Int,
            Match::Ip => Type::Addr,
            Match::Bin => Type::Bin,
            _ => Type::Str,
        }
    }

    /// The method used for samples of a type when none is named.
    pub fn default_for(kind: Type) -> Option<Match> {
        match kind {
            Type::Bool => Some(Match::Bool),
            Type::Int => Some(Match::Int),
            Type::Addr | Type::Ipv4 | Type::Ipv6 => Some(Match::Ip),
            Type::Str | Type::Meth => Some(Match::Str),
            Type::Bin | Type::Any => None,
        }
    }
}

/// The use of a dictionary: all lines with the same use share one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) method: Match,
    pub(crate) ignore_case: bool,
    /// The type of the values, for a map.
    pub(crate) values: Option<Type>,
}

#[cfg(test)]
mod tests;
