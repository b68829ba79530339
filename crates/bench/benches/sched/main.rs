//! `cargo xtask bench sched`: costs of the scheduler, beside tokio and smol on the same workload.

mod depth;
mod hogs;
mod peers;
mod remote;
mod shared;
mod weir;

use bench::table;

/// Tasks that are spawned or woken or yield together.
const TASKS: usize = 1_000;
/// Turns of each task.
const TURNS: usize = 200;
/// Number of runs, of which the best one counts.
const ROUNDS: u32 = 7;

/// Results of one executor in nanoseconds per operation; NaN for operations that it lacks.
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
