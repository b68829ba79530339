//! Names that are resolved while the process serves (configuration manual, section 5.3): what threads share of a
//! `resolvers` section. Never waits for a name server, and never decides what an answer means:
//! `dns` does.
//!
//! Each section has one task, its `keeper`, on one thread. Others leave orders for it: a request
//! that waits for a name, a server whose checks found nobody. Answers reach servers through
//! [`crate::servers::events`], and waiting requests through their mailboxes.

pub(crate) mod lookup;
mod nameserver;
mod query_table;
mod resolver_task;
mod server_binding;

use crate::settings;
use crate::state::runtime::Shared;
use crate::state::worker::Worker;
use lookup::Ask;
use reactor::{Class, Mailbox, TaskId, Wake};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A running `resolvers` section.
#[derive(Debug)]
pub struct Resolver {
    /// Its settings.
    pub settings: settings::Resolvers,
    /// What its name servers have said, in their order.
    pub counters: Vec<Counters>,
    orders: Mutex<Vec<Order>>,
    keeper: OnceLock<(Arc<Mailbox>, TaskId)>,
}

/// What others want from a keeper.
#[derive(Debug)]
pub(crate) enum Order {
    /// Somebody waits for an address.
    Ask(Arc<Ask>),
    /// The server in this slot of a backend may be somewhere else by now.
    Hurry(usize, usize),
    /// The same server has another name from now on.
    Rename(usize, usize, Box<str>),
}

/// What one name server has done (management manual, `show resolvers`).
#[derive(Debug, Default)]
pub struct Counters {
    /// Questions sent.
    pub sent: AtomicU64,
    /// Questions that could not be sent.
    pub send_error: AtomicU64,
    /// Valid answers.
    pub valid: AtomicU64,
    /// Answers that moved a server.
    pub update: AtomicU64,
    /// Answers that are another name and nothing else; none is counted here.
    pub cname: AtomicU64,
    /// Answers that told another name only.
    pub cname_error: AtomicU64,
    /// Answers without a record.
    pub any_err: AtomicU64,
    /// No such name.
    pub nx: AtomicU64,
    /// Nothing in time.
    pub timeout: AtomicU64,
    /// Refusals.
    pub refused: AtomicU64,
    /// Any other error.
    pub other: AtomicU64,
    /// Answers that could not be understood.
    pub invalid: AtomicU64,
    /// Answers beyond the accepted size.
    pub too_big: AtomicU64,
    /// Answers that did not fit and were asked for again over a stream.
    pub truncated: AtomicU64,
    /// Answers to questions that were over.
    pub outdated: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Resolver {
    pub(crate) fn new(settings: settings::Resolvers) -> Self {
        let counters = settings.nameservers.iter().map(|_| Counters::default()).collect();
        Self { settings, counters, orders: Mutex::default(), keeper: OnceLock::new() }
    }

    pub(crate) fn order(&self, order: Order) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order);
        if let Some((mailbox, task)) = self.keeper.get() {
            mailbox.wake(*task, Wake::MESSAGE);
        }
    }

    fn take_orders(&self) -> Vec<Order> {
        std::mem::take(&mut *self.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Starts the keepers that belong to a thread.
pub(crate) fn start(worker: &Rc<Worker>) {
    let threads = worker.shared.settings.threads;
    for (index, resolver) in worker.shared.resolvers.iter().enumerate() {
        if index % threads == worker.thread.index {
            let run = resolver_task::run(worker.clone(), index);
            let task = worker.thread.scheduler().spawn(Class::Normal, run);
            let _ = resolver.keeper.set((worker.thread.mailbox().clone(), task));
        }
    }
}

/// The section that resolves the server in this slot, if any does.
fn of(shared: &Shared, backend: usize, slot: usize) -> Option<&Resolver> {
    let back = shared.proxies.get(backend)?.back.as_ref()?;
    let resolve = back.servers.get(slot)?.settings.resolve.as_ref()?;
    shared.resolvers.get(resolve.resolvers)
}

/// Nobody was found at the address of a server: its name is asked for at once.
pub(crate) fn hurry(shared: &Shared, backend: usize, slot: usize) {
    if let Some(resolver) = of(shared, backend, slot) {
        resolver.order(Order::Hurry(backend, slot));
    }
}

/// Gives a server another name (`set server <s> fqdn`); tells whether anybody resolves it.
pub fn rename(shared: &Shared, backend: usize, slot: usize, name: &str) -> bool {
    match of(shared, backend, slot) {
        Some(resolver) if dns::message::is_name(name) => {
            resolver.order(Order::Rename(backend, slot, name.to_ascii_lowercase().into()));
            true
        }
        _ => false,
    }
}
