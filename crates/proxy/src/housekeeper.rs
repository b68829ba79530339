//! One task per thread that tends idle connections and answers questions. Never serves a request.

use crate::worker::Worker;
use reactor::Wake;
use std::rc::Rc;
use stdx::Tick;

/// How often idle server connections are thinned out, in milliseconds (`pool-purge-delay`).
const PURGE_MS: u32 = 5_000;

/// Runs until the soft stop has let the last client of the thread go.
pub(crate) async fn run(worker: Rc<Worker>) {
    let mut told = false;
    let mut purge = Some(next_purge(&worker));
    loop {
        let woken = worker.thread.scheduler().pause(purge).await;
        if woken.contains(Wake::MESSAGE) {
            for question in worker.shared.take_questions(worker.thread.index) {
                question(&worker);
            }
        }
        worker.idle.sweep();
        if purge.is_some_and(|at| at.is_due(worker.thread.tick())) {
            worker.idle.purge(&worker);
            purge = None;
        }
        // A thread without idle connections sleeps until it has one.
        if purge.is_none() && !worker.idle.rests(&worker) {
            purge = Some(next_purge(&worker));
        }
        if worker.shared.is_stopping() && !std::mem::replace(&mut told, true) {
            // Listeners end, and so do clients between requests.
            worker.thread.scheduler().wake_all(Wake::SIGNAL);
            worker.thread.stop_busy_polling();
            worker.idle.clear_all();
        }
        if worker.shared.is_stopping() && worker.clients.get() == 0 {
            worker.thread.stop();
            return;
        }
    }
}

fn next_purge(worker: &Worker) -> Tick {
    worker.thread.tick().plus_ms(PURGE_MS)
}
