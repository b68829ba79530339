//! Which server a request goes to: the same as with HAProxy, key by key. Never looks at loads.

use crate::support::{Client, Origin, Running, Setup};
use std::fmt::Write as _;

#[path = "../../../proxy/src/hashing/tests/keys.rs"]
mod keys;

use keys::{ALGORITHMS, Request, TYPES, WEIGHTS, checksum, requests};

/// A frontend that leads to the backend that a request names, one per algorithm and hash type,
/// whose servers have these weights. All servers are one; the answer tells which was chosen.
fn farm() -> Setup {
    let mut text = "global\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n\
         frontend origin\n    bind <origin>\n    http-request return status 200\n\
         frontend web\n    bind <web>\n    \
         http-request set-src req.hdr(x-src)\n    \
         use_backend %[req.hdr(x-to)]\n    \
         http-response set-header x-server %s\n"
        .to_owned();
    for ((name, balance), kind) in
        ALGORITHMS.iter().flat_map(|algorithm| TYPES.iter().map(move |kind| (algorithm, kind)))
    {
        let backend = format!("{name}:{}", kind.replace(' ', ":"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "backend {backend}\n    balance {balance}\n    hash-type {kind}");
        for (n, weight) in (1..).zip(WEIGHTS) {
            let _ = writeln!(text, "    server {n} <origin> weight {weight}");
        }
    }
    Setup::new(&text)
}

/// The servers that the program chooses for the first requests, by number.
fn chosen(program: &Running, algorithm: &str, kind: &str, count: usize) -> Vec<usize> {
    let backend = format!("{algorithm}:{}", kind.replace(' ', ":"));
    let write = |request: Request| {
        format!(
            "GET {} HTTP/1.1\r\nhost: {}\r\nk: {}\r\nx-src: {}\r\nx-to: {backend}\r\n\r\n",
            request.uri, request.host, request.k, request.source
        )
    };
    let mut client = Client::connect(program.address("web"));
    let all: Vec<_> = requests(count).map(write).collect();
    let mut servers = Vec::new();
    for some in all.chunks(100) {
        client.send(some.concat());
        servers.extend(some.iter().map(|_| server(&mut client)));
    }
    servers
}

fn server(client: &mut Client) -> usize {
    let response = client.response();
    response.header("x-server").and_then(|name| name.parse().ok()).unwrap_or(0)
}

/// Whether the program chooses as HAProxy did; the table says what that was.
#[test]
fn every_hash_chooses_as_haproxy_did() {
    let table = include_str!("../../../proxy/src/hashing/tests/golden.tsv");
    let program = farm().start();
    for row in table.lines() {
        let columns: Vec<_> = row.split('\t').collect();
        let [algorithm, kind, first, _] = columns[..] else { panic!("four columns in: {row}") };
        let servers = chosen(&program, algorithm, kind, 100);
        let sum = checksum(servers.iter().copied());
        assert_eq!(format!("{sum:016x}"), first, "{algorithm} {kind}: {servers:?}");
    }
}

/// Where HAProxy is installed, both are asked.
#[test]
fn every_hash_chooses_as_haproxy_does() {
    let haproxy = std::path::Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    let (ours, theirs) = (farm().start(), farm().program(haproxy).start());
    for (algorithm, _) in ALGORITHMS {
        for kind in TYPES {
            let (ours, theirs) =
                (chosen(&ours, algorithm, kind, 100), chosen(&theirs, algorithm, kind, 100));
            assert_eq!(ours, theirs, "{algorithm} {kind}");
        }
    }
}

/// Writes the table that the tests hold: run it with `WEIR_TEST_PROGRAM=/usr/sbin/haproxy`.
#[test]
#[ignore = "takes minutes; measures what others are compared with"]
fn measure_the_golden_vectors() {
    // Two programs, since turns go on where they were.
    let (one, other) = (farm().start(), farm().start());
    let mut table = String::new();
    for (algorithm, _) in ALGORITHMS {
        for kind in TYPES {
            let sum =
                |program, count| checksum(chosen(program, algorithm, kind, count).into_iter());
            let (first, all) = (sum(&one, 100), sum(&other, 10_000));
            let _ = writeln!(table, "{algorithm}\t{kind}\t{first:016x}\t{all:016x}");
        }
    }
    let place = std::env::var("WEIR_GOLDEN").expect("WEIR_GOLDEN names the file to write");
    std::fs::write(place, table).expect("a file that can be written");
}

/// An HTTP proxy whose servers are all this origin, with this `balance` line.
fn backend(balance: &str, weights: &[u32], origin: &Origin) -> Setup {
    let mut text = format!(
        "global\n    stats socket <dir>/cli level admin\n    nbthread 1\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n\
         listen web\n    bind <web>\n    http-response set-header x-server %s\n    {balance}\n"
    );
    for (n, weight) in (1..).zip(weights) {
        let _ = writeln!(text, "    server {n} <origin> weight {weight}");
    }
    Setup::new(&text).with("origin", origin.address())
}

/// The servers of so many equal requests, one after the other.
fn turns(balance: &str, count: usize) -> String {
    let origin = Origin::saying("");
    let program = backend(balance, &[3, 2, 1], &origin).start();
    let mut client = program.web();
    let mut turn = || {
        client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
        server(&mut client).to_string()
    };
    (0..count).map(|_| turn()).collect()
}

#[test]
fn turns_are_taken_in_the_order_of_haproxy() {
    assert_eq!(turns("balance roundrobin", 12), "121312121312");
    assert_eq!(turns("balance static-rr", 12), "112123112123");
    assert_eq!(turns("balance leastconn", 6), "123123");
    assert_eq!(turns("balance first", 6), "111111");
    let source = turns("balance source", 3);
    assert!(["111", "222", "333"].contains(&&*source), "{source}");
    let random = turns("balance random(1)", 60);
    assert!(["1", "2", "3"].iter().all(|server| random.contains(server)), "{random}");
}

#[test]
fn a_posted_parameter_is_waited_for() {
    let origin = Origin::saying("");
    let program = backend("balance url_param k check_post", &[1; 7], &origin).start();
    let mut ask = |value: &str| {
        let mut client = program.web();
        client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\na=1");
        client.send(format!("&k={value:3}"));
        server(&mut client)
    };
    let first: Vec<_> = ["a", "bcd", "x1", "Q9z", "77"].map(&mut ask).into();
    let again: Vec<_> = ["a", "bcd", "x1", "Q9z", "77"].map(&mut ask).into();
    assert_eq!(first, again);
    assert!(first.iter().any(|server| *server != first[0]), "{first:?}");
}

#[test]
fn rdp_cookies_choose_the_server() {
    let mut text = "global\n    stats socket <dir>/cli level admin\n\
        defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 20s\n    \
        timeout server 20s\n\
        listen web\n    bind <web>\n    tcp-request inspect-delay 5s\n    \
        tcp-request content accept if { rdp_cookie -m found }\n    balance rdp-cookie\n"
        .to_owned();
    for n in 1..=5 {
        let _ = writeln!(text, "    server {n} <origin>");
    }
    let origin = Origin::new(|mut peer| {
        let hello = peer.client.take(34);
        peer.send(hello);
    });
    let program = Setup::new(&text).with("origin", origin.address()).start();
    let sessions = || (1..=5).map(|n| program.stat("web", &n.to_string(), "stot")).collect();
    let mut seen: Vec<Vec<String>> = Vec::new();
    for user in ["anna", "otto", "emil"] {
        for _ in 0..4 {
            let mut client = program.web();
            let mut request =
                b"\x03\x00\x00\x22\x1d\xe0\x00\x00\x00\x00\x00Cookie: mstshash=".to_vec();
            request.extend_from_slice(format!("{user}\r\n").as_bytes());
            client.send(&request);
            assert_eq!(client.take(request.len()), request);
        }
        seen.push(sessions());
    }
    let last = seen.last().expect("three users");
    let whole = last.iter().all(|count| count.parse::<u32>().expect("a count") % 4 == 0);
    assert!(whole, "each user stays on one server: {seen:?}");
}

#[test]
fn a_bound_spreads_a_key_that_everybody_asks_for() {
    for (bound, expected) in [("", 1), ("hash-balance-factor 101", 3)] {
        let balance = format!("balance uri\n    hash-type consistent\n    {bound}");
        let origin = Origin::new(|mut peer| {
            peer.request();
            peer.client.rest();
        });
        let program = backend(&balance, &[1; 3], &origin).start();
        let mut clients = Vec::new();
        for n in 0..9 {
            let mut client = program.web();
            client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
            clients.push(client);
            origin.request(n);
        }
        let busy = (1..=3).filter(|n| program.stat("web", &n.to_string(), "scur") != "0").count();
        assert_eq!(busy, expected, "{bound}");
    }
}
