//! Idle connections that belong to no thread: parked with their server, for any thread that lacks
//! one.
//!
//! No task watches a parked connection: a thread that takes one checks first that it is open, and
//! purges close the connections that no thread takes.

use super::Wanted;
use crate::state::backend::server_connection::{ServerConn, Target};
use crate::state::worker::Worker;
use mux::h1;
use reactor::{Handle, Socket};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Relaxed};
use stdx::Mutex;

/// Milliseconds between two purges of parked connections.
pub(super) const TENDED_MS: u32 = 5_000;

/// Purges that a parked connection survives: long enough for a thread to take it.
const PARKED_FOR: u32 = 2;

/// An idle connection of no thread.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) handle: Handle,
    /// The TLS session.
    pub(crate) session: Option<Box<tls::Conn>>,
    pub(crate) mux: h1::H1Conn,
    /// Requests sent on it so far.
    pub(crate) requests: u32,
    pub(crate) target: Target,
    /// Purges that the connection has survived.
    age: u32,
}

impl Parked {
    pub(crate) fn new(
        handle: Handle,
        session: Option<tls::Conn>,
        mux: h1::H1Conn,
        requests: u32,
        target: Target,
    ) -> Self {
        Self { handle, session: session.map(Box::new), mux, requests, target, age: 0 }
    }
}

/// A server's parked connections.
#[derive(Debug, Default)]
pub struct SharedPool {
    list: Mutex<Vec<Parked>>,
    /// The length of the list, read without the lock.
    count: AtomicU32,
}

impl SharedPool {
    fn lock(&self) -> MutexGuard<'_, Vec<Parked>> {
        self.list.lock()
    }

    /// The number of parked connections.
    pub fn count(&self) -> u32 {
        self.count.load(Relaxed)
    }

    fn recount(&self, list: &[Parked]) {
        self.count.store(u32::try_from(list.len()).unwrap_or(u32::MAX), Relaxed);
    }

    /// Takes the newest open connection of this kind; `moves` counts the changes of the server's
    /// address.
    pub(super) fn take<T>(
        &self,
        worker: &Worker,
        (wanted, moves): (Wanted, u32),
        make: impl FnOnce(Socket, Parked) -> T,
    ) -> Option<T> {
        let (kernel, activity) = (worker.thread.kernel(), worker.thread.heartbeat().activity());
        let mut list = self.lock();
        while let Some(at) = list.iter().rposition(|it| wanted.fits(it.target.key, it.requests)) {
            let candidate = list.remove(at);
            self.recount(&list);
            if candidate.target.moves != moves || !kernel.is_quiet(candidate.handle) {
                activity.found_dead.add(1);
                kernel.close(candidate.handle, true);
                continue;
            }
            let socket = Socket::adopt_idle(&worker.thread, candidate.handle).ok()?;
            activity.taken_over.add(1);
            return Some(make(socket, candidate));
        }
        None
    }

    /// Closes all parked connections.
    pub fn clear(&self, worker: &Worker) {
        let mut list = self.lock();
        list.drain(..).for_each(|it| worker.thread.kernel().close(it.handle, true));
        self.recount(&list);
    }

    /// Closes connections that no thread took in time or that their server has closed; tells
    /// whether any are left.
    fn purge(&self, worker: &Worker) -> bool {
        if self.count() == 0 {
            return false;
        }
        let kernel = worker.thread.kernel();
        let mut list = self.lock();
        list.retain_mut(|it| {
            it.age += 1;
            let keep = it.age <= PARKED_FOR && kernel.is_quiet(it.handle);
            if !keep {
                kernel.close(it.handle, true);
            }
            keep
        });
        self.recount(&list);
        !list.is_empty()
    }
}

/// Parks a connection for any thread. `false`: the server has closed the connection.
pub(super) fn park(worker: &Worker, connection: ServerConn) -> bool {
    let Some(server) = connection.server().cloned() else { return false };
    let Some(parked) = connection.park() else { return false };
    let parking = &server.parked;
    let mut list = parking.lock();
    list.push(parked);
    parking.recount(&list);
    drop(list);
    tend(worker);
    true
}

/// Adds the job that purges parked connections, unless it is there already.
fn tend(worker: &Worker) {
    if worker.shared.parked_tended.swap(true, AcqRel) {
        return;
    }
    let (work, due) = (&worker.shared.work, worker.millis() + u64::from(TENDED_MS));
    work.add(worker.thread.index, work.all_threads(), due, Box::new(tend_again));
}

/// The job that purges parked connections; returns when it has to run again, if at all.
pub fn tend_again(worker: &Worker, now: u64) -> Option<u64> {
    let again = Some(now + u64::from(TENDED_MS));
    if all(worker).filter(|parking| parking.purge(worker)).count() > 0 {
        return again;
    }
    // A thread that parked a connection just now may have found the job still there; so the job
    // looks once more.
    worker.shared.parked_tended.swap(false, AcqRel);
    let any = all(worker).any(|parking| parking.count() > 0);
    again.filter(|_| any && !worker.shared.parked_tended.swap(true, AcqRel))
}

fn all(worker: &Worker) -> impl Iterator<Item = &SharedPool> {
    let servers = worker.shared.proxies.iter().flat_map(|it| &it.back).flat_map(|it| &it.servers);
    servers.map(|server| &server.parked)
}
