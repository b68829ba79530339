//! From a backend to a server connection that has taken the request: reuse, new connections,
//! retries.
//!
//! Nearly every request finds a server with room and an idle connection to it. The path of the
//! usual request has no wait ([`at_once`]); all other paths are a separate future, made when
//! needed.

mod early_send;
mod server_redirect;
mod stream_acquire;

use crate::filters;
use crate::message::body_buffer;
use crate::message::header_case;
use crate::retry;
use crate::retry::early_data;
use crate::stages::cookie;
use crate::stages::fcgi;
use crate::stages::http_rules;
use crate::stages::stage;
use crate::stages::table::ServerPass;
use balance::{Algorithm, Sign};
use engine::state::backend::pool::Wanted;
use engine::state::backend::reservation::Claim;
pub(crate) use engine::state::backend::reservation::count_both;
use engine::state::backend::server_address::AddressSnapshot;
use engine::state::backend::server_connection::ServerConn;
use engine::state::backend::trunk::Making;
use engine::state::backend::trunk::reuse_policy;
use engine::state::runtime::BackendRef;
use engine::state::session::client_h2;
use engine::state::session::transaction::Transaction;
use engine::state::thread_handle::{LocalBackend, ServerRef};
use engine::state::worker::connection_mode;
use health::servers::events;
use mux::{Side, h1};
use observability::telemetry::trace::points as trace;
use settings::{Mode, Protocol, RetryOn, Reuse};
use std::io::{self, IoSlice};
use stdx::Tick;
use transport::channel::Link;
pub(crate) use transport::codec::Machine;
use transport::socket::is_transient;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
pub(crate) use upstream::client_presence::check_client;
use upstream::connect_plan::ConnectPlan;
use upstream::reservation;
use upstream::reservation::{Reservation, refused};
use upstream::takeover;
use upstream::traffic_health;

/// The longest pause before an attempt to the same server, in milliseconds.
const TURN_AROUND_MS: u32 = 1_000;

/// Finds a server and a connection to it, and sends the request's head.
///
/// # Errors
/// 503 without a server, when all attempts failed, or after too long in a queue.
pub(crate) async fn run(tx: &mut Transaction, backend: &BackendRef) -> Result<(), Failure> {
    stage::server(tx, backend, ServerPass::Choose).await?;
    http_rules::afford(tx, Phase::Request)?;
    if tx.client_aborted {
        return Err(Failure::close(Cause::ClientAbort, Phase::Request));
    }
    if tx.client.socket.is_cancelled() {
        // The client reset the stream before any server was contacted: no server has to see the
        // request.
        return Err(Failure::close(Cause::ClientAbort, Phase::Request));
    }
    let found = reservation::reserve(tx, backend, None);
    if tx.client.mode == Mode::Http
        && matches!(found, Ok(Reservation::Slot))
        && at_once(tx, backend)
    {
        return Ok(());
    }
    Box::pin(attempt(tx, backend, found, None)).await
}

/// Sends the request's head over an idle connection to the claimed server. `false`: there is none,
/// or the request needs the full path.
fn at_once(tx: &mut Transaction, backend: &BackendRef) -> bool {
    let Some(server) = tx.claim.as_ref().map(|claim| claim.server().clone()) else { return false };
    let settings = &server.settings;
    let usual = settings.link.is_plain() && settings.speech.are_old();
    if !usual || settings.redirect.is_some() {
        return false;
    }
    let Reused::Yes(connection) = reuse(tx, backend, &server, 0) else { return false };
    connection.socket().own();
    let taken = take(tx, backend, connection, false);
    tx.notes.journal.connected = tx.worker.thread.nanos();
    taken.is_ok()
}

/// The reason why a request is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// No connection was taken.
    Refused,
    /// The server was not reached, or its response has a status that is retried.
    Failed,
    /// The idle connection failed, or is to be avoided: the server is not to blame.
    Stale,
}

/// Sends a request again that a server has seen; see [`crate::retry`].
///
/// # Errors
/// As [`run`].
pub(crate) async fn again(
    tx: &mut Transaction,
    backend: &BackendRef,
    reason: Reason,
) -> Result<(), Failure> {
    early_data::await_client_handshake(tx).await?;
    tx.notes.journal.retries += 1;
    tx.notes.journal.stale += u32::from(reason == Reason::Stale);
    let avoid = turn(tx, backend, reason).await?;
    let found = reservation::reserve_again(tx, backend, avoid);
    Box::pin(attempt(tx, backend, found, avoid)).await
}

/// Tries servers, beginning with the claimed one, until one has taken the request, or the attempts
/// are used up.
async fn attempt(
    tx: &mut Transaction,
    backend: &BackendRef,
    mut found: Result<Reservation, Failure>,
    mut avoid: Option<usize>,
) -> Result<(), Failure> {
    let mut refuses = false;
    let settings = &backend.back.settings;
    let (retries, retry_on) = (settings.retries, settings.retry_on);
    let plain = tx.client.mode == Mode::Tcp;
    let retries = if plain || retry_on.has(RetryOn::CONNECTION) { retries } else { 0 };
    loop {
        let claimed = match found {
            Ok(Reservation::Slot) => Ok(()),
            Ok(found) => reservation::wait(tx, backend, avoid, found).await,
            Err(failure) => Err(failure),
        };
        let comes_back = avoid.is_some_and(|from| count_move(tx, backend, from));
        claimed
            .inspect_err(|failure| reservation::count_failure(Some(backend.block()), *failure))?;
        if comes_back && refuses {
            turn_around(tx, backend).await?;
            if server_is_gone(tx) {
                (tx.claim, avoid) = (None, None);
                found = reservation::reserve(tx, backend, None);
                continue;
            }
        }
        tx.claim.iter_mut().for_each(|claim| claim.set_absent(false));
        if let Some(answered) = server_redirect::instead_of(tx) {
            return Err(answered);
        }
        let outcome = establish(tx, backend).await;
        if let Err(failure) = outcome
            && failure.ending == Ending::TooEarly
        {
            return Err(give_up(tx, backend, failure));
        }
        if matches!(outcome, Err(failure) if failure.blames_server()) {
            traffic_health::failed(tx, tx.notes.journal.queued);
            traffic_health::sign(tx, Sign::Unconnected);
        }
        let failure = match outcome {
            Ok(()) => return Ok(()),
            Err(failure) if !failure.blames_server() => return Err(failure),
            // The server has answered, and would answer the same again.
            Err(failure) if failure.ending == Ending::WrongProtocol => return Err(failure),
            Err(failure) => failure,
        };
        trace::at(tx, &trace::UNCONNECTED);
        tx.claim.iter_mut().for_each(|claim| claim.set_absent(true));
        if tx.notes.journal.failed_attempts() >= retries {
            return Err(give_up(tx, backend, failure));
        }
        tx.notes.journal.retries += 1;
        refuses = failure.cause == Cause::ServerAbort;
        let reason = if refuses { Reason::Refused } else { Reason::Failed };
        avoid = turn(tx, backend, reason).await?;
        found = reservation::reserve_again(tx, backend, avoid);
    }
}

fn give_up(tx: &mut Transaction, backend: &BackendRef, failure: Failure) -> Failure {
    count_both(tx.claim.as_ref(), backend, Metric::FailedConnections);
    failure
}

/// Prepares another attempt: on another server if a redispatch is allowed now, otherwise on the
/// same one, after a pause if it refuses connections. Returns the server to avoid.
async fn turn(
    tx: &mut Transaction,
    backend: &BackendRef,
    reason: Reason,
) -> Result<Option<usize>, Failure> {
    let slot = tx.claim.as_ref().map(Claim::slot);
    let settings = &backend.back.settings;
    let (redispatch, retries) = (settings.redispatch, settings.retries);
    let attempt = tx.notes.journal.failed_attempts();
    let direct = tx.claim.as_ref().is_some_and(|claim| claim.server().is_direct());
    let redispatch = if direct { 0 } else { redispatch };
    let free = redispatch != 0 && tx.persistent_server.is_none() && goes_elsewhere(backend);
    let moves = reason != Reason::Stale && redispatches(redispatch, attempt, retries);
    if free || moves || server_is_gone(tx) {
        (tx.claim, tx.persistent_server) = (None, None);
        return Ok(slot);
    }
    count_both(tx.claim.as_ref(), backend, Metric::Retries);
    if reason == Reason::Refused {
        turn_around(tx, backend).await?;
    }
    if server_is_gone(tx) {
        tx.claim = None;
    }
    Ok(None)
}

/// Counts a redispatch, which is one only if another server was found. `true`: the request returns
/// to the same server.
fn count_move(tx: &mut Transaction, backend: &BackendRef, from: usize) -> bool {
    let comes_back = tx.claim.as_ref().is_some_and(|claim| claim.slot() == from);
    tx.notes.journal.redispatched |= !comes_back;
    if !comes_back {
        cookie::redispatched(tx);
    }
    let metric = if comes_back { Metric::Retries } else { Metric::Redispatches };
    let left = backend.server(from);
    let blocks = [left.as_ref().map(|server| server.block()), Some(backend.block())];
    blocks.into_iter().flatten().for_each(|block| block.count(metric));
    comes_back
}

/// A server that refuses connections may be restarting (manual section 4.2, `retries`).
async fn turn_around(tx: &mut Transaction, backend: &BackendRef) -> Result<(), Failure> {
    let pause = backend.settings.timeouts.connect.unwrap_or(TURN_AROUND_MS);
    sleep(tx, pause.min(TURN_AROUND_MS)).await
}

/// Whether the algorithm finds another server for the same request, so that a pause for the failed
/// server is of no use.
fn goes_elsewhere(backend: &LocalBackend) -> bool {
    let balancer = &backend.back.balancer;
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

/// Whether the claimed server has left service since, and the request does not insist on it.
fn server_is_gone(tx: &Transaction) -> bool {
    let gone = |claim: &Claim| !claim.server().state.accepts_persistent();
    tx.claim.as_ref().is_some_and(|claim| gone(claim) && !reservation::insists(tx, claim.slot()))
}

async fn sleep(tx: &mut Transaction, ms: u32) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    let until = thread.tick().plus_ms(ms);
    while !until.is_due(thread.tick()) {
        check_client(tx, Phase::Connect)?;
        thread.scheduler().wait(Some(until)).await;
    }
    Ok(())
}

/// Gets a connection to the claimed server and sends the head of the request on it.
async fn establish(tx: &mut Transaction, backend: &BackendRef) -> Result<(), Failure> {
    let Some(claim) = &tx.claim else { return Err(refused()) };
    let to = claim.server().clone();
    tx.drop_server();
    if tx.client.mode == Mode::Tcp {
        return establish_plain(tx, backend, &to).await;
    }
    let place = to.location.now();
    let way = ConnectPlan::new(tx, &to, &place.address);
    let deadline = connect_deadline(tx);
    let streams = way.may_carry_streams();
    if streams && Box::pin(stream_acquire::reuse(tx, backend, &to, &way, deadline)).await? {
        return Ok(());
    }
    // The wait for a connection under way does not shorten the time to connect.
    let deadline = if streams { connect_deadline(tx) } else { deadline };
    let worker = tx.worker.clone();
    let name = (way.key, tx.client.id);
    let making = streams.then(|| worker.trunks.expect(&worker, &to, name));
    let kept = match way.may_be_h1() {
        true => kept(tx, backend, &to, way.key).await,
        false => None,
    };
    let Some(connection) = kept else {
        return connect(tx, backend, (&to, &place), &way, making, deadline).await;
    };
    connection.socket().own();
    take(tx, backend, connection, false)?;
    tx.notes.journal.connected = tx.worker.thread.nanos();
    Ok(())
}

/// Makes a connection to the claimed server and sends the head of the request on it.
async fn connect(
    tx: &mut Transaction,
    backend: &BackendRef,
    (to, place): (&ServerRef, &AddressSnapshot),
    way: &ConnectPlan,
    making: Option<Making>,
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let mut connection = open(tx, backend, (to, place), way)?;
    connection.socket().own();
    way.begin(tx, connection.socket(), deadline, true, &place.address).await?;
    if early_data::may_go(tx, way) {
        return Box::pin(early_send::send(tx, backend, (way, connection), deadline)).await;
    }
    way.encrypt(tx, connection.socket_mut(), deadline, &[]).await?;
    let protocol = way.protocol_on(connection.socket());
    if protocol != Protocol::H1 {
        let made = (way.target(place), connection.into_link(), protocol);
        return Box::pin(stream_acquire::begin(tx, backend, to, made, making, deadline)).await;
    }
    take(tx, backend, connection, true)?;
    await_connected(tx, deadline).await?;
    traffic_health::sign(tx, Sign::Connected);
    tx.notes.journal.connected = tx.worker.thread.nanos();
    Ok(())
}

/// An idle HTTP/1 connection to a server, of this thread or another one.
async fn kept(
    tx: &mut Transaction,
    backend: &BackendRef,
    to: &ServerRef,
    key: u64,
) -> Option<Box<ServerConn>> {
    match reuse(tx, backend, to, key) {
        Reused::Yes(connection) => Some(connection),
        Reused::No => None,
        Reused::Elsewhere(wanted) => elsewhere(tx, to, wanted).await,
    }
}

/// Makes a connection the one of the request, and encodes the request's head for it.
///
/// # Errors
/// As [`lay_out`].
pub(crate) fn take(
    tx: &mut Transaction,
    backend: &BackendRef,
    mut server: Box<ServerConn>,
    fresh: bool,
) -> Result<(), Failure> {
    encode_request(tx, backend, &mut server, fresh)?;
    count(tx, backend);
    use_connection(tx, server);
    Ok(())
}

/// Counts a request whose head is encoded for its connection.
pub(crate) fn count(tx: &Transaction, backend: &LocalBackend) {
    let journal = &tx.notes.journal;
    let metric = if journal.fresh { Metric::Connects } else { Metric::Reuses };
    count_both(tx.claim.as_ref(), backend, metric);
    if let Some(claim) = tx.claim.as_ref().filter(|_| journal.on_stream) {
        claim.server().block().count(Metric::StreamRequests);
    }
}

/// Encodes the request's head for the connection that it is about to use.
///
/// # Errors
/// The head has no valid form in the protocol of the connection.
pub(crate) fn encode_request(
    tx: &mut Transaction,
    backend: &BackendRef,
    server: &mut ServerConn,
    fresh: bool,
) -> Result<(), Failure> {
    body_buffer::pass_on(tx, sample::Side::Request);
    tx.notes.journal.fresh = fresh;
    tx.notes.journal.on_stream = server.socket().is_stream();
    server.count_request();
    // The previous connection may have failed without an error.
    retry::take_back(tx);
    tx.space.up.clear();
    tx.sent_earlier = 0;
    let again = tx.retry_copy.is_some();
    retry::keep_head(tx, server);
    retry::restore_head(tx, again);
    name_server(tx, backend, server);
    if server.mux.takes_params() {
        fcgi::send_params(tx, backend, &server.mux, server.socket().transport())?;
    }
    let (body, adjusts) = (filters::sent_body(tx), backend.back.settings.adjusts_case);
    let space = &mut *tx.space;
    server.mux.raise_mode(connection_mode(tx.client.proxy.settings.connection_mode));
    if server.has_max_requests() {
        server.mux.close_after_message();
    }
    if backend.back.settings.pretend_keep_alive {
        server.mux.pretend_keep_alive();
    }
    let out = &mut space.up.outbox.bytes;
    if !server.mux.takes_params() {
        header_case::request(&tx.worker, adjusts, &mut server.mux, (&mut space.request, body), out);
    }
    if let Some(kept) = tx.retry_copy.as_mut().filter(|_| again) {
        retry::replay(kept, &mut space.up, &mut server.mux);
    }
    if tx.client.mux.is_ambiguous() {
        // Unlike the client, the server cannot misread the end of the message: no `connection:
        // close` is sent.
        server.mux.close_after_message();
    }
    Ok(())
}

/// The transaction owns this connection from now on.
pub(crate) fn use_connection(tx: &mut Transaction, server: Box<ServerConn>) {
    if let Some(listed) = &tx.stream_entry {
        listed.set_connection(server.socket());
    }
    if let Some(transport) = server.socket().transport() {
        transport.begin_message();
    }
    tx.server = Some(server);
    trace::at(tx, &trace::REQUEST_OUT);
}

/// `http-send-name-header`: the field names the current server, whichever servers were tried
/// before.
fn name_server(tx: &mut Transaction, backend: &LocalBackend, connection: &ServerConn) {
    let header = backend.back.settings.name_header.as_ref();
    let named = connection.server().filter(|server| !server.is_direct());
    if let (Some(header), Some(server)) = (header, named) {
        let name = server.state.name();
        tx.space.request.set(header.as_bytes(), name.as_bytes());
    }
}

/// Connects for bytes: the first ones are those that the client has sent already.
async fn establish_plain(
    tx: &mut Transaction,
    backend: &BackendRef,
    to: &ServerRef,
) -> Result<(), Failure> {
    let place = to.location.now();
    let way = ConnectPlan::new(tx, to, &place.address);
    let mut server = open(tx, backend, (to, &place), &way)?;
    server.socket().own();
    server.mux.close_after_message();
    tx.notes.journal.fresh = true;
    count_both(tx.claim.as_ref(), backend, Metric::Connects);
    let thread = tx.worker.thread.clone();
    let deadline = connect_deadline(tx);
    let more = !tx.client.input.is_empty();
    way.begin(tx, server.socket(), deadline, more, &place.address).await?;
    way.encrypt(tx, server.socket_mut(), deadline, &[]).await?;
    while !greet(tx, server.socket()).map_err(|_| refused())? {
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(Failure::error(503, Cause::ServerTimeout, Phase::Connect));
        }
        check_client(tx, Phase::Connect)?;
        server.socket().want_write();
        thread.scheduler().wait(deadline).await;
    }
    use_connection(tx, server);
    tx.notes.journal.connected = thread.nanos();
    // The payload is opaque: only the connection can be timed.
    traffic_health::answered(tx, tx.notes.journal.queued);
    traffic_health::sign(tx, Sign::Connected);
    Ok(())
}

/// Writes the first bytes to a server; even an empty write shows whether the connection is
/// established. `false`: not yet.
fn greet(tx: &mut Transaction, to: &Link) -> io::Result<bool> {
    match to.send(&[IoSlice::new(tx.client.input.data())], false) {
        Ok(count) => {
            tx.client.input.consume(count);
            tx.space.up.sent += count as u64;
            Ok(true)
        }
        Err(error) if is_transient(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The deadline of a connection attempt that begins now.
fn connect_deadline(tx: &Transaction) -> Option<Tick> {
    let span = tx.side().settings.timeouts.connect;
    span.map(|span| tx.worker.thread.tick().plus_ms(span))
}

/// The result of a search for an idle connection.
enum Reused {
    /// An idle connection for the request.
    Yes(Box<ServerConn>),
    /// This thread has no idle connection; another thread may have one.
    Elsewhere(Wanted),
    /// The request needs a new connection.
    No,
}

/// Whether a request is the first of its client: it must not use a connection that its server may
/// be about to close. A safe request on a stream does not count as first: it is sent again, or its
/// client repeats it by itself (RFC 9113 8.7). To HAProxy no stream is a first request.
pub(crate) fn is_first(tx: &Transaction) -> bool {
    let repeatable = tx.client.socket.is_stream() && tx.space.request.method_id().is_safe();
    tx.client.requests == 0 && !repeatable
}

/// Looks for an idle connection of this kind that this request may use.
fn reuse(tx: &mut Transaction, backend: &BackendRef, server: &ServerRef, key: u64) -> Reused {
    if tx.failed_at.is_some() {
        return Reused::No;
    }
    if let Some(own) = tx.client.take_own(server, key) {
        return Reused::Yes(own);
    }
    let first = is_first(tx);
    let policy = reuse_policy(backend, server);
    let proven = match policy {
        Reuse::Never => return Reused::No,
        Reuse::Safe if first => return Reused::No,
        Reuse::Aggressive => first,
        Reuse::Safe | Reuse::Always => false,
    };
    let wanted = Wanted { key, proven, leaves: left_for_others(tx, server) };
    match tx.worker.idle.take(server, wanted) {
        Some(server) => Reused::Yes(server),
        None if tx.worker.shared.shares_pools() => Reused::Elsewhere(wanted),
        None => Reused::No,
    }
}

/// The most idle connections that a client with many concurrent requests leaves to others.
const LEFT: u32 = 4;

/// The number of idle connections that a request leaves to others: one less than the concurrent
/// requests of its client, at most [`LEFT`], and 0 if the thread has no other client. A client with
/// one request must not have to wait in the server's accept queue behind a hundred connections of
/// another client. It is 0 if the server's limit is near, because idle connections may be all that
/// the server has, and if descriptors run short, because new connections would be closed after one
/// request.
fn left_for_others(tx: &Transaction, server: &ServerRef) -> usize {
    let streams = client_h2::front_of(&tx.client.socket).map_or(1, |front| front.under_way());
    let limit = server.state.load().maxconn();
    let roomy = limit == 0 || server.used.current().saturating_add(LEFT) < limit;
    // Where the pool is small, connections left idle for others would keep later ones from being
    // pooled.
    let room = server.idle().saturating_add(LEFT);
    let keeps = server.settings.pool_max.is_none_or(|limit| room < limit);
    let keeps = keeps && !tx.worker.idle.is_short();
    let others = tx.worker.clients.get() > 1;
    if others && roomy && keeps { streams.saturating_sub(1).min(LEFT) as usize } else { 0 }
}

/// Takes an idle connection of another thread, if any.
async fn elsewhere(
    tx: &mut Transaction,
    server: &ServerRef,
    wanted: Wanted,
) -> Option<Box<ServerConn>> {
    if server.idle() == 0 {
        return None;
    }
    let worker = tx.worker.clone();
    takeover::take_over(&worker, server, Wanted { leaves: 0, ..wanted }).await
}

fn open(
    tx: &Transaction,
    backend: &BackendRef,
    (to, place): (&ServerRef, &AddressSnapshot),
    way: &ConnectPlan,
) -> Result<Box<ServerConn>, Failure> {
    let socket = way.open(&tx.worker.thread, to, &place.address).map_err(|error| {
        if way.has_no_source(&error) {
            events::has_no_source(&tx.worker, &backend.back);
        }
        refused()
    })?;
    let settings = tx.worker.mux_settings(backend, Side::Server);
    let mux = Machine::H1(h1::H1Conn::new(Side::Server, settings));
    let link = Link::Socket(socket.into());
    let mut server = Box::new(ServerConn::new(link, mux, to, way.target(place)));
    tx.worker.idle.make_room(&server);
    if reuse_policy(backend, to) == Reuse::Never {
        server.make_private();
    }
    Ok(server)
}

/// Sends the first bytes; their success shows that the connection is established.
pub(crate) async fn await_connected(
    tx: &mut Transaction,
    deadline: Option<Tick>,
) -> Result<(), Failure> {
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
            return Err(Failure::error(503, Cause::ServerTimeout, Phase::Connect));
        }
        server.socket().want_write();
        check_client(tx, Phase::Connect)?;
        thread.scheduler().wait(deadline).await;
    }
}
