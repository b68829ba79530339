//! Tests of health checks on many threads: how they spread, and their cost. The checker is the
//! production one; time, network and checked servers are virtual.

mod support;

use engine::state::services::NoServices;
use health::checks;
use health::checks::Activity;
use proxy::{Shared, Worker};
use reactor::Address;
use settings::{Backend, Check, HttpCheck, Mode, Process, Proxy, ProxySection, Server, Timeouts};
use sim::faults::MS;
use sim::{Actor, ActorId, EndId, Faults, Machine, Net, Signal, Stop};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const INTER: u32 = 2_000;
const SERVERS: usize = 200;

/// The checked server of all names: answers each request after a delay, and closes.
struct Patient {
    address: Address,
    delay: u64,
    clients: Vec<EndId>,
}

impl Actor for Patient {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => net.listen_as(me, self.address.clone()).expect("it is free"),
            Signal::Accepted(_) | Signal::Datagram(_) => {}
            Signal::Ready(end) => match net.recv(end, &mut [0; 1_000]) {
                Ok(0) | Err(_) => {}
                Ok(_) => {
                    self.clients.push(end);
                    let at = net.now() + self.delay;
                    net.set_timer(me, at, self.clients.len() as u64 - 1);
                }
            },
            Signal::Timer(number) => {
                let end = self.clients[number as usize];
                let _ = net.send(end, b"HTTP/1.0 200 OK\r\n\r\n");
                net.close_end(end, false);
            }
        }
    }
}

struct Field {
    machine: Machine,
    shared: Arc<Shared>,
    _workers: Vec<Rc<Worker>>,
}

impl Field {
    /// A machine of this many threads, with servers that answer after `delay` nanoseconds. All
    /// checks begin on the first thread.
    fn new(seed: u64, process: Process, delay: u64, checked: bool) -> Self {
        let machine = Machine::new(seed, process.threads);
        machine.net().set_faults(Faults::NONE);
        let address = Address::Inet(support::origin(0));
        machine.net().spawn(Box::new(Patient { address, delay, clients: Vec::new() }));
        let now = machine.thread(0).nanos();
        let shared = proxy::build(process, vec![farm(checked)], Default::default(), now);
        let start = |thread| proxy::start(thread, &shared, Box::new(NoServices));
        let _workers = machine.threads().iter().map(start).collect();
        Self { machine, shared, _workers }
    }

    fn each(&self) -> impl Iterator<Item = Activity> {
        let shared = &self.shared;
        (0..shared.settings.threads).map(|thread| checks::activity(shared, thread))
    }

    fn sum(&self) -> Activity {
        self.each().fold(Activity::default(), |sum, it| Activity {
            running: sum.running + it.running,
            batches: sum.batches + it.batches,
            checks: sum.checks + it.checks,
            given: sum.given + it.given,
        })
    }

    /// Lets some check intervals pass; returns the most batches that any thread ran at once, and
    /// the activity in that time.
    fn watch(&mut self, intervals: u32) -> (u32, Activity) {
        let (before, shared) = (self.sum(), self.shared.clone());
        let threads = shared.settings.threads;
        let mut most = 0;
        let look = || {
            let running = |thread| checks::activity(&shared, thread).running;
            most = most.max((0..threads).map(running).max().unwrap_or(0));
            false
        };
        let span = Duration::from_millis(u64::from(INTER * intervals));
        // Without checks the machine becomes idle: no thread has a timer.
        let stop = self.machine.run_until(look, span);
        assert!(matches!(stop, Err(Stop::Limit | Stop::Deadlock)), "{stop:?}");
        let after = self.sum();
        let done = Activity {
            running: after.running,
            batches: after.batches - before.batches,
            checks: after.checks - before.checks,
            given: after.given - before.given,
        };
        (most, done)
    }
}

fn process(threads: usize, check_slack: u32) -> Process {
    Process { check_slack, ..support::process(threads) }
}

fn farm(checked: bool) -> ProxySection {
    let server = |slot: usize| {
        let mut balance = balance::ServerSettings::new(slot as u32 + 1, format!("s{slot}"));
        balance.checked = checked;
        balance.intervals.inter = INTER;
        let address = Address::Inet(support::origin(0));
        Server::new(balance, address)
    };
    let check = Check::Http(HttpCheck {
        request: b"GET / HTTP/1.0\r\n\r\n".to_vec(),
        statuses: vec![(200, 399)],
        negated: false,
    });
    let servers = (0..SERVERS).map(server).collect();
    let proxy = Proxy {
        name: "be".into(),
        id: 1,
        mode: Mode::Http,
        timeouts: Timeouts { check: Some(1_000), ..Timeouts::default() },
        ..Proxy::default()
    };
    let back = Some(Backend { servers, check, ..Backend::default() });
    ProxySection { proxy, front: None, back }
}

#[test]
fn checks_that_start_on_one_thread_spread_until_none_has_two_at_once() {
    for (seed, threads) in (0..8).flat_map(|seed| [(seed, 48), (seed, 64)]) {
        // Two and a half run at any time on average: on one thread it would be that many.
        let mut field = Field::new(seed, process(threads, 0), 25 * MS, true);
        let (_, first) = field.watch(2);
        // A check that finds the thread busy moves, once: two of three while each lasts 25 ms.
        assert!((120..150).contains(&first.given), "seed {seed}, {threads} threads: {first:?}");
        let (most, done) = field.watch(10);
        assert_eq!((most, done.batches), (1, done.checks), "seed {seed}, {threads} threads");
        // A check that has moved stays there.
        assert!(done.given < 10, "seed {seed}, {threads} threads: {done:?}");
    }
}

#[test]
fn with_coalescing_a_batch_counts_as_one_and_batches_grow() {
    for (seed, threads) in (0..3).flat_map(|seed| [(seed, 48), (seed, 64)]) {
        let mut field = Field::new(seed, process(threads, 1), 25 * MS, true);
        field.watch(2);
        let (most, early) = field.watch(10);
        assert_eq!(most, 1, "seed {seed}, {threads} threads");
        // A check is due every ten milliseconds, and its batch includes two others.
        assert_eq!(early.checks / early.batches, 2);
        field.watch(40);
        let (most, late) = field.watch(10);
        assert_eq!(most, 1, "seed {seed}, {threads} threads");
        assert!(late.batches < early.batches, "seed {seed}, {threads} threads: {late:?}");
        assert!(late.checks <= 8 * late.batches);
        // The slack shortens an interval by a hundredth at most, and rarely.
        assert!((9 * SERVERS as u64..=10 * SERVERS as u64).contains(&late.checks), "{late:?}");
    }
}

#[test]
fn a_storm_on_one_thread_spreads_in_batches_and_each_moves_once() {
    for (seed, threads) in (0..8).flat_map(|seed| [(seed, 48), (seed, 64)]) {
        let process = Process { max_spread_checks: Some(0), ..process(threads, 0) };
        let mut field = Field::new(seed, process, 25 * MS, true);
        let (most, first) = field.watch(1);
        assert_eq!((first.checks, first.batches), (200, 25), "batches of eight");
        // Nearly all move: 25 batches on one thread become a few at most on any.
        assert!(first.given > 150 && most <= 5, "seed {seed}, {threads} threads: {most}");
        field.watch(6);
        let (most, settled) = field.watch(2);
        assert!(most <= 2 && settled.given <= 16, "seed {seed}, {threads} threads: {settled:?}");
    }
}

#[test]
fn servers_added_at_run_time_spread_as_well() {
    for seed in 0..4 {
        let mut field = Field::new(seed, process(48, 0), 25 * MS, false);
        field.watch(1);
        assert_eq!(field.sum(), Activity::default());
        for slot in 0..SERVERS {
            checks::add(&field.shared, 0, slot, false);
            field.machine.run_for(Duration::from_millis(10)).unwrap();
        }
        field.watch(1);
        let (most, done) = field.watch(10);
        assert_eq!((most, done.batches), (1, done.checks), "seed {seed}");
        let busy = field.each().filter(|thread| thread.checks > 0).count();
        assert!(busy > 24, "seed {seed}: {busy} threads have any");
    }
}

#[test]
fn a_thread_without_work_sleeps_on() {
    let mut field = Field::new(1, process(8, 1), MS, false);
    field.watch(5);
    let turns = |field: &Field| -> Vec<u64> {
        field.machine.threads().iter().map(|thread| thread.turns()).collect()
    };
    let before = turns(&field);
    field.watch(300);
    assert_eq!(turns(&field), before, "in ten minutes");
}
