//! One round of a scheduler: open letters, divide the budget, run tasks.

use super::waker::{self, BorrowedWaker, CurrentScheduler};
use super::{Core, Scheduler, TaskId};
use crate::class::{self, COUNT, Class};
use crate::mailbox::Letter;
use crate::profile::Function;
use crate::queue::RunQueue;
use crate::slot::{State, TaskFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

/// Most rounds in a row that may postpone heavy work, so that it does not starve.
pub(super) const MAX_POSTPONED: u32 = 4;

/// Outcome of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Tasks polled or dropped.
    pub ran: u32,
    /// Whether work is left, so that the thread must not sleep.
    pub more: bool,
}

/// Items that a round may still run, by class.
struct Budget {
    given: [u32; COUNT],
    left: [u32; COUNT],
    /// Class of the previous item.
    level: Class,
}

impl Budget {
    /// Ends the budget of the previous item's class.
    fn close(&mut self) {
        let class = self.level as usize;
        self.given[class] -= std::mem::take(&mut self.left[class]);
    }
}

/// A queued task's turn.
enum Turn {
    Poll(TaskId, TaskFuture, &'static Function),
    Drop(TaskFuture),
}

impl Scheduler {
    /// Runs one round: at most `depth` items, shared out over the classes by weight.
    pub fn run(&self) -> Round {
        self.run_with(&|_| true, &|| true)
    }

    /// As [`Scheduler::run`]; `before` is called with each item's class before it runs, outside of
    /// the measured time. The function returns whether the round may run more items of that class.
    ///
    /// In low-latency mode, `labours` is called before a heavy item. If it returns `false`, heavy
    /// work waits for another round, for at most `MAX_POSTPONED` rounds.
    pub fn run_with(&self, before: &impl Fn(Class) -> bool, labours: &impl Fn() -> bool) -> Round {
        self.assert_on_owner_thread();
        self.profile.adopt_mode(&self.activity.profiling);
        let _presence = CurrentScheduler::of(self);
        self.receive_letters();
        let mut round = Round::default();
        let mut budget = {
            let queue = &self.inner.borrow().queue;
            let given = class::shares(queue.ready(), self.round_depth(queue));
            Budget { given, left: given, level: Class::Urgent }
        };
        while let Some(turn) = self.next_turn(&mut budget, labours) {
            round.ran += 1;
            let goes_on = before(budget.level);
            self.take_turn(turn);
            if !goes_on {
                budget.close();
            }
            if self.settings.low_latency && self.has_new_urgent_work(&budget) {
                break;
            }
        }
        self.inner.borrow_mut().arm_all();
        self.activity.leave();
        round.more = self.has_work();
        let ran = std::array::from_fn(|class| budget.given[class] - budget.left[class]);
        self.publish(round, ran);
        round
    }

    /// Most items of this round: a quarter with niced tasks or with bulk work alone, so that more
    /// urgent work is noticed soon. A queue longer than that, but at most twice as long, is cut
    /// into two equal halves.
    pub(super) fn round_depth(&self, queue: &RunQueue) -> u32 {
        let depth = self.settings.depth.max(1);
        let patient = queue.has_niced() || queue.ready() == 1 << Class::Bulk as u8;
        let depth = if patient { (depth / 4).max(1) } else { depth };
        let len = queue.len().try_into().unwrap_or(u32::MAX);
        if len > depth && len <= depth.saturating_mul(2) { len.div_ceil(2) } else { depth }
    }

    /// Whether, in low-latency mode, the round should end because of new work: letters, or a more
    /// urgent class that was empty when the budget was divided.
    ///
    /// Called only after an item that is not urgent, so that each round makes progress with those
    /// too.
    fn has_new_urgent_work(&self, budget: &Budget) -> bool {
        if budget.level == Class::Urgent {
            return false;
        }
        let ready = self.inner.borrow().queue.ready();
        let fresh =
            |class: &Class| ready & 1 << *class as u8 != 0 && budget.given[*class as usize] == 0;
        let mut above = Class::ALL.iter().take_while(|class| **class < budget.level);
        above.any(fresh) || !self.mailbox.is_empty()
    }

    /// The next turn in the most urgent class that has work and budget. Without low-latency mode, a
    /// round does not return to a class that it has left.
    fn next_turn(&self, budget: &mut Budget, labours: &impl Fn() -> bool) -> Option<Turn> {
        let inner = &mut *self.inner.borrow_mut();
        let first = if self.settings.low_latency { 0 } else { budget.level as usize };
        for class in &Class::ALL[first..] {
            let labour = *class == Class::Heavy && budget.left[*class as usize] > 0;
            if labour && self.postpones_heavy(labours) {
                budget.level = Class::Heavy;
                budget.close();
            }
            while budget.left[*class as usize] > 0 {
                let Some(id) = inner.queue.pop(*class) else { break };
                budget.left[*class as usize] -= 1;
                budget.level = *class;
                if let Some(turn) = self.check_out(inner, id, *class) {
                    inner.prefetch_next(*class);
                    return Some(turn);
                }
            }
        }
        None
    }

    /// Whether heavy work is postponed to another round because this round has taken long enough
    /// for descriptors and letters, which are looked at between rounds only.
    fn postpones_heavy(&self, labours: &impl Fn() -> bool) -> bool {
        let waited = self.postponed.get();
        let off = self.settings.low_latency && waited < MAX_POSTPONED && !labours();
        self.postponed.set(if off { waited + 1 } else { 0 });
        off
    }

    /// Takes the future out of its slot to run it; `None` if there is nothing to run.
    fn check_out(&self, inner: &mut Core, id: TaskId, class: Class) -> Option<Turn> {
        let slot = inner.tasks.get_mut(id)?;
        if let Some(wanted) = slot.yields_to.take().filter(|wanted| *wanted != class) {
            inner.enqueue(id, wanted);
            return None;
        }
        if self.profile.is_on() {
            // Taken before QUEUED is cleared: a wake-up after that dates the following turn.
            self.profile.take_mark(id);
        }
        slot.state -= State::QUEUED | State::NEXT_CLASS;
        let work = slot.future.take()?;
        if slot.state.contains(State::KILLED) {
            inner.remove_task(id);
            return Some(Turn::Drop(work));
        }
        let function = slot.function;
        slot.turns = slot.turns.wrapping_add(1);
        self.reasons.set(std::mem::take(&mut slot.reasons));
        self.deadline.set(slot.deadline);
        Some(Turn::Poll(id, work, function))
    }

    /// Polls one task, or drops a killed one.
    #[inline]
    fn take_turn(&self, turn: Turn) {
        match turn {
            Turn::Poll(id, work, function) => {
                if self.profile.is_on() {
                    self.profile.begin(id);
                }
                self.poll(id, work, function);
                if self.profile.is_on() {
                    self.profile.end(id, function);
                }
            }
            // Dropped here, outside the borrow: a future's drop may call back into the scheduler.
            Turn::Drop(work) => {
                self.activity.killed.add(1);
                drop(work);
            }
        }
    }

    #[inline]
    fn poll(&self, id: TaskId, mut work: TaskFuture, function: &'static Function) {
        self.current.set(id);
        self.activity.enter(function);
        let borrowed = BorrowedWaker { mailbox: &self.mailbox, id };
        let polled = waker::with_waker(&borrowed, |waker| {
            let mut context = Context::from_waker(waker);
            catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut context)))
        });
        self.current.set(TaskId::NONE);
        match polled {
            Ok(Poll::Pending) => self.check_in(id, work),
            Ok(Poll::Ready(())) => self.remove(id, work),
            Err(_) => {
                self.activity.panicked.add(1);
                self.remove(id, work);
            }
        }
    }

    #[inline]
    fn check_in(&self, id: TaskId, work: TaskFuture) {
        let inner = &mut *self.inner.borrow_mut();
        let Some(slot) = inner.tasks.get_mut(id) else { return };
        slot.future = Some(work);
        let deadline = self.deadline.get();
        if slot.deadline != deadline {
            slot.deadline = deadline;
            if let Some(deadline) = deadline
                && slot.armed.is_none_or(|armed| deadline.is_before(armed))
            {
                slot.armed = Some(deadline);
                inner.arming.push((id.0.index, deadline));
            }
        }
        if slot.state.contains(State::KILLED) && !slot.state.contains(State::QUEUED) {
            inner.enqueue(id, Class::Urgent);
        }
    }

    fn remove(&self, id: TaskId, work: TaskFuture) {
        self.inner.borrow_mut().remove_task(id);
        drop(work);
    }

    /// Drops every task, at the end of the thread; their `drop`s may still call the scheduler.
    pub fn clear(&self) {
        while let Some(work) = self.take_any() {
            drop(work);
        }
    }

    fn take_any(&self) -> Option<TaskFuture> {
        let inner = &mut *self.inner.borrow_mut();
        let (id, _) = inner.tasks.iter().find(|(_, slot)| slot.future.is_some())?;
        let work = inner.tasks.get_mut(id)?.future.take();
        inner.remove_task(id);
        work
    }

    fn receive_letters(&self) {
        let mut opened = 0;
        for _ in 0..self.settings.depth.max(1) {
            match self.mailbox.receive() {
                Some(Letter::Wake(id, reason, caller)) => self.wake_from(id, reason, caller),
                Some(Letter::Kill(id)) => self.kill(id),
                None => break,
            }
            opened += 1;
        }
        self.activity.letters.add(opened);
    }
}
