//! A fair semaphore for equal things that tasks of one thread share, such as buffers. It counts
//! them, the caller holds them.
//!
//! A reserve is kept for urgent needs: for work that has to continue so that other tasks can
//! release what they hold. Without the reserve, tasks that hold one and wait for another could
//! deadlock.

use crate::{Scheduler, TaskId, Wake};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Purpose for which one is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// To finish work that has begun: may use the reserve, and is served first.
    Urgent,
    /// To begin work, which can wait.
    Ordinary,
}

/// The number that is left, and the tasks that wait.
#[derive(Debug)]
pub struct Supply {
    /// Below zero when more were taken by [`Supply::take_anyway`] than there are.
    free: Cell<isize>,
    /// Number reserved for urgent needs.
    reserve: isize,
    /// Waiting tasks by need, first come first served.
    waiting: [RefCell<VecDeque<TaskId>>; 2],
    /// Tasks woken for a release that have not taken theirs yet.
    called: Cell<isize>,
}

/// A place in the waiting line. It must be redeemed or given up with [`Supply::leave`]; otherwise
/// what its task was woken for is lost to all.
#[must_use]
#[derive(Debug)]
pub struct Ticket {
    task: TaskId,
    need: Need,
}

impl Supply {
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

    /// Number that is left; negative after [`Supply::take_anyway`] took more than there are.
    pub fn free(&self) -> isize {
        self.free.get()
    }

    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.waiting.iter().map(|line| line.borrow().len()).sum()
    }

    /// Takes one if one is left and no task has waited longer.
    pub fn try_take(&self, need: Need) -> bool {
        let first =
            self.line(need).borrow().is_empty() && self.line(Need::Urgent).borrow().is_empty();
        let granted = first && self.spare(need) > 0;
        if granted {
            self.take_anyway();
        }
        granted
    }

    /// Puts the running task into the line; it is woken with [`Wake::RESOURCE`] at its turn.
    pub fn queue(&self, scheduler: &Scheduler, need: Need) -> Ticket {
        let task = scheduler.current();
        self.line(need).borrow_mut().push_back(task);
        Ticket { task, need }
    }

    /// Takes the one that the task was woken for.
    ///
    /// # Errors
    /// The ticket, if its turn has not come yet.
    pub fn redeem(&self, ticket: Ticket) -> Result<Need, Ticket> {
        if self.line(ticket.need).borrow().contains(&ticket.task) {
            return Err(ticket);
        }
        self.called.set(self.called.get() - 1);
        self.take_anyway();
        Ok(ticket.need)
    }

    /// Gives a place in the line up; if its turn had come, the next task is woken.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is good for one place")]
    pub fn leave(&self, scheduler: &Scheduler, ticket: Ticket) {
        let mut line = self.line(ticket.need).borrow_mut();
        let before = line.len();
        line.retain(|task| *task != ticket.task);
        let was_called = line.len() == before;
        drop(line);
        if was_called {
            self.called.set(self.called.get() - 1);
            self.call(scheduler);
        }
    }

    /// Takes one at once even if none is left; for needs that are rare by nature.
    pub fn take_anyway(&self) {
        self.free.set(self.free.get() - 1);
    }

    /// Returns one, and wakes the task that has waited longest.
    pub fn give(&self, scheduler: &Scheduler) {
        self.free.set(self.free.get() + 1);
        self.call(scheduler);
    }

    /// Wakes as many waiting tasks as can be served, in order.
    fn call(&self, scheduler: &Scheduler) {
        for need in [Need::Urgent, Need::Ordinary] {
            while self.spare(need) > 0 {
                let Some(next) = self.line(need).borrow_mut().pop_front() else { break };
                self.called.set(self.called.get() + 1);
                scheduler.wake(next, Wake::RESOURCE);
            }
        }
    }

    /// Number that may be taken for this need now.
    fn spare(&self, need: Need) -> isize {
        let kept = if need == Need::Ordinary { self.reserve } else { 0 };
        self.free.get() - self.called.get() - kept
    }

    fn line(&self, need: Need) -> &RefCell<VecDeque<TaskId>> {
        &self.waiting[need as usize]
    }
}

impl Ticket {
    /// The need that was asked for.
    pub fn need(&self) -> Need {
        self.need
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alarm, Class, Mailbox, Settings};
    use std::rc::Rc;
    use std::sync::Arc;
    use stdx::Tick;

    struct Silent;
    impl Alarm for Silent {
        fn ring(&self) {}
    }

    /// One thing or a place in the line, returned when dropped.
    struct Held(Rc<Supply>, Rc<Scheduler>, Option<Ticket>);
    impl Drop for Held {
        fn drop(&mut self) {
            match self.2.take() {
                Some(ticket) => self.0.leave(&self.1, ticket),
                None => self.0.give(&self.1),
            }
        }
    }

    type Log = Rc<RefCell<Vec<(u32, Wake)>>>;

    fn scheduler() -> Rc<Scheduler> {
        let mailbox = Arc::new(Mailbox::new(Box::new(Silent)));
        Rc::new(Scheduler::new(Settings::default(), mailbox, Tick(0)))
    }

    /// Takes one, logs its turn, and returns it when it is woken next.
    fn user(
        own: &Rc<Scheduler>,
        supply: &Rc<Supply>,
        (name, need): (u32, Need),
        log: &Log,
    ) -> TaskId {
        let (scheduler, supply, log) = (own.clone(), supply.clone(), log.clone());
        own.spawn(Class::Normal, async move {
            let taken = supply.try_take(need);
            let ticket = (!taken).then(|| supply.queue(&scheduler, need));
            let mut held = Held(supply.clone(), scheduler.clone(), ticket);
            while let Some(ticket) = held.2.take() {
                held.2 = supply.redeem(ticket).err();
                if held.2.is_some() {
                    scheduler.pause(None).await;
                }
            }
            log.borrow_mut().push((name, scheduler.reasons()));
            scheduler.pause(None).await;
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
        let (own, supply, log) = (scheduler(), Rc::new(Supply::new(2, 0)), Log::default());
        let each = |name| user(&own, &supply, (name, Need::Ordinary), &log);
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
        let (own, supply, log) = (scheduler(), Rc::new(Supply::new(2, 1)), Log::default());
        let of = |name, need| user(&own, &supply, (name, need), &log);
        let first = of(0, Need::Ordinary);
        of(1, Need::Ordinary);
        settle(&own);
        assert_eq!((log.borrow().len(), supply.free()), (1, 1), "the last one is kept back");
        let urgent = of(2, Need::Urgent);
        of(3, Need::Urgent);
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
        let (own, supply, seen) = (scheduler(), Rc::new(Supply::new(1, 0)), Log::default());
        supply.take_anyway();
        let waits = |name: u32| {
            let (scheduler, supply, seen) = (own.clone(), supply.clone(), seen.clone());
            own.spawn(Class::Normal, async move {
                let ticket = supply.queue(&scheduler, Need::Urgent);
                let _held = Held(supply, scheduler.clone(), Some(ticket));
                scheduler.pause(None).await;
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
        supply.give(&own);
        settle(&own);
        let called =
            [(0, Wake::TIMER), (1, Wake::RESOURCE), (2, Wake::RESOURCE), (3, Wake::RESOURCE)];
        assert_eq!(seen.borrow()[..], called);
        assert_eq!((supply.free(), supply.waiting()), (1, 0));
        supply.take_anyway();
        supply.take_anyway();
        assert!(supply.free() < 0 && !supply.try_take(Need::Urgent));
    }
}
