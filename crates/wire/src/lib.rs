//! Codecs between bytes and `htx`. No I/O, no clock, no connection state beyond one message.
//!
//! Reading order: [`sink`] (where encoders write), [`h1`] (RFC 9112), [`h2`] (RFC 9113). Beside
//! them is what goes before any message on a connection: [`proxy_protocol`], [`netscaler`],
//! [`socks4`]; what [`websocket`] needs between the two; and rules that hold in both versions:
//! [`upgrade`], [`forbidden`].
#![forbid(unsafe_code)]

pub mod forbidden;
pub mod h1;
pub mod h2;
pub mod netscaler;
pub mod proxy_protocol;
pub mod sink;
pub mod socks4;
pub mod upgrade;
pub mod websocket;

pub use sink::{Sink, SliceSink};
