//! Tests of the budget of a turn, which covers a thread's own timers and shared work.

mod support;

use sim::Faults;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use support::Lab;

/// Most expirations of a turn by default.
const DEPTH: u64 = 200;
const EACH: usize = 1_000;

/// Lets timers and shared jobs of one thread fall due at the same moment. Returns the number of
/// both in each turn that ran any.
fn storm(timers: usize, jobs: usize) -> Vec<(u64, u64)> {
    let mut lab = Lab::new(1, 1, Faults::NONE, vec![]);
    let (worker, thread) = (lab.workers[0].clone(), lab.machine.thread(0).clone());
    for _ in 0..timers {
        let own = thread.clone();
        thread.scheduler().spawn(reactor::Class::Normal, async move {
            own.scheduler().wait(Some(own.tick().plus_ms(1_000))).await;
        });
    }
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..jobs {
        let done = done.clone();
        let job = move |_: &_, _| {
            done.fetch_add(1, Relaxed);
            None
        };
        lab.shared.work.add(0, 1, worker.millis() + 1_000, Box::new(job));
    }
    let fired = thread.heartbeat().activity().clone();
    let sums = || (fired.expired.get(), done.load(Relaxed) as u64);
    let (turns, last) = (Cell::new(Vec::new()), Rc::new(Cell::new((thread.turns(), sums()))));
    let step = || {
        let (turn, before) = last.get();
        if thread.turns() != turn {
            let after = sums();
            last.set((thread.turns(), after));
            let mut all = turns.take();
            all.push((after.0 - before.0, after.1 - before.1));
            turns.set(all);
        }
        done.load(Relaxed) == jobs && thread.scheduler().timers() == 0
    };
    lab.machine.expect_until(step, Duration::from_secs(5));
    let all = turns.take().into_iter().filter(|turn| *turn != (0, 0)).collect();
    lab.stop();
    all
}

#[test]
fn own_timers_and_shared_work_have_one_budget_per_turn() {
    let turns = storm(EACH, EACH);
    assert!(turns.iter().all(|(timers, jobs)| timers + jobs <= DEPTH), "{turns:?}");
    let (timers, jobs): (Vec<_>, Vec<_>) = turns.iter().copied().unzip();
    assert!(timers.iter().sum::<u64>() >= EACH as u64);
    assert_eq!(jobs.iter().sum::<u64>(), EACH as u64);
    // A thread with many timers of its own leaves shared work to other threads.
    let busy = turns.iter().filter(|(timers, _)| *timers == DEPTH);
    assert!(busy.clone().count() >= 4 && busy.clone().all(|(_, jobs)| *jobs == 0), "{turns:?}");
}

#[test]
fn a_thread_without_timers_has_its_whole_budget_for_shared_work() {
    let turns = storm(0, EACH);
    let full = turns.iter().filter(|(_, jobs)| *jobs >= DEPTH - 1).count();
    assert!(full >= 4 && turns.iter().all(|(_, jobs)| *jobs <= DEPTH), "{turns:?}");
}
