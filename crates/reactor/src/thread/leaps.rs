//! Tests of a clock that leaps. Never part of the product.

use super::*;
use crate::script::Script;

const MINUTE: u64 = 60_000_000_000;

/// A thousand timers, one per second of its own time from `start` on; counts those that fired.
fn timers(kernel: &Script, start: u64) -> (Rc<Thread>, Rc<Cell<u64>>) {
    kernel.now.set(start);
    let thread = kernel.thread();
    let fired = Rc::new(Cell::new(0));
    for second in 1..=1_000 {
        let (own, fired) = (thread.clone(), fired.clone());
        thread.scheduler().spawn(Class::Normal, async move {
            own.scheduler().pause(Some(own.tick().plus_ms(second * 1_000))).await;
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
        let kernel = Script::default();
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
    let kernel = Script::default();
    let (thread, fired) = timers(&kernel, MINUTE);
    let begun = thread.nanos();
    kernel.leap.set(4_000_000_000);
    thread.turn(None).unwrap();
    assert!(thread.nanos() >= begun + 4_000_000_000);
    assert_eq!(fired.get(), 4);
    thread.scheduler().clear();
}
