//! From a backend to a server connection that has taken the request: choice, queue, reuse, retries.
//! Never reads a response.

use crate::case;
use crate::client::Last;
use crate::counters::{Block, Event, Metric};
use crate::hashing;
use crate::idle::{self, Wanted};
use crate::journal::{Cause, Failure, Phase};
use crate::judge;
use crate::limit;
use crate::link::Link;
use crate::machine::Machine;
use crate::observe;
use crate::queue::{Order, Place, Queue, Waiter};
use crate::retry;
use crate::rewrite;
use crate::runtime::{Back, Proxy, ProxyRef, Server};
use crate::server_conn::ServerConn;
use crate::servers::Servers;
use crate::settings::{self, Mode, RetryOn, Reuse};
use crate::sticking;
use crate::tcp;
use crate::transaction::Transaction;
use crate::way::Way;
use balance::{Algorithm, NoServer, Sign, Ticket, Wish};
use mux::{Side, h1};
use std::sync::atomic::Ordering::Relaxed;
use stdx::Tick;

/// The longest wait before the same server is tried again, in milliseconds.
const TURN_AROUND_MS: u32 = 1_000;

/// A request's claim on a server. Its drop gives the place to the next in the queue.
pub(crate) struct Claim {
    ticket: Option<Ticket>,
    backend: ProxyRef,
    slot: usize,
    /// Counted among the server's sessions.
    entered: bool,
}

impl Claim {
    fn new(ticket: Ticket, backend: &ProxyRef) -> Self {
        let slot = ticket.server().slot();
        Self { ticket: Some(ticket), backend: backend.clone(), slot, entered: false }
    }

    /// A claim on what stands for no server, if the backend has that and nothing names a server.
    fn direct(tx: &Transaction, backend: &ProxyRef) -> Option<Self> {
        let direct = back(backend).servers.direct().filter(|_| tx.wanted.is_none())?;
        let ticket = Some(Ticket::claim(&direct.state));
        Some(Self { ticket, backend: backend.clone(), slot: Servers::DIRECT, entered: false })
    }

    /// Whether it is on what stands for no server.
    pub(crate) fn is_direct(&self) -> bool {
        self.slot == Servers::DIRECT
    }

    /// The server.
    pub(crate) fn server(&self) -> &Server {
        &back(&self.backend).servers[self.slot]
    }

    /// Its number in the backend, from 0.
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// Whether it has a place on the server.
    pub(crate) fn is_served(&self) -> bool {
        self.entered
    }

    /// Takes a place on the server if there is room.
    fn try_serve(&mut self) -> bool {
        let served = self.ticket.as_mut().is_some_and(Ticket::try_serve);
        if served && !std::mem::replace(&mut self.entered, true) {
            self.server().sessions.enter();
        }
        served
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        drop(self.ticket.take());
        if self.entered {
            self.server().sessions.leave();
            call_next(&self.backend, self.slot);
        }
    }
}

/// A place on a server is free: its own queue goes first, then the backend's.
pub(crate) fn call_next(backend: &Proxy, slot: usize) {
    let back = back(backend);
    let _ = back.servers[slot].queue.call() || back.queue.call();
}

fn back(proxy: &Proxy) -> &Back {
    proxy.back.as_ref().expect("only proxies with a server side are routed to")
}

/// Finds a server and a connection to it, and sends the request's head.
///
/// # Errors
/// 503 without a server, when all attempts failed, or after too long in a queue.
pub(crate) async fn run(tx: &mut Transaction) -> Result<(), Failure> {
    let Some(backend) = tx.backend.clone() else {
        return Err(Failure::new(503, Cause::ServerAbort, Phase::Connect));
    };
    judge::select(tx, &backend);
    if tx.client.proxy.settings.mode == Mode::Http {
        rewrite::request(tx);
    }
    if backend.rules.sticking {
        sticking::request(tx, &backend);
    }
    hashing::await_body(tx, &backend).await?;
    if tx.left {
        return Err(Failure::new(0, Cause::ClientAbort, Phase::Request));
    }
    attempt(tx, &backend, None).await
}

/// Sends a request again that a server has seen; see [`crate::retry`].
///
/// # Errors
/// As [`run`].
pub(crate) async fn again(tx: &mut Transaction) -> Result<(), Failure> {
    let Some(backend) = tx.backend.clone() else { return Err(refused()) };
    tx.notes.journal.retries += 1;
    let avoid = turn(tx, &backend, None).await?;
    attempt(tx, &backend, avoid).await
}

/// Tries servers until one has taken the request, or the attempts are used up.
async fn attempt(
    tx: &mut Transaction,
    backend: &ProxyRef,
    mut avoid: Option<usize>,
) -> Result<(), Failure> {
    let settings = backend.settings.back.as_ref();
    let (retries, retry_on) =
        settings.map_or((0, RetryOn::NEVER), |back| (back.retries, back.retry_on));
    let plain = tx.client.proxy.settings.mode == Mode::Tcp;
    let retries = if plain || retry_on.has(RetryOn::CONNECTION) { retries } else { 0 };
    loop {
        if tx.claim.is_none()
            && let Err(failure) = assign(tx, backend, avoid).await
        {
            let block = back(backend).counters.of(tx.worker.thread.index);
            count_unserved(block, failure);
            return Err(failure);
        }
        let outcome = establish(tx, backend).await;
        if matches!(outcome, Err(failure) if failure.blames_server()) {
            observe::failed(tx, tx.notes.journal.queued);
            observe::sign(tx, Sign::Unconnected);
        }
        let failure = match outcome {
            Ok(()) => return Ok(()),
            Err(failure) if !failure.blames_server() => return Err(failure),
            Err(failure) => failure,
        };
        if tx.notes.journal.retries >= retries {
            return Err(give_up(tx, backend, failure));
        }
        tx.notes.journal.retries += 1;
        avoid = turn(tx, backend, Some(failure)).await?;
    }
}

/// No server took the request, unless it was the client that left.
fn count_unserved(block: &Block, failure: Failure) {
    if failure.cause != Cause::ClientAbort {
        block.count(Metric::FailedConnections);
    }
}

fn give_up(tx: &mut Transaction, backend: &ProxyRef, failure: Failure) -> Failure {
    let thread = tx.worker.thread.index;
    if let Some(claim) = &tx.claim {
        claim.server().counters.of(thread).count(Metric::FailedConnections);
    }
    back(backend).counters.of(thread).count(Metric::FailedConnections);
    failure
}

/// Prepares another attempt: on another server if that is allowed now, otherwise on the same one,
/// after a pause if it has refused the connection. Returns the server to avoid.
async fn turn(
    tx: &mut Transaction,
    backend: &ProxyRef,
    failure: Option<Failure>,
) -> Result<Option<usize>, Failure> {
    let slot = tx.claim.as_ref().map(Claim::slot);
    let settings = backend.settings.back.as_ref();
    let (redispatch, retries) = settings.map_or((0, 0), |back| (back.redispatch, back.retries));
    let attempt = tx.notes.journal.retries;
    let thread = tx.worker.thread.index;
    let direct = tx.claim.as_ref().is_some_and(Claim::is_direct);
    let redispatch = if direct { 0 } else { redispatch };
    let free = redispatch != 0 && tx.wanted.is_none() && goes_elsewhere(backend);
    if free || redispatches(redispatch, attempt, retries) || server_is_gone(tx) {
        if let Some(claim) = tx.claim.take() {
            claim.server().counters.of(thread).count(Metric::Redispatches);
        }
        back(backend).counters.of(thread).count(Metric::Redispatches);
        tx.notes.journal.redispatched = true;
        tx.wanted = None;
        return Ok(slot);
    }
    if let Some(claim) = &tx.claim {
        claim.server().counters.of(thread).count(Metric::Retries);
    }
    back(backend).counters.of(thread).count(Metric::Retries);
    if failure.is_some_and(|failure| failure.cause == Cause::ServerAbort) {
        let pause = backend.settings.timeouts.connect.unwrap_or(TURN_AROUND_MS);
        sleep(tx, pause.min(TURN_AROUND_MS)).await?;
    }
    if server_is_gone(tx) {
        tx.claim = None;
    }
    Ok(None)
}

/// Whether the algorithm has another server for the same request, so that nothing is gained by
/// waiting for the one that failed.
fn goes_elsewhere(backend: &Proxy) -> bool {
    let balancer = &back(backend).balancer;
    let usable = balancer.usable();
    let hashes = matches!(balancer.algorithm(), Algorithm::Hash { .. });
    !hashes && usable.active.max(usable.backup) > 1
}

/// `option redispatch n`: every nth retry, or the nth from the last.
fn redispatches(interval: i32, attempt: u32, retries: u32) -> bool {
    match interval {
        0 => false,
        n if n > 0 => attempt.is_multiple_of(n.unsigned_abs()),
        n => attempt == (retries + 1).saturating_sub(n.unsigned_abs()),
    }
}

/// Whether the claimed server was taken out since, so that insisting on it is futile.
fn server_is_gone(tx: &Transaction) -> bool {
    tx.claim.as_ref().is_some_and(|claim| !claim.server().state.accepts_persistent())
}

async fn sleep(tx: &mut Transaction, ms: u32) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    let until = thread.tick().plus_ms(ms);
    while !until.is_due(thread.tick()) {
        stay(tx, Phase::Connect)?;
        thread.scheduler().pause(Some(until)).await;
    }
    Ok(())
}

/// Looks whether the client is still there, and has the task woken when it leaves.
///
/// # Errors
/// It has left: nobody waits for a server any more.
pub(crate) fn stay(tx: &mut Transaction, phase: Phase) -> Result<(), Failure> {
    let left = match tx.client.proxy.settings.mode {
        Mode::Tcp => tcp::has_left(tx),
        Mode::Http => {
            let settings = tx.side().settings.back.as_ref();
            let matters = settings.is_some_and(|settings| settings.abort_on_close);
            if matters && !tx.client.socket.is_readable() {
                tx.client.socket.want_read();
            }
            matters && tx.client.socket.is_closed()
        }
    };
    if left { Err(Failure::new(0, Cause::ClientAbort, phase)) } else { tx.go_on(503, phase) }
}

/// Claims a server, waiting in queues where the limits demand it.
async fn assign(
    tx: &mut Transaction,
    backend: &ProxyRef,
    avoid: Option<usize>,
) -> Result<(), Failure> {
    let span = backend.settings.timeouts.queue.or(backend.settings.timeouts.connect);
    let deadline = span.map(|span| tx.worker.thread.tick().plus_ms(span));
    if back(backend).limits_move.load(Relaxed) {
        limit::adjust(back(backend));
    }
    if let Some(mut claim) = Claim::direct(tx, backend) {
        // It has no limit.
        claim.try_serve();
        return settle(tx, claim);
    }
    loop {
        // Those who wait for any server go first, unless the cookie names one.
        let crowded = tx.wanted.is_none() && !back(backend).queue.is_empty();
        let choice = if crowded { Err(NoServer::Full) } else { choose(tx, backend, avoid) };
        let mut claim = match choice {
            Ok(ticket) => Claim::new(ticket, backend),
            Err(NoServer::Full) => wait_for_any(tx, backend, avoid, deadline).await?,
            Err(NoServer::Unusable) => return Err(refused()),
        };
        let fits = claim.server().queue.is_empty() && claim.try_serve();
        if claim.entered || fits {
            return settle(tx, claim);
        }
        if has_full_queue(claim.server()) && tx.persistence != judge::Persistence::Forced {
            drop(claim);
            // Whoever is bound to the server goes elsewhere; the others wait for any.
            if tx.wanted.take().is_none() {
                let claim = wait_for_any(tx, backend, avoid, deadline).await?;
                return settle(tx, claim);
            }
        } else if wait_for_server(tx, &mut claim, deadline).await? {
            return settle(tx, claim);
        }
    }
}

/// `maxqueue`
fn has_full_queue(server: &Server) -> bool {
    let limit = server.settings.max_queue;
    limit != 0 && server.queue.len() >= limit
}

fn settle(tx: &mut Transaction, claim: Claim) -> Result<(), Failure> {
    let (thread, second) = (tx.worker.thread.index, tx.worker.second());
    let server = claim.server();
    let block = server.counters.of(thread);
    block.count(Metric::Sessions);
    server.counters.tick(thread, Event::Session, second);
    if tx.wanted.is_none() {
        block.count(Metric::Balanced);
        back(&claim.backend).counters.of(thread).count(Metric::Balanced);
    }
    tx.notes.journal.queued = tx.worker.thread.nanos();
    if let Some(listed) = &tx.listed {
        listed.set_server(claim.slot());
    }
    tx.claim = Some(claim);
    Ok(())
}

/// The server that the request's cookie names, or the algorithm's choice.
fn choose(
    tx: &mut Transaction,
    backend: &ProxyRef,
    avoid: Option<usize>,
) -> Result<Ticket, NoServer> {
    let back = back(backend);
    if let Some(server) = tx.wanted.and_then(|slot| back.servers.get(slot)) {
        return Ok(Ticket::claim(&server.state));
    }
    let key = hashing::key(tx);
    let thread = &tx.worker.thread;
    if let Some(server) = tx.client.last.filter(|_| avoid.is_none()).and_then(|last| {
        let settings = backend.settings.back.as_ref()?;
        stays(last, backend.index, back, settings)
    }) {
        return Ok(Ticket::claim(&server.state));
    }
    let wish = Wish { key, avoid, random: thread.prng(), now_ns: thread.nanos() };
    back.balancer.pick(&wish)
}

/// The server of the client's last request, if this one should go there too: it holds a connection,
/// and the algorithm leaves a choice (`option prefer-last-server`, `max-keep-alive-queue`).
fn stays<'a>(
    last: Last,
    backend: usize,
    back: &'a Back,
    settings: &settings::Back,
) -> Option<&'a Server> {
    let server =
        back.servers.get(last.slot as usize).filter(|_| last.backend as usize == backend)?;
    let hashes = matches!(back.balancer.algorithm(), Algorithm::Hash { .. });
    let patient = last.challenged
        || server.state.load().has_room()
        || settings.keep_alive_queue.is_none_or(|limit| server.queue.len() < limit);
    let connected = last.challenged || server.used.current() > 0;
    (!hashes && patient && connected && server.state.is_usable()).then_some(server)
}

/// Waits in a server's queue. `false`: the server is gone, choose again.
async fn wait_for_server(
    tx: &mut Transaction,
    claim: &mut Claim,
    deadline: Option<Tick>,
) -> Result<bool, Failure> {
    let backend = claim.backend.clone();
    let server = &back(&backend).servers[claim.slot];
    // As the manual's example logs it: the place in the queue, this request included.
    tx.notes.journal.queue_positions.0 = server.queue.len() + 1;
    if let Some(ticket) = &mut claim.ticket {
        ticket.enqueue();
    }
    let waiting = Waiting::join(tx, &backend, Some(claim.slot));
    loop {
        // Looked at once more after joining: a place that came free in between has called nobody.
        if waiting.may_try() && claim.try_serve() {
            return Ok(true);
        }
        if !server.state.accepts_persistent() {
            return Ok(false);
        }
        if let Err(failure) = waiting.pause(tx, deadline).await {
            count_unserved(server.counters.of(tx.worker.thread.index), failure);
            return Err(failure);
        }
    }
}

/// Waits in the backend's queue until a server has room, and takes the place.
async fn wait_for_any(
    tx: &mut Transaction,
    backend: &ProxyRef,
    avoid: Option<usize>,
    deadline: Option<Tick>,
) -> Result<Claim, Failure> {
    tx.notes.journal.queue_positions.1 = back(backend).queue.len() + 1;
    let waiting = Waiting::join(tx, backend, None);
    loop {
        if waiting.may_try() {
            match choose(tx, backend, avoid) {
                Ok(ticket) => {
                    let mut claim = Claim::new(ticket, backend);
                    if claim.try_serve() {
                        return Ok(claim);
                    }
                }
                Err(NoServer::Full) => {}
                Err(NoServer::Unusable) => return Err(refused()),
            }
        }
        waiting.pause(tx, deadline).await?;
    }
}

/// A stay in the queue of a server or a backend, which ends when dropped; a call that was not used
/// is passed on.
struct Waiting<'a> {
    backend: &'a Proxy,
    slot: Option<usize>,
    place: Place,
}

impl<'a> Waiting<'a> {
    fn join(tx: &Transaction, backend: &'a Proxy, slot: Option<usize>) -> Self {
        let thread = &tx.worker.thread;
        let waiter =
            Waiter { mailbox: thread.mailbox().clone(), task: thread.scheduler().current() };
        let (class, offset) = tx.notes.priority;
        let now = (tx.worker.thread.nanos() / 1_000_000) as i64;
        let order = Order { class, moment: now + i64::from(offset) };
        Self { backend, slot, place: queue(backend, slot).join(waiter, order) }
    }

    /// Waits to be called, or woken for another reason.
    async fn pause(&self, tx: &mut Transaction, deadline: Option<Tick>) -> Result<(), Failure> {
        let thread = tx.worker.thread.clone();
        // Until the end of this wait, whatever it leads to.
        tx.notes.journal.queued = thread.nanos();
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(Failure::new(503, Cause::ServerTimeout, Phase::Queue));
        }
        stay(tx, Phase::Queue)?;
        thread.scheduler().pause(deadline).await;
        Ok(())
    }

    fn may_try(&self) -> bool {
        queue(self.backend, self.slot).may_try(self.place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let owes_call = !queue(self.backend, self.slot).leave(self.place);
        match self.slot {
            Some(slot) if owes_call => call_next(self.backend, slot),
            None if owes_call => drop(back(self.backend).queue.call()),
            _ => {}
        }
    }
}

/// The queue of a server, or of the backend.
fn queue(backend: &Proxy, slot: Option<usize>) -> &Queue {
    let back = back(backend);
    slot.map_or(&back.queue, |slot| &back.servers[slot].queue)
}

/// Gets a connection to the claimed server and sends the head of the request on it.
async fn establish(tx: &mut Transaction, backend: &ProxyRef) -> Result<(), Failure> {
    let Some(slot) = tx.claim.as_ref().map(Claim::slot) else { return Err(refused()) };
    tx.drop_server();
    if tx.client.proxy.settings.mode == Mode::Tcp {
        return establish_plain(tx, backend, slot).await;
    }
    let place = back(backend).servers[slot].location.now();
    let way = Way::new(tx, &back(backend).servers[slot], &place.address);
    let deadline = connect_deadline(tx);
    let (mut server, fresh) = match reuse(tx, backend, slot, way.key) {
        Reused::Yes(server) => (server, false),
        Reused::No => (open(tx, backend, slot, &way)?, true),
        Reused::Elsewhere(wanted) => match elsewhere(tx, backend, slot, wanted).await {
            Some(server) => (server, false),
            None => (open(tx, backend, slot, &way)?, true),
        },
    };
    server.socket().own();
    if fresh {
        way.begin(tx, server.socket(), deadline, true, &place.address).await?;
    }
    server.count_request();
    count_connection(tx, backend, fresh);
    tx.space.up.clear();
    let again = tx.kept.is_some();
    retry::keep_head(tx);
    retry::restore_head(tx);
    name_server(tx, backend, slot);
    let space = &mut *tx.space;
    server.mux.raise_mode(tx.client.proxy.settings.connection_mode.into());
    if server.is_worn_out() {
        server.mux.close_after_message();
    }
    if backend.settings.back.as_ref().is_some_and(|back| back.pretend_keep_alive) {
        server.mux.pretend_keep_alive();
    }
    let body = tx.request_body;
    let out = &mut space.up.outbox.bytes;
    case::request(&tx.worker, backend, &mut server.mux, (&mut space.request, body), out);
    if let Some(kept) = tx.kept.as_mut().filter(|_| again) {
        retry::replay(kept, &mut space.up, &mut server.mux);
    }
    if tx.client.mux.is_ambiguous() {
        // Unlike the client, the server cannot misread what it was sent: nothing is announced.
        server.mux.close_after_message();
    }
    tx.server = Some(server);
    if fresh {
        stand(tx, deadline).await?;
        observe::sign(tx, Sign::Connected);
    }
    tx.notes.journal.connected = tx.worker.thread.nanos();
    Ok(())
}

/// `http-send-name-header`: the field always names the server at hand, whatever was tried before.
fn name_server(tx: &mut Transaction, backend: &ProxyRef, slot: usize) {
    let header = backend.settings.back.as_ref().and_then(|back| back.name_header.as_ref());
    if let Some(header) = header.filter(|_| slot != Servers::DIRECT) {
        let name = back(backend).servers[slot].state.name();
        tx.space.request.set(header.as_bytes(), name.as_bytes());
    }
}

/// A connection that carries bytes: nothing goes first but what the client has said already.
async fn establish_plain(
    tx: &mut Transaction,
    backend: &ProxyRef,
    slot: usize,
) -> Result<(), Failure> {
    let place = back(backend).servers[slot].location.now();
    let way = Way::new(tx, &back(backend).servers[slot], &place.address);
    let mut server = open(tx, backend, slot, &way)?;
    server.socket().own();
    server.mux.close_after_message();
    count_connection(tx, backend, true);
    let thread = tx.worker.thread.clone();
    let deadline = connect_deadline(tx);
    let more = !tx.client.input.is_empty();
    way.begin(tx, server.socket(), deadline, more, &place.address).await?;
    while !tcp::greet(tx, server.socket()).map_err(|_| refused())? {
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(Failure::new(503, Cause::ServerTimeout, Phase::Connect));
        }
        stay(tx, Phase::Connect)?;
        server.socket().want_write();
        thread.scheduler().pause(deadline).await;
    }
    tx.server = Some(server);
    tx.notes.journal.connected = thread.nanos();
    // Of what is carried nothing is understood: only the connection can be timed.
    observe::answered(tx, tx.notes.journal.queued);
    observe::sign(tx, Sign::Connected);
    Ok(())
}

/// When a connection that is begun now has taken too long.
fn connect_deadline(tx: &Transaction) -> Option<Tick> {
    let span = tx.side().settings.timeouts.connect;
    span.map(|span| tx.worker.thread.tick().plus_ms(span))
}

fn count_connection(tx: &mut Transaction, backend: &Proxy, fresh: bool) {
    tx.notes.journal.fresh = fresh;
    let metric = if fresh { Metric::Connects } else { Metric::Reuses };
    let thread = tx.worker.thread.index;
    back(backend).counters.of(thread).count(metric);
    if let Some(claim) = &tx.claim {
        claim.server().counters.of(thread).count(metric);
    }
}

/// What there is for a request that needs a connection.
enum Reused {
    /// An idle connection that it may use.
    Yes(Box<ServerConn>),
    /// None here; another thread may have one.
    Elsewhere(Wanted),
    /// It needs a new one.
    No,
}

/// Looks for an idle connection of this kind that this request may use.
fn reuse(tx: &mut Transaction, backend: &ProxyRef, slot: usize, key: u64) -> Reused {
    if let Some(own) = tx.client.own.take(backend.index, slot, key) {
        return Reused::Yes(own);
    }
    let first = tx.client.requests == 0;
    let policy = reuse_policy(backend, slot);
    let proven = match policy {
        Reuse::Never => return Reused::No,
        Reuse::Safe if first => return Reused::No,
        Reuse::Aggressive => first,
        Reuse::Safe | Reuse::Always => false,
    };
    let wanted = Wanted { key, proven };
    match tx.worker.idle.take(backend.index, slot, wanted) {
        Some(server) => Reused::Yes(server),
        None if tx.worker.shared.shares_pools() => Reused::Elsewhere(wanted),
        None => Reused::No,
    }
}

/// When a request to the server in this slot may use an idle connection. One to no server in
/// particular is its client's own.
fn reuse_policy(backend: &Proxy, slot: usize) -> Reuse {
    let settings = backend.settings.back.as_ref().filter(|_| slot != Servers::DIRECT);
    settings.map_or(Reuse::Never, |back| back.reuse)
}

/// An idle connection of another thread, or of none.
async fn elsewhere(
    tx: &mut Transaction,
    backend: &ProxyRef,
    slot: usize,
    wanted: Wanted,
) -> Option<Box<ServerConn>> {
    if back(backend).servers[slot].idle() == 0 {
        return None;
    }
    let worker = tx.worker.clone();
    Box::pin(idle::take_over(&worker, backend, slot, wanted)).await
}

fn open(
    tx: &Transaction,
    backend: &ProxyRef,
    slot: usize,
    way: &Way,
) -> Result<Box<ServerConn>, Failure> {
    let place = back(backend).servers[slot].location.now();
    let socket = way.open(&tx.worker.thread, &place.address).map_err(|_| refused())?;
    let settings = tx.worker.mux_settings(backend, Side::Server);
    let mux = Machine::H1(h1::Conn::new(Side::Server, settings));
    let mut server = Box::new(ServerConn::new(Link::Socket(socket), mux, backend, slot));
    server.set_way(way.key, way.to);
    if reuse_policy(backend, slot) == Reuse::Never {
        server.make_private();
    }
    Ok(server)
}

/// Sends what goes first, which tells whether the connection stands.
async fn stand(tx: &mut Transaction, deadline: Option<Tick>) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    loop {
        let Some(server) = &tx.server else { return Err(refused()) };
        match tx.space.up.greet(server.socket()) {
            Ok(true) => return Ok(()),
            Ok(false) if tx.space.up.sent > 0 => return Ok(()),
            Ok(false) => {}
            Err(_) => return Err(refused()),
        }
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(Failure::new(503, Cause::ServerTimeout, Phase::Connect));
        }
        tx.go_on(503, Phase::Connect)?;
        server.socket().want_write();
        thread.scheduler().pause(deadline).await;
    }
}

fn refused() -> Failure {
    Failure::new(503, Cause::ServerAbort, Phase::Connect)
}
