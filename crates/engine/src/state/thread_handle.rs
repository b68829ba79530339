//! A thread's own handles on proxies and servers, with its counters at hand.

use crate::state::backend::server_list::Servers;
use crate::state::runtime::{Proxy, Server};
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use transport::stats::counters::{Block, Event};

/// A worker's own handle on a proxy.
pub type ProxyRef = Rc<LocalProxy>;

/// A worker's own handle on a server.
pub type ServerRef = Rc<LocalServer>;

/// A proxy, as one thread has it.
#[derive(Debug)]
pub struct LocalProxy {
    proxy: Arc<Proxy>,
    thread: usize,
    /// The thread's counters of either side, once used.
    front: OnceCell<Arc<Block>>,
    back: OnceCell<Arc<Block>>,
    /// Its servers by slot, as far as they have been used.
    servers: RefCell<Vec<Option<ServerRef>>>,
    /// The direct target.
    direct: OnceCell<ServerRef>,
}

impl Deref for LocalProxy {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

impl LocalProxy {
    pub(crate) fn new(proxy: Arc<Proxy>, thread: usize) -> ProxyRef {
        let (front, back, servers, direct) = Default::default();
        Rc::new(Self { proxy, thread, front, back, servers, direct })
    }

    /// The thread's counters of the client side.
    #[inline]
    pub fn front_block(&self) -> Option<&Block> {
        let front = self.proxy.front.as_ref()?;
        Some(self.front.get_or_init(|| front.counters.share(self.thread)))
    }

    /// The thread's counters of the server side.
    #[inline]
    pub fn back_block(&self) -> Option<&Block> {
        let back = self.proxy.back.as_ref()?;
        Some(self.back.get_or_init(|| back.counters.share(self.thread)))
    }

    /// The server in a slot, deleted or not.
    pub fn server(&self, slot: usize) -> Option<ServerRef> {
        let known = self.servers.borrow().get(slot).and_then(Option::clone);
        known.or_else(|| self.meet(slot))
    }

    /// The direct target, if the backend has one (`dispatch`, `option transparent`).
    pub(crate) fn direct(&self) -> Option<ServerRef> {
        self.proxy.back.as_ref()?.servers.direct()?;
        if self.direct.get().is_none() {
            let _ = self.direct.set(self.handle(Servers::DIRECT)?);
        }
        self.direct.get().cloned()
    }

    fn handle(&self, slot: usize) -> Option<ServerRef> {
        let server = self.proxy.back.as_ref()?.servers.share(slot)?;
        let (backend, block) = (self.proxy.index, server.counters.share(self.thread));
        Some(Rc::new(LocalServer { server, block, backend, slot, open: Cell::default() }))
    }

    #[cold]
    fn meet(&self, slot: usize) -> Option<ServerRef> {
        let server = self.handle(slot)?;
        let mut servers = self.servers.borrow_mut();
        if servers.len() <= slot {
            servers.resize(slot + 1, None);
        }
        servers[slot] = Some(server.clone());
        Some(server)
    }
}

/// A server, as one thread has it.
#[derive(Debug)]
pub struct LocalServer {
    server: Arc<Server>,
    block: Arc<Block>,
    backend: usize,
    slot: usize,
    /// The thread's connections to it, in use or idle.
    open: Cell<u32>,
}

impl Deref for LocalServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl LocalServer {
    /// The thread's counters.
    #[inline]
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Counts an event of this second.
    #[inline]
    pub fn tick(&self, event: Event, second: u32) {
        self.server.counters.tick_in(&self.block, event, second);
    }

    /// The thread's connections to it, in use or idle.
    #[inline]
    pub(crate) fn open(&self) -> u32 {
        self.open.get()
    }

    pub(crate) fn count_open(&self) {
        self.open.set(self.open.get() + 1);
    }

    pub(crate) fn count_closed(&self) {
        self.open.set(self.open.get().saturating_sub(1));
    }

    /// The index of its backend.
    pub fn backend(&self) -> usize {
        self.backend
    }

    /// Whether it is the direct target.
    pub fn is_direct(&self) -> bool {
        self.slot == Servers::DIRECT
    }

    /// Its number in the backend, from 0.
    pub fn slot(&self) -> usize {
        self.slot
    }
}
