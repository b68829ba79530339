//! Patterns: the match methods, sets of patterns indexed for them, and the files they come from. Never a condition.

mod file;
mod index;

pub use file::{Map, PatternFiles};

use crate::regex::Regex;
use crate::value::{Type, Value};
use index::Index;

/// How a sample is compared with patterns (manual section 7.1.2, `-m`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Match {
    /// There is a sample.
    Found,
    /// It is true.
    Bool,
    /// It is in an integer range.
    Int,
    /// It is in a network.
    Ip,
    /// Its bytes are those given in hexadecimal.
    Bin,
    /// Its length is in a range.
    Len,
    /// It is the text.
    Str,
    /// It begins with the text.
    Beg,
    /// It contains the text.
    Sub,
    /// It contains the text between slashes.
    Dir,
    /// It contains the text between dots.
    Dom,
    /// It ends with the text.
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

/// Patterns of one method, indexed. Immutable: an update builds another set.
#[derive(Debug)]
pub struct PatternSet {
    method: Match,
    index: Index,
    len: usize,
}

impl PatternSet {
    /// Compiles `patterns`; an error names the pattern by its number.
    pub fn new<'p>(
        method: Match,
        ignore_case: bool,
        patterns: impl Iterator<Item = &'p str>,
    ) -> Result<PatternSet, (usize, String)> {
        let mut index = Index::new(method, ignore_case);
        let mut len = 0;
        for (number, pattern) in patterns.enumerate() {
            index.push(pattern, number).map_err(|message| (number, message))?;
            len += 1;
        }
        index.finish();
        Ok(PatternSet { method, index, len })
    }

    /// The method.
    pub fn method(&self) -> Match {
        self.method
    }

    /// Number of patterns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of the pattern that matches `value`: the longest network or prefix, else the
    /// first in order.
    pub fn find(&self, value: &Value<'_>) -> Option<usize> {
        self.index.find(value)
    }

    /// The expression of pattern `number` in a set of expressions.
    pub fn regex(&self, number: usize) -> Option<&Regex> {
        match &self.index {
            Index::Regexes(regexes, _) => regexes.get(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
