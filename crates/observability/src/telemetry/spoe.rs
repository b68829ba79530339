//! Exchanges with agents of SPOE: messages at an event of a stream or for a rule, and the variables
//! that the answers set (SPOE.txt, sections 2 and 3).

use crate::logging::log;
use crate::telemetry::sample_context::View;
use engine::state::session::pending::{OutsideAnswer, PendingAnswer, RuleScope};
use engine::state::session::request_buffers::SpoeProgress;
use engine::state::session::transaction::Transaction;
use engine::state::spoe::{SpoeAgentPool, SpoeAnswer, SpoeAnswered};
use reactor::{Thread, Tick};
use rules::{SpoeEngine, SpoeEvent, SpoeMessage};
use sample::vars::Scope as VarScope;
use sample::{Bytes, Value};
use settings::{Filter, SpoeFilter};
use spop::{Action, Actions, Data, FrameId, Scope};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use transport::stats::transaction_log::Journal;

/// The error of `option set-on-error` when the agent does not answer in time.
const TIMED_OUT: u16 = 1;

/// Whether an event of this stream sends messages.
pub fn wants(tx: &Transaction, event: SpoeEvent) -> bool {
    filters(tx, event).next().is_some()
}

/// The exchanges of an event, in order: those of the frontend's engines, then those of the
/// backend's; `None` if it sends no messages.
pub fn at_event(tx: &Transaction, event: SpoeEvent) -> Option<Box<dyn PendingAnswer>> {
    let left: VecDeque<_> =
        filters(tx, event).map(|it| (it.clone(), Subject::Event(event))).collect();
    (!left.is_empty()).then(|| Box::new(SpoeExchanges { left, current: None }) as _)
}

/// The exchange of a `send-spoe-group` rule.
pub fn for_group(
    scope: &RuleScope<'_>,
    engine: &Arc<SpoeEngine>,
    group: usize,
) -> Option<Box<dyn PendingAnswer>> {
    let all = &scope.worker.shared.spoe;
    let filter = all.iter().map(|it| &it.0).find(|it| Arc::ptr_eq(&it.engine, engine))?.clone();
    let left = VecDeque::from([(filter, Subject::Group(group))]);
    Some(Box::new(SpoeExchanges { left, current: None }))
}

/// The engines with messages for an event.
fn filters(tx: &Transaction, event: SpoeEvent) -> impl Iterator<Item = &Arc<SpoeFilter>> {
    use SpoeEvent::{ClientSession, FrontendHttpRequest, FrontendTcpRequest};
    let front = &tx.client.proxy;
    let early = matches!(event, ClientSession | FrontendTcpRequest | FrontendHttpRequest);
    let back = tx.backend.as_ref().filter(|back| !early && back.index != front.index);
    let back = back.into_iter().flat_map(|back| &back.settings.filters);
    let all = front.settings.filters.iter().chain(back);
    all.filter_map(move |filter| match filter {
        Filter::Spoe(filter) if !filter.engine.messages(event).is_empty() => Some(filter),
        _ => None,
    })
}

/// The reason for an exchange.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Event(SpoeEvent),
    /// The group of this number in its engine.
    Group(usize),
}

impl Subject {
    fn messages(self, engine: &SpoeEngine) -> &[Arc<SpoeMessage>] {
        match self {
            Self::Event(event) => engine.messages(event),
            Self::Group(number) => engine.groups.get(number).map_or(&[], |it| &it.messages),
        }
    }

    /// Its kind and name in logs.
    fn title(self, engine: &SpoeEngine) -> (&'static str, &str) {
        match self {
            Self::Event(event) => ("EVENT", event.name()),
            Self::Group(number) => {
                ("GROUP", engine.groups.get(number).map_or("", |group| &*group.name))
            }
        }
    }
}

/// Exchanges that run in order.
struct SpoeExchanges {
    left: VecDeque<(Arc<SpoeFilter>, Subject)>,
    current: Option<SentPayload>,
}

impl PendingAnswer for SpoeExchanges {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        scope: &mut RuleScope<'_>,
    ) -> Poll<OutsideAnswer> {
        loop {
            if let Some(current) = &mut self.current {
                let answered = std::task::ready!(current.poll(context));
                current.end(scope, &answered);
                self.current = None;
            }
            let Some((filter, subject)) = self.left.pop_front() else {
                return Poll::Ready(OutsideAnswer::Continue);
            };
            self.current = SentPayload::submit(scope, &filter, subject);
        }
    }
}

/// A payload that an agent has, until dropped.
struct SentPayload {
    agent: Rc<SpoeAgentPool>,
    filter: Arc<SpoeFilter>,
    subject: Subject,
    id: FrameId,
    thread: Rc<Thread>,
    /// In the thread's nanoseconds.
    began: u64,
    deadline: Option<Tick>,
    sleep: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl SentPayload {
    /// Sends the messages whose conditions hold; `None` if there are none, or the engine does not
    /// work for this stream.
    fn submit(
        scope: &mut RuleScope<'_>,
        filter: &Arc<SpoeFilter>,
        subject: Subject,
    ) -> Option<Self> {
        let worker = scope.worker;
        let agent = worker.spoe.get(filter.number)?.clone();
        if progress(scope, filter).failed || agent.errs_too_often(worker.second()) {
            return None;
        }
        let thread = worker.thread.clone();
        let began = thread.nanos();
        if !encode(scope, &agent, subject.messages(&filter.engine)) {
            return None;
        }
        let stream = stream_number(scope);
        let progress = progress(scope, filter);
        progress.frames += 1;
        let id = FrameId { stream, frame: progress.frames };
        agent.submit(id, agent.writer.borrow().payload());
        let span = filter.engine.agent.processing;
        let deadline = span.map(|span| thread.tick().plus_ms(span));
        let filter = filter.clone();
        Some(Self { agent, filter, subject, id, thread, began, deadline, sleep: None })
    }

    /// The answer, or the error when there is none in time.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<SpoeAnswered> {
        loop {
            if let Some(answered) = self.agent.take(self.id) {
                return Poll::Ready(answered);
            }
            if self.deadline.is_some_and(|deadline| deadline.is_due(self.thread.tick())) {
                let sent = self.agent.sent_at(self.id);
                let answer = SpoeAnswer::Failed(TIMED_OUT);
                return Poll::Ready(SpoeAnswered { answer, sent, at: 0 });
            }
            let (thread, deadline) = (&self.thread, self.deadline);
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(rest(thread.clone(), deadline)));
            std::task::ready!(sleep.as_mut().poll(context));
            self.sleep = None;
        }
    }

    /// Applies an answer and reports it.
    fn end(&self, scope: &mut RuleScope<'_>, answered: &SpoeAnswered) {
        let settings = &self.filter.engine.agent;
        scope.notes.used = true;
        let code = match &answered.answer {
            SpoeAnswer::Actions(actions) => {
                apply(scope, &self.filter, actions);
                0
            }
            SpoeAnswer::Failed(code) => *code,
        };
        let took = Journal::span(self.began, self.thread.nanos()).max(0);
        let progress = progress(scope, &self.filter);
        progress.total_ms += took.unsigned_abs();
        progress.failed = code != 0 && !settings.continues;
        let total = i64::try_from(progress.total_ms).unwrap_or(i64::MAX);
        let values = [
            (settings.on_error.as_ref().filter(|_| code != 0), i64::from(code)),
            (settings.process_time.as_ref(), took),
            (settings.total_time.as_ref(), total),
        ];
        for (name, value) in values {
            if let Some(name) = name {
                scope.notes.variables.set(name, Some(Value::Int(value)));
            }
        }
        self.agent.figures.of(self.thread.index).count(code != 0);
        if code != 0 {
            self.agent.figures.errors.add(scope.worker.second());
        }
        self.write_line(scope, answered, (code, took));
    }

    /// Writes the log line (SPOE.txt, section 4).
    fn write_line(
        &self,
        scope: &mut RuleScope<'_>,
        answered: &SpoeAnswered,
        (code, took): (u16, i64),
    ) {
        use std::io::Write as _;
        let engine = &self.filter.engine;
        let silent = code == 0 && engine.agent.logs_errors_only;
        if self.filter.logs.targets.is_empty() || silent {
            return;
        }
        self.agent.publish();
        let stream = stream_number(scope);
        let (kind, name) = self.subject.title(engine);
        let queued = answered.sent.map_or(-1, |sent| Journal::span(self.began, sent).max(0));
        let came = answered.sent.filter(|_| code != TIMED_OUT);
        let waited = came.map_or(-1, |sent| Journal::span(sent, answered.at).max(0));
        let processed = if code == 0 { 0 } else { -1 };
        let sums = self.agent.figures.sums();
        let [idle, all, queue, sent] = sums.state;
        let mut line = scope.worker.take_scratch();
        let _ = write!(
            line,
            "SPOE: [{}] <{kind}:{name}> sid={stream} st={code} 0/{queued}/{waited}/{processed}/{took} \
             {idle}/{all} {queue}/{sent} {}/{}",
            engine.agent.name, sums.errors, sums.processed
        );
        let level = if code == 0 { log::level::NOTICE } else { log::level::WARNING };
        log::send(scope.worker, &self.filter.logs, level, &line);
        scope.worker.give_scratch(line);
    }
}

impl Drop for SentPayload {
    fn drop(&mut self) {
        self.agent.leave(self.id);
    }
}

/// Waits for the next wake-up of the task, or the deadline.
async fn rest(thread: Rc<Thread>, deadline: Option<Tick>) {
    thread.scheduler().wait(deadline).await;
}

/// The number of the stream (`%rt`).
fn stream_number(scope: &mut RuleScope<'_>) -> u64 {
    let worker = scope.worker;
    *scope.notes.journal.number.get_or_insert_with(|| worker.next_number())
}

/// The record of an engine for the stream.
fn progress<'s>(scope: &'s mut RuleScope<'_>, filter: &SpoeFilter) -> &'s mut SpoeProgress {
    scope.notes.used = true;
    let all = &mut scope.notes.spoe;
    let found = all.iter().position(|it| it.number == filter.number);
    let index = found.unwrap_or_else(|| {
        all.push(SpoeProgress { number: filter.number, frames: 0, total_ms: 0, failed: false });
        all.len() - 1
    });
    &mut all[index]
}

/// Writes the messages whose conditions hold. `false`: there are none.
fn encode(scope: &mut RuleScope<'_>, agent: &SpoeAgentPool, messages: &[Arc<SpoeMessage>]) -> bool {
    scope.notes.used = true;
    let mut writer = agent.writer.borrow_mut();
    writer.clear();
    let view = View::at(scope.reborrow());
    for message in messages {
        let holds = |condition: &sample::Condition| condition.eval(&view) == sample::Answer::Yes;
        if !message.condition.as_ref().is_none_or(holds) {
            continue;
        }
        writer.message(message.name.as_bytes());
        for (name, expr) in &message.arguments {
            let value = expr.eval(&view);
            let data = value.as_ref().map_or(Data::Null, |value| data(value));
            writer.argument(name.as_bytes(), data);
        }
    }
    !writer.payload().is_empty()
}

fn data<'v>(value: &'v Value<'_>) -> Data<'v> {
    match value {
        Value::Bool(value) => Data::Bool(*value),
        Value::Int(value) => Data::Int64(*value),
        Value::Ipv4(address) => Data::Ipv4(*address),
        Value::Ipv6(address) => Data::Ipv6(*address),
        Value::Str(bytes) | Value::Meth(bytes) => Data::String(bytes),
        Value::Bin(bytes) => Data::Binary(bytes),
    }
}

/// Sets and unsets variables, up to the first malformed action.
fn apply(scope: &mut RuleScope<'_>, filter: &SpoeFilter, actions: &[u8]) {
    let known = &filter.engine.agent.variables;
    for action in Actions::new(actions).map_while(Result::ok) {
        let (place, name, value) = match action {
            Action::Set { scope, name, value } => (scope, name, variable(value)),
            Action::Unset { scope, name } => (scope, name, None),
        };
        let place = match place {
            Scope::Process => VarScope::Proc,
            Scope::Session => VarScope::Sess,
            Scope::Transaction => VarScope::Txn,
            Scope::Request => VarScope::Req,
            Scope::Response => VarScope::Res,
        };
        if let Some(name) = known.find(place, name) {
            scope.notes.variables.set(&name, value);
        }
    }
}

/// The value of a variable; NULL unsets it.
fn variable(data: Data<'_>) -> Option<Value<'static>> {
    let shared = |bytes: &[u8]| Bytes::Shared(bytes.into());
    Some(match data {
        Data::Null => return None,
        Data::Bool(value) => Value::Bool(value),
        Data::Int32(value) => Value::Int(value.into()),
        Data::Uint32(value) => Value::Int(value.into()),
        Data::Int64(value) => Value::Int(value),
        Data::Uint64(value) => Value::Int(value as i64),
        Data::Ipv4(address) => Value::Ipv4(address),
        Data::Ipv6(address) => Value::Ipv6(address),
        Data::String(text) => Value::Str(shared(text)),
        Data::Binary(bytes) => Value::Bin(shared(bytes)),
    })
}
