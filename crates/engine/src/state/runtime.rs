//! The running objects that all threads share: proxies, servers, the process.
//!
//! A request writes the gauges of the frontend and backend in use and the load of the
//! server; counters live in per-thread blocks ([`transport::stats::counters`]).
use crate::state::backend::availability::Availability;
use crate::state::backend::dynamic_cookie::DynamicCookie;
use crate::state::backend::dynamic_maxconn;
use crate::state::backend::dynamic_maxconn::Limit;
use crate::state::backend::pool::SharedPool;
use crate::state::backend::queue::Queue;
use crate::state::backend::server_address::Location;
use crate::state::backend::server_list::Servers;
use crate::state::backend::server_register::Register;
use crate::state::backend::source_port::SourcePort;
use crate::state::backend::tls_switch::TlsSwitch;
use crate::state::backend::tracking;
use crate::state::bandwidth::BandwidthShares;
use crate::state::compression_load::CompressionLoad;
use crate::state::log_samples::LogSamples;
use crate::state::mail_queue::Outbox;
use crate::state::os_handles::{ListenSockets, OsHandles};
use crate::state::peer_group::PeerGroup;
use crate::state::records::history::History;
use crate::state::records::last_invalid::Captures;
use crate::state::records::trace::Traces;
use crate::state::resolver::Resolver;
use crate::state::ring;
use crate::state::ring::Ring;
use crate::state::session::quic_line::QuicLine;
pub use crate::state::session::rules_at_hand::{RulesAtHand, StagePlan};
use crate::state::soft_stop::Stopping;
use crate::state::spoe::figures::SpoeFigures;
pub use crate::state::thread_handle::{BackendRef, FrontendRef, ProxyRef};
use crate::state::worker::Worker;
use balance::Balancer;
use buf::Levels;
use cache::{Cache, CacheSettings};
use reactor::{Address, Heartbeat, Mailbox, TaskId, Wake};
use sample::vars::SharedVars;
use sched::SharedWork;
use settings::{Filter, SpoeFilter};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use stdx::{AppendList, Mutex, Summary};
use table::Table;
use transport::stats::counters::{Block, Counters, Gauge};
use transport::stats::latency::Span;
use transport::stats::tls::TlsCounters;

/// Limits per second that commands move; 0 for none.
#[derive(Debug)]
pub struct MaxRates {
    /// Connections of clients.
    pub connections: AtomicU32,
    /// Sessions.
    pub sessions: AtomicU32,
    /// Connections of clients over TLS.
    pub tls_sessions: AtomicU32,
    /// Kilobytes that encoders consume.
    pub compression: AtomicU32,
}

impl MaxRates {
    /// The limits that the configuration gives.
    fn new(settings: &settings::Process) -> Self {
        let rates = &settings.max_rates;
        let compression = settings.compression.limits.rate >> 10;
        Self {
            connections: rates.connections.into(),
            sessions: rates.sessions.into(),
            tls_sessions: rates.tls_sessions.into(),
            compression: u32::try_from(compression).unwrap_or(u32::MAX).into(),
        }
    }
}

/// The running process.
pub struct Shared {
    /// Its settings.
    pub settings: settings::Process,
    /// Its sockets, namespaces and files.
    pub handles: OsHandles,
    /// All proxies of sections, by index.
    pub proxies: Vec<ProxySection>,
    /// Proxies without a section, whose indices follow.
    pub hidden: Vec<ProxySection>,
    /// Client connections of all frontends.
    pub connections: Gauge,
    /// Connections accepted, requests made, and the rates and peaks of both.
    pub totals: Counters,
    /// The caches, in the order of their sections.
    pub caches: Vec<Arc<Cache>>,
    /// The load that compression makes.
    pub compression: CompressionLoad,
    /// Bandwidth limits that streams share.
    pub bandwidth: BandwidthShares,
    /// Counters of TLS connections.
    pub tls: TlsCounters,
    /// Handshakes of QUIC clients that are under way.
    pub quic_handshakes: AtomicU32,
    /// Monotonic nanoseconds at the start.
    pub started: u64,
    /// Concurrent client connections allowed now; 0 for no limit.
    pub maxconn: AtomicU32,
    /// Limits per second that hold now.
    pub max_rates: MaxRates,
    /// Soft stop: no new clients, running requests finish.
    stopping: Stopping,
    /// Mailbox and task of each worker's housekeeper, by thread.
    workers: Vec<OnceLock<(Arc<Mailbox>, TaskId)>>,
    /// Signs of life and counters of the threads that run, by thread.
    heartbeats: Vec<OnceLock<Arc<Heartbeat>>>,
    /// How many buffers the threads have, by thread.
    levels: Vec<OnceLock<[Arc<Levels>; 2]>>,
    /// The sockets that are listened on.
    pub listening: crate::state::session::listening::Listening,
    /// Clients of each thread.
    pub loads: crate::state::session::listening::Loads,
    /// The hasher of the keys of server connections (`connect_plan` in `proxy`), for all threads.
    pub way_hasher: RandomState,
    /// The pipes for spliced payload.
    pub pipes: Arc<transport::splice::Pipes>,
    /// The stick tables, by the index that rules name.
    pub tables: Vec<Arc<Table>>,
    /// The `proc` variables.
    pub vars: Arc<SharedVars>,
    /// Changes made at the start by the server states that the previous process left.
    pub restored: OnceLock<Vec<String>>,
    /// The scripts, if there are any; set before the threads start.
    pub scripts: OnceLock<Arc<script::Runtime>>,
    /// The certificates whose OCSP responses are fetched, unless none is; set before the threads
    /// start.
    pub stapled: OnceLock<Arc<tls::Runtime>>,
    /// TLS of the sockets of scripts; set with the scripts.
    pub script_encryption: OnceLock<settings::Encryption>,
    /// Messages of our own that were dropped because a log target was full.
    pub dropped_logs: AtomicU64,
    /// Messages of sampled log targets.
    pub log_samples: LogSamples,
    /// An unreachable log target has been reported.
    pub told_of_logs: AtomicBool,
    /// The memory budget.
    pub memory: transport::thread::memory::Memory,
    /// Answers to questions that only the owning thread can answer; see
    /// [`crate::state::run_on_thread`].
    pub(crate) questions: Vec<Mutex<Vec<crate::state::run_on_thread::ThreadClosure>>>,
    /// Work for any thread, such as closing idle connections and expiring table entries.
    pub work: SharedWork<Worker>,
    /// Whether a job in [`Shared::work`] tends the parked connections.
    pub(crate) parked_tended: AtomicBool,
    /// The rings: the one that is always there, then the `ring` sections.
    pub rings: Vec<Arc<Ring>>,
    /// Commands of `debug dev` that were given.
    pub debug_commands: AtomicU64,
    /// Whether threads record the outcomes of transactions (`tune.why`).
    pub records: AtomicBool,
    /// Points of the dashboard's charts.
    pub history: History,
    /// Traces that operators have started.
    pub traces: Traces,
    /// Messages refused.
    pub invalid: AtomicU64,
    /// Messages that `log-forward` sections have received.
    pub received_logs: AtomicU64,
    /// The `resolvers` sections.
    pub resolvers: Vec<Resolver>,
    /// The `peers` sections.
    pub peers: Vec<PeerGroup>,
    /// The agents of `filter spoe` lines, by number.
    pub spoe: Vec<(Arc<SpoeFilter>, Arc<SpoeFigures>)>,
    /// The inboxes of the threads' health checks, by thread.
    pub desks: Vec<crate::state::backend::check_inbox::CheckInbox>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("proxies", &self.proxies).finish_non_exhaustive()
    }
}

/// The caches of the configuration; one without memory is left out.
fn caches(settings: &settings::Process) -> Vec<Arc<Cache>> {
    let random = || RandomState::new().build_hasher().finish();
    let build = |it: &CacheSettings| Cache::new(it.clone(), settings.threads, [random(), random()]);
    settings.caches.iter().filter_map(build).collect()
}

/// The agents of all proxies, by the number of their lines.
fn agents(proxies: &[ProxySection], threads: usize) -> Vec<(Arc<SpoeFilter>, Arc<SpoeFigures>)> {
    let filters = proxies.iter().flat_map(|proxy| &proxy.settings.filters);
    let filters = filters.filter_map(|filter| match filter {
        Filter::Spoe(filter) => Some(filter.clone()),
        _ => None,
    });
    let mut all: Vec<_> = filters.collect();
    all.sort_by_key(|filter| filter.number);
    all.into_iter().map(|filter| (filter, Arc::new(SpoeFigures::new(threads)))).collect()
}

impl Shared {
    /// The cache of this name.
    pub fn cache(&self, name: &str) -> Option<&Arc<Cache>> {
        self.caches.iter().find(|cache| cache.settings().name == name)
    }

    /// The limits on compression that hold now: those of the configuration, but for the rate, which
    /// commands move.
    pub fn compression_limits(&self) -> compression::Limits {
        let rate = u64::from(self.max_rates.compression.load(Relaxed)) << 10;
        compression::Limits { rate, ..self.settings.compression.limits }
    }

    /// The running objects, as the configuration describes them. `now` is monotonic, in
    /// nanoseconds.
    pub fn new(
        settings: settings::Process,
        proxies: Vec<settings::ProxySection>,
        handles: OsHandles,
        now: u64,
    ) -> Arc<Self> {
        let threads = settings.threads;
        let build = |(index, proxy)| ProxySection::new(index, proxy, &handles, threads, now);
        let is_hidden = |it: &settings::ProxySection| it.proxy.hidden;
        let (hidden, shown): (Vec<_>, Vec<_>) = proxies.into_iter().partition(is_hidden);
        let mut proxies: Vec<_> = shown.into_iter().chain(hidden).enumerate().map(build).collect();
        let hidden = proxies.split_off(proxies.partition_point(|it| !it.settings.hidden));
        let tables = tables(&settings);
        let peers = |it| PeerGroup::new(&settings, it, &tables, now / 1_000_000);
        let peers = settings.peers.iter().map(peers).collect();
        let shared = Arc::new(Self {
            history: History::new(&settings, &proxies),
            connections: Gauge::default(),
            totals: Counters::new(threads),
            caches: caches(&settings),
            compression: CompressionLoad::default(),
            bandwidth: BandwidthShares::default(),
            tls: TlsCounters::default(),
            quic_handshakes: AtomicU32::new(0),
            started: now,
            maxconn: AtomicU32::new(settings.maxconn),
            max_rates: MaxRates::new(&settings),
            stopping: Stopping::default(),
            workers: (0..threads).map(|_| OnceLock::new()).collect(),
            heartbeats: (0..threads).map(|_| OnceLock::new()).collect(),
            levels: (0..threads).map(|_| OnceLock::new()).collect(),
            listening: Default::default(),
            way_hasher: Default::default(),
            pipes: Default::default(),
            loads: crate::state::session::listening::Loads::new(threads),
            peers,
            tables,
            vars: settings.variables.clone(),
            restored: OnceLock::new(),
            scripts: OnceLock::new(),
            stapled: OnceLock::new(),
            script_encryption: OnceLock::new(),
            dropped_logs: AtomicU64::new(0),
            log_samples: LogSamples::new(settings.log_samples),
            told_of_logs: AtomicBool::new(false),
            rings: ring::all(&settings.rings, &handles),
            records: AtomicBool::new(true),
            traces: Traces::default(),
            invalid: AtomicU64::new(0),
            received_logs: AtomicU64::new(0),
            debug_commands: AtomicU64::new(0),
            spoe: agents(&proxies, threads),
            resolvers: settings.resolvers.iter().cloned().map(Resolver::new).collect(),
            questions: (0..threads).map(|_| Mutex::default()).collect(),
            work: SharedWork::new(threads),
            memory: transport::thread::memory::Memory::new(settings.memory),
            parked_tended: AtomicBool::new(false),
            desks: (0..threads)
                .map(|_| crate::state::backend::check_inbox::CheckInbox::default())
                .collect(),
            proxies,
            hidden,
            settings,
            handles,
        });
        dynamic_maxconn::set_fullconn(&shared.proxies, shared.settings.maxconn);
        shared
    }

    /// Whether the process only finishes what runs.
    pub fn is_stopping(&self) -> bool {
        self.stopping.has_begun()
    }

    /// How long the process has only finished what runs, in milliseconds; `now` is monotonic, in
    /// milliseconds.
    pub fn stops_for(&self, now: u64) -> Option<u64> {
        self.stopping.age(now)
    }

    /// Whether threads may use each other's idle server connections.
    pub fn shares_pools(&self) -> bool {
        self.settings.shared_pools && self.settings.threads > 1
    }

    /// Announces a soft stop (`grace`); the process serves on until it begins.
    pub fn announce_stop(&self) {
        self.stopping.announce();
    }

    /// Whether a soft stop will begin, or has begun.
    pub fn will_stop(&self) -> bool {
        self.stopping.is_announced()
    }

    /// Begins the soft stop: workers stop listening and end when their last client has gone. `now`
    /// is monotonic, in nanoseconds.
    pub fn begin_stop(&self, now: u64) {
        self.stopping.begin(now / 1_000_000);
        self.wake_threads();
    }

    /// When a client connection has to end for the soft stop, in milliseconds; The moment in
    /// milliseconds at which a client connection has to end for the soft stop; `lot`, a random
    /// number of the connection, spreads the moments.
    pub(crate) fn last_moment(&self, lot: u32) -> Option<u64> {
        self.stopping.moment(self.settings.close_spread, lot)
    }

    /// Wakes every worker's housekeeper.
    pub fn wake_threads(&self) {
        (0..self.workers.len()).for_each(|thread| self.wake_thread(thread));
    }

    /// Wakes one worker's housekeeper, if the worker has started.
    pub(crate) fn wake_thread(&self, thread: usize) {
        if let Some((mailbox, task)) = self.workers.get(thread).and_then(OnceLock::get) {
            mailbox.wake(*task, Wake::MESSAGE);
        }
    }

    /// Makes a thread known to the others.
    pub fn register_thread(&self, worker: &Worker, housekeeper: TaskId) {
        let thread = &worker.thread;
        let _ = self.heartbeats[thread.index].set(thread.heartbeat().clone());
        let _ = self.levels[thread.index].set(worker.buffers.levels());
        let _ = self.workers[thread.index].set((thread.mailbox().clone(), housekeeper));
    }

    /// The sign of life and the counters of a thread that runs.
    pub fn heartbeat(&self, thread: usize) -> Option<&Heartbeat> {
        self.heartbeats.get(thread)?.get().map(|heartbeat| &**heartbeat)
    }

    /// Bytes of the buffers of all threads: allocated, and in use.
    pub fn buffer_bytes(&self) -> (u64, u64) {
        let levels = || self.levels.iter().filter_map(OnceLock::get).flatten();
        let allocated = levels().map(|it| it.allocated_bytes()).sum();
        (allocated, levels().map(|it| it.used_bytes()).sum())
    }

    /// Bytes that all threads have sent, and how many of them within the second before `now`,
    /// monotonic, in nanoseconds.
    pub fn bytes_sent(&self, now: u64) -> (u64, u64) {
        let sent = || self.heartbeats.iter().filter_map(OnceLock::get).map(|it| it.throughput());
        (sent().map(|it| it.sent()).sum(), sent().map(|it| it.rate(now)).sum())
    }

    /// All backends.
    pub fn backends(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.proxies.iter().filter_map(|section| section.back.as_ref())
    }

    /// All frontends.
    pub fn frontends(&self) -> impl Iterator<Item = &Arc<Frontend>> {
        self.proxies.iter().filter_map(|section| section.front.as_ref())
    }

    /// The proxy with this index, with or without a section.
    pub fn proxy(&self, index: usize) -> Option<&ProxySection> {
        let hidden = index.checked_sub(self.proxies.len());
        hidden.map_or_else(|| self.proxies.get(index), |at| self.hidden.get(at))
    }

    /// All proxies, with and without a section, by index.
    pub fn all_proxies(&self) -> impl Iterator<Item = &ProxySection> {
        self.proxies.iter().chain(&self.hidden)
    }

    /// All backends, with and without a section.
    pub fn all_backends(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.all_proxies().filter_map(|section| section.back.as_ref())
    }

    /// The backend of the proxy with this index, with or without a section.
    pub fn backend_at(&self, index: usize) -> Option<&Arc<Backend>> {
        self.proxy(index)?.back.as_ref()
    }

    /// The backend of this name.
    pub fn backend(&self, name: &str) -> Option<&Arc<Backend>> {
        self.backends().find(|back| back.proxy.name() == name)
    }

    /// The section of this name: one with a backend goes first.
    pub fn section(&self, name: &str) -> Option<&ProxySection> {
        let named = || self.proxies.iter().filter(|section| section.name() == name);
        named().find(|section| section.back.is_some()).or_else(|| named().next())
    }

    /// The frontend of this name.
    pub fn frontend(&self, name: &str) -> Option<&Arc<Frontend>> {
        self.frontends().find(|front| front.proxy.name() == name)
    }
}

fn tables(process: &settings::Process) -> Vec<Arc<Table>> {
    let table = |(number, settings): (usize, &table::Settings)| {
        Arc::new(Table::new(settings.clone(), number))
    };
    let tables: Vec<Arc<Table>> = process.tables.iter().enumerate().map(table).collect();
    for section in &process.peers {
        let nodes: Vec<Arc<str>> = section.remotes.iter().map(|peer| peer.name.clone()).collect();
        let shared = section.tables.iter().filter_map(|(_, index)| tables.get(*index));
        shared.for_each(|table| table.keep_copies(&nodes));
    }
    for table in &tables {
        let name = table.settings().write_to.as_deref();
        if let Some(target) = tables.iter().find(|it| Some(it.name()) == name) {
            table.set_write_to(target.clone());
        }
    }
    tables
}

/// A running `frontend`, `backend` or `listen` section: a proxy, and the sides that it has.
#[derive(Clone, Debug)]
pub struct ProxySection {
    /// Settings and state common to both sides.
    pub proxy: Arc<Proxy>,
    /// The client side.
    pub front: Option<Arc<Frontend>>,
    /// The server side.
    pub back: Option<Arc<Backend>>,
}

impl Deref for ProxySection {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

/// Settings and state common to the sides of a running proxy.
#[derive(Debug)]
pub struct Proxy {
    /// Position among [`Shared::all_proxies`].
    pub index: usize,
    /// Its settings.
    pub settings: settings::Proxy,
    /// The kinds of rules that the configuration has, so that the usual request checks once.
    pub rules: RulesAtHand,
    /// Whether faulty messages are accepted: of clients, of servers.
    pub(crate) accept_invalid: [bool; 2],
    /// The stages of a message that apply to it, computed at its first message.
    pub stages: OnceLock<StagePlan>,
    /// The last messages refused.
    pub invalid: Captures,
    /// Counters of its HTTP/2 connections.
    pub h2: transport::h2::stats::Sides,
    /// Counters of its QUIC connections.
    pub quic: transport::quic_stats::QuicStats,
    /// Mails on their way, by mailer.
    pub outboxes: Vec<Outbox>,
}

/// The client side of a running proxy.
#[derive(Debug)]
pub struct Frontend {
    /// The proxy.
    pub proxy: Arc<Proxy>,
    /// Its settings.
    pub settings: settings::Frontend,
    /// Its counters.
    pub counters: Counters,
    /// Client connections.
    pub connections: Gauge,
    /// Concurrent connections allowed now; 0 for the process's limit.
    pub maxconn: AtomicU32,
    /// The frontend accepts no clients for now (`disable frontend`).
    pub disabled: AtomicBool,
    /// The frontend accepts no clients any more (`shutdown frontend`).
    pub shut: AtomicBool,
    /// Lines logged (`%lc`).
    pub lines: AtomicU64,
    /// Its listeners, in the order of the binds.
    pub listeners: Vec<Listener>,
}

impl Frontend {
    /// The blocks that a thread counts in for clients of a listener: the frontend's block and, with
    /// `option socket-stats`, the listener's.
    pub fn blocks(&self, bind: u32, thread: usize) -> impl Iterator<Item = &Block> {
        let listener = self.listeners.get(bind as usize);
        let own = listener.and_then(|listener| listener.counters.as_ref());
        [Some(&self.counters), own].into_iter().flatten().map(move |it| it.of(thread))
    }
}

/// One running listener.
#[derive(Debug)]
pub struct Listener {
    /// Its sockets.
    pub sockets: Option<ListenSockets>,
    /// Client connections.
    pub connections: Gauge,
    /// Counters of its clients, with `option socket-stats`.
    pub counters: Option<Counters>,
    /// The state that the threads of a QUIC listener share.
    pub quic: Option<Arc<QuicLine>>,
}

impl Listener {
    fn new(
        settings: &settings::Frontend,
        bind: &settings::Bind,
        sockets: Option<ListenSockets>,
        threads: usize,
    ) -> Self {
        let counters = settings.socket_stats.then(|| Counters::new(threads));
        let links = sockets.as_ref().and_then(|sockets| sockets.quic.clone());
        let quic = bind.quic.is_some().then(|| Arc::new(QuicLine::new(links, threads)));
        Self { sockets, connections: Gauge::default(), counters, quic }
    }
}

/// The server side of a running proxy.
#[derive(Debug)]
pub struct Backend {
    /// The proxy.
    pub proxy: Arc<Proxy>,
    /// Its settings.
    pub settings: settings::Backend,
    /// The stages that prepare the choice of a server and apply: a bit for each row of their table,
    /// computed at the first request.
    pub stages: OnceLock<u32>,
    /// Its counters.
    pub counters: Counters,
    /// Streams.
    pub sessions: Gauge,
    /// The servers' shared state and the algorithm.
    pub balancer: Balancer,
    /// The running servers, by slot.
    pub servers: Servers,
    /// Names and numbers of servers; locked while servers are added or deleted.
    pub register: Mutex<Register>,
    /// Requests that wait for any server.
    pub queue: Queue,
    /// Whether there is a usable server.
    pub availability: Availability,
    /// Milliseconds since the start at which the number of usable servers last changed from or to
    /// zero.
    pub changed_ms: AtomicU64,
    /// Cookies computed from the servers' addresses.
    pub dynamic_cookie: DynamicCookie,
    /// `fullconn`: the number of streams at full load.
    pub full: AtomicU32,
    /// Whether the connection limit of a server moves.
    pub limits_move: AtomicBool,
}

/// A running server: all that balancing does not need.
#[derive(Debug)]
pub struct Server {
    /// The state that balancing shares.
    pub state: Arc<balance::Server>,
    /// Its settings.
    pub settings: settings::Server,
    /// Whether its connections use TLS.
    pub tls: TlsSwitch,
    /// The source port of its next connection, if a range of them is set.
    pub source_port: SourcePort,
    /// Its current address.
    pub location: Location,
    /// Its counters.
    pub counters: Counters,
    /// Streams.
    pub sessions: Gauge,
    /// Requests that wait for it.
    pub queue: Queue,
    /// Connections, in use or idle.
    pub used: Gauge,
    /// Whether maintenance has paused its checks.
    pub paused: AtomicBool,
    /// Whether its health checks are suspended (`disable health`).
    pub checks_off: AtomicBool,
    /// Whether a task carries out its slow start.
    pub warming: AtomicBool,
    /// Whether a health check is under way.
    pub check_runs: AtomicBool,
    /// The settings of its agent check, if any.
    pub agent: Option<Agent>,
    /// Idle connections that their threads did not need, for any thread to take.
    pub parked: SharedPool,
    /// Its connection limit, which may move.
    pub limit: Limit,
    /// The servers that track it.
    pub followers: AppendList<tracking::At>,
    /// Whether the server has a record of its health checks, and one of its agent checks.
    pub recorded: [AtomicBool; 2],
    /// Whether a script has an object for it, so that it cannot be deleted.
    pub scripted: AtomicBool,
    /// Whether it has been deleted.
    deleted: AtomicBool,
}

impl Server {
    /// A server with counters for this many threads.
    pub fn new(state: Arc<balance::Server>, settings: settings::Server, threads: usize) -> Self {
        Self {
            tls: TlsSwitch::new(&settings),
            source_port: SourcePort::default(),
            location: Location::new(&settings),
            counters: Counters::new(threads),
            sessions: Gauge::default(),
            queue: Queue::default(),
            used: Gauge::default(),
            paused: AtomicBool::new(settings.balance.disabled || settings.balance.unresolved),
            warming: AtomicBool::new(false),
            checks_off: AtomicBool::new(settings.off.0),
            agent: settings.agent.as_ref().map(|agent| Agent::new(agent, settings.off.1)),
            parked: SharedPool::default(),
            limit: Limit::new(&settings),
            check_runs: AtomicBool::default(),
            followers: AppendList::new(),
            recorded: Default::default(),
            scripted: AtomicBool::new(false),
            deleted: AtomicBool::new(false),
            state,
            settings,
        }
    }

    /// Whether `del server` has removed it.
    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Relaxed)
    }

    /// Marks the server as removed.
    pub fn delete(&self) {
        self.deleted.store(true, Relaxed);
    }

    /// A deleted server becomes a new one of other name, number and address, whose settings are the
    /// same otherwise. The server's state was reset.
    pub fn renew(&self, settings: &settings::Server) {
        self.counters.clear();
        self.sessions.clear_peak();
        self.used.clear_peak();
        self.queue.length.clear_peak();
        self.location.change(|place| {
            place.address = settings.address.clone();
            place.check_ip = settings.checked_at.0.or(settings.check_ip);
            place.check_port = settings.checked_at.1.or(settings.check_port);
            place.known = !settings.balance.unresolved;
            place.host = settings.host.as_deref().map(Arc::from);
            // Connections to the deleted server are not used for the new one in its slot.
            place.moves += 1;
        });
        if let (Some(own), Some(newer)) = (&self.settings.connector, &settings.connector) {
            own.follow(newer);
        }
        self.tls.reset(settings);
        self.limit.reset(&self.settings);
        self.paused.store(settings.balance.disabled || settings.balance.unresolved, Relaxed);
        self.checks_off.store(true, Relaxed);
        if let (Some(agent), Some(settings)) = (&self.agent, &settings.agent) {
            agent.change(|asked| {
                (asked.ip, asked.port, asked.send) =
                    (settings.ip, settings.port, settings.send.clone());
            });
        }
        self.deleted.store(false, Relaxed);
    }

    /// Whether another server may take its place once it is deleted.
    pub(crate) fn is_renewable(&self) -> bool {
        let resolved = self.settings.resolve.as_ref().is_some_and(|it| !it.name.is_empty());
        self.settings.words.is_some() && !resolved && self.followers.is_empty()
    }

    /// Idle connections that may be shared, of all threads and of none.
    pub fn idle(&self) -> u32 {
        self.idle_singles() + self.counters.idle_trunks()
    }

    /// The idle connections that carry one request at a time.
    fn idle_singles(&self) -> u32 {
        self.counters.idle() + self.parked.count()
    }

    /// Idle connections that are known to serve more than one request, so far as threads hold them:
    /// by their use, or by their protocol.
    pub fn idle_proven(&self) -> u32 {
        self.counters.proven() + self.counters.idle_trunks()
    }

    /// Connections that requests use now; each stream of an HTTP/2 connection counts as one.
    pub fn in_use(&self) -> u32 {
        self.used.current().saturating_sub(self.idle_singles())
    }

    /// The most connections that were in use since the last purge, and how many are expected.
    pub fn demand(&self) -> (u32, u32) {
        let (peak, need) = self.counters.demand();
        let used = self.in_use();
        (peak.max(used), need.max(used))
    }
}

/// The agent of a server; commands may move it.
#[derive(Debug)]
pub struct Agent {
    /// Whether its checks are suspended (`disable agent`).
    pub off: AtomicBool,
    /// Milliseconds between checks.
    pub inter_ms: u32,
    asked: Mutex<Asked>,
    /// Whether a check of the agent is under way.
    pub runs: AtomicBool,
}

/// The address of an agent, and the bytes that a check sends first.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its own address; without one, the current address of the server.
    pub ip: Option<IpAddr>,
    /// Its port, unless it is at a path.
    pub port: u16,
    /// The bytes that a check sends (`agent-send`).
    pub send: Vec<u8>,
}

impl Asked {
    /// The address of the agent, with the server at `server`.
    pub fn address(&self, server: &Address) -> Address {
        match self.ip.or_else(|| Some(server.inet()?.ip())) {
            Some(ip) => Address::Inet((ip, self.port).into()),
            // As HAProxy does with a server that is a path.
            None => server.clone(),
        }
    }
}

impl Agent {
    fn new(settings: &settings::Agent, off: bool) -> Self {
        let (ip, port, send) = (settings.ip, settings.port, settings.send.clone());
        let asked = Mutex::new(Asked { ip, port, send });
        let (off, runs) = (AtomicBool::new(off), AtomicBool::default());
        Self { off, runs, inter_ms: settings.inter_ms, asked }
    }

    /// The current address, and the bytes that a check sends first.
    pub fn asked(&self) -> Asked {
        self.asked.lock().clone()
    }

    /// Changes the address or the bytes to send.
    pub fn change(&self, change: impl FnOnce(&mut Asked)) {
        change(&mut self.asked.lock());
    }
}

impl Frontend {
    /// Whether the frontend was shut down and its sockets are closed (`shutdown frontend`).
    pub fn is_shut(&self) -> bool {
        self.shut.load(Relaxed)
    }
}

impl AsRef<Gauge> for Server {
    fn as_ref(&self) -> &Gauge {
        &self.sessions
    }
}

impl ProxySection {
    fn new(
        index: usize,
        section: settings::ProxySection,
        handles: &OsHandles,
        threads: usize,
        now: u64,
    ) -> Self {
        let settings::ProxySection { proxy: settings, front, back } = section;
        let proxy = Arc::new(Proxy::new(index, settings, front.as_ref(), back.as_ref()));
        let front = front.map(|front| Frontend::new(&proxy, front, handles, threads));
        let back = back.map(|back| Backend::new(&proxy, back, threads, now));
        Self { proxy, front: front.map(Arc::new), back: back.map(Arc::new) }
    }
}

impl Frontend {
    fn new(
        proxy: &Arc<Proxy>,
        settings: settings::Frontend,
        handles: &OsHandles,
        threads: usize,
    ) -> Self {
        let name = &proxy.settings.name;
        let listener = |bind: &settings::Bind| {
            Listener::new(&settings, bind, handles.listener(name, bind.id).cloned(), threads)
        };
        Self {
            proxy: proxy.clone(),
            counters: Counters::new(threads),
            connections: Gauge::default(),
            maxconn: AtomicU32::new(settings.maxconn.unwrap_or(0)),
            disabled: AtomicBool::new(false),
            shut: AtomicBool::new(false),
            lines: AtomicU64::new(0),
            listeners: settings.binds.iter().map(listener).collect(),
            settings,
        }
    }
}

impl Frontend {
    /// The frontend of transactions that begin inside the process, for a backend of this proxy.
    pub(crate) fn internal(proxy: &Arc<Proxy>) -> Self {
        Self::new(proxy, settings::Frontend::default(), &OsHandles::default(), 1)
    }
}

impl Proxy {
    fn new(
        index: usize,
        settings: settings::Proxy,
        front: Option<&settings::Frontend>,
        back: Option<&settings::Backend>,
    ) -> Self {
        settings.rule_sections().for_each(rules::Rules::prepare);
        let mailers = settings.mail.iter().flat_map(|mail| &mail.mailers);
        Self {
            index,
            rules: RulesAtHand::of(&settings, front),
            accept_invalid: [
                front.is_some_and(|front| front.accept_invalid),
                back.is_some_and(|back| back.accept_invalid),
            ],
            stages: OnceLock::new(),
            outboxes: mailers.map(|_| Outbox::default()).collect(),
            invalid: Captures::default(),
            h2: transport::h2::stats::Sides::default(),
            quic: transport::quic_stats::QuicStats::default(),
            settings,
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The reply configured for a status.
    pub fn error_reply(&self, status: u16) -> Option<&settings::ErrorReply> {
        self.settings.error_replies.get(&status)
    }
}

impl Backend {
    /// Adds the times of requests to the servers in these slots, in microseconds, deleted servers
    /// included; the direct target comes with the last slot.
    pub fn add_latencies(&self, slots: Range<usize>, span: Span, summary: &mut Summary) {
        let all = self.servers.slots();
        let servers = (slots.start..slots.end.min(all)).map(|slot| &self.servers[slot]);
        let direct = self.servers.direct().filter(|_| slots.end >= all);
        for server in servers.chain(direct) {
            server.counters.latencies.add_to(summary, span);
        }
    }

    fn new(proxy: &Arc<Proxy>, settings: settings::Backend, threads: usize, now: u64) -> Self {
        let servers = settings.servers.iter().map(|server| server.balance.clone()).collect();
        let now_ms = now / 1_000_000;
        let balancer = Balancer::new(settings.algorithm, settings.all_backups, servers, now_ms);
        let run = |(state, settings): (&Arc<balance::Server>, &settings::Server)| {
            Server::new(state.clone(), settings.clone(), threads)
        };
        let direct = settings.direct.as_ref().map(|direct| {
            let lone =
                Balancer::new(Default::default(), false, vec![direct.balance.clone()], now_ms);
            run((&lone.servers()[0], direct))
        });
        let listed = balancer.servers().iter().zip(&settings.servers).map(run);
        let servers = Servers::new(listed, direct);
        let limits_move = servers.iter().any(|server| server.limit.moves());
        let mut register = Register::default();
        servers.iter().for_each(|server| register.enter(server));
        let register = Mutex::new(register);
        let usable = balancer.usable();
        Self {
            proxy: proxy.clone(),
            stages: OnceLock::new(),
            counters: Counters::new(threads),
            sessions: Gauge::default(),
            availability: Availability::new(usable.active + usable.backup > 0),
            balancer,
            servers,
            queue: Queue::default(),
            dynamic_cookie: DynamicCookie::new(&settings),
            changed_ms: AtomicU64::new(now_ms),
            full: AtomicU32::new(0),
            limits_move: AtomicBool::new(limits_move),
            register,
            settings,
        }
    }
}

impl Backend {
    /// Milliseconds without a usable server, up to `now_ms` (`downtime` of a backend).
    pub fn downtime_ms(&self, now_ms: u64) -> u64 {
        let before = self.availability.downtime_ms.load(Relaxed);
        let down = self.availability.down.load(Relaxed);
        before + if down { now_ms.saturating_sub(self.changed_ms.load(Relaxed)) } else { 0 }
    }
}
