//! Servers of a backend (sections 4.2 `server` and 5.2).
use super::{Check, Link, Protocol, ResolveOptions, ServerAddress, TlsServer};
use crate::diag::Place;
use ::balance::{Layer, OnError};
use std::sync::Arc;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Name, unique in its backend.
    pub name: Arc<str>,
    /// Number in its backend, from 1 unless set with `id`.
    pub id: u32,
    /// Whether `id` gave it its number.
    pub forced_id: bool,
    /// Where it is.
    pub address: ServerAddress,
    /// Its line.
    pub place: Place,
    /// The name of its host, unless an address was given.
    pub host: Option<String>,
    /// Whether its address is not known at the start.
    pub unresolved: bool,
    /// How its name is resolved while the process serves, if it is.
    pub resolve: Option<Arc<dns::ResolveSettings>>,
    /// Everything after the address, `default-server` included.
    pub options: ServerOptions,
    /// The backend and the name of the server that it tracks.
    pub tracked: Option<(Arc<str>, Arc<str>)>,
    /// Whether rules or other servers refer to this server.
    pub referenced: bool,
    /// The TLS side of its connections.
    pub tls: Option<Arc<tls::Connector>>,
    /// Whether the address in a state file takes precedence over the one that was resolved
    /// (`init-addr`).
    pub last_address: bool,
    /// Its state in a state file.
    pub restored: Option<balance::Restored>,
    /// The host whose service record this server is assigned to, if any.
    pub serves_as: Option<String>,
    /// The address and port of its checks in a state file, if they differ from the server's.
    pub checked_at: (Option<std::net::IpAddr>, Option<u16>),
    /// Its checks are suspended.
    pub checks_off: bool,
    /// The agent check is disabled.
    pub agent_off: bool,
}

/// Everything after the address of a `server` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// `weight`, 0 to 256; 1 by default.
    pub weight: u32,
    /// `backup`.
    pub backup: bool,
    /// `disabled`: starts in maintenance.
    pub disabled: bool,
    /// `cookie`: its value in the persistence cookie.
    pub cookie: Option<String>,
    /// `redir`: where clients go themselves, up to the path.
    pub redirect: Option<Arc<str>>,
    /// `maxconn`: concurrent requests; 0 is no limit.
    pub maxconn: u32,
    /// `minconn`: the limit while the backend has little to do; 0 is `maxconn` always.
    pub minconn: u32,
    /// `maxqueue`: requests that may wait; 0 is no limit.
    pub maxqueue: u32,
    /// `slowstart`, ms; 0 is none.
    pub slowstart: u64,
    /// `pool-max-conn`: idle connections kept; -1 is no limit, 0 none.
    pub pool_max_conn: i32,
    /// `pool-low-conn`: with fewer idle connections, threads take no connections from other
    /// threads.
    pub pool_low_conn: u32,
    /// `max-reuse`: how often a connection is used again; -1 is no limit.
    pub max_reuse: i32,
    /// `pool-purge-delay`, ms; 5000 by default.
    pub pool_purge_delay: u64,
    /// `non-stick`: `stick` rules never store it.
    pub non_stick: bool,
    /// `proto`: the protocol of its connections.
    pub protocol: Option<Protocol>,
    /// `ws`: the protocol for websockets.
    pub websocket: Websocket,
    /// How its connections are made.
    pub link: Link,
    /// Health checks.
    pub check: Check,
    /// How its name is resolved.
    pub resolve: ResolveOptions,
    /// `track`, as written.
    pub track: Option<String>,
    /// `observe`: the layer at which traffic is observed for its health.
    pub observe: Option<Layer>,
    /// `error-limit`: errors in a row that are too many; 10 by default.
    pub error_limit: u32,
    /// `on-error`: the action after too many errors.
    pub on_error: OnError,
    /// `on-marked-down shutdown-sessions`
    pub down_ends_sessions: bool,
    /// `on-marked-up shutdown-backup-sessions`
    pub up_ends_backup_sessions: bool,
    /// `ssl` and its parameters.
    pub tls: TlsServer,
}

/// The protocol with a server for websockets (`ws`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Websocket {
    /// The protocol of other requests, but HTTP/1 where the server may choose.
    #[default]
    Auto,
    /// HTTP/1.
    H1,
    /// HTTP/2.
    H2,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            weight: 1,
            backup: false,
            disabled: false,
            cookie: None,
            redirect: None,
            maxconn: 0,
            minconn: 0,
            maxqueue: 0,
            slowstart: 0,
            pool_max_conn: -1,
            pool_low_conn: 0,
            max_reuse: -1,
            pool_purge_delay: 5000,
            non_stick: false,
            protocol: None,
            websocket: Websocket::Auto,
            link: Link::default(),
            check: Check::default(),
            resolve: ResolveOptions::default(),
            track: None,
            observe: None,
            error_limit: 10,
            on_error: OnError::default(),
            down_ends_sessions: false,
            up_ends_backup_sessions: false,
            tls: TlsServer::default(),
        }
    }
}

/// The text in `str(text)`.
pub(crate) fn constant(expression: &str) -> Option<&str> {
    expression.strip_prefix("str(")?.strip_suffix(')')
}

impl ServerOptions {
    /// The configured SNI, if it is a constant (`sni`).
    pub fn server_name(&self) -> Option<&str> {
        constant(&self.tls.sni.as_ref()?.written.0)
    }
}
