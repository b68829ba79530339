//! The flight recorder: records of the last transactions of a thread, for `show why`.
//!
//! Each thread writes into two rings of its own: one of all transactions and one of failed ones, so
//! that successful transactions do not push failures out. Records have a fixed size; texts are cut.

use engine::state::records::flight_recorder::{Flight, Text};
use engine::state::session::transaction::Transaction;
use std::sync::atomic::Ordering::Relaxed;

/// Records the start of a request, whose head may be gone when it ends.
#[inline]
pub(crate) fn begin(tx: &mut Transaction) {
    if tx.worker.shared.records.load(Relaxed) {
        let request = &tx.space.request;
        tx.notes.line.set(&[request.method(), b" ", request.uri()]);
    }
}

/// Records a transaction that has ended; its journal is read for the last time.
#[inline]
pub fn end(tx: &mut Transaction) {
    if !tx.worker.shared.records.load(Relaxed) || tx.notes.journal.is_empty() {
        return;
    }
    let mut unique_id = Text::default();
    if let Some(id) = tx.notes.unique_id.get() {
        unique_id.set(&[id]);
    }
    let rule = tx.notes.journal.last_rule.take();
    let (journal, worker) = (&tx.notes.journal, &tx.worker);
    let mut rings = worker.recorder.0.borrow_mut();
    rings.count += 1;
    let flight = Flight {
        number: rings.count,
        wall: journal.began_wall + journal.first_byte.saturating_sub(journal.began),
        peer: tx.client.peer,
        line: tx.notes.line,
        unique_id,
        frontend: tx.client.proxy.index,
        backend: tx.backend.as_ref().map(|backend| backend.index),
        server: tx.claim.as_ref().map(|claim| claim.slot()),
        chooser: journal.chooser,
        moments: [
            journal.first_byte,
            journal.request,
            journal.queued,
            journal.connected,
            journal.response,
            journal.ended,
        ],
        fresh: journal.fresh,
        retries: journal.retries,
        redispatched: journal.redispatched,
        queue_positions: journal.queue_positions,
        status: journal.status,
        bytes: (journal.bytes_in, journal.bytes_out),
        cause: journal.cause,
        phase: journal.phase,
        bad_request: journal.bad_request,
        rule,
    };
    if flight.has_failed() {
        rings.failed.push(flight.clone());
    }
    rings.all.push(flight);
}
