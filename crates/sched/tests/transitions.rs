//! State transitions of tasks under shuttle: threads wake, kill and move tasks while the owner runs
//! them, in thousands of random interleavings. `tests/park` tests the memory model.
//!
//! Other threads reach a scheduler through its mailbox only, and each call of the mailbox is
//! atomic. So it is enough to switch threads between those calls, also in the middle of a turn;
//! `switch` marks these points.

use sched::{Alarm, Class, Mailbox, Scheduler, Settings, TaskId, Wake};
use shuttle::rand::Rng;
use shuttle::sync::{Condvar, Mutex, MutexGuard};
use shuttle::thread;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use stdx::Tick;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic")
}

fn switch() {
    thread::yield_now();
}

/// The alarm of a thread that sleeps on a condition variable instead of a poller.
#[derive(Clone, Default)]
struct CondvarAlarm(Arc<(Mutex<bool>, Condvar)>);

impl CondvarAlarm {
    fn wait(&self) {
        let mut rung = locked(&self.0.0);
        while !*rung {
            rung = self.0.1.wait(rung).expect("no panic");
        }
        *rung = false;
    }
}

impl Alarm for CondvarAlarm {
    fn ring(&self) {
        *locked(&self.0.0) = true;
        self.0.1.notify_one();
    }
}

/// Counters that must agree at the end of one run.
#[derive(Default)]
struct Tally {
    alive: AtomicUsize,
    dropped: AtomicUsize,
    posted: AtomicUsize,
    taken: AtomicUsize,
}

/// Counts drops: exactly one for each task, in whatever state it ended.
struct DropTally(Arc<Tally>);

impl DropTally {
    fn begin(tally: &Arc<Tally>) -> Self {
        tally.alive.fetch_add(1, SeqCst);
        Self(tally.clone())
    }
}

impl Drop for DropTally {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

/// One thread that owns tasks.
#[derive(Clone)]
struct Owner {
    mailbox: Arc<Mailbox>,
    bell: CondvarAlarm,
    first: Arc<Mutex<Vec<TaskId>>>,
}

impl Owner {
    fn new() -> Self {
        let bell = CondvarAlarm::default();
        let mailbox = Arc::new(Mailbox::new(Box::new(bell.clone())));
        Self { mailbox, bell, first: Arc::default() }
    }

    fn scheduler(&self) -> Rc<Scheduler> {
        Rc::new(Scheduler::new(Settings::default(), self.mailbox.clone(), Tick(0)))
    }

    /// The loop of the reactor: rounds while there is work, else sleep, until `done`.
    fn run(&self, scheduler: &Scheduler, done: impl Fn() -> bool) {
        self.run_as(scheduler, done, false);
    }

    /// `hasty` plants a bug: the owner sleeps although letters came just before its announcement.
    fn run_as(&self, scheduler: &Scheduler, done: impl Fn() -> bool, hasty: bool) {
        while !done() {
            switch();
            if scheduler.run().more || done() {
                continue;
            }
            switch();
            if self.mailbox.park() || hasty {
                self.bell.wait();
            }
            self.mailbox.unpark();
        }
    }
}

/// A task that counts the values posted to it, until the last one.
async fn taker(scheduler: Rc<Scheduler>, tally: Arc<Tally>, goal: usize) {
    let _life = DropTally::begin(&tally);
    while tally.taken.load(SeqCst) < goal {
        switch();
        tally.taken.store(tally.posted.load(SeqCst), SeqCst);
        switch();
        if tally.taken.load(SeqCst) < goal {
            scheduler.wait(None).await;
        }
    }
}

/// Two threads wake a task twice each; all that was posted must have been taken in the end. A lost
/// wake-up shows as a deadlock, which shuttle reports.
fn wakers_meet_turns(hasty: bool) {
    let (owner, tally) = (Owner::new(), Arc::new(Tally::default()));
    let senders: Vec<_> = (0..2)
        .map(|_| {
            let (owner, tally) = (owner.clone(), tally.clone());
            thread::spawn(move || {
                while locked(&owner.first).is_empty() {
                    switch();
                }
                let id = locked(&owner.first)[0];
                for _ in 0..2 {
                    tally.posted.fetch_add(1, SeqCst);
                    switch();
                    owner.mailbox.wake(id, Wake::MESSAGE);
                }
            })
        })
        .collect();
    let scheduler = owner.scheduler();
    let id = scheduler.spawn(Class::Normal, taker(scheduler.clone(), tally.clone(), 4));
    locked(&owner.first).push(id);
    owner.run_as(&scheduler, || scheduler.tasks() == 0, hasty);
    senders.into_iter().for_each(|sender| sender.join().expect("no panic"));
    assert_eq!((tally.alive.load(SeqCst), tally.dropped.load(SeqCst)), (0, 1));
}

#[test]
fn each_wake_up_finds_its_task_however_it_meets_its_turn() {
    shuttle::check_random(|| wakers_meet_turns(false), 6_000);
}

#[test]
fn planted_bug_sleeping_without_the_second_check_is_caught_as_a_deadlock() {
    let check = || shuttle::check_random(|| wakers_meet_turns(true), 6_000);
    let panic = std::panic::catch_unwind(check).expect_err("shuttle finds it");
    let text = panic.downcast::<String>().expect("shuttle's words");
    assert!(text.contains("deadlock"), "{text}");
}

#[test]
fn a_killed_task_is_dropped_exactly_once_in_any_state() {
    const TASKS: usize = 4;
    let model = || {
        let (owner, tally) = (Owner::new(), Arc::new(Tally::default()));
        let killers: Vec<_> = (0..2)
            .map(|killer| {
                let owner = owner.clone();
                thread::spawn(move || {
                    while locked(&owner.first).len() < TASKS {
                        switch();
                    }
                    let ids = locked(&owner.first).clone();
                    for id in ids {
                        // The interleaving decides whether the task has not run, sleeps, is queued
                        // or runs.
                        if killer == 0 || shuttle::rand::thread_rng().gen_bool(0.5) {
                            owner.mailbox.wake(id, Wake::IO);
                            switch();
                        }
                        owner.mailbox.kill(id);
                        switch();
                    }
                })
            })
            .collect();
        let scheduler = owner.scheduler();
        for _ in 0..TASKS {
            let (own, life) = (scheduler.clone(), DropTally::begin(&tally));
            let id = scheduler.spawn(Class::Normal, async move {
                let _life = life;
                loop {
                    switch();
                    own.wait(None).await;
                }
            });
            locked(&owner.first).push(id);
            switch();
        }
        owner.run(&scheduler, || scheduler.tasks() == 0);
        killers.into_iter().for_each(|killer| killer.join().unwrap());
        while scheduler.run().more {}
        assert_eq!((tally.alive.load(SeqCst), tally.dropped.load(SeqCst)), (0, TASKS));
    };
    shuttle::check_random(model, 6_000);
}

/// A record is taken off one thread's list and put into another's, whose keeper is woken through
/// its mailbox and runs it as a new local task.
#[test]
fn work_that_moves_between_threads_runs_exactly_once() {
    const RECORDS: usize = 4;
    let model = || {
        let owners = [Owner::new(), Owner::new()];
        let desks: [Arc<Mutex<Vec<usize>>>; 2] = Default::default();
        let tally = Arc::new(Tally::default());
        let threads: Vec<_> = (0..2)
            .map(|own| {
                let (owners, desks, tally) = (owners.clone(), desks.clone(), tally.clone());
                thread::spawn(move || {
                    let scheduler = owners[own].scheduler();
                    let keeper =
                        keeper(scheduler.clone(), own, owners.clone(), desks, tally.clone());
                    let id = scheduler.spawn(Class::Normal, keeper);
                    locked(&owners[own].first).push(id);
                    owners[own].run(&scheduler, || tally.taken.load(SeqCst) == RECORDS);
                    // A thread that has finished wakes the other thread, which may have no work
                    // left.
                    owners[1 - own].mailbox.wake(TaskId::NONE, Wake::MESSAGE);
                    scheduler.clear();
                })
            })
            .collect();
        locked(&desks[0]).extend(0..RECORDS);
        while locked(&owners[0].first).is_empty() {
            switch();
        }
        let first = locked(&owners[0].first)[0];
        owners[0].mailbox.wake(first, Wake::MESSAGE);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(tally.dropped.load(SeqCst), RECORDS);
    };
    shuttle::check_random(model, 4_000);
}

/// Runs the records on its list; the first keeper gives records with odd numbers to the other
/// keeper.
async fn keeper(
    scheduler: Rc<Scheduler>,
    own: usize,
    owners: [Owner; 2],
    desks: [Arc<Mutex<Vec<usize>>>; 2],
    tally: Arc<Tally>,
) {
    loop {
        let batch = std::mem::take(&mut *locked(&desks[own]));
        for record in batch {
            switch();
            let other = locked(&owners[1 - own].first).first().copied();
            match other {
                Some(keeper) if own == 0 && record % 2 == 1 => {
                    locked(&desks[1 - own]).push(record);
                    switch();
                    owners[1 - own].mailbox.wake(keeper, Wake::MESSAGE);
                }
                _ => {
                    let (life, tally) = (DropTally::begin(&tally), tally.clone());
                    scheduler.spawn(Class::Normal, async move {
                        let _life = life;
                        switch();
                        tally.taken.fetch_add(1, SeqCst);
                    });
                }
            }
        }
        scheduler.wait(None).await;
    }
}
