//! HTTP/2 on the wire (RFC 9113): frames, header blocks, and their conversion to messages.
//!
//! Reading order: [`frame`] (what a connection is made of), [`encode`] (writing frames), [`hpack`]
//! (header compression, RFC 7541), [`request`], [`response`] and [`trailers`] (header lists to and
//! from `htx`).

pub mod encode;
pub mod error;
pub(crate) mod fields;
pub mod frame;
pub mod hpack;
pub mod request;
pub mod response;
pub mod settings;
pub mod trailers;

pub use error::{ErrorCode, MalformedMessage};
pub use frame::{FrameHeader, FrameType};
pub use settings::{Setting, Settings};

/// The client's connection preface (RFC 9113 section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Default of the largest frame payload (RFC 9113 section 6.5.2).
pub const DEFAULT_FRAME_SIZE: u32 = 16_384;

/// Largest value of it.
pub const MAX_FRAME_SIZE: u32 = (1 << 24) - 1;

/// Default window (RFC 9113 section 6.9.2).
pub const DEFAULT_WINDOW: u32 = 65_535;

/// Largest window (RFC 9113 section 6.9.1).
pub const MAX_WINDOW: u32 = (1 << 31) - 1;

/// The largest stream identifier.
pub const MAX_STREAM_ID: u32 = (1 << 31) - 1;

#[cfg(test)]
mod tests;
