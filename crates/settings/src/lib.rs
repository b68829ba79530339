//! Settings of the data plane: plain data without handles of the system, which the boot fills from
//! any kind of configuration.
//!
//! Times are in milliseconds; an absent time means no limit.
#![forbid(unsafe_code)]

mod fcgi;
mod filters;
mod hashing;
mod link;
mod logging;
pub mod memory;
mod peers;
mod process;
mod rings;
mod server;
pub mod soft_stop;
mod speech;
pub mod splice;
mod spoe;

use rules::Rules;
use sample::vars::SharedVars;
use sample::{CaptureSlot, LogFormat};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;
use stdx::socket::Address;

pub use fcgi::BackendApp;
pub use filters::{
    Compression, CompressionDirection, Filter, ProcessCompression, RequestCompression, TraceFilter,
};
pub use hashing::{HashKey, Hashing, UriKey};
pub use link::{
    Announce, ConnectOptions, Disguise, Encryption, Expected, Follows, Link, Ports, Preamble,
    ServerName, Values,
};
pub use logging::{LogAddress, LogSample, LogTarget, LogTransport, Logs};
pub use peers::{PeerServer, PeersSection};
pub use process::{Http2, Process, Rates};
pub use rings::{LogBind, LogForward, OWN_RING, Ring, RingServer};
pub use server::{Agent, Check, External, HttpCheck, NameServer, Resolvers, Server, Streams};
pub use speech::{Protocol, ServerProtocols, WireProtocol};
pub use spoe::SpoeFilter;

/// Protocol that a proxy forwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Bytes.
    #[default]
    Tcp,
    /// HTTP messages.
    Http,
}

/// Connections that stay open after a request; the stronger mode of frontend and backend applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ConnectionMode {
    /// Both sides.
    #[default]
    KeepAlive,
    /// The client's (`option http-server-close`).
    ServerClose,
    /// No connection stays open (`option httpclose`).
    Close,
}

/// Requests that may use an idle server connection (`http-reuse`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reuse {
    /// Only requests of the session that left the connection idle.
    Never,
    /// All but the first request of a client connection.
    #[default]
    Safe,
    /// As `Safe`; the first request too, on a connection that has already been reused.
    Aggressive,
    /// All.
    Always,
}

/// Failures after which a request is sent again (`retry-on`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryOn(u16);

impl Default for RetryOn {
    fn default() -> Self {
        Self::CONNECTION
    }
}

impl RetryOn {
    /// No failure.
    pub const NEVER: Self = Self(0);
    /// Requests that could not be sent.
    pub const CONNECTION: Self = Self(1);
    /// Requests whose connection ended before the first byte of a response.
    pub const EMPTY: Self = Self(1 << 1);
    /// Requests whose response cannot be parsed.
    pub const JUNK: Self = Self(1 << 2);
    /// Requests that the server did not answer within `timeout server`.
    pub const TIMEOUT: Self = Self(1 << 3);
    /// Requests sent as early data that the server rejected.
    pub const EARLY: Self = Self(1 << 14);
    /// All of these, and those answered with 500, 502, 503 or 504 (`all-retryable-errors`).
    pub const ALL: Self = Self(0b1111 | 1 << 14 | 0b11_1010_0000 << 4);

    /// The statuses that `retry-on` can name.
    const STATUSES: [u16; 10] = [401, 403, 404, 408, 425, 500, 501, 502, 503, 504];

    /// Requests answered with a status; `None` if `retry-on` cannot name it.
    pub fn status(status: u16) -> Option<Self> {
        let place = Self::STATUSES.iter().position(|it| *it == status)?;
        Some(Self(1 << (4 + place)))
    }

    /// The failures of both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a failure is in the set.
    pub fn has(self, event: Self) -> bool {
        self.0 & event.0 != 0
    }

    /// Whether failures after the connection was made are retried.
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
    /// Time to receive the headers of a request.
    pub http_request: Option<u32>,
    /// Time between two requests of a client.
    pub http_keep_alive: Option<u32>,
    /// Time to connect to a server.
    pub connect: Option<u32>,
    /// The server's inactivity.
    pub server: Option<u32>,
    /// The server's inactivity after one side closed.
    pub server_fin: Option<u32>,
    /// Time of a request in a queue.
    pub queue: Option<u32>,
    /// Inactivity of a tunnel.
    pub tunnel: Option<u32>,
    /// Time for which a tarpitted request is held.
    pub tarpit: Option<u32>,
    /// Time of a health check once its connection is established.
    pub check: Option<u32>,
    /// Time for which `tcp-request content` rules wait for bytes.
    pub request_inspection: Option<u32>,
    /// Time for which `tcp-response content` rules wait for bytes.
    pub response_inspection: Option<u32>,
}

impl Timeouts {
    /// The options of the sides that a proxy has.
    #[must_use]
    pub fn of_sides(self, front: bool, back: bool) -> Self {
        Self {
            client: self.client.filter(|_| front),
            client_fin: self.client_fin.filter(|_| front),
            connect: self.connect.filter(|_| back),
            server: self.server.filter(|_| back),
            server_fin: self.server_fin.filter(|_| back),
            queue: self.queue.filter(|_| back),
            tunnel: self.tunnel.filter(|_| back),
            check: self.check.filter(|_| back),
            response_inspection: self.response_inspection.filter(|_| back),
            ..self
        }
    }
}

/// `option http-restrict-req-hdr-names`: treatment of header names with characters beyond letters,
/// digits and hyphens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HeaderNames {
    /// Passed on.
    #[default]
    Preserve,
    /// Removed with their values.
    Delete,
    /// The request is answered with 403.
    Reject,
}

/// `option forwardfor`, `option originalto`.
#[derive(Clone, Debug)]
pub struct ForwardFor {
    /// Clients without the header: address and prefix length.
    pub except: Option<(IpAddr, u8)>,
    /// Name of the header, in lower case.
    pub header: String,
    /// Whether the header is added only to requests without one.
    pub if_none: bool,
}

/// Sender of the persistence cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CookieMode {
    /// The server, with a value of its own.
    #[default]
    Server,
    /// The server; the proxy replaces its value (`rewrite`).
    Rewrite,
    /// The proxy (`insert`).
    Insert,
    /// The server; the proxy puts the server's name in front of the value (`prefix`).
    Prefix,
}

/// `cookie NAME ...`.
#[derive(Clone, Debug, Default)]
pub struct Cookie {
    /// Name of the cookie.
    pub name: Vec<u8>,
    /// Sender of the cookie.
    pub mode: CookieMode,
    /// Whether the cookie is hidden from servers and not set again when the client has it.
    pub indirect: bool,
    /// Whether responses that set the cookie are marked as not cacheable.
    pub nocache: bool,
    /// Whether only responses to POST set the cookie.
    pub post_only: bool,
    /// Whether a cookie set by the server is left alone.
    pub preserve: bool,
    /// Seconds after its last use for which a cookie is valid; 0 for no limit.
    pub max_idle: u32,
    /// Seconds after its first use for which a cookie is valid; 0 for no limit.
    pub max_life: u32,
    /// Attributes appended to `Set-Cookie`.
    pub attributes: Vec<Vec<u8>>,
}

impl Cookie {
    /// Whether the cookie is read but not changed.
    pub fn is_passive(&self) -> bool {
        self.mode == CookieMode::Server && !self.indirect
    }
}

/// A reply that replaces a built-in one.
#[derive(Clone, Debug)]
pub enum ErrorReply {
    /// A response from a file; an empty one closes the connection without a byte.
    File {
        /// The bytes of the file, for requests that could not be parsed.
        raw: Arc<[u8]>,
        /// The file as a message, which passes through response rules.
        parsed: Arc<rules::ErrorFile>,
    },
    /// A response built as by an `http-request return` rule (`http-error`).
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

    /// The reply in the form in which rules send it.
    pub fn answer(&self) -> rules::ErrorAnswer<'_> {
        match self {
            Self::File { parsed, .. } => rules::ErrorAnswer::File(parsed),
            Self::Reply(reply) => rules::ErrorAnswer::Reply(reply),
        }
    }
}

/// The statistics page of a proxy.
#[derive(Clone, Debug)]
pub struct StatsPage {
    /// Prefix of the URIs that the page answers.
    pub uri: String,
    /// Seconds between reloads; 0 for none.
    pub refresh: u32,
    /// `stats realm`.
    pub realm: Option<String>,
    /// Users and passwords; empty for access without credentials.
    pub users: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether the version is hidden.
    pub hide_version: bool,
    /// Whether tooltips show additional details.
    pub show_legends: bool,
    /// Whether the counters of modules are shown.
    pub show_modules: bool,
    /// The node name on the page.
    pub node: Option<String>,
    /// The description on the page.
    pub description: Option<String>,
    /// Names of the proxies on the page; empty for all.
    pub scope: Vec<String>,
}

impl Default for StatsPage {
    fn default() -> Self {
        Self {
            uri: "/haproxy?stats".to_owned(),
            refresh: 0,
            realm: None,
            users: Vec::new(),
            hide_version: false,
            show_legends: false,
            show_modules: false,
            node: None,
            description: None,
            scope: Vec::new(),
        }
    }
}

/// Mails about servers (`email-alert`).
#[derive(Clone, Debug)]
pub struct Mail {
    /// Address of the sender.
    pub from: String,
    /// Address of the recipient.
    pub to: String,
    /// Host name in the SMTP greeting.
    pub hostname: String,
    /// The least severe syslog level that is mailed.
    pub level: u8,
    /// Milliseconds to deliver a mail to one mailer.
    pub timeout_ms: u32,
    /// Mailers; each receives every mail.
    pub mailers: Vec<SocketAddr>,
}

/// Settings of the client side of a proxy.
#[derive(Clone, Debug, Default)]
pub struct Frontend {
    /// Listening addresses.
    pub binds: Vec<Bind>,
    /// Concurrent connections; `None` for the process's limit.
    pub maxconn: Option<u32>,
    /// Backend of requests that no rule assigns to another, by index.
    pub default_backend: Option<usize>,
    /// `option abortonclose` of a `defaults` or `listen` section.
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
    /// `option http-use-proxy-header`: proxy requests are challenged with 407 and proxy headers.
    pub proxy_header: bool,
    /// `option accept-invalid-http-request`.
    pub accept_invalid: bool,
    /// `option disable-h2-upgrade`: the HTTP/2 preface on a clear connection does not switch it to
    /// HTTP/2.
    pub disable_h2_upgrade: bool,
    /// `option idle-close-on-response`: a soft stop does not close clients between requests.
    pub idle_close_on_response: bool,
    /// `monitor-uri`.
    pub monitor_uri: Option<Vec<u8>>,
    /// Sessions accepted per second; 0 for no limit.
    pub session_rate: u32,
    /// `option socket-stats`: each listener has counters of its own.
    pub socket_stats: bool,
    /// `option contstats`: bytes of a long transfer are counted during the transfer.
    pub continuous_stats: bool,
    /// The most idle server connections in the private pool of one client
    /// (`max-session-srv-conns`).
    pub own_connections: u32,
    /// `option independent-streams`.
    pub independent_streams: bool,
    /// `option h1-case-adjust-bogus-client`.
    pub adjusts_case: bool,
}

/// A listening address.
#[derive(Clone, Debug)]
pub struct Bind {
    /// Address of the socket.
    pub address: Address,
    /// Network namespace of the socket; `None` for that of the process.
    pub namespace: Option<Arc<str>>,
    /// `name`.
    pub name: Option<String>,
    /// Number of the listener in its proxy, from 1.
    pub id: u32,
    /// Concurrent connections; 0 for no limit.
    pub maxconn: u32,
    /// Threads that accept, from 0; empty for all.
    pub threads: Vec<u16>,
    /// Priority of the connections, -1024 (first) to 1024 (last).
    pub nice: i16,
    /// Headers and TLS before the first byte of the connections.
    pub preamble: Preamble,
    /// The protocol of connections (`proto`).
    pub protocol: Protocol,
    /// The socket receives datagrams of QUIC.
    pub quic: Option<QuicBind>,
    /// Bytes by which segments are smaller than the client's MSS.
    pub mss_reduction: u32,
    /// Clients that may wait to be accepted (`backlog`).
    pub backlog: u32,
}

/// Settings of the QUIC connections of a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicBind {
    /// The congestion control (`quic-cc-algo`).
    pub congestion: QuicCongestion,
    /// Clients have to validate their address first (`quic-force-retry`).
    pub always_retries: bool,
}

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuicCongestion {
    /// Cubic.
    #[default]
    Cubic,
    /// NewReno.
    NewReno,
    /// Bottleneck bandwidth and round-trip time.
    Bbr,
}

/// Settings of all QUIC connections (`tune.quic.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quic {
    /// `tune.quic.frontend.max-idle-timeout`, in milliseconds.
    pub idle_ms: u32,
    /// `tune.quic.frontend.max-streams-bidi`
    pub streams: u32,
    /// `tune.quic.frontend.conn-tx-buffers.limit`
    pub tx_buffers: u32,
    /// `tune.quic.retry-threshold`
    pub retry_threshold: u32,
    /// Bytes that a client may send on a stream before they are read (`tune.quic.fe.stream.rxbuf`).
    pub stream_window: u32,
    /// Most bytes that may be under way (`tune.quic.fe.cc.max-win-size`).
    pub max_window: u64,
    /// Requests before a graceful end (`tune.quic.fe.stream.max-total`); 0: no limit.
    pub max_total_streams: u32,
    /// Glitches that end a connection (`tune.quic.fe.sec.glitches-threshold`); 0: none.
    pub glitches_threshold: u32,
    /// Many packets are sent in one call (`tune.quic.fe.tx.udp-gso`).
    pub segments: bool,
    /// No listener is opened (`tune.quic.listen off`).
    pub is_off: bool,
    /// `cluster-secret`; empty: a secret is drawn at the start.
    pub secret: Vec<u8>,
}

impl Default for Quic {
    fn default() -> Self {
        Self {
            idle_ms: 30_000,
            streams: 100,
            tx_buffers: 30,
            retry_threshold: 100,
            stream_window: 64 * 1_024,
            max_window: u64::MAX,
            max_total_streams: 0,
            glitches_threshold: 0,
            segments: true,
            is_off: false,
            secret: Vec::new(),
        }
    }
}

/// Settings of the server side of a proxy.
#[derive(Clone, Debug, Default)]
pub struct Backend {
    /// The servers, in order.
    pub servers: Vec<Server>,
    /// The application of servers that speak FastCGI.
    pub fcgi: Option<Arc<BackendApp>>,
    /// Destination of requests without a named server; the algorithm then chooses none (`dispatch`,
    /// `option transparent`).
    pub direct: Option<Server>,
    /// The balancing algorithm.
    pub algorithm: balance::Algorithm,
    /// Header field that carries the server's name to the server (`http-send-name-header`).
    pub name_header: Option<String>,
    /// `fullconn`, which statistics show as the limit; `None` for the default.
    pub full_connections: Option<u32>,
    /// The algorithm's name and parameters as configured.
    pub algorithm_name: String,
    /// Hash key and function, for algorithms that hash.
    pub hashing: Option<Hashing>,
    /// Whether all backup servers are used at once (`option allbackups`).
    pub all_backups: bool,
    /// The persistence cookie.
    pub cookie: Option<Cookie>,
    /// Whether servers without a cookie value have one computed from their address.
    pub dynamic_cookie: bool,
    /// Key from which the cookie values of such servers are computed (`dynamic-cookie-key`).
    pub cookie_key: Option<Arc<str>>,
    /// Attempts to connect after the first.
    pub retries: u32,
    /// Failures after which a request is sent again.
    pub retry_on: RetryOn,
    /// `option redispatch`: 0 for off, n for every nth retry, -n for the nth retry from the end.
    pub redispatch: i32,
    /// Requests that may use an idle connection.
    pub reuse: Reuse,
    /// Health check of the servers.
    pub check: Check,
    /// The same check as a script, for servers whose checks begin with a PROXY header or TLS.
    pub check_script: Arc<rules::check::Script>,
    /// `option log-health-checks`.
    pub log_checks: bool,
    /// `option checkcache`: responses with cookies that a shared cache might keep are refused.
    pub check_cache: bool,
    /// `option persist`: servers that are down still receive the requests that name them.
    pub persists: bool,
    /// Expression for the RDP cookie that names a server (`persist rdp-cookie`).
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

/// Settings that both sides of a proxy share.
#[derive(Debug, Default)]
pub struct Proxy {
    /// Name.
    pub name: Arc<str>,
    /// Number, from 1.
    pub id: u32,
    /// Whether `id` gave it its number.
    pub forced_id: bool,
    /// The protocol of its payload.
    pub mode: Mode,
    /// Whether its servers are agents of SPOE (`mode spop`): its mode is TCP, and it takes no
    /// clients.
    pub is_spop: bool,
    /// Whether it is disabled.
    pub disabled: bool,
    /// Whether the proxy has no section: requests of the process itself pass it, and statistics do
    /// not show it.
    pub hidden: bool,
    /// `description`.
    pub description: Option<String>,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Connections that stay open after a request.
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
    /// Replies that replace built-in error responses, by status.
    pub error_replies: BTreeMap<u16, ErrorReply>,
    /// Filters in the order of their lines.
    pub filters: Vec<Filter>,
    /// `filter-sequence`: the filters that requests and responses pass, where lines name them.
    pub filter_sequences: [Option<Vec<Filter>>; 2],
    /// `compression`.
    pub compression: Option<Compression>,
    /// The statistics page.
    pub stats: Option<StatsPage>,
    /// Targets of its log lines.
    pub logs: Arc<Logs>,
    /// Mails about its servers.
    pub mail: Option<Mail>,
    /// Format of the log line of a transaction of this frontend.
    pub log_format: Option<LogFormat>,
    /// Format of the log line of a connection that failed before its first request; `log_format` by
    /// default.
    pub error_log_format: Option<LogFormat>,
    /// Whether connections without a request are not logged.
    pub logs_requests_only: bool,
    /// Whether the log line is written when a session is accepted in TCP mode, or when a request is
    /// complete in HTTP mode, before any rule runs; no line follows at the end.
    pub logs_at_start: bool,
    /// The structured data of RFC 5424 lines.
    pub log_format_sd: Option<LogFormat>,
    /// Capture slots of requests and of responses.
    pub captures: [Vec<CaptureSlot>; 2],
    /// `capture cookie`: prefix of `name=value`, and the longest text captured.
    pub captured_cookie: Option<(Vec<u8>, usize)>,
    /// `unique-id-format`.
    pub unique_id: Option<LogFormat>,
    /// `unique-id-header`, in lower case.
    pub unique_id_header: Option<String>,
    /// Rules of its own.
    pub rules: Rules,
    /// Rules of its `defaults` section, which run first.
    pub inherited_rules: Option<Arc<Rules>>,
}

impl Proxy {
    /// The rules of its `defaults` section and its own, in the order in which they run.
    pub fn rule_sections(&self) -> impl Iterator<Item = &Rules> {
        self.inherited_rules.as_deref().into_iter().chain([&self.rules])
    }
}

/// A `frontend`, `backend` or `listen` section: a proxy, and the sides that it has.
#[derive(Debug, Default)]
pub struct ProxySection {
    /// Settings common to both sides.
    pub proxy: Proxy,
    /// The client side.
    pub front: Option<Frontend>,
    /// The server side.
    pub back: Option<Backend>,
}

impl Deref for ProxySection {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

impl DerefMut for ProxySection {
    fn deref_mut(&mut self) -> &mut Proxy {
        &mut self.proxy
    }
}
