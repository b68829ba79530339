//! A fair semaphore for equal resources that tasks of one thread share, such as buffers. The
//! semaphore counts permits; the caller owns the resources.
//!
//! A reserve is kept for urgent needs: for work that has to continue so that other tasks can
//! release what they hold. Without the reserve, tasks that hold one and wait for another could
//! deadlock.

use crate::{Scheduler, TaskId, Wake};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The purpose for which a permit is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Urgency {
    /// To finish work that has begun: may use the reserve, and is served first.
    Urgent,
    /// To begin work, which can wait.
    Ordinary,
}

/// The free permits, and the waiting tasks.
#[derive(Debug)]
pub struct FairSemaphore {
    /// Below zero when more were taken by [`FairSemaphore::acquire_beyond_limit`] than there are.
    free: Cell<isize>,
    /// Number reserved for urgent needs.
    reserve: isize,
    /// Waiting tasks by need, first come first served.
    waiting: [RefCell<VecDeque<TaskId>>; 2],
    /// Tasks woken for a release that have not taken theirs yet.
    called: Cell<isize>,
}

/// A place in the waiting line. It must be redeemed or given up with [`FairSemaphore::cancel`];
/// otherwise what its task was woken for is lost to all.
#[must_use]
#[derive(Debug)]
pub struct WaitTicket {
    task: TaskId,
    need: Urgency,
}

impl FairSemaphore {
    /// `count` of them, of which `reserve` are for urgent needs only.
    pub fn new(count: usize, reserve: usize) -> Self {
        let signed = |count| isize::try_from(count).unwrap_or(isize::MAX);
        Self {
            free: Cell::new(signed(count)),
            reserve: signed(reserve),
            waiting: Default::default(),
            called: Cell::new(0),
        }
    }

    /// Number that is left; negative after [`FairSemaphore::acquire_beyond_limit`] took more than
    /// there are.
    pub fn free(&self) -> isize {
        self.free.get()
    }

    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.waiting.iter().map(|line| line.borrow().len()).sum()
    }

    /// Takes a permit if one is left and no task has waited longer.
    pub fn try_acquire(&self, need: Urgency) -> bool {
        let first = self.waiters(need).borrow().is_empty()
            && self.waiters(Urgency::Urgent).borrow().is_empty();
        let granted = first && self.available(need) > 0;
        if granted {
            self.acquire_beyond_limit();
        }
        granted
    }

    /// Puts the running task into the line; it is woken with [`Wake::RESOURCE`] at its turn.
    pub fn enqueue(&self, scheduler: &Scheduler, need: Urgency) -> WaitTicket {
        let task = scheduler.current();
        self.waiters(need).borrow_mut().push_back(task);
        WaitTicket { task, need }
    }

    /// Takes the one that the task was woken for.
    ///
    /// # Errors
    /// Redeems a ticket; returns it if its turn has not come yet.
    pub fn claim(&self, ticket: WaitTicket) -> Result<Urgency, WaitTicket> {
        if self.waiters(ticket.need).borrow().contains(&ticket.task) {
            return Err(ticket);
        }
        self.called.set(self.called.get() - 1);
        self.acquire_beyond_limit();
        Ok(ticket.need)
    }

    /// Gives a place in the line up; if its turn had come, the next task is woken.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is good for one place")]
    pub fn cancel(&self, scheduler: &Scheduler, ticket: WaitTicket) {
        let mut line = self.waiters(ticket.need).borrow_mut();
        let before = line.len();
        line.retain(|task| *task != ticket.task);
        let was_called = line.len() == before;
        drop(line);
        if was_called {
            self.called.set(self.called.get() - 1);
            self.wake_waiters(scheduler);
        }
    }

    /// Takes one at once even if none is left; for needs that are rare by nature.
    pub fn acquire_beyond_limit(&self) {
        self.free.set(self.free.get() - 1);
    }

    /// Returns one, and wakes the task that has waited longest.
    pub fn release(&self, scheduler: &Scheduler) {
        self.free.set(self.free.get() + 1);
        self.wake_waiters(scheduler);
    }

    /// Wakes as many waiting tasks as can be served, in order.
    fn wake_waiters(&self, scheduler: &Scheduler) {
        for need in [Urgency::Urgent, Urgency::Ordinary] {
            while self.available(need) > 0 {
                let Some(next) = self.waiters(need).borrow_mut().pop_front() else { break };
                self.called.set(self.called.get() + 1);
                scheduler.wake(next, Wake::RESOURCE);
            }
        }
    }

    /// Number that may be taken for this need now.
    fn available(&self, need: Urgency) -> isize {
        let kept = if need == Urgency::Ordinary { self.reserve } else { 0 };
        self.free.get() - self.called.get() - kept
    }

    fn waiters(&self, need: Urgency) -> &RefCell<VecDeque<TaskId>> {
        &self.waiting[need as usize]
    }
}

impl WaitTicket {
    /// The need that was asked for.
    pub fn urgency(&self) -> Urgency {
        self.need
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Mailbox, NoAlarm, Settings};
    use std::rc::Rc;
    use std::sync::Arc;
    use stdx::Tick;

    /// One thing or a place in the line, returned when dropped.
    struct Held(Rc<FairSemaphore>, Rc<Scheduler>, Option<WaitTicket>);
    impl Drop for Held {
        fn drop(&mut self) {
            match self.2.take() {
                Some(ticket) => self.0.cancel(&self.1, ticket),
                None => self.0.release(&self.1),
            }
        }
    }

    type Log = Rc<RefCell<Vec<(u32, Wake)>>>;

    fn scheduler() -> Rc<Scheduler> {
        let mailbox = Arc::new(Mailbox::new(Box::new(NoAlarm)));
        Rc::new(Scheduler::new(Settings::default(), mailbox, Tick(0)))
    }

    /// Takes a permit, logs its turn, and returns the permit at the next wake-up.
    fn user(
        own: &Rc<Scheduler>,
        supply: &Rc<FairSemaphore>,
        (name, need): (u32, Urgency),
        log: &Log,
    ) -> TaskId {
        let (scheduler, supply, log) = (own.clone(), supply.clone(), log.clone());
        own.spawn(Class::Normal, async move {
            let taken = supply.try_acquire(need);
            let ticket = (!taken).then(|| supply.enqueue(&scheduler, need));
            let mut held = Held(supply.clone(), scheduler.clone(), ticket);
            while let Some(ticket) = held.2.take() {
                held.2 = supply.claim(ticket).err();
                if held.2.is_some() {
                    scheduler.wait(None).await;
                }
            }
            log.borrow_mut().push((name, scheduler.reasons()));
            scheduler.wait(None).await;
        })
    }

    fn settle(scheduler: &Scheduler) -> u32 {
        let mut ran = 0;
        while scheduler.has_work() {
            ran += scheduler.run().ran;
            assert!(ran < 100, "busy without end");
        }
        ran
    }

    #[test]
    fn waiting_tasks_are_woken_in_order_and_only_by_a_release() {
        let (own, supply, log) = (scheduler(), Rc::new(FairSemaphore::new(2, 0)), Log::default());
        let each = |name| user(&own, &supply, (name, Urgency::Ordinary), &log);
        let users: Vec<_> = (0..6).map(each).collect();
        assert_eq!((settle(&own), supply.waiting()), (6, 4), "no busy loop");
        own.wake(users[3], Wake::IO);
        settle(&own);
        assert_eq!(log.borrow().len(), 2, "a wake-up for something else does not serve it");
        own.wake(users[1], Wake::IO);
        settle(&own);
        assert_eq!(log.borrow()[2..], [(2, Wake::RESOURCE)]);
        // A task killed while it waits, and one killed after its wake-up, lose nothing.
        own.kill(users[3]);
        settle(&own);
        own.wake(users[0], Wake::IO);
        own.run();
        own.kill(users[4]);
        settle(&own);
        assert_eq!(log.borrow()[3..], [(5, Wake::RESOURCE)]);
        for user in &users {
            own.wake(*user, Wake::IO);
        }
        settle(&own);
        assert_eq!((own.tasks(), supply.free(), supply.waiting()), (0, 2, 0));
    }

    #[test]
    fn the_reserve_serves_urgent_needs_first() {
        let (own, supply, log) = (scheduler(), Rc::new(FairSemaphore::new(2, 1)), Log::default());
        let of = |name, need| user(&own, &supply, (name, need), &log);
        let first = of(0, Urgency::Ordinary);
        of(1, Urgency::Ordinary);
        settle(&own);
        assert_eq!((log.borrow().len(), supply.free()), (1, 1), "the last one is kept back");
        let urgent = of(2, Urgency::Urgent);
        of(3, Urgency::Urgent);
        settle(&own);
        assert_eq!((log.borrow().len(), supply.free()), (2, 0));
        own.wake(first, Wake::IO);
        settle(&own);
        assert_eq!(log.borrow()[2..], [(3, Wake::RESOURCE)], "before who came earlier");
        own.wake(urgent, Wake::IO);
        settle(&own);
        assert_eq!((log.borrow().len(), supply.free()), (3, 1), "one stays kept back");
    }

    #[test]
    fn a_place_in_line_can_be_given_up_before_and_after_the_call() {
        let (own, supply, seen) = (scheduler(), Rc::new(FairSemaphore::new(1, 0)), Log::default());
        supply.acquire_beyond_limit();
        let waits = |name: u32| {
            let (scheduler, supply, seen) = (own.clone(), supply.clone(), seen.clone());
            own.spawn(Class::Normal, async move {
                let ticket = supply.enqueue(&scheduler, Urgency::Urgent);
                let _held = Held(supply, scheduler.clone(), Some(ticket));
                scheduler.wait(None).await;
                seen.borrow_mut().push((name, scheduler.reasons()));
            })
        };
        let early = waits(0);
        for name in 1..4 {
            waits(name);
        }
        settle(&own);
        own.wake(early, Wake::TIMER);
        settle(&own);
        supply.release(&own);
        settle(&own);
        let called =
            [(0, Wake::TIMER), (1, Wake::RESOURCE), (2, Wake::RESOURCE), (3, Wake::RESOURCE)];
        assert_eq!(seen.borrow()[..], called);
        assert_eq!((supply.free(), supply.waiting()), (1, 0));
        supply.acquire_beyond_limit();
        supply.acquire_beyond_limit();
        assert!(supply.free() < 0 && !supply.try_acquire(Urgency::Urgent));
    }
}
