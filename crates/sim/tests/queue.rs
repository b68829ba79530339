//! A server with `maxconn`: the others wait in order, and everybody gets a turn.

mod support;

use balance::Algorithm::{self, LeastConn, RoundRobin};
use proxy::settings::Reuse;
use sim::Faults;
use sim::faults::{MS, SEC};
use sim::peers::ClientPlan;
use support::{Lab, Listen, listen};

/// Patient in queues.
fn limited(algorithm: Algorithm, maxconn: u32) -> Listen {
    let mut listen = listen(algorithm, Reuse::Always, 1).maxconn(maxconn);
    listen.timeouts.queue = Some(300_000);
    listen
}

fn run(seed: u64, faults: Faults, listen: Listen, plan: impl Fn(ClientPlan) -> ClientPlan) -> Lab {
    let mut lab = Lab::new(seed, 2, faults, vec![listen]);
    lab.origins(1, |plan| sim::peers::OriginPlan { delay: 40 * MS, ..plan });
    lab.clients(60, 10, |base| ClientPlan { patience: 600 * SEC, ..plan(base) });
    lab.until_finished();
    lab.until_quiet();
    lab.assert_at_rest();
    lab
}

/// `balance roundrobin` finds all servers full and queues in the backend; `leastconn` picks a
/// server and queues there.
const BOTH: [Algorithm; 2] = [RoundRobin, LeastConn];

#[test]
fn a_server_never_gets_more_than_its_maxconn_and_nobody_starves() {
    for (seed, algorithm) in (0..8).flat_map(|seed| BOTH.map(|algorithm| (seed, algorithm))) {
        // Pipelined requests wake those who wait, again and again, for nothing.
        let pipelining = |plan| ClientPlan { pipeline: 3, dribble: 300, think: 20 * MS, ..plan };
        let mut lab = run(seed, Faults::BUMPY, limited(algorithm, 3), pipelining);
        let tally = lab.tally.borrow();
        assert_eq!(tally.answered, 600, "seed {seed}: {tally:?}");
        assert_eq!(tally.busiest, 3, "seed {seed}");
        let longest = lab.lines().iter().map(|line| line.waited).max().unwrap();
        // 60 before it, three at a time, none of them longer than 100 ms or so.
        assert!((300..4_000).contains(&longest), "seed {seed} {algorithm:?}: {longest} ms");
        drop(tally);
        lab.stop();
    }
}

#[test]
fn a_queue_drains_in_order() {
    for (seed, algorithm) in (0..8).flat_map(|seed| BOTH.map(|algorithm| (seed, algorithm))) {
        // One request per connection, all at about the same time, over equal ways: ports tell who
        // came first, and one place at the server tells whose turn came first.
        let once = |plan| ClientPlan { think: 30 * MS, post: 0, close: 1_000, ..plan };
        let lab = run(seed, Faults::NONE, limited(algorithm, 1), once);
        let lines = lab.lines();
        assert_eq!(lines.len(), 600);
        assert!(lines.iter().filter(|line| line.queues != (0, 0)).count() > 400);
        let first: Vec<_> = lines.iter().take(60).map(|line| line.port).collect();
        assert!(first.is_sorted(), "seed {seed} {algorithm:?}: {first:?}");
    }
}

#[test]
fn who_waits_too_long_is_told_so_and_counted() {
    let mut listen = limited(RoundRobin, 1);
    listen.timeouts.queue = Some(200);
    let lab = run(1, Faults::NONE, listen, |plan| ClientPlan { think: MS, ..plan });
    support::assert_books(&lab);
    let lines = lab.lines();
    let late = lines.iter().filter(|line| line.ending == "sQ" && line.status == 503).count();
    assert!(late > 100, "{late}");
    assert_eq!(lab.tally.borrow().foreign[5], late as u64);
}

#[test]
fn who_is_bound_to_a_server_and_who_is_not_take_turns() {
    for seed in 0..8 {
        let mut listen = limited(RoundRobin, 1);
        listen.cookies = true;
        let mut lab = Lab::new(seed, 2, Faults::NONE, vec![listen]);
        lab.origins(1, |plan| sim::peers::OriginPlan { delay: 40 * MS, ..plan });
        // By turns in the server's queue and in the backend's, at about the same time.
        for number in 0..60 {
            let bound = if number % 2 == 0 { "cookie: C=s0\r\n" } else { "" };
            let base = |plan| ClientPlan { think: 30 * MS, post: 0, close: 1_000, ..plan };
            lab.clients(1, 3, |plan| ClientPlan {
                patience: 600 * SEC,
                extra: bound.into(),
                ..base(plan)
            });
        }
        lab.until_finished();
        lab.until_quiet();
        lab.assert_at_rest();
        let lines = lab.lines();
        let queued = |which: fn(&(u32, u32)) -> u32| {
            lines.iter().filter(|line| which(&line.queues) > 0).count()
        };
        assert!(queued(|it| it.0) > 50 && queued(|it| it.1) > 50, "seed {seed}: both queues");
        let first: Vec<_> = lines.iter().take(60).map(|line| line.port).collect();
        assert!(first.is_sorted(), "seed {seed}: {first:?}");
    }
}
