//! The syntax of HTTP/1 (RFC 9112): heads, chunked bodies, trailers, in both directions. The mux
//! derives length, persistence and host.
//!
//! `docs/http1-strictness.md` lists what is accepted beyond the grammar, and why: bare LF after
//! lines of a head, leading empty lines, obsolete line folding, control characters in values except
//! CR, LF and NUL; more with [`Limits::lenient`].

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
pub use error::{Reason, SyntaxError};
pub use head::{HeadKind, HeadParser};
pub use trailers::{TrailersParser, TrailersStep};

/// Limits on what a peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, empty lines before and after it included (`tune.bufsize` -
    /// `tune.maxrewrite`); also of a trailer section, and of one chunk size line with its
    /// extensions.
    pub head_bytes: u32,
    /// Header lines of a head, or of a trailer section (`tune.http.maxhdr`).
    pub header_lines: u16,
    /// Accepts malformed messages as HAProxy does with `option accept-invalid-http-request` and
    /// `option accept-invalid-http-response`.
    pub lenient: bool,
    /// Further exceptions.
    pub exceptions: Exceptions,
}

/// Exceptions to the rules, one bit each to keep connections small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exceptions(u8);

impl Exceptions {
    /// A request target may have a fragment, because rules remove it (`normalize-uri
    /// fragment-strip`, `fragment-encode`).
    pub const FRAGMENTS: Self = Self(1);
    /// An HTTP/1.0 request may have a body with any method (`h1-accept-payload-with-any-method`).
    pub const PAYLOAD_WITH_ANY_METHOD: Self = Self(2);

    /// Whether this exception is set.
    pub const fn has(self, exception: Self) -> bool {
        self.0 & exception.0 != 0
    }

    /// The same set with one more exception, if `made`.
    #[must_use]
    pub const fn with(self, exception: Self, made: bool) -> Self {
        if made { Self(self.0 | exception.0) } else { self }
    }
}

/// The longest field name.
pub const MAX_NAME: usize = 255;

impl Limits {
    /// HAProxy's defaults.
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
