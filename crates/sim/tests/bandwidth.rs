//! Tests of bandwidth limits in virtual time: over a network that splits and delays, the payload is
//! whole, no stream is faster than its limit, and none waits longer than it must.

mod support;

use balance::Algorithm::RoundRobin;
use settings::Reuse;
use sim::Faults;
use sim::peers::ClientPlan;
use std::time::Duration;
use support::{Lab, Listen, listen};
use transport::stats::counters::Metric;

/// Bytes per second of a response.
const LIMIT: u64 = 20_000;
const CLIENTS: u64 = 20;
const REQUESTS: u32 = 4;
/// The largest body.
const BODY: u64 = 120_000;

#[test]
fn limited_responses_are_whole_and_keep_their_pace() {
    for seed in 0..6 {
        let faults = if seed == 0 { Faults::NONE } else { Faults::BUMPY };
        let listens =
            vec![Listen { bandwidth: Some(LIMIT as u32), ..listen(RoundRobin, Reuse::Safe, 2) }];
        let mut lab = Lab::new(seed, 2, faults, listens);
        lab.origins(2, |plan| sim::peers::OriginPlan { body: BODY, ..plan });
        lab.clients(CLIENTS, REQUESTS, |plan| ClientPlan { post: 0, ..plan });
        let start = lab.workers[0].thread.nanos();
        lab.until_finished();
        let span = Duration::from_nanos(lab.workers[0].thread.nanos() - start);
        lab.assert_nothing_lost(seed);
        let requests = CLIENTS * u64::from(REQUESTS);
        assert_eq!(lab.tally.borrow().answered as u64, requests, "seed {seed}");
        // Each response has one second's worth at once, and as much in each second that follows.
        let most = span.as_secs_f64() * (CLIENTS * LIMIT) as f64 + (requests * LIMIT) as f64;
        let sent = lab.front_sum(Metric::BytesOut);
        assert!(sent as f64 <= most * 1.02, "seed {seed}: {sent} bytes in {span:?}");
        // The slowest client waits for bodies of the largest size alone.
        let longest = u64::from(REQUESTS) * BODY / LIMIT;
        assert!(span < Duration::from_secs(longest + 10), "seed {seed}: {span:?}");
        assert!(span > Duration::from_secs(longest / 4), "seed {seed}: {span:?}");
        lab.until_quiet();
        lab.assert_at_rest();
        lab.stop();
    }
}
