//! A `resolvers` section: its orders and counters.
use crate::state::session::lookup::NameQuery;
use reactor::{Mailbox, TaskId, Wake};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use stdx::Mutex;

/// A running `resolvers` section.
#[derive(Debug)]
pub struct Resolver {
    /// Its settings.
    pub settings: settings::Resolvers,
    /// Counters of its name servers, in their order.
    pub counters: Vec<Counters>,
    orders: Mutex<Vec<ResolverOrder>>,
    /// The task of the section, and the mailbox that wakes it.
    pub keeper: OnceLock<(Arc<Mailbox>, TaskId)>,
}

/// An order of another task to the task of a section.
#[derive(Debug)]
pub enum ResolverOrder {
    /// A request waits for an address.
    Ask(Arc<NameQuery>),
    /// The server in this slot of a backend may have another address by now.
    Hurry(usize, usize),
    /// The same server has another name from now on.
    Rename(usize, usize, Box<str>),
}

/// Counters of one name server (management manual, `show resolvers`).
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
    /// Always 0: answers with another name alone count in `cname_error`.
    pub cname: AtomicU64,
    /// Answers with another name alone.
    pub cname_error: AtomicU64,
    /// Answers without a record.
    pub any_err: AtomicU64,
    /// Answers that the name does not exist.
    pub nx: AtomicU64,
    /// Questions without an answer in time.
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

/// Adds one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Resolver {
    pub(crate) fn new(settings: settings::Resolvers) -> Self {
        let counters = settings.nameservers.iter().map(|_| Counters::default()).collect();
        Self { settings, counters, orders: Mutex::default(), keeper: OnceLock::new() }
    }

    /// Sends an order to the task of the section.
    pub fn order(&self, order: ResolverOrder) {
        self.orders.lock().push(order);
        if let Some((mailbox, task)) = self.keeper.get() {
            mailbox.wake(*task, Wake::MESSAGE);
        }
    }

    /// Takes the queued orders.
    pub fn take_orders(&self) -> Vec<ResolverOrder> {
        std::mem::take(&mut *self.orders.lock())
    }
}
