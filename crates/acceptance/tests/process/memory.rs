//! Loads beyond the memory budget: the process lives, counts what it refuses, and serves others afterwards.

use crate::support::{Origin, Running, Setup, eventually, program, run};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

mod scripts;

/// Tests of this file use the memory that they measure one after the other.
static ALONE: Mutex<()> = Mutex::new(());

const FILE: &str = "global\n    stats socket <dir>/cli level admin\n    nbthread 2\n    <limit>\n\
     defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
     timeout server 20s\n    timeout queue 20s\n\
     frontend web\n    bind <web>\n    \
     http-request track-sc0 hdr(x-key) table keys if { path_beg /track }\n    \
     http-request set-map(<dir>/m.map) %[hdr(x-key)] %[hdr(x-value)] if { path_beg /map }\n    \
     http-request return status 204 if { path_beg /track } || { path_beg /map }\n    \
     use_backend deaf if { path_beg /deaf }\n    default_backend app\n\
     backend app\n    server s <origin>\n\
     backend deaf\n    server s <deaf> maxconn 4\n\
     backend keys\n    stick-table type string len 1000 size 1m expire 1h store gpc0\n";

/// A program with a limit of memory, or without one.
fn start(limit: &str, origin: &Origin, deaf: SocketAddr) -> Running {
    let setup = Setup::new(&FILE.replace("<limit>", limit));
    setup.with("origin", origin.address()).with("deaf", deaf).start()
}

/// A program with a memory limit of `mib` above its use at the start.
fn start_with(mib: u64, origin: &Origin, deaf: SocketAddr) -> Running {
    let probe = start("tune.memory.limit 1g", origin, deaf);
    let base = eventually("a look", || Some(info(&probe, "MemUsed_bytes")).filter(|it| *it > 0));
    drop(probe);
    start(&format!("tune.memory.limit {}", base + (mib << 20)), origin, deaf)
}

fn info(program: &Running, name: &str) -> u64 {
    let all = program.cli("show info");
    let line = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {all}"))
}

/// Memory stays within the limit, except for allocations between two measurements.
fn assert_within(program: &Running) {
    let (used, limit) = (info(program, "MemUsed_bytes"), info(program, "MemLimit_bytes"));
    assert!(used <= limit + (2 << 20), "{used} of {limit}");
}

fn assert_serves(program: &Running) {
    eventually("an answer", || {
        let mut stream = TcpStream::connect(program.address("web")).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.ends_with("hello").then_some(())
    });
}

/// Connections that have sent as much of `bytes` as the system takes; fewer than `count` if its
/// queue is full.
fn flood(program: &Running, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let connect = |_| {
        let stream =
            TcpStream::connect_timeout(&program.address("web"), Duration::from_millis(500));
        let mut stream = stream.ok()?;
        stream.set_nonblocking(true).ok()?;
        let _ = stream.write(bytes);
        Some(stream)
    };
    (0..count).map_while(connect).collect()
}

/// A listener that takes connections and reads nothing.
fn deaf() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    (listener, address)
}

#[test]
fn requests_with_bodies_beyond_the_memory_limit_wait() {
    let _alone = ALONE.lock();
    let (origin, (_deaf, address)) = (Origin::saying("hello"), deaf());
    for mib in [10, 20] {
        let program = start_with(mib, &origin, address);
        let body = vec![b'x'; 64 << 10];
        let head = b"POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
        let clients = flood(&program, 1_500, &[&head[..], &body].concat());
        assert_within(&program);
        drop(clients);
        assert_serves(&program);
        assert_within(&program);
    }
}

/// A connection of HTTP/2 with a hundred requests, whose heads and payload are more than a
/// megabyte.
fn large_streams() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    };
    // A long field in each request: all of the heads together are more than the limit.
    let value = "v".repeat(12_000);
    let mut block = b"\x83\x86\x44\x05/deaf\x41\x01a\x40\x01k\x7f".to_vec();
    // The length as an integer of 7 bits and what remains of it.
    let mut rest = value.len() - 127;
    while rest >= 128 {
        block.push((rest % 128 + 128) as u8);
        rest /= 128;
    }
    block.push(rest as u8);
    block.extend(value.bytes());
    for stream in 0..100 {
        bytes.extend(frame(1, 4, 2 * stream + 1, &block));
    }
    bytes
}

/// Whether a response has begun on a connection of HTTP/2, as far as its frames have arrived.
fn has_response(mut stream: &TcpStream) -> bool {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    let (mut head, mut payload) = ([0; 9], Vec::new());
    while stream.read_exact(&mut head).is_ok() && head[3] != 1 {
        payload.resize(usize::from(head[1]) << 8 | usize::from(head[2]), 0);
        let _ = stream.read_exact(&mut payload);
    }
    head[3] == 1
}

/// Otherwise they keep their memory for as long as they queue, and listeners admit no client.
#[test]
fn queued_streams_with_a_body_end_when_memory_is_short() {
    let _alone = ALONE.lock();
    let (origin, (_deaf, address)) = (Origin::saying("hello"), deaf());
    let program = start_with(10, &origin, address);
    let bytes = large_streams();
    let mut streams = Vec::new();
    while info(&program, "MemStreamsRefused") == 0 && streams.len() < 100 {
        let Ok(mut stream) = TcpStream::connect(program.address("web")) else { continue };
        let _ = stream.set_write_timeout(Some(Duration::from_millis(300)));
        let _ = stream.write_all(&bytes);
        streams.push(stream);
    }
    // Requests of HTTP/1 take the rest.
    let head = b"POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
    let post = [&head[..], &[b'x'; 64 << 10]].concat();
    let mut posts = Vec::new();
    while info(&program, "MemRequestsEnded") == 0 && posts.len() < 1_500 {
        posts.extend(flood(&program, 30, &post));
    }
    eventually("a stream to be answered", || streams.iter().any(has_response).then_some(()));
    assert_serves(&program);
}

#[test]
fn streams_beyond_the_memory_limit_are_refused() {
    let _alone = ALONE.lock();
    let (origin, (_deaf, address)) = (Origin::saying("hello"), deaf());
    let program = start_with(10, &origin, address);
    let bytes = large_streams();
    let mut clients = Vec::new();
    for _ in 0..40 {
        let Ok(mut stream) = TcpStream::connect(program.address("web")) else { continue };
        let _ = stream.set_write_timeout(Some(Duration::from_millis(300)));
        let _ = stream.write_all(&bytes);
        clients.push(stream);
        if info(&program, "MemStreamsRefused") > 0 {
            break;
        }
    }
    let refused = info(&program, "MemStreamsRefused") + info(&program, "MemAcceptsPaused");
    assert!(refused > 0, "something was refused");
    assert_within(&program);
    drop(clients);
    assert_serves(&program);
}

/// A program whose address space is limited to `mib` above its use without load.
fn start_in_address_space(mib: u64, origin: &Origin, deaf: SocketAddr) -> Running {
    let probe = start("", origin, deaf);
    assert_eq!(info(&probe, "Nbthread"), 2, "all threads run");
    let status = std::fs::read_to_string(format!("/proc/{}/status", probe.pid()));
    let status = status.expect("it runs");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.strip_suffix(" kB"));
    let size: u64 = size.and_then(|size| size.trim().parse().ok()).expect("a size");
    drop(probe);
    let limit = format!("--as={}", (size << 10) + (mib << 20));
    let weir = program().display().to_string();
    let setup = Setup::new(&FILE.replace("<limit>", "")).program(Path::new("/usr/bin/prlimit"));
    let setup = setup.arguments(&[&limit, "--", &weir]);
    setup.with("origin", origin.address()).with("deaf", deaf).start()
}

#[test]
fn loads_beyond_a_limit_of_the_address_space_do_not_end_the_process() {
    let _alone = ALONE.lock();
    let (origin, (_deaf, address)) = (Origin::saying("hello"), deaf());
    let head = b"POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
    let upload = [&head[..], &[b'x'; 64 << 10]].concat();
    let long_line = [&b"GET /"[..], &[b'a'; 12_000]].concat();
    for mib in [10, 20, 50] {
        let mut program = start_in_address_space(mib, &origin, address);
        for _ in 0..3 {
            // Loads of all kinds run at once and are repeated, so that buffers released by one kind
            // serve another.
            let loads = [(500, &upload[..]), (30, &large_streams()), (500, &long_line)];
            let clients = loads.map(|(count, bytes)| flood(&program, count, bytes));
            assert!(program.is_running(), "{}", program.errors());
            drop(clients);
            assert_serves(&program);
        }
        eventually("memory to be free", || (info(&program, "MemLevel") == 0).then_some(()));
        let refused = ["MemAcceptsPaused", "MemStreamsRefused", "MemRequestsEnded"];
        let refused: u64 = refused.iter().map(|name| info(&program, name)).sum();
        assert!(refused > 0 || mib > 20, "{mib} MiB were enough");
        assert!(program.is_running());
    }
}

#[test]
fn keys_of_tables_and_maps_beyond_the_memory_limit_are_counted() {
    let _alone = ALONE.lock();
    let (origin, (_deaf, address)) = (Origin::saying("hello"), deaf());
    for path in ["track", "map"] {
        let program = start_with(10, &origin, address);
        let mut stream = TcpStream::connect(program.address("web")).expect("it listens");
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let (value, mut number, mut buffer) = ("v".repeat(900), 0, vec![0; 64 << 10]);
        // Forty mebibytes of keys and values.
        while number < 20_000 && info(&program, "MemEntriesRefused") == 0 {
            let request = |number: i32| {
                format!(
                    "GET /{path} HTTP/1.1\r\nHost: a\r\nX-Key: {number}-{value}\r\n\
                     X-Value: {value}\r\n\r\n"
                )
            };
            let batch: String = (number..number + 200).map(request).collect();
            number += 200;
            let sent = stream.write_all(batch.as_bytes());
            let mut answers = 0;
            while sent.is_ok() && answers < 200 {
                match stream.read(&mut buffer) {
                    Ok(count @ 1..) => {
                        answers +=
                            buffer[..count].windows(12).filter(|it| *it == b"HTTP/1.1 204").count();
                    }
                    _ => break,
                }
            }
            if answers < 200 {
                // The proxy has closed the connection between two requests, for want of memory.
                stream = TcpStream::connect(program.address("web")).expect("it listens");
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            }
        }
        assert_within(&program);
        if path == "map" {
            assert!(info(&program, "MemEntriesRefused") > 0, "{number} keys were all taken");
        }
        drop(stream);
        assert!(info(&program, "MemLevel") > 0, "keys stay");
        assert_serves(&program);
        program.cli("clear table keys");
        program.cli(&format!("clear map {}", program.path("m.map").display()));
        eventually("memory to be free", || (info(&program, "MemLevel") == 0).then_some(()));
        assert_serves(&program);
    }
}

#[test]
fn new_clients_are_served_while_memory_is_short() {
    let _alone = ALONE.lock();
    let (origin, (_deaf, address)) = (Origin::saying("hello"), deaf());
    let program = start_with(20, &origin, address);
    let mut stream = TcpStream::connect(program.address("web")).expect("it listens");
    let (key, mut buffer) = ("v".repeat(900), vec![0; 64 << 10]);
    // Entries of a table take 60 % of the room, and buffers of requests half of it.
    for number in 0..40_000 {
        let request = format!("GET /track HTTP/1.1\r\nHost: a\r\nX-Key: {number}-{key}\r\n\r\n");
        let sent = stream.write_all(request.as_bytes()).is_ok();
        let is_short = number % 200 == 0 && info(&program, "MemLevel") > 0;
        if !sent || is_short || !matches!(stream.read(&mut buffer), Ok(1..)) {
            break;
        }
    }
    let body = vec![b'x'; 64 << 10];
    let head = b"POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
    let (post, before) = ([&head[..], &body].concat(), info(&program, "CumConns"));
    let mut clients = Vec::new();
    for lot in 1..=20 {
        clients.extend(flood(&program, 30, &post));
        let accepted = || info(&program, "CumConns") - before;
        eventually("listeners to take them", || (accepted() >= lot * 30).then_some(()));
    }
    eventually("requests to end", || (info(&program, "MemRequestsEnded") > 0).then_some(()));
    assert_serves(&program);
    assert_within(&program);
    // A thread admits some clients between two measurements, and the rest after the next.
    let paused = info(&program, "MemAcceptsPaused");
    assert!(paused <= 20, "listeners go on after each of {paused} pauses");
}

#[test]
fn a_memory_limit_below_the_use_at_start_is_refused() {
    let setup = Setup::new("").file(
        "small.cfg",
        "global\n    tune.memory.limit 2m\nfrontend f\n    mode http\n    bind unix@<dir>/web.sock\n    \
         timeout client 1s\n",
    );
    let path = setup.path("small.cfg");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let text = text.replace("<dir>", &setup.path("").display().to_string());
    std::fs::write(&path, text).expect("it is ours");
    let ended = run(&["-db", "-f", &path.display().to_string()]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("A memory limit of 2 MB leaves too little"), "{said}");
    assert_eq!(ended.status.code(), Some(1));
}
