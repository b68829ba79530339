//! Heads, a line at a time, resuming where the input stopped. Never copies a head twice and never
//! keeps its bytes.

use htx::{Head, Version};

use super::Limits;
use super::chars::{blank_len, is_blank, token_len};
use super::error::{Error, Reason};
use super::field::{self, Parsed};
use super::line::{self, Line, Stop};

/// Which start line to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// `method SP request-target SP HTTP-version`.
    Request,
    /// `HTTP-version SP status-code [SP reason]`.
    Response,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Empty lines are skipped before the start line (RFC 9112 section 2.2).
    #[default]
    Start,
    FirstField,
    NextField,
}

/// An incremental head parser: 16 bytes of progress. The caller keeps the bytes of an incomplete
/// head and passes them all again with what came after.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadParser {
    /// Offset of the first line not parsed yet.
    at: u32,
    /// No line end is before this offset.
    scanned: u32,
    /// Bytes dropped after the last field, for a fold that may follow.
    gap: u16,
    lines: u16,
    state: State,
}

impl HeadParser {
    /// A parser before its first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a head has begun and is not complete. Empty lines before it do not count.
    pub fn in_progress(&self) -> bool {
        self.state != State::Start || self.scanned > self.at
    }

    /// Parses on. `input` starts at the first byte of the message each time, and `head` is the same
    /// one until the head is complete. Gives the length of the complete head, after which the
    /// parser is ready for the next one; `None` when more bytes are needed. A wrong line is
    /// reported as soon as it is complete. After an error the parser is spent.
    pub fn parse(
        &mut self,
        kind: HeadKind,
        input: &[u8],
        limits: Limits,
        head: &mut Head,
    ) -> Result<Option<usize>, Error> {
        let limit = limits.head_bytes as usize;
        loop {
            let line = match line::find(input, self.at as usize, self.scanned as usize) {
                Ok(line) if line.next > limit => return Err(Reason::TooLarge.at(limit)),
                Ok(line) => line,
                Err(Stop::Bad(error)) => return Err(error),
                Err(Stop::Incomplete { .. }) if input.len() > limit => {
                    return Err(Reason::TooLarge.at(limit));
                }
                Err(Stop::Incomplete { scanned }) => {
                    self.scanned = scanned as u32;
                    return Ok(None);
                }
            };
            self.at = line.next as u32;
            if self.line(kind, input, line, limits, head)? {
                *self = Self::default();
                return Ok(Some(line.next));
            }
        }
    }

    /// Takes one line; whether it ended the head.
    #[inline]
    fn line(
        &mut self,
        kind: HeadKind,
        input: &[u8],
        line: Line,
        limits: Limits,
        head: &mut Head,
    ) -> Result<bool, Error> {
        if self.state == State::Start {
            let text = line.text(input);
            if !text.is_empty() {
                head.clear();
                match kind {
                    HeadKind::Request => request_line(text, line.start, head)?,
                    HeadKind::Response => status_line(text, line.start, head)?,
                }
                self.state = State::FirstField;
            }
            return Ok(false);
        }
        let gap = (self.state == State::NextField).then_some(self.gap);
        match field::parse(input, line, gap, head.as_fields_mut())? {
            Parsed::End => Ok(true),
            Parsed::Field { gap } => {
                self.state = State::NextField;
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

/// RFC 9112 section 3, with any run of blanks between the parts.
fn request_line(text: &[u8], offset: usize, head: &mut Head) -> Result<(), Error> {
    let method_len = token_len(text);
    let blanks = blank_len(&text[method_len..]);
    if method_len == 0 || blanks == 0 {
        return Err(Reason::Method.at(offset + method_len));
    }
    let uri_start = method_len + blanks;
    let rest = &text[uri_start..];
    let uri_len = rest.iter().position(|b| !b.is_ascii_graphic()).unwrap_or(rest.len());
    let blanks = blank_len(&rest[uri_len..]);
    if uri_len == 0 || (blanks == 0 && uri_len < rest.len()) {
        return Err(Reason::Target.at(offset + uri_start + uri_len));
    }
    let version_start = uri_start + uri_len + blanks;
    let version = version(&text[version_start..], offset + version_start)?;
    head.set_request(&text[..method_len], &rest[..uri_len], version);
    Ok(())
}

/// RFC 9112 section 4, with any run of blanks between the parts and the reason optional.
fn status_line(text: &[u8], offset: usize, head: &mut Head) -> Result<(), Error> {
    let version_len = text.iter().position(|&b| is_blank(b)).unwrap_or(text.len());
    let version = version(&text[..version_len], offset)?;
    let start = version_len + blank_len(&text[version_len..]);
    let bad = Reason::Status.at(offset + start);
    let (code, reason) = match &text[start..] {
        [a, b, c] => ([*a, *b, *c], &[][..]),
        [a, b, c, gap, rest @ ..] if is_blank(*gap) => ([*a, *b, *c], &rest[blank_len(rest)..]),
        _ => return Err(bad),
    };
    if !code.iter().all(u8::is_ascii_digit) || code[0] == b'0' {
        return Err(bad);
    }
    let status = code.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0'));
    head.set_response(version, status, reason);
    Ok(())
}

/// `HTTP/` digit `.` digit, case-sensitive; any digits.
fn version(text: &[u8], offset: usize) -> Result<Version, Error> {
    match text {
        b"HTTP/1.1" => Ok(Version::Http11),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Ok(Version::new(major - b'0', minor - b'0'))
        }
        _ => Err(Reason::Version.at(offset)),
    }
}
