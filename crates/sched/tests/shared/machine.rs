//! Tests of shared work on 64 threads with a virtual clock.

use sched::SharedWork;
use sched::shared::Job;
use std::sync::{Arc, Mutex};
use stdx::Prng;

const THREADS: usize = 64;
const JOBS: u64 = 20_000;
const SPAN: u64 = 5_000;

/// Context of jobs: the thread's number.
type Machine = SharedWork<usize>;

/// One entry per run: time, thread and job.
type Runs = Arc<Mutex<Vec<(u64, usize, u64)>>>;

fn noting(runs: &Runs, number: u64) -> Job<usize> {
    let runs = runs.clone();
    Box::new(move |thread, now| {
        runs.lock().expect("no holder panics").push((now, *thread, number));
        None
    })
}

/// Advances time from timer to timer; yields how often any thread woke up.
fn play(machine: &Machine, budget: usize) -> u64 {
    let mut wakes = 0;
    while let Some(now) = (0..THREADS).filter_map(|thread| machine.next(thread)).min() {
        for thread in (0..THREADS).filter(|thread| machine.next(*thread) == Some(now)) {
            wakes += 1;
            let mut more = true;
            while more {
                let pass = machine.run(thread, now, &mut budget.clone(), &thread);
                assert!(pass.ran <= budget, "{} jobs in one pass", pass.ran);
                more = pass.more;
            }
        }
    }
    wakes
}

#[test]
fn an_idle_machine_has_no_timer() {
    let machine = Machine::new(THREADS);
    assert!((0..THREADS).all(|thread| machine.next(thread).is_none()));
    let runs = Runs::default();
    machine.add(7, machine.all_threads(), 100, noting(&runs, 0));
    let timers: Vec<_> = (0..THREADS).filter_map(|thread| machine.next(thread)).collect();
    assert_eq!(timers, [100], "one thread watches one job");
    assert_eq!(play(&machine, 200), 1);
    assert_eq!(*runs.lock().unwrap(), [(100, 7, 0)]);
    assert!((0..THREADS).all(|thread| machine.next(thread).is_none()));
}

#[test]
fn each_job_runs_once_in_time_on_a_thread_of_its_set_and_wakes_one_at_most() {
    let (machine, runs, random) = (Machine::new(THREADS), Runs::default(), Prng::new(11));
    let mut jobs = Vec::new();
    for number in 0..JOBS {
        // Single threads, pairs, and all threads.
        let bit = || 1u64 << random.below(64);
        let scope = [bit(), bit() | bit(), u64::MAX][random.below(3) as usize];
        let due = u64::from(random.below(SPAN as u32));
        machine.add(random.below(64) as usize, scope, due, noting(&runs, number));
        jobs.push((scope, due));
    }
    let wakes = play(&machine, 200);
    assert!(wakes <= JOBS, "{wakes} wake-ups");
    let mut runs = runs.lock().unwrap();
    runs.sort_by_key(|(_, _, number)| *number);
    assert_eq!(runs.len() as u64, JOBS);
    let mut busiest = [0u32; THREADS];
    for ((now, thread, number), (scope, due)) in runs.iter().zip(&jobs) {
        assert_eq!(*now, *due, "job {number}");
        assert!(scope >> thread & 1 == 1, "job {number} on thread {thread}");
        busiest[*thread] += 1;
    }
    let most = busiest.iter().max().unwrap();
    assert!(u64::from(*most) < 3 * JOBS / THREADS as u64, "{most} jobs on one thread");
}

#[test]
fn a_storm_is_cut_into_passes_of_the_budget() {
    let (machine, runs) = (Machine::new(THREADS), Runs::default());
    for number in 0..10_000 {
        machine.add(0, u64::MAX, 50, noting(&runs, number));
    }
    assert_eq!(machine.run(3, 49, &mut 200, &3).ran, 0);
    // A thread takes shared work with the part of the budget that its own timers have left.
    let mut left = 70;
    let pass = machine.run(3, 50, &mut left, &3);
    assert_eq!((pass.ran, pass.more, left), (70, true, 0));
    assert!(machine.run(4, 50, &mut 0, &4).more, "without a budget it comes again later");
    play(&machine, 200);
    assert_eq!(runs.lock().unwrap().len(), 10_000);
}

#[test]
fn a_postponed_job_goes_back_and_a_thread_that_leaves_hands_its_watch_on() {
    let (machine, runs) = (Machine::new(THREADS), Runs::default());
    let handle = machine.add(5, 0b110_0000, 10, noting(&runs, 1));
    machine.postpone(&handle, 30);
    assert_eq!(machine.run(5, 10, &mut 9, &5).ran, 0);
    assert_eq!(machine.next(5), Some(30));
    machine.remove_thread(5);
    assert_eq!((machine.next(5), machine.next(6)), (None, Some(30)));
    play(&machine, 1);
    assert_eq!(*runs.lock().unwrap(), [(30, 6, 1)]);
    assert!(!machine.kill(&handle), "it was over");
}
