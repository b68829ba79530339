//! A number of equal things that tasks of one thread share and wait for in order, such as buffers.
//! Never holds the things themselves and never spins.

use crate::{Scheduler, TaskId, Wake};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// How many are left, and who waits for one.
#[derive(Debug)]
pub struct Supply {
    free: Cell<usize>,
    /// Who waits, first come first served. A name of a task that is gone is passed over.
    waiting: RefCell<VecDeque<TaskId>>,
    /// Who was woken for one that was given back, and has not taken it yet.
    called: Cell<usize>,
}

/// One of them, taken. Dropping it gives it back and wakes who has waited longest.
#[derive(Debug)]
pub struct Portion {
    supply: Rc<Supply>,
    scheduler: Rc<Scheduler>,
}

/// A place in the queue, given up when dropped: a task that is killed while it waits, or after it
/// was called, does not take what it was called for with it.
struct Place<'a> {
    supply: &'a Supply,
    scheduler: &'a Scheduler,
    task: TaskId,
    /// What it was called for has been taken.
    served: bool,
}

impl Supply {
    /// `count` of them.
    pub fn new(count: usize) -> Rc<Self> {
        let (waiting, called) = (RefCell::default(), Cell::new(0));
        Rc::new(Self { free: Cell::new(count), waiting, called })
    }

    /// How many are free.
    pub fn free(&self) -> usize {
        self.free.get()
    }

    /// How many tasks wait.
    pub fn waiting(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Takes one for the running task, and waits in order while there is none, or while others have
    /// waited longer.
    pub async fn take(self: &Rc<Self>, scheduler: &Rc<Scheduler>) -> Portion {
        if self.free.get() <= self.called.get() || !self.waiting.borrow().is_empty() {
            let task = scheduler.current();
            self.waiting.borrow_mut().push_back(task);
            let mut place = Place { supply: self, scheduler, task, served: false };
            while self.waiting.borrow().contains(&task) {
                scheduler.pause(None).await;
            }
            // Called: what was kept for it is taken now.
            place.served = true;
            self.called.set(self.called.get() - 1);
        }
        self.free.set(self.free.get() - 1);
        Portion { supply: self.clone(), scheduler: scheduler.clone() }
    }

    /// Calls as many as can be served, in order.
    fn call(&self, scheduler: &Scheduler) {
        while self.free.get() > self.called.get() {
            let Some(next) = self.waiting.borrow_mut().pop_front() else { return };
            self.called.set(self.called.get() + 1);
            scheduler.wake(next, Wake::RESOURCE);
        }
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        self.supply.free.set(self.supply.free.get() + 1);
        self.supply.call(&self.scheduler);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.served {
            return;
        }
        let mut waiting = self.supply.waiting.borrow_mut();
        let before = waiting.len();
        waiting.retain(|task| *task != self.task);
        let was_called = waiting.len() == before;
        drop(waiting);
        if was_called {
            self.supply.called.set(self.supply.called.get() - 1);
            self.supply.call(self.scheduler);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alarm, Class, Mailbox, Settings};
    use std::sync::Arc;
    use stdx::Tick;

    struct Silent;
    impl Alarm for Silent {
        fn ring(&self) {}
    }

    type Log = Rc<RefCell<Vec<(u32, Wake)>>>;

    /// Takes one, logs its turn, and gives it back when it is woken next.
    fn user(own: &Rc<Scheduler>, supply: &Rc<Supply>, name: u32, log: &Log) -> TaskId {
        let (scheduler, supply, log) = (own.clone(), supply.clone(), log.clone());
        own.spawn(Class::Normal, async move {
            let _portion = supply.take(&scheduler).await;
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
    fn who_waits_for_a_resource_is_woken_in_order_and_only_when_one_is_released() {
        let mailbox = Arc::new(Mailbox::new(Box::new(Silent)));
        let own = Rc::new(Scheduler::new(Settings::default(), mailbox, Tick(0)));
        let (supply, log) = (Supply::new(2), Log::default());
        let users: Vec<_> = (0..6).map(|name| user(&own, &supply, name, &log)).collect();
        assert_eq!((settle(&own), supply.waiting()), (6, 4), "no busy loop");
        own.wake(users[3], Wake::IO);
        settle(&own);
        assert_eq!(log.borrow().len(), 2, "a wake-up for something else does not serve it");
        own.wake(users[1], Wake::IO);
        settle(&own);
        assert_eq!(log.borrow()[2..], [(2, Wake::RESOURCE)]);
        // One that is killed while it waits, and one in the moment of its call, lose nothing.
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
}
