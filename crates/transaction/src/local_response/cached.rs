//! Answers from a cache: the head of a stored response, fresh, validated, or in place of an error.

use crate::local_response;
use cache::{Hit, StoredAnswer};
use engine::state::session::cache_use::{BackgroundValidation, StaleObject};
use engine::state::session::transaction::{LocalBody, Transaction};
use htx::Head;
use observability::telemetry::accounting;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The name of a cache in logs, in place of a server's.
const NAME: &str = "<CACHE>";

/// Prepares the answer that the cache has for the request: its head, 304 for a client that has the
/// same object, or a part.
pub(crate) fn prepare(tx: &mut Transaction) {
    let Some(caches) = tx.notes.cache.as_mut() else { return };
    let (Some(hit), Some(cache)) = (caches.hit.take(), caches.served_by.as_ref()) else { return };
    let ranges = cache.settings().ranges;
    let date = tx.worker.date();
    let mut scratch = tx.worker.take_scratch();
    let answer = {
        let validators = hit.validators(&mut scratch);
        let request = &tx.space.request;
        StoredAnswer::to(request, hit.content_len(), &validators, ranges, date)
    };
    scratch.clear();
    tx.space.response.clear();
    hit.write_head(&mut tx.space.response, &mut scratch);
    tx.worker.give_scratch(scratch);
    local_response::answered(tx, Phase::Request);
    put(tx, hit, answer);
    accounting::by_applet(tx, NAME, true);
}

/// The validation of the response that answers the request, if the process is to make one.
pub(crate) fn validation(tx: &mut Transaction) -> Option<&mut BackgroundValidation> {
    tx.notes.cache.as_mut()?.background.as_deref_mut()
}

/// The head of a stored response, which is not fresh.
pub(crate) fn stored_head(tx: &Transaction, hit: &Hit) -> Head {
    let (mut head, mut scratch) = (Head::default(), tx.worker.take_scratch());
    hit.write_head(&mut head, &mut scratch);
    tx.worker.give_scratch(scratch);
    head
}

/// Prepares a stored, stale response in place of the server's response.
pub(crate) fn prepare_stale(tx: &mut Transaction, stale: StaleObject, head: Head) {
    tx.space.body.clear();
    tx.space.response = head;
    if let Some(caches) = tx.notes.cache.as_mut() {
        caches.served_by = Some(stale.cache);
    }
    put(tx, stale.hit, stale.answer);
    tx.notes.journal.applet = Some(NAME);
}

/// Prepares the stored response that takes the place of an error of the server, if there is one
/// (RFC 5861 section 4).
pub(crate) fn replace_error(tx: &mut Transaction, failure: Failure) -> bool {
    // The proxy is the one that refuses a response that it cannot read.
    let causes = [Cause::ServerAbort, Cause::ServerTimeout, Cause::Proxy];
    let of_server = causes.contains(&failure.cause);
    if !of_server || !matches!(failure.ending.error(), Some(502..=504)) {
        return false;
    }
    let caches = tx.notes.cache.as_mut();
    let Some(stale) = caches.and_then(|it| it.stale.take_if(|it| it.hit.may_serve_on_error()))
    else {
        return false;
    };
    let head = stored_head(tx, &stale.hit);
    prepare_stale(tx, stale, head);
    true
}

fn put(tx: &mut Transaction, mut hit: Box<Hit>, answer: StoredAnswer) {
    tx.space.body.clear();
    answer.apply(&mut tx.space.response, &mut hit);
    tx.local_body = Some(LocalBody::Stored(hit));
}
