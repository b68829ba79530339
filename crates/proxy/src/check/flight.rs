//! A batch of checks under way: one task for all of them. Never decides where it runs.
//!
//! All requests go out before the first answer is looked for, so a server's machine is roused once,
//! and answers that are there by then cost no wake-up here. What is still missing is waited for by
//! the one task, which a single turn of the poller wakes for all answers that have come.

use super::checker::Checker;
use super::probe::{Over, Probe};
use super::store::Record;
use crate::log;
use crate::notice::{self, Cause};
use crate::runtime::{Back, Proxy, Server};
use crate::settings;
use balance::{Change, CheckResult};
use reactor::Tick;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// A batch under way, which counts as one in the thread's load.
pub(super) struct Flight {
    checker: Rc<Checker>,
    turns: Vec<Turn>,
}

/// One check that runs; its record goes back to sleep when this is dropped.
struct Turn {
    checker: Rc<Checker>,
    record: Record,
    probe: Option<Probe>,
}

/// What a record names.
#[derive(Clone, Copy)]
struct Subject<'a> {
    proxy: &'a Proxy,
    back: &'a Back,
    settings: &'a settings::Back,
    server: &'a Server,
}

impl Flight {
    /// Takes a batch; nothing is sent before it runs.
    pub(super) fn new(checker: &Rc<Checker>, batch: &mut Vec<Record>) -> Self {
        let turn = |record| Turn { checker: checker.clone(), record, probe: None };
        checker.desk().counts.begin(batch.len());
        let turns = batch.drain(..).map(turn).collect();
        Self { checker: checker.clone(), turns }
    }

    /// Runs the checks to their ends.
    pub(super) async fn run(mut self) {
        self.each(Turn::connect);
        self.each(Turn::send);
        let worker = self.checker.worker.clone();
        while !self.turns.is_empty() {
            let mut buffer = worker.buffers.take();
            let mut deadline: Option<Tick> = None;
            self.each(|turn| {
                let late = turn.go_on(buffer.space())?;
                deadline = Some(
                    deadline.map_or(late, |other| if other.is_before(late) { other } else { late }),
                );
                Ok(())
            });
            worker.release(buffer);
            if !self.turns.is_empty() {
                worker.thread.scheduler().pause(deadline).await;
            }
        }
    }

    /// Takes a step of every check; those that are over by it, are.
    fn each(&mut self, mut step: impl FnMut(&mut Turn) -> Result<(), Over>) {
        self.turns.retain_mut(|turn| match step(turn) {
            Ok(()) => true,
            Err(Over(result)) => {
                turn.report(result);
                false
            }
        });
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.checker.desk().counts.end();
    }
}

impl Turn {
    fn connect(&mut self) -> Result<(), Over> {
        let subject = subject(&self.checker, self.record).ok_or(Over(None))?;
        let server = subject.server;
        if server.state.state().1.in_maint() || server.checks_off.load(Relaxed) {
            return Err(Over(None));
        }
        let worker = &self.checker.worker;
        subject.back.balancer.warm_up(self.record.slot as usize, worker.millis());
        self.probe = Some(Probe::begin(worker, subject.proxy, subject.server)?);
        Ok(())
    }

    fn send(&mut self) -> Result<(), Over> {
        let check = &subject(&self.checker, self.record).ok_or(Over(None))?.settings.check;
        self.probe.as_mut().map_or(Ok(()), |probe| probe.send(check))
    }

    /// Goes as far as possible, and asks to be woken; when that has to be at the latest.
    fn go_on(&mut self, buffer: &mut [u8]) -> Result<Tick, Over> {
        let check = &subject(&self.checker, self.record).ok_or(Over(None))?.settings.check;
        let probe = self.probe.as_mut().ok_or(Over(None))?;
        probe.send(check)?;
        probe.look(check, buffer, &mut self.checker.head.borrow_mut())?;
        probe.wait(check)
    }

    /// Takes a result to the server, and tells operators what it changed.
    fn report(&self, result: Option<CheckResult>) {
        let worker = &self.checker.worker;
        let Some(result) = result else { return };
        let Some(subject) = subject(&self.checker, self.record) else { return };
        let Subject { proxy, back, settings, server } = subject;
        let began = self.probe.as_ref().map_or(worker.millis(), Probe::began);
        let result = CheckResult { duration_ms: worker.millis() - began, ..result };
        let slot = self.record.slot as usize;
        let checked = back.balancer.on_check(slot, result.clone(), worker.millis());
        if settings.log_checks && checked.progressed {
            let health = server.state.check_record().health;
            let text = balance::notice::checked(proxy.name(), &server.state, &result, &health);
            notice::announce(worker, proxy, log::level::NOTICE, &text);
        }
        if checked.change != Change::None {
            let cause = if settings.log_checks { Cause::Silent } else { Cause::Check(&result) };
            notice::server_changed(worker, proxy, slot, checked.change, cause);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // The connection ends before the server may be asked again.
        self.probe = None;
        if let Some(subject) = subject(&self.checker, self.record) {
            self.checker.lay_down(self.record, subject.server.state.check_interval_ms());
        }
    }
}

fn subject(checker: &Checker, record: Record) -> Option<Subject<'_>> {
    let proxy = checker.worker.shared.proxies.get(record.backend as usize)?;
    let (back, settings) = (proxy.back.as_ref()?, proxy.settings.back.as_ref()?);
    let server = back.servers.get(record.slot as usize)?;
    Some(Subject { proxy, back, settings, server })
}
