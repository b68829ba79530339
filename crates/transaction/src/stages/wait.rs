//! The waits of rules: for a body, for the end of a handshake, for a turn of other tasks, for an
//! answer from outside ([`engine::state::session::pending`] says what holds during that one).

use crate::message::body_buffer;
use crate::message::tls_wait;
use engine::state::session::pending::{OutsideAnswer, RuleScope};
use engine::state::session::transaction::Transaction;
use mux::BodyKind;
use observability::telemetry::sample_context::View;
use reactor::Class;
use rules::Need;
use settings::Mode;
use std::future::poll_fn;
use std::task::Poll;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// The message whose rules wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitingMessage {
    Request,
    /// A response with this framing.
    Response(BodyKind),
}

/// Waits until the need of a rule is met.
///
/// # Errors
/// The need is not met in time, or the client has left.
pub(crate) async fn satisfy(
    tx: &mut Transaction,
    waiting: WaitingMessage,
    need: Need,
) -> Result<OutsideAnswer, Failure> {
    match (need, waiting) {
        (Need::Body { span, at_least }, WaitingMessage::Request) => {
            body_buffer::wait(tx, Some(span), at_least).await?;
        }
        (Need::Body { span, at_least }, WaitingMessage::Response(body)) => {
            body_buffer::wait_for_response(tx, body, span, at_least).await?;
        }
        (Need::Handshake, _) => tls_wait::end(tx).await?,
        (Need::Turn, _) => tx.worker.thread.next_turn(Class::Bulk).await,
        (Need::Answer, WaitingMessage::Request) => return answer(tx, Phase::Request).await,
        (Need::Answer, WaitingMessage::Response(_)) => {
            let phase = if tx.client.mode == Mode::Tcp { Phase::Data } else { Phase::Headers };
            return answer(tx, phase).await;
        }
        // Bytes are awaited by the rules of requests and by the relay of a session.
        (Need::Bytes, _) => {}
    }
    Ok(OutsideAnswer::Continue)
}

/// Waits for the answer from outside that a rule has asked for.
///
/// # Errors
/// The client has left, or the stream was shut down by a command.
pub(crate) async fn answer(tx: &mut Transaction, phase: Phase) -> Result<OutsideAnswer, Failure> {
    let Some(mut pending) = tx.notes.asked.take() else { return Ok(OutsideAnswer::Continue) };
    poll_fn(|context| {
        if let Poll::Ready(answer) = pending.poll(context, &mut RuleScope::of(tx)) {
            return Poll::Ready(Ok(answer));
        }
        match check_client(tx, phase) {
            Ok(()) => Poll::Pending,
            Err(failure) => Poll::Ready(Err(failure)),
        }
    })
    .await
}

/// Waits for an answer that decides a condition.
///
/// # Errors
/// As [`answer`]; the asker fails the transaction.
pub(crate) async fn for_condition(tx: &mut Transaction) -> Result<(), Failure> {
    match answer(tx, Phase::Request).await? {
        OutsideAnswer::Fail(failure) => Err(failure),
        _ => Ok(()),
    }
}

/// The result of a condition; `None`: it is decided by an answer that has to be awaited.
pub(crate) fn decide(tx: &mut Transaction, look: impl FnOnce(&View<'_>) -> bool) -> Option<bool> {
    // An answer that no rule has waited for is of no use.
    drop(tx.notes.asked.take());
    let holds = look(&View::of(tx));
    (holds || !tx.notes.asked.is_asked()).then_some(holds)
}

/// Has the task woken when the client leaves, as far as that ends the wait.
fn check_client(tx: &Transaction, phase: Phase) -> Result<(), Failure> {
    let client = &tx.client.socket;
    let matters = match &tx.backend {
        Some(backend) => backend.back.settings.abort_on_close,
        None => tx.client.proxy.front.settings.abort_on_close,
    };
    client.want_reset();
    if matters {
        client.want_close();
    }
    if client.is_cancelled() || (matters && client.is_closed()) {
        return Err(Failure::close(Cause::ClientAbort, phase));
    }
    tx.go_on(Ending::Error(503), phase)
}
