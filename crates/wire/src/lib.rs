//! Codecs between bytes and `htx`.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`); state is kept for one message at most.
//!
//! Reading order: [`sink`] (output of encoders), [`h1`] (RFC 9112), [`h2`] (RFC 9113),
//! [`h3`] (RFC 9114), [`fcgi`] (FastCGI, towards applications). [`proxy_protocol`], [`netscaler`]
//! and [`socks4`] come before the first message of a connection; [`websocket`] has the keys that
//! translations between the versions need; [`upgrade`] and [`trailer_rules`] are rules for both
//! versions.
#![forbid(unsafe_code)]

pub mod fcgi;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod netscaler;
pub mod proxy_protocol;
pub mod sink;
pub mod socks4;
pub mod trailer_rules;
pub mod upgrade;
pub mod websocket;

pub use sink::{Sink, SliceSink};
