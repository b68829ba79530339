//! Rings, who gets their messages, and where messages of others go (configuration manual, sections 3.9 and
//! 3.10). Data only.

use super::{Encryption, LogTransport, Logs, Preamble};
use reactor::Address;
use std::sync::Arc;

/// A ring (configuration manual, section 3.9).
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub description: String,
    /// The envelope of its messages.
    pub transport: LogTransport,
    /// The longest message, in bytes.
    pub max_len: usize,
    /// Its size in bytes, at most 1 GiB.
    pub size: usize,
    /// Who gets all messages.
    pub servers: Vec<RingServer>,
    /// Milliseconds for a connection to a server.
    pub connect_ms: Option<u32>,
    /// Milliseconds for a server to take what is sent.
    pub server_ms: Option<u32>,
    /// Where what it holds is kept too.
    pub backing: Option<Arc<dyn Backing>>,
}

/// A server that gets the messages of a ring.
#[derive(Clone, Debug)]
pub struct RingServer {
    /// Where it is.
    pub address: Address,
    /// Messages go behind their length.
    pub counts: bool,
    /// What the connection is encrypted with.
    pub encryption: Option<Encryption>,
}

/// A file that keeps the bytes of a ring beyond the process. A thread of its own writes to it and
/// may wait for the disk; write errors are not reported.
pub trait Backing: std::fmt::Debug + Send + Sync {
    /// Called once by the thread that writes, before it does.
    fn begin(&self) {}
    /// These bytes stand at this place.
    fn write_at(&self, offset: u64, bytes: &[u8]);
}

/// A socket of a `log-forward` section that listens for connections.
#[derive(Debug, Clone)]
pub struct LogBind {
    /// Where it is.
    pub handle: reactor::Handle,
    /// What goes before the first byte of its connections.
    pub preamble: Preamble,
    /// Its connections at once; 0 for no limit of its own.
    pub maxconn: u32,
}

/// A `log-forward` section (configuration manual, section 3.10).
#[derive(Debug)]
pub struct LogForward {
    /// Its name.
    pub name: String,
    /// Sockets that listen for connections.
    pub binds: Vec<LogBind>,
    /// Sockets for datagrams.
    pub datagrams: Vec<reactor::Handle>,
    /// Where messages go; `keeps` of a target holds.
    pub logs: Arc<Logs>,
    /// Connections at once; 0 for no limit.
    pub maxconn: u32,
    /// Milliseconds that a client may be silent.
    pub client_ms: Option<u32>,
}
