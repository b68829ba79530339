//! Tests of how a round is divided among classes, over any mix of work.

use super::*;
use crate::class;
use crate::mailbox::NoAlarm;
use proptest::prelude::*;
use std::rc::Rc;

fn scheduler(settings: Settings) -> Rc<Scheduler> {
    Rc::new(Scheduler::new(settings, Arc::new(Mailbox::new(Box::new(NoAlarm))), Tick(0)))
}

type Order = Rc<RefCell<Vec<Class>>>;

fn fill(scheduler: &Rc<Scheduler>, counts: [u32; class::COUNT]) -> Order {
    let order = Order::default();
    for class in Class::ALL {
        for _ in 0..counts[class as usize] {
            let order = order.clone();
            scheduler.spawn(class, async move { order.borrow_mut().push(class) });
        }
    }
    order
}

proptest! {
    /// Each class with work gets its share of the round by weight, to within one item, and the
    /// heavy class at most one item; no class starves; all shares may be 0.
    #[test]
    fn shares_hold_for_any_mix(ready in 0..16u8, depth in 1..5_000u32) {
        let shares = class::shares(ready, depth);
        let has = |class: usize| ready & 1 << class != 0;
        let total: u32 = (0..class::COUNT).filter(|c| has(*c)).map(|c| class::WEIGHTS[c]).sum();
        for (class, share) in shares.into_iter().enumerate() {
            if !has(class) {
                prop_assert_eq!(share, 0);
            } else if class == Class::Heavy as usize {
                prop_assert_eq!(share, 1);
            } else {
                let exact = f64::from(depth * class::WEIGHTS[class]) / f64::from(total);
                prop_assert!((f64::from(share) - exact).abs() < 1.0);
                prop_assert!(share >= 1);
            }
        }
        prop_assert_eq!(shares.iter().sum::<u32>() == 0, ready == 0);
    }

    /// A round runs no more of a class than its share, at most one heavy item, and at least one
    /// item of each class that has work; all work is done in the end.
    #[test]
    fn every_class_with_work_progresses_in_every_round(
        counts in [0..300u32, 0..300, 0..300, 0..5u32],
        depth in 1..300u32,
        low_latency in any::<bool>(),
    ) {
        let scheduler = scheduler(Settings { depth, low_latency, ..Settings::default() });
        let order = fill(&scheduler, counts);
        let mut left = counts;
        while scheduler.has_work() {
            let ready = scheduler.inner.borrow().queue.ready();
            order.borrow_mut().clear();
            scheduler.run();
            for class in Class::ALL {
                let ran = order.borrow().iter().filter(|found| **found == class).count() as u32;
                prop_assert_eq!(ran > 0, ready & 1 << class as u8 != 0);
                prop_assert!(class != Class::Heavy || ran <= 1);
                left[class as usize] -= ran;
            }
        }
        prop_assert_eq!(left, [0; class::COUNT]);
    }
}

#[test]
fn a_queue_is_cut_as_its_length_asks() {
    for (len, niced, depth) in [
        (0, 0, 200),
        (200, 0, 200),
        (201, 0, 101),
        (400, 0, 200),
        (401, 0, 200),
        (0, 1, 50),
        (80, 1, 41),
    ] {
        let scheduler = scheduler(Settings::default());
        fill(&scheduler, [0, len, 0, 0]);
        for _ in 0..niced {
            let id = scheduler.spawn(Class::Normal, std::future::pending());
            scheduler.run();
            scheduler.set_nice(id, 1);
            fill(&scheduler, [0, len, 0, 0]);
            scheduler.wake(id, Wake::IO);
        }
        let queue = &scheduler.inner.borrow().queue;
        assert_eq!(scheduler.round_depth(queue), depth, "{len} queued, {niced} niced");
    }
}

/// Urgent letters that never stop do not keep bulk work from running, nor bulk work urgent letters.
#[test]
fn low_latency_ends_a_round_for_a_letter_but_bulk_work_progresses() {
    let scheduler = scheduler(Settings { low_latency: true, ..Settings::default() });
    let urgent_turns = Rc::new(Cell::new(0));
    let (own, turns) = (scheduler.clone(), urgent_turns.clone());
    let urgent = scheduler.spawn(Class::Urgent, async move {
        loop {
            own.wait(None).await;
            turns.set(turns.get() + 1);
        }
    });
    scheduler.run();
    let mailbox = scheduler.mailbox().clone();
    for _ in 0..100 {
        let mailbox = mailbox.clone();
        scheduler.spawn(Class::Bulk, async move { mailbox.wake(urgent, Wake::IO) });
    }
    for round in 0..100u32 {
        assert_eq!(urgent_turns.get(), round.saturating_sub(1), "served in the round after");
        let ran = scheduler.run().ran;
        assert_eq!(ran, if round == 0 { 1 } else { 2 });
    }
}

/// In low-latency mode, heavy work is postponed by rounds that were long already, up to a limit.
#[test]
fn low_latency_postpones_heavy_work_up_to_a_limit() {
    for (low_latency, rounds) in [(false, 1), (true, round::MAX_POSTPONED + 1)] {
        let scheduler = scheduler(Settings { low_latency, ..Settings::default() });
        let order = fill(&scheduler, [0, 0, 0, 3]);
        for turn in 1..=3 {
            for _ in 1..rounds {
                assert!(scheduler.run_with(&|_| true, &|| false).more);
                assert_eq!(order.borrow().len(), turn - 1);
            }
            scheduler.run_with(&|_| true, &|| false);
            assert_eq!(order.borrow().len(), turn);
        }
        assert!(!scheduler.has_work());
    }
    let scheduler = scheduler(Settings { low_latency: true, ..Settings::default() });
    let order = fill(&scheduler, [0, 0, 0, 1]);
    scheduler.run_with(&|_| true, &|| false);
    scheduler.run_with(&|_| true, &|| true);
    assert_eq!(*order.borrow(), [Class::Heavy], "a short round takes it at once");
}

/// A scheduler on a foreign thread, which only unsafe code can bring about.
#[cfg(debug_assertions)]
#[test]
fn use_on_the_wrong_thread_is_caught_by_an_assertion() {
    struct Smuggled(Scheduler);
    // SAFETY: the assertions panic before anything is reached on the other thread.
    unsafe impl Send for Smuggled {}
    let mailbox = Arc::new(Mailbox::new(Box::new(NoAlarm)));
    let smuggled = Smuggled(Scheduler::new(Settings::default(), mailbox, Tick(0)));
    let other = move || {
        let smuggled = smuggled;
        let uses: [&dyn Fn(&Scheduler); 4] = [
            &|scheduler| scheduler.wake(TaskId::NONE, Wake::IO),
            &|scheduler| scheduler.kill(TaskId::NONE),
            &|scheduler| _ = scheduler.expire(Tick(0)),
            &|scheduler| _ = scheduler.run(),
        ];
        let caught = |used: &&dyn Fn(&Scheduler)| {
            let used = std::panic::AssertUnwindSafe(|| used(&smuggled.0));
            std::panic::catch_unwind(used).is_err()
        };
        uses.iter().filter(|used| caught(used)).count()
    };
    assert_eq!(std::thread::spawn(other).join().unwrap(), 4);
}
