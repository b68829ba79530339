//! Codecs between bytes and `htx`. No I/O, no clock, no connection state beyond one message.
//!
//! Reading order: [`sink`] (where encoders write), [`h1`] (RFC 9112).
#![forbid(unsafe_code)]

pub mod h1;
pub mod sink;

pub use sink::{Sink, SliceSink};
