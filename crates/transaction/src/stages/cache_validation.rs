//! Validation of stored responses with their servers (RFC 9111 section 4.3): the conditions that a
//! request carries, and what the answer to them means.

use crate::local_response::cached;
use crate::retry;
use crate::stages::stage::{Respond, StageOutcome};
use cache::validation::{self, Validation};
use cache::{Hit, Storing};
use engine::state::runtime::{BackendRef, ProxyRef};
use engine::state::session::cache_use::StaleObject;
use engine::state::session::transaction::{RetryCopy, Transaction};
use htx::{Fields, Head};
use reactor::Pacer;
use transport::stats::transaction_log::{Ending, Failure, Phase};

/// Blocks of content that are copied before other tasks have their turn.
const BLOCKS: usize = 128;

/// Makes a request conditional on the stored response that it may validate. The request as it was
/// is kept, for a server that answers 304 for another response.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn request(tx: &mut Transaction, _: &BackendRef) -> Result<StageOutcome, Failure> {
    let Some(mut caches) = tx.notes.cache.take() else { return Ok(StageOutcome::Next) };
    if let Some(stale) = caches.stale.as_mut().filter(|stale| stale.validates) {
        let stored = cached::stored_head(tx, &stale.hit);
        stale.request.clone_from(&tx.space.request);
        validation::make_conditional(&mut tx.space.request, &stored);
    }
    tx.notes.cache = Some(caches);
    Ok(StageOutcome::Next)
}

/// Drops the stored response of a request that a service answers: a service does not validate the
/// responses of servers, and its failures are its own.
pub(crate) fn skip(tx: &mut Transaction) {
    if let Some(caches) = &mut tx.notes.cache {
        caches.stale = None;
    }
}

/// Has the stored response answer if the server has validated it, or failed.
///
/// # Errors
/// The server speaks of another response: the request is sent again, without conditions.
pub(crate) fn response(tx: &mut Transaction, _: &ProxyRef) -> Result<StageOutcome, Failure> {
    let stale = tx.notes.cache.as_mut().and_then(|caches| caches.stale.take());
    let Some(stale) = stale else { return Ok(StageOutcome::Next) };
    let mut head = cached::stored_head(tx, &stale.hit);
    match validation::outcome(&head, &tx.space.response) {
        Validation::Freshened if stale.validates => {
            validation::freshen(&mut head, &tx.space.response);
            let storing = begin_to_store(tx, &stale, &head);
            cached::prepare_stale(tx, stale, head);
            if let Some(caches) = &mut tx.notes.cache {
                caches.storing = storing.into_iter().collect();
            }
            Ok(StageOutcome::Respond(Respond::Stored))
        }
        Validation::OtherVersion if stale.validates => {
            let (payload, trailers) = Default::default();
            tx.retry_copy =
                Some(Box::new(RetryCopy { head: stale.request, payload, trailers, whole: false }));
            Err(retry::elsewhere(tx))
        }
        Validation::ServerError if stale.hit.may_serve_on_error() => {
            cached::prepare_stale(tx, stale, head);
            Ok(StageOutcome::Respond(Respond::Stored))
        }
        _ => Ok(StageOutcome::Next),
    }
}

/// Begins to store a response whose head was updated; `None` if it may not be stored any more.
fn begin_to_store(tx: &Transaction, stale: &StaleObject, head: &Head) -> Option<Storing> {
    let request = tx.notes.cache.as_ref()?.of(&stale.cache)?;
    let date = tx.worker.date();
    let rules = &stale.cache.settings().rules;
    let storable = cache::response::judge(head, &request.selecting, rules, date).ok()?;
    let now = tx.worker.millis();
    let mut storing = Storing::begin(&stale.cache, &request.key, head, &storable, now).ok()?;
    storing.frame_as(&stale.hit);
    Some(storing)
}

/// Stores the content of the response that answers, behind its updated head.
///
/// # Errors
/// The stream was shut down by a command.
pub(crate) async fn store(tx: &mut Transaction, hit: &Hit) -> Result<(), Failure> {
    let Some(caches) = &mut tx.notes.cache else { return Ok(()) };
    let fetch = caches.fetch.take();
    let Some(mut storing) = caches.storing.pop() else { return Ok(()) };
    let (thread, mut pace) = (tx.worker.thread.clone(), Pacer::default());
    for (number, piece) in hit.all_pieces().enumerate() {
        if storing.payload(piece).is_err() {
            return Ok(());
        }
        if number % BLOCKS == BLOCKS - 1 {
            pace.yield_turn(&thread).await;
            tx.go_on(Ending::Close, Phase::Headers)?;
        }
    }
    let (mut trailers, mut scratch) = (Fields::default(), tx.worker.take_scratch());
    hit.write_trailers(&mut trailers, &mut scratch);
    tx.worker.give_scratch(scratch);
    let _ = storing.finish(Some(&trailers), tx.worker.millis());
    drop(fetch);
    Ok(())
}
