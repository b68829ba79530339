//! Tests of servers with `maxconn`: requests wait in order, and all are served.

mod support;

use balance::Algorithm::{self, First, LeastConn, RoundRobin};
use balance::{Admin, Balancer, Change};
use engine::state::runtime::Shared;
use settings::Reuse;
use sim::Faults;
use sim::faults::{MS, SEC};
use sim::peers::ClientPlan;
use support::{Lab, Listen, listen};

/// A listener with long queue timeouts.
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
fn servers_stay_within_maxconn_and_no_request_starves() {
    for (seed, algorithm) in (0..8).flat_map(|seed| BOTH.map(|algorithm| (seed, algorithm))) {
        // Pipelined requests cause many needless wake-ups of waiting requests.
        let pipelining = |plan| ClientPlan { pipeline: 3, dribble: 300, think: 20 * MS, ..plan };
        let mut lab = run(seed, Faults::BUMPY, limited(algorithm, 3), pipelining);
        let tally = lab.tally.borrow();
        assert_eq!(tally.answered, 600, "seed {seed}: {tally:?}");
        assert_eq!(tally.busiest, 3, "seed {seed}");
        let longest = lab.lines().iter().map(|line| line.waited).max().unwrap();
        // 60 are before it, three at a time, none of them longer than 100 ms or so.
        assert!((300..4_000).contains(&longest), "seed {seed} {algorithm:?}: {longest} ms");
        drop(tally);
        lab.stop();
    }
}

#[test]
fn a_queue_drains_in_order() {
    for (seed, algorithm) in (0..8).flat_map(|seed| BOTH.map(|algorithm| (seed, algorithm))) {
        // One request per connection, all at about the same time, over equal paths: ports tell the
        // order of arrival, and one slot at the server the order of service.
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
fn queue_timeouts_are_answered_and_counted() {
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
fn server_queue_and_backend_queue_take_turns() {
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

/// While the machine is idle, no slot is free on a server that a request waits for.
fn assert_no_place_is_lost(shared: &Shared, what: &str) {
    let back = shared.proxies[0].back.as_ref().expect("a listener with servers");
    for (slot, server) in back.servers.iter().enumerate() {
        let load = server.state.load();
        let any = if back.balancer.takes_part(slot) { back.queue.len() } else { 0 };
        let waiting = server.queue.len() + any;
        let room = load.maxconn().saturating_sub(load.served());
        assert!(room == 0 || waiting == 0, "{what}: s{slot} has {room} places, {waiting} wait");
    }
}

/// Clients in step, so that many requests begin and end at the same moment: some are bound to
/// either server, others to none.
fn crowd(lab: &mut Lab, think: u64) -> u64 {
    let bounds = ["", "cookie: C=s0\r\n", "cookie: C=s1\r\n"];
    for number in 0..CROWD {
        let plan = |base| ClientPlan {
            patience: 600 * SEC,
            think,
            pipeline: 1 + number as usize % 2,
            extra: bounds[number as usize % 3].into(),
            ..base
        };
        lab.clients(1, 10, plan);
    }
    10 * CROWD
}

const CROWD: u64 = 18;

/// Two servers whose state is changed before the first client comes.
fn no_place_is_lost(listen: impl Fn(Algorithm) -> Listen, become_so: impl Fn(&Balancer)) {
    for (seed, algorithm) in
        (0..12).flat_map(|seed| [First, RoundRobin, LeastConn].map(|algorithm| (seed, algorithm)))
    {
        let (faults, think) = match seed % 3 {
            0 => (Faults::NONE, 0),
            1 => (Faults::NONE, MS),
            _ => (Faults::BUMPY, MS),
        };
        let mut lab = Lab::new(seed, 1 + seed as usize % 2, faults, vec![listen(algorithm)]);
        let back = lab.shared.proxies[0].back.as_ref();
        become_so(&back.expect("a listener with servers").balancer);
        lab.origins(2, |plan| sim::peers::OriginPlan { delay: think, ..plan });
        let requests = crowd(&mut lab, think);
        let (world, threads) = (lab.machine.world().clone(), lab.machine.threads().to_vec());
        let (tally, what) = (lab.tally.clone(), format!("seed {seed} {algorithm:?}"));
        lab.until(&what, support::LONG, |shared| {
            if sim::Machine::is_at_rest(&world, &threads) {
                assert_no_place_is_lost(shared, &what);
            }
            tally.borrow().finished == CROWD
        });
        lab.until_quiet();
        lab.assert_at_rest();
        assert_eq!(lab.tally.borrow().answered, requests, "{what}");
        lab.stop();
    }
}

fn two(algorithm: Algorithm, maxconn: u32) -> Listen {
    Listen { servers: 2, cookies: true, ..limited(algorithm, maxconn) }
}

#[test]
fn a_free_slot_goes_to_a_request_that_can_use_it() {
    no_place_is_lost(|algorithm| two(algorithm, 1), |_| {});
    no_place_is_lost(|algorithm| two(algorithm, 3), |_| {});
}

#[test]
fn a_drained_server_serves_persistent_requests() {
    let drain = |balancer: &Balancer| {
        balancer.set_admin(0, Admin::FORCED_DRAIN, Admin::default(), 0);
    };
    no_place_is_lost(|algorithm| two(algorithm, 2), drain);
    no_place_is_lost(|algorithm| two(algorithm, 2), |balancer| balancer.set_weight(0, 0, 0));
}

#[test]
fn a_down_server_serves_requests_with_option_persist() {
    let listen = |algorithm| Listen { persists: true, redispatch: 0, ..two(algorithm, 2) };
    no_place_is_lost(listen, |balancer| balancer.force_health(0, Change::Down, 0));
}

#[test]
fn the_last_server_may_be_a_backup() {
    let listen = |algorithm| Listen { backups: 1, ..two(algorithm, 2) };
    no_place_is_lost(listen, |balancer| balancer.force_health(0, Change::Down, 0));
}

/// The state of a server has precedence over its free slots.
#[test]
fn no_request_is_sent_to_a_server_that_went_down() {
    let mut lab = Lab::new(1, 1, Faults::NONE, vec![two(RoundRobin, 1)]);
    lab.origins(2, |plan| sim::peers::OriginPlan { delay: 40 * MS, ..plan });
    lab.clients(2, 1, |base| ClientPlan { extra: "cookie: C=s0\r\n".into(), ..base });
    let shared = lab.shared.clone();
    let back = shared.proxies[0].back.as_ref().unwrap();
    lab.until("one waits", support::LONG, |_| back.servers[0].queue.len() == 1);
    back.balancer.set_admin(0, Admin::FORCED_MAINT, Admin::default(), 0);
    lab.until_finished();
    let servers: Vec<_> = lab.lines().iter().map(|line| line.server.clone()).collect();
    assert_eq!(servers, ["s0", "s1"]);
}
