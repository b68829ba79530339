//! The values of `show info`, in order: management.txt 9.3.

use super::typed::end;
use super::{Clock, Tags, Value};
use crate::settings::Settings;
use engine::state::worker::Worker;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use transport::stats::counters::{Event, Metric};
use transport::stats::tls::{Rate, TlsCounters};
use transport::thread::memory::{Memory, Refused};

/// One value of `show info`.
#[derive(Clone, Debug)]
pub struct Item {
    /// The number of the field, the same in all versions; numbers of removed fields stay unused.
    pub position: usize,
    /// Its name.
    pub name: &'static str,
    /// Origin, nature and scope.
    pub tags: Tags,
    /// The value.
    pub value: Value,
    /// Its description.
    pub doc: &'static str,
}

/// The source of values.
struct InfoSource<'a> {
    worker: &'a Worker,
    settings: &'a Settings,
    clock: Clock,
    /// Microseconds since the start.
    uptime: u64,
    /// Whether times and rates have fractions.
    precise: bool,
}

impl InfoSource<'_> {
    /// Seconds, from microseconds.
    fn moment(&self, micros: u64) -> Value {
        if self.precise { Value::Micros(micros) } else { number(micros / 1_000_000).into() }
    }

    /// An event's rate, with fractions if times have them. The rate at this moment: the current
    /// second counts whole, the previous one in part.
    fn rate(&self, event: Event) -> Value {
        let (totals, clock) = (&self.worker.shared.totals, self.clock);
        if !self.precise {
            return clock.rate(totals, event).into();
        }
        // Reads the maximum of a rate; the rate is read first, so that the maximum is not lower.
        let _ = clock.rate(totals, event);
        let (now, before) = totals.lately(event, clock.second);
        let share = before * u64::from(1_000 - clock.of_second.min(1_000));
        Value::Micros(now * 1_000_000 + share * 1_000)
    }

    /// A whole number where HAProxy has fractions.
    fn whole(&self, value: u32) -> Value {
        if self.precise { Value::Micros(u64::from(value) * 1_000_000) } else { value.into() }
    }

    fn memory(&self) -> &Memory {
        &self.worker.shared.memory
    }

    /// One of the counters of requests and connections refused for lack of memory.
    fn refused(&self, which: impl Fn(&Refused) -> &AtomicU64) -> u64 {
        which(&self.memory().refused).load(Relaxed)
    }

    fn entries_refused(&self) -> u64 {
        let tables = self.worker.shared.tables.iter().map(|table| table.refused());
        tables.sum::<u64>() + sample::pattern::rows_refused()
    }

    /// All that was refused.
    fn failed(&self) -> u64 {
        let (streams, requests) =
            (self.refused(|refused| &refused.streams), self.refused(|refused| &refused.requests));
        self.refused(|refused| &refused.accepts) + streams + requests + self.entries_refused()
    }

    fn pools(&self) -> (u64, u64) {
        self.worker.shared.buffer_bytes()
    }

    fn tls(&self) -> &TlsCounters {
        &self.worker.shared.tls
    }

    /// Events of TLS in the last second.
    fn tls_rate(&self, which: fn(&TlsCounters) -> &Rate) -> u32 {
        which(self.tls()).get(self.clock.ms)
    }

    /// Bytes that encoders have consumed and produced in the last second.
    fn compressed(&self) -> (u64, u64) {
        self.worker.shared.compression.per_second(self.clock.ms)
    }

    /// How many of the handshakes of clients in the last second were resumed.
    fn reused_percent(&self) -> u32 {
        let (fresh, reused) =
            (self.tls_rate(|it| &it.front_keys), self.tls_rate(|it| &it.front_reuses));
        (reused * 100).checked_div(fresh + reused).unwrap_or(0)
    }

    /// The number of listeners of proxies and of runtime sockets.
    fn listeners(&self) -> u32 {
        let fronts = self.worker.shared.proxies.iter().filter_map(|proxy| proxy.front.as_ref());
        let listeners: usize = fronts.map(|front| front.listeners.len()).sum();
        number((listeners + self.settings.sockets.len()) as u64)
    }

    /// Peers with a connection or an attempt, and those with an open session.
    fn peers(&self) -> (u32, u32) {
        let counts = self.worker.shared.peers.iter().map(|section| section.lock().counts());
        let (active, connected) =
            counts.fold((0, 0), |(all, all_open), (active, open)| (all + active, all_open + open));
        (number(active as u64), number(connected as u64))
    }

    fn sent(&self) -> (u64, u64) {
        self.worker.shared.bytes_sent(self.worker.thread.nanos())
    }
}

type InfoField = (usize, &'static str, &'static str, fn(&InfoSource<'_>) -> Value, &'static str);

/// All fields: number, name, tags, origin, description.
const ENTRIES: &[InfoField] = &[
    (0, "Name", "POS", |_| "HAProxy".into(), "Product whose interfaces this is"),
    (1, "Version", "POS", |s| s.settings.version.as_str().into(), "Version"),
    (2, "Release_date", "POS", |s| s.settings.date.as_str().into(), "Date of the version"),
    (3, "Nbthread", "CGS", |s| number(s.worker.shared.settings.threads as u64).into(), "Threads"),
    (4, "Nbproc", "CGS", |_| 1u32.into(), "Processes, always 1"),
    (5, "Process_num", "KGP", |_| 1u32.into(), "Number of the process, always 1"),
    (6, "Pid", "SGP", |s| s.worker.shared.settings.pid.into(), "Process identifier"),
    (7, "Uptime", "MDP", |s| span(s.uptime / 1_000_000).into(), "Time since the start"),
    (8, "Uptime_sec", "MDP", |s| s.moment(s.uptime), "Seconds since the start"),
    (
        9,
        "Memmax_MB",
        "CLP",
        |s| number(s.settings.max_memory >> 20).into(),
        "Limit of memory in MiB",
    ),
    (10, "PoolAlloc_MB", "MGP", |s| mebibytes(s.pools().0).into(), "MiB of buffers"),
    (11, "PoolUsed_MB", "MGP", |s| mebibytes(s.pools().1).into(), "MiB of buffers in use"),
    (12, "PoolFailed", "MCP", |s| number(s.failed()).into(), "What was refused for want of memory"),
    (13, "Ulimit-n", "CLP", |s| number(s.settings.max_files).into(), "Limit of descriptors"),
    (14, "Maxsock", "CLP", |s| number(s.settings.max_files).into(), "Limit of sockets"),
    (
        15,
        "Maxconn",
        "CLP",
        |s| s.worker.shared.maxconn.load(Relaxed).into(),
        "Limit of client connections now",
    ),
    (
        16,
        "Hard_maxconn",
        "CLP",
        |s| s.worker.shared.settings.maxconn.into(),
        "Limit of client connections at start",
    ),
    (
        17,
        "CurrConns",
        "MGP",
        |s| s.worker.shared.connections.current().into(),
        "Client connections now",
    ),
    (
        18,
        "CumConns",
        "MCP",
        |s| number(s.worker.shared.totals.sum(Metric::Connections)).into(),
        "Client connections in all",
    ),
    (
        19,
        "CumReq",
        "MCP",
        |s| number(s.worker.shared.totals.sum(Metric::Requests)).into(),
        "Requests in all",
    ),
    (
        20,
        "MaxSslConns",
        "MMP",
        |s| s.worker.shared.settings.max_tls.into(),
        "Limit of TLS connections",
    ),
    (21, "CurrSslConns", "MGP", |s| s.tls().current.current().into(), "TLS connections now"),
    (
        22,
        "CumSslConns",
        "MCP",
        |s| number(s.tls().total.load(Relaxed)).into(),
        "TLS connections in all",
    ),
    (23, "Maxpipes", "CLP", |s| s.worker.shared.settings.splice.pipes.into(), "Limit of pipes"),
    (24, "PipesUsed", "MGP", |s| s.worker.shared.pipes.counts().0.into(), "Pipes in use"),
    (25, "PipesFree", "MGP", |s| s.worker.shared.pipes.counts().1.into(), "Pipes free"),
    (26, "ConnRate", "MRP", |s| s.rate(Event::Connection), "Client connections in the last second"),
    (
        27,
        "ConnRateLimit",
        "CLP",
        |s| s.worker.shared.max_rates.connections.load(Relaxed).into(),
        "Limit of client connections a second",
    ),
    (
        28,
        "MaxConnRate",
        "MMP",
        |s| s.worker.shared.totals.peak(Event::Connection).into(),
        "Most client connections in one second",
    ),
    (29, "SessRate", "MRP", |s| s.rate(Event::Session), "Sessions in the last second"),
    (
        30,
        "SessRateLimit",
        "CLP",
        |s| s.worker.shared.max_rates.sessions.load(Relaxed).into(),
        "Limit of sessions a second",
    ),
    (
        31,
        "MaxSessRate",
        "MRP",
        |s| s.worker.shared.totals.peak(Event::Session).into(),
        "Most sessions in one second",
    ),
    (
        32,
        "SslRate",
        "MRP",
        |s| s.whole(s.tls_rate(|it| &it.front)),
        "TLS connections in the last second",
    ),
    (
        33,
        "SslRateLimit",
        "CLP",
        |s| s.worker.shared.max_rates.tls_sessions.load(Relaxed).into(),
        "Limit of TLS connections a second",
    ),
    (
        34,
        "MaxSslRate",
        "MMP",
        |s| s.tls().front.most().into(),
        "Most TLS connections in one second",
    ),
    (
        35,
        "SslFrontendKeyRate",
        "MGP",
        |s| s.whole(s.tls_rate(|it| &it.front_keys)),
        "Full handshakes with clients in the last second",
    ),
    (
        36,
        "SslFrontendMaxKeyRate",
        "MMP",
        |s| s.tls().front_keys.most().into(),
        "Most full handshakes with clients in one second",
    ),
    (
        37,
        "SslFrontendSessionReuse_pct",
        "MGP",
        |s| s.whole(s.reused_percent()),
        "Resumed sessions of clients, in percent",
    ),
    (
        38,
        "SslBackendKeyRate",
        "MRP",
        |s| s.whole(s.tls_rate(|it| &it.back_keys)),
        "Full handshakes with servers in the last second",
    ),
    (
        39,
        "SslBackendMaxKeyRate",
        "MMP",
        |s| s.tls().back_keys.most().into(),
        "Most full handshakes with servers in one second",
    ),
    (40, "SslCacheLookups", "MCP", none, "Sessions looked up in the TLS cache"),
    (41, "SslCacheMisses", "MCP", none, "Sessions not found in the TLS cache"),
    (
        42,
        "CompressBpsIn",
        "MRP",
        |s| s.whole(number(s.compressed().0)),
        "Bytes given to the compressor in the last second",
    ),
    (
        43,
        "CompressBpsOut",
        "MRP",
        |s| s.whole(number(s.compressed().1)),
        "Bytes that it made of them",
    ),
    (
        44,
        "CompressBpsRateLim",
        "CLP",
        |s| number(s.worker.shared.compression_limits().rate).into(),
        "Limit of bytes given to the compressor in a second",
    ),
    (
        45,
        "ZlibMemUsage",
        "MGP",
        |s| number(s.worker.shared.compression.memory()).into(),
        "Bytes of memory of the compressor",
    ),
    (
        46,
        "MaxZlibMemUsage",
        "CLP",
        |s| number(s.worker.shared.settings.compression.limits.memory).into(),
        "Limit of bytes of memory of the compressor",
    ),
    (
        47,
        "Tasks",
        "MGP",
        |s| number(s.worker.thread.scheduler().tasks() as u64).into(),
        "Tasks of the thread that answers",
    ),
    (
        48,
        "Run_queue",
        "MGP",
        |s| number(s.worker.thread.scheduler().load() as u64).into(),
        "Tasks of it that are ready to run",
    ),
    (
        49,
        "Idle_pct",
        "MaP",
        |s| s.worker.idle_percent().into(),
        "Share of time that the thread that answers spent waiting, in percent",
    ),
    (50, "node", "COS", |s| s.worker.shared.settings.node.as_str().into(), "Name of this node"),
    (
        51,
        "description",
        "COS",
        |s| s.worker.shared.settings.description.as_deref().into(),
        "Description of this instance",
    ),
    (
        52,
        "Stopping",
        "MGP",
        |s| u32::from(s.worker.shared.will_stop()).into(),
        "1 during a soft stop",
    ),
    (
        53,
        "Jobs",
        "MGP",
        |s| (s.worker.shared.connections.current() + s.listeners()).into(),
        "Client connections and listeners",
    ),
    (54, "Unstoppable Jobs", "MGP", none, "Jobs that a soft stop does not wait for"),
    (55, "Listeners", "MGP", |s| s.listeners().into(), "Listeners"),
    (56, "ActivePeers", "MGP", |s| s.peers().0.into(), "Peers with a connection or an attempt"),
    (57, "ConnectedPeers", "MGP", |s| s.peers().1.into(), "Peers with an open session"),
    (
        58,
        "DroppedLogs",
        "MGP",
        |s| number(s.worker.shared.dropped_logs.load(Relaxed)).into(),
        "Log messages that could not be sent",
    ),
    (
        59,
        "BusyPolling",
        "MGP",
        |s| u32::from(s.worker.thread.is_busy_polling()).into(),
        "1 if the threads poll without waiting",
    ),
    (60, "FailedResolutions", "MGP", none, "Failed DNS resolutions"),
    (61, "TotalBytesOut", "MGP", |s| s.sent().0.into(), "Bytes sent on all connections"),
    (
        62,
        "TotalSplicdedBytesOut",
        "MGP",
        |s| s.worker.shared.pipes.bytes().into(),
        "Bytes sent through pipes",
    ),
    (
        63,
        "BytesOutRate",
        "MRP",
        |s| s.sent().1.into(),
        "Bytes sent on all connections in the last second",
    ),
    (
        64,
        "DebugCommandsIssued",
        "MGP",
        |s| number(s.worker.shared.debug_commands.load(Relaxed)).into(),
        "Debug commands issued",
    ),
    (
        65,
        "CumRecvLogs",
        "MCP",
        |s| number(s.worker.shared.received_logs.load(Relaxed)).into(),
        "Log messages received",
    ),
    (66, "Build info", "POS", |s| s.settings.version.as_str().into(), "Version and build"),
    (67, "Memmax_bytes", "CLP", |s| s.settings.max_memory.into(), "Limit of memory in bytes"),
    (68, "PoolAlloc_bytes", "MGP", |s| s.pools().0.into(), "Bytes of buffers"),
    (69, "PoolUsed_bytes", "MGP", |s| s.pools().1.into(), "Bytes of buffers in use"),
    (
        70,
        "Start_time_sec",
        "MDP",
        |s| s.moment((s.worker.thread.wall() / 1_000).saturating_sub(s.uptime)),
        "Date of the start, in seconds since 1970",
    ),
    (71, "Tainted", "SGP", |_| "0".into(), "Traces of unsafe use"),
    (72, "MemLimit_bytes", "CLP", |s| s.memory().limit().into(), "Limit of memory in bytes"),
    (73, "MemUsed_bytes", "MGP", |s| s.memory().used().into(), "Bytes of memory in use"),
    (
        74,
        "MemLevel",
        "SGP",
        |s| (s.memory().level() as u32).into(),
        "How short memory is: 0 not, 1 what is idle is freed, 2 nothing new begins",
    ),
    (
        75,
        "MemAcceptsPaused",
        "MCP",
        |s| s.refused(|refused| &refused.accepts).into(),
        "Times that a listener took no client because memory was short",
    ),
    (
        76,
        "MemRequestsEnded",
        "MCP",
        |s| s.refused(|refused| &refused.requests).into(),
        "Requests ended because they held buffers while they waited and memory was short",
    ),
    (
        77,
        "MemStreamsRefused",
        "MCP",
        |s| s.refused(|refused| &refused.streams).into(),
        "HTTP/2 streams refused because memory was short",
    ),
    (
        78,
        "MemIdleClosed",
        "MCP",
        |s| s.refused(|refused| &refused.idle).into(),
        "Idle client connections closed because memory was short",
    ),
    (
        79,
        "MemEntriesRefused",
        "MCP",
        |s| s.entries_refused().into(),
        "Table entries and rows of maps not made because memory was short",
    ),
    (
        80,
        "SslOwnRecords",
        "MGP",
        |_| count(tls::SessionKind::Own).into(),
        "TLS sessions whose records this process protects",
    ),
    (
        81,
        "SslLibraryRecords",
        "MGP",
        |_| count(tls::SessionKind::Library).into(),
        "TLS sessions whose records the library protects",
    ),
];

/// The sessions over TCP of a kind.
fn count(kind: tls::SessionKind) -> u32 {
    u32::try_from(kind.sessions()).unwrap_or(u32::MAX)
}

/// A value that no part of the process counts.
fn none(_: &InfoSource<'_>) -> Value {
    Value::U32(0)
}

/// Gathers all values, as seen by the answering worker; `precise`: times and rates with fractions.
pub fn all(worker: &Worker, settings: &Settings, precise: bool) -> Vec<Item> {
    let clock = Clock::of(worker);
    let uptime = worker.thread.nanos().saturating_sub(worker.shared.started) / 1_000;
    let source = InfoSource { worker, settings, clock, uptime, precise };
    let item = |entry: &InfoField| {
        let (position, name, tags, value, doc) = *entry;
        let value = value(&source);
        // With fractions, the tags of all rates are `MRP`, as measured.
        let rate = tags == "MGP" && matches!(value, Value::Micros(_));
        let tags = if rate { "MRP" } else { tags };
        Item { position, name, tags: Tags(tags), value, doc }
    };
    // Only the description may be missing.
    ENTRIES.iter().map(item).filter(|it| it.position != 51 || !it.value.is_empty()).collect()
}

/// The plain form: a line `name: value` each; `describe` appends each field's description, quoted.
pub fn write(items: &[Item], describe: bool, out: &mut String) {
    for item in items {
        // Writing to a string cannot fail.
        let _ = write!(out, "{}: {}", item.name, item.value);
        end(item.doc, describe, out);
    }
}

/// `1d 2h03m04s`.
pub fn span(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    format!("{days}d {hours}h{:02}m{:02}s", seconds / 60 % 60, seconds % 60)
}

fn mebibytes(bytes: u64) -> u32 {
    number(bytes >> 20)
}

fn number(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
