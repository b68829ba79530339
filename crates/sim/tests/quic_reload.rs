//! Tests of reloads under HTTP/3: no process, whichever of them gets a datagram, loses a request,
//! and no process stays for clients that are gone.

mod support;

use balance::Algorithm::RoundRobin;
use settings::{QuicBind, QuicCongestion, Reuse, Timeouts};
use sim::Faults;
use sim::faults::MS;
use std::time::Duration;
use support::{H3Plan, Listen, ReloadLab, front, listen};

/// Clients of a run, and requests of each.
const CLIENTS: u64 = 5;
const REQUESTS: u32 = 10;

fn listener(always_retries: bool) -> Listen {
    let quic = QuicBind { congestion: QuicCongestion::Cubic, always_retries };
    let base = listen(RoundRobin, Reuse::Safe, 2);
    let timeouts = Timeouts {
        client: Some(60_000),
        http_request: Some(60_000),
        http_keep_alive: Some(60_000),
        server: Some(60_000),
        ..base.timeouts
    };
    Listen { timeouts, quic: Some(quic), ..base }
}

/// A machine with clients of HTTP/3 on a path.
fn lab(seed: u64, path: Faults, plan: fn(H3Plan) -> H3Plan) -> ReloadLab {
    // A client may get its Retry from one process and use it with the next.
    let mut lab = ReloadLab::new(seed, 2, Faults::NONE, &listener(seed % 2 == 1));
    lab.lab.machine.net().set_faults_of(reactor::Address::Inet(front(0)), path);
    lab.lab.origins(2, |plan| plan);
    lab.lab.h3_clients(CLIENTS, REQUESTS, plan);
    lab
}

/// A path on which packets are delayed.
fn slow() -> Faults {
    Faults { latency: 10 * MS, jitter: 10 * MS, ..Faults::NONE }
}

/// Runs to the end, at which every request was answered once.
#[track_caller]
fn finish(mut lab: ReloadLab, seed: u64) {
    lab.until("clients finish", Duration::from_secs(300), |lab| {
        lab.tally.borrow().finished == CLIENTS
    });
    let tally = lab.lab.tally.borrow();
    assert!(tally.wrong.is_empty() && tally.doubled == 0, "seed {seed}: {tally:#?}");
    let lost = tally.unanswered + tally.truncated + tally.timeouts;
    assert_eq!(lost, 0, "seed {seed}: {tally:#?}");
    assert_eq!(tally.answered, u64::from(REQUESTS) * CLIENTS, "seed {seed}: {tally:#?}");
}

#[test]
fn reloads_lose_no_request() {
    for seed in 0..6 {
        let path = Faults { loss: [0, 20][seed as usize % 2], reorder: 20, ..slow() };
        let mut lab = lab(seed, path, |plan| H3Plan { body: 20_000, ..plan });
        for _ in 0..6 {
            let span = lab.lab.machine.net().up_to(400);
            lab.pass(Duration::from_millis(span));
            lab.reload();
        }
        finish(lab, seed);
    }
}

/// The thread that reads what processes say to each other is slower than the others.
#[test]
fn a_slow_thread_resets_and_refuses_no_client_of_a_successor() {
    for seed in 0..8 {
        let mut lab = lab(seed, slow(), |plan| plan);
        // The first packets of clients are under way, or their requests.
        lab.pass(Duration::from_millis(seed * 10));
        lab.start_successor();
        lab.lab.machine.pause(&[0]);
        lab.pass(Duration::from_millis(40));
        lab.stop_older();
        lab.pass(Duration::from_millis(200));
        lab.lab.machine.pause(&[]);
        finish(lab, seed);
    }
}

/// A program that takes sockets over without a master may signal before it serves.
#[test]
fn a_process_that_stops_before_its_successor_serves_refuses_no_client() {
    for seed in 0..4 {
        let mut lab = lab(seed, slow(), |plan| plan);
        lab.stop_all();
        lab.pass(Duration::from_millis(300));
        lab.start_successor();
        finish(lab, seed);
    }
}

#[test]
fn a_process_that_ends_leaves_datagrams_of_older_ones_to_the_next() {
    for seed in 0..4 {
        let mut lab = lab(seed, slow(), |plan| H3Plan { body: 100_000, post: 1_000, ..plan });
        lab.pass(Duration::from_millis(200));
        lab.start_successor();
        lab.start_successor();
        lab.stop_older();
        lab.pass(Duration::from_millis(500));
        lab.reload();
        finish(lab, seed);
    }
}

#[test]
fn clients_that_are_gone_do_not_keep_a_process() {
    for seed in 0..4 {
        let vanishing = |plan| H3Plan { vanish: 100, body: 20_000, ..plan };
        let mut lab = lab(seed, slow(), vanishing);
        lab.pass(Duration::from_millis(300));
        lab.reload();
        // `timeout client` is a minute.
        lab.pass(Duration::from_secs(17));
        assert_eq!(lab.processes(), 1, "seed {seed}");
    }
}
