//! Rings, the servers that receive their messages, and forwarded logs (configuration manual,
//! sections 3.9 and 3.10). Data only.

use super::{Encryption, LogTransport, Logs, Preamble};
use std::sync::Arc;
use stdx::socket::Address;

/// The index of the ring that every process has, `buf0`; those of `ring` sections follow.
pub const OWN_RING: usize = 0;

/// A ring (configuration manual, section 3.9).
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// Name of the ring.
    pub name: String,
    /// `description`.
    pub description: String,
    /// Format of the syslog header of its messages.
    pub transport: LogTransport,
    /// The longest message, in bytes.
    pub max_len: usize,
    /// Size of the ring in bytes, at most 1 GiB.
    pub size: usize,
    /// Servers, each of which receives all messages.
    pub servers: Vec<RingServer>,
    /// Milliseconds to connect to a server.
    pub connect_ms: Option<u32>,
    /// Milliseconds for a server to read the bytes sent.
    pub server_ms: Option<u32>,
}

/// A server that gets the messages of a ring.
#[derive(Clone, Debug)]
pub struct RingServer {
    /// Address of the server.
    pub address: Address,
    /// Whether messages are sent with their length in front (octet counting, RFC 6587).
    pub counts: bool,
    /// TLS of the connection; `None` in clear.
    pub encryption: Option<Encryption>,
}

/// A listener of a `log-forward` section.
#[derive(Debug, Clone)]
pub struct LogBind {
    /// Headers and TLS before the first byte of its connections.
    pub preamble: Preamble,
    /// Concurrent connections of this listener; 0 for no limit of its own.
    pub maxconn: u32,
}

/// A `log-forward` section (configuration manual, section 3.10).
#[derive(Debug)]
pub struct LogForward {
    /// Name of the section.
    pub name: String,
    /// Listeners for stream connections.
    pub binds: Vec<LogBind>,
    /// Targets of the messages; [`super::LogTarget::keeps`] applies to them.
    pub logs: Arc<Logs>,
    /// Concurrent connections of the section; 0 for no limit.
    pub maxconn: u32,
    /// Milliseconds of silence after which a client is closed.
    pub client_ms: Option<u32>,
}
