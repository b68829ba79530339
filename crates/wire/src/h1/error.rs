//! Syntax errors of HTTP/1, with their position. The mux chooses the status, because it knows the
//! peer.

use std::fmt;

/// A syntax error. Retrying the same bytes gives the same error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Kind of the error.
    pub reason: Reason,
    /// Offset of the first invalid byte in the input.
    pub at: usize,
}

/// Kind of a syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A method is missing or holds a byte that is no token character.
    Method,
    /// A request target is missing or holds a control or non-ASCII byte.
    Target,
    /// A version is missing or is not `HTTP/` digit `.` digit.
    Version,
    /// A status code is not three digits from 100.
    Status,
    /// A field name is empty, too long or holds a byte that is no token character, or no colon
    /// follows it.
    FieldName,
    /// A carriage return without a line feed after it.
    StrayCr,
    /// A line feed without a carriage return before it, where chunked framing needs both.
    BareLf,
    /// A field value or a reason phrase holds a NUL.
    Nul,
    /// A folded line before any field.
    FoldWithoutField,
    /// A folded line that continues `Host`.
    FoldedHost,
    /// More header lines than allowed.
    TooManyLines,
    /// A head, a trailer section or a chunk size line larger than allowed.
    TooLarge,
    /// A chunk extension has a quoted string without an end, or a control character.
    ChunkExtension,
    /// A chunk size is missing, not hexadecimal or too large.
    ChunkSize,
    /// No line end after the data of a chunk.
    ChunkEnd,
}

impl Reason {
    /// A short text for logs and `show errors`.
    pub fn text(self) -> &'static str {
        match self {
            Self::Method => "invalid character in the method",
            Self::Target => "invalid character in the request target",
            Self::Version => "invalid protocol version",
            Self::Status => "invalid status code",
            Self::FieldName => "invalid header name",
            Self::StrayCr => "carriage return without line feed",
            Self::BareLf => "line feed without carriage return",
            Self::Nul => "NUL in a value",
            Self::FoldedHost => "folded host header",
            Self::ChunkExtension => "invalid chunk extension",
            Self::FoldWithoutField => "folded line before the first header",
            Self::TooManyLines => "too many header lines",
            Self::TooLarge => "headers too large",
            Self::ChunkSize => "invalid chunk size",
            Self::ChunkEnd => "missing line end after a chunk",
        }
    }

    /// This error at an offset.
    pub(crate) fn at(self, at: usize) -> SyntaxError {
        SyntaxError { reason: self, at }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.reason.text(), self.at)
    }
}

impl std::error::Error for SyntaxError {}
