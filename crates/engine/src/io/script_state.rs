//! Waits of tasks that run scripts: for their state, and for a time.

use crate::state::backend::queue::Waiter;
use crate::state::worker::Worker;
use reactor::Wake;
use sample::regex::effort;
use script::{Cell, Turn};
use stdx::Tick;

/// The state of scripts, once no other thread uses it.
pub async fn enter<'c>(worker: &Worker, cell: &'c Cell) -> Turn<'c> {
    loop {
        let waiter = Waiter {
            mailbox: worker.thread.mailbox().clone(),
            task: worker.thread.scheduler().current(),
        };
        if let Some(turn) = cell.enter(move || waiter.mailbox.wake(waiter.task, Wake::RESOURCE)) {
            // The steps of patterns are those of no message.
            effort::open(0);
            return turn;
        }
        worker.thread.scheduler().wait(None).await;
    }
}

/// Waits for so many milliseconds.
pub async fn sleep(worker: &Worker, span: u64) {
    let thread = &worker.thread;
    let until: Tick = thread.tick().plus_ms(u32::try_from(span).unwrap_or(u32::MAX));
    while !until.is_due(thread.tick()) {
        thread.scheduler().wait(Some(until)).await;
    }
}
