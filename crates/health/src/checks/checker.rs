//! The checker of one thread: sleeps until checks are due, and keeps or gives away the batch.

use super::agent;
use super::external;
use super::rule;
use super::script;
use crate::checks::batch::Flight;
use crate::checks::check_run;
use crate::checks::store::Store;
use engine::state::backend::check_inbox::{CheckInbox, Owner};
use engine::state::backend::check_record::Record;
use engine::state::worker::Worker;
use htx::Head;
use reactor::{Class, TaskId, Wake};
use rules::check::Script;
use settings::{Check, External, Protocol};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use stdx::Tick;

/// One thread's checker.
pub(super) struct Checker {
    pub(super) worker: Rc<Worker>,
    store: RefCell<Store>,
    task: Cell<TaskId>,
    /// The time of the task's timer; `None` without one.
    alarm: Cell<Option<u64>>,
    /// For parsing responses; used within one turn of a task.
    pub(super) head: RefCell<Head>,
}

impl Checker {
    pub(super) fn new(worker: &Rc<Worker>) -> Self {
        Self {
            worker: worker.clone(),
            store: RefCell::default(),
            task: Cell::new(TaskId::NONE),
            alarm: Cell::new(None),
            head: RefCell::default(),
        }
    }

    /// Registers the thread as one that takes checks of other threads.
    pub(super) fn register(&self, task: TaskId) {
        self.task.set(task);
        let thread = &self.worker.thread;
        let (mailbox, heartbeat) = (thread.mailbox().clone(), thread.heartbeat().clone());
        self.desk().open(Owner { mailbox, checker: task, heartbeat });
    }

    pub(super) fn desk(&self) -> &CheckInbox {
        &self.worker.shared.desks[self.worker.thread.index]
    }

    /// Lays records down without waking the task.
    pub(super) fn admit(&self, records: impl IntoIterator<Item = Record>) {
        let mut store = self.store.borrow_mut();
        records.into_iter().for_each(|record| store.put(record));
    }

    /// Schedules a check again after it ran, for about `interval` milliseconds from now.
    pub(super) fn lay_down(&self, record: Record, interval: u32) {
        let worker = &self.worker;
        let percent = worker.shared.settings.spread_checks;
        let interval = rule::jitter(interval, percent, worker.thread.prng().next_u32());
        let due = worker.millis() + u64::from(interval);
        let record = Record { due, interval, moved: false, ..record };
        match percent {
            0 => self.store.borrow_mut().put_near(record, worker.shared.settings.check_slack),
            // With `spread-checks`, the check keeps its random time.
            _ => self.admit([record]),
        }
        if self.alarm.get().is_none_or(|alarm| due < alarm) {
            worker.thread.scheduler().wake(self.task.get(), Wake::OTHER);
        }
    }

    /// The thread that a batch moves to, if any; a batch that has `moved` already stays.
    fn elsewhere(&self, moved: bool) -> Option<&CheckInbox> {
        let (thread, shared) = (&self.worker.thread, &self.worker.shared);
        let others = u32::try_from(shared.desks.len()).unwrap_or(u32::MAX).saturating_sub(1);
        if others == 0 || shared.is_stopping() {
            return None;
        }
        let draw = thread.prng().below(others) as usize;
        let desk = &shared.desks[draw + usize::from(draw >= thread.index)];
        let own = u32::try_from(thread.scheduler().load()).unwrap_or(u32::MAX);
        let own = own.saturating_add(self.desk().counts.running());
        desk.load().is_some_and(|other| rule::moves(moved, own, other)).then_some(desk)
    }

    /// Keeps a batch, or gives it away; then it is empty.
    fn place(self: &Rc<Self>, batch: &mut Vec<Record>) {
        if batch.is_empty() {
            return;
        }
        match self.elsewhere(batch.iter().any(|record| record.moved)) {
            Some(desk) => {
                self.desk().counts.give(batch.len());
                desk.give(batch.drain(..).map(|record| Record { moved: true, ..record }));
            }
            None => self.begin(batch),
        }
    }

    /// Runs a batch here.
    fn begin(self: &Rc<Self>, batch: &mut Vec<Record>) {
        let scheduler = self.worker.thread.scheduler();
        batch.retain(|record| {
            match self.alone(*record) {
                None => return true,
                Some(SeparateCheck::Agent) => {
                    scheduler.spawn(Class::Normal, agent::run(self.clone(), *record))
                }
                Some(SeparateCheck::Script(script)) => {
                    scheduler.spawn(Class::Normal, script::run(self.clone(), *record, script))
                }
                Some(SeparateCheck::External(program)) => {
                    scheduler.spawn(Class::Normal, external::run(self.clone(), *record, program))
                }
            };
            false
        });
        if !batch.is_empty() {
            scheduler.spawn(Class::Normal, Flight::new(self, batch).run());
        }
    }

    /// The task of a check that is more than one exchange.
    fn alone(&self, record: Record) -> Option<SeparateCheck> {
        if record.agent {
            return Some(SeparateCheck::Agent);
        }
        let subject = check_run::subject(self, record)?;
        match &subject.back.settings.check {
            Check::Script(script) => Some(SeparateCheck::Script(script.clone())),
            Check::External(program) => Some(SeparateCheck::External(program.clone())),
            Check::Connect if subject.server.settings.check_link.is_plain() => None,
            Check::Http(_) if is_plain(&subject.server.settings) => None,
            Check::Connect | Check::Http(_) => {
                Some(SeparateCheck::Script(subject.back.settings.check_script.clone()))
            }
        }
    }
}

/// Whether checks of a server are bytes on a connection that begins with nothing else.
fn is_plain(server: &settings::Server) -> bool {
    server.check_link.is_plain() && server.speech.checks == Protocol::H1
}

/// A check that runs in a task of its own.
enum SeparateCheck {
    Agent,
    Script(Arc<Script>),
    External(Arc<External>),
}

/// Runs for as long as the thread does.
pub(super) async fn run(checker: Rc<Checker>) {
    let worker = checker.worker.clone();
    let slack = worker.shared.settings.check_slack;
    let mut batch = Vec::with_capacity(rule::BATCH);
    loop {
        let woken = worker.thread.scheduler().reasons();
        if woken.contains(Wake::MESSAGE) || woken.contains(Wake::INIT) {
            // Checks from other threads are due already, and those of a new server at once.
            let letters = checker.desk().take();
            checker.admit(letters.given);
            let (mut store, now) = (checker.store.borrow_mut(), worker.millis());
            letters.hastened.into_iter().for_each(|haste| store.hasten(haste, now));
        }
        checker.store.borrow_mut().take_batch(worker.millis(), slack, &mut batch);
        checker.place(&mut batch);
        let next = checker.store.borrow().next();
        checker.alarm.set(next);
        let ahead = next.map(|due| due.saturating_sub(worker.millis()));
        if ahead == Some(0) {
            // One batch per turn of the loop: a storm of checks gives way to all other work. A
            // wake-up to the own mailbox arrives in the next turn.
            worker.thread.mailbox().wake(checker.task.get(), Wake::OTHER);
        }
        let span = ahead.map(|ahead| u32::try_from(ahead).unwrap_or(u32::MAX));
        let deadline: Option<Tick> = span.map(|span| worker.thread.tick().plus_ms(span));
        worker.thread.scheduler().wait(deadline).await;
    }
}
