//! The last invalid request of each frontend and the last invalid response of each backend, as
//! `show errors` shows them (management.txt 9.3).
//!
//! A copy is made only when a message is refused: at most one buffer per side of a proxy is kept.

use engine::state::records::last_invalid::Invalid;
use engine::state::session::transaction::Transaction;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use stdx::Mutex;

/// Records a refused request from the input buffer.
#[cold]
pub fn request(tx: &Transaction, error: mux::MessageError) {
    let kept = of(tx, tx.client.input.data(), error);
    store(&tx.client.proxy.invalid.request, kept);
}

/// Records a refused response from the input buffer.
#[cold]
pub fn response(tx: &Transaction, error: mux::MessageError) {
    let (Some(server), Some(backend)) = (&tx.server, &tx.backend) else { return };
    store(&backend.invalid.response, of(tx, server.received(), error));
}

fn store(place: &Mutex<Option<Arc<Invalid>>>, invalid: Invalid) {
    *place.lock() = Some(Arc::new(invalid));
}

fn of(tx: &Transaction, bytes: &[u8], error: mux::MessageError) -> Invalid {
    let server = tx.claim.as_ref().map(|claim| claim.server());
    Invalid {
        wall: tx.worker.thread.wall(),
        number: tx.worker.shared.invalid.fetch_add(1, Relaxed),
        frontend: tx.client.proxy.index,
        backend: tx.backend.as_ref().map(|backend| backend.index),
        server: server.map(|it| (it.state.name().to_owned(), it.state.id())),
        source: tx.client.peer,
        bytes: bytes.to_vec(),
        at: error.at.unwrap_or(0).min(bytes.len()),
        reason: error.reason,
        size: tx.worker.shared.settings.buffer_size,
    }
}
