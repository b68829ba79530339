//! The lines that a model was built from, as operators see them.

use std::sync::Arc;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownLine {
    /// The name of its file, as it was given.
    pub file: Arc<str>,
    /// Its number, from 1.
    pub line: u32,
    /// Its words, quoted where they must be.
    pub text: String,
    /// Whether it opens a section.
    pub opens: bool,
}

/// All lines, in the order in which they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownText {
    /// The lines that are kept.
    pub lines: Vec<ShownLine>,
    /// The number of those that are not.
    pub left_out: u32,
    /// Bytes of the lines that are kept.
    pub(crate) bytes: usize,
}
