//! Listeners of proxies and of the runtime API (sections 4.2 `bind` and 5.1).
use super::{BindAddress, ThreadSet, TlsBind};
use crate::diag::Place;
use settings::QuicCongestion;
use std::sync::Arc;

/// One listening address; a line with ranges or commas gives several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Where to bind.
    pub address: BindAddress,
    /// Address as written on the line, for messages.
    pub written: Arc<str>,
    /// Number of this listener in its proxy, from 1 unless set with `id`.
    pub id: u32,
    /// Its line.
    pub place: Place,
    /// Everything after the address.
    pub options: Arc<BindOptions>,
    /// The address has the prefix `quic4@` or `quic6@`.
    pub is_quic: bool,
    /// The TLS side of its connections.
    pub tls: Option<Arc<tls::Acceptor>>,
}

/// A protocol that `proto` sets for connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Bytes.
    None,
    /// HTTP/1.
    H1,
    /// HTTP/2.
    H2,
    /// FastCGI.
    Fcgi,
    /// The protocol of agents of SPOE.
    Spop,
}

impl Protocol {
    /// Every protocol by its name.
    const NAMES: [(&'static str, Self); 5] = [
        ("none", Self::None),
        ("h1", Self::H1),
        ("h2", Self::H2),
        ("fcgi", Self::Fcgi),
        ("spop", Self::Spop),
    ];

    /// The protocol with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, protocol)| *protocol)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| *name)
    }
}

/// Everything after the address of a `bind` or `stats socket` line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindOptions {
    /// `name`.
    pub name: Option<String>,
    /// `id`, more than 0.
    pub id: Option<u32>,
    /// `maxconn`: concurrent connections of this listener; 0 is none.
    pub maxconn: u32,
    /// `backlog`; 0 is that of the frontend.
    pub backlog: u32,
    /// `interface`: device to bind to.
    pub interface: Option<String>,
    /// `thread`: threads that accept.
    pub threads: ThreadSet,
    /// `nice`: priority of the connections, -1024 (first) to 1024 (last).
    pub nice: i16,
    /// `v4v6` or `v6only`, the last one given; `None` is the system's choice.
    pub v6only: Option<bool>,
    /// `mode`, `user`, `uid`, `group`, `gid` of a unix socket, or what `unix-bind` says before the
    /// line.
    pub access: UnixAccess,
    /// `unix-bind prefix` before the line.
    pub unix_prefix: Option<Arc<str>>,
    /// `mss`: the largest segment announced, or below 0 what is taken off that of the client.
    pub mss: i32,
    /// `tcp-ut`, ms; 0 for the system's.
    pub tcp_ut: u32,
    /// `tfo`
    pub tfo: bool,
    /// `defer-accept`
    pub defer_accept: bool,
    /// `transparent`
    pub transparent: bool,
    /// `namespace`
    pub namespace: Option<String>,
    /// `shards`: sockets for the threads of the line; 0 for one each (`by-thread`).
    pub shards: Option<u16>,
    /// `proto`: the protocol of connections, instead of detection.
    pub protocol: Option<Protocol>,
    /// `accept-proxy`: connections begin with a PROXY protocol header.
    pub accept_proxy: bool,
    /// `accept-netscaler-cip`: connections begin with a NetScaler header of this magic number.
    pub accept_netscaler: Option<u32>,
    /// `quic-cc-algo`
    pub quic_congestion: QuicCongestion,
    /// `quic-force-retry`
    pub quic_force_retry: bool,
    /// `ssl` and its parameters.
    pub tls: TlsBind,
    /// `level` of a runtime socket.
    pub level: Level,
    /// `expose-fd listeners` of a runtime socket.
    pub exposes_listeners: bool,
    /// `severity-output` of a runtime socket.
    pub severity_output: SeverityOutput,
}

/// Owner and permissions of a unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnixAccess {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
}

/// Rights of a runtime socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Looks, with restrictions.
    User,
    /// Reads everything, and changes only what is not critical.
    #[default]
    Operator,
    /// Everything.
    Admin,
}

/// How severities are shown on a runtime socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeverityOutput {
    /// Not at all.
    #[default]
    None,
    /// `[4]:` before messages.
    Number,
    /// `[warning]:` before messages.
    String,
}
