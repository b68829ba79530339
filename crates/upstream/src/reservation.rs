//! A request's claim on a server: the choice, and the wait for a slot on it.
use crate::balance_key;
use crate::client_presence;
use balance::{Algorithm, NoServer, PickRequest, Ticket};
use engine::state::backend::dynamic_maxconn;
use engine::state::backend::queue::{Priority, Queue, QueuePlace, QueueTurn, Waiter};
use engine::state::backend::reservation::Claim;
use engine::state::backend::reservation::count_both;
use engine::state::runtime::{Backend, Server};
use engine::state::session::client::Last;
use engine::state::session::transaction::{Persistence, Transaction};
use engine::state::thread_handle::{BackendRef, LocalServer};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use stdx::Tick;
use transport::stats::counters::{Block, Event, Metric};
use transport::stats::transaction_log::{Cause, Chooser, Failure, Phase};

/// The result of the choice of a server.
pub enum Reservation {
    /// The request holds a slot on a server.
    Slot,
    /// The request has to wait in the queue of this server.
    ServerQueue(Claim),
    /// No server has room: the request has to wait in the queue of the backend.
    BackendQueue,
}

/// Chooses a server (persistence, the algorithm of `balance`), and takes a slot on it if one is
/// free.
///
/// # Errors
/// 503: no server is usable.
pub fn reserve(
    tx: &mut Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
) -> Result<Reservation, Failure> {
    let all = &backend.back;
    if all.limits_move.load(Relaxed) {
        dynamic_maxconn::adjust(all);
    }
    if let Some(mut claim) = Claim::direct(tx, backend) {
        // The server has no limit.
        claim.try_serve();
        take_slot(tx, claim);
        return Ok(Reservation::Slot);
    }
    // Requests in the backend's queue go first, unless the cookie or a hash names a server.
    let hashes = matches!(all.balancer.algorithm(), Algorithm::Hash { .. });
    // Where no server is usable, no further request joins the backend's queue.
    let usable = all.balancer.usable();
    let waits = !all.queue.is_empty() && usable.active + usable.backup > 0;
    if tx.persistent_server.is_none() && !hashes && waits {
        return Ok(Reservation::BackendQueue);
    }
    let mut claim = match choose(tx, backend, avoid) {
        Ok(claim) => claim,
        Err(NoServer::Full) => return Ok(Reservation::BackendQueue),
        Err(NoServer::Unusable) => return Err(refused()),
    };
    if !claim.server.queue.is_empty() || !claim.try_serve() {
        return Ok(Reservation::ServerQueue(claim));
    }
    take_slot(tx, claim);
    Ok(Reservation::Slot)
}

/// The server for another attempt: the claim that the request still holds, or another one.
///
/// # Errors
/// As [`reserve`].
pub fn reserve_again(
    tx: &mut Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
) -> Result<Reservation, Failure> {
    let Some(mut claim) = tx.claim.take() else { return reserve(tx, backend, avoid) };
    claim.ticket.get_or_insert_with(|| Ticket::claim(&claim.server.state));
    if !claim.is_served() && (!claim.server.queue.is_empty() || !claim.try_serve()) {
        return Ok(Reservation::ServerQueue(claim));
    }
    // As in HAProxy, every attempt counts as a session of the server.
    count_session(tx, &claim);
    tx.claim = Some(claim);
    Ok(Reservation::Slot)
}

/// Waits in queues until the request has a slot on a server.
///
/// # Errors
/// 503: the wait took too long, or no server is usable after a wait for one server in particular.
pub async fn wait(
    tx: &mut Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
    mut found: Reservation,
) -> Result<(), Failure> {
    let span = backend.settings.timeouts.queue.or(backend.settings.timeouts.connect);
    let deadline = span.map(|span| tx.worker.thread.tick().plus_ms(span));
    loop {
        let claim = match found {
            Reservation::Slot => return Ok(()),
            Reservation::BackendQueue => Some(claim_any(tx, backend, avoid, deadline).await?),
            Reservation::ServerQueue(mut claim) => {
                let forced = tx.persistence == Persistence::Forced;
                if !has_full_queue(claim.server()) || forced {
                    wait_in_server_queue(tx, &mut claim, deadline).await?.then_some(claim)
                } else {
                    // A request bound to the server by persistence is redispatched; others wait for
                    // any server.
                    let bound = tx.persistent_server.take().is_some();
                    if bound {
                        count_both(Some(&claim), backend, Metric::Redispatches);
                        tx.notes.journal.redispatched = true;
                    }
                    drop(claim);
                    match bound {
                        true => None,
                        false => Some(claim_any(tx, backend, avoid, deadline).await?),
                    }
                }
            }
        };
        if let Some(claim) = claim {
            take_slot(tx, claim);
            return Ok(());
        }
        found = reserve(tx, backend, avoid)?;
    }
}

/// Waits for a slot on any server. As in HAProxy, no algorithm has chosen it: the request is a
/// session of the server whose slot was released.
async fn claim_any(
    tx: &mut Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
    deadline: Option<Tick>,
) -> Result<Claim, Failure> {
    let mut claim = wait_in_backend_queue(tx, backend, avoid, deadline).await?;
    claim.counted = true;
    count_session(tx, &claim);
    Ok(claim)
}

/// `maxqueue`
fn has_full_queue(server: &LocalServer) -> bool {
    let limit = server.settings.max_queue;
    limit != 0 && server.queue.len() >= limit
}

/// The slot is the request's from now on.
fn take_slot(tx: &mut Transaction, mut claim: Claim) {
    if !std::mem::replace(&mut claim.counted, true) {
        count(tx, &claim);
    }
    let server = &claim.server;
    tx.notes.journal.queued = tx.worker.thread.nanos();
    tx.notes.journal.chooser = chooser(tx, server);
    if let Some(listed) = &tx.stream_entry {
        listed.set_server(claim.slot());
    }
    tx.claim = Some(claim);
}

fn count_session(tx: &Transaction, claim: &Claim) {
    claim.server.block().count(Metric::Sessions);
    claim.server.tick(Event::Session, tx.worker.second());
}

fn count(tx: &Transaction, claim: &Claim) {
    let server = &claim.server;
    count_session(tx, claim);
    if tx.persistent_server.is_none() {
        server.block().count(Metric::Balanced);
        claim.backend.block().count(Metric::Balanced);
    }
}

/// The rule, cookie, table or algorithm that chose the server.
fn chooser(tx: &Transaction, server: &LocalServer) -> Chooser {
    match tx.persistent_server {
        _ if server.is_direct() => Chooser::Address,
        None => Chooser::Algorithm,
        Some(_) if tx.selected_by_rule => Chooser::Rule,
        Some(_) if tx.notes.journal.cookie.0 == b'V' => Chooser::Cookie,
        Some(_) => Chooser::Table,
    }
}

/// The server that the request's cookie names, or the algorithm's choice.
fn choose(
    tx: &mut Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
) -> Result<Claim, NoServer> {
    let ticket = pick(tx, backend, avoid)?;
    Claim::new(ticket, backend).ok_or(NoServer::Unusable)
}

fn pick(
    tx: &mut Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
) -> Result<Ticket, NoServer> {
    let back = &backend.back;
    if let Some(server) = tx.persistent_server.and_then(|slot| back.servers.get(slot)) {
        return Ok(Ticket::claim(&server.state));
    }
    let key = balance_key::key(tx, back);
    let thread = &tx.worker.thread;
    if let Some(server) =
        tx.client.last.filter(|_| avoid.is_none()).and_then(|last| stays(last, back))
    {
        return Ok(Ticket::claim(&server.state));
    }
    let wish = PickRequest { key, avoid, random: thread.prng(), now_ns: thread.nanos() };
    back.balancer.pick(&wish)
}

/// The server of the client's last request, if this one should go there too: it holds a connection,
/// and the algorithm leaves a choice (`option prefer-last-server`, `max-keep-alive-queue`).
fn stays(last: Last, back: &Backend) -> Option<&Server> {
    let here = last.backend as usize == back.proxy.index;
    let server = back.servers.get(last.slot()).filter(|_| here)?;
    let hashes = matches!(back.balancer.algorithm(), Algorithm::Hash { .. });
    let patient = last.was_challenged()
        || server.state.load().has_room()
        || back.settings.keep_alive_queue.is_none_or(|limit| server.queue.len() < limit);
    let connected = last.was_challenged() || server.used.current() > 0;
    (!hashes && patient && connected && server.state.is_usable()).then_some(server)
}

/// Whether a request is for this server and no other, even if it is down (`option persist`,
/// `force-persist`).
pub fn insists(tx: &Transaction, slot: usize) -> bool {
    let settings = tx.back_settings();
    let forced = tx.persistence == Persistence::Forced;
    tx.persistent_server == Some(slot) && (forced || settings.is_some_and(|back| back.persists))
}

/// Waits in a server's queue. `false`: the server is gone, choose again.
async fn wait_in_server_queue(
    tx: &mut Transaction,
    claim: &mut Claim,
    deadline: Option<Tick>,
) -> Result<bool, Failure> {
    let (backend, server) = (claim.backend.clone(), claim.server.clone());
    if let Some(ticket) = &mut claim.ticket {
        ticket.enqueue();
    }
    let waiting = Waiting::join(tx, &backend.back, Some(server.slot()));
    let result = loop {
        if !server.state.accepts_persistent() && !insists(tx, server.slot()) {
            tx.persistent_server = None;
            break Ok(false);
        }
        // Checked once more after joining: the release of a slot before that has woken no waiter.
        if waiting.turn() != QueueTurn::No && claim.try_serve() {
            break Ok(true);
        }
        if let Err(failure) = waiting.pause(tx, deadline).await {
            count_failure(Some(server.block()), failure);
            break Err(failure);
        }
    };
    waiting.note(tx, matches!(result, Ok(true)));
    result
}

/// Waits in the backend's queue until a server has room, and takes the slot. The loss of the last
/// server ends no wait, as in HAProxy: it may return before the deadline.
async fn wait_in_backend_queue(
    tx: &mut Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
    deadline: Option<Tick>,
) -> Result<Claim, Failure> {
    let waiting = Waiting::join(tx, &backend.back, None);
    let result = loop {
        let turn = waiting.turn();
        if turn != QueueTurn::No
            && let Some(claim) = any_slot(tx, backend, avoid, turn)
        {
            waiting.took(claim.slot());
            break Ok(claim);
        }
        waiting.pass_on();
        if let Err(failure) = waiting.pause(tx, deadline).await {
            break Err(failure);
        }
    };
    waiting.note(tx, result.is_ok());
    result
}

/// A slot on any server that has one. A request that waits for any server takes every slot that is
/// offered: a slot that it refused would stay empty while others wait behind it. The slot that was
/// released for this request is its own even if others wait for that server in particular.
fn any_slot(
    tx: &Transaction,
    backend: &BackendRef,
    avoid: Option<usize>,
    turn: QueueTurn,
) -> Option<Claim> {
    let (thread, all) = (&tx.worker.thread, &backend.back);
    let wish = PickRequest { key: None, avoid, random: thread.prng(), now_ns: thread.nanos() };
    let served = |mut claim: Claim| claim.try_serve().then_some(claim);
    let chosen = match all.balancer.pick(&wish) {
        Ok(ticket) => Claim::new(ticket, backend).and_then(served),
        Err(NoServer::Full | NoServer::Unusable) => None,
    };
    // The algorithm counts requests in a server's queue as if they were served.
    match turn {
        QueueTurn::Called(slot) if chosen.is_none() && all.balancer.takes_part(slot) => {
            let ticket = Ticket::claim(&all.servers[slot].state);
            Claim::new(ticket, backend).and_then(served)
        }
        _ => chosen,
    }
}

/// A stay in the queue of a server or a backend, which ends when dropped. A slot that was offered
/// to the request and not taken is offered to others then, and so is one that was offered to no
/// request.
struct Waiting<'a> {
    back: &'a Backend,
    slot: Option<usize>,
    place: QueuePlace,
    /// The number of requests served from the queue when the stay began.
    before: u32,
    /// The server, for a stay in the backend's queue, on which a slot was offered and not taken.
    offered: Cell<Option<usize>>,
    /// The request has slept in the queue, and not only checked once more.
    paused: Cell<bool>,
}

impl<'a> Waiting<'a> {
    fn join(tx: &Transaction, back: &'a Backend, slot: Option<usize>) -> Self {
        let thread = &tx.worker.thread;
        let waiter =
            Waiter { mailbox: thread.mailbox().clone(), task: thread.scheduler().current() };
        let (class, offset) = tx.notes.priority;
        let now = (thread.nanos() / 1_000) as i64;
        let order = Priority { class, moment: now + 1_000 * i64::from(offset) };
        let queue = queue(back, slot);
        let (before, place) = (queue.passed(), queue.join(waiter, order));
        Self { back, slot, place, before, offered: Cell::default(), paused: Cell::default() }
    }

    /// Notes how many requests were served since the stay began, this one included; the positions
    /// in several queues of a kind add up (manual section 8.2.3).
    fn note(&self, tx: &mut Transaction, served: bool) {
        let queue = queue(self.back, self.slot);
        let passed = queue.passed().wrapping_sub(self.before).saturating_add(1);
        if served {
            queue.pass();
        }
        let (own, any) = &mut tx.notes.journal.queue_positions;
        let position = if self.slot.is_some() { own } else { any };
        *position = position.saturating_add(passed);
    }

    /// Waits for an offer, or another wake-up.
    async fn pause(&self, tx: &mut Transaction, deadline: Option<Tick>) -> Result<(), Failure> {
        let thread = tx.worker.thread.clone();
        // The time in the queue ends here, whether or not the wait succeeded.
        tx.notes.journal.queued = thread.nanos();
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(Failure::error(503, Cause::ServerTimeout, Phase::Queue));
        }
        client_presence::check_client(tx, Phase::Queue)?;
        // The payload of a stream waits in its connection, where no buffer shows it.
        let holds_payload = tx.client.input.capacity() > 0
            || tx.client.socket.is_stream() && !tx.request_body.is_empty();
        if holds_payload && tx.worker.buffers.is_crowded(true) {
            tx.worker.shared.memory.count_request();
            return Err(Failure::error(503, Cause::Resource, Phase::Queue));
        }
        self.paused.set(true);
        thread.scheduler().wait(deadline).await;
        Ok(())
    }

    fn turn(&self) -> QueueTurn {
        let turn = queue(self.back, self.slot).turn(self.place);
        if let (QueueTurn::Called(slot), None) = (turn, self.slot) {
            self.offered.set(Some(slot));
        }
        turn
    }

    /// The request has taken a slot on a server, possibly the offered one.
    fn took(&self, slot: usize) {
        self.offered.set(self.offered.get().filter(|offered| *offered != slot));
    }

    /// The request stays and has not taken the slot that it was offered: the server is full again,
    /// which settles it, or is out of service, which leaves the slot to the requests in its own
    /// queue.
    fn pass_on(&self) {
        let back = self.back;
        if let Some(slot) = self.offered.take()
            && !back.balancer.takes_part(slot)
        {
            back.offer(slot);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let left = queue(self.back, self.slot).leave(self.place);
        let back = self.back;
        [self.offered.get(), left.called].into_iter().flatten().for_each(|slot| {
            back.offer(slot);
        });
        // If this request never slept, a slot was released before it joined; others may have been
        // too, so wake more waiters.
        if left.missed || !self.paused.get() {
            match self.slot {
                Some(slot) => drop(back.let_in(slot)),
                None => back.let_all_in(),
            }
        }
    }
}

/// The queue of a server, or of the backend.
fn queue(back: &Backend, slot: Option<usize>) -> &Queue {
    slot.map_or(&back.queue, |slot| &back.servers[slot].queue)
}

/// Counts a request that no server took, unless the client left.
pub fn count_failure(block: Option<&Block>, failure: Failure) {
    if failure.cause != Cause::ClientAbort
        && let Some(block) = block
    {
        block.count(Metric::FailedConnections);
    }
}

/// The failure of a request that no server has taken.
pub fn refused() -> Failure {
    Failure::error(503, Cause::ServerAbort, Phase::Connect)
}

#[cfg(test)]
mod tests;
