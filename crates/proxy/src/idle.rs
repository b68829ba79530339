//! Idle server connections of one thread, ready for the next request. Never opens one.
//!
//! An idle connection is data, not a task. Its socket is owned by the thread's housekeeper, which
//! drops it when the server closes it. Newest first: the oldest are those that a purge finds
//! unused.

use crate::runtime::Shared;
use crate::server_conn::ServerConn;
use reactor::TaskId;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

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
        }
    }

    pub(crate) fn set_keeper(&self, keeper: TaskId) {
        self.keeper.set(keeper);
    }

    fn shelf(&self, backend: usize, slot: usize) -> Option<&RefCell<Shelf>> {
        self.shelves.get(backend)?.get(slot)
    }

    /// Lays a connection down, unless the server's limit of idle ones is reached.
    pub(crate) fn put(&self, connection: Boxed) {
        let server = connection.server();
        let limit = server.settings.pool_max.unwrap_or(u32::MAX);
        if server.idle.load(Relaxed) >= limit || server.state.state().1.in_maint() {
            return;
        }
        let Some(shelf) = self.shelf(connection.backend_index(), connection.slot()) else { return };
        server.idle.fetch_add(1, Relaxed);
        connection.socket().watch_for(self.keeper.get());
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

    /// Drops the connections that their servers have closed.
    pub(crate) fn sweep(&self) {
        for shelf in self.shelves.iter().flatten() {
            let mut shelf = shelf.borrow_mut();
            let spoilt = shelf.connections.extract_if(.., |it| it.is_spoilt());
            spoilt.for_each(forget);
            shelf.unneeded = shelf.unneeded.min(shelf.connections.len());
        }
    }

    /// Drops half of the connections that nobody has needed since the last purge.
    pub(crate) fn purge(&self) {
        for shelf in self.shelves.iter().flatten() {
            let mut shelf = shelf.borrow_mut();
            let drop = shelf.unneeded.div_ceil(2).min(shelf.connections.len());
            shelf.connections.drain(..drop).for_each(forget);
            shelf.unneeded = shelf.connections.len();
        }
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

#[expect(clippy::boxed_local, reason = "the pool holds boxes")]
fn forget(connection: Boxed) {
    connection.server().idle.fetch_sub(1, Relaxed);
}
