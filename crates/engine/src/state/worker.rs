//! The state that all tasks of a thread share: its reactor, its pools, the process.

use crate::state::backend::pool::IdlePool;
use crate::state::backend::trunk::Trunks;
use crate::state::records::flight_recorder::Recorder;
use crate::state::runtime::{BackendRef, Proxy, ProxySection, Shared};
use crate::state::script_sockets::ScriptSockets;
use crate::state::services::Services;
use crate::state::session::client::Client;
use crate::state::session::credentials::Verifier;
use crate::state::session::listening::PausedListeners;
use crate::state::session::pending::OutsideAsker;
use crate::state::session::quic_view::{QuicConnectionView, QuicListing};
use crate::state::session::request_buffers::{Notes, Workspace};
use crate::state::session::stream_list::Streams;
use crate::state::session::transaction::Seats;
use crate::state::spoe::SpoeAgentPool;
use crate::state::thread_handle::LocalSection;
use mux::h2::flood::TurnLimits;
use mux::h3::{H3Conn, H3ConnSettings};
use mux::{Side, h1, h2};
use reactor::Thread;
use sample::calendar::Date;
use sample::regex::effort;
use script::{Answer, ClientRequest};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use stdx::prefetch;
use transport::forwarder::Pools;
use transport::splice::PipePool;
use transport::stats::counters::Block;
use transport::thread::buffers::{Buffers, PoolUse};
use transport::thread::memory::Level;
use wire::h1::{Exceptions, Limits};
use wire::h2::DEFAULT_WINDOW;
use wire::h2::hpack::ENTRY_OVERHEAD;
use wire::h2::request::{ListLimits, Tolerance};

/// Free workspaces that a thread keeps: few are in use at once.
const KEEP: usize = 256;
/// Free notes that it keeps: as many as requests that are under way.
const KEEP_NOTES: usize = 1_024;

/// Functions of rooms above this one that report the end of a client's connection.
pub struct Hooks {
    /// A client's session has ended.
    pub session_ended: fn(&Client),
    /// A client's HTTP/2 connection had streams refused or was ended by an error.
    pub h2_refused: fn(&Client, &h2::Counters),
    /// Makes a request of a script.
    pub script_request: fn(Rc<Worker>, ClientRequest) -> ScriptAnswer,
}

/// The answer to a script, as a future.
pub type ScriptAnswer = Pin<Box<dyn Future<Output = Answer>>>;

/// One thread's share of the proxy.
pub struct Worker {
    own: Weak<Self>,
    pub(crate) hooks: Hooks,
    /// The reactor.
    pub thread: Rc<Thread>,
    /// The process.
    pub shared: Arc<Shared>,
    /// All proxies, with and without a section, by index.
    pub proxies: Vec<LocalSection>,
    /// Its buffers.
    pub buffers: Buffers,
    /// The services that answer requests in the proxy's own name.
    pub services: Box<dyn Services>,
    /// Idle connections to servers.
    pub idle: IdlePool,
    /// Its free pipes.
    pub pipes: Rc<PipePool>,
    /// Memory for the futures of transactions.
    pub seats: Seats,
    pub(crate) streams: Streams,
    #[expect(clippy::vec_box, reason = "moves between pool and transactions move a pointer")]
    workspaces: RefCell<Vec<Box<Workspace>>>,
    /// Memory that new streams of HTTP/2 begin with.
    pub(crate) spares: h2::FreeList,
    /// Memory for clients that it has let in of late.
    pub share: transport::thread::memory::Share,
    #[expect(clippy::vec_box, reason = "moves between pool and transactions move a pointer")]
    notes: RefCell<Vec<Box<Notes>>>,
    scratch: RefCell<Vec<Vec<u8>>>,
    /// Memory that encryption uses.
    pub tls: Rc<tls::Scratch>,
    /// Streams that a bandwidth limit has had wait.
    pub limited_streams: Cell<u32>,
    /// Memory that encoders of bodies use during a call, from the first one on.
    pub encoder_scratch: RefCell<Option<compression::Scratch>>,
    date: Cell<(i64, i32)>,
    /// Where passwords are verified.
    pub verifier: Verifier,
    /// The askers of `Action::Ask`, by number.
    askers: RefCell<Vec<Rc<dyn OutsideAsker>>>,
    /// The sockets that its scripts have opened.
    pub script_sockets: ScriptSockets,
    /// The agents of `filter spoe` lines, by number.
    pub spoe: Vec<Rc<SpoeAgentPool>>,
    /// The last transactions of this thread.
    pub recorder: Recorder,
    /// Whether times are counted in histograms.
    pub histograms: bool,
    /// QUIC listeners of this thread.
    quic: RefCell<Vec<Rc<dyn QuicListing>>>,
    /// Client connections of this thread.
    pub clients: Cell<usize>,
    /// Listeners that accept no clients for the moment.
    pub paused_listeners: PausedListeners,
    /// How many there have been.
    met: Cell<u64>,
    /// Streams of this thread that have a number: those that a log or an id may show.
    numbered: Cell<u64>,
    /// Its connections to servers that speak HTTP/2.
    pub trunks: Trunks,
    idle_share: Cell<IdleShare>,
    totals: Arc<Block>,
}

/// The share of its time that a thread spent waiting, and the start of the measurement.
#[derive(Clone, Copy, Debug)]
struct IdleShare {
    percent: u32,
    /// Monotonic nanoseconds.
    since: u64,
    /// Nanoseconds of CPU that the thread had used then.
    used: u64,
}

/// The shortest time over which that share is measured, in nanoseconds.
const IDLE_SPAN: u64 = 1_000_000_000;

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl Worker {
    /// A thread's state, before any of its tasks runs.
    pub fn new(
        thread: &Rc<Thread>,
        shared: &Arc<Shared>,
        services: Box<dyn Services>,
        hooks: Hooks,
    ) -> Rc<Self> {
        let settings = &shared.settings;
        let handle = |section: &ProxySection| LocalSection::new(section, thread.index);
        Rc::new_cyclic(|own| Self {
            own: own.clone(),
            hooks,
            thread: thread.clone(),
            shared: shared.clone(),
            proxies: shared.all_proxies().map(handle).collect(),
            buffers: Buffers::new(
                thread,
                settings.buffer_size,
                settings.buffer_limit,
                settings.threads,
            ),
            services,
            pipes: PipePool::new(thread, settings.splice, &shared.pipes),
            idle: IdlePool::new(shared),
            seats: Seats::default(),
            streams: Streams::default(),
            workspaces: RefCell::default(),
            spares: h2::FreeList::default(),
            share: Default::default(),
            notes: RefCell::default(),
            scratch: RefCell::default(),
            tls: Rc::default(),
            limited_streams: Cell::default(),
            encoder_scratch: RefCell::default(),
            date: Cell::new((-1, 0)),
            verifier: Verifier::default(),
            askers: RefCell::default(),
            script_sockets: ScriptSockets::default(),
            spoe: shared
                .spoe
                .iter()
                .map(|(filter, figures)| {
                    Rc::new(SpoeAgentPool::new(thread, filter, figures, settings.buffer_size))
                })
                .collect(),
            recorder: Recorder::default(),
            histograms: settings.histograms,
            quic: RefCell::default(),
            clients: Cell::new(0),
            paused_listeners: PausedListeners::default(),
            totals: shared.totals.share(thread.index),
            met: Cell::new(0),
            numbered: Cell::new(0),
            trunks: Trunks::default(),
            idle_share: Cell::new(IdleShare { percent: 100, since: thread.nanos(), used: 0 }),
        })
    }

    /// Itself, for tasks that outlive a call; `None` while it is built or torn down.
    pub fn handle(&self) -> Option<Rc<Self>> {
        self.own.upgrade()
    }

    /// Makes a request of a script; the future of an empty one while the worker is torn down.
    pub fn script_request(&self, request: ClientRequest) -> ScriptAnswer {
        match self.handle() {
            Some(worker) => (self.hooks.script_request)(worker, request),
            None => Box::pin(std::future::ready(Answer::Nothing)),
        }
    }

    /// Adds an asker of `Action::Ask`; returns the number by which rules name it, from 0. Each
    /// thread has its own, in the same order.
    pub fn add_asker(&self, asker: Rc<dyn OutsideAsker>) -> usize {
        let mut askers = self.askers.borrow_mut();
        askers.push(asker);
        askers.len() - 1
    }

    /// The asker of this number.
    pub fn asker(&self, number: usize) -> Option<Rc<dyn OutsideAsker>> {
        self.askers.borrow().get(number).cloned()
    }

    /// Adds a QUIC listener of this thread.
    pub fn add_quic(&self, listener: Rc<dyn QuicListing>) {
        self.quic.borrow_mut().push(listener);
    }

    /// The QUIC connections of this thread.
    pub fn quic_connections(&self) -> Vec<QuicConnectionView> {
        let mut all = Vec::new();
        self.quic.borrow().iter().for_each(|listener| listener.list(&mut all));
        all
    }

    /// Idle server connections of this thread, by backend and slot.
    pub fn idle_counts(&self) -> Vec<Vec<usize>> {
        self.idle.counts()
    }

    /// The percentage of time that the thread spent waiting since the last call; the previous
    /// result if that call was less than a second ago.
    pub fn idle_percent(&self) -> u32 {
        let (last, now) = (self.idle_share.get(), self.thread.nanos());
        let span = now.saturating_sub(last.since);
        if span < IDLE_SPAN {
            return last.percent;
        }
        let used = self.thread.heartbeat().cpu_nanos();
        let busy = used.saturating_sub(last.used).saturating_mul(100) / span;
        let percent = 100 - busy.min(100) as u32;
        self.idle_share.set(IdleShare { percent, since: now, used });
        percent
    }

    /// Memory that this thread keeps for reuse.
    pub fn pool_uses(&self) -> Vec<PoolUse> {
        let kept = |name, size, kept| PoolUse { name, size, allocated: kept, used: 0 };
        let workspaces = self.workspaces.borrow().len();
        let mut pools = self.buffers.pools().to_vec();
        pools.push(kept("workspace", size_of::<Workspace>(), workspaces));
        pools.push(kept("head", size_of::<htx::Head>(), self.spares.heads()));
        let held = self.spares.held();
        pools.push(PoolUse { name: "h2_payload", size: 1, allocated: held, used: held });
        pools.push(kept("notes", size_of::<Notes>(), self.notes.borrow().len()));
        pools
    }

    /// Adapts this thread to a new level of memory.
    pub fn adapt(&self) {
        let level = self.shared.memory.level();
        self.spares.set_tight(level >= Level::Tight);
        self.buffers.set_tight(level >= Level::Tight, level == Level::Short);
        if level >= Level::Tight {
            self.give_back();
        }
        if level == Level::Short {
            // Clients between requests, and requests in queues, look whether they may stay.
            self.thread.scheduler().wake_all(reactor::Wake::OTHER);
        }
    }

    /// Frees what is kept for later, and idle server connections.
    fn give_back(&self) {
        self.idle.clear_all();
        self.buffers.trim();
        self.spares.trim();
        self.seats.trim();
        self.workspaces.borrow_mut().clear();
        self.notes.borrow_mut().clear();
        if let Some(scripts) = self.shared.scripts.get() {
            scripts.free_garbage(self.thread.index);
        }
    }

    /// A number that no other client of this thread has.
    pub(crate) fn next_client(&self) -> u64 {
        self.met.set(self.met.get() + 1);
        self.met.get()
    }

    /// A number that no other stream of the process has (`%rt`). Threads take turns instead of
    /// sharing a counter, which all would write for each line that is logged.
    pub fn next_number(&self) -> u64 {
        let (own, threads) = (self.numbered.get(), self.shared.settings.threads as u64);
        self.numbered.set(own + 1);
        own * threads + self.thread.index as u64
    }

    /// The date of this turn, in seconds since 1970.
    pub fn date(&self) -> i64 {
        i64::from(self.second())
    }

    /// Seconds since 1970 of this turn.
    pub fn second(&self) -> u32 {
        (self.thread.wall() / 1_000_000_000) as u32
    }

    /// Milliseconds since an arbitrary start, of this turn.
    pub fn millis(&self) -> u64 {
        self.thread.nanos() / 1_000_000
    }

    /// Seconds east of Greenwich at this turn; asked for once a second.
    pub fn local_offset(&self) -> i32 {
        let second = i64::from(self.second());
        let (known, offset) = self.date.get();
        if known == second {
            return offset;
        }
        let offset = self.thread.kernel().local_offset(second);
        self.date.set((second, offset));
        offset
    }

    /// The local date of this turn.
    pub fn local_date(&self) -> Date {
        Date::new(i64::from(self.second()), self.local_offset())
    }

    /// The thread's counters of the whole process.
    #[inline]
    pub fn totals(&self) -> &Block {
        &self.totals
    }

    /// The hidden proxy that requests of the process itself go through, if there is one.
    pub fn http_client(&self) -> Option<&BackendRef> {
        self.backend_at(self.shared.proxies.len())
    }

    /// The backend of this name.
    pub fn backend(&self, name: &str) -> Option<&BackendRef> {
        // Clients may choose names: they do not reach the hidden proxies.
        let shown = &self.proxies[..self.shared.proxies.len()];
        let mut backends = shown.iter().filter_map(|section| section.back.as_ref());
        backends.find(|back| back.name() == name)
    }

    /// The backend of the proxy with this number.
    #[inline]
    pub fn backend_at(&self, index: usize) -> Option<&BackendRef> {
        self.proxies.get(index)?.back.as_ref()
    }

    /// Memory of the thread that forwarding uses.
    #[inline]
    pub fn pools(&self) -> Pools<'_> {
        Pools { buffers: &self.buffers, pipes: &self.pipes }
    }

    /// Returns a buffer to its pool.
    pub fn release(&self, buffer: buf::Buf) {
        self.buffers.release(buffer);
    }

    /// How connections of a proxy treat HTTP/1.
    pub fn mux_settings(&self, proxy: &Proxy, side: Side) -> h1::H1ConnSettings {
        let settings = &self.shared.settings;
        // For a response, the status line counts as well.
        let (lenient, others) = match side {
            Side::Client => (proxy.accept_invalid[0], 0),
            Side::Server => (proxy.accept_invalid[1], 1),
        };
        let limits = Limits {
            head_bytes: settings.buffer_size.saturating_sub(settings.max_rewrite) as u32,
            header_lines: settings.max_headers.saturating_sub(others) as u16,
            lenient,
            exceptions: Exceptions::default()
                .with(Exceptions::FRAGMENTS, side == Side::Client && proxy.rules.fragments)
                .with(Exceptions::PAYLOAD_WITH_ANY_METHOD, settings.payload_with_any_method),
        };
        h1::H1ConnSettings { limits, mode: connection_mode(proxy.settings.connection_mode) }
    }

    /// The HTTP/2 settings of a side of a proxy.
    pub fn h2_settings(&self, proxy: &Proxy, side: Side) -> h2::H2ConnSettings {
        let (own, limits) = (&self.shared.settings.h2, self.mux_settings(proxy, side).limits);
        let client = side == Side::Client;
        let announced = wire::h2::Settings {
            header_table_size: own.header_table_size,
            enable_push: client,
            max_concurrent_streams: own.max_concurrent_streams.filter(|_| client),
            initial_window_size: own.initial_window_size,
            max_frame_size: own.max_frame_size,
            max_header_list_size: None,
            enable_connect_protocol: client && !own.hides_websockets,
        };
        // Short fields count for much more than their text in a list.
        let overhead = ENTRY_OVERHEAD as u32 * u32::from(limits.header_lines);
        let list = ListLimits {
            bytes: limits.head_bytes.saturating_add(overhead),
            fields: limits.header_lines,
        };
        let seed = self.thread.prng().next_u64();
        let max_opened = own.max_concurrent_streams.unwrap_or(u32::MAX);
        let tolerance = Tolerance {
            fragments: limits.lenient || limits.exceptions.has(Exceptions::FRAGMENTS),
            hosts: limits.lenient,
        };
        let window = h2::settings::window_of(max_opened, own.initial_window_size);
        // Servers are trusted with all of it at once: their streams belong to many clients, and the
        // payload of one that does not read must not hold up the others for a moment.
        let first_window = if client { DEFAULT_WINDOW } else { window };
        h2::H2ConnSettings {
            announced,
            window,
            first_window,
            max_opened,
            glitches_threshold: own.glitches_threshold[usize::from(!client)],
            turn_limits: TurnLimits {
                frames: own.max_frames_at_once[usize::from(!client)],
                resets: if client { own.max_rst_at_once } else { 0 },
            },
            max_total_streams: if client { own.max_total_streams } else { 0 },
            list,
            tolerance,
            seed,
            ..h2::H2ConnSettings::default()
        }
    }

    /// An HTTP/2 connection, before its first byte.
    pub fn h2_conn(&self, proxy: &Proxy, side: Side) -> h2::H2Conn {
        h2::H2Conn::new(side, self.h2_settings(proxy, side)).with_free_list(&self.spares)
    }

    /// The HTTP/3 machine of a client's connection.
    pub fn h3_conn(&self, proxy: &Proxy) -> H3Conn {
        let h2 = self.h2_settings(proxy, Side::Client);
        let usual = H3ConnSettings::default();
        let announced = wire::h3::H3Settings {
            max_field_section_size: Some(h2.list.bytes.into()),
            enable_connect_protocol: h2.announced.enable_connect_protocol,
            ..usual.announced
        };
        H3Conn::new(H3ConnSettings {
            announced,
            list: h2.list,
            tolerance: h2.tolerance,
            seed: h2.seed,
            max_total_streams: self.shared.settings.quic.max_total_streams,
            ..usual
        })
    }

    /// A cleared workspace for a transaction; allocates only when none is free.
    pub fn take_workspace(&self) -> Box<Workspace> {
        self.workspaces.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a cleared workspace back.
    pub fn give_workspace(&self, workspace: Box<Workspace>) {
        let mut free = self.workspaces.borrow_mut();
        if free.len() < KEEP {
            free.push(workspace);
        }
    }

    /// Cleared notes for a transaction; allocates only when none are free.
    pub fn take_notes(&self) -> Box<Notes> {
        let mut kept = self.notes.borrow_mut();
        let free = kept.pop();
        // Requests begin in bursts, and notes rest long enough to leave the CPU's caches.
        if let Some(next) = kept.last() {
            prefetch::prefetch(&next.journal);
            prefetch::prefetch(&next.variables);
        }
        drop(kept);
        let notes = free.unwrap_or_else(|| {
            let mut fresh = Box::<Notes>::default();
            fresh.variables.process = self.shared.vars.clone();
            fresh
        });
        // Other notes that were dropped may have been at this place.
        effort::close(notes.account());
        notes
    }

    /// Takes notes back.
    pub fn give_notes(&self, mut notes: Box<Notes>) {
        effort::close(notes.account());
        let mut free = self.notes.borrow_mut();
        if free.len() < KEEP_NOTES {
            notes.clear();
            free.push(notes);
        }
    }

    /// An empty vector with memory of its own, for building texts.
    pub fn take_scratch(&self) -> Vec<u8> {
        self.scratch.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a scratch vector back.
    pub fn give_scratch(&self, mut scratch: Vec<u8>) {
        let mut free = self.scratch.borrow_mut();
        if free.len() < 8 && scratch.capacity() <= 1 << 20 {
            scratch.clear();
            free.push(scratch);
        }
    }
}

/// The codec's name for a mode of connections.
pub fn connection_mode(mode: settings::ConnectionMode) -> h1::ConnectionMode {
    match mode {
        settings::ConnectionMode::KeepAlive => h1::ConnectionMode::KeepAlive,
        settings::ConnectionMode::ServerClose => h1::ConnectionMode::ServerClose,
        settings::ConnectionMode::Close => h1::ConnectionMode::Close,
    }
}
