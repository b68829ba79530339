//! The workloads on Weir's scheduler.

use crate::{Figures, ROUNDS, TASKS, TURNS};
use bench::nanos_per_op;
use sched::profile::NoClock;
use sched::{
    Activity, Class, Clock, Mailbox, NoAlarm, Profiling, Scheduler, Settings, TaskId, Wake,
};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use stdx::Tick;

struct System;

impl Clock for System {
    fn nanos(&self) -> u64 {
        sys::clock::monotonic()
    }
}

fn scheduler(profiling: Profiling) -> Rc<Scheduler> {
    let clock: Box<dyn Clock> = match profiling {
        Profiling::Off => Box::new(NoClock),
        _ => Box::new(System),
    };
    let settings = Settings { profiling, ..Settings::default() };
    let mailbox = Arc::new(Mailbox::new(Box::new(NoAlarm)));
    let activity = Arc::new(Activity::default());
    Rc::new(Scheduler::with_counters(settings, mailbox, Tick(0), activity, clock))
}

fn drain(scheduler: &Scheduler) {
    while scheduler.has_work() {
        scheduler.run();
    }
}

pub(crate) fn figures(profiling: Profiling) -> Figures {
    Figures {
        name: if profiling == Profiling::Off { "weir" } else { "weir, profiled" },
        spawn: spawn(profiling),
        wake: wake(profiling),
        waker: waker(profiling),
        pace: pace(profiling),
        timer: timer(profiling),
    }
}

fn spawn(profiling: Profiling) -> f64 {
    let own = scheduler(profiling);
    nanos_per_op(ROUNDS, (TASKS * TURNS) as u64, || {
        for _ in 0..TURNS {
            for _ in 0..TASKS {
                own.spawn(Class::Normal, async {});
            }
            drain(&own);
        }
    })
}

/// Tasks that pause without end.
fn sleepers(own: &Rc<Scheduler>) -> Vec<TaskId> {
    let sleeper = |own: Rc<Scheduler>| async move {
        loop {
            own.wait(None).await;
        }
    };
    let all = (0..TASKS).map(|_| own.spawn(Class::Normal, sleeper(own.clone()))).collect();
    drain(own);
    all
}

fn wake(profiling: Profiling) -> f64 {
    let own = scheduler(profiling);
    let all = sleepers(&own);
    let nanos = nanos_per_op(ROUNDS, (TASKS * TURNS) as u64, || {
        for _ in 0..TURNS {
            for id in &all {
                own.wake(*id, Wake::IO);
            }
            drain(&own);
        }
    });
    own.clear();
    nanos
}

fn waker(profiling: Profiling) -> f64 {
    let own = scheduler(profiling);
    let wakers: Rc<RefCell<Vec<Waker>>> = Rc::default();
    let turns = Rc::new(Cell::new(0));
    for _ in 0..TASKS {
        let (mut told, wakers, turns) = (false, wakers.clone(), turns.clone());
        own.spawn(
            Class::Normal,
            poll_fn(move |context| {
                turns.set(turns.get() + 1);
                if !std::mem::replace(&mut told, true) {
                    wakers.borrow_mut().push(context.waker().clone());
                }
                Poll::Pending
            }),
        );
    }
    drain(&own);
    nanos_per_op(ROUNDS, (TASKS * TURNS) as u64, || {
        // From within a task, as with the other executors.
        let (driver, wakers, turns) = (own.clone(), wakers.clone(), turns.clone());
        own.spawn(Class::Normal, async move {
            for _ in 0..TURNS {
                let goal = turns.get() + TASKS;
                wakers.borrow().iter().for_each(Waker::wake_by_ref);
                while turns.get() < goal {
                    driver.yield_as(Class::Normal).await;
                }
            }
        });
        drain(&own);
    })
}

fn pace(profiling: Profiling) -> f64 {
    let own = scheduler(profiling);
    nanos_per_op(ROUNDS, (TASKS * TURNS) as u64, || {
        for _ in 0..TASKS {
            let pacer = own.clone();
            own.spawn(Class::Normal, async move {
                for _ in 0..TURNS {
                    pacer.yield_as(Class::Normal).await;
                }
            });
        }
        drain(&own);
    })
}

/// Each turn sets a deadline slightly later than the previous one, as a connection does.
fn timer(profiling: Profiling) -> f64 {
    let own = scheduler(profiling);
    let sleeper = |own: Rc<Scheduler>| async move {
        let mut deadline = 60_000;
        loop {
            own.wait(Some(Tick(deadline))).await;
            deadline += 1;
        }
    };
    let all: Vec<TaskId> =
        (0..TASKS).map(|_| own.spawn(Class::Normal, sleeper(own.clone()))).collect();
    drain(&own);
    let nanos = nanos_per_op(ROUNDS, (TASKS * TURNS) as u64, || {
        for turn in 0..TURNS {
            for id in &all {
                own.wake(*id, Wake::IO);
            }
            own.expire(Tick(turn as u32));
            drain(&own);
        }
    });
    own.clear();
    nanos
}
