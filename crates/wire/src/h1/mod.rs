//! HTTP/1 (RFC 9112): heads, chunked bodies, trailers, both ways. Syntax only: what a message means
//! for its connection (length, persistence, host) is the mux's.
//!
//! What is let through beyond the grammar, and why, stands in `docs/http1-strictness.md`: bare LF
//! after the lines of a head, leading empty lines, obsolete line folding, control characters in
//! values but for CR, LF and NUL; more when [`Limits::lenient`] is set.

mod block;
mod chars;
pub mod chunk;
pub mod encode;
mod error;
mod field;
pub mod head;
mod line;
mod start_line;
pub mod trailers;

pub use chunk::{ChunkDecoder, ChunkStep};
pub use error::{Error, Reason};
pub use head::{HeadKind, HeadParser};
pub use trailers::{TrailersParser, TrailersStep};

/// What a peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, empty lines before and after it included (`tune.bufsize` -
    /// `tune.maxrewrite`); also of a trailer section, and of one chunk size line with its
    /// extensions.
    pub head_bytes: u32,
    /// Header lines of a head, or of a trailer section (`tune.http.maxhdr`).
    pub header_lines: u16,
    /// Malformed messages that HAProxy lets through are taken as it takes them
    /// (`option accept-invalid-http-request`, `option accept-invalid-http-response`).
    pub lenient: bool,
    /// What else is taken.
    pub exceptions: Exceptions,
}

/// What is taken on demand, a bit each: limits are kept for every connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exceptions(u8);

impl Exceptions {
    /// A request's target may have a fragment: rules take it off (`normalize-uri fragment-strip`,
    /// `fragment-encode`).
    pub const FRAGMENTS: Self = Self(1);
    /// An HTTP/1.0 request may have a body whatever its method is
    /// (`h1-accept-payload-with-any-method`).
    pub const PAYLOAD_WITH_ANY_METHOD: Self = Self(2);

    /// Whether one of them is made.
    pub const fn has(self, exception: Self) -> bool {
        self.0 & exception.0 != 0
    }

    /// With one more, if `made`.
    #[must_use]
    pub const fn with(self, exception: Self, made: bool) -> Self {
        if made { Self(self.0 | exception.0) } else { self }
    }
}

/// The longest field name.
pub const MAX_NAME: usize = 255;

impl Limits {
    /// Those of HAProxy without any setting.
    pub const DEFAULT: Self =
        Self { head_bytes: 15_360, header_lines: 101, lenient: false, exceptions: Exceptions(0) };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests;
