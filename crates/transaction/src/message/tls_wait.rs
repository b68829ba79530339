//! Waits for the end of a client's TLS handshake, where a request arrived before it.

use engine::io::tls_handshake::{TlsHandshakeFailure, awaits_end, run};
use engine::state::session::client::Client;
use engine::state::session::transaction::Transaction;
use reactor::Tick;
use transport::channel::Link;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// Waits for the end of the handshake of a client whose first bytes begin HTTP/2 (see
/// [`awaits_end`]). `false`: it has failed.
pub async fn end_of(client: &Client) -> bool {
    let Link::Socket(transport) = &client.socket else { return true };
    if !awaits_end(transport, true) {
        return true;
    }
    run(transport, deadline(client), &mut || Ok(())).await.is_ok()
}

/// Waits for the end of the client's handshake, where the request arrived before it (`http-request
/// wait-for-handshake`).
///
/// # Errors
/// The handshake failed, or did not end before the deadline of a request.
pub(crate) async fn end(tx: &mut Transaction) -> Result<(), Failure> {
    let Link::Socket(transport) = &tx.client.socket else { return Ok(()) };
    if !transport.session().is_some_and(|session| session.is_early()) {
        return Ok(());
    }
    run(transport, deadline(&tx.client), &mut || Ok(())).await.map_err(|trouble| match trouble {
        TlsHandshakeFailure::Late => Failure::error(408, Cause::ClientTimeout, Phase::Request),
        _ => Failure::error(400, Cause::ClientAbort, Phase::Request),
    })
}

/// The end of `timeout http-request`, else of `timeout client`, counted from now.
fn deadline(client: &Client) -> Option<Tick> {
    let timeouts = &client.proxy.settings.timeouts;
    let span = timeouts.http_request.or(timeouts.client)?;
    Some(client.worker.thread.tick().plus_ms(span))
}
