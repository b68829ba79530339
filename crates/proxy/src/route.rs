//! Where a request goes: rules of the frontend, choice of the backend, rules of the backend.
//! Never talks to a server.

use crate::journal::Failure;
use crate::runtime::Proxy;
use crate::transaction::Transaction;
use std::sync::Arc;

/// What becomes of a request.
pub(crate) enum Route {
    /// The answer stands in the workspace.
    Answer,
    /// It goes to a server of this backend.
    Forward(Arc<Proxy>),
}

/// Decides.
///
/// # Errors
/// The request is refused, or there is no backend for it.
pub(crate) fn decide(tx: &mut Transaction) -> Result<Route, Failure> {
    let front = tx.client.proxy.clone();
    let Some(settings) = &front.settings.front else { return Err(Transaction::refusal(503)) };
    if answers_statistics(tx, &front) {
        return Ok(Route::Answer);
    }
    let own = front.back.is_some().then(|| front.clone());
    let chosen = settings.default_backend.and_then(|index| tx.worker.shared.proxies.get(index));
    match chosen.cloned().or(own) {
        Some(backend) => Ok(Route::Forward(backend)),
        None => Err(Transaction::refusal(503)),
    }
}

/// Whether the statistics page of this proxy answers the request.
fn answers_statistics(tx: &mut Transaction, proxy: &Proxy) -> bool {
    let Some(page) = &proxy.settings.stats else { return false };
    if !tx.space.request.uri().starts_with(page.uri.as_bytes()) {
        return false;
    }
    let answer = tx.worker.services.statistics(&tx.worker, proxy, &tx.space.request);
    let Some(answer) = answer else { return false };
    tx.space.response = answer.head;
    tx.space.body = answer.body;
    true
}
