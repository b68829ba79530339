//! Requests that go to servers before handshakes are over (manual section 5.2, `allow-0rtt`; RFC
//! 8470).
//!
//! A request goes early when its client's has come so, or where `retry-on 0rtt-rejected` has it
//! sent again if need be; it must be one that changes nothing, and have no body. Nothing is lost by
//! waiting for the end of the handshake then: no answer can be read before.

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
use transport::stats::transaction_log::{Cause, Failure, Phase};
use transport::tls_facts::Failed;

/// The status of whoever does not want a request this early (RFC 8470 section 5.2).
pub(crate) const TOO_EARLY: u16 = 425;

/// What servers are told by that a request may have been sent by somebody else (section 5.1 there).
const HEADER: &[u8] = b"early-data";

/// A server has to know that the request may have been sent again by somebody.
pub(crate) fn tell(tx: &mut Transaction) {
    if came_early(tx) {
        tx.haste.told = tx.space.request.get(HEADER).is_none();
        tx.space.request.set(HEADER, b"1");
    }
}

/// Whether the request has come before the client's handshake was over, which it still is not.
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
/// As [`Way::encrypt`]; 425 if the server did not want it early, and that is not tried again.
pub(crate) async fn send(
    tx: &mut Transaction,
    backend: &ProxyRef,
    (way, mut connection): (&Way, Box<ServerConn>),
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let asked = came_early(tx);
    connect::lay_out(tx, backend, &mut connection, true);
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
            // Nothing was read of it: the connection that stands now will do.
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

/// The client asked early, and can ask again.
fn refused(tx: &mut Transaction) -> Failure {
    tx.notes.used = true;
    let words = (38, "Server refused early data");
    tx.notes.unsecured = Some(Box::new(Failed::new(words, None, None)));
    Failure::new(TOO_EARLY, Cause::ServerAbort, Phase::Connect)
}

/// Whether the request, of which this head is kept, is sent again although its server has found it
/// too early. Who sent it here knows what to do about that if the header is its own.
pub(crate) fn may_go_later(tx: &Transaction, kept: &Head) -> bool {
    let answerable = !tx.haste.told && kept.get(HEADER).is_some();
    let wanted = |status| RetryOn::status(status).is_some_and(|event| retry::wants(tx, event));
    !answerable && (wanted(TOO_EARLY) || (tx.haste.ours && retry::wants(tx, RetryOn::EARLY)))
}

/// Nothing is said early from now on.
pub(crate) fn give_up(tx: &mut Transaction) {
    (tx.haste.over, tx.haste.ours) = (true, false);
}

/// Waits until a request that was too early is not early any more. Meanwhile others have its place
/// on the server: its client may take as long as it likes.
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
