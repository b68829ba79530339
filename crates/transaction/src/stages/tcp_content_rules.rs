//! `tcp-request content` and `tcp-response content`: rules that may wait for bytes.
//!
//! The rules are evaluated from the first one on whenever bytes have arrived (from behind the last
//! one that had its effect by an answer from outside), until one decides, or until nothing can
//! change any more: the delay is over, the buffer is full, or the peer has ended its stream (manual
//! section 4, `tcp-request inspect-delay`). In HTTP mode the head is complete at the first
//! evaluation.

use crate::retry;
use crate::stages::http_rules;
use crate::stages::rule_sections;
use crate::stages::rule_sections::SetOf;
use crate::stages::stage::{Respond, StageOutcome};
use crate::stages::wait;
use buf::Buf;
use engine::state::runtime::{Proxy, ProxyRef};
use engine::state::session::pending::OutsideAnswer;
use engine::state::session::transaction::{Progress, RulePlace, Transaction};
use mux::{Side, h1};
use observability::telemetry::accounting;
use observability::telemetry::sample_context::View;
use reactor::Urgency;
use rules::action::Control;
use rules::{Action, Cursor, Need, RuleSetKind, Verdict};
use settings::{Mode, RetryOn};
use std::io;
use stdx::Tick;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Failure, Phase};
use upstream::client_presence::{self, Gathered};

#[cfg(test)]
mod tests;

/// Evaluates the rules of a proxy once, from `at` on: behind the last rule that had its effect by
/// an answer.
///
/// # Errors
/// The rules refuse the client or the server.
fn evaluate(
    tx: &mut Transaction,
    proxy: &Proxy,
    set: SetOf,
    at: &mut RulePlace,
) -> Result<StageOutcome, Failure> {
    let verdict = rule_sections::evaluate(&proxy.settings, set, at, |rules, cursor| {
        accounting::prepare(tx, rules);
        match rules.evaluate(cursor, &mut View::of(tx)) {
            Verdict::Suspend { need: Need::Bytes, .. } if !tx.notes.partial => Verdict::Continue,
            verdict => verdict,
        }
    });
    apply_edits(tx);
    let kind = set(&proxy.settings.rules).ruleset();
    match verdict {
        Verdict::Allow => Ok(StageOutcome::Allow),
        Verdict::Suspend { need, .. } => Ok(StageOutcome::Wait(need)),
        Verdict::Close => Ok(StageOutcome::Close),
        Verdict::Reject | Verdict::OutOfSteps => Err(refuse(tx, kind, false)),
        Verdict::SilentDrop => Err(refuse(tx, kind, true)),
        Verdict::Service(service) => Ok(StageOutcome::Respond(Respond::Service(service))),
        Verdict::SwitchMode(_) if tx.client.mode == Mode::Http => Ok(StageOutcome::Allow),
        Verdict::SwitchMode(spoken) => Ok(StageOutcome::SwitchMode(spoken)),
        _ => Ok(StageOutcome::Next),
    }
}

/// Replaces the received bytes by those that scripts have edited.
fn apply_edits(tx: &mut Transaction) {
    for (at, slot) in [Side::Client, Side::Server].into_iter().enumerate() {
        let Some(edited) = tx.notes.edited[at].take() else { continue };
        tx.notes.passed[at] = edited.passed;
        let worker = tx.worker.clone();
        let mut fresh = worker.buffers.take_anyway();
        let count = edited.bytes.len().min(fresh.room());
        fresh.space()[..count].copy_from_slice(&edited.bytes[..count]);
        fresh.filled(count);
        let before = match (slot, &mut tx.server) {
            (Side::Client, _) => std::mem::replace(&mut tx.client.input, fresh),
            (Side::Server, Some(server)) => server.give_input(fresh),
            (Side::Server, None) => fresh,
        };
        worker.release(before);
    }
}

/// The outcome that follows from an answer; `None`: the rules continue.
fn apply_answer(
    tx: &mut Transaction,
    kind: RuleSetKind,
    answer: OutsideAnswer,
) -> Result<Option<StageOutcome>, Failure> {
    apply_edits(tx);
    match answer {
        OutsideAnswer::Continue => Ok(None),
        OutsideAnswer::Allow => Ok(Some(StageOutcome::Allow)),
        // There is no message to answer with.
        OutsideAnswer::Deny | OutsideAnswer::Respond => Err(refuse(tx, kind, false)),
        OutsideAnswer::Fail(failure) => Err(failure),
    }
}

/// The `tcp-request content` rules of one proxy.
///
/// # Errors
/// The rules refuse the client, or it took too long or left.
pub(crate) async fn request(
    tx: &mut Transaction,
    proxy: &ProxyRef,
) -> Result<StageOutcome, Failure> {
    let thread = tx.worker.thread.clone();
    let timeouts = &proxy.settings.timeouts;
    let until = timeouts.request_inspection.map(|span| thread.tick().plus_ms(span));
    let (mut seen, mut at) = ((thread.tick(), tx.client.input.len()), RulePlace::default());
    loop {
        await_buffer(tx, until).await;
        let complete = gather(tx);
        tx.notes.partial = !complete && until.is_some_and(|until| !until.is_due(thread.tick()));
        let step = evaluate(tx, proxy, |rules| &rules.tcp_request, &mut at);
        tx.notes.partial = false;
        match step? {
            StageOutcome::Wait(Need::Bytes) => {}
            StageOutcome::Wait(_) => {
                let answer = Box::pin(wait::answer(tx, Phase::Request)).await?;
                match apply_answer(tx, RuleSetKind::TcpRequest, answer)? {
                    None => continue,
                    Some(step) => return Ok(step),
                }
            }
            step => return Ok(step),
        }
        if tx.client.input.len() != seen.1 {
            seen = (thread.tick(), tx.client.input.len());
        }
        let span = tx.client.proxy.settings.timeouts.client;
        let patience = span.filter(|_| is_tcp(tx)).map(|span| seen.0.plus_ms(span));
        if patience.is_some_and(|patience| patience.is_due(thread.tick())) {
            tx.notes.journal.bad_request = true;
            return Err(Failure::close(Cause::ClientTimeout, Phase::Request));
        }
        let wake = tx.notes.wake.take();
        thread.scheduler().wait(Tick::earlier(wake, Tick::earlier(until, patience))).await;
    }
}

/// Waits for a buffer for the client's bytes, if the client has none.
async fn await_buffer(tx: &mut Transaction, deadline: Option<Tick>) {
    let (client, buffers) = (&mut tx.client, &tx.worker.buffers);
    if client.input.capacity() > 0 || !client.socket.is_readable() {
        return;
    }
    client.input = buffers.take(Urgency::Ordinary, deadline).await.unwrap_or_else(Buf::empty);
}

fn is_tcp(tx: &Transaction) -> bool {
    tx.client.mode == Mode::Tcp
}

/// Reads available bytes, and parses them as HTTP if possible. `true`: the input is complete.
fn gather(tx: &mut Transaction) -> bool {
    if !is_tcp(tx) {
        tx.client.socket.want_close();
        return tx.client.socket.is_closed();
    }
    let gathered = client_presence::gather(tx);
    if tx.space.request.is_empty() && !tx.client.input.is_empty() {
        let settings = tx.worker.mux_settings(&tx.client.proxy, Side::Client);
        let mut conn = h1::H1Conn::new(Side::Client, settings);
        let head = conn.handle_head(tx.client.input.data(), &mut tx.space.request);
        if !matches!(head, Ok(h1::HeadStep::Complete { .. })) {
            tx.space.request.clear();
        }
    }
    gathered != Gathered::Some
}

/// Counts a client or a response that rules of this kind refuse; `drops`: without a packet.
fn refuse(tx: &mut Transaction, kind: RuleSetKind, drops: bool) -> Failure {
    let phase = match (kind, tx.client.mode) {
        (RuleSetKind::TcpResponse, Mode::Tcp) => Phase::Data,
        (RuleSetKind::TcpResponse, Mode::Http) => {
            tx.notes.journal.response = 0;
            Phase::Headers
        }
        _ => Phase::Request,
    };
    if let Err(failure) = http_rules::afford(tx, phase) {
        return failure;
    }
    tx.reset_client = drops;
    if kind == RuleSetKind::TcpResponse {
        accounting::denied_response(tx);
        return Failure::close(Cause::Proxy, Phase::Data);
    }
    tx.client.counted().for_each(|block| block.count(Metric::DeniedRequests));
    tx.notes.journal.request = 0;
    if !drops {
        tx.client.socket.reject_connection();
    }
    if is_tcp(tx) {
        tx.notes.journal.bytes_in = tx.client.input.len() as u64;
    }
    Failure::close(Cause::Proxy, phase)
}

/// The `tcp-response content` rules of the backend, from `at` on.
///
/// # Errors
/// The rules refuse the response, or the server's connection is broken.
pub(crate) fn response(
    tx: &mut Transaction,
    _: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let Some(backend) = tx.backend.clone().filter(|backend| backend.rules.answer) else {
        return Ok(StageOutcome::Next);
    };
    match tx.client.mode {
        Mode::Tcp => bytes_of_response(tx, &backend, at),
        Mode::Http => whole_response(tx, &backend, at),
    }
}

/// The rules for a response whose head is there.
fn whole_response(
    tx: &mut Transaction,
    proxy: &Proxy,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let begins = at.place.section == 0 && at.place.cursor == Cursor::default();
    if begins && closes_before(tx, proxy) {
        tx.notes.journal.response = 0;
        let failure = Failure::error(502, Cause::ServerAbort, Phase::Headers);
        return Err(retry::instead_of(tx, RetryOn::EMPTY, failure));
    }
    match evaluate(tx, proxy, |rules| &rules.tcp_response, &mut at.place)? {
        StageOutcome::Close => {
            if let Some(server) = &mut tx.server {
                server.mux.close_after_message();
            }
            Ok(StageOutcome::Next)
        }
        step => Ok(step),
    }
}

/// The rules for the bytes of a server in TCP mode, which are held back until the rules have
/// decided.
fn bytes_of_response(
    tx: &mut Transaction,
    proxy: &Proxy,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let (complete, now) = (read_server(tx)?, tx.worker.thread.tick());
    let span = proxy.settings.timeouts.response_inspection;
    at.until = at.until.or_else(|| span.map(|span| now.plus_ms(span)));
    tx.notes.partial = !complete && at.until.is_some_and(|until| !until.is_due(now));
    let step = evaluate(tx, proxy, |rules| &rules.tcp_response, &mut at.place);
    tx.notes.partial = false;
    match step? {
        StageOutcome::Close => {
            at.closes = true;
            Ok(StageOutcome::Next)
        }
        // Rules about responses switch nothing.
        StageOutcome::SwitchMode(_) => Ok(StageOutcome::Next),
        step => Ok(step),
    }
}

/// Applies an answer that the rules of a response have waited for.
///
/// # Errors
/// The response is refused.
pub(crate) fn apply_response_answer(
    tx: &mut Transaction,
    _: &ProxyRef,
    _: &mut Progress,
    answer: OutsideAnswer,
) -> Result<Option<StageOutcome>, Failure> {
    apply_answer(tx, RuleSetKind::TcpResponse, answer)
}

/// Whether the rules close the server's connection before its response is seen, as in HAProxy: a
/// `close` without a failing condition leaves no response. Only rules that end the set are
/// evaluated: the others run once, with the response.
fn closes_before(tx: &mut Transaction, proxy: &Proxy) -> bool {
    let response = std::mem::take(&mut tx.space.response);
    tx.notes.partial = proxy.settings.timeouts.response_inspection.is_some();
    let mut sections = proxy.settings.rule_sections();
    let ending = sections.find_map(|section| section.tcp_response.foresee(&View::of(tx)));
    tx.notes.partial = false;
    tx.space.response = response;
    matches!(ending, Some(Action::Control(Control::Close)))
}

/// Reads from the server; `true` when no more bytes will come, or the buffer is full.
pub(crate) fn read_server(tx: &mut Transaction) -> Result<bool, Failure> {
    let Some(server) = &mut tx.server else { return Ok(true) };
    loop {
        if !server.socket().is_readable() || !server.has_buffer(&tx.worker) {
            return Ok(false);
        }
        match server.read(&tx.worker) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Failure::close(Cause::ServerAbort, Phase::Data)),
        }
    }
}
