//! The validated configuration: plain immutable data with every reference resolved.
use crate::diag::Place;
use crate::env::Environment;
use ::rules::UserList;
use sample::vars::SharedVars;
use std::collections::BTreeMap;
use std::sync::Arc;

mod address;
mod balance;
mod check;
mod fcgi;
mod filters;
mod global;
mod http;
mod http_client;
mod link;
mod listener;
mod log;
mod mail;
mod peers;
mod program;
mod proxy;
mod resolvers;
mod ring;
mod rules;
mod server;
mod shown_text;
mod threads;
mod tls;

pub use self::tls::{ServerName, TlsBind, TlsPresets, TlsProcess, TlsServer};
pub use ::balance::{HashMethod, Layer, OnError};
pub use ::rules::{Rules, Switching};
pub use address::{BindAddress, ServerAddress, ServerPort};
pub use balance::{Balance, HashFunction, HashType};
pub use check::{AgentCheck, Check, HealthCheck};
pub use fcgi::BackendApp;
pub use filters::{Filter, SpoeLine};
pub use global::{
    CpuMap, Global, HeaderCase, Process, Profiling, SendHostname, StatsSettings, Tune,
};
pub use http::{HttpErrors, Network};
pub use http_client::HttpClient;
pub use link::{Announce, ConnectSource, KeepAlive, Link};
pub use listener::{Bind, BindOptions, Level, Protocol, SeverityOutput, UnixAccess};
pub(crate) use log::{FACILITIES, LEVELS};
pub use log::{Facility, LogAddress, LogLevel, LogSample, LogStyle, LogTarget};
pub use mail::{EmailAlert, Mailer, Mailers};
pub use peers::{Peer, Peers};
pub use program::Program;
pub use proxy::{Back, Common, Direct, Front, LoadState, Proxy, ProxyKind};
pub use resolvers::{InitAddr, NameServer, ResolveOptions, Resolvers};
pub use ring::{LogForward, Ring, RingServer};
pub use rules::{Captured, Formats};
pub(crate) use server::constant;
pub use server::{Server, ServerOptions, Websocket};
pub use settings::soft_stop::CloseSpread;
pub use settings::splice::SpliceOptions;
pub use settings::{
    Compression, CompressionDirection, ConnectionMode, Cookie, CookieMode, Disguise, ErrorReply,
    ForwardFor, HeaderNames, LogTransport, Mode, ProcessCompression, QuicCongestion,
    RequestCompression, RetryOn, Reuse, StatsPage, TraceFilter, UriKey,
};
pub use shown_text::{ShownLine, ShownText};
pub use stdx::socket::Address;
pub use threads::{MAX_GROUPS, MAX_THREADS, PER_GROUP, Seat, ThreadSet, Threads};

/// A whole configuration.
#[derive(Debug, Default)]
pub struct Model {
    /// Process-wide settings: all `global` sections together.
    pub global: Global,
    /// `http-errors` sections in order.
    pub http_errors: Vec<HttpErrors>,
    /// `userlist` sections by name.
    pub userlists: BTreeMap<String, UserList>,
    /// `resolvers` sections in order; servers name them by their index.
    pub resolvers: Vec<Resolvers>,
    /// `log-forward` sections in order.
    pub log_forwards: Vec<LogForward>,
    /// `peers` sections in order.
    pub peers: Vec<Peers>,
    /// `cache` sections in order.
    pub caches: Vec<cache::CacheSettings>,
    /// `program` sections in order.
    pub programs: Vec<Program>,
    /// `proc` variables set in `global`.
    pub variables: Arc<SharedVars>,
    /// Frontends, backends and listens in order of declaration; references between them are indices
    /// here.
    pub proxies: Vec<Proxy>,
    /// Proxies without a section: requests of the process itself go through them.
    pub hidden: Vec<Proxy>,
    /// Stick tables in order of declaration; rules name them by their index.
    pub tables: Vec<table::Settings>,
    /// The environment after `setenv` and its family, for operators and child processes.
    pub env: Environment,
    /// Certificates, authorities and revocation lists.
    pub store: Arc<::tls::Store>,
    /// The patterns of ACLs and maps, which change while the program runs.
    pub dictionaries: Arc<sample::pattern::Dictionaries>,
    /// The lines that it was built from.
    pub text: ShownText,
}

impl Model {
    /// The proxy with server side that has this name.
    pub fn backend(&self, name: &str) -> Option<usize> {
        self.proxies.iter().position(|p| p.kind.has_backend() && *p.name == *name)
    }
}

/// A value with its place in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// The place of its line in the configuration.
    pub place: Place,
}
