//! Cost of a counter that every thread writes, beside one per thread (row B8).

use bench::{now, table};
use sched::Activity;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

const COUNTS: u64 = 20_000_000;

/// Nanoseconds per increment when `threads` threads count at once.
fn time(threads: usize, count: impl Fn(usize) + Send + Sync) -> f64 {
    let start = Barrier::new(threads);
    let longest = std::thread::scope(|scope| {
        let work = |thread| {
            let (start, count) = (&start, &count);
            scope.spawn(move || {
                start.wait();
                let begun = now();
                (0..COUNTS).for_each(|_| count(thread));
                begun.elapsed()
            })
        };
        let all: Vec<_> = (0..threads).map(work).collect();
        all.into_iter().map(|thread| thread.join().expect("it counted")).max()
    });
    longest.map_or(f64::NAN, |longest| longest.as_nanos() as f64 / COUNTS as f64)
}

pub(crate) fn print() {
    let rows: Vec<Vec<String>> = [1, 2]
        .into_iter()
        .map(|threads| {
            let own: Vec<Arc<Activity>> = (0..threads).map(|_| Arc::default()).collect();
            let shared = AtomicU64::new(0);
            let apart = time(threads, |thread| own[thread].letters.add(1));
            let together = time(threads, |_| _ = shared.fetch_add(1, Relaxed));
            vec![threads.to_string(), format!("{apart:.2}"), format!("{together:.2}")]
        })
        .collect();
    println!("one count, ns:");
    println!("{}", table(&["threads", "own counter", "shared counter"], &rows));
}
