//! `do-resolve`: a request that waits for the address of a name. Never asks a name server itself.

use super::Order;
use crate::state::queue::Waiter;
use crate::transaction::run::Transaction;
use dns::RecordType;
use reactor::Wake;
use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// What a rule wants to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    /// The `resolvers` section.
    pub(crate) resolvers: Arc<str>,
    pub(crate) name: Box<str>,
    pub(crate) family: RecordType,
}

/// The look-ups of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    asked: RefCell<Option<Wanted>>,
    told: RefCell<Vec<(Wanted, Option<IpAddr>)>>,
}

impl Lookups {
    /// The address, if it has been told; until then it is asked for. The inner option: there is
    /// one.
    pub(crate) fn find(&self, wanted: Wanted) -> Option<Option<IpAddr>> {
        let told = self.told.borrow();
        if let Some((_, address)) = told.iter().find(|(known, _)| *known == wanted) {
            return Some(*address);
        }
        *self.asked.borrow_mut() = Some(wanted);
        None
    }

    /// Whether somebody waits for an address.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.borrow().is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.asked.get_mut().take();
        self.told.get_mut().clear();
    }
}

/// A question on its way to a keeper and back.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) name: Box<str>,
    pub(crate) family: RecordType,
    answer: Mutex<Option<Option<IpAddr>>>,
    waiter: Waiter,
}

impl Ask {
    /// Tells the answer, and wakes who waits.
    pub(crate) fn tell(&self, address: Option<IpAddr>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
        self.waiter.mailbox.wake(self.waiter.task, Wake::RESOURCE);
    }

    fn answer(&self) -> Option<Option<IpAddr>> {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until what was asked for is known. A keeper always answers: names are given up in the end.
pub(crate) async fn run(tx: &mut Transaction) {
    let Some(wanted) = tx.notes.lookups.asked.take() else { return };
    let thread = tx.worker.thread.clone();
    let resolvers = &tx.worker.shared.resolvers;
    let resolver = resolvers.iter().find(|it| *it.settings.name == *wanted.resolvers);
    let mut found = None;
    if let Some(resolver) = resolver.filter(|_| dns::message::is_name(&wanted.name)) {
        let waiter =
            Waiter { mailbox: thread.mailbox().clone(), task: thread.scheduler().current() };
        let (name, family) = (wanted.name.clone(), wanted.family);
        let ask = Arc::new(Ask { name, family, answer: Mutex::default(), waiter });
        resolver.order(Order::Ask(ask.clone()));
        while ask.answer().is_none() {
            thread.scheduler().wait(None).await;
        }
        found = ask.answer().flatten();
    }
    tx.notes.lookups.told.borrow_mut().push((wanted, found));
}
