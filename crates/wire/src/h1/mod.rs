//! HTTP/1 (RFC 9112): heads, chunked bodies, trailers, both ways. Syntax only: what a message means
//! for its connection (length, persistence, host) is the mux's.
//!
//! Strictness is that of HAProxy 2.7: bare LF, leading empty lines, obsolete line folding, any byte
//! in a value except a stray CR; nothing else beyond the grammar.

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

/// Bounds on what a peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, empty lines before and after it included (`tune.bufsize` -
    /// `tune.maxrewrite`); also of a trailer section, and of one chunk size line with its
    /// extensions.
    pub head_bytes: u32,
    /// Header lines of a head, or of a trailer section (`tune.http.maxhdr`).
    pub header_lines: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head_bytes: 15_360, header_lines: 101 }
    }
}

#[cfg(test)]
mod tests;
