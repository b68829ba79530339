//! Requests that are sent to servers before handshakes are over (manual section 5.2, `allow-0rtt`;
//! RFC 8470).
//!
//! A request is sent early if its client's handshake is not over either, or if `retry-on
//! 0rtt-rejected` allows to repeat it; it must be safe and have no body. In other cases the end of
//! the handshake is awaited; this loses nothing.

use crate::message::tls_wait;
use crate::retry;
use engine::state::backend::reservation::Claim;
use engine::state::session::transaction::Transaction;
use htx::Head;
use mux::BodyKind;
use settings::RetryOn;
use transport::stats::transaction_log::Failure;
use upstream::connect_plan::ConnectPlan;

/// The status of a server or proxy that rejects an early request (RFC 8470 section 5.2).
pub(crate) const TOO_EARLY: u16 = 425;

/// The field that marks a request as possibly replayed (RFC 8470 section 5.1).
const HEADER: &[u8] = b"early-data";

/// Marks the request for the server if it may be a replay.
pub(crate) fn mark_request(tx: &mut Transaction) {
    if came_early(tx) {
        tx.early_data.header_added = tx.space.request.get(HEADER).is_none();
        tx.space.request.set(HEADER, b"1");
    }
}

/// Whether the request arrived before the end of the client's handshake, which is still under way.
pub(crate) fn came_early(tx: &Transaction) -> bool {
    tx.client.session().is_some_and(|session| session.is_early())
}

/// Whether the request may be sent on a new connection before its handshake is over.
pub(crate) fn may_go(tx: &Transaction, way: &ConnectPlan) -> bool {
    way.takes_early_data()
        && !tx.early_data.disabled
        && tx.request_body == BodyKind::None
        && tx.space.request.method_id().is_safe()
        && (came_early(tx) || retry::wants(tx, RetryOn::EARLY))
}

/// Whether the request, of which this head is kept, is sent again although its server has answered
/// 425. A client that sent the header itself handles the 425 by itself.
pub(crate) fn may_go_later(tx: &Transaction, kept: &Head) -> bool {
    let answerable = !tx.early_data.header_added && kept.get(HEADER).is_some();
    let wanted = |status| RetryOn::status(status).is_some_and(|event| retry::wants(tx, event));
    !answerable
        && (wanted(TOO_EARLY) || (tx.early_data.sent_by_proxy && retry::wants(tx, RetryOn::EARLY)))
}

/// Disables early data for the rest of the transaction.
pub(crate) fn give_up(tx: &mut Transaction) {
    (tx.early_data.disabled, tx.early_data.sent_by_proxy) = (true, false);
}

/// Waits for the end of the client's handshake before an early request is repeated. Its place on
/// the server is given up meanwhile: the client may take arbitrarily long.
///
/// # Errors
/// As [`tls_wait::end`].
pub(crate) async fn await_client_handshake(tx: &mut Transaction) -> Result<(), Failure> {
    if tx.early_data.disabled {
        if came_early(tx) {
            tx.drop_server();
            tx.claim.iter_mut().for_each(Claim::step_back);
        }
        Box::pin(tls_wait::end(tx)).await?;
        if let Some(kept) = tx.retry_copy.as_mut().filter(|_| tx.early_data.header_added) {
            kept.head_mut().remove(HEADER);
        }
    }
    Ok(())
}
