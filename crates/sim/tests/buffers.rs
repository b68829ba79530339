//! A test of a process with very few buffers: requests wait for them, and all are served.

mod support;

use balance::Algorithm::RoundRobin;
use settings::memory::BufferLimit;
use settings::{Process, Reuse};
use sim::Faults;
use sim::peers::{ClientPlan, OriginPlan};
use support::{Lab, listen, process};

/// Most turns of a thread's loop per request: a busy loop takes millions.
const TURNS: u64 = 400;

#[test]
fn requests_wait_for_buffers_without_a_busy_loop() {
    for seed in 0..8 {
        let limit = Some(BufferLimit { buffers: 4, reserve: 2, sheds: false });
        let settings = Process { buffer_limit: limit, ..process(2) };
        let listens = vec![listen(RoundRobin, Reuse::Safe, 3), listen(RoundRobin, Reuse::Never, 3)];
        let mut lab = Lab::of(settings, seed, Faults::BUMPY, listens);
        lab.origins(3, |plan| OriginPlan { body: 100_000, ..plan.varied() });
        let plan = |plan: ClientPlan| ClientPlan {
            abandon: 0,
            close: 0,
            post: 500,
            body: 100_000,
            ..plan.wild()
        };
        lab.clients(20, 10, plan);
        lab.until_finished();
        lab.until_quiet();
        let tally = lab.tally.borrow();
        assert!(tally.wrong.is_empty(), "seed {seed}: {tally:?}");
        assert_eq!(tally.unanswered + tally.answered, 200, "seed {seed}: {tally:?}");
        let bad: Vec<_> = lab.lines().iter().filter(|line| !line.is_fine()).cloned().collect();
        assert!(bad.is_empty(), "seed {seed}: {bad:#?}");
        let threads = lab.machine.threads();
        let waits =
            |it: &std::rc::Rc<reactor::Thread>| it.heartbeat().activity().buffer_waits.get();
        assert!(threads.iter().map(waits).sum::<u64>() > 50, "seed {seed}: nobody waited");
        let turns: u64 = threads.iter().map(|it| it.turns()).sum();
        assert!(turns < 200 * TURNS, "seed {seed}: {turns} turns");
        drop(tally);
        lab.assert_at_rest();
        lab.stop();
    }
}
