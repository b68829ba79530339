//! Two HAProxies and one Weir share tables under load while each is restarted and reloaded.
//!
//! `cargo xtask soak --only group` runs it; `WEIR_SOAK_SECONDS` is its length.

use super::setup;
use crate::support::{LogReceiver, Moment, Running, pass};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NAMES: [&str; 3] = ["A", "B", "C"];

/// The paths of requests are counted, and so are a thousand numbers that all processes use.
const SECTIONS: &str = "peers group\n    log <log> local0\n    \
    peer A <A>\n    peer B <B>\n    peer C <C>\n\
    frontend web\n    bind <web>\n    http-request track-sc0 path table counts\n    \
    http-request track-sc1 rand(1000) table numbers\n    http-request sc-inc-gpc0(0)\n    \
    http-request return status 200\n\
    backend counts\n    stick-table type string len 32 size 1m expire 2h \
    store gpc0,http_req_cnt,http_req_rate(10s) peers group\n\
    backend numbers\n    stick-table type integer size 10k expire 2h \
    store http_req_cnt,http_req_rate(10s) peers group\n";

/// The time in which a change reaches all processes: a fresh HAProxy waits five seconds for a
/// predecessor, connections are made again after up to five seconds.
const SPREAD: Duration = Duration::from_secs(30);

/// The addresses that clients ask, whether the load is over, and the requests that each process has
/// answered.
type Shared = Arc<(Mutex<Vec<SocketAddr>>, AtomicBool, [AtomicU64; 3])>;

fn start(
    addresses: &[String; 3],
    at: usize,
    log: &LogReceiver,
    predecessor: Option<u32>,
) -> Running {
    let first = [addresses[0].clone(), addresses[1].clone()];
    let mut setup = setup(SECTIONS, NAMES[at], &first).with("log", log.address());
    for (name, address) in NAMES.iter().zip(addresses) {
        setup = setup.with(name, address);
    }
    if let Some(pid) = predecessor {
        setup = setup.arguments(&["-db", "-sf", &pid.to_string()]);
    }
    // The last one is Weir.
    if at < 2 {
        setup = setup.program(Path::new("/usr/sbin/haproxy"));
    }
    setup.start()
}

/// Asks for paths that nobody has asked for before, about two hundred in a second.
fn ask(shared: &Shared, at: usize) {
    let (fronts, over, served) = &**shared;
    let address = || fronts.lock().expect("nothing panics with it")[at];
    let mut stream: Option<TcpStream> = None;
    let mut number = 0;
    while !over.load(Relaxed) {
        let request = format!("GET /{at}-{number} HTTP/1.1\r\nHost: h\r\n\r\n");
        let answered = stream.as_mut().is_some_and(|stream| {
            let mut answer = [0; 4_096];
            stream.write_all(request.as_bytes()).is_ok()
                && stream
                    .read(&mut answer)
                    .is_ok_and(|count| answer[..count].starts_with(b"HTTP/1.1 200"))
        });
        if answered {
            number += 1;
            served[at].store(number, Relaxed);
        } else {
            stream = TcpStream::connect(address()).ok();
            if let Some(stream) = &stream {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            }
        }
        pass(Duration::from_millis(5));
    }
}

/// The paths that a process knows.
fn known(program: &Running) -> BTreeSet<String> {
    let listing = program.cli("show table counts");
    let key = |line: &str| Some(line.split_once("key=")?.1.split(' ').next()?.to_owned());
    listing.lines().filter_map(key).collect()
}

/// Requests of one process, by number, that other nodes may have missed: the process was killed
/// just after them.
type Unsure = (usize, std::ops::Range<u64>);

/// Waits until all processes know what clients have been served for by now, and returns that, with
/// the number of requests of each process.
fn confirmed(
    running: &[Running],
    served: &[AtomicU64; 3],
    unsure: &[Unsure],
) -> (BTreeSet<String>, Vec<u64>) {
    let until: Vec<u64> = served.iter().map(|number| number.load(Relaxed)).collect();
    let is_sure = |at: usize, number: u64| {
        !unsure.iter().any(|(of, those)| *of == at && those.contains(&number))
    };
    let sure = |at: usize| (0..until[at]).filter(move |number| is_sure(at, *number));
    let keys = (0..3).flat_map(|at| sure(at).map(move |number| format!("/{at}-{number}")));
    let keys: BTreeSet<String> = keys.collect();
    let begin = Moment::now();
    loop {
        let missing: Vec<_> = running
            .iter()
            .zip(NAMES)
            .map(|(program, name)| {
                (name, keys.difference(&known(program)).cloned().collect::<Vec<_>>())
            })
            .filter(|(_, keys)| !keys.is_empty())
            .map(|(name, keys)| (name, keys.len(), keys.into_iter().take(5).collect::<Vec<_>>()))
            .collect();
        if missing.is_empty() {
            return (keys, until);
        }
        assert!(
            begin.elapsed() < SPREAD,
            "of {} entries these are missing: {missing:?}",
            keys.len()
        );
        pass(Duration::from_millis(200));
    }
}

/// The breaches of the protocol that a process has counted.
fn breaches(program: &Running) -> u64 {
    let listing = program.cli("show peers");
    let counts = listing.split_whitespace().filter_map(|word| word.strip_prefix("proto_err="));
    counts.map(|count| count.parse::<u64>().expect("a number")).sum()
}

fn no_breach(running: &[Running], log: &LogReceiver) {
    for (program, name) in running.iter().zip(NAMES) {
        assert_eq!(breaches(program), 0, "{name}: {}", program.cli("show peers"));
    }
    for line in log.lines_for(Duration::from_millis(10)) {
        assert!(!line.contains("protocol error"), "{line}");
    }
}

#[test]
#[ignore = "ten minutes: cargo xtask soak --only group"]
fn a_group_of_two_haproxies_and_one_weir_loses_no_entry() {
    if !Path::new("/usr/sbin/haproxy").exists() {
        return;
    }
    let seconds = std::env::var("WEIR_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let length = Duration::from_secs(seconds.unwrap_or(600));
    let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let addresses = free.each_ref().map(|it| it.local_addr().expect("bound").to_string());
    drop(free);
    let log = LogReceiver::new();
    let mut running: Vec<Running> = (0..3).map(|at| start(&addresses, at, &log, None)).collect();
    let fronts = running.iter().map(|program| program.address("web")).collect();
    let shared: Shared = Arc::new((Mutex::new(fronts), AtomicBool::new(false), Default::default()));
    let clients: Vec<_> = (0..3)
        .map(|at| {
            let shared = shared.clone();
            std::thread::spawn(move || ask(&shared, at))
        })
        .collect();
    let (mut all, mut unsure) = (BTreeSet::new(), Vec::new());
    // Each is replaced by a successor once, and once killed and started again.
    let steps = [(0, true), (2, true), (1, true), (2, false), (0, false), (1, false)];
    for (at, reload) in steps {
        pass(length / (steps.len() as u32 + 1));
        let (before, until) = confirmed(&running, &shared.2, &unsure);
        no_breach(&running, &log);
        println!("{} entries at all processes; next: {} {reload}", before.len(), NAMES[at]);
        all.extend(before);
        let pid = reload.then(|| running[at].pid());
        if !reload {
            let old = running.remove(at);
            drop(old);
            unsure.push((at, until[at]..shared.2[at].load(Relaxed) + 2));
            running.insert(at, start(&addresses, at, &log, None));
        } else {
            let new = start(&addresses, at, &log, pid);
            let mut old = std::mem::replace(&mut running[at], new);
            shared.0.lock().expect("nothing panics with it")[at] = running[at].address("web");
            assert_eq!(old.wait().code(), Some(0), "{}", NAMES[at]);
        }
        shared.0.lock().expect("nothing panics with it")[at] = running[at].address("web");
    }
    pass(length / (steps.len() as u32 + 1));
    all.extend(confirmed(&running, &shared.2, &unsure).0);
    shared.1.store(true, Relaxed);
    clients.into_iter().for_each(|client| client.join().expect("a client"));
    no_breach(&running, &log);
    for (program, name) in running.iter().zip(NAMES) {
        let lost: Vec<_> = all.difference(&known(program)).take(5).cloned().collect();
        assert_eq!(lost, Vec::<String>::new(), "{name} of {} entries", all.len());
    }
    println!("{} entries, none lost", all.len());
}
