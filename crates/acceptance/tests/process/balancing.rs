//! Which server a request goes to: the same as with HAProxy, key by key.

use crate::support::{Client, Origin, Running, Setup, program};
use std::fmt::Write as _;
use std::path::Path;

#[path = "../../../upstream/src/balance_key/tests/keys.rs"]
mod keys;

use keys::{ALGORITHMS, RDP, Request, TYPES, WEIGHTS, checksum, requests};

/// A program with a backend per algorithm and hash type, whose servers have these weights, and the
/// origins of the one algorithm that is about connections.
struct Farm {
    program: Running,
    _origins: Vec<Origin>,
}

/// A frontend that leads to the backend that a request names. All servers are the same origin; the
/// answer names the chosen one. There are five terminal servers, and a listener per hash type in
/// front of them.
fn farm(program: &Path) -> Farm {
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
        let proxy = proxy(name, kind);
        // Writing to a string cannot fail.
        let _ = if *name == RDP {
            writeln!(
                text,
                "listen {proxy}\n    bind <{proxy}>\n    mode tcp\n    \
                 tcp-request inspect-delay 5s\n    \
                 tcp-request content accept if {{ req.rdp_cookie_cnt gt 0 }}"
            )
        } else {
            writeln!(text, "backend {proxy}")
        };
        let _ = writeln!(text, "    balance {balance}\n    hash-type {kind}");
        let origin = if *name == RDP { "terminal" } else { "origin" };
        for (n, weight) in (1..).zip(WEIGHTS) {
            let place = if *name == RDP { n.to_string() } else { String::new() };
            let _ = writeln!(text, "    server {n} <{origin}{place}> weight {weight}");
        }
    }
    let origins: Vec<_> = (1..=WEIGHTS.len()).map(terminal_server).collect();
    let mut setup = Setup::new(&text).program(program);
    for (n, origin) in (1..).zip(&origins) {
        setup = setup.with(&format!("terminal{n}"), origin.address());
    }
    Farm { program: setup.start(), _origins: origins }
}

fn proxy(algorithm: &str, kind: &str) -> String {
    format!("{algorithm}:{}", kind.replace(' ', ":"))
}

/// The first bytes of a terminal server's client: a connection request in a packet of its length
/// ([MS-RDPBCGR] 2.2.1.1). Some connections have another cookie, which is no key for balancing.
fn hello(request: &Request) -> Vec<u8> {
    let cookie = match request.cookie() {
        Some(cookie) => format!("Cookie: mstshash={cookie}\r\n"),
        None => "Cookie: msts=1.2.3\r\n".to_owned(),
    };
    let rest = 7 + u8::try_from(cookie.len()).expect("cookies are short");
    let mut hello = vec![3, 0, 0, 4 + rest, rest - 1, 0xe0, 0, 0, 0, 0, 0];
    hello.extend_from_slice(cookie.as_bytes());
    hello
}

/// Sends its number to each client that has sent a greeting.
fn terminal_server(number: usize) -> Origin {
    Origin::new(move |mut peer| {
        let start = peer.client.take(4);
        peer.client.take(usize::from(start[3]) - 4);
        peer.send(number.to_string());
    })
}

/// The servers that the program chooses for the first requests, by number.
fn chosen(farm: &Farm, algorithm: &str, kind: &str, count: usize) -> Vec<usize> {
    let proxy = proxy(algorithm, kind);
    if algorithm == RDP {
        let connect = |request: Request| {
            let mut client = farm.program.connect(&proxy);
            client.send(hello(&request));
            let number = String::from_utf8(client.rest()).expect("a number");
            number.parse().unwrap_or(0)
        };
        return requests(count).map(connect).collect();
    }
    let write = |request: Request| {
        format!(
            "GET {} HTTP/1.1\r\nhost: {}\r\nk: {}\r\nx-src: {}\r\nx-to: {proxy}\r\n\r\n",
            request.uri, request.host, request.k, request.source
        )
    };
    let mut client = Client::connect(farm.program.address("web"));
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
    let table = include_str!("../../../upstream/src/balance_key/tests/golden.tsv");
    let farm = farm(&program());
    for row in table.lines() {
        let columns: Vec<_> = row.split('\t').collect();
        let [algorithm, kind, first, _] = columns[..] else { panic!("four columns in: {row}") };
        let servers = chosen(&farm, algorithm, kind, 100);
        let sum = checksum(servers.iter().copied());
        assert_eq!(format!("{sum:016x}"), first, "{algorithm} {kind}: {servers:?}");
    }
}

/// Where HAProxy is installed, both are asked.
#[test]
fn every_hash_chooses_as_haproxy_does() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    let (ours, theirs) = (farm(&program()), farm(haproxy));
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
    // Two programs are used, because turns continue from request to request.
    let (one, other) = (farm(&program()), farm(&program()));
    let row = |algorithm, kind| {
        let sum = |farm, count| checksum(chosen(farm, algorithm, kind, count).into_iter());
        let (first, all) = (sum(&one, 100), sum(&other, 10_000));
        format!("{algorithm}\t{kind}\t{first:016x}\t{all:016x}\n")
    };
    let mut table = String::new();
    for (algorithm, _) in ALGORITHMS {
        std::thread::scope(|scope| {
            let rows = TYPES.map(|kind| scope.spawn(move || row(algorithm, kind)));
            table.extend(rows.map(|row| row.join().expect("a row")));
        });
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

/// The servers of `count` equal requests, in order.
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
