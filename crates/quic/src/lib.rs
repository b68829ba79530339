//! QUIC connections to clients (RFC 9000, 9001 and 9002), and HTTP/3 over them, without sockets.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`): datagrams and time come in as arguments.
//!
//! The state machine of the transport is that of the crate `quinn-proto`, which no other crate of
//! the workspace knows; its cryptography is that of the TLS library that is linked.
//!
//! Reading order: [`endpoint`] (datagrams in, connections), [`connection`] (one connection with its
//! HTTP/3 machine), `session` and `server` (the handshake), `aead` and `derive` (packet
//! protection), `token`, `connection_id`, [`relay`] (datagrams of other processes), `congestion`
//! (acknowledgements), [`settings`].
#![forbid(unsafe_code)]

mod aead;
mod congestion;
pub mod connection;
mod connection_id;
mod datagram;
mod derive;
pub mod endpoint;
pub mod relay;
mod server;
mod session;
pub mod settings;
mod token;

pub use connection::{
    CloseCode, CloseReason, ConnectionTotals, DeliveryProgress, PathFacts, QuicConnection,
};
pub use connection_id::{ConnectionOwner, Steering};
pub use endpoint::{
    Arrival, ConnectionKey, ConnectionMessage, Datagram, EndpointCounters, InitialVerdict,
    Outgoing, QuicEndpoint,
};
pub use relay::RelayMessage;
pub use settings::{CongestionControl, QuicSettings};

#[cfg(test)]
mod tests;
