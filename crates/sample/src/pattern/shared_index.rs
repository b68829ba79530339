//! An index of the patterns of several views; a match yields the number of the owner of each pattern.

use super::index::{Index, with_text};
use super::table::Table;
use crate::value::Value;

/// Which part of a text a pattern is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Start,
    End,
}

/// Texts of one match method and their owners. Looked up, it yields all the owners of patterns that
/// match.
#[derive(Debug)]
pub(crate) struct SharedIndex {
    part: Part,
    texts: Table,
    /// Lengths of the texts, for parts.
    lengths: Vec<usize>,
}

impl SharedIndex {
    /// An empty index for patterns such as those of `index`, if they are texts to be compared.
    pub(super) fn like(index: &Index, ignore_case: bool) -> Option<SharedIndex> {
        let part = match index {
            Index::Exact { hex: false, .. } => Part::Whole,
            Index::Edges { at_end: false, .. } => Part::Start,
            Index::Edges { at_end: true, .. } => Part::End,
            _ => return None,
        };
        Some(SharedIndex { part, texts: Table::new(ignore_case), lengths: Vec::new() })
    }

    /// Adds the patterns of `index` for `owner`; false when there are too many.
    pub(super) fn add(&mut self, index: &Index, owner: u32) -> bool {
        let (Index::Exact { texts, .. } | Index::Edges { texts, .. }) = index else { return false };
        texts.texts().all(|text| {
            if !self.lengths.contains(&text.len()) {
                self.lengths.push(text.len());
            }
            self.texts.push(text, owner)
        })
    }

    /// Names the owners of all patterns that match `value`; one may be named more than once.
    pub(crate) fn look(&self, value: &Value<'_>, hit: &mut dyn FnMut(u32)) {
        with_text(value, |text| {
            if self.part == Part::Whole {
                return self.texts.find(text).for_each(hit);
            }
            for len in self.lengths.iter().copied().filter(|len| *len <= text.len()) {
                let part = match self.part {
                    Part::End => &text[text.len() - len..],
                    _ => &text[..len],
                };
                self.texts.find(part).for_each(&mut *hit);
            }
        });
    }
}
