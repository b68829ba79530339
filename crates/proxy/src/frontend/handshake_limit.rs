//! The bound on handshakes with clients that are under way, and the listeners that wait for it.
//!
//! Clients that stall in their handshake, or leave while it is queued, would otherwise take all
//! connections of the process (`tune.ssl.max-handshakes`).

use engine::state::runtime::Shared;
use engine::state::worker::Worker;
use reactor::Wake;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// The limit of handshakes under way; 0 for none.
fn most(shared: &Shared) -> u32 {
    shared.settings.max_handshakes.unwrap_or_else(|| shared.maxconn.load(Relaxed).div_ceil(2))
}

/// Whether the limit of handshakes under way is reached.
pub(crate) fn is_reached(shared: &Shared) -> bool {
    let most = most(shared);
    most > 0 && shared.tls.handshakes.current() >= most
}

/// A client's share in the number of handshakes under way, returned when dropped.
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
        // Resuming the listener for each single client would change the poller's watch as often.
        let (now, most) = (worker.shared.tls.handshakes.current(), most(&worker.shared));
        if paused.borrow().is_empty() || now >= most - most / 4 {
            return;
        }
        for task in paused.borrow_mut().drain(..) {
            worker.thread.scheduler().wake(task, Wake::OTHER);
        }
    }
}
