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
    /// Thread group and number in it of each thread, both from 1; empty when all are in one group.
    pub seats: Vec<(u16, u16)>,
    /// Concurrent client connections (`maxconn`).
    pub maxconn: u32,
    /// Concurrent TLS connections of clients and to servers (`maxsslconn`); 0 for no limit.
    pub max_tls: u32,
    /// Concurrent TLS handshakes of clients; 0 for no limit, `None` for half of `maxconn`.
    pub max_handshakes: Option<u32>,
    /// Limits on accepted connections and sessions per second.
    pub max_rates: Rates,
    /// Bytes of a buffer (`tune.bufsize`).
    pub buffer_size: usize,
    /// The most bytes of a logged request line (`tune.http.logurilen`).
    pub log_uri_len: usize,
    /// Time at which client connections end in a soft stop.
    pub close_spread: soft_stop::CloseSpread,
    /// Limit on buffers; `None` for no limit.
    pub buffer_limit: Option<memory::BufferLimit>,
    /// Memory budget; `None` for no limit.
    pub memory: Option<memory::Budget>,
    /// Bytes of a buffer kept free for rewrites (`tune.maxrewrite`).
    pub max_rewrite: usize,
    /// Header lines of a message (`tune.http.maxhdr`).
    pub max_headers: usize,
    /// Whether HTTP/1.0 requests of any method may have a body
    /// (`h1-accept-payload-with-any-method`).
    pub payload_with_any_method: bool,
    /// Clients accepted in one turn of a listener (`tune.maxaccept`).
    pub max_accept: usize,
    /// Whether threads may take idle server connections from each other (`tune.idle-pool.shared`).
    pub shared_pools: bool,
    /// Whether latencies are counted in histograms (`tune.histograms`).
    pub histograms: bool,
    /// Seconds of history kept for the dashboard's charts; 0 for none (`tune.history`).
    pub history: u32,
    /// Jitter of check intervals in percent (`spread-checks`).
    pub spread_checks: u32,
    /// Upper bound of the start-up delay of checks (`max-spread-checks`).
    pub max_spread_checks: Option<u32>,
    /// How much earlier than scheduled a check may run to share a wake-up with another, in percent
    /// of its interval.
    pub check_slack: u32,
    /// Host name used in logs and pages.
    pub hostname: String,
    /// `node`; the host name by default.
    pub node: String,
    /// `description`.
    pub description: Option<String>,
    /// Process id.
    pub pid: u32,
    /// Whether the standard error output stays empty (`quiet`).
    pub quiet: bool,
    /// Log targets of the process itself (`log` in `global`).
    pub logs: Arc<Logs>,
    /// Samples of log targets, of all sections ([`LogSample::number`]).
    pub log_samples: usize,
    /// Variables of scope `proc`, with the values of the configuration.
    pub variables: Arc<SharedVars>,
    /// `userlist` sections by name.
    pub userlists: BTreeMap<String, rules::UserList>,
    /// `http-errors` sections by name: their replies by status.
    pub http_errors: BTreeMap<String, BTreeMap<u16, ErrorReply>>,
    /// Stick tables; rules name them by their index.
    pub tables: Vec<table::Settings>,
    /// `resolvers` sections; servers name them by their index.
    pub resolvers: Vec<Resolvers>,
    /// Open descriptors above which no idle server connection is kept, and above which one idle
    /// connection is closed for each new one (`tune.pool-*-fd-ratio`).
    pub idle_descriptors: Option<(i32, i32)>,
    /// Whether new clients go to the thread with the fewest clients (`tune.listener.multi-queue`).
    pub spreads_clients: bool,
    /// Limits on the pipes of splicing.
    pub splice: splice::PipeLimits,
    /// `cache` sections.
    pub caches: Vec<cache::CacheSettings>,
    /// Limits and levels of compression.
    pub compression: ProcessCompression,
    /// HTTP/2 settings announced to peers, and limits on their frames (`tune.h2.*`).
    pub h2: Http2,
    /// Settings of QUIC connections (`tune.quic.*`).
    pub quic: Quic,
    /// Case of header names for `option h1-case-adjust-bogus-*`, by name in lower case
    /// (`h1-case-adjust`).
    pub header_case: Arc<HashMap<Vec<u8>, Vec<u8>>>,
    /// `ring` sections.
    pub rings: Vec<Ring>,
    /// `log-forward` sections.
    pub log_forwards: Vec<Arc<LogForward>>,
    /// `peers` sections in service.
    pub peers: Vec<Arc<PeersSection>>,
}

impl Default for Process {
    /// One thread with the defaults of the manual, without a limit on connections.
    fn default() -> Self {
        Self {
            threads: 1,
            seats: Vec::new(),
            maxconn: 0,
            max_tls: 0,
            max_handshakes: None,
            max_rates: Rates::default(),
            buffer_size: 16_384,
            log_uri_len: 1_024,
            close_spread: soft_stop::CloseSpread::default(),
            buffer_limit: None,
            memory: None,
            max_rewrite: 1_024,
            max_headers: 101,
            payload_with_any_method: false,
            max_accept: 4,
            shared_pools: true,
            histograms: true,
            history: 600,
            spread_checks: 0,
            max_spread_checks: None,
            check_slack: 1,
            hostname: String::new(),
            node: String::new(),
            description: None,
            pid: 0,
            quiet: false,
            logs: Arc::default(),
            log_samples: 0,
            variables: Arc::default(),
            userlists: BTreeMap::new(),
            http_errors: BTreeMap::new(),
            tables: Vec::new(),
            resolvers: Vec::new(),
            idle_descriptors: None,
            spreads_clients: true,
            splice: splice::PipeLimits::default(),
            caches: Vec::new(),
            compression: ProcessCompression::default(),
            h2: Http2::default(),
            quic: Quic::default(),
            header_case: Arc::default(),
            rings: Vec::new(),
            log_forwards: Vec::new(),
            peers: Vec::new(),
        }
    }
}

/// Settings of HTTP/2 connections (`tune.h2.*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Http2 {
    /// Bytes of the header compression table that a peer may use.
    pub header_table_size: u32,
    /// Initial flow-control window of a stream, in bytes.
    pub initial_window_size: u32,
    /// Concurrent streams of a client; `None` for no limit.
    pub max_concurrent_streams: Option<u32>,
    /// Glitches after which a connection ends: of a client, of a server; 0 for no limit, `None` for
    /// the default of the protocol machine.
    pub glitches_threshold: [Option<u32>; 2],
    /// Frames processed in one turn: of a client, of a server; 0 for no limit.
    pub max_frames_at_once: [u32; 2],
    /// RST_STREAM frames of a client processed in one turn; 0 for no limit.
    pub max_rst_at_once: u32,
    /// Share of a thread's time, in percent, below which glitches end no connection.
    pub kill_cpu_usage: u32,
    /// Streams of a client after which its connection closes gracefully; 0 for no limit.
    pub max_total_streams: u32,
    /// The largest payload of a frame, in bytes.
    pub max_frame_size: u32,
    /// Whether the settings sent to clients lack websockets over streams, RFC 8441
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
    /// Thread group of a thread and its number in the group, both from 1.
    pub fn seat(&self, thread: usize) -> (u16, u16) {
        let number = u16::try_from(thread + 1).unwrap_or(u16::MAX);
        self.seats.get(thread).copied().unwrap_or((1, number))
    }
}
