//! An incremental parser of the head of a CGI answer (RFC 3875 section 6.3) into a response head.

use htx::start::reason;
use htx::{FieldRef, Head, HeaderId, Version};

use crate::h1::{Limits, SyntaxError, TrailersParser};

/// Fields that concern one connection: the application has none, and the body's framing is that of
/// the records.
const HOP_BY_HOP: [HeaderId; 6] = [
    HeaderId::Connection,
    HeaderId::KeepAlive,
    HeaderId::ProxyConnection,
    HeaderId::TransferEncoding,
    HeaderId::Upgrade,
    HeaderId::Trailer,
];

/// Bytes of a reason that are kept.
const MAX_REASON: usize = 128;

/// A head that cannot be accepted. Retrying the same bytes gives the same error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// A line is malformed, or the head exceeds a limit.
    Syntax(SyntaxError),
    /// No field precedes the empty line.
    NoField,
    /// A `Status` is not three digits from 200 with an optional reason, or there are two of them.
    Status,
}

impl AnswerError {
    /// A short text for logs.
    pub fn text(self) -> &'static str {
        match self {
            Self::Syntax(error) => error.reason.text(),
            Self::NoField => "an answer without header",
            Self::Status => "invalid status",
        }
    }
}

/// An incremental head parser that consumes complete lines, for one answer. Lines end with CRLF or
/// with LF alone, and may be folded.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerParser {
    lines: TrailersParser,
    started: bool,
}

impl AnswerParser {
    /// Parses every complete line at the front of `input` into `head`, the same one in each call.
    /// Returns the bytes consumed, and whether the head is complete; `Status` and `Location` are
    /// applied to its status line then. After an error the parser must not be used again.
    ///
    /// # Errors
    /// The head is malformed, as soon as a complete line shows it.
    pub fn parse(
        &mut self,
        input: &[u8],
        limits: Limits,
        head: &mut Head,
    ) -> Result<(usize, bool), AnswerError> {
        if !self.started {
            head.clear();
            head.set_response(Version::Http11, 200, b"OK");
            self.started = true;
        }
        let fields = head.as_fields_mut();
        let step = self.lines.parse(input, limits, fields).map_err(AnswerError::Syntax)?;
        if step.done {
            complete(head)?;
        }
        Ok((step.consumed, step.done))
    }
}

/// Applies the CGI fields of a complete head to its status line.
fn complete(head: &mut Head) -> Result<(), AnswerError> {
    if head.as_fields().is_empty() {
        return Err(AnswerError::NoField);
    }
    for id in HOP_BY_HOP {
        head.remove_id(id);
    }
    let mut statuses = head.all(b"status");
    if let Some(field) = statuses.next() {
        if statuses.next().is_some() {
            return Err(AnswerError::Status);
        }
        let (status, text) = status(field).ok_or(AnswerError::Status)?;
        let text = if text.is_empty() { reason(status).as_bytes() } else { text };
        // A copy on the stack: the text is in the memory that the status line goes to.
        let (mut copy, len) = ([0; MAX_REASON], text.len().min(MAX_REASON));
        copy[..len].copy_from_slice(&text[..len]);
        drop(statuses);
        head.remove(b"status");
        head.set_response(Version::Http11, status, &copy[..len]);
    } else {
        drop(statuses);
        if head.has(HeaderId::Location) {
            head.set_status(302);
        }
    }
    Ok(())
}

/// Code and reason. Interim codes are refused, because no final answer can follow.
fn status(field: FieldRef<'_>) -> Option<(u16, &[u8])> {
    let (&[a @ b'2'..=b'9', b, c], rest) = field.value.split_first_chunk()? else { return None };
    let separated = rest.first().is_none_or(|&byte| matches!(byte, b' ' | b'\t'));
    if !b.is_ascii_digit() || !c.is_ascii_digit() || !separated {
        return None;
    }
    if rest.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t') {
        return None;
    }
    let digit = |byte: u8| u16::from(byte - b'0');
    Some((100 * digit(a) + 10 * digit(b) + digit(c), htx::list::trim(rest)))
}
