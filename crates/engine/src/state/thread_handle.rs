//! A thread's own handles on proxies, their sides and servers, with its counters at hand.

use crate::state::backend::server_list::Servers;
use crate::state::runtime::{Backend, Frontend, Proxy, ProxySection, Server};
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use transport::stats::counters::{Block, Event};
use transport::stats::latency::LatencyBlock;

/// A thread's own handle on what the sides of a proxy share, for code that works for either side.
pub type ProxyRef = Rc<LocalProxy>;

/// A thread's own handle on a frontend.
pub type FrontendRef = Rc<LocalFrontend>;

/// A thread's own handle on a backend.
pub type BackendRef = Rc<LocalBackend>;

/// A worker's own handle on a server.
pub type ServerRef = Rc<LocalServer>;

/// A thread's handle on a section.
#[derive(Debug)]
pub struct LocalSection {
    /// The client side.
    pub front: Option<FrontendRef>,
    /// The server side.
    pub back: Option<BackendRef>,
}

impl LocalSection {
    pub(crate) fn new(section: &ProxySection, thread: usize) -> Self {
        let common = Rc::new(LocalProxy { proxy: section.proxy.clone() });
        let back = section.back.as_ref().map(|back| LocalBackend::new(back, &common, thread));
        let front = section.front.as_ref().map(|front| {
            let itself = back.clone();
            let (proxy, common, block) = (common.proxy.clone(), common.clone(), OnceCell::new());
            Rc::new(LocalFrontend { proxy, common, front: front.clone(), thread, block, itself })
        });
        Self { front, back }
    }
}

/// A thread's handle on the settings and state common to the sides of a proxy.
#[derive(Debug)]
pub struct LocalProxy {
    proxy: Arc<Proxy>,
}

impl Deref for LocalProxy {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

/// A thread's handle on a frontend, with the thread's counters. What it shares with a backend of
/// the same section is at hand without a step in between.
#[derive(Debug)]
pub struct LocalFrontend {
    proxy: Arc<Proxy>,
    /// The proxy, for code that works on either side.
    pub common: ProxyRef,
    /// The client side.
    pub front: Arc<Frontend>,
    thread: usize,
    /// The thread's counters, once used.
    block: OnceCell<Arc<Block>>,
    /// The backend of a `listen` section.
    pub itself: Option<BackendRef>,
}

impl Deref for LocalFrontend {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

impl LocalFrontend {
    /// The thread's counters.
    #[inline]
    pub fn block(&self) -> &Block {
        self.block.get_or_init(|| self.front.counters.share(self.thread))
    }

    /// The thread's histograms. A frontend of transactions that begin inside the process has those
    /// of one thread, whichever it belongs to.
    #[inline]
    pub fn latencies(&self) -> &LatencyBlock {
        self.front.counters.latencies.of(self.thread)
    }
}

/// A thread's handle on a backend; like [`LocalFrontend`].
#[derive(Debug)]
pub struct LocalBackend {
    proxy: Arc<Proxy>,
    /// The proxy, for code that works on either side.
    pub common: ProxyRef,
    /// The server side.
    pub back: Arc<Backend>,
    thread: usize,
    /// The thread's counters, once used.
    block: OnceCell<Arc<Block>>,
    /// Its servers by slot, if the thread has used them.
    servers: RefCell<Vec<Option<ServerRef>>>,
    /// The direct target.
    direct: OnceCell<ServerRef>,
    /// The frontend of transactions that begin inside the process.
    internal: OnceCell<FrontendRef>,
}

impl Deref for LocalBackend {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

impl LocalBackend {
    fn new(back: &Arc<Backend>, common: &ProxyRef, thread: usize) -> BackendRef {
        let (block, servers, direct, internal) = Default::default();
        let (proxy, common, back) = (common.proxy.clone(), common.clone(), back.clone());
        Rc::new(Self { proxy, common, back, thread, block, servers, direct, internal })
    }

    /// The thread's counters.
    #[inline]
    pub fn block(&self) -> &Block {
        self.block.get_or_init(|| self.back.counters.share(self.thread))
    }

    /// The frontend of transactions that begin inside the process, where the section has none. It
    /// shares the settings of the backend's proxy, listens nowhere, and no page shows its counters.
    pub(crate) fn internal_frontend(&self) -> &FrontendRef {
        self.internal.get_or_init(|| {
            let front = Arc::new(Frontend::internal(&self.proxy));
            let (proxy, common, block) = (self.proxy.clone(), self.common.clone(), OnceCell::new());
            let itself = None;
            Rc::new(LocalFrontend { proxy, common, front, thread: 0, block, itself })
        })
    }

    /// The server in a slot, deleted or not.
    pub fn server(&self, slot: usize) -> Option<ServerRef> {
        let known = self.servers.borrow().get(slot).and_then(Option::clone);
        known.or_else(|| self.meet(slot))
    }

    /// The direct target, if the backend has one (`dispatch`, `option transparent`).
    pub(crate) fn direct(&self) -> Option<ServerRef> {
        self.back.servers.direct()?;
        if self.direct.get().is_none() {
            let _ = self.direct.set(self.handle(Servers::DIRECT)?);
        }
        self.direct.get().cloned()
    }

    fn handle(&self, slot: usize) -> Option<ServerRef> {
        let server = self.back.servers.share(slot)?;
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

/// A thread's handle on a server, with the thread's counters.
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
