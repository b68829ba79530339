//! Many real threads add, kill, postpone and run jobs at once.

use sched::SharedWork;
use sched::shared::Job;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use stdx::Prng;

const THREADS: usize = 8;
const ROUNDS: u64 = 2_000;

/// A job with the least and greatest number of runs to expect.
struct Added {
    ran: Arc<AtomicU32>,
    least: u32,
    most: u32,
}

fn job(ran: &Arc<AtomicU32>, runs: u32) -> Job<usize> {
    let ran = ran.clone();
    Box::new(move |_, now| (ran.fetch_add(1, SeqCst) + 1 < runs).then_some(now + 1))
}

fn one_thread(work: &SharedWork<usize>, clock: &AtomicU64, thread: usize) -> Vec<Added> {
    let random = Prng::new(thread as u64);
    let mut added = Vec::new();
    for _ in 0..ROUNDS {
        let now = clock.fetch_add(1, SeqCst);
        let ran = Arc::new(AtomicU32::new(0));
        let runs = 1 + random.below(3);
        let scope = 1 << random.below(THREADS as u32) | 1 << thread;
        let handle = work.add(thread, scope, now + u64::from(random.below(50)), job(&ran, runs));
        if random.below(4) == 0 {
            work.postpone(&handle, now + 60);
        }
        let killed = random.below(4) == 0;
        if killed && work.kill(&handle) {
            let before = ran.load(SeqCst);
            added.push(Added { ran, least: before, most: before });
        } else {
            added.push(Added { ran, least: if killed { 1 } else { runs }, most: runs });
        }
        work.run(thread, now, &mut 10, &thread);
    }
    added
}

#[test]
fn every_job_runs_as_often_as_it_wants_unless_it_was_killed_before() {
    let (work, clock) = (&SharedWork::new(THREADS), &AtomicU64::new(0));
    let added: Vec<Added> = std::thread::scope(|scope| {
        let spawn = |thread| scope.spawn(move || one_thread(work, clock, thread));
        let threads: Vec<_> = (0..THREADS).map(spawn).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // The remaining jobs are found through the watches alone.
    while let Some(now) = (0..THREADS).filter_map(|thread| work.next(thread)).min() {
        for thread in (0..THREADS).filter(|thread| work.next(*thread) == Some(now)) {
            while work.run(thread, now, &mut 100, &thread).more {}
        }
    }
    assert_eq!(work.waiting(), Some(0));
    for it in added {
        let ran = it.ran.load(SeqCst);
        assert!((it.least..=it.most).contains(&ran), "{ran} of {}..={}", it.least, it.most);
    }
}
