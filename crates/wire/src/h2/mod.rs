//! HTTP/2 on the wire (RFC 9113): frames, header blocks, and how they become messages. Never
//! remembers a stream.
//!
//! Reading order: [`frame`] (what a connection is made of), [`encode`] (writing frames), [`hpack`]
//! (header compression, RFC 7541), [`request`], [`response`] and [`trailers`] (header lists to and
//! from `htx`).

pub mod encode;
pub mod error;
mod fields;
pub mod frame;
pub mod hpack;
pub mod request;
pub mod response;
pub mod settings;
pub mod trailers;

pub use error::{Code, Malformed};
pub use frame::{FrameHeader, Kind};
pub use settings::{Setting, Settings};

/// What a client sends first (RFC 9113 section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest frame payload that a peer takes unless it says otherwise (section 6.5.2).
pub const DEFAULT_FRAME_SIZE: u32 = 16_384;

/// The largest that may be announced.
pub const MAX_FRAME_SIZE: u32 = (1 << 24) - 1;

/// A window before anybody has said anything (section 6.9.2).
pub const DEFAULT_WINDOW: u32 = 65_535;

/// The largest window (section 6.9.1).
pub const MAX_WINDOW: u32 = (1 << 31) - 1;

/// The largest stream identifier.
pub const MAX_STREAM_ID: u32 = (1 << 31) - 1;

#[cfg(test)]
mod tests;
