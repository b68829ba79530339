//! Real threads wake and kill tasks of another thread in every state.
#![allow(clippy::unwrap_used, reason = "a test")]

use sched::{Alarm, Class, Mailbox, Scheduler, Settings, TaskId, Wake};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::Thread;
use stdx::{Prng, Tick};

const KILLERS: usize = 4;
/// Tasks per round that are spawned and killed.
const TASKS: usize = 64;
const ROUNDS: usize = if cfg!(miri) { 3 } else { 400 };

/// Wakes the owner from its `park`.
struct UnparkAlarm(Thread);

impl Alarm for UnparkAlarm {
    fn ring(&self) {
        self.0.unpark();
    }
}

/// Counts its own drop.
struct DropCounter(Arc<AtomicU32>);

impl Drop for DropCounter {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// The tasks of a round, and how often each was dropped.
#[derive(Default)]
struct KillRound {
    ids: Mutex<Vec<TaskId>>,
    drops: Mutex<Vec<Arc<AtomicU32>>>,
}

/// Kills all tasks of each round in a random order; wakes some of them first.
fn kill_all(mailbox: &Mailbox, round: &KillRound, barrier: &Barrier, seed: u64) {
    let prng = Prng::new(seed);
    for _ in 0..ROUNDS {
        barrier.wait();
        let mut ids = round.ids.lock().unwrap().clone();
        while !ids.is_empty() {
            let id = ids.swap_remove(prng.below(ids.len() as u32) as usize);
            if prng.below(2) == 0 {
                mailbox.wake(id, Wake::IO);
            }
            mailbox.kill(id);
        }
        barrier.wait();
    }
}

/// A task with one of several behaviours: ends at once, waits, has a deadline, or kills another
/// task.
async fn live(own: Rc<Scheduler>, kind: u32, life: DropCounter, other: Option<TaskId>) {
    let _life = life;
    if let Some(other) = other.filter(|_| kind == 3) {
        own.kill(other);
    }
    loop {
        match kind {
            0 => own.yield_as(Class::Bulk).await,
            1 => own.yield_as(Class::Heavy).await,
            2 => drop(own.wait(Some(Tick(5))).await),
            _ => drop(own.wait(None).await),
        }
    }
}

fn make(own: &Rc<Scheduler>, round: &KillRound, prng: &Prng) {
    let (mut ids, mut drops) = (round.ids.lock().unwrap(), round.drops.lock().unwrap());
    ids.clear();
    drops.clear();
    for _ in 0..TASKS {
        let dropped = Arc::new(AtomicU32::new(0));
        let (life, other) = (DropCounter(dropped.clone()), ids.last().copied());
        let class = Class::ALL[prng.below(4) as usize];
        ids.push(own.spawn(class, live(own.clone(), prng.below(5), life, other)));
        drops.push(dropped);
        // Some tasks are asleep or queued when the killers come; others have not run yet.
        if prng.below(8) == 0 {
            own.run();
        }
    }
}

#[test]
fn tasks_killed_by_other_threads_are_dropped_exactly_once() {
    let mailbox = Arc::new(Mailbox::new(Box::new(UnparkAlarm(std::thread::current()))));
    let (round, barrier) = (&KillRound::default(), &Barrier::new(KILLERS + 1));
    let own = Rc::new(Scheduler::new(Settings::default(), mailbox.clone(), Tick(0)));
    let prng = Prng::new(1);
    let mailbox = &*mailbox;
    std::thread::scope(|scope| {
        for killer in 0..KILLERS {
            scope.spawn(move || kill_all(mailbox, round, barrier, 2 + killer as u64));
        }
        for turn in 0..ROUNDS {
            make(&own, round, &prng);
            barrier.wait();
            while own.tasks() > 0 {
                own.expire(Tick(turn as u32));
                if !own.run().more && own.tasks() > 0 && mailbox.park() {
                    std::thread::park();
                }
                mailbox.unpark();
            }
            for dropped in &*round.drops.lock().unwrap() {
                assert_eq!(dropped.load(SeqCst), 1);
            }
            barrier.wait();
            // Letters to tasks that have ended.
            while own.has_work() {
                own.run();
            }
        }
    });
}
