//! Tests of health checks over real sockets: rules, statuses, states, and moves between threads.

mod agents;
mod scripts;

use balance::{CheckStatus, OpState};
use engine::state::backend::check_record::Record;
use health::checks::rule;
use health::checks::store::Store;
use settings::{Check, HttpCheck, Mode, Process, ProxySection, Server};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use testing::{Origin, World};

const OK: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n";

fn checked(id: u32, address: SocketAddr, inter: u32) -> Server {
    let mut server = testing::server(id, address);
    server.balance.checked = true;
    server.balance.intervals.inter = inter;
    server
}

fn http() -> Check {
    let request = b"OPTIONS / HTTP/1.0\r\n\r\n".to_vec();
    Check::Http(HttpCheck { request, statuses: vec![(200, 399)], negated: false })
}

fn farm(check: Check, servers: Vec<Server>) -> ProxySection {
    let mut proxy = testing::backend("be", Mode::Http, servers);
    proxy.back.as_mut().unwrap().check = check;
    proxy
}

/// As [`farm`], with frequent checks and long timeouts.
fn patient_farm(check: Check, servers: Vec<Server>) -> ProxySection {
    let mut proxy = farm(check, servers);
    (proxy.timeouts.check, proxy.timeouts.connect) = (Some(20_000), Some(20_000));
    proxy
}

/// Runs one check of a server and gives status, code and info.
fn one_check(check: Check, server: Server) -> (CheckStatus, Option<i32>, String) {
    let world = World::new(vec![farm(check, vec![server])]);
    let last = || world.backend("be").servers[0].state.check_record().last;
    world.until("a check ends", || last().status != CheckStatus::Initializing);
    let last = last();
    (last.status, last.code, last.info)
}

#[test]
fn a_check_moves_only_where_less_than_half_is_to_do() {
    for (own, other, moves) in
        [(0, 0, false), (1, 0, true), (1, 1, false), (2, 1, false), (3, 1, true), (8, 4, false)]
    {
        assert_eq!(rule::moves(false, own, other), moves, "{own} {other}");
        assert!(!rule::moves(true, own, other), "it has moved already");
    }
    assert!(!rule::moves(false, u32::MAX, u32::MAX));
}

#[test]
fn first_checks_spread_over_the_shortest_interval() {
    let delays = |limit| (0..4).map(move |place| rule::first_delay(1000, limit, place, 4));
    assert_eq!(delays(None).collect::<Vec<_>>(), [0, 250, 500, 750]);
    assert_eq!(delays(Some(100)).collect::<Vec<_>>(), [0, 25, 50, 75]);
    assert_eq!(delays(Some(5000)).collect::<Vec<_>>(), [0, 250, 500, 750]);
    assert_eq!(rule::first_delay(1000, None, 0, 0), 0);
}

#[test]
fn jitter_reaches_both_ends_and_not_beyond() {
    assert_eq!(rule::jitter(1000, 0, 12345), 1000);
    assert_eq!(rule::jitter(1000, 50, 0), 500);
    assert_eq!(rule::jitter(1000, 50, u32::MAX), 1500);
    assert_eq!(rule::jitter(1, 50, 0), 1);
    let prng = stdx::Prng::new(3);
    let draws = (0..10_000).map(|_| u64::from(rule::jitter(1000, 10, prng.next_u32())));
    let mean = draws.inspect(|it| assert!((900..=1100).contains(it))).sum::<u64>() / 10_000;
    assert!((995..=1005).contains(&mean), "{mean}");
}

#[test]
fn jitter_is_spread_evenly() {
    // `spread-checks 50` of 2 seconds: each tenth of the range gets a tenth of the draws.
    let prng = stdx::Prng::new(4);
    let mut tenths = [0u32; 10];
    for _ in 0..100_000 {
        let interval = rule::jitter(2000, 50, prng.next_u32());
        tenths[((interval - 1000) / 200).min(9) as usize] += 1;
    }
    assert!(tenths.iter().all(|count| (9_600..10_400).contains(count)), "{tenths:?}");
}

#[test]
fn the_interval_bounds_a_check_unless_there_is_a_timeout_for_it() {
    assert_eq!(rule::limits(2000, Some(100), None), (2000, None));
    assert_eq!(rule::limits(2000, Some(100), Some(50)), (100, Some(50)));
    assert_eq!(rule::limits(2000, Some(9000), Some(50)), (2000, Some(50)));
    assert_eq!(rule::limits(2000, None, Some(50)), (2000, Some(50)));
}

#[test]
fn checks_due_together_are_one_batch_of_at_most_eight() {
    let mut store = Store::default();
    let record = |slot, due| Record { slot, due, interval: 1000, ..Record::default() };
    (0..12).for_each(|slot| store.put(record(slot, 1000 + u64::from(slot) / 4)));
    store.put(record(99, 1020));
    let take = |store: &mut Store, now| {
        let mut batch = Vec::new();
        store.take_batch(now, 1, &mut batch);
        batch.iter().map(|it| it.slot).collect::<Vec<_>>()
    };
    assert!(take(&mut store, 999).is_empty());
    assert_eq!(take(&mut store, 1000), (0..8).collect::<Vec<_>>());
    assert!(take(&mut store, 1001).is_empty(), "nothing is due: nobody is woken early");
    assert_eq!(take(&mut store, 1002), [8, 9, 10, 11]);
    assert_eq!((store.count(), store.next()), (1, Some(1020)));
}

#[test]
fn a_check_is_drawn_to_the_nearer_neighbour_by_no_more_than_the_slack() {
    assert_eq!(rule::drawn(1000, 990, None, 20), 990, "within reach");
    assert_eq!(rule::drawn(1000, 1000, None, 20), 1000);
    assert_eq!(rule::drawn(1000, 900, Some(1200), 20), 980, "on its way");
    assert_eq!(rule::drawn(1000, 900, Some(1050), 20), 1000, "the other one will come to it");
    assert_eq!(rule::drawn(1000, 900, Some(1100), 20), 1000, "nobody circles for ever");
    assert_eq!(rule::drawn(1000, 900, None, 20), 1000);
}

#[test]
fn checks_of_a_thread_become_one_batch_up_to_its_limit() {
    let becomes = |count: u32| {
        let mut store = Store::default();
        let record = |slot, due| Record { slot, due, interval: 2000, ..Record::default() };
        // Slots in no order.
        (0..count).for_each(|slot| store.put(record(slot, u64::from(slot * slot * 137 % 2000))));
        let mut batches = Vec::new();
        let mut now = 0;
        while now < 400 * 2000 {
            now = store.next().unwrap();
            let mut batch = Vec::new();
            store.take_batch(now, 1, &mut batch);
            batches.push(batch.len());
            for it in batch {
                assert!(it.due <= now + 20, "no more than the slack early");
                store.put_near(Record { due: now + 2000, ..it }, 1);
            }
        }
        batches.split_off(batches.len() - 4)
    };
    assert_eq!(becomes(4), [4; 4]);
    assert_eq!(becomes(8), [8; 4]);
    let twelve = becomes(12);
    assert_eq!(twelve[0] + twelve[1], 12, "{twelve:?}");
}

#[test]
fn layer_4_passes_and_fails_in_the_systems_words() {
    let origin = Origin::silent();
    let passed = (CheckStatus::L4Ok, None, String::new());
    assert_eq!(one_check(Check::Connect, checked(1, origin.address, 1000)), passed);
    assert_eq!(origin.served(), 0, "the server does not hear of it");
    let refused = (CheckStatus::L4Connection, None, "Connection refused".to_owned());
    assert_eq!(one_check(Check::Connect, checked(1, testing::nobody(), 1000)), refused);
    let mut server = checked(1, testing::nobody(), 1000);
    server.address = reactor::Address::Unix("/nonexistent".into());
    let info = "General socket error (No such file or directory)".to_owned();
    assert_eq!(one_check(Check::Connect, server), (CheckStatus::SocketError, None, info));
}

#[test]
fn http_answers_are_judged() {
    let answers: [(&[u8], CheckStatus, Option<i32>, &str); 8] = [
        (OK, CheckStatus::L7Ok, Some(200), ""),
        (b"HTTP/1.1 302 Found\r\nlocation: /\r\n\r\n", CheckStatus::L7Ok, Some(302), ""),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", CheckStatus::L7Status, Some(404), "Not Found"),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 x\r\n\r\n",
            CheckStatus::L7Status,
            Some(503),
            "x",
        ),
        (b"garbage\r\n\r\n", CheckStatus::L7Response, None, ""),
        (b"", CheckStatus::L7Response, None, ""),
        (b"HTTP/1.0 20", CheckStatus::L7Response, None, ""),
        (b"HTTP/1.0 200 OK\r\nx: y\r\n", CheckStatus::L7Response, None, ""),
    ];
    for (answer, status, code, info) in answers {
        let origin = Origin::answering(answer);
        let found = one_check(http(), checked(1, origin.address, 5000));
        assert_eq!(found, (status, code, info.to_owned()), "{}", answer.escape_ascii());
    }
}

#[test]
fn expected_statuses_replace_the_usual_ones() {
    let expecting = |statuses, negated| {
        let request = b"GET / HTTP/1.0\r\n\r\n".to_vec();
        let check = HttpCheck { request, statuses, negated };
        let origin = Origin::answering(OK);
        one_check(Check::Http(check), checked(1, origin.address, 5000)).0
    };
    assert_eq!(expecting(vec![(200, 200)], false), CheckStatus::L7Ok);
    assert_eq!(expecting(vec![(200, 200)], true), CheckStatus::L7Status);
    assert_eq!(expecting(vec![(404, 404), (500, 599)], false), CheckStatus::L7Status);
    assert_eq!(expecting(vec![(404, 404)], true), CheckStatus::L7Ok);
}

#[test]
fn silence_is_a_timeout_of_layer_7() {
    let origin = Origin::silent();
    let (status, code, info) = one_check(http(), checked(1, origin.address, 30));
    assert_eq!((status, code, &*info), (CheckStatus::L7Timeout, None, ""));
    let mut proxy = farm(http(), vec![checked(1, origin.address, 60_000)]);
    (proxy.timeouts.check, proxy.timeouts.connect) = (Some(20), Some(10));
    let world = World::new(vec![proxy]);
    let last = || world.backend("be").servers[0].state.check_record().last;
    world.until("`timeout check` ends it", || last().status == CheckStatus::L7Timeout);
    assert!(last().duration_ms >= 20, "{}", last().duration_ms);
}

#[test]
fn time_for_connecting_does_not_reduce_time_for_the_answer() {
    let origin = Origin::silent();
    let mut proxy = farm(http(), vec![checked(1, origin.address, 60_000)]);
    (proxy.timeouts.check, proxy.timeouts.connect) = (Some(1), Some(40));
    let world = World::new(vec![proxy]);
    let last = || world.backend("be").servers[0].state.check_record().last;
    world.until("a timeout", || last().status == CheckStatus::L7Timeout);
    assert!(last().duration_ms >= 40, "{}", last().duration_ms);
}

#[test]
fn a_server_goes_down_and_comes_up_after_as_many_checks_as_configured() {
    let healthy = Arc::new(AtomicUsize::new(1));
    let state = healthy.clone();
    let origin = Origin::new(move |mut stream, _| {
        testing::read_head(&mut stream);
        let answer: &[u8] = match state.load(SeqCst) {
            1 => OK,
            _ => b"HTTP/1.0 500 Internal Server Error\r\n\r\n",
        };
        let _ = stream.write_all(answer);
    });
    let mut server = checked(1, origin.address, 10);
    (server.balance.rise, server.balance.fall) = (2, 3);
    let world = World::new(vec![patient_farm(http(), vec![server])]);
    let server = &world.backend("be").servers[0];
    let value = || server.state.check_record().health.value();
    world.until("fully up", || value() == 4);
    healthy.store(0, SeqCst);
    world.until("down", || server.state.state().0 == OpState::Stopped);
    let record = server.state.check_record();
    assert_eq!((record.failed, record.went_down), (3, 1));
    healthy.store(1, SeqCst);
    world.until("up again", || server.state.state().0 == OpState::Running);
    let down = world.line("DOWN");
    assert!(down.starts_with("<1>Server be/s1 is DOWN, reason: Layer7 wrong status, code: 500, info: \"Internal Server Error\", check duration: "), "{down}");
    assert!(down.ends_with("ms. 0 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue."), "{down}");
    assert_eq!(world.line("no server"), "<0>backend be has no server available!");
    let up = world.line("is UP");
    assert!(
        up.starts_with("<5>Server be/s1 is UP, reason: Layer7 check passed, code: 200"),
        "{up}"
    );
    assert_eq!(world.backend("be").availability.went_down(), 1);
}

#[test]
fn checks_are_logged_when_asked_for_and_changes_then_give_no_reason() {
    let mut proxy = farm(Check::Connect, vec![checked(1, testing::nobody(), 1000)]);
    proxy.back.as_mut().unwrap().log_checks = true;
    let world = World::new(vec![proxy]);
    world.line("no server");
    let lines = world.lines();
    assert!(lines[0].starts_with("<5>Health check for server be/s1 failed, reason: Layer4 connection problem, info: \"Connection refused\", check duration: "), "{lines:?}");
    assert!(lines[0].ends_with("ms, status: 0/2 DOWN."), "{lines:?}");
    assert!(lines[1].starts_with("<1>Server be/s1 is DOWN. 0 active"), "{lines:?}");
}

#[test]
fn a_server_in_maintenance_is_left_alone() {
    let origin = Origin::silent();
    let mut idle = checked(1, origin.address, 5);
    idle.balance.disabled = true;
    let busy = Origin::silent();
    let world = World::new(vec![farm(http(), vec![idle, checked(2, busy.address, 5)])]);
    world.until("the other is checked", || busy.served() > 3);
    assert_eq!(origin.served(), 0);
}

#[test]
fn busy_threads_give_checks_away_once() {
    let origin = Origin::silent();
    let servers = (1..=4).map(|id| checked(id, origin.address, 200)).collect();
    let process = Process { max_spread_checks: Some(40), ..testing::process(2) };
    let world = World::with(process, vec![farm(http(), servers)]);
    let flights = || {
        let running = |thread| health::checks::activity(&world.shared, thread).running;
        (running(0), running(1))
    };
    assert_eq!(flights(), (0, 0));
    world.until("one runs at home", || flights() == (1, 0));
    world.until("the next one moves, for the other thread is idle", || flights() == (1, 1));
    let moved = || {
        let servers = &world.backend("be").servers;
        servers.iter().all(|it| it.state.check_record().last.status == CheckStatus::L7Timeout)
    };
    world.until("all time out, wherever they ran", moved);
    world.until("no flight is left", || flights() == (0, 0));
}

#[test]
fn servers_added_at_run_time_are_checked_like_any_other() {
    let origin = Origin::silent();
    let world = World::with(
        testing::process(2),
        vec![farm(http(), vec![testing::server(1, origin.address)])],
    );
    world.turn();
    health::checks::add(&world.shared, 0, 0, false);
    world.until("it is checked", || origin.served() > 0);
}

#[test]
fn a_check_costs_no_poll_but_its_own() {
    let origin = Origin::answering(OK);
    let world = World::new(vec![farm(http(), vec![checked(1, origin.address, 60_000)])]);
    world.turn();
    let before = world.workers[0].thread.scheduler().polls();
    let last = || world.backend("be").servers[0].state.check_record().last.status;
    world.until("checked", || last() == CheckStatus::L7Ok);
    world.turn();
    let polls = world.workers[0].thread.scheduler().polls() - before;
    assert!(polls <= 4, "start, answer, checker: {polls}");
    assert_eq!(world.workers[0].buffers.in_use(), 0);
}
