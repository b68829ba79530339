//! What the data plane is told at start: plain immutable data, filled by the boot from whatever
//! configuration there is.
//!
//! Times are milliseconds; an absent time is "no limit".
#![forbid(unsafe_code)]

mod filters;
mod hashing;
mod link;
mod logging;
pub mod memory;
mod process;
mod rings;
mod server;
pub mod soft_stop;
mod speech;
pub mod splice;

use reactor::Address;
use rules::Rules;
use sample::vars::SharedVars;
use sample::{CaptureSlot, LogFormat};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

pub use filters::{Compression, Filter, ProcessCompression, TraceFilter};
pub use hashing::{HashKey, Hashing, UriKey};
pub use link::{
    Announce, Disguise, Encryption, Expected, Follows, Link, NEVER, Ports, Preamble, ServerName,
    Switch, Values,
};
pub use logging::{LogAddress, LogSample, LogTarget, LogTransport, Logs};
pub use process::{Http2, Process, Rates};
pub use rings::{Backing, LogBind, LogForward, Ring, RingServer};
pub use server::{Agent, Check, External, HttpCheck, NameServer, Resolvers, Server, Streams};
pub use speech::{Speech, Speeches, Version};

/// What a proxy carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Bytes.
    #[default]
    Tcp,
    /// HTTP messages.
    Http,
}

/// Which connections stay open after a request; the stronger of frontend and backend wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ConnectionMode {
    /// Both sides.
    #[default]
    KeepAlive,
    /// The client's (`option http-server-close`).
    ServerClose,
    /// None (`option httpclose`).
    Close,
}

/// When a request may use an idle server connection (`http-reuse`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reuse {
    /// Only its own session's.
    Never,
    /// Any, but for the first request of a client connection.
    #[default]
    Safe,
    /// As safe, and for the first request those that have been used again before.
    Aggressive,
    /// Any.
    Always,
}

/// What is tried once more (`retry-on`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryOn(u16);

impl Default for RetryOn {
    fn default() -> Self {
        Self::CONNECTION
    }
}

impl RetryOn {
    /// Nothing.
    pub const NEVER: Self = Self(0);
    /// Requests that could not be sent.
    pub const CONNECTION: Self = Self(1);
    /// Requests whose connection ended without a word.
    pub const EMPTY: Self = Self(1 << 1);
    /// Requests whose answer makes no sense.
    pub const JUNK: Self = Self(1 << 2);
    /// Requests that the server did not answer in time.
    pub const TIMEOUT: Self = Self(1 << 3);
    /// Requests that the server would not take before its handshake was over.
    pub const EARLY: Self = Self(1 << 14);

    /// The statuses that can be named.
    const STATUSES: [u16; 10] = [401, 403, 404, 408, 425, 500, 501, 502, 503, 504];

    /// Requests answered with a status, if it is one that can be named.
    pub fn status(status: u16) -> Option<Self> {
        let place = Self::STATUSES.iter().position(|it| *it == status)?;
        Some(Self(1 << (4 + place)))
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether an event is among them.
    pub fn has(self, event: Self) -> bool {
        self.0 & event.0 != 0
    }

    /// Whether anything but connecting is tried again.
    pub fn looks_at_answers(self) -> bool {
        self.0 & !Self::CONNECTION.0 != 0
    }
}

/// Time limits of a proxy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// The client's inactivity.
    pub client: Option<u32>,
    /// The client's inactivity after one side closed.
    pub client_fin: Option<u32>,
    /// The request's headers.
    pub http_request: Option<u32>,
    /// Waiting for the next request.
    pub http_keep_alive: Option<u32>,
    /// Attempts to connect.
    pub connect: Option<u32>,
    /// The server's inactivity.
    pub server: Option<u32>,
    /// The server's inactivity after one side closed.
    pub server_fin: Option<u32>,
    /// Waiting in a queue.
    pub queue: Option<u32>,
    /// Inactivity of a tunnel.
    pub tunnel: Option<u32>,
    /// How long a tarpitted request is held.
    pub tarpit: Option<u32>,
    /// A health check after its connection stands.
    pub check: Option<u32>,
    /// How long `tcp-request content` rules wait for bytes.
    pub request_inspection: Option<u32>,
    /// How long `tcp-response content` rules do.
    pub response_inspection: Option<u32>,
}

/// `option http-restrict-req-hdr-names`: header names beyond letters, digits and hyphens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HeaderNames {
    /// Are passed on.
    #[default]
    Preserve,
    /// Are removed with their values.
    Delete,
    /// Are answered with 403.
    Reject,
}

/// `option forwardfor`, `option originalto`.
#[derive(Clone, Debug)]
pub struct ForwardFor {
    /// Clients for which nothing is added: address and prefix length.
    pub except: Option<(IpAddr, u8)>,
    /// Name of the header, in lower case.
    pub header: String,
    /// Only when the header is absent.
    pub if_none: bool,
}

/// Who sets the persistence cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CookieMode {
    /// The server, in its own words.
    #[default]
    Server,
    /// The server, and its value is replaced (`rewrite`).
    Rewrite,
    /// The proxy (`insert`).
    Insert,
    /// The server, and its value is completed (`prefix`).
    Prefix,
}

/// `cookie NAME ...`.
#[derive(Clone, Debug, Default)]
pub struct Cookie {
    /// Name of the cookie.
    pub name: Vec<u8>,
    /// Who sets it.
    pub mode: CookieMode,
    /// Hidden from servers, and not set again when the client has it.
    pub indirect: bool,
    /// Replies that set it are not cacheable.
    pub nocache: bool,
    /// Inserted into responses to POST alone.
    pub post_only: bool,
    /// A server may set it itself.
    pub preserve: bool,
    /// Seconds after which one that was not seen does not count; 0 for no limit.
    pub max_idle: u32,
    /// Seconds after which one does not count at all; 0 for no limit.
    pub max_life: u32,
    /// Attributes appended to `Set-Cookie`.
    pub attributes: Vec<Vec<u8>>,
}

impl Cookie {
    /// Whether it is only looked at.
    pub fn is_passive(&self) -> bool {
        self.mode == CookieMode::Server && !self.indirect
    }
}

/// A reply that replaces a built-in one.
#[derive(Clone, Debug)]
pub enum ErrorReply {
    /// A response from a file; an empty one closes the connection without a byte.
    File {
        /// As it stands in the file, for requests that were never understood.
        raw: Arc<[u8]>,
        /// As a message, which passes through rules like any other.
        parsed: Arc<rules::ErrorFile>,
    },
    /// What a rule would answer with (`http-error`).
    Reply(Arc<rules::Reply>),
}

impl ErrorReply {
    /// A redirect with this status, 302 or 303; `None` if the location does not fit into a header.
    pub fn location(status: u16, url: &[u8]) -> Option<Self> {
        let reason = if status == 303 { "See Other" } else { "Found" };
        let begin = format!(
            "HTTP/1.1 {status} {reason}\r\ncache-control: no-cache\r\ncontent-length: 0\r\nlocation: "
        );
        let text = |end: &str| [begin.as_bytes(), url, end.as_bytes()].concat();
        let parsed = Arc::new(rules::ErrorFile::parse(&text("\r\n\r\n")).ok()?);
        let raw = text("\r\nconnection: close\r\n\r\n").into();
        Some(Self::File { raw, parsed })
    }

    /// What rules send for it.
    pub fn answer(&self) -> rules::ErrorAnswer<'_> {
        match self {
            Self::File { parsed, .. } => rules::ErrorAnswer::File(parsed),
            Self::Reply(reply) => rules::ErrorAnswer::Reply(reply),
        }
    }
}

/// The statistics page of a proxy.
#[derive(Clone, Debug, Default)]
pub struct StatsPage {
    /// Prefix of the URIs that it answers.
    pub uri: String,
    /// Seconds between reloads; 0 for none.
    pub refresh: u32,
    /// `stats realm`.
    pub realm: Option<String>,
    /// Users and passwords; empty for everybody.
    pub users: Vec<(Vec<u8>, Vec<u8>)>,
    /// Do not show the version.
    pub hide_version: bool,
    /// Show additional details in tooltips.
    pub show_legends: bool,
    /// Shows what modules count.
    pub show_modules: bool,
    /// The node name shown, if any.
    pub node: Option<String>,
    /// The description shown, if any.
    pub description: Option<String>,
    /// Names of the proxies shown; empty for all.
    pub scope: Vec<String>,
}

/// Mails about servers (`email-alert`).
#[derive(Clone, Debug)]
pub struct Mail {
    /// Who sends.
    pub from: String,
    /// Who gets.
    pub to: String,
    /// What the process calls itself.
    pub hostname: String,
    /// The highest level that is sent, as syslog counts them.
    pub level: u8,
    /// Time for a mail to one mailer.
    pub timeout_ms: u32,
    /// Each gets every mail.
    pub mailers: Vec<SocketAddr>,
}

/// Settings of the client side of a proxy.
#[derive(Debug, Default)]
pub struct Front {
    /// Where it listens.
    pub binds: Vec<Bind>,
    /// Concurrent connections; `None` for the process's limit.
    pub maxconn: Option<u32>,
    /// The backend without a rule that says otherwise, by index.
    pub default_backend: Option<usize>,
    /// `option abortonclose`, by `defaults` or in `listen`.
    pub abort_on_close: bool,
    /// `option dontlognull`.
    pub dont_log_null: bool,
    /// `option dontlog-normal`.
    pub dont_log_normal: bool,
    /// `option log-separate-errors`.
    pub separate_errors: bool,
    /// `option logasap`.
    pub log_asap: bool,
    /// `option http-ignore-probes`.
    pub ignore_probes: bool,
    /// `option http-use-proxy-header`: requests to a proxy are asked for credentials as by one.
    pub proxy_header: bool,
    /// `option accept-invalid-http-request`.
    pub accept_invalid: bool,
    /// `option disable-h2-upgrade`: clear connections do not become HTTP/2.
    pub disable_h2_upgrade: bool,
    /// `option idle-close-on-response`: a soft stop leaves clients between requests alone.
    pub idle_close_on_response: bool,
    /// `monitor-uri`.
    pub monitor_uri: Option<Vec<u8>>,
    /// Sessions accepted per second; 0 for no limit.
    pub session_rate: u32,
    /// `option socket-stats`: each listener counts for itself, too.
    pub socket_stats: bool,
    /// `option contstats`: long transfers are counted while they last.
    pub continuous_stats: bool,
    /// The most idle server connections that one client has to itself (`max-session-srv-conns`).
    pub own_connections: u32,
    /// `option independent-streams`.
    pub independent_streams: bool,
    /// `option h1-case-adjust-bogus-client`.
    pub adjusts_case: bool,
}

/// One listening address, bound already.
#[derive(Clone, Debug)]
pub struct Bind {
    /// The socket.
    pub handle: reactor::Handle,
    /// Where it is bound.
    pub address: Address,
    /// The network namespace that it belongs to, if not that of the process.
    pub namespace: Option<Arc<reactor::Namespace>>,
    /// `name`, or nothing.
    pub name: Option<String>,
    /// Number in its proxy, from 1.
    pub id: u32,
    /// Concurrent connections; 0 for no limit.
    pub maxconn: u32,
    /// Threads that accept, from 0; none for all.
    pub threads: Vec<u16>,
    /// Priority of the connections, -1024 (first) to 1024 (last).
    pub nice: i16,
    /// What goes before the first byte of the connections.
    pub preamble: Preamble,
    /// Whether connections speak HTTP/2 (`proto h2`, `proto h1`); `None`: what their handshake
    /// chose.
    pub speaks_h2: Option<bool>,
    /// By how many bytes segments are smaller than clients have announced.
    pub mss_reduction: u32,
    /// Other sockets of the same address, each with the threads that it is for; the first one is
    /// for all others.
    pub shards: Vec<(reactor::Handle, Vec<u16>)>,
    /// Clients that may wait to be accepted.
    pub backlog: u32,
}

impl Bind {
    /// The socket from which a thread accepts.
    pub fn socket_of(&self, thread: usize) -> reactor::Handle {
        let own = |it: &&u16| usize::from(**it) == thread;
        let shard = self.shards.iter().find(|(_, threads)| threads.iter().find(own).is_some());
        shard.map_or(self.handle, |(handle, _)| *handle)
    }
}

/// Settings of the server side of a proxy.
#[derive(Debug, Default)]
pub struct Back {
    /// The servers, in order.
    pub servers: Vec<Server>,
    /// Where requests go unless something names a server; then the algorithm chooses none
    /// (`dispatch`, `option transparent`).
    pub direct: Option<Server>,
    /// How one is chosen.
    pub algorithm: balance::Algorithm,
    /// `http-send-name-header`: the field that tells a server its name.
    pub name_header: Option<String>,
    /// `fullconn`, which statistics show as the limit; `None` for its default.
    pub full_connections: Option<u32>,
    /// The algorithm's name and parameters as configured.
    pub algorithm_name: String,
    /// What is hashed, for algorithms that hash.
    pub hashing: Option<Hashing>,
    /// Several backup servers at once.
    pub all_backups: bool,
    /// Persistence by a cookie.
    pub cookie: Option<Cookie>,
    /// Servers without a value of their own have one computed from their address.
    pub dynamic_cookie: bool,
    /// What values of servers without one of their own are computed with (`dynamic-cookie-key`).
    pub cookie_key: Option<Arc<str>>,
    /// Attempts to connect after the first.
    pub retries: u32,
    /// What these attempts are for.
    pub retry_on: RetryOn,
    /// `option redispatch`: 0 off, n every nth retry, -n the nth from the end.
    pub redispatch: i32,
    /// When idle connections are used.
    pub reuse: Reuse,
    /// What checks do.
    pub check: Check,
    /// The same as a script, for servers whose checks begin with more than their request (PROXY
    /// header, TLS).
    pub check_script: Arc<rules::check::Script>,
    /// `option log-health-checks`.
    pub log_checks: bool,
    /// `option checkcache`: cookies that a shared cache might keep are refused.
    pub check_cache: bool,
    /// `option persist`: also servers that are down get the requests that name them.
    pub persists: bool,
    /// What finds the RDP cookie that names a server (`persist rdp-cookie`).
    pub rdp_cookie: Option<Arc<sample::Expr>>,
    /// `option prefer-last-server`.
    pub prefer_last: bool,
    /// Requests that may wait for the last server (`max-keep-alive-queue`); `None` for no limit.
    pub keep_alive_queue: Option<u32>,
    /// `option http-pretend-keepalive`.
    pub pretend_keep_alive: bool,
    /// `option abortonclose`.
    pub abort_on_close: bool,
    /// `option accept-invalid-http-response`.
    pub accept_invalid: bool,
    /// `option independent-streams`.
    pub independent_streams: bool,
    /// `option h1-case-adjust-bogus-server`.
    pub adjusts_case: bool,
}

/// Settings of one proxy.
#[derive(Debug, Default)]
pub struct Proxy {
    /// Name.
    pub name: Arc<str>,
    /// Number, from 1.
    pub id: u32,
    /// Whether `id` gave it its number.
    pub forced_id: bool,
    /// What it carries.
    pub mode: Mode,
    /// Whether it takes no part.
    pub disabled: bool,
    /// `description`.
    pub description: Option<String>,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Which connections stay open.
    pub connection_mode: ConnectionMode,
    /// `option forwardfor`.
    pub forward_for: Option<ForwardFor>,
    /// `option originalto`.
    pub original_to: Option<ForwardFor>,
    /// `option http-restrict-req-hdr-names`.
    pub header_names: HeaderNames,
    /// `option http-buffer-request`.
    pub buffer_request: bool,
    /// `option splice-auto`, `splice-request`, `splice-response`.
    pub splice: splice::SpliceOptions,
    /// Replies that replace built-in ones, by status.
    pub error_replies: BTreeMap<u16, ErrorReply>,
    /// Filters in the order of their lines.
    pub filters: Vec<Filter>,
    /// `compression`.
    pub compression: Option<Compression>,
    /// The statistics page.
    pub stats: Option<StatsPage>,
    /// Where its log lines go.
    pub logs: Arc<Logs>,
    /// Mails about its servers.
    pub mail: Option<Mail>,
    /// What a line says about a transaction of this frontend.
    pub log_format: Option<LogFormat>,
    /// What the line says of a connection that failed before there was a request; as `log_format`
    /// without.
    pub error_log_format: Option<LogFormat>,
    /// What never becomes a request has no line.
    pub logs_requests_only: bool,
    /// A line is written when a session is accepted in TCP mode, or when a request is complete in
    /// HTTP mode, before any rule has seen it; none is written at the end.
    pub logs_at_start: bool,
    /// The structured data of RFC 5424 lines.
    pub log_format_sd: Option<LogFormat>,
    /// Capture slots: those of requests, those of responses.
    pub captures: [Vec<CaptureSlot>; 2],
    /// `capture cookie`: what `name=value` begins with, and the longest text kept.
    pub captured_cookie: Option<(Vec<u8>, usize)>,
    /// `unique-id-format`.
    pub unique_id: Option<LogFormat>,
    /// `unique-id-header`, in lower case.
    pub unique_id_header: Option<String>,
    /// Rules of its own.
    pub rules: Rules,
    /// Rules of its `defaults` section, which run first.
    pub inherited_rules: Option<Arc<Rules>>,
    /// The client side, if it has one.
    pub front: Option<Front>,
    /// The server side, if it has one.
    pub back: Option<Back>,
}

impl Proxy {
    /// The rules that hold here, in the order in which they run.
    pub fn rule_sections(&self) -> impl Iterator<Item = &Rules> {
        self.inherited_rules.as_deref().into_iter().chain([&self.rules])
    }
}
