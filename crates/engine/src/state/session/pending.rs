//! Answers from outside that rules wait for: a password's verification, an address, a script, an
//! agent.
//!
//! # How to attach an asker
//!
//! An asker is anything that needs time to answer a rule. It has two parts:
//!
//! 1. A [`PendingAnswer`]: a value that is polled until its answer is there. [`after`] makes one
//!    from a future and a function that applies the future's output; an asker that has to look at
//!    the message again and again, such as a script, implements the trait itself.
//! 2. The place that begins to ask, by [`AwaitedAnswer::begin`]:
//! * an action: `Action::Ask` (crate `rules`) with the number of an [`OutsideAsker`] that was added
//!   to each worker ([`Worker::add_asker`](crate::state::worker::Worker::add_asker)). The rules
//!   continue behind the action when the answer is there, so it has its effect once.
//! * a method of `Context` or `Facts` that the transaction's view implements. `do-resolve` and
//!   passwords do so. A condition that is not decided makes the rules continue *at* its rule, so
//!   the answer has to be where the condition finds it
//!   ([`Credentials`](crate::state::session::credentials::Credentials) is the example).
//!    * a stage or a filter of a transaction, which then says that it waits for an answer.
//!
//! Every kind of rule waits: `tcp-request connection`, `session` and `content`, `http-request`,
//! `redirect`, `use_backend`, `use-server`, `force-persist`, `stick`, `tcp-response content`,
//! `http-response`, `http-after-response`, `monitor fail`, `stats`. One answer is awaited at a
//! time.
//!
//! # Invariants of the wait
//!
//! * *Time-out*: the asker's own. It ends the wait by an answer; nothing else does, apart from the
//!   client, and a pending answer that is never ready holds its transaction forever. Its futures
//!   may use `scheduler().wait(deadline)`: they are polled by the transaction's task at each of its
//!   wake-ups. `tcp-request inspect-delay` limits the wait for bytes only.
//! * *The end of the client*: a reset stream ends the wait, and so does a closed connection with
//!   `option abortonclose` (of the backend, or of the frontend as long as there is no backend).
//!   `shutdown session` and `on-marked-down shutdown-sessions` end it too. The pending answer is
//!   dropped then: its drop is the cancellation.
//! * *Bounds*: nothing is read from client or server during the wait, so that at most one buffer
//!   per direction is held, and the peer is stopped by its own send window. A response that waits
//!   holds the rest of its request's body back as well.
//! * *Timers and logs*: `timeout server` and `timeout client` do not run. Before a server is
//!   chosen the time is part of `%Tw`; while a response waits it is part of `%Ta` alone, as `%Tr`
//!   ends with the response's head. A wait that the client ends is logged as `CR` (request) or `CH`
//!   (response).
//! * *Memory*: the pending answer is one allocation of the rules that ask; a transaction that asks
//!   nothing allocates nothing and has no larger future.

use crate::state::backend::reservation::Claim;
use crate::state::backend::server_connection::ServerConn;
use crate::state::runtime::BackendRef;
use crate::state::session::client::Client;
use crate::state::session::request_buffers::{Notes, Workspace};
use crate::state::session::transaction::Transaction;
use crate::state::worker::Worker;
use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};
use transport::stats::transaction_log::Failure;

/// The data of a transaction, or of a connection before its first one, that rules see and change.
pub struct RuleScope<'a> {
    /// The thread.
    pub worker: &'a Worker,
    /// The client.
    pub client: &'a Client,
    /// Heads and buffers.
    pub space: &'a mut Workspace,
    /// Variables, captures and times.
    pub notes: &'a mut Notes,
    /// The backend, once chosen.
    pub backend: Option<&'a BackendRef>,
    /// The server in use, by slot.
    pub slot: Option<usize>,
    /// The connection to it.
    pub server: Option<&'a ServerConn>,
    /// Whether the stream exists; rules on connections and sessions run before it.
    pub stream: bool,
}

impl RuleScope<'_> {
    /// The same data for a shorter time.
    pub fn reborrow(&mut self) -> RuleScope<'_> {
        RuleScope {
            worker: self.worker,
            client: self.client,
            space: &mut *self.space,
            notes: &mut *self.notes,
            backend: self.backend,
            slot: self.slot,
            server: self.server,
            stream: self.stream,
        }
    }

    /// The data of a transaction.
    #[inline]
    pub fn of(tx: &mut Transaction) -> RuleScope<'_> {
        RuleScope {
            worker: &tx.worker,
            client: &tx.client,
            space: &mut tx.space,
            notes: &mut tx.notes,
            backend: tx.backend.as_ref(),
            slot: tx.claim.as_ref().map(Claim::slot),
            server: tx.server.as_deref(),
            stream: true,
        }
    }
}

/// The continuation of the rules after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutsideAnswer {
    /// The rules continue: behind the action that has asked, or at the condition.
    Continue,
    /// The rule set is over, as after `allow`.
    Allow,
    /// The message is refused: 403 for a request, 502 for a response, a close without HTTP.
    Deny,
    /// The response in the workspace, which the asker has made, goes to the client.
    Respond,
    /// The transaction fails in this way.
    Fail(Failure),
}

/// An answer on its way.
pub trait PendingAnswer {
    /// Checks whether the answer has arrived, and applies it. The task that waits calls this at
    /// once and at each of its wake-ups, which may be spurious.
    fn poll(&mut self, context: &mut Context<'_>, scope: &mut RuleScope<'_>)
    -> Poll<OutsideAnswer>;
}

/// A future, and the function that applies its output.
struct After<F, A> {
    future: Pin<Box<F>>,
    apply: Option<A>,
}

impl<F, A> PendingAnswer for After<F, A>
where
    F: Future,
    A: FnOnce(F::Output, &mut RuleScope<'_>) -> OutsideAnswer,
{
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        scope: &mut RuleScope<'_>,
    ) -> Poll<OutsideAnswer> {
        let output = std::task::ready!(self.future.as_mut().poll(context));
        let apply = self.apply.take();
        Poll::Ready(apply.map_or(OutsideAnswer::Continue, |apply| apply(output, scope)))
    }
}

/// An answer that is applied when a future has ended.
pub fn after<F: Future + 'static>(
    future: F,
    apply: impl FnOnce(F::Output, &mut RuleScope<'_>) -> OutsideAnswer + 'static,
) -> Box<dyn PendingAnswer> {
    Box::new(After { future: Box::pin(future), apply: Some(apply) })
}

/// The answer that the rules of a transaction wait for.
#[derive(Default)]
pub struct AwaitedAnswer(RefCell<Option<Box<dyn PendingAnswer>>>);

impl AwaitedAnswer {
    /// Begins to wait for an answer, in place of one that no rule waits for: an expression that has
    /// asked for it, in a log line say, did without.
    pub fn begin(&self, pending: Box<dyn PendingAnswer>) {
        self.0.replace(Some(pending));
    }

    /// Whether an answer is awaited.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Takes the answer out, to wait for it.
    pub fn take(&self) -> Option<Box<dyn PendingAnswer>> {
        self.0.take()
    }
}

impl std::fmt::Debug for AwaitedAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AwaitedAnswer").field(&self.is_asked()).finish()
    }
}

/// An asker of `Action::Ask`: a policy agent, a script, a call to another server.
pub trait OutsideAsker {
    /// Begins to ask about a message; `None`: the asker needs no answer.
    fn ask(&self, scope: &mut RuleScope<'_>) -> Option<Box<dyn PendingAnswer>>;
}
