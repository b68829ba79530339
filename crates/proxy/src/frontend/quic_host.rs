//! The endpoint of a QUIC listener on one thread. Connections have tasks of their own on that
//! thread.

use crate::frontend::listener::{self, ListenerState, Moment};
use crate::frontend::{quic_connection, quic_relay, session_rules};
use engine::state::runtime::FrontendRef;
use engine::state::session::client::Client;
use engine::state::session::client_quic::QuicCarrier;
use engine::state::session::quic_line::{QuicIdentity, QuicLine, StrayDatagram};
use engine::state::session::quic_view::{QuicConnectionView, QuicListing, QuicState};
use engine::state::worker::Worker;
use quic::{
    Arrival, CongestionControl, ConnectionKey, ConnectionMessage, ConnectionOwner, Datagram,
    EndpointCounters, InitialVerdict, Outgoing, QuicConnection, QuicEndpoint, QuicSettings,
    Steering,
};
use reactor::{Class, Handle, TaskId, Tick, UdpTrain, Wake};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transport::quic_stats::QuicField;
use transport::streams::Session;

/// The code of a connection that was refused (RFC 9000 section 20.1).
const CONNECTION_REFUSED: u64 = 2;

/// The time after the begin of a soft stop in which new clients get no answer, in milliseconds: a
/// successor may be about to serve them, so that a refusal would be wrong. Clients repeat their
/// first packet after a second.
const SUCCESSION_MS: u64 = 900;

/// Datagrams that wait for the task of a connection; further ones are lost, as in a network.
const INBOX: usize = 256;

/// A connection, as its task and the listener share it.
pub(crate) struct ConnectionEntry {
    pub(crate) conn: RefCell<Box<QuicConnection>>,
    /// The streams, once the task of the connection runs.
    pub(crate) session: OnceCell<Rc<Session>>,
    /// Requests so far.
    pub(crate) requests: Cell<u32>,
    /// When the handshake began.
    pub(crate) since: Tick,
    task: Cell<Option<TaskId>>,
    messages: RefCell<VecDeque<ConnectionMessage>>,
}

impl ConnectionEntry {
    /// Takes the next datagram.
    pub(crate) fn pop(&self) -> Option<ConnectionMessage> {
        self.messages.borrow_mut().pop_front()
    }
}

/// A listener on one of its threads.
pub(crate) struct QuicHost {
    pub(crate) worker: Rc<Worker>,
    pub(crate) proxy: FrontendRef,
    pub(crate) place: usize,
    pub(crate) line: Arc<QuicLine>,
    pub(crate) endpoint: RefCell<QuicEndpoint>,
    owner: ConnectionOwner,
    steering: Steering,
    /// The socket that connections send from.
    socket: Handle,
    connections: RefCell<HashMap<ConnectionKey, Rc<ConnectionEntry>>>,
    /// Handshakes under way that are counted.
    handshakes: Cell<u32>,
}

impl QuicHost {
    /// The listener on the worker's thread; `None` for a line without certificates.
    pub(crate) fn new(
        worker: &Rc<Worker>,
        proxy: &FrontendRef,
        (place, bind): (usize, &settings::Bind),
        line: Arc<QuicLine>,
        socket: Handle,
    ) -> Option<Rc<Self>> {
        let acceptor = bind.preamble.tls.clone()?;
        let identity = line.identity(|| draw(worker)).clone();
        let owner =
            ConnectionOwner { process: identity.process, thread: worker.thread.index as u16 };
        let steering = Steering::with_key(identity.key);
        let settings = settings_of(worker, bind, identity);
        let mut seed = [0; 32];
        for word in seed.chunks_exact_mut(8) {
            word.copy_from_slice(&worker.thread.prng().next_u64().to_le_bytes());
        }
        let endpoint = QuicEndpoint::of_owner(settings, acceptor, (steering, owner), seed);
        Some(Rc::new(Self {
            worker: worker.clone(),
            proxy: proxy.clone(),
            place,
            line,
            endpoint: RefCell::new(endpoint),
            owner,
            steering,
            socket,
            connections: RefCell::default(),
            handshakes: Cell::new(0),
        }))
    }

    /// Whether another process receives the datagrams, because this one only finishes.
    pub(crate) fn is_replaced(&self) -> bool {
        self.worker.shared.is_stopping() && quic_relay::has_successor(self)
    }

    /// Whether a process that another number belongs to began after this one. Each process has the
    /// next free number.
    pub(crate) fn is_before(&self, process: u8) -> bool {
        (1..=127).contains(&process.wrapping_sub(self.owner.process))
    }

    /// Whether a successor that has told this process to stop may not have begun to serve.
    fn may_be_replaced(&self) -> bool {
        let shared = &self.worker.shared;
        shared.stops_for(self.worker.millis()).is_some_and(|ms| ms < SUCCESSION_MS)
    }

    /// Passes a datagram that has arrived at a socket of these threads to the process and the
    /// thread that its ID names. Connections that begin are spread over the threads.
    pub(crate) fn route(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>, threads: &[u16]) {
        let place = match self.steering.owner_of(datagram.bytes) {
            Some(owner) if owner.process != self.owner.process => {
                if quic_relay::pass_on(self, owner.process, datagram) {
                    return;
                }
                None
            }
            Some(owner) => Some(owner.thread),
            None if threads.len() > 1 => {
                let place = self.steering.place_of(datagram.bytes, threads.len());
                place.map(|place| threads[place])
            }
            None => None,
        };
        self.steer(nanos, datagram, place);
    }

    /// Handles a datagram of another process: one for a connection of this process or of a third
    /// one.
    pub(crate) fn accept_relayed(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>) {
        let owner = self.steering.owner_of(datagram.bytes);
        let own = owner.filter(|owner| owner.process == self.owner.process);
        if let Some(other) = owner.filter(|_| own.is_none())
            && quic_relay::pass_on(self, other.process, datagram)
        {
            return;
        }
        self.steer(nanos, datagram, own.map(|owner| owner.thread));
    }

    /// Handles a datagram that begins a connection, which a process before this one has returned. A
    /// client that got a Retry from that process uses an ID of it.
    pub(crate) fn accept_returned(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>) {
        let owner = self.steering.owner_of(datagram.bytes);
        let own = owner.filter(|owner| owner.process == self.owner.process);
        self.steer(nanos, datagram, own.map(|owner| owner.thread));
    }

    /// Passes a datagram to a thread; `None`: this one.
    fn steer(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>, thread: Option<u16>) {
        let other = thread.filter(|thread| *thread != self.owner.thread);
        match other.filter(|thread| self.serves(*thread)) {
            None => self.handle(nanos, datagram),
            Some(thread) => {
                let Datagram { from, to, ecn, bytes } = datagram;
                let stray = StrayDatagram { from, to, ecn, bytes: bytes.to_vec() };
                if !self.line.steer(thread.into(), stray) {
                    self.proxy.quic.add(QuicField::ReceiveBufferFull, 1);
                }
            }
        }
    }

    /// Whether the line has a thread.
    fn serves(&self, thread: u16) -> bool {
        let binds = &self.proxy.front.settings.binds;
        let threads = binds.get(self.place).map(|it| &it.threads[..]);
        match threads {
            Some([]) => usize::from(thread) < self.worker.shared.settings.threads,
            threads => threads.is_some_and(|threads| threads.contains(&thread)),
        }
    }

    /// Handles a datagram that belongs to this thread.
    pub(crate) fn handle(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>) {
        let mut out = Vec::new();
        let returns = Cell::new(false);
        let verdict = || match self.is_replaced() {
            true => {
                returns.set(true);
                InitialVerdict::Ignore
            }
            false if self.may_be_replaced() => InitialVerdict::Ignore,
            false => self.verdict(&datagram),
        };
        let mut endpoint = self.endpoint.borrow_mut();
        let arrival = endpoint.receive_with(nanos, datagram, verdict, &mut out);
        if !matches!(arrival, Arrival::Known(..)) {
            self.count(&mut endpoint);
        }
        drop(endpoint);
        match arrival {
            Arrival::Ignored if returns.get() => quic_relay::give_back(self, datagram),
            Arrival::Ignored => {}
            Arrival::Answer(answer) => self.send(&answer, &out),
            Arrival::Known(key, message) => self.deliver(key, message),
            Arrival::New(key, conn) => self.begin(key, conn),
        }
    }

    /// Starts the task of a connection.
    fn begin(self: &Rc<Self>, key: ConnectionKey, conn: Box<QuicConnection>) {
        let worker = &self.worker;
        let entry = Rc::new(ConnectionEntry {
            conn: RefCell::new(conn),
            session: OnceCell::new(),
            requests: Cell::new(0),
            since: worker.thread.tick(),
            task: Cell::default(),
            messages: RefCell::default(),
        });
        self.connections.borrow_mut().insert(key, entry.clone());
        listener::count_connection(worker, &self.proxy.front, self.place);
        worker.share.add_client(true);
        let task = quic_connection::run(self.clone(), entry.clone());
        entry.task.set(Some(worker.thread.scheduler().spawn(Class::Urgent, task)));
    }

    /// Counts datagrams outside of connections, and handshakes under way.
    pub(crate) fn count(&self, endpoint: &mut QuicEndpoint) {
        let stats = &self.proxy.quic;
        let counters = endpoint.take_counters();
        if counters != EndpointCounters::default() {
            stats.add(QuicField::Dropped, counters.dropped);
            stats.add(QuicField::DroppedParsing, counters.dropped - counters.too_short);
            stats.add(QuicField::TooShort, counters.too_short);
            stats.add(QuicField::RetriesSent, counters.retries);
            stats.add(QuicField::RetriesValidated, counters.retries_validated);
            stats.add(QuicField::RetryErrors, counters.retry_errors);
            stats.add(QuicField::ResetsSent, counters.resets);
            for _ in 0..counters.refused {
                stats.count_transport_error(CONNECTION_REFUSED);
            }
        }
        let (now, before) = (endpoint.handshakes(), self.handshakes.get());
        if now != before {
            self.handshakes.set(now);
            let change = now.wrapping_sub(before);
            self.worker.shared.quic_handshakes.fetch_add(change, Relaxed);
            stats.add_handshakes(change as i32);
        }
    }

    /// The decision on a connection that is about to begin.
    fn verdict(&self, datagram: &Datagram<'_>) -> InitialVerdict {
        if !self.admits() {
            return InitialVerdict::Refuse;
        }
        let shared = &self.worker.shared;
        let crowded = shared.settings.quic.retry_threshold;
        match self.apply_initial_rules(datagram) {
            InitialVerdict::Accept if shared.quic_handshakes.load(Relaxed) >= crowded => {
                InitialVerdict::Retry
            }
            verdict => verdict,
        }
    }

    /// The decision of the `quic-initial` rules.
    fn apply_initial_rules(&self, datagram: &Datagram<'_>) -> InitialVerdict {
        if !self.proxy.rules.initial {
            return InitialVerdict::Accept;
        }
        let worker = &self.worker;
        let session = Session::new(&worker.thread, worker.h3_conn(&self.proxy), b"https");
        let local = datagram.to.map(|ip| SocketAddr::new(ip, self.local_port()));
        let carrier = QuicCarrier::new(&session, local);
        let client = Client::of_quic(worker, &self.proxy, self.place, &carrier, datagram.from);
        session_rules::initial(&mut { client })
    }

    /// Whether another connection may begin.
    fn admits(&self) -> bool {
        let (shared, now) = (&self.worker.shared, Moment::of(&self.worker));
        !shared.is_stopping()
            && !self.proxy.front.is_shut()
            && listener::standing(shared, &self.proxy.front, self.place, now) == ListenerState::Open
            && shared.memory.admits_client(&self.worker.share)
    }

    fn deliver(&self, key: ConnectionKey, message: ConnectionMessage) {
        let connections = self.connections.borrow();
        let Some(entry) = connections.get(&key) else { return };
        let mut messages = entry.messages.borrow_mut();
        match messages.len() < INBOX {
            true => messages.push_back(message),
            false => self.proxy.quic.add(QuicField::ReceiveBufferFull, 1),
        }
        if let Some(task) = entry.task.get() {
            self.worker.thread.scheduler().wake(task, Wake::IO);
        }
    }

    /// Sends datagrams. Datagrams that the system does not take are lost, as in a network.
    pub(crate) fn send(&self, train: &Outgoing, bytes: &[u8]) {
        let Outgoing { to, from, ecn, len, segment } = *train;
        let bytes = &bytes[..len.min(bytes.len())];
        let train = UdpTrain { to, from, ecn, bytes, segment };
        if let Err(error) = self.worker.thread.kernel().send_udp(self.socket, &train) {
            let full = error.kind() == io::ErrorKind::WouldBlock;
            let field = if full { QuicField::SocketFull } else { QuicField::SendErrors };
            self.proxy.quic.add(field, 1);
        }
    }

    /// Forgets a connection that has ended.
    pub(crate) fn forget(&self, key: ConnectionKey) {
        self.connections.borrow_mut().remove(&key);
        if self.worker.shared.is_stopping() {
            self.worker.shared.wake_threads();
        }
    }

    /// The port of the listener.
    pub(crate) fn local_port(&self) -> u16 {
        let address = self.worker.thread.kernel().local_address(self.socket);
        address.map_or(0, |address| address.port())
    }
}

impl QuicListing for QuicHost {
    fn list(&self, out: &mut Vec<QuicConnectionView>) {
        let now = self.worker.thread.tick();
        for (key, entry) in self.connections.borrow().iter() {
            let Ok(conn) = entry.conn.try_borrow() else { continue };
            let (path, totals) = (conn.path(), conn.totals());
            out.push(QuicConnectionView {
                number: key.index(),
                thread: self.worker.thread.index,
                frontend: self.proxy.name().to_owned(),
                state: match (conn.is_closing(), conn.is_connected()) {
                    (true, _) => QuicState::Closing,
                    (_, true) => QuicState::Established,
                    _ => QuicState::Handshake,
                },
                from: conn.remote(),
                to: conn.local().map(|ip| SocketAddr::new(ip, self.local_port())),
                age_ms: now.ms_after(entry.since),
                rtt_us: u64::try_from(path.rtt.as_micros()).unwrap_or(u64::MAX),
                window: path.window,
                mtu: path.mtu,
                sent: totals.sent,
                lost: totals.lost,
                migrations: totals.migrations,
                streams: entry.session.get().map_or(0, |it| it.inspect(|mux| mux.streams())),
                requests: entry.requests.get(),
            });
        }
    }
}

/// A random identity, for a process that has received none from another process.
fn draw(worker: &Worker) -> QuicIdentity {
    let word = || worker.thread.prng().next_u64();
    let key = [word(), word()];
    let secret = [word(), word(), word(), word()];
    let secret = secret.iter().flat_map(|word| word.to_le_bytes()).collect();
    QuicIdentity { process: 0, key, secret }
}

fn settings_of(worker: &Worker, bind: &settings::Bind, identity: QuicIdentity) -> QuicSettings {
    let all = &worker.shared.settings.quic;
    let own = bind.quic.clone().unwrap_or_default();
    let buffer = worker.shared.settings.buffer_size as u64;
    QuicSettings {
        congestion: match own.congestion {
            settings::QuicCongestion::Cubic => CongestionControl::Cubic,
            settings::QuicCongestion::NewReno => CongestionControl::NewReno,
            settings::QuicCongestion::Bbr => CongestionControl::Bbr,
        },
        idle_ms: all.idle_ms,
        streams: all.streams,
        send_window: (u64::from(all.tx_buffers.max(1)) * buffer).min(all.max_window),
        stream_window: all.stream_window,
        always_retries: own.always_retries,
        retry_threshold: all.retry_threshold,
        secret: if all.secret.is_empty() { identity.secret } else { all.secret.clone() },
    }
}
