//! Latency of urgent work behind 100,000 queued bulk items, low-latency mode off and on (row B5).

use bench::{now, quantile, table};
use sched::{Class, Mailbox, NoAlarm, Scheduler, Settings, Wake};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use stdx::Tick;

const ITEMS: usize = 100_000;
const WAKES: usize = 3_000;
/// Duration of one bulk item.
const ITEM: Duration = Duration::from_micros(1);

fn spin(span: Duration) {
    let start = now();
    while start.elapsed() < span {}
}

/// Microseconds from a wake-up by another thread to the turn, sorted.
fn latencies(low_latency: bool) -> Vec<f64> {
    let mailbox = Arc::new(Mailbox::new(Box::new(NoAlarm)));
    let settings = Settings { low_latency, ..Settings::default() };
    let own = Rc::new(Scheduler::new(settings, mailbox.clone(), Tick(0)));
    for _ in 0..ITEMS {
        let bulk = own.clone();
        own.spawn(Class::Bulk, async move {
            loop {
                spin(ITEM);
                bulk.yield_as(Class::Bulk).await;
            }
        });
    }
    let origin = now();
    let sent = Arc::new(AtomicU64::new(0));
    let taken = Rc::new(RefCell::new(Vec::with_capacity(WAKES)));
    let (urgent, at, log) = (own.clone(), sent.clone(), taken.clone());
    let task = own.spawn(Class::Urgent, async move {
        loop {
            urgent.wait(None).await;
            let waited = origin.elapsed().as_nanos() as u64 - at.swap(0, Relaxed);
            log.borrow_mut().push(waited as f64 / 1e3);
        }
    });
    own.run();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let prng = stdx::Prng::new(1);
            while !stop.load(Relaxed) {
                sent.store(origin.elapsed().as_nanos() as u64, Relaxed);
                mailbox.wake(task, Wake::IO);
                while sent.load(Relaxed) != 0 && !stop.load(Relaxed) {
                    std::thread::yield_now();
                }
                // A random pause, to be out of step with the rounds.
                spin(Duration::from_micros(u64::from(prng.below(400))));
            }
        });
        while taken.borrow().len() < WAKES {
            own.run();
        }
        stop.store(true, Relaxed);
    });
    own.clear();
    let mut all = taken.take();
    all.sort_by(f64::total_cmp);
    all
}

pub(crate) fn print() {
    let rows: Vec<Vec<String>> = [("off", false), ("on", true)]
        .into_iter()
        .map(|(name, low_latency)| {
            let sorted = latencies(low_latency);
            let at = |fraction| format!("{:.1}", quantile(&sorted, fraction));
            vec![name.to_owned(), at(0.5), at(0.99), at(1.0)]
        })
        .collect();
    println!("{ITEMS} bulk items of 1 us queued; an urgent wake-up from another thread waits, us:");
    println!("{}", table(&["low latency", "p50", "p99", "max"], &rows));
}
