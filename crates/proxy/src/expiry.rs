//! Takes entries of stick tables out whose time is over. Never holds a thread for long.

use crate::worker::Worker;
use reactor::Class;
use std::rc::Rc;

/// How often tables are looked at, in milliseconds. An entry whose time is over is not found any
/// more, whether it has been taken out or not.
const PASS_MS: u32 = 1_000;
/// Entries looked at before others have their turn.
const BUDGET: usize = 256;

/// Starts a task for the tables of this thread: each table belongs to one, so that no two threads
/// do the same work.
pub(crate) fn start(worker: &Rc<Worker>) {
    if own(worker).next().is_some() {
        worker.thread.scheduler().spawn(Class::Bulk, run(worker.clone()));
    }
}

/// The tables of this thread that forget anything.
fn own(worker: &Worker) -> impl Iterator<Item = &table::Table> {
    let (threads, index) = (worker.shared.settings.threads, worker.thread.index);
    let tables = worker.shared.tables.iter().map(|table| &**table);
    tables.filter(move |it| it.settings().expire.is_some() && it.number() % threads == index)
}

async fn run(worker: Rc<Worker>) {
    let thread = worker.thread.clone();
    loop {
        thread.scheduler().pause(Some(thread.tick().plus_ms(PASS_MS))).await;
        for table in own(&worker) {
            while table.expire(worker.millis(), BUDGET) >= BUDGET {
                thread.scheduler().yield_as(Class::Bulk).await;
            }
        }
    }
}
