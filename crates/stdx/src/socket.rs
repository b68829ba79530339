//! Values that describe sockets: addresses of every family, and options of outgoing connections.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// An address to bind or connect to.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Address {
    /// TCP or UDP over IPv4 or IPv6.
    Inet(SocketAddr),
    /// A path in the file system, or after a NUL byte an abstract name.
    Unix(PathBuf),
    /// One end of a socket pair: connections are passed to the process that holds the other end
    /// (manual, section 11.1, `sockpair@`).
    Pair(i32),
}

impl Address {
    /// The internet address; `None` for other families.
    pub fn inet(&self) -> Option<SocketAddr> {
        match self {
            Self::Inet(address) => Some(*address),
            Self::Unix(_) | Self::Pair(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Unix(path) => match path.to_str().and_then(|path| path.strip_prefix('\0')) {
                Some(name) => write!(f, "abns@{name}"),
                None => path.display().fmt(f),
            },
            Self::Pair(number) => write!(f, "sockpair@{number}"),
        }
    }
}

/// TCP keep-alive probes; `None` keeps the system's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// Unanswered probes after which the connection counts as dead.
    pub count: Option<u32>,
    /// Seconds of silence before the first probe.
    pub idle: Option<u32>,
    /// Seconds between probes.
    pub interval: Option<u32>,
}

/// Sizes of the system's socket buffers in bytes; 0 keeps its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemBuffers {
    /// Receive buffer (`SO_RCVBUF`).
    pub receive: u32,
    /// Send buffer (`SO_SNDBUF`).
    pub send: u32,
    /// Unsent bytes above which the socket is not writable (`TCP_NOTSENT_LOWAT`).
    pub unsent: u32,
}

/// Options of an outgoing connection besides its destination. `N` is a network namespace: a name
/// in settings, an open descriptor where the connection is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOptions<N> {
    /// Source address; port 0 leaves the port to the system.
    pub source: Option<SocketAddr>,
    /// The source need not be local; needs a privilege.
    pub foreign: bool,
    /// Network interface of outgoing packets.
    pub interface: Option<Arc<str>>,
    /// Network namespace of the socket.
    pub namespace: Option<N>,
    /// Time for which sent data may stay unacknowledged, in milliseconds; 0 for the system's
    /// default.
    pub user_timeout_ms: u32,
    /// The first write goes into the SYN (TCP Fast Open); nothing may be read before.
    pub fast_open: bool,
    /// The ACK of the handshake is delayed, to travel with the first data.
    pub patient: bool,
    /// Keep-alive probes for a silent peer.
    pub keep_alive: Option<KeepAlive>,
    /// Sizes of the system's buffers.
    pub buffers: SystemBuffers,
    /// Closing discards unsent data and resets the connection.
    pub resets: bool,
}

impl<N> ConnectOptions<N> {
    /// The same options with another kind of namespace.
    pub fn with_namespace<M>(&self, namespace: Option<M>) -> ConnectOptions<M> {
        ConnectOptions {
            source: self.source,
            foreign: self.foreign,
            interface: self.interface.clone(),
            namespace,
            user_timeout_ms: self.user_timeout_ms,
            fast_open: self.fast_open,
            patient: self.patient,
            keep_alive: self.keep_alive,
            buffers: self.buffers,
            resets: self.resets,
        }
    }
}

impl<N> Default for ConnectOptions<N> {
    fn default() -> Self {
        Self {
            source: None,
            foreign: false,
            interface: None,
            namespace: None,
            user_timeout_ms: 0,
            fast_open: false,
            patient: false,
            keep_alive: None,
            buffers: SystemBuffers::default(),
            resets: false,
        }
    }
}
