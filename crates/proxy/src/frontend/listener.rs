//! Listeners of one thread: accept clients within the limits.
//!
//! At a limit (`maxconn` of the process, the frontend or the bind line, `maxsslconn`,
//! `tune.ssl.max-handshakes`) or without descriptors a listener pauses: clients wait in the
//! system's backlog. It tries again after [`acceptor::RETRY_MS`], when handshakes have ended, and,
//! where memory was short, when memory is measured again. With the soft stop it closes, so that
//! clients reach a newer process.

use crate::frontend::client;
use crate::frontend::handshake_limit;
use crate::frontend::handshake_limit::HandshakePlace;
use crate::frontend::listener_balance;
use crate::frontend::preamble;
use crate::frontend::quic_listener;
use crate::frontend::session_rules;
use crate::frontend::session_rules::Admission;
use engine::state::runtime::{Frontend, FrontendRef, Proxy, Shared};
use engine::state::session::client::Client;
use engine::state::worker::Worker;
use reactor::{Class, Handle, Socket, Wake};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use transport::acceptor;
use transport::stats::counters::{Counters, Event, Metric};
use transport::thread::memory;

/// Starts a task per listener that this thread serves.
pub(crate) fn start_all(worker: &Rc<Worker>) {
    let frontends = worker.proxies.iter().filter_map(|section| section.front.as_ref());
    for proxy in frontends.filter(|proxy| !proxy.settings.disabled) {
        let front = &proxy.front;
        for (place, (bind, listener)) in
            front.settings.binds.iter().zip(&front.listeners).enumerate()
        {
            let own = |thread: &u16| usize::from(*thread) == worker.thread.index;
            let Some(sockets) = &listener.sockets else { continue };
            if bind.quic.is_some() {
                quic_listener::start(worker, proxy, place, sockets.first);
                continue;
            }
            if bind.threads.is_empty() || bind.threads.iter().any(own) {
                let handle = sockets.of_thread(worker.thread.index);
                let part = ListenerRef::new(worker, handle);
                let task = run(worker.clone(), proxy.clone(), place, part);
                worker.thread.scheduler().spawn(Class::Normal, task);
            }
        }
    }
}

async fn run(worker: Rc<Worker>, proxy: FrontendRef, place: usize, part: ListenerRef) {
    let host = BindHost { worker: worker.clone(), proxy, place };
    acceptor::run(&worker.thread, part.handle, &host).await;
}

/// A `bind` line of a frontend, on one thread.
struct BindHost {
    worker: Rc<Worker>,
    proxy: FrontendRef,
    place: usize,
}

impl BindHost {
    fn bind(&self) -> Option<&settings::Bind> {
        self.proxy.front.settings.binds.get(self.place)
    }
}

impl acceptor::Host for BindHost {
    fn is_over(&self) -> bool {
        self.worker.shared.is_stopping() || self.proxy.front.is_shut()
    }

    fn limit_ms(&self) -> Option<u32> {
        let (shared, now) = (&self.worker.shared, Moment::of(&self.worker));
        if standing(shared, &self.proxy.front, self.place, now) != ListenerState::Open {
            self.worker.paused_listeners.add(&self.worker);
            return Some(acceptor::RETRY_MS);
        }
        (!shared.memory.admits_client(&self.worker.share)).then_some(memory::PERIOD_MS)
    }

    fn serve(&self, handle: Handle, peer: Option<SocketAddr>) {
        let (worker, proxy, place) = (&self.worker, &self.proxy, self.place);
        let Some(bind) = self.bind() else { return };
        count_connection(worker, &proxy.front, place);
        worker.share.add_client(bind.preamble.tls.is_some());
        let sharded = is_sharded(&proxy.front, place);
        match if sharded { None } else { listener_balance::choose(worker, bind) } {
            Some(thread) => {
                listener_balance::send(worker, thread, (proxy.index, place), (handle, peer))
            }
            None => {
                let socket = Socket::adopt(&worker.thread, handle);
                begin(worker, Client::new(worker, proxy, place, socket, peer));
            }
        }
    }

    fn batch(&self) -> usize {
        self.worker.shared.settings.max_accept
    }

    /// The sockets of a frontend that was shut, not stopped, have no successor.
    fn serves_backlog(&self) -> bool {
        self.worker.shared.is_stopping()
    }

    /// The socket of a paused frontend does not listen, which is no fault.
    fn on_error(&self, error: &io::Error) {
        if !pausing::is_paused(&self.proxy.front) {
            complain(&self.worker, &self.proxy, error);
        }
    }
}

/// A task's reference to a listening handle. It ends with the task, however that ends; the last one
/// closes the handle.
pub(crate) struct ListenerRef {
    worker: Rc<Worker>,
    handle: Handle,
}

impl ListenerRef {
    pub(crate) fn new(worker: &Rc<Worker>, handle: Handle) -> Self {
        worker.shared.listening.enter(handle);
        Self { worker: worker.clone(), handle }
    }
}

impl Drop for ListenerRef {
    fn drop(&mut self) {
        let (shared, kernel) = (&self.worker.shared, self.worker.thread.kernel());
        if shared.listening.leave(self.handle) {
            kernel.close(self.handle, false);
        }
        if shared.is_stopping() && shared.listening.is_over() {
            shared.wake_threads();
        }
    }
}

/// Closes the listeners of a frontend permanently; its connections continue. `false`: they are
/// closed already.
pub fn shut_frontend(shared: &Shared, front: &Frontend) -> bool {
    if front.shut.swap(true, Relaxed) {
        return false;
    }
    for thread in 0..shared.settings.threads {
        let rouse = |worker: &Worker| worker.thread.scheduler().wake_all(Wake::OTHER);
        shared.run_on_thread(thread, Box::new(rouse));
    }
    true
}

/// Whether the threads of a listener have sockets of their own.
fn is_sharded(front: &Frontend, place: usize) -> bool {
    let listener = front.listeners.get(place);
    let sockets = listener.and_then(|listener| listener.sockets.as_ref());
    sockets.is_some_and(|sockets| !sockets.shards.is_empty())
}

/// Starts serving a client, unless a rule refuses its connection.
pub(crate) fn begin(worker: &Rc<Worker>, mut client: Client) {
    let binds = &client.proxy.front.settings.binds;
    let Some(bind) = binds.get(client.bind as usize) else { return };
    let (nice, reduction) = (bind.nice, bind.mss_reduction);
    client.rare.set_expected(bind.preamble.expects);
    client.protocol = bind.protocol;
    if reduction > 0
        && let Some(socket) = client.socket.socket()
    {
        let kernel = worker.thread.kernel();
        // If the call fails, segments are as large as the client allows, which does no harm.
        let _ = kernel.reduce_max_segment(socket.handle(), reduction);
    }
    match session_rules::admits(&mut client) {
        Admission::Granted => welcome(worker, client, nice),
        Admission::Refused => {}
        Admission::Waits(rules) => {
            let worker = worker.clone();
            let task = admit_later((worker.clone(), client, nice), rules);
            worker.thread.scheduler().spawn(Class::Urgent, task);
        }
    }
}

/// Waits for the answer that a `tcp-request connection` rule has asked for.
async fn admit_later(
    (worker, mut client, nice): (Rc<Worker>, Client, i16),
    rules: Box<session_rules::Evaluation>,
) {
    client.socket.own();
    if session_rules::resume(&mut client, rules).await {
        welcome(&worker, client, nice);
    }
}

/// As [`admit_later`], for a `tcp-request session` rule; then serves the client.
async fn open_later(mut client: Box<Client>, rules: Box<session_rules::Evaluation>) {
    client.socket.own();
    if session_rules::resume(&mut client, rules).await {
        client::run(client).await;
    }
}

/// Spawns the task of a client.
fn welcome(worker: &Rc<Worker>, mut client: Client, nice: i16) {
    let scheduler = worker.thread.scheduler();
    let bind = client.proxy.front.settings.binds.get(client.bind as usize);
    let encrypted = bind.is_some_and(|bind| bind.preamble.tls.is_some());
    let task = if client.rare.expects.any() || encrypted {
        let place = encrypted.then(|| HandshakePlace::enter(worker));
        scheduler.spawn(Class::Urgent, preamble::run(Box::new(client), place))
    } else {
        match session_rules::opens_session(&mut client) {
            Admission::Granted => scheduler.spawn(Class::Urgent, client::run(Box::new(client))),
            Admission::Waits(rules) => {
                scheduler.spawn(Class::Urgent, open_later(Box::new(client), rules))
            }
            Admission::Refused => return,
        }
    };
    scheduler.set_nice(task, nice);
}

/// Whether a listener accepts clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenerState {
    /// The listener accepts clients.
    Open,
    /// Its own limit of connections is reached.
    Full,
    /// The listener waits until its frontend or the process is below a limit.
    Waiting,
}

/// A moment for which rates are computed.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Seconds since 1970.
    pub second: u32,
    /// Milliseconds of that second that have passed.
    pub of_second: u32,
    /// Milliseconds on the monotonic clock; see [`Worker::millis`].
    pub ms: u64,
}

impl Moment {
    /// The moment of a worker's turn.
    pub fn of(worker: &Worker) -> Self {
        let of_second = (worker.thread.wall() / 1_000_000 % 1_000) as u32;
        Self { second: worker.second(), of_second, ms: worker.millis() }
    }
}

/// Whether the listener at `place` accepts clients at a moment.
pub fn standing(shared: &Shared, front: &Frontend, place: usize, at: Moment) -> ListenerState {
    let settings = &front.settings;
    let bind_limit = settings.binds.get(place).map_or(0, |bind| bind.maxconn);
    let on_bind = front.listeners.get(place).map_or(0, |it| it.connections.current());
    let limit = |limit: u32, current: u32| limit != 0 && current >= limit;
    if limit(bind_limit, on_bind) {
        return ListenerState::Full;
    }
    let waits = front.disabled.load(Relaxed)
        || limit(shared.maxconn.load(Relaxed), shared.connections.current())
        || limit(front.maxconn.load(Relaxed), front.connections.current())
        || is_too_fast(shared, front, settings.session_rate, at)
        || is_encrypted(settings, place)
            && (is_too_fast_for_tls(shared, at)
                || limit(shared.settings.max_tls, shared.tls.current.current())
                || handshake_limit::is_reached(shared));
    if waits { ListenerState::Waiting } else { ListenerState::Open }
}

/// Whether the number of connections or sessions in the last second is at its limit (`rate-limit
/// sessions`, `maxconnrate`, `maxsessrate`).
fn is_too_fast(shared: &Shared, front: &Frontend, sessions: u32, at: Moment) -> bool {
    let reached = |limit: u32, counters: &Counters, event| {
        limit != 0 && counters.rate(event, at.second, at.of_second) >= limit
    };
    let most = &shared.max_rates;
    reached(sessions, &front.counters, Event::Session)
        || reached(most.connections.load(Relaxed), &shared.totals, Event::Connection)
        || reached(most.sessions.load(Relaxed), &shared.totals, Event::Session)
}

/// Whether the number of TLS connections in the last second is at its limit (`maxsslrate`).
fn is_too_fast_for_tls(shared: &Shared, at: Moment) -> bool {
    let most = shared.max_rates.tls_sessions.load(Relaxed);
    most != 0 && shared.tls.front.get(at.ms) >= most
}

fn is_encrypted(settings: &settings::Frontend, place: usize) -> bool {
    settings.binds.get(place).is_some_and(|bind| bind.preamble.tls.is_some())
}

pub(crate) fn count_connection(worker: &Worker, front: &Frontend, place: usize) {
    let thread = worker.thread.index;
    count(worker, front, Event::Connection);
    // Counted before the handshake, so that the limit holds whether the handshake succeeds or not.
    if is_encrypted(&front.settings, place) {
        worker.shared.tls.front.tick(worker.millis());
    }
    worker.shared.totals.of(thread).count(Metric::Connections);
    front.blocks(place as u32, thread).for_each(|block| block.count(Metric::Connections));
}

pub(crate) fn count_session(client: &Client) {
    count(&client.worker, &client.proxy.front, Event::Session);
    client.counted().for_each(|block| block.count(Metric::Sessions));
}

fn count(worker: &Worker, front: &Frontend, event: Event) {
    let (thread, second) = (worker.thread.index, worker.second());
    worker.shared.totals.tick(thread, event, second);
    front.counters.tick(thread, event, second);
}

fn complain(worker: &Worker, proxy: &Proxy, error: &io::Error) {
    let used = worker.shared.connections.current();
    let text = format!(
        "Proxy {} cannot accept clients: {error}. {used} connections are open; \
         accepting again as soon as possible.",
        proxy.name()
    );
    observability::logging::log::send(
        worker,
        &proxy.settings.logs,
        observability::logging::log::level::EMERG,
        text.as_bytes(),
    );
}

pub mod pausing;
#[cfg(test)]
mod tests;
