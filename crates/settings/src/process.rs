//! Settings of the process (configuration manual, section 3).

use crate::*;

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
    /// `cache` sections.
    pub caches: Vec<cache::CacheSettings>,
    /// Limits and levels of compression.
    pub compression: ProcessCompression,
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
