//! Five processes that share a stick table, over a network that loses their connections.
//!
//! `cargo xtask soak` runs more seeds.

mod support;

use engine::state::os_handles::{OsHandles, PEERS, SectionSockets};
use engine::state::services::NoServices;
use proxy::{Shared, Worker};
use reactor::Address;
use settings::{PeerServer, PeersSection, Preamble};
use sim::faults::SEC;
use sim::{Faults, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use stdx::Prng;
use support::{front, process};
use table::{Aggregate, DataType, GroupWalk, Key, KeyKind};

/// Processes, each on a thread of its own.
const COUNT: usize = 5;

/// Seeds of one run of the tests.
const SEEDS: u64 = 200;

/// Each connection is lost within seconds.
const LOSSY: Faults = Faults { reset: 900, stall: 50, within: 4 * SEC, ..Faults::ROUGH };

struct Cluster {
    machine: Machine,
    processes: Vec<(Arc<Shared>, Rc<Worker>)>,
    random: Prng,
}

fn name(at: usize) -> Arc<str> {
    format!("p{at}").into()
}

fn server(at: usize) -> PeerServer {
    let address = Some(Address::Inet(front(at)));
    PeerServer { name: name(at), address, shard: None, encryption: None, announce: None }
}

/// A section of a process; a thread runs that at its own place.
fn section(seed: u64, at: usize, own: usize) -> Arc<PeersSection> {
    Arc::new(PeersSection {
        name: "group".into(),
        local: name(own),
        successor: None,
        preamble: Preamble::default(),
        remotes: (0..COUNT).filter(|other| *other != own).map(server).collect(),
        tables: if at == own { vec![("t".into(), 0)] } else { Vec::new() },
        max_updates: None,
        shards: 0,
        logs: Default::default(),
        replaces: false,
        seed: seed * COUNT as u64 + own as u64,
    })
}

impl Cluster {
    fn new(seed: u64, aggregate: Option<Aggregate>) -> Self {
        let machine = Machine::new(seed, COUNT);
        machine.net().set_faults(LOSSY);
        let start = |own: usize| {
            let mut table = table::Settings::new("t", KeyKind::Integer, 10_000);
            table.expire = Some(3_600_000);
            table.aggregate = aggregate;
            table.add(DataType::Gpc0, 1, 0);
            let sections = (0..COUNT).map(|at| section(seed, at, own)).collect();
            let listener = machine.net().listen(Address::Inet(front(own)), 100);
            let listeners = vec![listener.expect("a free address")];
            let mut handles = OsHandles::default();
            let sockets = SectionSockets { listeners, ..SectionSockets::default() };
            handles.add_section(PEERS, "group", sockets);
            let settings = settings::Process {
                peers: sections,
                tables: vec![table],
                pid: 100 + own as u32,
                ..process(COUNT)
            };
            let thread = machine.thread(own);
            let shared = proxy::build(settings, Vec::new(), handles, thread.nanos());
            let worker = proxy::start(thread, &shared, Box::new(NoServices));
            (shared, worker)
        };
        let processes = (0..COUNT).map(start).collect();
        Self { machine, processes, random: Prng::new(seed) }
    }

    fn count(&self, process: usize, key: u32) {
        let (shared, worker) = &self.processes[process];
        let now = worker.millis();
        shared.tables[0].enter(&Key::integer(key.into()), now, |entry| {
            entry.count(&[DataType::Gpc0], 1, now);
        });
    }

    /// The counts that rules of a process see.
    fn contents(&self, process: usize) -> BTreeMap<Vec<u8>, u64> {
        let (shared, worker) = &self.processes[process];
        let (mut walk, mut contents) = (GroupWalk::default(), BTreeMap::new());
        let now = worker.millis();
        while let Some(entries) = shared.tables[0].walk_group(&mut walk, now) {
            for entry in entries {
                let count = entry.get(DataType::Gpc0, 0, now).expect("it is stored");
                contents.insert(entry.key().to_vec(), count);
            }
        }
        contents
    }

    fn pass(&mut self, millis: u64) {
        let passed = self.machine.run_for(Duration::from_millis(millis));
        assert_eq!(passed, Ok(()), "{}", self.machine.report());
    }

    /// Runs until all have the same entries; `expected` if given.
    fn agree(&mut self, seed: u64, expected: Option<&BTreeMap<Vec<u8>, u64>>) {
        for _ in 0..120 {
            let first = self.contents(0);
            let all = (1..COUNT).all(|at| self.contents(at) == first);
            if all && expected.is_none_or(|expected| *expected == first) {
                return;
            }
            self.pass(500);
        }
        let all: Vec<_> = (0..COUNT).map(|at| self.contents(at)).collect();
        let differs = |key: &&Vec<u8>| {
            let mut values = all.iter().chain(expected).map(|one| one.get(*key));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let keys = all.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>();
        for key in keys.into_iter().filter(differs) {
            let values: Vec<_> = all.iter().map(|one| one.get(key)).collect();
            eprintln!("{key:?}: {values:?}, expected {:?}", expected.map(|one| one.get(key)));
        }
        panic!("seed {seed}: the tables differ");
    }
}

/// Counts while connections are lost; each key is counted by one process.
fn converges(seed: u64) {
    let mut cluster = Cluster::new(seed, None);
    let mut expected = BTreeMap::new();
    for _ in 0..40 {
        for _ in 0..cluster.random.below(12) {
            let key = cluster.random.below(300);
            cluster.count(key as usize % COUNT, key);
            *expected.entry(key.to_be_bytes().to_vec()).or_insert(0) += 1;
        }
        let span = cluster.random.below(700);
        cluster.pass(span.into());
    }
    cluster.machine.net().set_faults(Faults::BUMPY);
    cluster.agree(seed, Some(&expected));
    // The last of the connections that the network loses are replaced.
    cluster.pass(30_000);
    // Now the last change of a key holds that all have counted. It need not while connections are
    // lost: what a process sends again has no time, and may be older.
    for key in 0..20 {
        let process = cluster.random.below(COUNT as u32) as usize;
        cluster.count(process, key);
        cluster.pass(50);
    }
    cluster.agree(seed, None);
    let open = cluster.processes.iter().map(|(shared, _)| shared.peers.iter());
    let open: usize = open.flatten().map(|section| section.lock().counts().1).sum();
    assert_eq!(open, COUNT * (COUNT - 1), "seed {seed}: one session per pair");
}

/// Counts of all processes on all keys, added up while connections are lost.
fn sums_converge(seed: u64) {
    let mut cluster = Cluster::new(seed, Some(Aggregate::Sum));
    let mut expected = BTreeMap::new();
    for _ in 0..40 {
        for _ in 0..cluster.random.below(12) {
            let (key, process) = (cluster.random.below(60), cluster.random.below(COUNT as u32));
            cluster.count(process as usize, key);
            *expected.entry(key.to_be_bytes().to_vec()).or_insert(0) += 1;
        }
        let span = cluster.random.below(700);
        cluster.pass(span.into());
    }
    cluster.machine.net().set_faults(Faults::BUMPY);
    cluster.agree(seed, Some(&expected));
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn tables_converge_whatever_connections_are_lost() {
    (0..SEEDS).for_each(converges);
}

#[test]
fn sums_of_all_processes_converge_whatever_connections_are_lost() {
    (0..SEEDS / 4).for_each(sums_converge);
}

/// A thousand seeds, or `WEIR_SOAK_SEEDS`, from `WEIR_SOAK_FROM` on.
#[test]
#[ignore = "minutes of work: cargo xtask soak"]
fn tables_converge_for_all_seeds() {
    let (seeds, from) = (number("WEIR_SOAK_SEEDS", 1_000), number("WEIR_SOAK_FROM", 1_000));
    (from..from + seeds).for_each(converges);
}

#[test]
#[ignore = "minutes of work: cargo xtask soak"]
fn sums_of_all_processes_converge_for_all_seeds() {
    let (seeds, from) = (number("WEIR_SOAK_SEEDS", 1_000), number("WEIR_SOAK_FROM", 1_000));
    (from..from + seeds / 4).for_each(sums_converge);
}
