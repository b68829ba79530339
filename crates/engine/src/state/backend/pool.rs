//! Idle server connections of one thread, ready for the next request.
//!
//! An idle connection is data, not a task. Its socket is owned by the thread's housekeeper, which
//! drops it when the server closes it. Requests take the newest connection first, so that a purge
//! finds the oldest unused.
//!
//! The pool keeps no more connections than requests have used at the same time of late
//! ([`demand`]): where connections are opened beside idle ones, as with `http-reuse safe`, the idle
//! ones would pile up.
//!
//! With `tune.idle-pool.shared`, a purge parks connections that a thread has not needed with their
//! server ([`parking`]) instead of closing them. A thread without an idle connection takes a parked
//! one, else asks a thread that has some (`takeover` in `proxy`). So threads take no lock and move
//! no connection while each has enough of its own.

pub mod shared;
pub mod sizing;

use crate::state::backend::server_connection::ServerConn;
use crate::state::runtime::ProxySection;
use crate::state::runtime::Shared;
use crate::state::thread_handle::{LocalServer, ServerRef};
use crate::state::worker::Worker;
use reactor::{TaskId, Tick, Wake};
pub(crate) use shared::{Parked, SharedPool};
use sizing::{Demand, SLACK};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use stdx::{AppendList, prefetch};

/// A server connection as pools hold it.
pub type Boxed = Box<ServerConn>;

/// The descriptor of a connection: at least this number of descriptors were in use when it was
/// opened, because the system assigns the lowest free number.
fn number(connection: &ServerConn) -> i32 {
    connection.socket().socket().map_or(0, |socket| socket.handle().0)
}

/// Which connections a request can use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The key of the plan that they were opened with (`connect_plan` in `proxy`).
    pub key: u64,
    /// Whether the connection has to have been used more than once.
    pub proven: bool,
    /// Connections that have to remain for other requests.
    pub leaves: usize,
}

impl Wanted {
    fn fits(self, key: u64, requests: u32) -> bool {
        self.key == key && (!self.proven || requests > 1)
    }
}

#[derive(Default)]
struct Shelf {
    /// Oldest first.
    connections: Vec<Boxed>,
    /// The lowest number of connections here since the last purge: no request has needed these.
    unneeded: usize,
    /// Connections that were used more than once.
    proven: usize,
    /// The next purge.
    due: Tick,
    demand: Demand,
}

impl Shelf {
    fn push(&mut self, connection: Boxed) {
        self.proven += usize::from(connection.requests() > 1);
        self.connections.push(connection);
    }

    fn remove(&mut self, place: usize) -> Boxed {
        let connection = self.connections.remove(place);
        self.proven -= usize::from(connection.requests() > 1);
        self.unneeded = self.unneeded.min(self.connections.len());
        connection
    }

    /// Counts again after connections were removed.
    fn recount(&mut self) {
        self.proven = self.connections.iter().filter(|it| it.requests() > 1).count();
        self.unneeded = self.unneeded.min(self.connections.len());
    }

    /// How many connections of the thread to this server are in use.
    fn used(&self, server: &LocalServer) -> u32 {
        server.open().saturating_sub(u32::try_from(self.connections.len()).unwrap_or(u32::MAX))
    }
}

/// Publishes the number of connections on a server's shelf to other threads.
fn publish(server: &LocalServer, shelf: &Shelf) {
    server.block().set_idle(shelf.connections.len(), shelf.proven);
}

/// All idle connections of a thread, by backend and server.
pub struct IdlePool {
    shelves: Vec<AppendList<RefCell<Shelf>>>,
    keeper: Cell<TaskId>,
    /// The next connection that is put into the pool has to wake the housekeeper.
    resting: Cell<bool>,
    /// Descriptors in use above which the pool keeps no connection, and above which it closes some.
    bounds: Option<(i32, i32)>,
    /// Descriptors in use when the last connection was opened, at least.
    used: Cell<i32>,
    /// The shortest `pool-purge-delay` of all servers: how often the housekeeper looks.
    period: u32,
}

impl IdlePool {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let per_proxy = |proxy: &ProxySection| {
            let slots = proxy.back.as_ref().map_or(0, |back| back.servers.slots());
            (0..slots).map(|_| RefCell::default()).collect()
        };
        let servers = shared.all_proxies().flat_map(|it| &it.back).flat_map(|it| &it.servers);
        let delays = servers.map(|server| server.settings.pool_purge).filter(|delay| *delay > 0);
        Self {
            shelves: shared.all_proxies().map(per_proxy).collect(),
            keeper: Cell::new(TaskId::NONE),
            resting: Cell::new(false),
            bounds: shared.settings.idle_descriptors,
            used: Cell::new(0),
            period: delays.min().unwrap_or(shared::TENDED_MS),
        }
    }

    /// Sets the task that purges connections and drops those closed by servers.
    pub fn set_keeper(&self, keeper: TaskId) {
        self.keeper.set(keeper);
    }

    /// How often purges are due, in milliseconds.
    pub fn period(&self) -> u32 {
        self.period
    }

    fn shelf(&self, backend: usize, slot: usize) -> Option<&RefCell<Shelf>> {
        self.shelves.get(backend)?.get(slot)
    }

    /// The shelf of a server, which may have been added since the thread began.
    fn shelf_for(&self, backend: usize, slot: usize) -> Option<&RefCell<Shelf>> {
        let shelves = self.shelves.get(backend)?;
        while shelves.len() <= slot {
            shelves.push(RefCell::default());
        }
        shelves.get(slot)
    }

    /// Puts a connection into the pool, unless its server has closed it or moved, is in
    /// maintenance, or has enough idle connections.
    pub fn put(&self, connection: Boxed) {
        let Some(server) = connection.server() else { return };
        let full = server.settings.pool_max.is_some_and(|limit| server.idle() >= limit);
        if full
            || !self.spares(number(&connection))
            || connection.is_spoilt()
            || server.settings.pool_purge == 0
            || server.state.state().1.in_maint()
        {
            return;
        }
        let Some(shelf) = self.shelf_for(server.backend(), server.slot()) else { return };
        let mut shelf = shelf.borrow_mut();
        let used = shelf.used(server);
        if shelf.demand.note(used) {
            server.block().set_demand(shelf.demand.peak, shelf.demand.need);
        }
        if !shelf.demand.allows(server.open(), server.settings.pool_low.max(SLACK)) {
            return;
        }
        connection.socket().watch_for(self.keeper.get());
        if self.resting.replace(false) {
            connection.socket().thread().scheduler().wake(self.keeper.get(), Wake::OTHER);
        }
        let server = server.clone();
        shelf.push(connection);
        publish(&server, &shelf);
    }

    /// Closes an idle connection if the descriptor of a new one shows that descriptors run short.
    pub fn make_room(&self, opened: &ServerConn) {
        self.used.set(number(opened));
        if self.bounds.is_none_or(|(_, spare)| number(opened) <= spare) {
            return;
        }
        let longest = self.all().max_by_key(|shelf| shelf.borrow().connections.len());
        let Some(mut shelf) = longest.map(RefCell::borrow_mut) else { return };
        if shelf.connections.is_empty() {
            return;
        }
        let oldest = shelf.remove(0);
        oldest.server().into_iter().for_each(|server| publish(server, &shelf));
    }

    /// Whether a connection with this descriptor may be kept while it is idle.
    pub(crate) fn spares(&self, descriptor: i32) -> bool {
        self.bounds.is_none_or(|(keep, _)| descriptor <= keep)
    }

    /// Whether descriptors are so short that a connection opened now would hardly be kept.
    pub fn is_short(&self) -> bool {
        self.bounds.is_some_and(|(keep, _)| self.used.get() > keep)
    }

    /// Has the pool assume that this many descriptors are in use, for tests.
    pub fn pretend_used(&self, descriptors: i32) {
        self.used.set(descriptors);
    }

    /// Takes the newest connection of this kind that is still open.
    pub fn take(&self, server: &LocalServer, wanted: Wanted) -> Option<Boxed> {
        let mut shelf = self.shelf(server.backend(), server.slot())?.borrow_mut();
        let mut place = shelf.connections.len();
        while place > 0 && shelf.connections.len() > wanted.leaves {
            place -= 1;
            let candidate = &shelf.connections[place];
            let spoilt = candidate.is_stale();
            if !spoilt && !wanted.fits(candidate.key(), candidate.requests()) {
                continue;
            }
            let connection = shelf.remove(place);
            publish(server, &shelf);
            if !spoilt {
                // The next request of the thread will look at the one below.
                if let Some(next) = shelf.connections.last() {
                    prefetch::prefetch(&**next);
                }
                return Some(connection);
            }
        }
        None
    }

    /// Idle connections, by backend and slot.
    pub fn counts(&self) -> Vec<Vec<usize>> {
        let count = |shelf: &RefCell<Shelf>| shelf.borrow().connections.len();
        self.shelves.iter().map(|slots| slots.iter().map(count).collect()).collect()
    }

    /// Drops connections that their servers have closed, or that lead to an earlier address of
    /// their server.
    pub fn sweep(&self) {
        for shelf in self.all() {
            let mut shelf = shelf.borrow_mut();
            let before = shelf.connections.len();
            let spoilt = shelf.connections.extract_if(.., |it| it.is_spoilt()).last();
            if shelf.connections.len() != before {
                shelf.recount();
            }
            if let Some(spoilt) = spoilt.filter(|_| shelf.connections.len() != before) {
                spoilt.server().into_iter().for_each(|server| publish(server, &shelf));
            }
        }
    }

    /// Takes a connection that some thread has parked with this server and that is still open.
    pub fn take_parked(
        &self,
        worker: &Worker,
        server: &ServerRef,
        wanted: Wanted,
    ) -> Option<Boxed> {
        // Without a parked connection the lock is not taken.
        if !worker.shared.settings.shared_pools || server.parked.count() == 0 {
            return None;
        }
        server.parked.take(worker, (wanted, server.location.moves()), |socket, parked| {
            Box::new(ServerConn::unpark(worker, socket, parked, server))
        })
    }

    /// Parks the newest open connection for a thread that has none. `false`: no connection here
    /// fits.
    pub fn park_for_other(
        &self,
        worker: &Worker,
        backend: usize,
        slot: usize,
        wanted: Wanted,
    ) -> bool {
        let server = worker.backend_at(backend).and_then(|backend| backend.server(slot));
        let idle = server.and_then(|server| self.take(&server, wanted));
        idle.is_some_and(|connection| shared::park(worker, *connection))
    }

    /// Where purges are due, drops or parks half of the connections that no request has needed
    /// since the last purge.
    pub fn purge(&self, worker: &Worker) {
        let parks = worker.shared.shares_pools();
        let now = worker.thread.tick();
        for shelf in self.all() {
            let mut shelf = shelf.borrow_mut();
            let Some(server) = shelf.connections.first().and_then(|first| first.server().cloned())
            else {
                // Without an idle connection at the end of a period, none counts as in use.
                shelf.demand.fade(0);
                shelf.unneeded = 0;
                continue;
            };
            let delay = server.settings.pool_purge;
            // A purge may run a little early; so it needs no timer of its own.
            if delay > self.period && !shelf.due.is_due(now) && shelf.due != Tick::default() {
                continue;
            }
            shelf.due = now.plus_ms(delay - delay.min(self.period) / 2);
            let surplus = shelf.unneeded.div_ceil(2).min(shelf.connections.len());
            for connection in shelf.connections.drain(..surplus) {
                if parks {
                    shared::park(worker, *connection);
                }
            }
            shelf.recount();
            shelf.unneeded = shelf.connections.len();
            let used = shelf.used(&server);
            shelf.demand.fade(used);
            server.block().set_demand(shelf.demand.peak, shelf.demand.need);
            publish(&server, &shelf);
        }
    }

    /// Whether purges may pause until a connection is put into the pool, which wakes the
    /// housekeeper.
    pub fn rests(&self) -> bool {
        let empty = self.all().all(|it| it.borrow().connections.is_empty());
        self.resting.set(empty);
        empty
    }

    fn all(&self) -> impl Iterator<Item = &RefCell<Shelf>> {
        self.shelves.iter().flat_map(AppendList::iter)
    }

    /// Drops all connections.
    pub fn clear_all(&self) {
        self.all().for_each(|shelf| self.empty(shelf));
    }

    /// Drops all connections of a server.
    pub fn clear(&self, backend: usize, slot: usize) {
        if let Some(shelf) = self.shelf(backend, slot) {
            self.empty(shelf);
        }
    }

    fn empty(&self, shelf: &RefCell<Shelf>) {
        let mut shelf = shelf.borrow_mut();
        shelf.proven = 0;
        for connection in std::mem::take(&mut shelf.connections) {
            connection.server().into_iter().for_each(|server| server.block().set_idle(0, 0));
        }
    }
}
