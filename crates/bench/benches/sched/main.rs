//! `cargo xtask bench sched`: what the scheduler costs, beside tokio and smol on the same workload.
//! Never part of the product.

mod depth;
mod hogs;
mod peers;
mod remote;
mod shared;
mod weir;

use bench::table;

/// Tasks that are spawned, woken or that yield together.
const TASKS: usize = 1_000;
/// How often each of them does.
const TURNS: usize = 200;
/// Runs, of which the best counts.
const ROUNDS: u32 = 7;

/// One executor's figures, in nanoseconds per operation; NaN where it has no such thing.
struct Figures {
    name: &'static str,
    spawn: f64,
    wake: f64,
    waker: f64,
    pace: f64,
    timer: f64,
}

impl Figures {
    fn row(&self) -> Vec<String> {
        let cells = [self.spawn, self.wake, self.waker, self.pace, self.timer];
        let text = |nanos: &f64| if nanos.is_nan() { "-".into() } else { format!("{nanos:.1}") };
        std::iter::once(self.name.to_owned()).chain(cells.iter().map(text)).collect()
    }
}

fn main() {
    let figures = [
        weir::figures(sched::Profiling::Off),
        weir::figures(sched::Profiling::On),
        peers::tokio_current(),
        peers::tokio_multi(),
        peers::smol_local(),
        peers::smol_shared(),
    ];
    println!("nanoseconds per operation, {TASKS} tasks, one thread waking itself:");
    let head = ["executor", "spawn+end", "wake+run", "std waker+run", "yield", "timer+wake+run"];
    let rows: Vec<Vec<String>> = figures.iter().map(Figures::row).collect();
    println!("{}", table(&head, &rows));
    if std::env::args().any(|word| word == "costs") {
        return;
    }
    remote::print();
    hogs::print();
    depth::print();
    shared::print();
}
