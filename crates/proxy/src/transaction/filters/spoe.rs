//! `filter spoe`: the events of a stream at which its engines send messages.

use crate::transaction::wait;
use engine::state::session::pending::OutsideAnswer;
use engine::state::session::transaction::Transaction;
use observability::telemetry::spoe;
use rules::SpoeEvent;
use transport::stats::transaction_log::{Failure, Phase};

/// The events before the `tcp-request content` rules of the frontend.
///
/// # Errors
/// As [`pass`].
pub(crate) async fn begin(tx: &mut Transaction) -> Result<(), Failure> {
    pass(tx, SpoeEvent::ClientSession).await?;
    pass(tx, SpoeEvent::FrontendTcpRequest).await
}

/// Whether an event sends messages.
#[inline]
pub(crate) fn wants(tx: &Transaction, event: SpoeEvent) -> bool {
    super::has_any(tx) && spoe::wants(tx, event)
}

/// Sends the messages of an event, and waits for the answers.
///
/// # Errors
/// The client has left, or an operator ends the stream.
pub(crate) async fn pass(tx: &mut Transaction, event: SpoeEvent) -> Result<(), Failure> {
    if !ask(tx, event) {
        return Ok(());
    }
    match wait::answer(tx, phase(event)).await? {
        OutsideAnswer::Fail(failure) => Err(failure),
        _ => Ok(()),
    }
}

/// Begins to ask about an event; `false`: it sends no messages.
pub(crate) fn ask(tx: &mut Transaction, event: SpoeEvent) -> bool {
    if !super::has_any(tx) {
        return false;
    }
    let Some(pending) = spoe::at_event(tx, event) else { return false };
    tx.notes.used = true;
    tx.notes.asked.begin(pending);
    true
}

fn phase(event: SpoeEvent) -> Phase {
    match event {
        SpoeEvent::ServerSession | SpoeEvent::TcpResponse | SpoeEvent::HttpResponse => {
            Phase::Headers
        }
        _ => Phase::Request,
    }
}
