//! Waits for the part of a request's body that the balance algorithm hashes.

use crate::message::body_buffer;
use crate::stages::stage::{StageFuture, StageOutcome};
use engine::state::runtime::BackendRef;
use engine::state::session::transaction::Transaction;
use htx::Method;
use settings::HashKey;
use upstream::balance_key::of_query;

/// Whether the body is needed: that of a POST whose query lacks the parameter (`check_post`).
pub(crate) fn wants_body(tx: &Transaction, backend: &BackendRef) -> bool {
    let hashing = backend.back.settings.hashing.as_ref();
    let Some(HashKey::UrlParam { name, check_post: true }) = hashing.map(|it| &it.key) else {
        return false;
    };
    let request = &tx.space.request;
    let lacks = request.method_id() == Method::Post && of_query(request.uri(), name).is_none();
    lacks && tx.notes.bodies[0].is_none()
}

/// Waits for that body, as far as it fits into a buffer. Fails when the client leaves, or takes
/// longer than `timeout http-request`.
pub(crate) fn await_body<'a>(tx: &'a mut Transaction, backend: &'a BackendRef) -> StageFuture<'a> {
    Box::pin(async { body_buffer::wait_for_all(tx, backend).await.map(|()| StageOutcome::Next) })
}
