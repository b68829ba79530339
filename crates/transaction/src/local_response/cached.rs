//! Answers from a cache: the head of the stored response.

use crate::local_response;
use engine::state::session::transaction::{LocalBody, Transaction};
use observability::telemetry::accounting;
use transport::stats::transaction_log::Phase;

/// The name of a cache in logs, in place of a server's.
const NAME: &str = "<CACHE>";

/// Prepares the answer that the cache has for the request: its head, or 304 for a client that has
/// the same object.
pub(crate) fn prepare(tx: &mut Transaction) {
    let Some(hit) = tx.notes.cache.as_mut().and_then(|it| it.hit.take()) else { return };
    let date = (tx.worker.thread.wall() / 1_000_000_000) as i64;
    let mut scratch = tx.worker.take_scratch();
    tx.space.response.clear();
    tx.space.body.clear();
    hit.write_head(&mut tx.space.response, &mut scratch);
    scratch.clear();
    let same = {
        let validators = hit.validators(&mut scratch);
        cache::conditional::is_not_modified(&tx.space.request, &validators, date)
    };
    tx.worker.give_scratch(scratch);
    local_response::answered(tx, Phase::Request);
    if same {
        tx.space.response.set_status(304);
    }
    tx.local_body = Some(LocalBody::Stored(hit));
    accounting::by_applet(tx, NAME, true);
}
