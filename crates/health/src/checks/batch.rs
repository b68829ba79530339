//! A batch of checks under way: one task for all of them.
//!
//! All requests go out before the first answer is looked for, so a server's machine is roused once,
//! and answers that are there by then cost no wake-up here. One task waits for the missing answers;
//! a single turn of the poller wakes it for all arrived answers.

use super::checker::Checker;
use super::probe::{Over, Probe};
use crate::checks::check_run::{CheckRun, Underway};
use engine::state::backend::check_record::Record;
use reactor::Tick;
use std::rc::Rc;

/// A batch under way, which counts as one in the thread's load.
pub(super) struct Flight {
    checker: Rc<Checker>,
    checks: Vec<Check>,
    _underway: Underway,
}

/// One check of a batch. Its connection ends before the next check of the server begins.
struct Check {
    probe: Option<Probe>,
    turn: CheckRun,
}

impl Flight {
    /// Takes over a batch; no byte is sent before it runs.
    pub(super) fn new(checker: &Rc<Checker>, batch: &mut Vec<Record>) -> Self {
        let underway = Underway::new(checker, batch.len());
        let check = |record| Check { probe: None, turn: CheckRun::new(checker, record) };
        let checks = batch.drain(..).map(check).collect();
        Self { checker: checker.clone(), checks, _underway: underway }
    }

    /// Runs the checks to their ends.
    pub(super) async fn run(mut self) {
        self.each(Check::connect);
        self.each(Check::send);
        let worker = self.checker.worker.clone();
        while !self.checks.is_empty() {
            let mut buffer = worker.buffers.take_anyway();
            let mut deadline: Option<Tick> = None;
            self.each(|check| {
                let late = check.go_on(buffer.space())?;
                deadline = Some(
                    deadline.map_or(late, |other| if other.is_before(late) { other } else { late }),
                );
                Ok(())
            });
            worker.release(buffer);
            if !self.checks.is_empty() {
                worker.thread.scheduler().wait(deadline).await;
            }
        }
    }

    /// Runs a step of every check; removes the checks that it ends.
    fn each(&mut self, mut step: impl FnMut(&mut Check) -> Result<(), Over>) {
        self.checks.retain_mut(|check| match step(check) {
            Ok(()) => true,
            Err(Over(result)) => {
                if let Some(result) = result {
                    check.turn.report(result);
                }
                false
            }
        });
    }
}

impl Check {
    fn connect(&mut self) -> Result<(), Over> {
        let subject = self.turn.due_subject().ok_or(Over(None))?;
        let worker = &self.turn.checker.worker;
        self.probe = Some(Probe::begin(worker, subject.proxy, subject.server)?);
        self.turn.began = worker.millis();
        Ok(())
    }

    fn send(&mut self) -> Result<(), Over> {
        let check = &self.turn.subject().ok_or(Over(None))?.back.settings.check;
        self.probe.as_mut().map_or(Ok(()), |probe| probe.send(check))
    }

    /// Runs as far as possible, and asks for a wake-up; returns its latest time.
    fn go_on(&mut self, buffer: &mut [u8]) -> Result<Tick, Over> {
        let check = &self.turn.subject().ok_or(Over(None))?.back.settings.check;
        let probe = self.probe.as_mut().ok_or(Over(None))?;
        probe.send(check)?;
        probe.look(check, buffer, &mut self.turn.checker.head.borrow_mut())?;
        probe.wait(check)
    }
}
