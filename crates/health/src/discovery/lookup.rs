//! `do-resolve`: a request that waits for the address of a name.

use engine::state::backend::queue::Waiter;
use engine::state::resolver::Order;
pub(crate) use engine::state::session::lookup::Ask;
use engine::state::session::transaction::Transaction;
use std::sync::{Arc, Mutex};

/// Waits for the result of the look-up. A keeper always answers: names are given up in the end.
pub async fn run(tx: &mut Transaction) {
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
