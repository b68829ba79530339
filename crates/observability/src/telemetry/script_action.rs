//! Actions of scripts: a turn at once, and an answer that rules wait for where that is not enough.

use crate::telemetry::sample_context::View;
use engine::io::script_state;
use engine::state::backend::queue::Waiter;
use engine::state::session::pending::{OutsideAnswer, PendingAnswer, RuleScope};
use engine::state::worker::Worker;
use reactor::Wake;
use rules::{ScriptCall, ScriptStep};
use sample::{Facts, Side, Value};
use script::{
    Answer, Call, ChannelBytes, ChannelState, Host, LocalReply, Private, Request, Script,
    ScriptError, Step, Subject,
};
use settings::Mode;
use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll};
use stdx::Tick;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// Milliseconds after which the function of an HTTP rule runs again, unless it sets another time:
/// nothing arrives while the rules wait.
const REPEAT: u64 = 1_000;

/// Results of actions, as scripts name them in `act`.
mod code {
    pub(super) const STOP: i64 = 1;
    pub(super) const YIELD: i64 = 2;
    pub(super) const ERROR: i64 = 3;
    pub(super) const DONE: i64 = 4;
    pub(super) const DENY: i64 = 5;
    pub(super) const ABORT: i64 = 6;
    pub(super) const INVALID: i64 = 7;
}

/// Begins a call; the rules continue at once if it has ended without consequence.
pub(crate) fn begin(call: &ScriptCall, view: &mut View<'_>) -> ScriptStep {
    let mut running = Running { script: None, answer: Answer::Done, answered: false, wake: None };
    let waiting = match running.turn(call, view) {
        TurnOutcome::Over(OutsideAnswer::Continue) => return ScriptStep::Next,
        TurnOutcome::Again if view.client.mode == Mode::Tcp => {
            view.notes.used = true;
            view.notes.wake = running.wake.map(|span| after(view.worker, span));
            return ScriptStep::Again;
        }
        TurnOutcome::Again => running.again(view.worker),
        TurnOutcome::Over(answer) => Waiting::For(answer),
        TurnOutcome::Busy => Waiting::State,
        TurnOutcome::Asks(request) => Running::meet(view.worker, request),
    };
    let pending = PendingScript { call: call.clone(), running, waiting };
    view.notes.asked.begin(Box::new(pending));
    ScriptStep::Next
}

fn after(worker: &Worker, span: u64) -> Tick {
    worker.thread.tick().plus_ms(u32::try_from(span).unwrap_or(u32::MAX))
}

/// The script of a call.
struct Running {
    script: Option<Script>,
    /// The answer to its last request.
    answer: Answer,
    /// The response is in the workspace.
    answered: bool,
    /// Milliseconds after which the function runs again (`act:wake_time`).
    wake: Option<u64>,
}

/// The outcome of a turn.
enum TurnOutcome {
    /// The rules continue in this way.
    Over(OutsideAnswer),
    /// The function runs again (`act.YIELD`).
    Again,
    /// The state is in use by another thread.
    Busy,
    /// The script waits for something.
    Asks(Request),
}

/// The condition of the next turn.
enum Waiting {
    /// The state is free.
    State,
    /// The future has ended, with the answer to the script.
    Future(Pin<Box<dyn Future<Output = Answer>>>),
    /// The call is over.
    For(OutsideAnswer),
}

impl Running {
    fn turn(&mut self, call: &ScriptCall, view: &mut View<'_>) -> TurnOutcome {
        let Some(scripts) = view.worker.shared.scripts.get().cloned() else {
            return TurnOutcome::Over(OutsideAnswer::Continue);
        };
        let Some(cell) = scripts.cell(call.per_thread, view.worker.thread.index) else {
            return TurnOutcome::Over(OutsideAnswer::Continue);
        };
        let waiter = Waiter::current(&view.worker.thread);
        let wake = move || waiter.mailbox.wake(waiter.task, Wake::RESOURCE);
        let Some(mut state) = cell.enter(wake) else { return TurnOutcome::Busy };
        let mut host = ActionHost { view, answered: self.answered, wake: self.wake };
        let step = match &mut self.script {
            Some(script) => {
                let answer = std::mem::replace(&mut self.answer, Answer::Done);
                state.resume(script, answer, &mut host)
            }
            None => {
                let args: Vec<Cow<'_, [u8]>> =
                    call.args.iter().map(|arg| Cow::Borrowed(&**arg)).collect();
                let name = Call::Action(&call.name, call.rules);
                let limit = scripts.timeouts.session;
                let (step, script) =
                    state.start(name, Subject::Transaction, &args, limit, &mut host);
                self.script = script;
                step
            }
        };
        (self.answered, self.wake) = (host.answered, host.wake);
        let number = state.number();
        drop(state);
        match step {
            Step::Waits(request) => TurnOutcome::Asks(request),
            Step::Returned(Some(Value::Int(code::YIELD))) => {
                self.script = None;
                TurnOutcome::Again
            }
            Step::Returned(value) => TurnOutcome::Over(meaning(value, view)),
            Step::Ended => TurnOutcome::Over(self.end(view)),
            Step::Failed(fault) => {
                script::alert(&format!("Lua function '{}': {}", call.name, fault.text(number)));
                TurnOutcome::Over(match self.answered {
                    true => OutsideAnswer::Respond,
                    false => OutsideAnswer::Continue,
                })
            }
        }
    }

    /// The end by `txn:done`: with a response, or by closing the connection.
    fn end(&self, view: &View<'_>) -> OutsideAnswer {
        match self.answered {
            true => OutsideAnswer::Respond,
            false => OutsideAnswer::Fail(Failure::close(Cause::Local, phase(view))),
        }
    }

    /// Waits until the function runs again.
    fn again(&mut self, worker: &Worker) -> Waiting {
        let span = self.wake.take().unwrap_or(REPEAT);
        Running::meet(worker, Request::Sleep(span))
    }

    /// Begins the operation that the script waits for.
    fn meet(worker: &Worker, request: Request) -> Waiting {
        let Some(worker) = worker.handle() else { return Waiting::For(OutsideAnswer::Continue) };
        Waiting::Future(Box::pin(async move { script_state::meet(&worker, request).await }))
    }
}

/// A call that the rules wait for.
struct PendingScript {
    call: ScriptCall,
    running: Running,
    waiting: Waiting,
}

impl PendingAnswer for PendingScript {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        scope: &mut RuleScope<'_>,
    ) -> Poll<OutsideAnswer> {
        loop {
            match &mut self.waiting {
                Waiting::For(answer) => return Poll::Ready(*answer),
                Waiting::Future(future) => {
                    self.running.answer = std::task::ready!(future.as_mut().poll(context));
                }
                Waiting::State => {}
            }
            let mut view = View::at(scope.reborrow());
            self.waiting = match self.running.turn(&self.call, &mut view) {
                TurnOutcome::Over(answer) => Waiting::For(answer),
                TurnOutcome::Asks(request) => Running::meet(view.worker, request),
                TurnOutcome::Again => self.running.again(view.worker),
                TurnOutcome::Busy => {
                    self.waiting = Waiting::State;
                    return Poll::Pending;
                }
            };
        }
    }
}

fn phase(view: &View<'_>) -> Phase {
    if view.response().is_some() { Phase::Headers } else { Phase::Request }
}

/// The consequence of an action's result.
fn meaning(value: Option<Value<'static>>, view: &View<'_>) -> OutsideAnswer {
    let Some(Value::Int(code)) = value else { return OutsideAnswer::Continue };
    let phase = phase(view);
    let fail = |status, cause| match view.client.mode {
        Mode::Http => OutsideAnswer::Fail(Failure::error(status, cause, phase)),
        Mode::Tcp => OutsideAnswer::Fail(Failure::close(cause, phase)),
    };
    match code {
        code::STOP => OutsideAnswer::Allow,
        code::ERROR => fail(500, Cause::Internal),
        code::DONE => OutsideAnswer::Fail(Failure::close(Cause::Local, phase)),
        code::DENY => OutsideAnswer::Deny,
        code::ABORT => fail(503, Cause::Proxy),
        code::INVALID => fail(400, Cause::Proxy),
        _ => OutsideAnswer::Continue,
    }
}

/// The transaction as an action sees it.
struct ActionHost<'h, 'v> {
    view: &'h mut View<'v>,
    answered: bool,
    wake: Option<u64>,
}

impl Host for ActionHost<'_, '_> {
    fn facts(&self) -> Option<&dyn Facts> {
        Some(&*self.view)
    }

    fn context(&mut self) -> Option<&mut dyn rules::Context> {
        Some(&mut *self.view)
    }

    fn private(&mut self) -> Option<&mut Private> {
        self.view.notes.used = true;
        Some(&mut self.view.notes.private)
    }

    fn channel_state(&self, side: Side) -> Result<ChannelState, ScriptError> {
        let (view, at) = (&*self.view, side as usize);
        let received = view.received(side).len();
        let edited = view.notes.edited[at].as_ref();
        let output = edited.map_or(view.notes.passed[at], |edited| edited.passed);
        let open = match side {
            Side::Request => !view.client.socket.is_closed(),
            Side::Response => view.server.is_none_or(|server| !server.socket().is_closed()),
        };
        let room = view.worker.buffers.size().saturating_sub(received);
        let input = received - output.min(received);
        Ok(ChannelState { input, output, room, open, last: false })
    }

    fn channel(&self, side: Side) -> Result<ChannelBytes, ScriptError> {
        let view = &*self.view;
        if view.client.mode == Mode::Http {
            return Err(ScriptError::refused("Cannot manipulate HAProxy channels in HTTP mode."));
        }
        if side == Side::Response && view.server.is_none() {
            return Err(ScriptError::refused("the channel of the response is not open yet"));
        }
        let passed = self.channel_state(side)?.output;
        Ok(ChannelBytes { bytes: view.received(side).to_vec(), passed })
    }

    fn edit_channel(&mut self, side: Side, to: ChannelBytes) -> Result<(), ScriptError> {
        if to.bytes.len() > self.view.worker.buffers.size() {
            return Err(ScriptError::refused("the channel has no room"));
        }
        self.view.notes.used = true;
        self.view.notes.edited[side as usize] = Some(to);
        Ok(())
    }

    fn wake_after(&mut self, span: u64) -> Result<(), ScriptError> {
        self.wake = Some(span);
        Ok(())
    }

    fn done(&mut self, reply: Option<LocalReply>) -> Result<(), ScriptError> {
        let Some(reply) = reply.filter(|_| self.view.client.mode == Mode::Http) else {
            return Ok(());
        };
        let (head, body) = (&mut self.view.space.response, &mut self.view.space.body);
        reply.write_head(head);
        // The proxy frames the body itself.
        head.remove(b"content-length");
        head.remove(b"transfer-encoding");
        body.clear();
        body.extend_from_slice(&reply.body);
        self.view.notes.journal.status = reply.status;
        self.answered = true;
        Ok(())
    }
}
