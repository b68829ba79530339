//! Clients are moved to a thread with fewer clients (`tune.listener.multi-queue`).
//!
//! The system wakes any sleeping thread, so threads that are woken first would get most clients.
//! Each accepted client is moved to another thread, drawn at random, if that one has clearly fewer.

use crate::frontend::listener;
use engine::state::session::client;
use engine::state::session::client::Client;
use engine::state::worker::Worker;
use reactor::{Handle, Socket};
use settings::Bind;
use std::net::SocketAddr;

/// The surplus of clients above which a thread moves one to another thread, in addition to a
/// quarter.
const SLACK: u32 = 2;

/// The thread to which a client of this bind line is moved; `None` for the running one.
pub(crate) fn choose(worker: &Worker, bind: &Bind) -> Option<usize> {
    let (shared, own) = (&worker.shared, worker.thread.index);
    let threads = shared.settings.threads;
    if !shared.settings.spreads_clients || threads < 2 {
        return None;
    }
    let lot = worker.thread.prng().next_u64() as usize;
    let other = match bind.threads.len() {
        0 => lot % threads,
        count => usize::from(bind.threads[lot % count]),
    };
    let theirs = shared.loads.of(other);
    let fewer = theirs + theirs / 4 + SLACK < shared.loads.of(own);
    (other != own && fewer && !shared.is_stopping()).then_some(other)
}

/// Moves an accepted client to another thread.
pub(crate) fn send(
    worker: &Worker,
    thread: usize,
    (proxy, bind): (usize, usize),
    (handle, peer): (Handle, Option<SocketAddr>),
) {
    let front = move |worker: &Worker| worker.proxies.get(proxy).and_then(|it| it.front.clone());
    let Some(own) = front(worker) else { return };
    client::enter(worker, &own.front, bind, thread);
    let receive = move |worker: &Worker| {
        let Some(worker) = worker.handle() else { return };
        let Some(proxy) = front(&worker) else { return };
        let socket = Socket::adopt(&worker.thread, handle);
        listener::begin(&worker, Client::entered(&worker, &proxy, bind, socket, peer));
    };
    worker.shared.run_on_thread(thread, Box::new(receive));
}

#[cfg(test)]
mod tests {
    use settings::Mode;
    use testing::World;

    /// Clients of two threads, of which the first has accepted all.
    fn clients(spreads: bool) -> [u32; 2] {
        let (proxy, address) = testing::listen("px", Mode::Http, Vec::new());
        let process =
            settings::Process { spreads_clients: spreads, max_accept: 40, ..testing::process(2) };
        let world = World::with(process, vec![proxy]);
        let clients: Vec<_> = (0..40).map(|_| testing::client(address)).collect();
        world.workers[0].thread.turn(Some(Default::default())).unwrap();
        let held = || [0, 1].map(|thread| world.workers[thread].clients.get() as u32);
        world.until("all are accepted", || held().iter().sum::<u32>() == 40);
        let loads = [0, 1].map(|thread| world.workers[0].shared.loads.of(thread));
        let held = held();
        drop(clients);
        world.until("all have left", || world.frontend("px").connections.current() == 0);
        let left = [0, 1].map(|thread| world.workers[0].shared.loads.of(thread));
        assert_eq!((loads, left), (held, [0, 0]));
        loads
    }

    #[test]
    fn clients_go_to_threads_with_few_clients() {
        let [own, other] = clients(true);
        // Threads are drawn at random, from the fourth client on: so few moves happen once in a
        // hundred million runs.
        assert!((3..=own).contains(&other), "{own}, {other}");
        assert_eq!(clients(false), [40, 0], "who accepts keeps");
    }
}
