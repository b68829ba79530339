//! Requests that are sent to servers before handshakes are over (manual section 5.2, `allow-0rtt`;
//! RFC 8470).
//!
//! A request is sent early if its client's handshake is not over either, or if `retry-on
//! 0rtt-rejected` allows to repeat it; it must be safe and have no body. In other cases the end of
//! the handshake is awaited; this loses nothing.

use crate::transaction::connect;
use crate::transaction::retry;
use crate::transaction::tls_wait;
use crate::upstream::connect_plan::Way;
use crate::upstream::traffic_health;
use balance::Sign;
use engine::state::backend::reservation::Claim;
use engine::state::backend::server_connection::ServerConn;
use engine::state::runtime::ProxyRef;
use engine::state::session::transaction::{Transaction, Words};
use htx::Head;
use mux::BodyKind;
use settings::RetryOn;
use stdx::Tick;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use transport::tls_facts::Failed;

/// The status of a server or proxy that rejects an early request (RFC 8470 section 5.2).
pub(crate) const TOO_EARLY: u16 = 425;

/// The field that marks a request as possibly replayed (RFC 8470 section 5.1).
const HEADER: &[u8] = b"early-data";

/// Marks the request for the server if it may be a replay.
pub(crate) fn tell(tx: &mut Transaction) {
    if came_early(tx) {
        tx.haste.told = tx.space.request.get(HEADER).is_none();
        tx.space.request.set(HEADER, b"1");
    }
}

/// Whether the request arrived before the end of the client's handshake, which is still under way.
fn came_early(tx: &Transaction) -> bool {
    tx.client.session().is_some_and(|session| session.is_early())
}

/// Whether the request may be sent on a new connection before its handshake is over.
pub(crate) fn may_go(tx: &Transaction, way: &Way) -> bool {
    way.hears_early()
        && !tx.haste.over
        && tx.request_body == BodyKind::None
        && tx.space.request.method_id().is_safe()
        && (came_early(tx) || retry::wants(tx, RetryOn::EARLY))
}

/// Makes a new connection an encrypted one and sends the request on it, as early as the server
/// allows.
///
/// # Errors
/// As [`Way::encrypt`]; 425 if the server rejected the early data, and no retry is allowed.
pub(crate) async fn send(
    tx: &mut Transaction,
    backend: &ProxyRef,
    (way, mut connection): (&Way, Box<ServerConn>),
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let asked = came_early(tx);
    connect::lay_out(tx, backend, &mut connection, true)?;
    let words = std::mem::take(&mut tx.space.up.outbox.bytes);
    let result = way.encrypt(tx, connection.socket_mut(), deadline, &words).await;
    tx.space.up.outbox.bytes = words;
    let outcome = result?;
    connect::count(tx, backend);
    match outcome {
        Words::Unsaid => {}
        Words::Taken => {
            tx.haste.ours = !asked;
            tx.space.up.note_sent();
        }
        Words::Refused if retry::wants(tx, RetryOn::EARLY) => {
            // The server has read nothing of the early data: the established connection can be
            // used.
            tx.notes.journal.retries += 1;
            connect::count_both(tx.claim.as_ref(), backend, Metric::Retries);
        }
        Words::Refused => return Err(refused(tx)),
    }
    connect::use_connection(tx, connection);
    connect::stand(tx, deadline).await?;
    traffic_health::sign(tx, Sign::Connected);
    tx.notes.journal.connected = tx.worker.thread.nanos();
    Ok(())
}

/// Rejects the request with 425: the client sent it early, and can repeat it.
fn refused(tx: &mut Transaction) -> Failure {
    tx.notes.used = true;
    let words = (38, "Server refused early data");
    tx.notes.unsecured = Some(Box::new(Failed::new(words, None, None)));
    Failure::new(Ending::TooEarly, Cause::ServerAbort, Phase::Connect)
}

/// Whether the request, of which this head is kept, is sent again although its server has answered
/// 425. A client that sent the header itself handles the 425 by itself.
pub(crate) fn may_go_later(tx: &Transaction, kept: &Head) -> bool {
    let answerable = !tx.haste.told && kept.get(HEADER).is_some();
    let wanted = |status| RetryOn::status(status).is_some_and(|event| retry::wants(tx, event));
    !answerable && (wanted(TOO_EARLY) || (tx.haste.ours && retry::wants(tx, RetryOn::EARLY)))
}

/// Disables early data for the rest of the transaction.
pub(crate) fn give_up(tx: &mut Transaction) {
    (tx.haste.over, tx.haste.ours) = (true, false);
}

/// Waits for the end of the client's handshake before an early request is repeated. Its place on
/// the server is given up meanwhile: the client may take arbitrarily long.
///
/// # Errors
/// As [`tls_wait::end`].
pub(crate) async fn settle(tx: &mut Transaction) -> Result<(), Failure> {
    if tx.haste.over {
        if came_early(tx) {
            tx.drop_server();
            tx.claim.iter_mut().for_each(Claim::step_back);
        }
        Box::pin(tls_wait::end(tx)).await?;
        if let Some(kept) = tx.kept.as_mut().filter(|_| tx.haste.told) {
            kept.head_mut().remove(HEADER);
        }
    }
    Ok(())
}
