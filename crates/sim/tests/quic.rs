//! Tests of HTTP/3 over networks that lose, delay, duplicate, reorder and limit datagrams, clear
//! their ECN bits and give clients new ports: every request is answered once, and nothing is left.
//!
//! `cargo xtask soak` runs more seeds.

mod support;

use balance::Algorithm::RoundRobin;
use settings::{QuicBind, QuicCongestion, Reuse, Timeouts};
use sim::Faults;
use sim::faults::{MS, US};
use std::sync::atomic::{AtomicU64, Ordering};
use stdx::Prng;
use support::{H3Plan, Lab, Listen, front, listen};
use transport::stats::counters::Metric;

/// Clients of a run, and requests of each.
const CLIENTS: u64 = 3;
const REQUESTS: u32 = 8;
/// Chance of loss in 1000 up to which no connection dies of it.
const BEARABLE: u16 = 50;

/// A random element of a list.
fn one<T: Copy>(random: &Prng, of: &[T]) -> T {
    of[random.below(of.len() as u32) as usize]
}

/// The path between clients and listener.
fn path(random: &Prng) -> Faults {
    let latency = one(random, &[100 * US, MS, 20 * MS, 100 * MS]);
    Faults {
        latency,
        jitter: one(random, &[0, 0, latency / 10, latency]),
        loss: one(random, &[0, 0, 10, 50, 100, 200, 300]),
        duplicate: one(random, &[0, 0, 20, 200]),
        reorder: one(random, &[0, 0, 20, 200]),
        mtu: one(random, &[65_507, 1_500]),
        path_mtu: one(random, &[1_200, 1_252, 1_350, 1_472, 9_000]),
        bleach: one(random, &[0, 0, 100, 1_000]),
        congested: one(random, &[0, 0, 50]),
        short_read: one(random, &[0, 300]),
        ..Faults::NONE
    }
}

fn listener(random: &Prng) -> Listen {
    let quic = QuicBind {
        congestion: one(random, &[QuicCongestion::Cubic, QuicCongestion::NewReno]),
        always_retries: random.below(4) == 0,
    };
    let base = listen(RoundRobin, Reuse::Safe, 2);
    let timeouts = Timeouts {
        client: Some(60_000),
        http_request: Some(60_000),
        http_keep_alive: Some(20_000),
        server: Some(60_000),
        ..base.timeouts
    };
    Listen { timeouts, quic: Some(quic), ..base }
}

/// A run to the end.
fn run(seed: u64, change: fn(H3Plan) -> H3Plan) -> Lab {
    let random = Prng::new(seed);
    let mut lab = Lab::new(seed, 2, Faults::BUMPY, vec![listener(&random)]);
    let path = path(&random);
    lab.machine.net().set_faults_of(reactor::Address::Inet(front(0)), path);
    lab.origins(2, |plan| plan);
    let (id_len, mtu) = (one(&random, &[0, 4, 8, 20]), one(&random, &[1_200, 1_472, 9_000]));
    let rebind = one(&random, &[0, 0, 5, 50]);
    let (streams, body) = (one(&random, &[1, 4, 100]), one(&random, &[100, 10_000, 100_000]));
    lab.h3_clients(CLIENTS, REQUESTS, |plan| {
        change(H3Plan { id_len, mtu, rebind, streams, body, ..plan })
    });
    lab.until_finished();
    lab.until_quiet();
    assert_books(&lab, seed, path);
    lab.assert_at_rest();
    lab.stop();
    lab
}

/// Every request has ended in one way; none is lost on a path that loses little.
#[track_caller]
fn assert_books(lab: &Lab, seed: u64, path: Faults) {
    let (tally, lines) = (lab.tally.borrow(), lab.lines());
    assert!(tally.wrong.is_empty() && tally.doubled == 0, "seed {seed}: {tally:#?}");
    let lost = tally.unanswered + tally.truncated;
    assert_eq!(tally.answered + lost + tally.abandoned, tally.sent, "seed {seed}: {tally:#?}");
    let bears = path.loss <= BEARABLE;
    assert!(!bears || lost + tally.timeouts == 0, "seed {seed}: {path:?} {tally:?}");
    assert_eq!(lines.len() as u64, lab.front_sum(Metric::Requests), "seed {seed}");
    for (id, status) in &tally.answers {
        let of = lines.iter().filter(|line| line.id == Some(*id)).collect::<Vec<_>>();
        let fine = of.len() == 1 && of[0].status == i32::from(*status) && of[0].is_fine();
        assert!(fine, "seed {seed}: {id} got {status}: {of:?}");
    }
}

fn faithful(seed: u64) {
    let lab = run(seed, |plan| plan);
    assert_eq!(lab.tally.borrow().abandoned, 0);
}

fn fickle(seed: u64) {
    run(seed, |plan| H3Plan { abandon: 200, vanish: 20, ..plan });
}

/// Runs a test for many seeds, on as many threads as there are processors.
fn for_seeds(seeds: std::ops::Range<u64>, test: fn(u64)) {
    let next = AtomicU64::new(seeds.start);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    test(seed);
                }
            });
        }
    });
}

#[test]
fn every_request_is_answered_once_in_any_network() {
    for_seeds(0..200, faithful);
}

#[test]
fn clients_that_abandon_requests_or_vanish_leave_nothing_behind() {
    for_seeds(200..260, fickle);
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Ten thousand seeds, or `WEIR_SOAK_SEEDS`, from `WEIR_SOAK_FROM` on.
#[test]
#[ignore = "minutes of work: cargo xtask soak"]
fn all_requests_are_answered_for_all_seeds() {
    let (seeds, from) = (number("WEIR_SOAK_SEEDS", 10_000), number("WEIR_SOAK_FROM", 1_000));
    for_seeds(from..from + seeds, |seed| if seed % 3 == 0 { fickle(seed) } else { faithful(seed) });
}
