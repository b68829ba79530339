//! HTTP/3 on the wire (RFC 9114): frames, field sections, and their conversion from messages.
//!
//! Reading order: [`varint`], [`frame`] (what a stream is made of), [`settings`], [`qpack`] (field
//! compression, RFC 9204), [`encode`] (writing frames and messages). Field sections become messages
//! as the header lists of HTTP/2 do: [`super::h2::request`] and [`super::h2::trailers`].

pub mod encode;
pub mod error;
pub mod frame;
pub mod qpack;
pub mod settings;
pub mod varint;

pub use error::H3ErrorCode;
pub use frame::{H3FrameHeader, H3FrameType, StreamType};
pub use settings::H3Settings;

#[cfg(test)]
mod tests;
