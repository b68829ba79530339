//! An incremental parser of heads that resumes where the input ended.

use htx::Head;

use super::block;
use super::error::{Reason, SyntaxError};
use super::field::{self, Parsed};
use super::line::{self, Line, NoLine};
use super::{Limits, start_line};

/// Kind of start line to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// `method SP request-target SP HTTP-version`.
    Request,
    /// `HTTP-version SP status-code [SP reason]`.
    Response,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HeadState {
    /// Empty lines are skipped before the start line (RFC 9112 section 2.2).
    #[default]
    Start,
    FirstField,
    NextField,
}

/// Result of parsing one line.
enum LineStep {
    /// The line was parsed.
    Line,
    /// The line ended a head of this length.
    End(usize),
    /// More bytes are needed.
    Incomplete,
}

/// An incremental head parser: 16 bytes of progress. The caller keeps the bytes of an incomplete
/// head and passes them all again with later ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadParser {
    /// Offset of the first line not parsed yet.
    at: u32,
    /// No line end lies before this offset.
    scanned: u32,
    /// Bytes dropped after the last field, for a folded line that may follow.
    gap: u16,
    lines: u16,
    state: HeadState,
}

impl HeadParser {
    /// A parser before its first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a head has begun and is incomplete. Leading empty lines do not count.
    pub fn in_progress(&self) -> bool {
        self.state != HeadState::Start || self.scanned > self.at
    }

    /// Continues parsing. `input` starts at the first byte of the message in each call, and `head`
    /// must be the same until the head is complete. Returns the length of the complete head, after
    /// which the parser is ready for the next one; `None` if more bytes are needed. An invalid line
    /// is an error once it is complete, an invalid name or method even before. After an error the
    /// parser must not be used again.
    pub fn parse(
        &mut self,
        kind: HeadKind,
        input: &[u8],
        limits: Limits,
        head: &mut Head,
    ) -> Result<Option<usize>, SyntaxError> {
        loop {
            if let Some(len) = self.usual_lines(kind, input, limits, head) {
                *self = Self::default();
                return Ok(Some(len));
            }
            match self.any_line(kind, input, limits, head)? {
                LineStep::Line => {}
                LineStep::End(len) => {
                    *self = Self::default();
                    return Ok(Some(len));
                }
                LineStep::Incomplete => return Ok(None),
            }
        }
    }

    /// Parses complete lines in their usual form, without a separate search for line ends. Returns
    /// the length of the head if they end it.
    #[inline]
    fn usual_lines(
        &mut self,
        kind: HeadKind,
        input: &[u8],
        limits: Limits,
        head: &mut Head,
    ) -> Option<usize> {
        if self.scanned > self.at {
            // A line that arrives in small pieces is not parsed again for each piece.
            return None;
        }
        let input = &input[..input.len().min(limits.head_bytes as usize)];
        let mut at = self.at as usize;
        if self.state == HeadState::Start {
            at += match kind {
                HeadKind::Request => start_line::usual_request(input.get(at..)?, head)?,
                HeadKind::Response => start_line::usual_status(input.get(at..)?, head)?,
            };
            self.state = HeadState::FirstField;
            self.at = at as u32;
        }
        let fields = head.as_fields_mut();
        if self.state == HeadState::FirstField
            && let Some(len) = block::parse_lines(input.get(at..)?, limits.header_lines, fields)
        {
            return Some(at + len);
        }
        loop {
            let rest = input.get(at..)?;
            if rest.starts_with(b"\r\n") {
                return Some(at + 2);
            }
            if self.lines >= limits.header_lines {
                return None;
            }
            at += field::usual(rest, fields)?;
            (self.at, self.state, self.gap) = (at as u32, HeadState::NextField, field::USUAL_GAP);
            self.lines += 1;
        }
    }

    /// Parses the next line, in any form, if it is complete.
    #[inline(never)]
    fn any_line(
        &mut self,
        kind: HeadKind,
        input: &[u8],
        limits: Limits,
        head: &mut Head,
    ) -> Result<LineStep, SyntaxError> {
        let limit = limits.head_bytes as usize;
        let line = match line::find(input, self.at as usize, self.scanned as usize) {
            Ok(line) if line.next > limit => return Err(Reason::TooLarge.at(limit)),
            Ok(line) => line,
            Err(NoLine::Bad(error)) => return Err(error),
            Err(NoLine::Incomplete { .. }) if input.len() > limit => {
                return Err(Reason::TooLarge.at(limit));
            }
            Err(NoLine::Incomplete { scanned }) => {
                self.scanned = scanned as u32;
                self.check_part(kind, input, limits)?;
                return Ok(LineStep::Incomplete);
            }
        };
        self.at = line.next as u32;
        match self.line(kind, input, line, limits, head)? {
            true => Ok(LineStep::End(line.next)),
            false => Ok(LineStep::Line),
        }
    }

    /// Refuses an incomplete line as soon as it cannot become valid.
    fn check_part(&self, kind: HeadKind, input: &[u8], limits: Limits) -> Result<(), SyntaxError> {
        let at = self.at as usize;
        let text = input[at..].strip_suffix(b"\r").unwrap_or(&input[at..]);
        let (right, reason) = match (self.state, kind) {
            _ if text.is_empty() => return Ok(()),
            (HeadState::Start, HeadKind::Request) => {
                (start_line::may_become_request(text), Reason::Method)
            }
            (HeadState::Start, HeadKind::Response) => {
                (start_line::may_become_status(text, limits), Reason::Version)
            }
            (HeadState::FirstField, _) if text.starts_with(b" ") || text.starts_with(b"\t") => {
                (limits.lenient, Reason::FoldWithoutField)
            }
            _ => (field::may_become_field(text, limits), Reason::FieldName),
        };
        if right { Ok(()) } else { Err(reason.at(at)) }
    }

    /// Parses one line; returns whether it ended the head.
    #[inline]
    fn line(
        &mut self,
        kind: HeadKind,
        input: &[u8],
        line: Line,
        limits: Limits,
        head: &mut Head,
    ) -> Result<bool, SyntaxError> {
        if self.state == HeadState::Start {
            let text = line.text(input);
            if !text.is_empty() {
                head.clear();
                self.state = HeadState::FirstField;
                return match kind {
                    HeadKind::Request => start_line::request(text, line.start, limits, head),
                    HeadKind::Response => {
                        start_line::status(text, line.start, limits, head).map(|()| false)
                    }
                };
            }
            return Ok(false);
        }
        let gap = (self.state == HeadState::NextField).then_some(self.gap);
        match field::parse(input, line, gap, limits, head.as_fields_mut())? {
            Parsed::End => Ok(true),
            Parsed::Field { gap } => {
                self.state = HeadState::NextField;
                self.gap = gap;
                self.lines += 1;
                if self.lines > limits.header_lines {
                    return Err(Reason::TooManyLines.at(line.start));
                }
                Ok(false)
            }
        }
    }
}
