//! Slow starts of servers move on by themselves, whether the servers are checked or not.

use balance::OpState;
use engine::state::runtime::{Backend, Shared};
use engine::state::worker::Worker;
use reactor::{Class, Tick};
use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;

/// How often a weight is looked at during one slow start.
const STEPS: u64 = 20;

/// Starts the task that raises the weight of a server in a slow start, unless there is one.
pub(crate) fn begin(worker: &Worker, back: &Backend, slot: usize) {
    let backend = back.proxy.index;
    if let Some(worker) = worker.handle()
        && claims(&worker.shared, backend, slot)
    {
        let run = run(worker.clone(), backend, slot);
        worker.thread.scheduler().spawn(Class::Normal, run);
    }
}

/// Continues the slow starts that a previous process has left unfinished.
pub(crate) fn resume_all(worker: &Worker) {
    for back in worker.shared.backends() {
        back.servers.iter().for_each(|server| begin(worker, back, server.state.slot()));
    }
}

/// Claims a server in a slow start, unless another task has claimed it.
fn claims(shared: &Shared, backend: usize, slot: usize) -> bool {
    let server = shared.backend_at(backend).and_then(|back| back.servers.get(slot));
    server.is_some_and(|server| {
        server.state.state().0 == OpState::Starting && !server.warming.swap(true, SeqCst)
    })
}

async fn run(worker: Rc<Worker>, backend: usize, slot: usize) {
    let Some(back) = worker.shared.backend_at(backend) else { return };
    let Some(server) = back.servers.get(slot) else { return };
    let step = (server.settings.balance.slowstart_ms / STEPS).clamp(1, Tick::MAX_SPAN_MS.into());
    loop {
        while server.state.state().0 == OpState::Starting {
            let due = worker.thread.tick().plus_ms(step as u32);
            worker.thread.scheduler().wait(Some(due)).await;
            back.balancer.warm_up(slot, worker.millis());
        }
        server.warming.store(false, SeqCst);
        // The server may have come up again before the other threads saw it.
        if !claims(&worker.shared, backend, slot) {
            return;
        }
    }
}
