//! The checker of one thread: sleeps until checks are due, keeps or gives away the batch, and takes the
//! results to where they count. Never waits for a server.

use super::store::{Record, Store};
use super::{Desk, Owner, probe, rule};
use crate::log;
use crate::notice::{self, Cause};
use crate::runtime::Proxy;
use crate::settings;
use crate::worker::Worker;
use balance::{Change, CheckResult};
use htx::Head;
use reactor::{Class, TaskId, Wake};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use stdx::Tick;

/// One thread's checker.
pub(super) struct Checker {
    pub(super) worker: Rc<Worker>,
    store: RefCell<Store>,
    task: Cell<TaskId>,
    /// When the task will wake up by itself; `None` if it will not.
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

    /// Makes the thread known to the others as one that takes checks.
    pub(super) fn introduce(&self, task: TaskId) {
        self.task.set(task);
        let thread = &self.worker.thread;
        let (mailbox, pulse) = (thread.mailbox().clone(), thread.pulse().clone());
        let _ = self.desk().owner.set(Owner { mailbox, checker: task, pulse });
    }

    fn desk(&self) -> &Desk {
        &self.worker.shared.desks[self.worker.thread.index]
    }

    /// Lays records down without waking the task.
    pub(super) fn admit(&self, records: impl IntoIterator<Item = Record>) {
        let mut store = self.store.borrow_mut();
        records.into_iter().for_each(|record| store.put(record));
    }

    /// Lays a check down again after it ran.
    fn put_back(&self, record: Record) {
        self.admit([record]);
        if self.alarm.get().is_none_or(|alarm| record.due < alarm) {
            self.worker.thread.scheduler().wake(self.task.get(), Wake::OTHER);
        }
    }

    /// The thread that a batch moves to, if it should move.
    fn elsewhere(&self) -> Option<&Desk> {
        let (thread, shared) = (&self.worker.thread, &self.worker.shared);
        let others = u32::try_from(shared.desks.len()).unwrap_or(u32::MAX).saturating_sub(1);
        if others == 0 || shared.is_stopping() {
            return None;
        }
        let draw = thread.prng().below(others) as usize;
        let desk = &shared.desks[draw + usize::from(draw >= thread.index)];
        let own = u32::try_from(thread.scheduler().load()).unwrap_or(u32::MAX);
        let own = own.saturating_add(self.desk().in_flight.load(Relaxed));
        desk.load().is_some_and(|other| rule::moves(own, other)).then_some(desk)
    }

    /// Keeps a batch that has just fallen due, or gives it away.
    fn place(self: &Rc<Self>, batch: &mut Vec<Record>) {
        match self.elsewhere() {
            Some(desk) => {
                desk.give(batch.drain(..).map(|record| Record { moved: true, ..record }));
            }
            None => self.begin(batch),
        }
    }

    /// Runs a batch here.
    fn begin(self: &Rc<Self>, batch: &mut Vec<Record>) {
        let scheduler = self.worker.thread.scheduler();
        let flight = Rc::new(Flight::begin(self));
        for record in batch.drain(..) {
            let turn = Turn { flight: flight.clone(), record };
            scheduler.spawn(Class::Normal, run_one(turn));
        }
    }

    fn backend(&self, record: &Record) -> Option<&Arc<Proxy>> {
        self.worker.shared.proxies.get(record.backend as usize)
    }
}

/// A batch under way, which counts as one in the thread's load.
struct Flight(Rc<Checker>);

impl Flight {
    fn begin(checker: &Rc<Checker>) -> Self {
        let cell = &checker.desk().in_flight;
        cell.store(cell.load(Relaxed) + 1, Relaxed);
        Self(checker.clone())
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let cell = &self.0.desk().in_flight;
        cell.store(cell.load(Relaxed) - 1, Relaxed);
    }
}

/// One check that runs; its record goes back to sleep when this is dropped.
struct Turn {
    flight: Rc<Flight>,
    record: Record,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let checker = &self.flight.0;
        let Some(proxy) = checker.backend(&self.record) else { return };
        let Some(back) = &proxy.back else { return };
        let Some(server) = back.servers.get(self.record.slot as usize) else { return };
        let worker = &checker.worker;
        let percent = worker.shared.settings.spread_checks;
        let random = worker.thread.prng().next_u32();
        let interval = rule::jitter(server.state.check_interval_ms(), percent, random);
        let due = worker.millis() + u64::from(interval);
        checker.put_back(Record { due, interval, moved: false, ..self.record });
    }
}

/// Runs for as long as the thread does.
pub(super) async fn run(checker: Rc<Checker>) {
    let worker = checker.worker.clone();
    let mut batch = Vec::with_capacity(rule::BATCH);
    loop {
        let woken = worker.thread.scheduler().reasons();
        if woken.contains(Wake::MESSAGE) || woken.contains(Wake::INIT) {
            arrivals(&checker, &mut batch);
        }
        checker.store.borrow_mut().take_batch(worker.millis(), &mut batch);
        if !batch.is_empty() {
            checker.place(&mut batch);
        }
        let next = checker.store.borrow().next();
        checker.alarm.set(next);
        match next.map(|due| due.saturating_sub(worker.millis())) {
            // A storm of checks gives way to other work between batches.
            Some(0) => worker.thread.scheduler().yield_as(Class::Normal).await,
            ahead => {
                let span = ahead.map(|ahead| u32::try_from(ahead).unwrap_or(u32::MAX));
                let deadline: Option<Tick> = span.map(|span| worker.thread.tick().plus_ms(span));
                worker.thread.scheduler().pause(deadline).await;
            }
        }
    }
}

/// Runs what other threads gave; it does not move on. A new server's check is due like any other.
fn arrivals(checker: &Rc<Checker>, batch: &mut Vec<Record>) {
    for record in checker.desk().take() {
        match record.moved {
            true => batch.push(record),
            false => checker.admit([record]),
        }
        if batch.len() == rule::BATCH {
            checker.begin(batch);
        }
    }
    if !batch.is_empty() {
        checker.begin(batch);
    }
}

async fn run_one(turn: Turn) {
    let checker = &turn.flight.0;
    let Some(proxy) = checker.backend(&turn.record) else { return };
    let (Some(back), Some(settings)) = (&proxy.back, &proxy.settings.back) else { return };
    let slot = turn.record.slot as usize;
    let Some(server) = back.servers.get(slot) else { return };
    if server.state.state().1.in_maint() {
        return;
    }
    back.balancer.warm_up(slot, checker.worker.millis());
    let result = probe::run(checker, proxy, settings, server).await;
    report(&checker.worker, proxy, settings, slot, result);
}

/// Takes a result to the server, and tells operators what it changed.
fn report(
    worker: &Worker,
    proxy: &Proxy,
    settings: &settings::Back,
    slot: usize,
    result: CheckResult,
) {
    let Some(back) = &proxy.back else { return };
    let checked = back.balancer.on_check(slot, result.clone(), worker.millis());
    if settings.log_checks && checked.progressed {
        let state = &back.servers[slot].state;
        let health = state.check_record().health;
        let text = balance::notice::checked(proxy.name(), state, &result, &health);
        notice::announce(worker, proxy, log::level::NOTICE, &text);
    }
    if checked.change != Change::None {
        let cause = if settings.log_checks { Cause::Silent } else { Cause::Check(&result) };
        notice::server_changed(worker, proxy, slot, checked.change, cause);
    }
}
