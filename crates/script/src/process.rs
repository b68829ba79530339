//! The process as scripts see it beyond their own transaction: proxies, servers, stick tables, maps.

use crate::error::ScriptError;
use std::sync::Arc;

/// A value that the process gives to a script.
#[derive(Clone, PartialEq, Debug)]
pub enum Plain {
    /// No value.
    Nil,
    /// A boolean.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(Vec<u8>),
    /// Values by name.
    Map(Vec<(Vec<u8>, Plain)>),
    /// Values from 1 on.
    List(Vec<Plain>),
}

impl From<&str> for Plain {
    fn from(text: &str) -> Plain {
        Plain::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Plain {
    fn from(text: String) -> Plain {
        Plain::Text(text.into_bytes())
    }
}

/// A name for a [`Plain::Map`].
pub fn key(name: &str) -> Vec<u8> {
    name.as_bytes().to_vec()
}

/// A server as scripts name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerOf<'n> {
    /// The index of its backend.
    pub proxy: usize,
    /// Its name.
    pub name: &'n str,
}

/// An operation on a proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyCall<'n> {
    /// `get_stats`
    Stats,
    /// `get_stats` of the listener of this name.
    ListenerStats(&'n str),
    /// The names of its servers.
    Servers,
    /// `pause`
    Pause,
    /// `resume`
    Resume,
    /// `stop`
    Stop,
    /// `shut_bcksess`
    ShutBackupSessions,
}

/// The switch of a check, or the state that it is forced to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckCall {
    /// `..._enable`
    Enable,
    /// `..._disable`
    Disable,
    /// `..._force_up`
    Up,
    /// `check_force_nolb`
    Stopping,
    /// `..._force_down`
    Down,
}

/// An operation on a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerCall<'n> {
    /// The number of a server; no value if it does not exist.
    Number,
    /// `get_stats`
    Stats,
    /// `is_draining`
    IsDraining,
    /// `get_weight`
    Weight,
    /// `set_weight`
    SetWeight(&'n str),
    /// `get_maxconn`
    Maxconn,
    /// `set_maxconn`
    SetMaxconn(&'n str),
    /// `get_addr`
    Address,
    /// `set_addr`: an address, and a port or an empty text.
    SetAddress(&'n str, &'n str),
    /// `shut_sess`
    ShutSessions,
    /// `set_drain`
    Drain,
    /// `set_maint`
    Maintain,
    /// `set_ready`
    Ready,
    /// `check_...`
    Check(CheckCall),
    /// `agent_...`
    Agent(CheckCall),
}

/// A filter of `StickTable:dump`: a column, an operator and a value.
pub type TableFilter = (String, String, i64);

/// An operation on the stick table of a proxy.
#[derive(Clone, PartialEq, Debug)]
pub enum TableCall {
    /// Whether there is a table.
    Exists,
    /// `info`
    Info,
    /// `lookup`
    Lookup(Vec<u8>),
    /// Some entries of `dump` that pass all filters, from a place on.
    Dump(Vec<TableFilter>, (usize, usize)),
}

/// A change of the patterns of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternCall<'n> {
    /// `set_map`: a key and its value.
    SetMap(&'n [u8], &'n [u8]),
    /// `del_map`
    DelMap(&'n [u8]),
    /// `add_acl`
    AddAcl(&'n [u8]),
    /// `del_acl`
    DelAcl(&'n [u8]),
}

/// A proxy as `core.proxies` shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProxyEntry {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: u32,
    /// `frontend`, `backend` or `proxy`.
    pub capability: &'static str,
    /// `http` or `tcp`.
    pub mode: &'static str,
    /// The names of its listeners.
    pub listeners: Vec<String>,
    /// Whether it has a stick table.
    pub has_table: bool,
}

/// The process of a thread's scripts. All operations end at once.
pub trait Process {
    /// All proxies, by index.
    fn proxies(&self) -> Vec<ProxyEntry>;

    /// `core.get_info`
    fn info(&self) -> Plain;

    /// A call about a proxy.
    ///
    /// # Errors
    /// The operation is refused, or names something that does not exist.
    fn proxy(&self, proxy: usize, call: ProxyCall<'_>) -> Result<Plain, ScriptError>;

    /// A call about a server.
    ///
    /// # Errors
    /// The operation is refused, or names something that does not exist.
    fn server(&self, server: ServerOf<'_>, call: ServerCall<'_>) -> Result<Plain, ScriptError>;

    /// Something about the stick table of a proxy.
    ///
    /// # Errors
    /// The operation is refused, or names something that does not exist.
    fn table(&self, proxy: usize, call: &TableCall) -> Result<Plain, ScriptError>;

    /// Changes the patterns of a file; `None`: no dictionary uses this file.
    ///
    /// # Errors
    /// The operation is refused, or names something that does not exist.
    fn patterns(&self, file: &str, change: PatternCall<'_>) -> Option<Result<(), ScriptError>>;

    /// `CertCache.set`: the name of a file, and what becomes its content by kind (`crt`, `key`).
    ///
    /// # Errors
    /// The operation is refused, or names something that does not exist.
    fn certificate(&self, file: &str, parts: &[(String, Vec<u8>)]) -> Result<(), ScriptError>;
}

/// Closes the socket of this number on its thread.
pub type SocketCloser = Arc<dyn Fn(u64) + Send + Sync>;

/// A socket of `core.tcp`, which closes when the script has forgotten it.
pub struct SocketHandle {
    id: u64,
    close: SocketCloser,
}

impl SocketHandle {
    /// The handle of a socket; `close` runs when it is dropped.
    pub fn new(id: u64, close: SocketCloser) -> SocketHandle {
        SocketHandle { id, close }
    }

    /// Its number among all sockets of scripts.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl std::fmt::Debug for SocketHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SocketHandle").field(&self.id).finish()
    }
}

impl Drop for SocketHandle {
    fn drop(&mut self) {
        (self.close)(self.id);
    }
}

/// An operation on a socket that may take time.
#[derive(Clone, PartialEq, Debug)]
pub enum SocketCall {
    /// `connect`: address and port; whether TLS follows.
    Connect {
        /// The address, perhaps with its port.
        address: String,
        /// The port, if it is a separate argument.
        port: Option<u16>,
        /// Milliseconds for connecting, if they are given.
        timeout: Option<u64>,
        /// Whether a TLS handshake follows.
        tls: bool,
    },
    /// `send`
    Send(Vec<u8>),
    /// `receive`
    Receive(Pattern),
    /// `settimeout`, in milliseconds.
    SetTimeout(u64),
    /// `getpeername`
    PeerName,
    /// `getsockname`
    OwnName,
    /// `close`
    Close,
}

/// The bytes that `receive` returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// A line, without its end.
    Line,
    /// All bytes up to the end of the connection.
    All,
    /// So many bytes.
    Count(usize),
}
