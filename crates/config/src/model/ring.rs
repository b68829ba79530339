//! `ring` and `log-forward` sections (sections 3.9 and 3.10).
use super::{Address, Bind, LogTarget, LogTransport, ServerOptions};
use crate::diag::Place;
use std::path::PathBuf;
use std::sync::Arc;

/// A `ring` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Its name.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// `description`: its text in `show events`; its name by default.
    pub description: String,
    /// `format`: the envelope of its messages.
    pub format: LogTransport,
    /// `maxlen`: longest message in bytes.
    pub max_len: usize,
    /// `size`, bytes.
    pub size: usize,
    /// `backing-file`: a file with a copy of the ring's contents.
    pub backing_file: Option<PathBuf>,
    /// `server` lines: each gets all messages.
    pub servers: Vec<RingServer>,
    /// `timeout connect`, ms.
    pub connect: Option<u64>,
    /// `timeout server`, ms.
    pub server: Option<u64>,
    /// True when no `format` was given.
    pub(crate) default_format: bool,
}

impl Ring {
    /// The size of a ring without `size`, in bytes: that of a buffer.
    pub(crate) const SIZE: usize = 16_384;
    /// The longest message without `maxlen`, in bytes.
    pub(crate) const MAX_LEN: usize = 1_024;
}

/// A server that gets the messages of a ring over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingServer {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// `log-proto octet-count`: each message goes behind its length (RFC 6587, section 3.4.1)
    /// instead of before a newline.
    pub counts: bool,
    /// TLS options of its line (section 5.2).
    pub options: ServerOptions,
    /// Its side of TLS, if the connection is encrypted.
    pub tls: Option<Arc<tls::Connector>>,
    /// The place of its line.
    pub place: Place,
}

/// A `log-forward` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogForward {
    /// Its name.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// `bind` lines.
    pub binds: Vec<Bind>,
    /// `dgram-bind` lines.
    pub datagrams: Vec<Bind>,
    /// `log` lines, those of `global` included.
    pub logs: Vec<LogTarget>,
    /// `maxconn`: connections at once, 10 by default.
    pub maxconn: u32,
    /// `backlog`; 0 is `maxconn`.
    pub backlog: u32,
    /// `timeout client`, ms.
    pub client: Option<u64>,
}
