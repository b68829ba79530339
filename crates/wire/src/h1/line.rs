//! Finds line ends: CRLF, or LF alone.

use super::error::{Reason, SyntaxError};

/// A complete line of the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Offset of its first byte.
    pub(super) start: usize,
    /// Offset of its line end.
    pub(super) end: usize,
    /// Offset of the byte after its line end.
    pub(super) next: usize,
}

impl Line {
    pub(super) fn text(self, input: &[u8]) -> &[u8] {
        &input[self.start..self.end]
    }

    /// Bytes of the line end: 1 or 2.
    pub(super) fn eol_len(self) -> usize {
        self.next - self.end
    }
}

/// The line that starts at `start`; bytes before `scanned` have no line end. `Err`: the offset at
/// which to resume the search, or a stray CR.
#[inline]
pub(super) fn find(input: &[u8], start: usize, scanned: usize) -> Result<Line, NoLine> {
    let from = scanned.max(start);
    let Some(found) = memchr::memchr2(b'\r', b'\n', &input[from..]) else {
        return Err(NoLine::Incomplete { scanned: input.len() });
    };
    let end = from + found;
    if input[end] == b'\n' {
        return Ok(Line { start, end, next: end + 1 });
    }
    match input.get(end + 1) {
        Some(b'\n') => Ok(Line { start, end, next: end + 2 }),
        Some(_) => Err(NoLine::Bad(Reason::StrayCr.at(end))),
        None => Err(NoLine::Incomplete { scanned: end }),
    }
}

/// Reason why there is no complete line.
#[derive(Clone, Copy, Debug)]
pub(super) enum NoLine {
    /// More bytes are needed; the search resumes at `scanned`.
    Incomplete { scanned: usize },
    /// The line is malformed.
    Bad(SyntaxError),
}
