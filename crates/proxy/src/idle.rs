//! Idle server connections of one thread, ready for the next request. Never opens one.
//!
//! An idle connection is data, not a task. Its socket is owned by the thread's housekeeper, which
//! drops it when the server closes it. Newest first: the oldest are those that a purge finds
//! unused.
//!
//! With `tune.idle-pool.shared`, what a thread has not needed between two purges is parked with its
//! server instead, where any thread finds it that has none of its own. So threads take no lock and
//! move no connection while each has what it needs. A parked connection that nobody takes is
//! dropped by the purges that follow.

use crate::runtime::{Parked, ProxyRef, Shared};
use crate::server_conn::ServerConn;
use crate::worker::Worker;
use reactor::{Socket, TaskId, Wake};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often idle server connections are thinned out, in milliseconds (`pool-purge-delay`).
pub(crate) const PURGE_MS: u32 = 5_000;

type Boxed = Box<ServerConn>;

struct Shelf {
    /// Oldest first.
    connections: Vec<Boxed>,
    /// The fewest that lay here since the last purge: nobody has needed them.
    unneeded: usize,
}

/// All idle connections of a thread, by backend and server.
pub(crate) struct IdlePool {
    shelves: Vec<Vec<RefCell<Shelf>>>,
    keeper: Cell<TaskId>,
    /// The housekeeper wants to hear of the next connection that is laid down.
    resting: Cell<bool>,
}

impl IdlePool {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let shelf = |_| RefCell::new(Shelf { connections: Vec::new(), unneeded: 0 });
        let per_proxy = |proxy: &Arc<crate::runtime::Proxy>| {
            let servers = proxy.back.as_ref().map_or(0, |back| back.servers.len());
            (0..servers).map(shelf).collect()
        };
        Self {
            shelves: shared.proxies.iter().map(per_proxy).collect(),
            keeper: Cell::new(TaskId::NONE),
            resting: Cell::new(false),
        }
    }

    pub(crate) fn set_keeper(&self, keeper: TaskId) {
        self.keeper.set(keeper);
    }

    fn shelf(&self, backend: usize, slot: usize) -> Option<&RefCell<Shelf>> {
        self.shelves.get(backend)?.get(slot)
    }

    /// Lays a connection down, unless its server has closed it already or has enough idle ones.
    pub(crate) fn put(&self, connection: Boxed) {
        let server = connection.server();
        let limit = server.settings.pool_max.unwrap_or(u32::MAX);
        if connection.is_spoilt()
            || server.idle.load(Relaxed) >= limit
            || server.state.state().1.in_maint()
        {
            return;
        }
        let Some(shelf) = self.shelf(connection.backend_index(), connection.slot()) else { return };
        server.idle.fetch_add(1, Relaxed);
        connection.socket().watch_for(self.keeper.get());
        if self.resting.replace(false) {
            connection.socket().thread().scheduler().wake(self.keeper.get(), Wake::OTHER);
        }
        shelf.borrow_mut().connections.push(connection);
    }

    /// Takes the newest connection that still stands; with `proven`, only one that has been used
    /// more than once.
    pub(crate) fn take(&self, backend: usize, slot: usize, proven: bool) -> Option<Boxed> {
        let mut shelf = self.shelf(backend, slot)?.borrow_mut();
        let mut place = shelf.connections.len();
        while place > 0 {
            place -= 1;
            if shelf.connections[place].is_spoilt() {
                forget(shelf.connections.remove(place));
            } else if !proven || shelf.connections[place].requests() > 1 {
                let connection = shelf.connections.remove(place);
                connection.server().idle.fetch_sub(1, Relaxed);
                shelf.unneeded = shelf.unneeded.min(shelf.connections.len());
                return Some(connection);
            }
        }
        None
    }

    /// How many there are, by backend and slot.
    pub(crate) fn counts(&self) -> Vec<Vec<usize>> {
        let count = |shelf: &RefCell<Shelf>| shelf.borrow().connections.len();
        self.shelves.iter().map(|slots| slots.iter().map(count).collect()).collect()
    }

    /// Drops the connections that their servers have closed.
    pub(crate) fn sweep(&self) {
        for shelf in self.shelves.iter().flatten() {
            let mut shelf = shelf.borrow_mut();
            let spoilt = shelf.connections.extract_if(.., |it| it.is_spoilt());
            spoilt.for_each(forget);
            shelf.unneeded = shelf.unneeded.min(shelf.connections.len());
        }
    }

    /// Takes a connection that some thread has parked with this server and that still stands.
    pub(crate) fn take_parked(
        &self,
        worker: &Worker,
        backend: &ProxyRef,
        slot: usize,
        proven: bool,
    ) -> Option<Boxed> {
        let server = backend.back.as_ref()?.servers.get(slot)?;
        // Without a connection idle anywhere there is nothing to lock for.
        if !worker.shared.settings.shared_pools || server.idle.load(Relaxed) == 0 {
            return None;
        }
        let kernel = worker.thread.kernel();
        let mut parked = lock(&server.parked);
        while let Some(at) = parked.iter().rposition(|it| !proven || it.requests > 1) {
            let candidate = parked.remove(at);
            server.idle.fetch_sub(1, Relaxed);
            if !kernel.is_quiet(candidate.handle) {
                kernel.close(candidate.handle, false);
                continue;
            }
            let socket = Socket::take_over(&worker.thread, candidate.handle).ok()?;
            return Some(Box::new(ServerConn::unpark(socket, &candidate, backend, slot)));
        }
        None
    }

    /// Drops half of the connections that nobody has needed since the last purge, or parks them.
    pub(crate) fn purge(&self, worker: &Worker) {
        let parks = worker.shared.settings.shared_pools && worker.shared.settings.threads > 1;
        for shelf in self.shelves.iter().flatten() {
            let mut shelf = shelf.borrow_mut();
            let surplus = shelf.unneeded.div_ceil(2).min(shelf.connections.len());
            for connection in shelf.connections.drain(..surplus) {
                if parks { park(worker, connection) } else { forget(connection) }
            }
            shelf.unneeded = shelf.connections.len();
        }
    }

    /// Whether purges may cease until a connection is laid down; the housekeeper is woken then.
    pub(crate) fn rests(&self) -> bool {
        let empty = self.shelves.iter().flatten().all(|it| it.borrow().connections.is_empty());
        self.resting.set(empty);
        empty
    }

    /// Drops all connections.
    pub(crate) fn clear_all(&self) {
        for shelf in self.shelves.iter().flatten() {
            shelf.borrow_mut().connections.drain(..).for_each(forget);
        }
    }

    /// Drops all connections of a server.
    pub(crate) fn clear(&self, backend: usize, slot: usize) {
        if let Some(shelf) = self.shelf(backend, slot) {
            shelf.borrow_mut().connections.drain(..).for_each(forget);
        }
    }
}

/// Lays a connection where any thread may take it.
fn park(worker: &Worker, connection: Boxed) {
    let (proxy, slot) = (connection.backend().clone(), connection.slot());
    let Some(server) = proxy.back.as_ref().and_then(|back| back.servers.get(slot)) else { return };
    match connection.park() {
        Some(parked) => {
            lock(&server.parked).push(parked);
            tend_parked(worker);
        }
        None => drop(server.idle.fetch_sub(1, Relaxed)),
    }
}

/// Sees to it that some thread purges parked connections while there are any.
fn tend_parked(worker: &Worker) {
    if worker.shared.parked_tended.swap(true, AcqRel) {
        return;
    }
    let (work, due) = (&worker.shared.work, worker.millis() + u64::from(PURGE_MS));
    work.add(worker.thread.index, work.everybody(), due, Box::new(purge_again));
}

/// The job of tending parked connections: when it wants to run again, if at all.
fn purge_again(worker: &Worker, now: u64) -> Option<u64> {
    let again = Some(now + u64::from(PURGE_MS));
    if purge_parked(worker) {
        return again;
    }
    // Who parked one just now may have seen that it is tended; so look once more.
    worker.shared.parked_tended.swap(false, AcqRel);
    again.filter(|_| any_parked(worker) && !worker.shared.parked_tended.swap(true, AcqRel))
}

fn any_parked(worker: &Worker) -> bool {
    let servers = worker.proxies.iter().flat_map(|it| &it.back).flat_map(|it| &it.servers);
    servers.into_iter().any(|server| !lock(&server.parked).is_empty())
}

/// Purges that a parked connection survives: long enough for a thread to come and take it.
const PARKED_FOR: u32 = 2;

/// Drops the parked connections that nobody wants, or whose server has closed them; tells whether
/// any are left.
fn purge_parked(worker: &Worker) -> bool {
    let kernel = worker.thread.kernel();
    let mut left = false;
    for server in worker.proxies.iter().flat_map(|it| &it.back).flat_map(|it| &it.servers) {
        let mut parked = lock(&server.parked);
        parked.retain_mut(|it| {
            it.age += 1;
            let keep = it.age <= PARKED_FOR && kernel.is_quiet(it.handle);
            if !keep {
                kernel.close(it.handle, false);
                server.idle.fetch_sub(1, Relaxed);
            }
            keep
        });
        left |= !parked.is_empty();
    }
    left
}

fn lock(parked: &Mutex<Vec<Parked>>) -> MutexGuard<'_, Vec<Parked>> {
    parked.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::boxed_local, reason = "the pool holds boxes")]
fn forget(connection: Boxed) {
    connection.server().idle.fetch_sub(1, Relaxed);
}

#[cfg(test)]
mod tests;
