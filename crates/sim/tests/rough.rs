//! Tests with a lossy network and peers that use all their freedom: every request is answered once
//! or counted as failed once, and nothing leaks.

mod support;

use balance::Algorithm::{LeastConn, RoundRobin};
use settings::Reuse;
use sim::Faults;
use sim::peers::ClientPlan;
use support::{Lab, assert_books, assert_lines, listen};

fn rough(seed: u64, clients: u64, requests: u32, wild: bool) -> Lab {
    let listens = vec![
        listen(RoundRobin, Reuse::Safe, 3),
        listen(LeastConn, Reuse::Always, 3).maxconn(4),
        listen(RoundRobin, Reuse::Never, 3).maxconn(3),
        listen(LeastConn, Reuse::Aggressive, 2),
    ];
    let mut lab = Lab::new(seed, 2, Faults::ROUGH, listens);
    lab.origins(3, |plan| if wild { plan.wild() } else { plan.varied() });
    lab.clients(clients, requests, |plan| {
        if wild { plan.wild() } else { ClientPlan { dribble: 50, ..plan } }
    });
    lab
}

/// Results of a run, for comparison.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    /// The hash of the run.
    trace: u64,
    sent: u64,
    answered: u64,
    /// Log lines that report a failure.
    failed: usize,
}

/// Runs to the end and checks everything.
fn run(seed: u64, clients: u64, requests: u32, wild: bool) -> Summary {
    let mut lab = rough(seed, clients, requests, wild);
    lab.until_finished();
    lab.until_quiet();
    assert_books(&lab);
    lab.assert_at_rest();
    lab.stop();
    let (tally, lines) = (lab.tally.borrow(), lab.lines());
    Summary {
        trace: lab.machine.trace_hash(),
        sent: tally.sent,
        answered: tally.answered,
        failed: lines.iter().filter(|line| !line.is_fine()).count(),
    }
}

/// The reference scenario of the data plane, also in debug builds: 100,000 requests, twice with the
/// same seed; and fewer with another.
#[test]
fn a_hundred_thousand_requests_twice_the_same() {
    let plans = [(1, 100), (1, 100), (2, 20)];
    let runs =
        plans.map(|(seed, clients)| std::thread::spawn(move || run(seed, clients, 1_010, false)));
    let [first, again, other] = runs.map(|run| run.join().unwrap());
    assert!(first.sent >= 100_000, "{first:?}");
    assert!(first.failed >= 100, "{first:?}");
    assert_eq!(first, again, "the same seed, another run");
    assert_ne!(first.trace, other.trace, "another seed, the same run");
}

#[test]
fn wild_clients_and_wild_origins() {
    for seed in 0..50 {
        run(seed, 10, 50, true);
    }
}

#[test]
fn a_soft_stop_lets_running_requests_finish() {
    for seed in 0..20 {
        let mut lab = rough(seed, 30, 50, false);
        let tally = lab.tally.clone();
        lab.until("half is done", support::LONG, |_| tally.borrow().answered > 700);
        lab.stop();
        assert_eq!(lab.shared.connections.current(), 0);
        assert_lines(&lab);
    }
}
