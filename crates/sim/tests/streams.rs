//! Tests of HTTP/2 on both sides: three listeners in a row, the middle one between two multiplexed
//! connections. Clients and origins speak HTTP/1 and check every byte.

mod support;

use balance::Algorithm::RoundRobin;
use settings::Reuse;
use sim::Faults;
use sim::faults::MS;
use sim::peers::{ClientPlan, OriginPlan};
use support::{Lab, Listen, front, listen};
use transport::h2::stats::Field;
use transport::stats::counters::Metric;

/// The first one's clients and the last one's servers speak HTTP/1.
fn chain(reuse: Reuse) -> Vec<Listen> {
    let link = |h2_front, h2_back, servers| Listen {
        h2_front,
        h2_back,
        ..listen(RoundRobin, reuse, servers)
    };
    vec![link(false, true, 1), link(true, true, 1), link(true, false, 3)]
}

/// Clients of the first listener.
fn clients(lab: &mut Lab, plan: impl Fn(ClientPlan) -> ClientPlan) {
    let to = reactor::Address::Inet(front(0));
    lab.clients(10, 30, |base| plan(ClientPlan { to: to.clone(), ..base }));
}

#[test]
fn streams_lose_nothing() {
    for (seed, reuse) in (0..12).zip([Reuse::Safe, Reuse::Always, Reuse::Never].iter().cycle()) {
        let mut lab = Lab::new(seed, 2, Faults::BUMPY, chain(*reuse));
        lab.origins(3, |plan| plan.varied());
        clients(&mut lab, |plan| ClientPlan { abandon: 0, close: 0, ..plan.wild() });
        lab.until_finished();
        lab.until_quiet();
        lab.assert_nothing_lost(seed);
        let bad: Vec<_> = lab.lines().iter().filter(|line| !line.is_fine()).cloned().collect();
        assert!(bad.is_empty(), "seed {seed}: {bad:#?}");
        assert_eq!(lab.lines().len() as u64, lab.front_sum(Metric::Requests), "seed {seed}");
        let middle = &lab.shared.proxies[1].h2;
        assert!(middle.front.get(Field::TotalStreams) > 250, "seed {seed}");
        assert!(middle.back.get(Field::TotalStreams) > 250, "seed {seed}");
        lab.assert_at_rest();
        lab.stop();
    }
}

#[test]
fn abandoned_streams_leak_nothing() {
    for seed in 100..112 {
        let mut lab = Lab::new(seed, 2, Faults::ROUGH, chain(Reuse::Always));
        lab.origins(3, |plan| plan.wild());
        clients(&mut lab, ClientPlan::wild);
        lab.until_finished();
        lab.until_quiet();
        let tally = lab.tally.borrow();
        assert!(tally.wrong.is_empty() && tally.doubled == 0, "seed {seed}: {tally:?}");
        drop(tally);
        lab.assert_at_rest();
        lab.stop();
    }
}

#[test]
fn safe_requests_outlive_the_connections_that_servers_close() {
    let mut retries = 0;
    for (seed, reuse) in (200..212).zip([Reuse::Safe, Reuse::Always, Reuse::Never].iter().cycle()) {
        let faults =
            if seed % 2 == 0 { Faults::BUMPY } else { Faults { latency: 2 * MS, ..Faults::NONE } };
        let mut lab = Lab::new(seed, 2, faults, chain(*reuse));
        // Most connections are closed at some moment after a response, unannounced.
        lab.origins(3, |plan| OriginPlan { delay: 2 * MS, close: 50, idle_close: 700, ..plan });
        clients(&mut lab, |plan| ClientPlan { post: 0, head: 100, think: 10 * MS, ..plan });
        lab.until_finished();
        lab.until_quiet();
        lab.assert_nothing_lost(seed);
        let bad: Vec<_> = lab.lines().iter().filter(|line| line.status != 200).cloned().collect();
        assert!(bad.is_empty(), "seed {seed}: {bad:#?}");
        assert_eq!(lab.tally.borrow().answered, 300, "seed {seed}");
        retries += lab.lines().iter().filter(|line| line.retries != "0").count();
        lab.stop();
    }
    assert!(retries > 100, "connections were closed under requests: {retries}");
}
