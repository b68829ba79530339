//! Tests of profiling with a clock set by hand.

use super::*;
use crate::{Activity, Class, Mailbox, NoAlarm, Scheduler, Settings};
use std::rc::Rc;
use std::sync::Arc;
use stdx::Tick;

#[derive(Clone, Default)]
struct ManualClock(Rc<Cell<u64>>);
impl Clock for ManualClock {
    fn nanos(&self) -> u64 {
        self.0.get()
    }
}

impl ManualClock {
    fn pass(&self, nanos: u64) {
        self.0.set(self.0.get() + nanos);
    }
}

fn scheduler(mode: Mode) -> (Rc<Scheduler>, ManualClock) {
    let clock = ManualClock::default();
    clock.pass(1_000);
    let settings = Settings { profiling: mode, ..Settings::default() };
    let mailbox = Arc::new(Mailbox::new(Box::new(NoAlarm)));
    let activity = Arc::new(Activity::default());
    let clocked = Box::new(clock.clone());
    (Rc::new(Scheduler::with_counters(settings, mailbox, Tick(0), activity, clocked)), clock)
}

/// A task that uses 70 ns in each turn.
async fn worker(scheduler: Rc<Scheduler>, clock: ManualClock) {
    loop {
        clock.pass(70);
        scheduler.wait(None).await;
    }
}

fn sum(scheduler: &Scheduler) -> Totals {
    let mut sum = Totals::default();
    scheduler.profile().iter().for_each(|entry| sum.merge(entry.totals));
    sum
}

#[test]
#[cfg_attr(miri, ignore = "Miri gives each call at one place an address of its own")]
fn calls_cpu_and_latency_are_kept_by_function_and_caller() {
    let (scheduler, clock) = scheduler(Mode::On);
    scheduler.run();
    let id = scheduler.spawn(Class::Normal, worker(scheduler.clone(), clock.clone()));
    clock.pass(30);
    scheduler.run();
    for _ in 0..2 {
        scheduler.wake(id, Wake::IO);
        clock.pass(10);
        scheduler.run();
    }
    let mut profile = scheduler.profile();
    profile.sort_by_key(|entry| entry.totals.calls);
    let [spawned, woken] = profile[..] else { panic!("{profile:?}") };
    assert!(spawned.function.ends_with("profile::tests::worker"), "{}", spawned.function);
    assert_eq!(spawned.totals, Totals { calls: 1, cpu: 70, dated: 1, latency: 30 });
    assert_eq!(woken.totals, Totals { calls: 2, cpu: 140, dated: 2, latency: 20 });
    let (place, reason) = woken.caller.unwrap();
    assert_eq!((place.file(), reason), (file!(), Wake::IO));
    assert_eq!((woken.totals.cpu_avg(), woken.totals.latency_avg()), (70, 10));
}

#[test]
fn a_wake_up_from_before_profiling_has_no_latency() {
    let (scheduler, clock) = scheduler(Mode::Off);
    let id = scheduler.spawn(Class::Normal, worker(scheduler.clone(), clock.clone()));
    scheduler.run();
    assert_eq!(scheduler.profile(), []);
    scheduler.wake(id, Wake::IO);
    clock.pass(1_000_000);
    scheduler.activity().profiling.set(Mode::On);
    scheduler.run();
    assert_eq!(sum(&scheduler), Totals { calls: 1, cpu: 70, dated: 0, latency: 0 });
    scheduler.wake(id, Wake::IO);
    scheduler.activity().profiling.set(Mode::Off);
    scheduler.run();
    clock.pass(1_000_000);
    scheduler.wake(id, Wake::IO);
    scheduler.activity().profiling.set(Mode::On);
    scheduler.run();
    assert_eq!(sum(&scheduler), Totals { calls: 1, cpu: 70, dated: 0, latency: 0 }, "begun anew");
}

#[test]
fn a_second_wake_up_does_not_move_the_date_of_the_first() {
    let (scheduler, clock) = scheduler(Mode::On);
    let id = scheduler.spawn(Class::Normal, worker(scheduler.clone(), clock.clone()));
    scheduler.run();
    scheduler.activity().profiling.set(Mode::On);
    scheduler.run();
    scheduler.wake(id, Wake::IO);
    clock.pass(5);
    scheduler.wake(id, Wake::MESSAGE);
    clock.pass(5);
    scheduler.run();
    assert_eq!(sum(&scheduler).latency, 10);
}

#[test]
fn a_task_that_wakes_itself_is_dated_within_its_turn() {
    let (scheduler, clock) = scheduler(Mode::On);
    scheduler.run();
    let (own, time) = (scheduler.clone(), clock.clone());
    scheduler.spawn(Class::Normal, async move {
        time.pass(10);
        own.wake(own.current(), Wake::MESSAGE);
        time.pass(15);
        own.wait(None).await;
        time.pass(1);
    });
    while scheduler.run().more {}
    // The mark of the second turn was set during the first and must outlive its end.
    assert_eq!(sum(&scheduler), Totals { calls: 2, cpu: 26, dated: 2, latency: 15 });
}

#[test]
fn time_between_turns_is_latency_and_no_tasks_cpu() {
    let (scheduler, clock) = scheduler(Mode::On);
    scheduler.run();
    let id = scheduler.spawn(Class::Normal, worker(scheduler.clone(), clock.clone()));
    let wakes = Cell::new(true);
    let before = |_| {
        clock.pass(500);
        if wakes.take() {
            // This dates the following turn.
            scheduler.wake(id, Wake::MESSAGE);
        }
        true
    };
    scheduler.run_with(&before, &|| true);
    assert_eq!(sum(&scheduler), Totals { calls: 2, cpu: 140, dated: 2, latency: 500 + 70 + 500 });
}

#[test]
fn automatic_profiling_follows_the_length_of_turns_with_hysteresis() {
    let (scheduler, clock) = scheduler(Mode::Auto);
    let id = scheduler.spawn(Class::Normal, worker(scheduler.clone(), clock.clone()));
    let mut calls = Vec::new();
    for loop_us in [999, 1000, 995, 989] {
        scheduler.set_loop_time(loop_us * 1000);
        scheduler.wake(id, Wake::IO);
        scheduler.run();
        calls.push(sum(&scheduler).calls);
    }
    assert_eq!(calls, [0, 1, 2, 2]);
}

#[test]
fn rows_beyond_the_table_are_summed_in_one() {
    let mut table = Table::default();
    let here = Location::caller();
    for bits in 0..=u8::MAX {
        for function in [Function::of::<u8>(), Function::of::<u16>(), Function::of::<u32>()] {
            table.add(function, Some((here, Wake::from_bits_retain(bits))), 1, None);
        }
    }
    let entries = table.entries();
    let calls: u64 = entries.iter().map(|entry| entry.totals.calls).sum();
    assert_eq!(calls, 768);
    assert_eq!(entries.last().unwrap().function, "other");
}

#[test]
fn without_a_clock_calls_are_counted_and_times_are_not() {
    let settings = Settings { profiling: Mode::On, ..Settings::default() };
    let scheduler = Scheduler::new(settings, Arc::new(Mailbox::new(Box::new(NoAlarm))), Tick(0));
    scheduler.run();
    scheduler.spawn(Class::Normal, async {});
    scheduler.run();
    assert_eq!(sum(&scheduler), Totals { calls: 1, cpu: 0, dated: 0, latency: 0 });
}

#[test]
fn the_cpu_time_of_a_task_is_counted() {
    for mode in [Mode::On, Mode::Off] {
        let (scheduler, clock) = scheduler(mode);
        scheduler.run();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let notes = (seen.clone(), scheduler.clone(), clock.clone());
        let id = scheduler.spawn(Class::Normal, async move {
            let (seen, scheduler, clock) = notes;
            let mut begin = scheduler.usage_before();
            loop {
                clock.pass(70);
                seen.borrow_mut().push(scheduler.usage().since(begin));
                scheduler.wait(None).await;
                if seen.borrow().len() == 2 {
                    begin = scheduler.usage_before();
                }
            }
        });
        for _ in 0..3 {
            clock.pass(30);
            scheduler.run();
            scheduler.wake(id, Wake::MESSAGE);
        }
        let timed = u64::from(mode == Mode::On);
        let of = |calls, cpu, latency| Usage { calls, cpu: cpu * timed, latency: latency * timed };
        assert_eq!(*seen.borrow(), [of(1, 0, 30), of(2, 70, 60), of(1, 0, 30)], "{mode:?}");
        assert_eq!(scheduler.usage(), Usage::default(), "no task runs");
    }
}
