//! What the data plane is told at start: plain immutable data, filled by the boot from whatever
//! configuration there is.
//!
//! Times are milliseconds; an absent time is "no limit".

mod link;
pub mod memory;
mod rings;
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

pub use link::{
    Announce, Disguise, Encryption, Expected, Follows, Link, NEVER, Ports, Preamble, ServerName,
    Switch, Values,
};
pub use rings::{Backing, LogBind, LogForward, Ring, RingServer};
pub use speech::{Speech, Speeches, Version};

/// Limits per second of the whole process; 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rates {
    /// Connections of clients (`maxconnrate`).
    pub connections: u32,
    /// Sessions (`maxsessrate`).
    pub sessions: u32,
    /// Connections of clients over TLS (`maxsslrate`).
    pub tls_sessions: u32,
}

/// Settings of the whole process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Worker threads.
    pub threads: usize,
    /// Group of each thread and its number there, both from 1; none when all are in one group.
    pub seats: Vec<(u16, u16)>,
    /// Network namespaces that clients may be said to come from.
    pub namespaces: Vec<Arc<reactor::Namespace>>,
    /// Concurrent client connections (`maxconn`).
    pub maxconn: u32,
    /// Concurrent connections over TLS, to servers too (`maxsslconn`); 0 for any number.
    pub max_tls: u32,
    /// Handshakes of clients that are under way; 0 for any number, `None` for half of `maxconn`.
    pub max_handshakes: Option<u32>,
    /// What is accepted per second.
    pub max_rates: Rates,
    /// Bytes of a buffer (`tune.bufsize`).
    pub buffer_size: usize,
    /// The most bytes of a logged request line (`tune.http.logurilen`).
    pub log_uri_len: usize,
    /// When client connections end in a soft stop.
    pub close_spread: soft_stop::CloseSpread,
    /// How many buffers there may be; `None` for as many as are wanted.
    pub buffer_limit: Option<memory::BufferLimit>,
    /// How much memory there may be; `None` for as much as is wanted.
    pub memory: Option<memory::Budget>,
    /// Bytes of it kept free for rewrites (`tune.maxrewrite`).
    pub max_rewrite: usize,
    /// Header lines of a message (`tune.http.maxhdr`).
    pub max_headers: usize,
    /// An HTTP/1.0 request may have a body whatever its method is
    /// (`h1-accept-payload-with-any-method`).
    pub payload_with_any_method: bool,
    /// Clients accepted in one go (`tune.maxaccept`).
    pub max_accept: usize,
    /// Whether threads may take idle server connections from each other (`tune.idle-pool.shared`).
    pub shared_pools: bool,
    /// Whether times are counted in histograms (`tune.histograms`).
    pub histograms: bool,
    /// Seconds of figures kept for the dashboard's charts, 0 for none (`tune.history`).
    pub history: u32,
    /// Jitter of check intervals in percent (`spread-checks`).
    pub spread_checks: u32,
    /// The most that a check may be moved by the start-up spread (`max-spread-checks`).
    pub max_spread_checks: Option<u32>,
    /// How much earlier than asked a check may run to share a wake-up with another, in percent of
    /// its interval.
    pub check_slack: u32,
    /// Host name used in logs and pages.
    pub hostname: String,
    /// `node`, the host name by default.
    pub node: String,
    /// `description`.
    pub description: Option<String>,
    /// Number of this process.
    pub pid: u32,
    /// Nothing is printed on the standard error output (`quiet`).
    pub quiet: bool,
    /// Where messages of the process itself go (`log` in `global`).
    pub logs: Arc<Logs>,
    /// `proc` variables; those of the configuration are set.
    pub variables: Arc<SharedVars>,
    /// `userlist` sections by name.
    pub userlists: BTreeMap<String, rules::UserList>,
    /// `http-errors` sections by name: their replies by status.
    pub http_errors: BTreeMap<String, BTreeMap<u16, ErrorReply>>,
    /// Stick tables; rules name them by their index.
    pub tables: Vec<table::Settings>,
    /// `resolvers` sections; servers name them by their index.
    pub resolvers: Vec<Resolvers>,
    /// Descriptors in use above which no idle server connection is kept, and above which one is
    /// closed for each that is opened (`tune.pool-*-fd-ratio`).
    pub idle_descriptors: Option<(i32, i32)>,
    /// Clients go to the thread that has the fewest (`tune.listener.multi-queue`).
    pub spreads_clients: bool,
    /// Bounds on the pipes that payload may go through.
    pub splice: splice::PipeLimits,
    /// What peers are told that speak HTTP/2 (`tune.h2.*`).
    pub h2: Http2,
    /// How header names in lower case are written for peers that mind (`h1-case-adjust`).
    pub header_case: Arc<HashMap<Vec<u8>, Vec<u8>>>,
    /// `ring` sections.
    pub rings: Vec<Ring>,
    /// `log-forward` sections.
    pub log_forwards: Vec<Arc<LogForward>>,
}

/// Settings of HTTP/2 connections (`tune.h2.*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Http2 {
    /// Bytes of table that a peer may have kept.
    pub header_table_size: u32,
    /// Payload that may be on its way on a stream, in bytes.
    pub initial_window_size: u32,
    /// Streams that a client may have open; `None` for no limit.
    pub max_concurrent_streams: Option<u32>,
    /// Glitches that end a connection, of a client and of a server; 0 for no limit, `None` for what
    /// the protocol machine puts up with.
    pub glitches_threshold: [Option<u32>; 2],
    /// Frames that are taken in one turn, of a client and of a server; 0 for no limit.
    pub max_frames_at_once: [u32; 2],
    /// RST_STREAM frames of a client that are taken in one turn; 0 for no limit.
    pub max_rst_at_once: u32,
    /// Below this share of a thread's time, in percent, nonsense does not end connections.
    pub kill_cpu_usage: u32,
    /// Streams of a client after which its connection ends gracefully; 0 for no limit.
    pub max_total_streams: u32,
    /// The largest payload of a frame.
    pub max_frame_size: u32,
    /// Clients are not told that websockets can be had on a stream
    /// (`h2-workaround-bogus-websocket-clients`).
    pub hides_websockets: bool,
}

impl Default for Http2 {
    fn default() -> Self {
        Self {
            header_table_size: 4_096,
            initial_window_size: 65_536,
            max_concurrent_streams: Some(100),
            max_total_streams: 0,
            glitches_threshold: [None; 2],
            max_frames_at_once: [0; 2],
            max_rst_at_once: 0,
            kill_cpu_usage: 0,
            max_frame_size: 16_384,
            hides_websockets: false,
        }
    }
}

impl Process {
    /// The group of a thread and its number there, both from 1.
    pub fn seat(&self, thread: usize) -> (u16, u16) {
        let number = u16::try_from(thread + 1).unwrap_or(u16::MAX);
        self.seats.get(thread).copied().unwrap_or((1, number))
    }
}

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
    pub(crate) fn looks_at_answers(self) -> bool {
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
    pub(crate) fn is_passive(&self) -> bool {
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

/// Where log lines go and how they look.
#[derive(Debug, Default)]
pub struct Logs {
    /// The targets.
    pub targets: Vec<LogTarget>,
    /// The program's name in log lines.
    pub tag: String,
    /// The host name in log lines, where it is sent.
    pub hostname: Option<String>,
}

/// One log target.
#[derive(Debug)]
pub struct LogTarget {
    /// Where to send.
    pub address: LogAddress,
    /// The envelope.
    pub transport: LogTransport,
    /// Forwarded messages keep the envelope that they came in: none was asked for.
    pub keeps: bool,
    /// Longest message in bytes.
    pub max_len: usize,
    /// Syslog facility, 0 to 23.
    pub facility: u8,
    /// Messages less severe than this are dropped.
    pub level: u8,
    /// Messages more severe than this are sent as this.
    pub min_level: u8,
    /// Which messages go to this target.
    pub sample: Option<LogSample>,
}

/// Where a log target is.
#[derive(Clone, Debug)]
pub enum LogAddress {
    /// A syslog server.
    Udp(SocketAddr),
    /// A local syslog socket.
    Unix(PathBuf),
    /// An inherited descriptor.
    Fd(i32),
    /// A ring, by its index among those of the process.
    Ring(usize),
}

/// The envelope of a log line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogTransport {
    /// Like rfc3164, without the host name.
    #[default]
    Local,
    /// RFC 3164.
    Rfc3164,
    /// RFC 5424.
    Rfc5424,
    /// Only the priority.
    Priority,
    /// Only the level.
    Short,
    /// The level and a time stamp.
    Timed,
    /// An ISO date, the tag.
    Iso,
    /// None.
    Raw,
}

/// Of each `size` messages, those whose number is in `ranges`.
#[derive(Debug)]
pub struct LogSample {
    /// Numbers from 1, inclusive, ascending.
    pub ranges: Vec<(u32, u32)>,
    /// Messages in one round.
    pub size: u32,
    /// Messages seen; shared by all threads, for the order is what is asked for.
    pub seen: std::sync::atomic::AtomicU32,
}

/// One server as the data plane needs it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name, number, weight and limits.
    pub balance: balance::ServerSettings,
    /// Where it is at first.
    pub address: Address,
    /// Its value in the persistence cookie.
    pub cookie: Option<Vec<u8>>,
    /// Where clients are sent that only ask for something, up to the path (`redir`).
    pub redirect: Option<Arc<[u8]>>,
    /// Requests that may wait for it; 0 for no limit.
    pub max_queue: u32,
    /// The lowest that its connection limit sinks to (`minconn`); 0 for a limit that stays.
    pub minconn: u32,
    /// Idle connections kept; `None` for no limit.
    pub pool_max: Option<u32>,
    /// Threads take no idle connection from others while there are fewer (`pool-low-conn`).
    pub pool_low: u32,
    /// How often idle connections are thinned out; 0 keeps none.
    pub pool_purge: u32,
    /// How often a connection may be used again; `None` for no limit.
    pub max_reuse: Option<u32>,
    /// What its connections speak.
    pub speech: Speeches,
    /// `stick` rules never store it.
    pub non_stick: bool,
    /// The address that is checked, if it is another one (`addr`).
    pub check_ip: Option<IpAddr>,
    /// The port that is checked, if it is another one (`port`).
    pub check_port: Option<u16>,
    /// What else there is to its connections.
    pub link: Link,
    /// What else there is to connections of checks.
    pub check_link: Link,
    /// What its connections could be encrypted with, also those of steps of checks that say so
    /// themselves.
    pub connector: Option<Arc<tls::Connector>>,
    /// Its connections are never encrypted (`no-ssl`).
    pub refuses_tls: bool,
    /// Whether rules or other servers name it, so that it cannot be deleted.
    pub referenced: bool,
    /// Whether `id` gave it its number.
    pub forced_id: bool,
    /// Whether it was added while the program ran.
    pub dynamic: bool,
    /// The words that added it, without name, number and address: servers of a backend with the
    /// same words have the same settings.
    pub words: Option<Arc<str>>,
    /// Its agent, if it has one.
    pub agent: Option<Agent>,
    /// The name of the host, if it is found by one.
    pub host: Option<String>,
    /// How its name is resolved while the process serves, if it is.
    pub resolve: Option<Arc<dns::ResolveSettings>>,
    /// Its streams end when it goes down (`on-marked-down shutdown-sessions`).
    pub ends_streams: bool,
    /// Those of backup servers end when it comes up (`on-marked-up shutdown-backup-sessions`).
    pub relieves_backups: bool,
    /// The state that a process before has left of it.
    pub restored: Option<balance::Restored>,
    /// Where its checks go at first, if that is not where the configuration says.
    pub checked_at: (Option<IpAddr>, Option<u16>),
    /// Its checks are suspended at first, its agent is left alone at first.
    pub off: (bool, bool),
}

/// A `resolvers` section.
#[derive(Clone, Debug)]
pub struct Resolvers {
    /// Its name.
    pub name: String,
    /// Whom it asks.
    pub nameservers: Vec<NameServer>,
    /// Times and sizes.
    pub dns: dns::Settings,
}

/// A name server.
#[derive(Clone, Debug)]
pub struct NameServer {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: SocketAddr,
    /// Whether it is asked over TCP.
    pub stream: bool,
    /// How that is done, also where an answer did not fit into a datagram.
    pub streams: Streams,
}

/// Connections to a name server.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The most at once; 0 for no limit.
    pub maxconn: u32,
    /// What is asked of each.
    pub dial: reactor::ConnectOptions,
    /// What they are encrypted with.
    pub encryption: Option<Encryption>,
}

impl Server {
    /// A server with what the manual says holds for one of which nothing more is said.
    pub fn new(balance: balance::ServerSettings, address: Address) -> Self {
        Self {
            balance,
            address,
            cookie: None,
            redirect: None,
            max_queue: 0,
            minconn: 0,
            pool_max: None,
            pool_low: 0,
            pool_purge: 5_000,
            max_reuse: None,
            speech: Speeches::default(),
            non_stick: false,
            check_ip: None,
            check_port: None,
            link: Link::default(),
            check_link: Link::default(),
            connector: None,
            refuses_tls: false,
            referenced: false,
            forced_id: false,
            dynamic: false,
            words: None,
            agent: None,
            host: None,
            resolve: None,
            ends_streams: false,
            relieves_backups: false,
            restored: None,
            checked_at: (None, None),
            off: (false, false),
        }
    }
}

impl Server {
    /// What stands for no server: requests go to `address`, or without one to where their clients
    /// wanted to go.
    pub fn direct(address: Option<Address>, link: Link) -> Self {
        let balance = balance::ServerSettings::new(0, "<NOSRV>");
        let follows = Follows { ip: address.is_none(), port: address.is_none().then_some(0) };
        let anywhere = Address::Inet(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));
        Self {
            link: Link { follows, ..link },
            non_stick: true,
            ..Self::new(balance, address.unwrap_or(anywhere))
        }
    }
}

/// The agent of a server (`agent-check`).
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its own address (`agent-addr`); without one it is where the server is, wherever that goes.
    pub ip: Option<IpAddr>,
    /// Its port (`agent-port`), which a path has not.
    pub port: u16,
    /// What it is told first (`agent-send`).
    pub send: Vec<u8>,
    /// Milliseconds between checks (`agent-inter`).
    pub inter_ms: u32,
}

/// How the servers of a backend are checked.
#[derive(Clone, Debug, Default)]
pub enum Check {
    /// A connection is enough.
    #[default]
    Connect,
    /// An HTTP exchange.
    Http(HttpCheck),
    /// What a script says.
    Script(Arc<rules::check::Script>),
    /// A program of the operator's.
    External(Arc<External>),
}

/// `external-check`
#[derive(Clone, Debug, Default)]
pub struct External {
    /// The program.
    pub command: String,
    /// Its `PATH`.
    pub path: String,
    /// Whether programs may be started at all (`insecure-fork-wanted`).
    pub permitted: bool,
}

/// The exchange of an HTTP check.
#[derive(Clone, Debug)]
pub struct HttpCheck {
    /// The whole request, as sent.
    pub request: Vec<u8>,
    /// Statuses looked for: inclusive ranges.
    pub statuses: Vec<(u16, u16)>,
    /// Finding one makes the check fail instead.
    pub negated: bool,
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

/// What an algorithm hashes, and how (`balance`, `hash-type`).
#[derive(Clone, Debug)]
pub struct Hashing {
    /// What is hashed.
    pub key: HashKey,
    /// The hash function.
    pub function: fn(&[u8]) -> u32,
    /// Whether the hash is mixed once more.
    pub avalanche: bool,
}

/// What is hashed.
#[derive(Clone, Debug)]
pub enum HashKey {
    /// The client's address, as a number.
    Source,
    /// A part of the URI.
    Uri(UriKey),
    /// A parameter of the query.
    UrlParam {
        /// Its name.
        name: Vec<u8>,
        /// Whether the body of a POST is looked at when the query has none.
        check_post: bool,
    },
    /// The first item of a header.
    Header {
        /// Its name, in lower case.
        name: Vec<u8>,
        /// Whether only the label before the last dot counts.
        domain_only: bool,
    },
    /// What an expression yields.
    Expression {
        /// The expression.
        expr: Arc<sample::Expr>,
        /// Whether an empty text is a key too.
        even_empty: bool,
    },
}

/// Which part of a URI is hashed.
#[derive(Clone, Copy, Debug, Default)]
pub struct UriKey {
    /// The most bytes.
    pub len: Option<u32>,
    /// The most slashes.
    pub depth: Option<u32>,
    /// With the query.
    pub whole: bool,
    /// Without scheme and authority.
    pub path_only: bool,
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
