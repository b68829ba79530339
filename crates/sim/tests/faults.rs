//! Tests of peers that close, hang, stop or send garbage at known requests: the log line names the
//! side and the phase, complete bodies are correct, and nothing leaks.
//!
//! `cargo xtask soak` runs the long form: a day of virtual time.

mod support;

use balance::Algorithm::{LeastConn, RoundRobin};
use settings::Reuse;
use sim::Faults;
use sim::faults::SEC;
use sim::peers::{ClientPlan, PeerFault};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::{Lab, Line, assert_books, listen};

/// The network loses nothing, so every failure is a peer's.
fn run(seed: u64, think: u64) -> Duration {
    let listens = vec![
        listen(RoundRobin, Reuse::Never, 3),
        listen(LeastConn, Reuse::Never, 3).maxconn(4),
        listen(RoundRobin, Reuse::Never, 3).maxconn(3),
    ];
    let faults = if seed.is_multiple_of(2) { Faults::BUMPY } else { Faults::NONE };
    let mut lab = Lab::new(seed, 2, faults, listens);
    lab.origins(3, |plan| plan.faulty());
    lab.clients(9, 40, |plan| ClientPlan {
        pipeline: 1,
        post: 400,
        body: 20_000,
        head: 50,
        close: 100,
        dribble: 200,
        abandon: 30,
        stall: 15,
        think,
        ..plan
    });
    lab.until_finished();
    let active = Duration::from_nanos(lab.machine.net().now());
    lab.until_quiet();
    assert_books(&lab);
    assert_endings(&lab);
    lab.assert_at_rest();
    lab.stop();
    active
}

/// Each log line agrees with the fault of its request; without a fault it reports success.
#[track_caller]
fn assert_endings(lab: &Lab) {
    let (tally, lines, seed) = (lab.tally.borrow(), lab.lines(), lab.machine.world().seed());
    for line in lines.iter() {
        let Some(id) = line.id else {
            // Not parsed: the client stopped or closed within its head.
            assert!(matches!(&*line.ending, "CR" | "cR"), "seed {seed}: {line:?}");
            continue;
        };
        let (origin, client) = (tally.spoilt.get(&id), tally.given_up.get(&id));
        // A client with an early response may close, also within its request.
        let early = tally.early.contains(&id);
        let agrees = agrees(line, (origin, client)) || (early && left(line));
        assert!(agrees, "seed {seed}: {line:?} after {origin:?} and {client:?}, early: {early}");
    }
}

fn agrees(line: &Line, (origin, client): (Option<&PeerFault>, Option<&PeerFault>)) -> bool {
    let by_origin = match origin {
        None => false,
        Some(PeerFault::Silent) => line.ending == "SH",
        // Without a length, the received bytes may be the whole response.
        Some(PeerFault::Cut) => matches!(&*line.ending, "SH" | "SD" | "--"),
        Some(PeerFault::Hung) => matches!(&*line.ending, "sH" | "sD"),
        Some(PeerFault::Garbage) => line.ending == "PH",
        Some(other) => unreachable!("no origin does {other:?}"),
    };
    let by_client = match client {
        None => false,
        // A client that is slow within the framing of a body also keeps the server waiting.
        Some(PeerFault::Left) => left(line) || line.ending == "sH",
        // While a response is expected from the server, its timeout applies.
        Some(_) => matches!(&*line.ending, "cR" | "cD" | "sH"),
    };
    match (origin, client) {
        (None, None) => line.is_fine(),
        _ => by_origin || by_client,
    }
}

/// The client closed: the response may have been complete, or not begun.
fn left(line: &Line) -> bool {
    line.is_fine() || line.ending.starts_with('C')
}

#[test]
fn log_lines_name_the_side_at_fault() {
    for seed in 0..20 {
        run(seed, 3 * sim::faults::MS);
    }
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A day of virtual time over a thousand seeds, or `WEIR_SOAK_SEEDS`, from `WEIR_SOAK_FROM` on.
#[test]
#[ignore = "minutes of work: cargo xtask soak"]
fn a_simulated_day() {
    let (seeds, from) = (number("WEIR_SOAK_SEEDS", 1_000), number("WEIR_SOAK_FROM", 1_000));
    let (next, active) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds {
                        return;
                    }
                    let span = run(from + number, 3 * SEC);
                    active.fetch_add(span.as_secs(), Ordering::Relaxed);
                }
            });
        }
    });
    let hours = active.into_inner() as f64 / 3_600.0;
    assert!(hours * 1_000.0 >= 24.0 * seeds as f64, "only {hours:.1} hours over {seeds} seeds");
}
