//! Connections to agents of SPOE: a keeper per agent opens them, a task each serves them.

mod connection;
#[cfg(test)]
mod tests;

use engine::state::spoe::SpoeAgentPool;
use engine::state::worker::Worker;
use reactor::Class;
use std::rc::Rc;

/// The pause when `maxconnrate` is reached, in milliseconds.
const PAUSE_MS: u32 = 100;

/// Starts the keepers of a thread.
pub(crate) fn start(worker: &Rc<Worker>) {
    for agent in &worker.spoe {
        let keeper = keep(worker.clone(), agent.clone());
        agent.set_keeper(worker.thread.scheduler().spawn(Class::Normal, keeper));
    }
}

/// Opens connections while payloads wait for some.
async fn keep(worker: Rc<Worker>, agent: Rc<SpoeAgentPool>) {
    let thread = worker.thread.clone();
    loop {
        let mut pause = None;
        for _ in 0..agent.lacks() {
            if !agent.may_connect(worker.second()) {
                pause = Some(thread.tick().plus_ms(PAUSE_MS));
                break;
            }
            let task = connection::run(worker.clone(), agent.clone(), agent.open());
            thread.scheduler().spawn(Class::Normal, task);
        }
        thread.scheduler().wait(pause).await;
    }
}
