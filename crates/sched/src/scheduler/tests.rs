//! Tests of the scheduler with tasks that log their runs.

use super::*;
use crate::mailbox::NoAlarm;
use std::rc::Rc;
use std::task::Poll;

fn scheduler(settings: Settings) -> Rc<Scheduler> {
    Rc::new(Scheduler::new(settings, Arc::new(Mailbox::new(Box::new(NoAlarm))), Tick(0)))
}

type Log = Rc<RefCell<Vec<(u32, Wake)>>>;

/// A task that logs its name and reasons at each wake-up, without end.
fn logger(scheduler: &Rc<Scheduler>, name: u32, log: &Log) -> TaskId {
    let (own, log) = (scheduler.clone(), log.clone());
    scheduler.spawn(Class::Normal, async move {
        loop {
            log.borrow_mut().push((name, own.reasons()));
            own.wait(None).await;
        }
    })
}

#[test]
fn wakes_carry_their_reasons_and_merge() {
    let (scheduler, log) = (scheduler(Settings::default()), Log::default());
    let id = logger(&scheduler, 1, &log);
    scheduler.run();
    scheduler.wake(id, Wake::IO);
    scheduler.wake(id, Wake::MESSAGE);
    assert_eq!(scheduler.run(), Round { ran: 1, more: false });
    assert_eq!(*log.borrow(), [(1, Wake::INIT), (1, Wake::IO | Wake::MESSAGE)]);
}

#[test]
fn deadlines_fire_once_and_can_move_later() {
    let scheduler = scheduler(Settings::default());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (own, log) = (scheduler.clone(), seen.clone());
    let id = scheduler.spawn(Class::Normal, async move {
        for deadline in [Some(Tick(100)), Some(Tick(300)), None] {
            let woken = own.wait(deadline).await;
            log.borrow_mut().push(woken);
        }
    });
    scheduler.run();
    assert_eq!(scheduler.next_expiry(), Some(Tick(100)));
    scheduler.wake(id, Wake::IO);
    scheduler.run();
    assert_eq!((scheduler.expire(Tick(200)), scheduler.run().ran), (1, 0), "moved to 300");
    assert_eq!((scheduler.expire(Tick(300)), scheduler.run().ran), (1, 1));
    assert_eq!(*seen.borrow(), [Wake::IO, Wake::TIMER]);
    assert_eq!((scheduler.timers(), scheduler.next_expiry()), (0, None));
    scheduler.wake(id, Wake::OTHER);
    scheduler.run();
    assert_eq!(scheduler.tasks(), 0);
}

#[test]
fn urgent_goes_first_and_bulk_and_heavy_are_bounded() {
    let scheduler = scheduler(Settings { depth: 129, low_latency: false, ..Settings::default() });
    let order = Rc::new(RefCell::new(Vec::new()));
    for class in [Class::Heavy, Class::Bulk, Class::Normal, Class::Urgent] {
        for _ in 0..500 {
            let order = order.clone();
            scheduler.spawn(class, async move { order.borrow_mut().push(class) });
        }
    }
    assert_eq!(scheduler.run(), Round { ran: 129, more: true });
    let order = order.borrow();
    assert!(order.is_sorted(), "most urgent first");
    let count = |class| order.iter().filter(|found| **found == class).count();
    assert_eq!([64, 48, 16, 1], Class::ALL.map(count));
}

#[test]
fn low_latency_returns_to_urgent_work_at_once() {
    for (low_latency, place) in [(false, 2), (true, 1)] {
        let scheduler = scheduler(Settings { depth: 200, low_latency, ..Settings::default() });
        let log = Log::default();
        let urgent = logger(&scheduler, 0, &log);
        scheduler.run();
        log.borrow_mut().clear();
        for name in 1..=2 {
            let (own, log) = (scheduler.clone(), log.clone());
            scheduler.spawn(Class::Bulk, async move {
                log.borrow_mut().push((name, Wake::empty()));
                own.wake(urgent, Wake::IO);
            });
        }
        scheduler.wake(urgent, Wake::IO);
        while scheduler.run().more {}
        let names: Vec<u32> = log.borrow().iter().map(|(name, _)| *name).collect();
        assert_eq!(names[0..2], [0, 1]);
        assert_eq!(names[1 + place], 0, "{names:?}");
    }
}

#[test]
fn a_yield_decides_the_class_even_after_a_wake() {
    let scheduler = scheduler(Settings::default());
    let steps = Rc::new(Cell::new(0));
    let (own, count) = (scheduler.clone(), steps.clone());
    scheduler.spawn(Class::Normal, async move {
        own.wake(own.current(), Wake::IO);
        own.yield_as(Class::Heavy).await;
        count.set(count.get() + 1);
    });
    while scheduler.run().more {}
    assert_eq!((steps.get(), scheduler.tasks()), (1, 0));
}

#[test]
fn kill_drops_once_whatever_the_state() {
    struct Guard(Rc<Cell<u32>>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let scheduler = scheduler(Settings::default());
    let drops = Rc::new(Cell::new(0));
    let spawn = |kill_self: bool| {
        let (own, guard) = (scheduler.clone(), Guard(drops.clone()));
        scheduler.spawn(Class::Normal, async move {
            let _guard = guard;
            if kill_self {
                own.kill(own.current());
            }
            own.wait(None).await;
        })
    };
    let (never_ran, _suicide) = (spawn(false), spawn(true));
    scheduler.kill(never_ran);
    scheduler.kill(never_ran);
    while scheduler.run().more {}
    assert_eq!((drops.get(), scheduler.tasks()), (2, 0));
    let (asleep, queued) = (spawn(false), spawn(false));
    scheduler.run();
    scheduler.wake(queued, Wake::IO);
    scheduler.mailbox().kill(asleep);
    scheduler.mailbox().kill(queued);
    while scheduler.run().more {}
    assert_eq!((drops.get(), scheduler.tasks(), scheduler.has_work()), (4, 0, false));
    scheduler.kill(asleep);
    scheduler.wake(asleep, Wake::IO);
    assert!(!scheduler.has_work(), "a dead name does nothing");
}

#[test]
fn a_panic_kills_its_task_only() {
    let (scheduler, log) = (scheduler(Settings::default()), Log::default());
    scheduler.spawn(Class::Normal, async { panic!("planted") });
    logger(&scheduler, 1, &log);
    scheduler.run();
    assert_eq!((scheduler.panics(), scheduler.tasks(), log.borrow().len()), (1, 1, 1));
}

#[test]
fn a_foreign_waker_wakes_from_another_thread() {
    let scheduler = scheduler(Settings::default());
    let done = Rc::new(Cell::new(false));
    let (sender, receiver) = std::sync::mpsc::channel();
    let flag = done.clone();
    let mut polls = 0;
    scheduler.spawn(Class::Normal, async move {
        std::future::poll_fn(|context| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            sender.send(context.waker().clone()).unwrap();
            Poll::Pending
        })
        .await;
        flag.set(true);
    });
    scheduler.run();
    std::thread::spawn(move || receiver.recv().unwrap().wake()).join().unwrap();
    assert!(scheduler.has_work());
    scheduler.run();
    assert!(done.get());
}

#[test]
fn round_depth_cuts_a_slightly_longer_queue_in_halves() {
    for (queued, ran) in [(100, 100), (200, 200), (300, 150), (400, 200), (500, 200)] {
        let scheduler =
            scheduler(Settings { depth: 200, low_latency: false, ..Settings::default() });
        for _ in 0..queued {
            scheduler.spawn(Class::Normal, async {});
        }
        assert_eq!(scheduler.run().ran, ran);
    }
    let scheduler = scheduler(Settings { depth: 200, low_latency: false, ..Settings::default() });
    let log = Log::default();
    let niced = logger(&scheduler, 1, &log);
    scheduler.run();
    scheduler.set_nice(niced, 5);
    scheduler.wake(niced, Wake::IO);
    for _ in 0..100 {
        scheduler.spawn(Class::Normal, async {});
    }
    assert_eq!(scheduler.run().ran, 50, "a quarter of the depth with niced tasks");
}

#[test]
fn clear_drops_all_tasks_even_those_that_call_back() {
    let (scheduler, log) = (scheduler(Settings::default()), Log::default());
    for name in 0..10 {
        logger(&scheduler, name, &log);
    }
    scheduler.run();
    scheduler.clear();
    assert_eq!((scheduler.tasks(), Rc::strong_count(&scheduler)), (0, 1));
}

#[test]
fn bulk_transfers_let_starting_tasks_run_first() {
    let (scheduler, log) = (scheduler(Settings::default()), Log::default());
    let (own, turns) = (scheduler.clone(), log.clone());
    let carrier = scheduler.spawn(Class::Normal, async move {
        for carries_on in [true, false, true] {
            if carries_on {
                own.next_wake_as_bulk();
            }
            own.wait(None).await;
            turns.borrow_mut().push((1, own.reasons()));
        }
    });
    let beginner = logger(&scheduler, 2, &log);
    scheduler.run();
    log.borrow_mut().clear();
    for _ in 0..2 {
        scheduler.wake(carrier, Wake::IO);
        scheduler.wake(beginner, Wake::IO);
        scheduler.run();
    }
    // The request holds for one wait only.
    let names: Vec<_> = log.borrow().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [2, 1, 1, 2]);
}

#[test]
fn only_input_wakes_a_task_as_heavy_work() {
    let (scheduler, log) = (scheduler(Settings::default()), Log::default());
    for name in 0..3 {
        let (own, turns) = (scheduler.clone(), log.clone());
        scheduler.spawn(Class::Normal, async move {
            for labours in [true, true, false] {
                if labours {
                    own.next_wake_as_heavy();
                }
                own.wait(None).await;
                turns.borrow_mut().push((name, own.reasons()));
            }
        });
    }
    scheduler.run();
    let ran = |reason| {
        scheduler.wake_all(reason);
        let ran = scheduler.run().ran;
        while scheduler.run().ran > 0 {}
        ran
    };
    // One per round; a wake-up without input is not heavy work, and its reasons say so.
    assert_eq!([ran(Wake::IO), ran(Wake::IO | Wake::OTHER), ran(Wake::IO)], [1, 3, 3]);
    let reasons: Vec<_> = log.borrow().iter().map(|(_, reasons)| *reasons).collect();
    let other = Wake::IO | Wake::OTHER;
    assert_eq!(reasons, [[Wake::IO; 3], [other; 3], [Wake::IO; 3]].concat());
}

#[test]
fn input_after_the_deadline_does_not_wake_as_heavy_work() {
    let (scheduler, log) = (scheduler(Settings::default()), Log::default());
    let (own, turns) = (scheduler.clone(), log.clone());
    let task = scheduler.spawn(Class::Normal, async move {
        own.next_wake_as_heavy();
        own.wait(Some(Tick(5))).await;
        turns.borrow_mut().push((1, own.reasons()));
    });
    scheduler.run();
    scheduler.expire(Tick(9));
    scheduler.wake(task, Wake::IO);
    scheduler.run();
    assert_eq!(*log.borrow(), [(1, Wake::IO | Wake::TIMER)]);
    assert_eq!(scheduler.activity().ran[Class::Heavy as usize].get(), 0);
}

#[test]
fn a_round_of_bulk_work_alone_is_short() {
    let scheduler = scheduler(Settings::default());
    for _ in 0..1_000 {
        scheduler.spawn(Class::Bulk, async {});
    }
    assert_eq!(scheduler.run(), Round { ran: 50, more: true });
    scheduler.spawn(Class::Urgent, async {});
    assert_eq!(
        scheduler.run(),
        Round { ran: 41, more: true },
        "a fifth of 200, and the urgent one"
    );
}
