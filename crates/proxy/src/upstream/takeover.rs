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
pub(crate) async fn take_over(
    worker: &Rc<Worker>,
    server: &ServerRef,
    wanted: Wanted,
) -> Option<Boxed> {
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
    worker.shared.ask(
        donor,
        Box::new(move |donor| {
            donor.idle.give(donor, backend, slot, wanted);
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

#[cfg(test)]
mod tests {
    use crate::tests::pool::{get, idle, patient, two_threads};

    #[test]
    fn a_thread_without_a_connection_takes_that_of_another() {
        let origin = patient();
        let (world, [first, second]) = two_threads(true, &origin, 0);
        let one = world.play(get(first));
        world.until("the connection is idle", || idle(&world) == 1);
        let two = world.play(get(second));
        world.until("it is idle again", || idle(&world) == 1);
        assert_eq!(origin.served(), 1, "one connection serves both");
        let counts: Vec<_> = world.workers.iter().map(|it| it.idle.counts()[0][0]).collect();
        assert_eq!(counts, [0, 1], "the second thread has it now");
        drop((one, two));
    }

    #[test]
    fn few_idle_connections_stay_where_they_are() {
        let origin = patient();
        let (world, [first, second]) = two_threads(true, &origin, 2);
        let one = world.play(get(first));
        world.until("the connection is idle", || idle(&world) == 1);
        let two = world.play(get(second));
        world.until("there are two", || idle(&world) == 2);
        let three = world.play(get(second));
        world.until("there are two still", || idle(&world) == 2);
        assert_eq!(origin.served(), 2, "pool-low-conn 2: one is not enough");
        drop((one, two, three));
    }
}
