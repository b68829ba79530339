//! Tests of a clock that leaps.

use super::*;
use crate::scripted_kernel::ScriptedKernel;

const MINUTE: u64 = 60_000_000_000;

/// Spawns a thousand timers, one per second of the thread's time from `start` on; counts those that
/// fired.
fn timers(kernel: &ScriptedKernel, start: u64) -> (Rc<Thread>, Rc<Cell<u64>>) {
    kernel.now.set(start);
    let thread = kernel.thread();
    let fired = Rc::new(Cell::new(0));
    for second in 1..=1_000 {
        let (own, fired) = (thread.clone(), fired.clone());
        thread.scheduler().spawn(Class::Normal, async move {
            own.scheduler().wait(Some(own.tick().plus_ms(second * 1_000))).await;
            fired.set(fired.get() + 1);
        });
    }
    while thread.scheduler().has_work() {
        thread.turn(None).unwrap();
    }
    (thread, fired)
}

#[test]
fn a_clock_that_leaps_ahead_or_back_neither_fires_all_timers_nor_stops_them() {
    for leap in [0, 3_600, 86_400 * 30, -10, -3_600] {
        let kernel = ScriptedKernel::default();
        let (thread, fired) = timers(&kernel, 2 * 3_600_000_000_000);
        let begun = thread.nanos();
        kernel.leap.set(leap * 1_000_000_000);
        while thread.nanos() < begun + MINUTE {
            thread.turn(None).unwrap();
        }
        assert!((59..=62).contains(&fired.get()), "a leap of {leap} s: {} fired", fired.get());
        assert!(kernel.asked.get().is_some_and(|asked| asked <= Duration::from_secs(1)));
        thread.scheduler().clear();
    }
}

#[test]
fn a_late_return_within_reason_is_real_time() {
    let kernel = ScriptedKernel::default();
    let (thread, fired) = timers(&kernel, MINUTE);
    let begun = thread.nanos();
    kernel.leap.set(4_000_000_000);
    thread.turn(None).unwrap();
    assert!(thread.nanos() >= begun + 4_000_000_000);
    assert_eq!(fired.get(), 4);
    thread.scheduler().clear();
}

/// Spawns a task that sleeps for this many seconds again and again.
fn tick(thread: &Rc<Thread>, seconds: u32) {
    let own = thread.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        loop {
            own.scheduler().wait(Some(own.tick().plus_ms(seconds * 1_000))).await;
        }
    });
}

#[test]
fn threads_of_a_process_take_the_same_leap_back() {
    for (leap, other, first) in [60, 86_400, -3_600]
        .into_iter()
        .flat_map(|leap| [None, Some(3)].map(|other| (leap, other)))
        .flat_map(|(leap, other)| [0, 1].map(|first| (leap, other, first)))
    {
        let kernel = ScriptedKernel::default();
        kernel.now.set(2 * 3_600_000_000_000);
        let clock_correction = ClockCorrection::new(2);
        let threads = [0, 1].map(|index| {
            let kernel = Box::new(kernel.clone());
            Thread::of_process(index, kernel, Settings::default(), &clock_correction)
        });
        tick(&threads[0], 1);
        other.into_iter().for_each(|seconds| tick(&threads[1], seconds));
        let look = || threads.iter().for_each(|it| it.turn(Some(Duration::ZERO)).unwrap());
        look();
        let begun = threads[0].nanos();
        kernel.leap.set(leap * 1_000_000_000);
        threads[first].turn(None).unwrap();
        look();
        for passed in 0..3 {
            let [one, two] = [0, 1].map(|index| threads[index].nanos() - begun);
            assert_eq!(one, two, "a leap of {leap} s, noticed by {first}");
            assert!(one <= (passed + 1) * 1_000_000_000, "{one} after {passed} s");
            threads[0].turn(None).unwrap();
            look();
        }
        threads.iter().for_each(|thread| thread.scheduler().clear());
    }
}
