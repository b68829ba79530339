//! Requests that can be sent once more although a server has seen them (`retry-on`).
//!
//! The head is kept as the rules left it, and the payload as it passes. A request that grows beyond
//! a buffer is not kept any longer, and so not sent again (manual section 4.2, `retry-on`).

pub(crate) mod early_data;

use engine::state::backend::server_connection::ServerConn;
use engine::state::session::transaction::{Interim, RetryCopy, Transaction};
use htx::{Fields, Head};
use mux::{BodyKind, HeadStep, Side, h1};
use settings::RetryOn;
use transport::codec::Machine;
use transport::forwarder::Flow;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use upstream::traffic_health;
use wire::h1::Limits;

/// Whether an interim response is forwarded to the client, which has then begun its response.
pub(crate) fn passes_interim(tx: &mut Transaction) -> bool {
    let passes = tx.client.mux.takes_interim();
    tx.interim = match (tx.space.response.status(), tx.interim) {
        _ if !passes => Interim::Dropped,
        (100, Interim::Continued | Interim::Dropped) => Interim::Dropped,
        (100, Interim::None) => Interim::Continue,
        (100, before) => before,
        _ => Interim::Begun,
    };
    tx.interim != Interim::Dropped
}

/// Keeps the head of a request that may be sent again.
pub(crate) fn keep_head(tx: &mut Transaction, server: &ServerConn) {
    // A stream may be refused without having been looked at (RFC 9113 section 8.7).
    let harmless =
        server.is_stream() || (server.requests() > 1 && tx.space.request.method_id().is_safe());
    // Payload has to be kept with it. Without any, `stash_head` is cheaper.
    let with_payload = tx.request_body != BodyKind::None && harmless && may_reconnect(tx);
    let wanted = policy(tx).looks_at_answers() || with_payload;
    if tx.retry_copy.is_none() && wanted && !tx.notes.sent_once {
        let head = tx.space.request.clone();
        let (payload, trailers) = Default::default();
        tx.retry_copy = Some(Box::new(RetryCopy { head, payload, trailers, whole: false }));
    }
}

/// Has the payload of a kept request kept from now on; one that goes out `again` is put back into
/// the workspace.
pub(crate) fn restore_head(tx: &mut Transaction, again: bool) {
    if let Some(kept) = &mut tx.retry_copy {
        if again {
            tx.space.request.clone_from(&kept.head);
        }
        tx.space.up.keep = Some(Vec::new());
    }
}

/// Encodes the kept payload again, behind the head.
pub(crate) fn replay(kept: &mut RetryCopy, up: &mut Flow, mux: &mut Machine) {
    let payload = std::mem::take(&mut kept.payload);
    if !payload.is_empty() {
        mux.encode_payload(&payload, &mut up.outbox.bytes);
    }
    if kept.whole {
        mux.encode_end(Some(&kept.trailers), &mut up.outbox.bytes);
        std::mem::swap(&mut up.trailers, &mut kept.trailers);
        up.finish();
    }
    up.keep = Some(payload);
}

/// Takes payload and trailers back from an upload that goes no further.
pub(crate) fn take_back(tx: &mut Transaction) {
    let up = &mut tx.space.up;
    if let (Some(kept), Some(payload)) = (&mut tx.retry_copy, up.keep.take()) {
        (kept.payload, kept.whole) = (payload, up.is_received());
        std::mem::swap(&mut kept.trailers, &mut up.trailers);
    }
}

/// Keeps the payload of an upload's step.
pub(crate) fn keep_payload(tx: &mut Transaction, done: bool) {
    let limit = tx.worker.shared.settings.buffer_size.saturating_sub(tx.notes.arrived[0]);
    let (Some(kept), up) = (&mut tx.retry_copy, &mut tx.space.up) else { return };
    let Some(payload) = &mut up.keep else { return };
    if payload.len() > limit {
        up.keep = None;
        (tx.retry_copy, tx.notes.sent_once, tx.notes.used) = (None, true, true);
    } else if done {
        (kept.payload, kept.whole) = (std::mem::take(payload), true);
        std::mem::swap(&mut kept.trailers, &mut up.trailers);
        up.keep = None;
    }
}

/// The outcome of a request after a failure or response of this kind: the failure, or another
/// attempt.
pub(crate) fn instead_of(tx: &mut Transaction, event: RetryOn, failure: Failure) -> Failure {
    if tx.retry_copy.is_some() && wants(tx, event) { again(tx) } else { failure }
}

/// Whether a response of this status causes another attempt.
pub(crate) fn refuses_status(tx: &mut Transaction, status: u16) -> bool {
    let Some(kept) = tx.retry_copy.as_ref().filter(|_| tx.interim != Interim::Begun) else {
        return false;
    };
    if status != early_data::TOO_EARLY {
        return RetryOn::status(status).is_some_and(|event| wants(tx, event));
    }
    let later = early_data::may_go_later(tx, &kept.head);
    if later {
        early_data::give_up(tx);
    }
    later
}

/// Whether a request of which no byte was sent may be tried on another connection, whatever its
/// method. Its payload in the send buffer is kept then.
pub(crate) fn was_not_sent(tx: &mut Transaction) -> bool {
    // The bytes of a stream are not counted here: its connection knows which streams were refused.
    let Some(server) = tx.server.as_ref().filter(|server| !server.is_stream()) else {
        return false;
    };
    let mut unsent = server.socket().unsent();
    let sent = (tx.sent_earlier + tx.space.up.sent) as usize;
    if sent > unsent.len() || !may_reconnect(tx) || failed_head(tx).is_empty() {
        return false;
    }
    // Of several TLS records, some may have been sent.
    let clear = server.socket().bare().is_some() && tx.notes.compressed_request.is_none();
    let whole = tx.request_body.is_empty() || tx.retry_copy.is_some();
    whole || (clear && recover(tx, unsent.split_off(unsent.len() - sent)))
}

/// Keeps a request of which no byte was sent: its payload is decoded from the unsent bytes `sent`
/// and those in the outbox. `false`: it cannot be recovered.
fn recover(tx: &mut Transaction, mut sent: Vec<u8>) -> bool {
    if !tx.space.up.unsent(&tx.client.input, &mut sent) {
        return false;
    }
    // The head was parsed before, and rules may have made it longer.
    let (head_bytes, header_lines) = (u32::MAX, u16::MAX);
    let limits = Limits { head_bytes, header_lines, lenient: true, ..Limits::DEFAULT };
    let settings = h1::H1ConnSettings { limits, ..Default::default() };
    let mut conn = h1::H1Conn::new(Side::Client, settings);
    let (mut payload, mut trailers, mut whole) = (Vec::new(), Fields::default(), false);
    let Ok(HeadStep::Complete { consumed, .. }) = conn.handle_head(&sent, &mut Head::default())
    else {
        return false;
    };
    let mut rest = &sent[consumed..];
    while !whole && !rest.is_empty() {
        let Ok(step) = conn.handle_body(rest, &mut trailers) else { return false };
        let (data, next) = rest[step.skip..].split_at(step.data);
        payload.extend_from_slice(data);
        whole = step.done;
        if step.skip + step.data == 0 {
            break;
        }
        rest = next;
    }
    let head = failed_head(tx).clone();
    tx.retry_copy = Some(Box::new(RetryCopy { head, payload, trailers, whole }));
    true
}

/// Whether a request that the server has not processed can be sent again: its stream was refused,
/// is above the last one of the server's GOAWAY, or was not sent at all.
pub(crate) fn was_refused(tx: &Transaction) -> bool {
    let refused = tx.server.as_ref().is_some_and(|server| server.mux.is_refused());
    refused && is_whole(tx) && may_reconnect(tx) && !failed_head(tx).is_empty()
}

/// Whether the payload sent so far is still available.
fn is_whole(tx: &Transaction) -> bool {
    tx.request_body == BodyKind::None || tx.retry_copy.is_some()
}

/// Whether a request whose idle connection failed may be sent on a new one: it is safe, since the
/// server may have seen it (RFC 9110 section 9.2.2), and retries are allowed.
fn is_harmless(tx: &Transaction, request: &Head) -> bool {
    is_whole(tx) && request.method_id().is_safe() && !tx.notes.no_retry && may_reconnect(tx)
}

/// Saves the head of a request, before the workspace is given back, where the connection may fail:
/// the server may be about to close an idle connection, or refuse a stream. Moves the head, and
/// copies nothing.
pub(crate) fn stash_head(tx: &mut Transaction) {
    // The head is saved once.
    let here = tx.retry_copy.is_none() && !tx.head_in_notes;
    let Some(server) = tx.server.as_ref().filter(|_| here) else { return };
    let (stream, reused) = (server.is_stream(), server.requests() > 1);
    let safe = tx.client.socket.is_stream() && tx.space.request.method_id().is_safe();
    let refusable = stream && tx.request_body == BodyKind::None;
    let loses = (stream || reused) && (safe || is_harmless(tx, &tx.space.request));
    // The request may not be sent at all.
    let unseen = !stream || tx.request_body.is_empty();
    let loses = loses || (reused && unseen && may_reconnect(tx));
    if refusable || loses {
        std::mem::swap(&mut tx.notes.request, &mut tx.space.request);
        tx.head_in_notes = true;
    }
}

/// The head of the request whose connection failed; empty if it is not available any more.
fn failed_head(tx: &Transaction) -> &Head {
    match (&tx.retry_copy, tx.head_in_notes) {
        (Some(kept), _) => &kept.head,
        (None, true) => &tx.notes.request,
        (None, false) => &tx.space.request,
    }
}

/// Whether the request whose connection ended is still available, and can be sent again. A server
/// that ends a stream alone has rejected the request.
pub(crate) fn may_ask_anew(tx: &Transaction) -> bool {
    let (head, lost) = (failed_head(tx), |server: &ServerConn| server.mux.is_lost());
    !head.is_empty() && is_harmless(tx, head) && tx.server.as_deref().is_some_and(lost)
}

/// Whether the client may repeat a request whose idle connection failed. A client repeats a refused
/// stream whatever its method, so only a safe request is refused (RFC 9113 8.7).
pub(crate) fn may_client_repeat(tx: &Transaction) -> bool {
    let head = failed_head(tx);
    !tx.client.socket.is_stream() || (!head.is_empty() && head.method_id().is_safe())
}

/// As [`again`], where the idle connection failed, or is to be avoided.
pub(crate) fn elsewhere(tx: &mut Transaction) -> Failure {
    Failure { ending: Ending::RetryStale, ..again(tx) }
}

/// As [`elsewhere`], on a new connection.
pub(crate) fn anew(tx: &mut Transaction) -> Failure {
    tx.failed_at = Some(tx.worker.thread.nanos());
    elsewhere(tx)
}

/// Prepares the workspace for another attempt.
pub(crate) fn again(tx: &mut Transaction) -> Failure {
    traffic_health::failed(tx, tx.notes.journal.connected);
    if matches!(tx.interim, Interim::Continue | Interim::Dropped) {
        tx.interim = Interim::Continued;
    }
    if std::mem::take(&mut tx.head_in_notes) {
        std::mem::swap(&mut tx.notes.request, &mut tx.space.request);
    }
    take_back(tx);
    let space = &mut *tx.space;
    space.up.disown(&mut tx.client.input);
    space.response.clear();
    Failure::new(Ending::RetryFailed, Cause::ServerAbort, Phase::Headers)
}

/// Whether this event is a reason to send a request again, if it is kept.
pub(crate) fn wants(tx: &Transaction, event: RetryOn) -> bool {
    policy(tx).has(event) && may_again(tx) && !tx.notes.no_retry
}

/// Whether a failed connection may be replaced by a new one.
fn may_reconnect(tx: &Transaction) -> bool {
    policy(tx).has(RetryOn::CONNECTION) && may_again(tx)
}

fn may_again(tx: &Transaction) -> bool {
    let back = tx.back_settings();
    let tries = back.is_some_and(|back| tx.notes.journal.retries < back.retries);
    tries && tx.interim != Interim::Begun
}

fn policy(tx: &Transaction) -> RetryOn {
    tx.back_settings().map_or(RetryOn::NEVER, |back| back.retry_on)
}

#[cfg(test)]
mod tests;
