//! Clients: listeners, session rules, PROXY protocol headers, connections of HTTP/1, HTTP/2 and HTTP/3.

pub(crate) mod client;
pub(crate) mod h2_connection;
pub(crate) mod h2_refusal;
pub(crate) mod handshake_limit;
pub mod listener;
pub mod listener_balance;
pub mod preamble;
pub(crate) mod quic_connection;
pub(crate) mod quic_host;
pub(crate) mod quic_listener;
mod quic_presence;
pub(crate) mod quic_relay;
pub(crate) mod session_rules;
