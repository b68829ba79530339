//! Models in which threads use shared work at the same time.

use super::shared::{Job, Pass, SharedWork};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, MaxSteps, Runner, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

type Work = SharedWork<()>;

/// Tries up to twenty thousand schedules at random, for two seconds at most.
pub fn explore(model: fn()) {
    let mut config = Config::new();
    config.max_time = Some(Duration::from_secs(2));
    config.max_steps = MaxSteps::FailAfter(100_000);
    Runner::new(RandomScheduler::new(20_000), config).run(model);
}

fn counting(count: &Arc<AtomicUsize>, again: Option<u64>) -> Job<()> {
    let count = count.clone();
    Box::new(move |(), _| {
        count.fetch_add(1, SeqCst);
        again
    })
}

/// Runs passes until none is left, as a thread's task does.
fn tend(work: &Work, thread: usize, now: u64) {
    while (Pass { ran: 0, more: true }) == without_count(work.run(thread, now, &mut 2, &())) {
        thread::yield_now();
    }
}

fn without_count(pass: Pass) -> Pass {
    Pass { ran: 0, ..pass }
}

/// Added jobs are run by the thread that watches them, without help of another thread.
pub fn added_while_others_scan() {
    let (work, count) = (Arc::new(Work::new(2)), Arc::new(AtomicUsize::new(0)));
    work.add(0, 0b11, 1, counting(&count, None));
    let other = {
        let (work, count) = (work.clone(), count.clone());
        thread::spawn(move || {
            work.add(1, 0b10, 1, counting(&count, None));
            tend(&work, 1, 1);
        })
    };
    tend(&work, 0, 1);
    other.join().expect("no panic");
    assert_eq!(count.load(SeqCst), 2, "both are done");
    assert_eq!((work.next(0), work.next(1)), (None, None), "nobody has a timer left");
}

/// A kill that returned `true` has kept the job from running, and the tree keeps nothing of it.
pub fn killed_while_others_scan() {
    let (work, count) = (Arc::new(Work::new(2)), Arc::new(AtomicUsize::new(0)));
    let handle = work.add(0, 0b11, 1, counting(&count, Some(9)));
    let other = {
        let work = work.clone();
        thread::spawn(move || tend(&work, 1, 1))
    };
    let killed = work.kill(&handle);
    let ran = count.load(SeqCst);
    assert!(!killed || ran <= 1);
    other.join().expect("no panic");
    assert_eq!(work.backlog(), 0, "nobody is inside, so nothing waits");
    tend(&work, 0, 1);
    let after = count.load(SeqCst);
    assert!(if killed { after == ran } else { after == 1 }, "killed: {killed}, ran {after}");
    tend(&work, 1, 9);
    assert_eq!((count.load(SeqCst), work.waiting()), (after, Some(0)));
}

/// A job that runs again may move from thread to thread, but does not run twice at once.
pub fn runs_again_on_either_thread() {
    let (work, inside) = (Arc::new(Work::new(2)), Arc::new(AtomicUsize::new(0)));
    let count = Arc::new(AtomicUsize::new(0));
    let job: Job<()> = {
        let (inside, count) = (inside.clone(), count.clone());
        Box::new(move |(), now| {
            assert_eq!(inside.fetch_add(1, SeqCst), 0, "one at a time");
            thread::yield_now();
            inside.fetch_sub(1, SeqCst);
            count.fetch_add(1, SeqCst);
            (now < 3).then_some(now + 1)
        })
    };
    let handle = work.add(0, 0b11, 1, job);
    let other = {
        let work = work.clone();
        thread::spawn(move || (1..=3).for_each(|now| tend(&work, 1, now)))
    };
    work.postpone(&handle, 2);
    (1..=3).for_each(|now| tend(&work, 0, now));
    other.join().expect("no panic");
    while let Some(next) = work.next(0).into_iter().chain(work.next(1)).min() {
        tend(&work, 0, next);
        tend(&work, 1, next);
    }
    assert!(count.load(SeqCst) >= 1 && work.waiting() == Some(0));
}

/// A job that is postponed before the scanning thread has inserted it keeps its watch.
pub fn postponed_while_others_scan() {
    let (work, count) = (Arc::new(Work::new(2)), Arc::new(AtomicUsize::new(0)));
    let other = {
        let (work, count) = (work.clone(), count.clone());
        thread::spawn(move || {
            work.add(1, 0b10, 1, counting(&count, None));
            tend(&work, 1, 1);
        })
    };
    let handle = work.add(0, 0b01, 1, counting(&count, None));
    work.postpone(&handle, 5);
    tend(&work, 0, 1);
    other.join().expect("no panic");
    while let Some(next) = work.next(0) {
        tend(&work, 0, next);
    }
    assert_eq!((count.load(SeqCst), work.waiting()), (2, Some(0)), "both are done in the end");
}
