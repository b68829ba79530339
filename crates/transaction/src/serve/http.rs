//! The life of one HTTP request, top to bottom.

use crate::connect;
use crate::filters;
use crate::forward;
use crate::local_response;
use crate::local_response::cached;
use crate::message::read_request;
use crate::serve::background_validation;
use crate::serve::send_response;
use crate::serve::service;
use crate::serve::silent_tunnel;
use crate::stages::cache_validation;
use crate::stages::stage;
use crate::stages::stage::{Respond, StageOutcome};
use crate::stages::table::{Pass, RECEIVED, STICK_STORE, ServerPass};
use engine::state::runtime::BackendRef;
use engine::state::session::client::Last;
use engine::state::session::stream_list::Listed;
use engine::state::session::transaction::{
    Arrival, LocalBody, Outcome, Parts, Pause, Progress, Transaction,
};
use observability::telemetry::accounting;
use observability::telemetry::flight_recorder;
use observability::telemetry::trace::points as trace;
use settings::Mode;
use table::DataType;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use upstream::traffic_health;

/// Serves one request.
pub async fn run(parts: Parts) -> Outcome {
    let arrival = parts.arrival;
    let mut tx = Transaction::new(parts);
    trace::at(&tx, &trace::STREAM_NEW);
    trace::at(&tx, &trace::HTTP_NEW);
    filters::begin(&mut tx);
    if let Err(failure) = serve(&mut tx, arrival).await {
        fail(&mut tx, failure).await;
    }
    conclude(tx)
}

/// Ends a transaction, unless its exchange goes on as a tunnel.
#[inline]
pub(super) fn conclude(mut tx: Transaction) -> Outcome {
    match tx.tunnel.take() {
        None => finish(tx),
        Some(times) => silent_tunnel::begin_exchange(tx, *times),
    }
}

/// The path of a successful request; every other outcome is a failure with an ending of its own.
async fn serve(tx: &mut Transaction, arrival: Arrival) -> Result<(), Failure> {
    if !read_request::at_once(tx, arrival)? {
        read_request::head(tx, arrival).await?;
    }
    list(tx);
    follow(tx, Pass::Frontend).await
}

/// Runs the stages of the frontend, then as [`enter`].
pub(crate) async fn follow(tx: &mut Transaction, pass: Pass) -> Result<(), Failure> {
    let front = tx.client.proxy.common.clone();
    match stage::request(tx, &front, pass).await? {
        StageOutcome::Forward(backend) => enter(tx, backend).await,
        StageOutcome::Respond(respond) => answer(tx, respond).await,
        _ => Ok(()),
    }
}

/// Runs the stages of a backend, and forwards the request.
pub(crate) async fn enter(tx: &mut Transaction, backend: BackendRef) -> Result<(), Failure> {
    accounting::enter_backend(tx, backend.clone());
    let entered = stage::request(tx, &backend.common, Pass::Backend).await?;
    forward_to(tx, backend, entered).await
}

/// Forwards a request that has passed the stages of its backend.
pub(super) async fn forward_to(
    tx: &mut Transaction,
    backend: BackendRef,
    entered: StageOutcome,
) -> Result<(), Failure> {
    if let StageOutcome::Respond(respond) = entered {
        return answer(tx, respond).await;
    }
    if let Some(listed) = &tx.stream_entry {
        listed.change_http(|http| http.forward(tx.request_body));
    }
    connect::run(tx, &backend).await?;
    trace::at(tx, &trace::CONNECTED);
    if ServerPass::Connected.rows(tx, &backend) != 0 {
        Box::pin(stage::server(tx, &backend, ServerPass::Connected)).await?;
    }
    loop {
        match forward::run(tx).await? {
            forward::End::Done => return Ok(()),
            forward::End::FromCache => return Box::pin(send_stored(tx)).await,
            forward::End::Again(reason) => connect::again(tx, &backend, reason).await?,
        }
        trace::at(tx, &trace::CONNECTED);
    }
}

/// Sends a stored response in place of that of the server, whose connection is free then.
async fn send_stored(tx: &mut Transaction) -> Result<(), Failure> {
    keep_server(tx);
    tx.space.up.disown(&mut tx.client.input);
    if let Some(LocalBody::Stored(hit)) = tx.local_body.take() {
        let stored = cache_validation::store(tx, &hit).await;
        tx.local_body = Some(LocalBody::Stored(hit));
        stored?;
    }
    pass_stored(tx).await?;
    send_response::send(tx).await
}

/// Sends the response that is in the workspace.
pub(super) async fn answer(tx: &mut Transaction, respond: Respond) -> Result<(), Failure> {
    match respond {
        Respond::Now => {}
        Respond::Delayed => hold(tx).await,
        Respond::Service(service) => return Box::pin(service::run(tx, service)).await,
        Respond::Stored => {
            background_validation::begin(tx);
            filters::request_head(tx)?;
            pass_stored(tx).await?;
        }
    }
    send_response::send(tx).await
}

/// The rules about responses, applied to what a cache has answered in place of a server. Its body
/// is made as it is sent, so rules that wait for it continue without it.
///
/// # Errors
/// A rule refuses or replaces the answer.
async fn pass_stored(tx: &mut Transaction) -> Result<(), Failure> {
    let mut at = Progress::at(RECEIVED, local_response::body_kind(tx));
    if let Some(need) = stage::response(tx, &mut at, STICK_STORE)? {
        Box::pin(stage::resume(tx, Pause { at, need }, STICK_STORE)).await?;
    }
    Ok(())
}

/// The transaction is one of the thread's streams from now on.
pub(crate) fn list(tx: &mut Transaction) {
    let http = (tx.client.mode == Mode::Http).then(|| tx.http());
    tx.stream_entry = Some(Listed::new(&tx.worker, &tx.client, tx.notes.usage, http));
    accounting::number(tx);
}

/// Sends the client an error response, if no head was sent yet.
pub(crate) async fn fail(tx: &mut Transaction, failure: Failure) {
    tx.notes.journal.end(failure.cause, failure.phase);
    trace::at(tx, &trace::FAILED);
    let blamed = failure.blames_server();
    if failure.phase == Phase::Headers && blamed {
        traffic_health::failed(tx, tx.notes.journal.connected);
    }
    if matches!(failure.ending.error(), Some(502 | 504))
        && failure.phase == Phase::Headers
        && blamed
    {
        accounting::count_tracked(tx, DataType::FAILURE, 1);
    }
    tx.drop_server();
    // Bytes of the body that were received and not sent on are no part of the next request.
    tx.space.up.disown(&mut tx.client.input);
    tx.local_body = None;
    let unanswered = !tx.client.mux.has_sent_head();
    if failure.cause == Cause::ClientAbort {
        // The client sends no further request.
        tx.client.mux.close_after_message();
    }
    filters::response_is_replaced(tx);
    if unanswered && cached::replace_error(tx, failure) {
        if let Err(failure) = Box::pin(send_stored(tx)).await {
            Box::pin(fail(tx, failure)).await;
        }
        return;
    }
    if failure.ending != Ending::Close && unanswered {
        if let Some(status) = failure.ending.error() {
            local_response::prepare_error(tx, status);
        }
        if send_response::send(tx).await.is_err() {
            tx.client.mux.close_after_message();
        }
    } else {
        tx.client.mux.close_after_message();
    }
}

/// Holds a tarpitted request for as long as configured, or until the client has gone.
async fn hold(tx: &mut Transaction) {
    let timeouts = &tx.side().settings.timeouts;
    let Some(span) = timeouts.tarpit.or(timeouts.connect) else { return };
    let thread = tx.worker.thread.clone();
    let until = thread.tick().plus_ms(span);
    let socket = &tx.client.socket;
    while !until.is_due(thread.tick()) && !socket.is_closed() {
        socket.want_close();
        socket.want_reset();
        thread.scheduler().wait(Some(until)).await;
    }
}

/// Logs the transaction, and closes its connections or hands them on.
pub(crate) fn finish(mut tx: Transaction) -> Outcome {
    tx.notes.journal.ended = tx.worker.thread.nanos();
    accounting::finished(&mut tx);
    filters::end(&mut tx);
    trace::at(&tx, &trace::HTTP_END);
    trace::at(&tx, &trace::STREAM_END);
    flight_recorder::end(&mut tx);
    keep_server(&mut tx);
    drop(tx.claim.take());
    tx.backend_session = None;
    tx.stream_entry = None;
    let reset = tx.reset_client;
    let again = tx.client.mux.can_reuse();
    let farewell = !again && !reset && owes_farewell(&tx);
    note_keep_alive(&mut tx);
    let Transaction { worker, mut client, mut space, mut notes, .. } = tx;
    if !notes.trackers.is_empty() {
        notes.trackers.release(worker.millis());
    }
    client.requests += 1;
    client.since = worker.thread.nanos();
    space.release(&worker);
    worker.give_notes(notes);
    if reset {
        client.vanishes = true;
    }
    if !again {
        return if farewell { Outcome::Farewell(client) } else { Outcome::Over };
    }
    client.mux.reset_for_next();
    if client.input.is_empty() {
        worker.release(std::mem::replace(&mut client.input, buf::Buf::empty()));
    }
    Outcome::Again(client)
}

/// Behind a frontend in TCP mode, which has no requests, the backend sets the time to wait for the
/// next request (manual, `timeout http-keep-alive`).
#[inline]
fn note_keep_alive(tx: &mut Transaction) {
    let modes = (tx.client.proxy.settings.mode, tx.client.mode);
    if let (true, Some(backend)) = (modes == (Mode::Tcp, Mode::Http), &tx.backend) {
        let timeouts = &backend.settings.timeouts;
        let span = timeouts.http_keep_alive.or(timeouts.http_request);
        tx.client.rare.set_keep_alive(span);
    }
}

/// Hands the client back as if it had never been served.
pub(crate) fn give_client_back(mut tx: Transaction) -> Outcome {
    trace::at(&tx, &trace::STREAM_END);
    std::mem::swap(&mut tx.notes.variables.session, &mut tx.client.variables);
    let Transaction { worker, client, mut space, mut notes, .. } = tx;
    if !notes.trackers.is_empty() {
        notes.trackers.release(worker.millis());
    }
    space.release(&worker);
    worker.give_notes(notes);
    Outcome::Again(client)
}

/// Whether the answer, or what there is of it, is on its way to a client that may be sending
/// still: closing at once would reset the connection under it (RFC 9112 section 9.6).
fn owes_farewell(tx: &Transaction) -> bool {
    let (mux, journal) = (&tx.client.mux, &tx.notes.journal);
    if tx.client.socket.is_stream() {
        return false;
    }
    let failed = matches!(journal.cause, Cause::ServerAbort | Cause::ServerTimeout);
    if tx.client.mode == Mode::Tcp {
        return failed && journal.connected == 0;
    }
    let quiet = mux.peer_closes() && mux.has_received_all() && tx.client.input.is_empty();
    let left = matches!(journal.cause, Cause::ClientAbort | Cause::ClientTimeout);
    let cut = journal.bytes_out > 0 && (journal.bad_request || failed);
    let answered = mux.has_sent_all() || cut;
    !quiet && !left && !mux.is_tunnel() && answered && tx.space.down.is_flushed()
}

/// Returns the server connection to the pool, if it can be reused.
fn keep_server(tx: &mut Transaction) {
    let Some(mut server) = tx.server.take() else { return };
    server.choose_end();
    let spare = server.take_input();
    let clean = spare.is_empty();
    tx.worker.release(spare);
    if !clean || !server.mux.can_reuse() || tx.worker.shared.is_stopping() {
        return;
    }
    let prefers = tx.challenged || tx.back_settings().is_some_and(|back| back.prefer_last);
    let place = server.server().filter(|_| prefers);
    tx.client.last = place.and_then(|it| Last::new(it.backend(), it.slot(), tx.challenged));
    server.mux.reset_for_next();
    server.socket().want_nothing();
    // A last read that filled its buffer or a pipe does not tell whether there is more.
    if let Some(socket) = server.socket().bare().filter(|socket| socket.is_readable()) {
        socket.recheck_readable();
    }
    if server.is_private() {
        let limit = tx.client.proxy.front.settings.own_connections;
        tx.client.put_own(server, limit);
    } else {
        tx.worker.idle.put(server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of the future that a function returns.
    fn size<F: Future>(_: fn(Parts) -> F) -> usize {
        size_of::<F>()
    }

    /// Rare waits are separate futures, so that the usual one is small.
    #[test]
    fn the_future_of_a_transaction_is_small() {
        assert!(size(run) <= 768, "{}", size(run));
    }
}
