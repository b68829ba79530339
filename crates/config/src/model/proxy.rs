//! Frontends, backends and listens (section 4).
use super::{
    Address, At, BackendApp, Balance, Bind, BindAddress, Captured, Compression, ConnectSource,
    ConnectionMode, EmailAlert, ErrorReply, Filter, Formats, ForwardFor, HashType, HeaderNames,
    HealthCheck, KeepAlive, LogStyle, LogTarget, Mode, Rules, Server, SpliceOptions, StatsPage,
};
use crate::diag::Place;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One `frontend`, `backend` or `listen` section.
#[derive(Debug)]
pub struct Proxy {
    /// Name; a frontend and a backend may share one.
    pub name: Arc<str>,
    /// Number, unique among proxies: from 1 in order of declaration unless set with `id`.
    pub id: u32,
    /// Whether `id` gave it its number.
    pub forced_id: bool,
    /// Whether it has a frontend, a backend, or both.
    pub kind: ProxyKind,
    /// The line of the section.
    pub place: Place,
    /// `description`.
    pub description: Option<String>,
    /// `disabled`: the proxy is not used.
    pub disabled: bool,
    /// `mode`.
    pub mode: Mode,
    /// Whether it is a backend for agents of SPOE, in the mode of bytes (`mode spop`).
    pub is_spop: bool,
    /// Settings of both sides.
    pub common: Common,
    /// Rules of its own.
    pub rules: Rules,
    /// Rules of its `defaults` section; they run before its own.
    pub inherited_rules: Option<Arc<Rules>>,
    /// Formats of the client side.
    pub formats: Formats,
    /// Captures of the client side.
    pub captured: Captured,
    /// The client side; `Some` if the kind has one.
    pub front: Option<Front>,
    /// The server side; `Some` if the kind has one.
    pub back: Option<Back>,
}

impl Proxy {
    /// The addresses that ask for several sockets, and could have them.
    pub fn sharded(&self) -> impl Iterator<Item = &Bind> {
        self.front.iter().flat_map(|front| &front.binds).filter(|bind| {
            let own = matches!(bind.address, BindAddress::At(Address::Inet(_)));
            own && bind.options.shards.is_some_and(|count| count != 1)
        })
    }
}

/// The kind of a proxy section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// Client side only.
    Frontend,
    /// Server side only.
    Backend,
    /// Both.
    Listen,
}

impl ProxyKind {
    /// True when it accepts clients.
    pub fn has_frontend(self) -> bool {
        self != Self::Backend
    }

    /// Whether the proxy has servers.
    pub fn has_backend(self) -> bool {
        self != Self::Frontend
    }

    /// The word that HAProxy uses in messages: a listen is a `proxy`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Frontend => "frontend",
            Self::Backend => "backend",
            Self::Listen => "proxy",
        }
    }
}

/// Settings that both sides have.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// `log` targets, those of `log global` included.
    pub logs: Vec<LogTarget>,
    /// `log-tag`.
    pub log_tag: Option<String>,
    /// `option httpclose`, `http-server-close`, `http-keep-alive`.
    pub connection_mode: ConnectionMode,
    /// `option forwardfor`.
    pub forward_for: Option<ForwardFor>,
    /// `option originalto`.
    pub original_to: Option<ForwardFor>,
    /// `option http-restrict-req-hdr-names`.
    pub header_names: Option<HeaderNames>,
    /// `option http-buffer-request`.
    pub buffer_request: bool,
    /// `option splice-auto`, `splice-request`, `splice-response`.
    pub splice: SpliceOptions,
    /// `errorfile` and `errorloc*`, by status.
    pub error_replies: BTreeMap<u16, ErrorReply>,
    /// Filters in order of declaration; the one of `compression` is among them even without a line
    /// of its own.
    pub filters: Vec<Filter>,
    /// `filter-sequence`: the filters that payload of requests and of responses passes, in order.
    pub filter_sequences: [Option<Vec<Filter>>; 2],
    /// `compression`.
    pub compression: Option<Compression>,
    /// `stats *`; `None` when the page is off.
    pub stats: Option<Box<StatsPage>>,
    /// `email-alert`.
    pub email_alert: Option<EmailAlert>,
    /// `timeout` and `inspect-delay` lines of the sides that it has.
    pub timeouts: settings::Timeouts,
}

/// The most idle server connections in a client's private pool, without `max-session-srv-conns`.
const OWN_CONNECTIONS: u32 = 5;
/// `retries` without a line.
const RETRIES: u32 = 3;

/// The client side.
#[derive(Clone, Debug)]
pub struct Front {
    /// Settings that the data plane takes unchanged. Its listeners are opened from `binds`.
    pub settings: settings::Frontend,
    /// Listening addresses.
    pub binds: Vec<Bind>,
    /// `backlog`; `None` follows `maxconn`.
    pub backlog: Option<u32>,
    /// The predefined log format in use.
    pub log_style: LogStyle,
    /// `option clitcpka` and its family.
    pub keep_alive: KeepAlive,
    /// `option tcp-smart-accept`; `None` is on in HTTP mode alone.
    pub smart_accept: Option<bool>,
    /// `unique-id-header`: the header that carries the unique id to servers.
    pub unique_id_header: Option<String>,
    /// `option accept-invalid-http-request`.
    pub accept_invalid_request: bool,
    /// `option accept-unsafe-violations-in-http-request`: the same.
    pub accept_unsafe_request: bool,
    /// `option nolinger`.
    pub nolinger: bool,
}

impl Default for Front {
    fn default() -> Self {
        Self {
            settings: settings::Frontend { own_connections: OWN_CONNECTIONS, ..Default::default() },
            binds: Vec::new(),
            backlog: None,
            log_style: LogStyle::default(),
            keep_alive: KeepAlive::default(),
            smart_accept: None,
            unique_id_header: None,
            accept_invalid_request: false,
            accept_unsafe_request: false,
            nolinger: false,
        }
    }
}

/// The server side.
#[derive(Clone, Debug)]
pub struct Back {
    /// Settings that the data plane takes unchanged. Its servers come from `servers` and `direct`.
    pub settings: settings::Backend,
    /// Servers in order of declaration.
    pub servers: Vec<Server>,
    /// The name that `use-fcgi-app` gives.
    pub fcgi_app: Option<At<String>>,
    /// The application with its settings, resolved from the name.
    pub fcgi: Option<BackendApp>,
    /// The destination of requests for which no rule names a server; `balance` chooses no server
    /// then.
    pub direct: Option<Direct>,
    /// `balance`.
    pub balance: Balance,
    /// `hash-type`.
    pub hash_type: HashType,
    /// `hash-balance-factor`: percent of the fair share, or 0 for no bound.
    pub hash_balance_factor: u32,
    /// `option httpchk` and `http-check`.
    pub check: HealthCheck,
    /// `option accept-invalid-http-response`.
    pub accept_invalid_response: bool,
    /// `option accept-unsafe-violations-in-http-response`: the same.
    pub accept_unsafe_response: bool,
    /// `source`: the source address of connections to servers.
    pub source: Option<ConnectSource>,
    /// `option srvtcpka` and its family.
    pub keep_alive: KeepAlive,
    /// `option tcp-smart-connect`.
    pub smart_connect: bool,
    /// `option nolinger`.
    pub nolinger: bool,
    /// `load-server-state-from-file`
    pub load_state: LoadState,
    /// `server-state-file-name`; the name of the section when not set.
    pub state_file: Option<String>,
}

impl Default for Back {
    fn default() -> Self {
        Self {
            fcgi_app: None,
            fcgi: None,
            settings: settings::Backend { retries: RETRIES, ..Default::default() },
            servers: Default::default(),
            direct: Default::default(),
            balance: Default::default(),
            hash_type: Default::default(),
            hash_balance_factor: Default::default(),
            check: Default::default(),
            accept_invalid_response: Default::default(),
            accept_unsafe_response: Default::default(),
            source: Default::default(),
            keep_alive: Default::default(),
            smart_connect: Default::default(),
            nolinger: Default::default(),
            load_state: Default::default(),
            state_file: Default::default(),
        }
    }
}

/// Where the states of servers that a process before has left are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadState {
    /// Nowhere.
    #[default]
    None,
    /// In the file of `global`.
    Global,
    /// In a file of the section.
    Local,
}

/// Where requests go that nothing names a server for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direct {
    /// `dispatch`
    To(Address),
    /// `option transparent`: to where the client wanted to go.
    Destination,
}
