//! Taking an idle connection over from the thread that has it.
//!
//! The thread that needs a connection sends a request to the one that has the most. That thread
//! parks a connection in its next turn and wakes the asking task, which finds it with the server.
//! If that thread is too busy to answer soon, a new connection is made instead, and the parked one
//! serves a later request. So idle connections need no lock while threads keep to their own.

use engine::state::backend::pool::{Boxed, Wanted};
use engine::state::thread_handle::ServerRef;
use engine::state::worker::Worker;
use reactor::Wake;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

/// The longest wait for another thread, in milliseconds.
const PATIENCE_MS: u32 = 2;

/// Takes a usable idle connection of this kind from another thread.
pub async fn take_over(worker: &Rc<Worker>, server: &ServerRef, wanted: Wanted) -> Option<Boxed> {
    let parked = || worker.idle.take_parked(worker, server, wanted);
    if let Some(connection) = parked() {
        return Some(connection);
    }
    let thread = &worker.thread;
    if server.counters.idle() < server.settings.pool_low {
        return None;
    }
    let donor = server.counters.richest_besides(thread.index)?;
    let answered = Arc::new(AtomicBool::new(false));
    let (answer, backend, slot) = (answered.clone(), server.backend(), server.slot());
    let (mailbox, asker) = (thread.mailbox().clone(), thread.scheduler().current());
    worker.shared.run_on_thread(
        donor,
        Box::new(move |donor| {
            donor.idle.park_for_other(donor, backend, slot, wanted);
            answer.store(true, Release);
            mailbox.wake(asker, Wake::RESOURCE);
        }),
    );
    let deadline = thread.tick().plus_ms(PATIENCE_MS);
    while !answered.load(Acquire) && !deadline.is_due(thread.tick()) {
        thread.scheduler().wait(Some(deadline)).await;
    }
    parked()
}
