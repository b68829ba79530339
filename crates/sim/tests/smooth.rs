//! Tests with a network that delays, splits and shortens, but loses nothing: all requests succeed.

mod support;

use balance::Algorithm::{LeastConn, RoundRobin};
use settings::Reuse;
use sim::Faults;
use support::{Lab, listen};
use transport::stats::counters::Metric;

#[test]
fn no_request_fails_without_losses() {
    for seed in 0..12 {
        let listens = vec![
            listen(RoundRobin, Reuse::Safe, 3),
            listen(LeastConn, Reuse::Always, 3),
            listen(RoundRobin, Reuse::Never, 3),
        ];
        let mut lab = Lab::new(seed, 2, Faults::BUMPY, listens);
        lab.origins(3, |plan| plan.varied());
        lab.clients(12, 40, |plan| sim::peers::ClientPlan { abandon: 0, close: 0, ..plan.wild() });
        lab.until_finished();
        lab.until_quiet();
        lab.assert_nothing_lost(seed);
        let tally = lab.tally.borrow();
        assert_eq!(tally.unanswered + tally.answered, 480, "seed {seed}: {tally:?}");
        let lines = lab.lines();
        let bad: Vec<_> = lines.iter().filter(|line| !line.is_fine()).collect();
        assert!(bad.is_empty(), "seed {seed}: {bad:#?}");
        assert_eq!(lines.len() as u64, lab.front_sum(Metric::Requests), "seed {seed}");
        drop((tally, lines));
        lab.assert_at_rest();
        lab.stop();
    }
}
