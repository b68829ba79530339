//! One check that runs, of any kind: its server, the report of its result, and its return to sleep.

use super::checker::Checker;
use crate::discovery;
use crate::servers::events;
use crate::servers::events::Cause;
use balance::{Change, CheckResult, CheckStatus, Checked};
use engine::state::backend::check_record::Record;
use engine::state::runtime::{Backend, Proxy, Server};
use engine::state::worker::Worker;
use observability::logging::log;
use observability::logging::mail;
use observability::telemetry::trace::points as trace;
use std::rc::Rc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

/// One running check; a drop puts its record back to sleep.
pub(super) struct CheckRun {
    pub(super) checker: Rc<Checker>,
    pub(super) record: Record,
    /// When it began, in the worker's milliseconds.
    pub(super) began: u64,
}

/// The server of a record, with its backend.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) proxy: &'a Proxy,
    pub(super) back: &'a Backend,
    pub(super) server: &'a Server,
}

impl CheckRun {
    pub(super) fn new(checker: &Rc<Checker>, record: Record) -> Self {
        Self { checker: checker.clone(), record, began: checker.worker.millis() }
    }

    /// The server of the check; `None` if it was deleted.
    pub(super) fn subject(&self) -> Option<Subject<'_>> {
        subject(&self.checker, self.record)
    }

    /// The server of the check, if the check has to run now: what commands (`set server`, `disable
    /// health`) have changed is read here.
    pub(super) fn due_subject(&self) -> Option<Subject<'_>> {
        let subject = self.subject()?;
        let server = subject.server;
        if server.state.state().1.in_maint() || server.checks_off.load(Relaxed) {
            return None;
        }
        subject.back.balancer.warm_up(self.record.slot as usize, self.checker.worker.millis());
        self.trace(None);
        self.mark(true);
        Some(subject)
    }

    /// Traces the begin of the check, or its result.
    #[track_caller]
    pub(super) fn trace(&self, result: Option<&CheckResult>) {
        let record = self.record;
        let told = |subject: Subject<'_>| trace::Check {
            backend: subject.proxy.name().to_owned(),
            server: subject.server.state.name().to_owned(),
            key: [record.backend.into(), record.slot.into()],
            agent: record.agent,
            result: result.cloned(),
        };
        trace::check(&self.checker.worker, || self.subject().map(told));
    }

    /// Sets whether statistics show the check as running.
    pub(super) fn mark(&self, runs: bool) {
        let Some(Subject { server, .. }) = self.subject() else { return };
        match &server.agent {
            Some(agent) if self.record.agent => agent.runs.store(runs, Relaxed),
            _ => server.check_runs.store(runs, Relaxed),
        }
    }

    /// Applies a result to the server, and reports the change to operators.
    pub(super) fn report(&self, result: CheckResult) {
        let worker = &self.checker.worker;
        let Some(subject) = self.subject() else { return };
        let Subject { proxy, back, .. } = subject;
        let duration_ms = worker.millis() - self.began;
        let result = CheckResult { duration_ms, ..result }.fit_to_show();
        self.trace(Some(&result));
        let slot = self.record.slot as usize;
        if result.status == CheckStatus::L4Timeout {
            discovery::hurry(&worker.shared, proxy.index, slot);
        }
        let checked = back.balancer.on_check(slot, result.clone(), worker.millis());
        report_change(worker, back, slot, &result, checked);
    }
}

/// Reports the change that a result has made to operators, and carries out its effects.
pub fn report_change(
    worker: &Worker,
    back: &Backend,
    slot: usize,
    result: &CheckResult,
    checked: Checked,
) {
    let (proxy, settings) = (&back.proxy, &back.settings);
    let Some(server) = back.servers.get(slot) else { return };
    if settings.log_checks && checked.progressed {
        let health = server.state.check_record().health;
        let text = balance::notice::checked(proxy.name(), &server.state, result, &health);
        events::announce(worker, back, log::level::NOTICE, &text);
        mail::send_alert(worker, proxy, log::level::INFO, &text);
    }
    if checked.change != Change::None {
        let cause = if settings.log_checks { Cause::Silent } else { Cause::Check(result) };
        events::server_changed(worker, back, slot, checked.change, cause);
    }
}

impl Drop for CheckRun {
    fn drop(&mut self) {
        self.mark(false);
        if let Some(subject) = self.subject() {
            let agent = subject.server.agent.as_ref().filter(|_| self.record.agent);
            let usual = || subject.server.state.check_interval_ms();
            let interval = agent.map_or_else(usual, |agent| agent.inter_ms);
            self.checker.lay_down(self.record, interval);
        } else {
            self.forget();
        }
    }
}

impl CheckRun {
    /// Drops the record of a deleted server, unless another server has got the slot meanwhile: the
    /// record is that server's then.
    fn forget(&self) {
        let back = self.checker.worker.shared.backend_at(self.record.backend as usize);
        let slot = self.record.slot as usize;
        let Some(server) = back.and_then(|back| back.servers.share(slot)) else { return };
        let recorded = &server.recorded[usize::from(self.record.agent)];
        recorded.store(false, Release);
        if !server.is_deleted() && !recorded.swap(true, AcqRel) {
            self.checker.lay_down(self.record, server.state.check_interval_ms());
        }
    }
}

/// The server of a record; `None` if it was deleted.
pub(super) fn subject(checker: &Checker, record: Record) -> Option<Subject<'_>> {
    let back = checker.worker.shared.backend_at(record.backend as usize)?;
    let server = back.servers.get(record.slot as usize)?;
    Some(Subject { proxy: &back.proxy, back, server })
}

/// A running check that counts in the thread's load.
pub(super) struct Underway(Rc<Checker>);

impl Underway {
    pub(super) fn new(checker: &Rc<Checker>, checks: usize) -> Self {
        checker.desk().counts.begin(checks);
        Self(checker.clone())
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.desk().counts.end();
    }
}
