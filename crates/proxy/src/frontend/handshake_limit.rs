//! The bound on handshakes of clients that are under way, and the listeners that wait for it.
//!
//! Clients that stall in their handshake, or leave while it waits for its turn, would otherwise
//! take all connections of the process (`tune.ssl.max-handshakes`).

use engine::state::runtime::Shared;
use engine::state::worker::Worker;
use reactor::Wake;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// How many handshakes of clients may be under way; 0 for any number.
fn most(shared: &Shared) -> u32 {
    shared.settings.max_handshakes.unwrap_or_else(|| shared.maxconn.load(Relaxed).div_ceil(2))
}

/// Whether as many are under way as may be.
pub(crate) fn is_reached(shared: &Shared) -> bool {
    let most = most(shared);
    most > 0 && shared.tls.handshakes.current() >= most
}

/// A client's place among those whose handshakes are under way, given up when dropped.
pub(crate) struct HandshakePlace(Rc<Worker>);

impl HandshakePlace {
    pub(crate) fn enter(worker: &Rc<Worker>) -> Self {
        worker.shared.tls.handshakes.enter();
        Self(worker.clone())
    }
}

impl Drop for HandshakePlace {
    fn drop(&mut self) {
        let Self(worker) = self;
        worker.shared.tls.handshakes.leave();
        let paused = &worker.paused_listeners.0;
        // A listener that accepts one client each time changes what the system watches as often.
        let (now, most) = (worker.shared.tls.handshakes.current(), most(&worker.shared));
        if paused.borrow().is_empty() || now >= most - most / 4 {
            return;
        }
        for task in paused.borrow_mut().drain(..) {
            worker.thread.scheduler().wake(task, Wake::OTHER);
        }
    }
}
