//! Connections to servers that carry many streams, and those that are being made.

use crate::state::backend::server_connection::Target;
use crate::state::thread_handle::{BackendRef, LocalBackend, LocalServer, ServerRef};
use crate::state::worker::Worker;
use mux::h2::Key;
use reactor::{TaskId, Tick, Wake};
use settings::Reuse;
use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use transport::channel::Link;
use transport::socket::Transport;
use transport::streams::{Session, StreamCarrier, StreamMux};

/// The scheme of requests that name none, as those of HTTP/1: that of HAProxy, on any connection.
const SCHEME: &[u8] = b"https";

/// A connection to a server that carries many streams.
pub struct Trunk {
    /// Its streams.
    pub session: Rc<Session>,
    /// Whether it counts in the statistics of HTTP/2.
    is_h2: bool,
    /// The backend.
    pub backend: BackendRef,
    /// The server.
    pub server: ServerRef,
    pub(crate) target: Target,
    /// The transport, once the connection is established.
    pub link: OnceCell<Link>,
    /// The client that owns the streams of a private connection.
    owner: Cell<u64>,
    /// Requests so far.
    requests: Cell<u32>,
    /// Requests that wait for a stream.
    held: Cell<u32>,
    /// When it was made, in nanoseconds.
    made: u64,
    /// When the last stream ended.
    pub idle_since: Cell<Tick>,
    idle: Cell<IdleState>,
    /// The idle connections of the same server, for protocols that carry one request at a time.
    resting: OnceCell<Rc<Resting>>,
    /// Whether the connection is in `resting`.
    is_listed: Cell<bool>,
    me: Weak<Trunk>,
}

/// Connections to a server that have had no stream at some time since they were last used, the last
/// one at the end.
type Resting = RefCell<Vec<Weak<Trunk>>>;

/// The account in which a connection without streams is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IdleState {
    /// Not counted as idle: the connection has streams, or its task has yet to notice that it has
    /// none.
    Busy,
    /// The client that alone may use the connection.
    Private,
    /// The idle connections of its server.
    Counted,
}

impl Drop for Trunk {
    fn drop(&mut self) {
        self.stir();
    }
}

impl std::fmt::Debug for Trunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trunk").field("slot", &self.server.slot()).finish_non_exhaustive()
    }
}

/// A request that asks for a stream.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The client.
    pub client: u64,
    /// Whether this is the client's first request.
    pub first: bool,
    /// `http-reuse` of the backend.
    pub policy: Reuse,
    /// The key of the kind of connection.
    pub key: u64,
    /// The connection has to have been made at this moment or later, in nanoseconds.
    pub since: u64,
}

/// The trunks of a thread, by backend and slot.
#[derive(Default)]
pub struct Trunks {
    /// Open connections by server.
    standing: RefCell<HashMap<ServerSlot, Standing>>,
    /// Connections that are being made, and the tasks that wait for each.
    coming: RefCell<BTreeMap<Coming, Vec<TaskId>>>,
    /// Connections that were begun so far.
    expected: Cell<u64>,
}

/// The open connections to a server.
#[derive(Default)]
struct Standing {
    all: Vec<Rc<Trunk>>,
    resting: Rc<Resting>,
}

impl Standing {
    /// A connection that this client may use: the idle one that was used last, else any.
    fn find(&self, asker: Asker) -> Option<Rc<Trunk>> {
        let mut resting = self.resting.borrow_mut();
        // Most of them suit any client, so few are tried; unsuitable ones stay in place.
        let found = resting.iter().rposition(|it| it.upgrade().is_some_and(|it| it.serves(asker)));
        if let Some(trunk) = found.and_then(|at| resting.remove(at).upgrade()) {
            trunk.is_listed.set(false);
            return Some(trunk);
        }
        self.all.iter().rev().find(|it| it.serves(asker)).cloned()
    }
}

/// A connection that is being made and may become a trunk. The order makes neighbours of the
/// connections that a request may wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Coming {
    place: ServerSlot,
    key: u64,
    /// The client that it is made for.
    client: u64,
    number: u64,
}

/// Guard of a connection that is being made: its drop wakes the tasks that wait for it, whether the
/// connection succeeded or failed.
pub struct Making {
    worker: Rc<Worker>,
    coming: Coming,
}

impl Drop for Making {
    fn drop(&mut self) {
        let waiting = self.worker.trunks.coming.borrow_mut().remove(&self.coming);
        for task in waiting.into_iter().flatten() {
            self.worker.thread.scheduler().wake(task, Wake::MESSAGE);
        }
    }
}

/// Guard of a request that waits for a stream: the connection does not end as idle meanwhile.
pub struct Hold<'a>(&'a Trunk);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.held.set(self.0.held.get() - 1);
        if self.0.is_idle() {
            self.0.rest();
            self.0.session.wake_driver();
        }
    }
}

/// A server: the index of its backend, and its slot there.
type ServerSlot = (usize, usize);

impl Trunk {
    /// A connection that is being made.
    pub fn new(
        worker: &Worker,
        backend: &BackendRef,
        server: &ServerRef,
        target: Target,
        client: u64,
        machine: StreamMux,
    ) -> Rc<Self> {
        let is_h2 = !machine.is_fcgi();
        let session = Session::new(&worker.thread, machine, SCHEME);
        Rc::new_cyclic(|me| Self {
            session,
            is_h2,
            backend: backend.clone(),
            server: server.clone(),
            target,
            link: OnceCell::new(),
            owner: Cell::new(client),
            requests: Cell::new(0),
            held: Cell::new(0),
            made: worker.thread.nanos(),
            idle_since: Cell::new(worker.thread.tick()),
            idle: Cell::new(IdleState::Busy),
            resting: OnceCell::new(),
            is_listed: Cell::new(false),
            me: me.clone(),
        })
    }

    /// Opens a stream for a client, if there may be another one.
    pub fn open(&self, client: u64) -> Option<Key> {
        let key = self.session.act_for_stream(StreamMux::open)?;
        self.owner.set(client);
        self.stir();
        Some(key)
    }

    /// Keeps the connection for a request that has to wait before it can have a stream.
    pub fn hold(&self) -> Hold<'_> {
        self.held.set(self.held.get() + 1);
        Hold(self)
    }

    /// Whether no request has or awaits a stream.
    pub fn is_idle(&self) -> bool {
        self.held.get() == 0 && self.session.inspect(StreamMux::streams) == 0
    }

    /// The counters of its backend for HTTP/2.
    pub fn stats(&self) -> Option<&transport::h2::stats::Stats> {
        self.is_h2.then_some(&self.backend.h2.back)
    }

    /// The socket, while it is open.
    pub fn transport(&self) -> Option<&Transport> {
        self.link.get()?.transport()
    }

    /// Its server.
    pub(crate) fn server(&self) -> &ServerRef {
        &self.server
    }

    /// Counts a request; returns the number of requests before it.
    pub(crate) fn count_request(&self) -> u32 {
        self.requests.replace(self.requests.get().saturating_add(1))
    }

    /// Whether no more requests may be sent on it (`max-reuse`).
    fn has_max_requests(&self) -> bool {
        self.server.settings.max_reuse.is_some_and(|limit| self.requests.get() > limit)
    }

    /// Whether a request of this client may continue it now.
    fn serves(&self, asker: Asker) -> bool {
        let (streams, usable) = self.session.inspect(|mux| (mux.streams(), mux.can_open()));
        let own = self.owner.get() == asker.client;
        let allowed = match asker.policy {
            Reuse::Never => own,
            Reuse::Safe => own || (!asker.first && streams == 0),
            // A server of such a protocol allows reuse.
            Reuse::Aggressive | Reuse::Always => true,
        };
        let kind = self.target.key == asker.key && self.made >= asker.since;
        // The connection's task may not have seen the close yet: a request sent now could not be
        // sent again.
        let closed = self.link.get().is_some_and(Link::is_closed);
        usable && allowed && kind && !closed && !self.has_max_requests() && !self.server_has_moved()
    }

    /// Whether the server's address has changed since the connection was begun.
    fn server_has_moved(&self) -> bool {
        self.target.moves != self.server.location.moves()
    }

    /// Whether the connection is kept while it has no streams.
    pub fn is_kept(&self, worker: &Worker) -> bool {
        let number = self.transport().map_or(0, |transport| transport.socket().handle().0);
        // The connection may have been made for a request that has not opened its stream yet.
        let strayed = self.requests.get() > 0 && self.server_has_moved();
        let over = self.has_max_requests() || strayed || worker.shared.is_stopping();
        !over && worker.idle.spares(number)
    }

    /// Counts the connection, which has no streams, as idle until its next stream; `false` if its
    /// server has enough idle connections already.
    pub fn lie_down(&self) -> bool {
        if self.idle.get() != IdleState::Busy {
            return true;
        }
        let server = &self.server;
        let shared = reuse_policy(&self.backend, server) != Reuse::Never;
        let full = server.settings.pool_max.is_some_and(|limit| server.idle() >= limit);
        if shared && full {
            return false;
        }
        if shared {
            server.block().trunk_rests();
        }
        self.idle.set(if shared { IdleState::Counted } else { IdleState::Private });
        true
    }

    /// The connection is not idle any more.
    pub fn stir(&self) {
        if self.idle.replace(IdleState::Busy) == IdleState::Counted {
            self.server.block().trunk_stirs();
        }
    }

    /// Records that a stream has ended.
    pub(crate) fn rest(&self) {
        self.idle_since.set(self.session.thread().tick());
        // One connection carries most requests of HTTP/2, whether it rests or not.
        let resting = self.resting.get().filter(|_| !self.is_h2 && self.is_idle());
        let Some(resting) = resting else { return };
        if !self.is_listed.replace(true) {
            resting.borrow_mut().push(self.me.clone());
        }
    }
}

/// The key under which connections to a server are kept.
pub fn place(server: &LocalServer) -> ServerSlot {
    (server.backend(), server.slot())
}

impl Trunks {
    /// A trunk that this client may use and that can open one more stream.
    pub fn find(&self, server: &LocalServer, asker: Asker) -> Option<Rc<Trunk>> {
        self.standing.borrow().get(&place(server))?.find(asker)
    }

    /// Puts an established connection into service.
    pub fn add(&self, trunk: &Rc<Trunk>) {
        let mut standing = self.standing.borrow_mut();
        let place = standing.entry(place(&trunk.server)).or_default();
        // The cell is empty: only this statement sets it.
        let _ = trunk.resting.set(place.resting.clone());
        place.all.push(trunk.clone());
    }

    /// Announces a connection that is being made and may become a trunk.
    pub fn expect(
        &self,
        worker: &Rc<Worker>,
        server: &LocalServer,
        (key, client): (u64, u64),
    ) -> Making {
        let number = self.expected.replace(self.expected.get() + 1);
        let coming = Coming { place: place(server), key, client, number };
        self.coming.borrow_mut().insert(coming, Vec::new());
        Making { worker: worker.clone(), coming }
    }

    /// Has a task woken when a connection that this client may use has been made; returns that
    /// connection. `None`: no connection is being made.
    pub fn await_next(&self, server: &LocalServer, asker: Asker, task: TaskId) -> Option<Coming> {
        let (place, key) = (place(server), asker.key);
        let shared = match asker.policy {
            Reuse::Never | Reuse::Safe => false,
            Reuse::Aggressive | Reuse::Always => true,
        };
        let (first, last) = if shared { (0, u64::MAX) } else { (asker.client, asker.client) };
        let from = Coming { place, key, client: first, number: 0 };
        let to = Coming { place, key, client: last, number: u64::MAX };
        let mut coming = self.coming.borrow_mut();
        let (next, waiting) = coming.range_mut(from..=to).next()?;
        waiting.push(task);
        Some(*next)
    }

    /// Whether a connection is still being made.
    pub fn is_coming(&self, coming: &Coming) -> bool {
        self.coming.borrow().contains_key(coming)
    }

    /// Drops all trunks of a server as soon as their streams have ended.
    pub fn clear(&self, backend: usize, slot: usize) {
        if let Some(trunks) = self.standing.borrow_mut().remove(&(backend, slot)) {
            trunks
                .all
                .iter()
                .for_each(|trunk| trunk.session.act_for_stream(StreamMux::begin_shutdown));
        }
    }

    /// Drops all trunks as soon as their streams have ended.
    pub fn clear_all(&self) {
        let all = std::mem::take(&mut *self.standing.borrow_mut());
        all.into_values()
            .flat_map(|it| it.all)
            .for_each(|trunk| trunk.session.act_for_stream(StreamMux::begin_shutdown));
    }

    /// Any trunk.
    pub fn any(&self) -> Option<Rc<Trunk>> {
        self.standing.borrow().values().flat_map(|it| &it.all).next().cloned()
    }

    /// Removes a connection.
    pub fn remove(&self, trunk: &Rc<Trunk>) {
        if let Some(place) = self.standing.borrow_mut().get_mut(&place(&trunk.server)) {
            place.all.retain(|it| !Rc::ptr_eq(it, trunk));
            place.resting.borrow_mut().retain(|it| !Weak::ptr_eq(it, &trunk.me));
        }
    }
}

/// The `http-reuse` policy of connections to a server. A direct connection, without a chosen
/// server, belongs to its client alone.
pub fn reuse_policy(backend: &LocalBackend, server: &ServerRef) -> Reuse {
    if server.is_direct() { Reuse::Never } else { backend.back.settings.reuse }
}

impl StreamCarrier for Trunk {
    fn session(&self) -> &Rc<Session> {
        &self.session
    }

    fn transport(&self) -> Option<&Transport> {
        Trunk::transport(self)
    }

    fn local_address(&self) -> Option<SocketAddr> {
        Trunk::transport(self)?.socket().local_address()
    }

    fn stream_opened(&self) {
        if let Some(stats) = self.stats() {
            stats.open_stream();
        }
    }

    fn stream_closed(&self) {
        if let Some(stats) = self.stats() {
            stats.close_stream();
        }
        self.rest();
    }

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}
