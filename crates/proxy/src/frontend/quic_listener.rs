//! QUIC listeners: each has one endpoint, on one thread, which tells datagrams apart by their
//! connections. Connections have tasks of their own on that thread.

use crate::frontend::listener::{self, Moment, Standing};
use crate::frontend::quic_connection;
use engine::state::runtime::ProxyRef;
use engine::state::worker::Worker;
use quic::{
    Arrival, CongestionControl, ConnectionKey, ConnectionMessage, Datagram, Outgoing, QuicEndpoint,
    QuicSettings,
};
use reactor::{Class, Handle, Socket, TaskId, UdpBatch, UdpTrain, Wake};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::rc::Rc;

/// Batches received in a row before other tasks run.
const BATCHES: usize = 4;

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

/// A listener on its thread.
pub(crate) struct QuicHost {
    pub(crate) worker: Rc<Worker>,
    pub(crate) proxy: ProxyRef,
    pub(crate) place: usize,
    pub(crate) endpoint: RefCell<QuicEndpoint>,
    socket: Socket,
    inboxes: RefCell<HashMap<ConnectionKey, Rc<Inbox>>>,
}

/// Starts the task of a listener, if this is its thread.
pub(crate) fn start(worker: &Rc<Worker>, proxy: &ProxyRef, place: usize, handle: Handle) {
    let front = proxy.settings.front.as_ref();
    let Some(bind) = front.and_then(|front| front.binds.get(place)) else { return };
    let thread = match bind.threads.as_slice() {
        [] => (proxy.index + place) % worker.shared.settings.threads,
        threads => usize::from(threads[(proxy.index + place) % threads.len()]),
    };
    if thread != worker.thread.index {
        return;
    }
    let Some(acceptor) = bind.preamble.tls.clone() else { return };
    let settings = settings_of(worker, bind);
    let mut seed = [0; 32];
    for word in seed.chunks_exact_mut(8) {
        word.copy_from_slice(&worker.thread.prng().next_u64().to_le_bytes());
    }
    let endpoint = QuicEndpoint::new(settings, acceptor, thread as u8, seed);
    let host = QuicHost {
        worker: worker.clone(),
        proxy: proxy.clone(),
        place,
        endpoint: RefCell::new(endpoint),
        socket: Socket::adopt(&worker.thread, handle),
        inboxes: RefCell::default(),
    };
    worker.thread.scheduler().spawn(Class::Normal, Rc::new(host).run());
}

fn settings_of(worker: &Worker, bind: &settings::Bind) -> QuicSettings {
    let all = &worker.shared.settings.quic;
    let own = bind.quic.clone().unwrap_or_default();
    let mut secret = all.secret.clone();
    if secret.is_empty() {
        let words = [worker.thread.prng().next_u64(), worker.thread.prng().next_u64()];
        secret = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    }
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
        secret,
        ..QuicSettings::default()
    }
}

impl QuicHost {
    async fn run(self: Rc<Self>) {
        let thread = self.worker.thread.clone();
        self.socket.assign_to_current_task();
        // Without the local address, answers leave from the one that the system chooses.
        let _ = thread.kernel().prepare_udp(self.socket.handle());
        let mut batch = UdpBatch::default();
        while !self.is_over() {
            match self.receive(&mut batch) {
                true => thread.scheduler().yield_as(Class::Normal).await,
                false => {
                    self.socket.want_read();
                    thread.scheduler().wait(None).await;
                }
            }
        }
    }

    /// Whether the process ends and the last connection has ended.
    fn is_over(&self) -> bool {
        self.worker.shared.is_stopping() && self.inboxes.borrow().is_empty()
    }

    /// Receives datagrams; `true`: there may be more.
    fn receive(self: &Rc<Self>, batch: &mut UdpBatch) -> bool {
        for _ in 0..BATCHES {
            match self.socket.recv_batch(batch) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // The error of a datagram sent before, which the transport takes for a loss.
                Err(_) => continue,
            }
            let nanos = self.worker.thread.nanos();
            for arrived in batch.iter() {
                let (from, to) = (arrived.from, arrived.to);
                self.handle(nanos, Datagram { from, to, ecn: arrived.ecn, bytes: arrived.bytes });
            }
        }
        true
    }

    fn handle(self: &Rc<Self>, nanos: u64, datagram: Datagram<'_>) {
        let mut out = Vec::new();
        let admits = || self.admits();
        let arrival = self.endpoint.borrow_mut().receive(nanos, datagram, admits, &mut out);
        match arrival {
            Arrival::Ignored => {}
            Arrival::Answer(answer) => self.send(&answer, &out),
            Arrival::Known(key, message) => self.deliver(key, message),
            Arrival::New(key, conn) => {
                let inbox = Rc::new(Inbox::default());
                self.inboxes.borrow_mut().insert(key, inbox.clone());
                listener::count_connection(&self.worker, &self.proxy, self.place);
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
            && listener::standing(shared, &self.proxy, self.place, now) == Standing::Open
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
        let _ = self.worker.thread.kernel().send_udp(self.socket.handle(), &train);
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
        self.socket.local_address().map_or(0, |address| address.port())
    }
}
