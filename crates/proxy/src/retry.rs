//! Requests that can be sent once more although a server has seen them (`retry-on`). Never decides
//! where they go.
//!
//! The head is kept as the rules left it, and the payload as it passes. A request that grows beyond
//! a buffer is not kept any longer, and so not sent again (manual section 4.2, `retry-on`).

use crate::early;
use crate::flow::Flow;
use crate::journal::{Cause, Failure, Phase};
use crate::machine::Machine;
use crate::observe;
use crate::server_conn::ServerConn;
use crate::settings::RetryOn;
use crate::transaction::Transaction;
use htx::{Fields, Head};
use mux::BodyKind;

/// What is left of a request once it is with a server.
#[derive(Debug)]
pub(crate) struct Kept {
    head: Head,
    payload: Vec<u8>,
    trailers: Fields,
    /// The payload is complete.
    whole: bool,
}

impl Kept {
    /// Its head as it will go out again.
    pub(crate) fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }
}

/// The status of a [`Failure`] after which the request is sent again.
pub(crate) const AGAIN: u16 = 2;

/// Keeps the head of a request that may be sent again.
pub(crate) fn keep_head(tx: &mut Transaction, server: &ServerConn) {
    let is_stream = server.socket().is_stream();
    // A stream may be refused without having been looked at (RFC 9113 section 8.7).
    let refusable = is_stream && tx.request_body == BodyKind::None;
    // Its payload has to be kept with it. Without one, `stash_head` is cheaper.
    let harmless = server.requests() > 1
        && tx.request_body != BodyKind::None
        && tx.space.request.method_id().is_safe();
    let wanted = policy(tx).looks_at_answers() || refusable || harmless;
    if tx.kept.is_none() && wanted && !tx.notes.sent_once {
        let head = tx.space.request.clone();
        let (payload, trailers) = Default::default();
        tx.kept = Some(Box::new(Kept { head, payload, trailers, whole: false }));
    }
}

/// Puts a kept request back into the workspace, and has its payload kept from now on.
pub(crate) fn restore_head(tx: &mut Transaction) {
    if let Some(kept) = &mut tx.kept {
        tx.space.request.clone_from(&kept.head);
        tx.space.up.keep = Some(Vec::new());
    }
}

/// Has the payload that was sent before sent again, behind the head.
pub(crate) fn replay(kept: &mut Kept, up: &mut Flow, mux: &mut Machine) {
    let payload = std::mem::take(&mut kept.payload);
    if !payload.is_empty() {
        let framing = mux.encode_data(payload.len() as u64);
        up.outbox.bytes.extend_from_slice(framing.prefix());
        up.outbox.bytes.extend_from_slice(&payload);
        up.outbox.bytes.extend_from_slice(framing.suffix());
    }
    if kept.whole {
        mux.encode_end(Some(&kept.trailers), &mut up.outbox.bytes);
        up.finish();
    }
    up.keep = Some(payload);
}

/// Looks after a step of the upload what there is to keep.
pub(crate) fn keep_payload(tx: &mut Transaction, done: bool) {
    let limit = tx.worker.shared.settings.buffer_size.saturating_sub(tx.notes.arrived[0]);
    let (Some(kept), up) = (&mut tx.kept, &mut tx.space.up) else { return };
    let Some(payload) = &mut up.keep else { return };
    if payload.len() > limit {
        up.keep = None;
        (tx.kept, tx.notes.sent_once, tx.notes.used) = (None, true, true);
    } else if done {
        (kept.payload, kept.whole) = (std::mem::take(payload), true);
        std::mem::swap(&mut kept.trailers, &mut up.trailers);
        up.keep = None;
    }
}

/// What becomes of a request after a failure or an answer of this kind: the failure, or another
/// try.
pub(crate) fn instead_of(tx: &mut Transaction, event: RetryOn, failure: Failure) -> Failure {
    if tx.kept.is_some() && wants(tx, event) { again(tx) } else { failure }
}

/// Whether a response of this status is not good enough.
pub(crate) fn refuses_status(tx: &mut Transaction, status: u16) -> bool {
    let Some(kept) = &tx.kept else { return false };
    if status != early::TOO_EARLY {
        return RetryOn::status(status).is_some_and(|event| wants(tx, event));
    }
    let later = early::may_go_later(tx, &kept.head);
    if later {
        early::give_up(tx);
    }
    later
}

/// Whether a request that could not be sent at all may be tried on another connection.
pub(crate) fn was_not_sent(tx: &Transaction) -> bool {
    // What a stream has sent is not counted here: its connection tells what was refused.
    let own = tx.server.as_ref().is_some_and(|server| !server.socket().is_stream());
    let nothing = own && tx.space.up.sent == 0 && tx.request_body == BodyKind::None;
    nothing && policy(tx).has(RetryOn::CONNECTION) && may_again(tx) && !tx.space.request.is_empty()
}

/// Whether a request that the server has not looked at can be sent again.
pub(crate) fn was_refused(tx: &Transaction) -> bool {
    let refused = tx.server.as_ref().is_some_and(|server| server.mux.is_refused());
    refused && tx.kept.is_some() && may_again(tx)
}

/// Whether a request that a kept connection has failed may go out on a new one: it changes nothing
/// at the server that may have seen it (RFC 9110 section 9.2.2), and retries are allowed.
fn is_harmless(tx: &Transaction, request: &Head) -> bool {
    let own = tx.server.as_ref().is_some_and(|server| !server.socket().is_stream());
    let whole = tx.request_body == BodyKind::None || tx.kept.is_some();
    own && whole
        && request.method_id().is_safe()
        && !tx.notes.no_retry
        && policy(tx).has(RetryOn::CONNECTION)
        && may_again(tx)
}

/// Lays the head of a request on a kept connection by, before the workspace is given back: the
/// server may be about to close the connection for want of use. Moves it, and copies nothing.
pub(crate) fn stash_head(tx: &mut Transaction) {
    let reused = tx.server.as_ref().is_some_and(|server| server.requests() > 1);
    let safe = tx.client.socket.is_stream() && tx.space.request.method_id().is_safe();
    if reused && tx.kept.is_none() && (safe || is_harmless(tx, &tx.space.request)) {
        std::mem::swap(&mut tx.notes.request, &mut tx.space.request);
        tx.stashed = true;
    }
}

/// The head of the request that a kept connection has failed; empty if it is not here any more.
fn failed_head(tx: &Transaction) -> &Head {
    match (&tx.kept, tx.stashed) {
        (Some(kept), _) => &kept.head,
        (None, true) => &tx.notes.request,
        (None, false) => &tx.space.request,
    }
}

/// Whether the request that a kept connection has failed is still here, and can go out again.
pub(crate) fn may_ask_anew(tx: &Transaction) -> bool {
    let head = failed_head(tx);
    !head.is_empty() && is_harmless(tx, head)
}

/// Whether a client may be left to repeat a request that a kept connection has failed. A stream
/// that is refused is repeated whatever its method, so only if that does no harm (RFC 9113 8.7).
pub(crate) fn may_client_repeat(tx: &Transaction) -> bool {
    let head = failed_head(tx);
    !tx.client.socket.is_stream() || (!head.is_empty() && head.method_id().is_safe())
}

/// As [`again`], on a connection that nobody has used before.
pub(crate) fn anew(tx: &mut Transaction) -> Failure {
    if std::mem::take(&mut tx.stashed) {
        std::mem::swap(&mut tx.notes.request, &mut tx.space.request);
    }
    tx.wants_new = true;
    again(tx)
}

/// Prepares the workspace for another try.
pub(crate) fn again(tx: &mut Transaction) -> Failure {
    observe::failed(tx, tx.notes.journal.connected);
    let space = &mut *tx.space;
    if let (Some(kept), Some(payload)) = (&mut tx.kept, space.up.keep.take()) {
        kept.payload = payload;
        kept.whole = space.up.is_received();
        std::mem::swap(&mut kept.trailers, &mut space.up.trailers);
    }
    space.up.disown(&mut tx.client.input);
    space.response.clear();
    Failure::new(AGAIN, Cause::ServerAbort, Phase::Headers)
}

/// Whether something that happens to a request is a reason to send it again, if it is kept.
pub(crate) fn wants(tx: &Transaction, event: RetryOn) -> bool {
    policy(tx).has(event) && may_again(tx) && !tx.notes.no_retry
}

fn may_again(tx: &Transaction) -> bool {
    let back = tx.side().settings.back.as_ref();
    back.is_some_and(|back| tx.notes.journal.retries < back.retries)
}

fn policy(tx: &Transaction) -> RetryOn {
    tx.side().settings.back.as_ref().map_or(RetryOn::NEVER, |back| back.retry_on)
}
