//! `cargo xtask bench sched`: what spawning, waking and running a task costs.
//! Never part of the product.

use bench::{nanos_per_op, table};
use sched::{Alarm, Class, Mailbox, Scheduler, Settings};
use std::sync::Arc;
use stdx::Tick;

struct Silent;

impl Alarm for Silent {
    fn ring(&self) {}
}

const TASKS: u64 = 100_000;

fn scheduler() -> Scheduler {
    Scheduler::new(
        Settings::default(),
        Arc::new(Mailbox::new(Box::new(Silent))),
        Tick::from_nanos(0),
    )
}

fn drain(scheduler: &Scheduler) {
    while scheduler.has_work() {
        scheduler.run();
    }
}

fn main() {
    let own = scheduler();
    let spawn = nanos_per_op(5, TASKS, || {
        for _ in 0..TASKS {
            own.spawn(Class::Normal, async {});
        }
        drain(&own);
    });
    let rows = vec![vec!["spawn, run, end".to_owned(), format!("{spawn:.1}")]];
    print!("{}", table(&["operation", "weir ns"], &rows));
}
