//! Health checks: their schedule, their thread, and one exchange with a server.
//!
//! A check that sleeps is a [`Record`] in the store of some thread. One checker task per thread
//! sleeps until the next is due, takes those due at about the same time as one batch, and gives the
//! batch to another thread if that one has less than half as much to do. Each batch that runs is a
//! future of its thread; when a check ends for any reason, its record returns to that thread's
//! store.
//!
//! A check of several steps runs in a task of its own ([`script`]), as a script of
//! [`rules::check`].
//!
//! Each thread shares a [`CheckInbox`]: an inbox for batches that move, and counts to compare
//! loads. Checks that stay on their thread share nothing.

pub mod agent;
mod batch;
mod check_run;
mod checker;
mod external;
mod probe;
mod reply;
mod result;
pub mod rule;
mod sample_context;
mod script;
mod state_header;
pub mod store;
#[cfg(test)]
mod store_model;
mod stream;

use crate::servers::slow_start;
pub use check_run::report_change;
use checker::Checker;
pub use engine::state::backend::check_inbox::Activity;
use engine::state::backend::check_inbox::CheckInbox;
use engine::state::runtime::{Backend, Shared};
use engine::state::worker::Worker;
use reactor::Class;
use std::rc::Rc;
use store::{EarlyCheck, Record};

/// The counts of a thread's checks.
pub fn activity(shared: &Shared, thread: usize) -> Activity {
    shared.desks.get(thread).map(CheckInbox::activity).unwrap_or_default()
}

/// Starts the checker of a thread. The first thread takes the checks of all servers; they spread
/// from there as loads demand.
pub fn start(worker: &Rc<Worker>) {
    let checker = Rc::new(Checker::new(worker));
    if worker.thread.index == 0 {
        checker.admit(all(&worker.shared, worker.millis()));
        slow_start::resume_all(worker);
    }
    let task = worker.thread.scheduler().spawn(Class::Normal, checker::run(checker.clone()));
    checker.register(task);
}

/// Begins to check a server that is added while others run, or to ask its agent; the first time is
/// due at once.
pub fn add(shared: &Shared, backend: usize, slot: usize, agent: bool) {
    if let Some(desk) = shared.desks.first() {
        let (backend, slot) = (backend as u32, slot as u32);
        desk.give([Record { backend, slot, agent, ..Record::default() }]);
    }
}

/// Has a server checked within `fastinter` from now, wherever its check sleeps: traffic has shown
/// that something is wrong with it.
pub fn hasten(shared: &Shared, back: &Backend, slot: usize) {
    let Some(server) = back.servers.get(slot) else { return };
    let intervals = &server.settings.balance.intervals;
    let haste = EarlyCheck {
        backend: back.proxy.index as u32,
        slot: slot as u32,
        within: intervals.fast.unwrap_or(intervals.inter),
    };
    shared.desks.iter().for_each(|desk| desk.hasten(haste));
}

/// The records of all checked servers, spread over the shortest of their intervals.
fn all(shared: &Shared, now: u64) -> Vec<Record> {
    let mut records = Vec::new();
    let mut shortest = u32::MAX;
    for back in shared.backends().filter(|back| !back.proxy.settings.disabled) {
        for server in &back.servers {
            let (backend, slot) = (back.proxy.index as u32, server.state.slot() as u32);
            let mut push = |interval: u32, agent| {
                shortest = shortest.min(interval);
                records.push(Record { backend, slot, due: now, interval, moved: false, agent });
            };
            if server.settings.balance.checked {
                push(server.state.check_interval_ms(), false);
            }
            if let Some(agent) = &server.agent {
                push(agent.inter_ms, true);
            }
        }
    }
    let count = records.len() as u64;
    let limit = shared.settings.max_spread_checks;
    for (place, record) in records.iter_mut().enumerate() {
        record.due += rule::first_delay(shortest, limit, place as u64, count);
    }
    records
}
