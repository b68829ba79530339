//! The endpoint of a QUIC listener on one thread. Connections have tasks of their own on that
//! thread.

use crate::frontend::listener::{self, Moment, Standing};
use crate::frontend::{quic_connection, quic_relay};
use engine::state::runtime::FrontendRef;
use engine::state::session::quic_line::{QuicIdentity, QuicLine, StrayDatagram};
use engine::state::worker::Worker;
use quic::{
    Arrival, CongestionControl, ConnectionKey, ConnectionMessage, ConnectionOwner, Datagram,
    InitialVerdict, Outgoing, QuicEndpoint, QuicSettings, Steering,
};
use reactor::{Class, Handle, TaskId, UdpTrain, Wake};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Datagrams that wait for the task of a connection; further ones are lost, as in a network.
const INBOX: usize = 256;

/// Datagrams for a connection.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    task: Cell<Option<TaskId>>,
    messages: RefCell<VecDeque<ConnectionMessage>>,
}

impl Inbox {
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
    inboxes: RefCell<HashMap<ConnectionKey, Rc<Inbox>>>,
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
            inboxes: RefCell::default(),
        }))
    }

    /// Whether another process receives the datagrams, because this one only finishes.
    pub(crate) fn is_replaced(&self) -> bool {
        self.worker.shared.is_stopping() && self.line.has_successor()
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

    /// Handles a datagram of another process: one for a connection of this process, or one that
    /// begins a connection.
    pub(crate) fn accept_relayed(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>) {
        let owner = self.steering.owner_of(datagram.bytes);
        let owner = owner.filter(|owner| owner.process == self.owner.process);
        self.steer(nanos, datagram, owner.map(|owner| owner.thread));
    }

    /// Passes a datagram to a thread; `None`: this one.
    fn steer(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>, thread: Option<u16>) {
        let other = thread.filter(|thread| *thread != self.owner.thread);
        match other.filter(|thread| self.serves(*thread)) {
            None => self.handle(nanos, datagram),
            Some(thread) => {
                let Datagram { from, to, ecn, bytes } = datagram;
                let stray = StrayDatagram { from, to, ecn, bytes: bytes.to_vec() };
                self.line.steer(thread.into(), stray);
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
            false if self.admits() => InitialVerdict::Accept,
            false => InitialVerdict::Refuse,
        };
        let arrival = self.endpoint.borrow_mut().receive_with(nanos, datagram, verdict, &mut out);
        match arrival {
            Arrival::Ignored if returns.get() => quic_relay::give_back(self, datagram),
            Arrival::Ignored => {}
            Arrival::Answer(answer) => self.send(&answer, &out),
            Arrival::Known(key, message) => self.deliver(key, message),
            Arrival::New(key, conn) => {
                let inbox = Rc::new(Inbox::default());
                self.inboxes.borrow_mut().insert(key, inbox.clone());
                listener::count_connection(&self.worker, &self.proxy.front, self.place);
                self.worker.share.add_client(true);
                let task = quic_connection::run(self.clone(), conn, inbox.clone());
                let task = self.worker.thread.scheduler().spawn(Class::Urgent, task);
                inbox.task.set(Some(task));
            }
        }
    }

    /// Whether another connection may begin.
    fn admits(&self) -> bool {
        let (shared, now) = (&self.worker.shared, Moment::of(&self.worker));
        !shared.is_stopping()
            && !self.proxy.front.is_shut()
            && listener::standing(shared, &self.proxy.front, self.place, now) == Standing::Open
            && shared.memory.admits_client(&self.worker.share)
    }

    fn deliver(&self, key: ConnectionKey, message: ConnectionMessage) {
        let inboxes = self.inboxes.borrow();
        let Some(inbox) = inboxes.get(&key) else { return };
        let mut messages = inbox.messages.borrow_mut();
        if messages.len() < INBOX {
            messages.push_back(message);
        }
        if let Some(task) = inbox.task.get() {
            self.worker.thread.scheduler().wake(task, Wake::IO);
        }
    }

    /// Sends datagrams. Those that the system does not take are lost, as in a network.
    pub(crate) fn send(&self, train: &Outgoing, bytes: &[u8]) {
        let Outgoing { to, from, ecn, len, segment } = *train;
        let bytes = &bytes[..len.min(bytes.len())];
        let train = UdpTrain { to, from, ecn, bytes, segment };
        let _ = self.worker.thread.kernel().send_udp(self.socket, &train);
    }

    /// Forgets a connection that has ended.
    pub(crate) fn forget(&self, key: ConnectionKey) {
        self.inboxes.borrow_mut().remove(&key);
        if self.worker.shared.is_stopping() {
            self.worker.shared.rouse();
        }
    }

    /// The port of the listener.
    pub(crate) fn local_port(&self) -> u16 {
        let address = self.worker.thread.kernel().local_address(self.socket);
        address.map_or(0, |address| address.port())
    }
}

/// An identity of a process that has got none from another one.
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
        },
        idle_ms: all.idle_ms,
        streams: all.streams,
        send_window: u64::from(all.tx_buffers.max(1)) * buffer,
        always_retries: own.always_retries,
        retry_threshold: all.retry_threshold,
        secret: if all.secret.is_empty() { identity.secret } else { all.secret.clone() },
        ..QuicSettings::default()
    }
}
