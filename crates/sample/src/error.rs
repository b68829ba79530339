//! The error of a parser of expressions, and the "did you mean" search.

use std::fmt;

/// A rejected piece of configuration: always the configuration's fault, never worth a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Index of the offending word among the words that were given to the parser.
    pub word: usize,
    /// Byte offset inside that word.
    pub offset: usize,
    /// The message, in HAProxy's words where it has any.
    pub message: String,
}

impl ParseError {
    /// An error about the beginning of `word`.
    pub fn new(word: usize, message: impl fmt::Display) -> ParseError {
        ParseError::at(word, 0, message)
    }

    /// An error about byte `offset` of `word`.
    pub fn at(word: usize, offset: usize, message: impl fmt::Display) -> ParseError {
        ParseError { word, offset, message: message.to_string() }
    }

    /// The same error, `words` further right: used when a parser was given the tail of a longer
    /// list.
    #[must_use]
    pub fn shifted(mut self, words: usize) -> ParseError {
        self.word += words;
        self
    }

    /// The same error seen from a caller that parsed a word of its own, whose text began at
    /// `offset` of `word`.
    #[must_use]
    pub fn inside(mut self, word: usize, offset: usize) -> ParseError {
        self.word = word;
        self.offset += offset;
        self
    }

    /// The same error with what was being parsed put before the message.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> ParseError {
        self.message = format!("{context}{}", self.message);
        self
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

/// The candidate closest to `word`, when it is close enough to be a likely typing error.
pub fn closest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    // Words beyond this length are not typing errors, and the search is quadratic.
    if word.len() > 64 {
        return None;
    }
    let limit = (word.len() / 3).clamp(1, 4);
    candidates
        .map(|candidate| (distance(word.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean 'x' ?` or nothing.
pub(crate) fn hint<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> String {
    closest(word, candidates)
        .map_or_else(String::new, |found| format!(". Did you mean '{found}' ?"))
}

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut current = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        current[0] = i;
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (previous[j] + 1).min(current[j - 1] + 1).min(previous[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            current[j] = best;
        }
        std::mem::swap(&mut before, &mut previous);
        std::mem::swap(&mut previous, &mut current);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_finds_typing_errors_only() {
        let names = ["path_beg", "hdr", "src"];
        assert_eq!(closest("path_bge", names.into_iter()), Some("path_beg"));
        assert_eq!(closest("hdr_", names.into_iter()), Some("hdr"));
        assert_eq!(closest("completely", names.into_iter()), None);
        assert_eq!(closest(&"x".repeat(1000), names.into_iter()), None);
    }
}
