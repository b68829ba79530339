//! Tests of `tcp-request` and `tcp-response` rules over real sockets: verdicts, counters and log
//! lines.

use settings::{Mode, ProxySection};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use testing::{Origin, PATIENCE, World};
use transport::stats::counters::Metric;

/// Longer than any test waits.
const LONG: u32 = 10 * PATIENCE.as_millis() as u32;

/// A listener with these rules in front of `origin`.
fn listen(mode: Mode, lines: &[&str], origin: &Origin) -> (ProxySection, SocketAddr) {
    let (mut proxy, address) =
        testing::listen("px", mode, vec![testing::server(1, origin.address)]);
    proxy.rules = testing::rules(mode, lines);
    (proxy, address)
}

/// The client's received bytes after it sent this text, and whether its connection was reset.
fn say(world: &World, address: SocketAddr, text: &'static [u8], shut: bool) -> (Vec<u8>, bool) {
    world.play(move || {
        let mut stream = testing::client(address);
        let _ = stream.write_all(text);
        if shut {
            let _ = stream.shutdown(Shutdown::Write);
        }
        hear(&mut stream)
    })
}

fn hear(stream: &mut TcpStream) -> (Vec<u8>, bool) {
    let mut heard = Vec::new();
    let end = stream.read_to_end(&mut heard);
    (heard, end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset))
}

fn get(path: &str) -> &'static [u8] {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").leak().as_bytes()
}

/// The line without its second word, the times.
fn tail(line: &str) -> String {
    let (_, rest) = line.split_once("px/").unwrap();
    let words: Vec<_> = rest.split(' ').collect();
    [&words[..1], &words[2..]].concat().join(" ")
}

#[test]
fn a_connection_that_is_not_welcome_is_no_session() {
    let origin = Origin::echo();
    for (line, metric) in [
        ("tcp-request connection reject if { src 127.0.0.0/8 }", Metric::DeniedConnections),
        ("tcp-request session reject if { src 127.0.0.0/8 }", Metric::DeniedSessions),
    ] {
        let (proxy, address) = listen(Mode::Http, &[line], &origin);
        let world = World::new(vec![proxy]);
        assert_eq!(say(&world, address, b"", true).0, b"");
        let front = world.frontend("px");
        assert_eq!(front.counters.sum(metric), 1, "{line}");
        assert_eq!(front.counters.sum(Metric::Connections), 1);
        assert_eq!(front.counters.sum(Metric::Sessions), 0);
        assert_eq!(front.connections.current(), 0);
        assert!(world.lines().is_empty(), "it is not logged");
    }
    assert_eq!(origin.served(), 0);
}

/// The client may or may not see the end, depending on its own close, so the test does not look
/// there.
#[test]
fn a_connection_that_vanishes_is_no_session() {
    let origin = Origin::echo();
    let (proxy, address) = listen(Mode::Http, &["tcp-request connection silent-drop"], &origin);
    let world = World::new(vec![proxy]);
    let client = TcpStream::connect(address).expect("a listener");
    let front = world.frontend("px");
    world.until("it is refused", || front.counters.sum(Metric::DeniedConnections) == 1);
    assert_eq!(front.counters.sum(Metric::Connections), 1);
    assert_eq!(front.counters.sum(Metric::Sessions), 0);
    assert_eq!(front.connections.current(), 0);
    assert!(world.lines().is_empty(), "it is not logged");
    drop(client);
}

#[test]
fn variables_of_the_session_reach_its_requests() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let lines = [
        "tcp-request connection set-var(sess.a) src",
        "tcp-request connection accept",
        "tcp-request connection reject",
        "tcp-request session set-var-fmt(sess.b) b-%[src]",
        "tcp-request content set-var(txn.c) path",
        "http-request return status 200 content-type a lf-string %[var(sess.a)],%[var(sess.b)],%[var(txn.c)]",
    ];
    let (proxy, address) = listen(Mode::Http, &lines, &origin);
    let world = World::new(vec![proxy]);
    let (heard, _) = say(&world, address, get("/p"), false);
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.ends_with("\r\n\r\n127.0.0.1,b-127.0.0.1,/p"), "{heard}");
}

#[test]
fn contents_are_waited_for_until_they_decide() {
    let origin = Origin::echo();
    let lines = [
        "tcp-request content reject if { req.payload(0,3) -m str bad }",
        "tcp-request content accept if { req.len gt 0 }",
        "tcp-request content reject",
    ];
    let (mut proxy, address) = listen(Mode::Tcp, &lines, &origin);
    proxy.timeouts.request_inspection = Some(LONG);
    let world = World::new(vec![proxy]);
    assert_eq!(say(&world, address, b"bad", false).0, b"");
    assert_eq!(tail(&world.line("PR")), "<NOSRV> 0 PR 1/1/0/0/0 0/0");
    assert_eq!(say(&world, address, b"good", true).0, b"good");
    assert_eq!(say(&world, address, b"ba", true).0, b"ba", "the end is what it is");
    assert_eq!(say(&world, address, b"", true).0, b"", "nothing came, and nothing will");
    let front = world.frontend("px");
    world.until("all are gone", || front.connections.current() == 0);
    assert_eq!(front.counters.sum(Metric::DeniedRequests), 2);
    assert_eq!(world.backend("px").counters.sum(Metric::DeniedRequests), 0);
    assert_eq!(origin.served(), 2);
    assert_eq!(world.workers[0].buffers.in_use(), 0);
}

#[test]
fn the_delay_ends_the_wait_and_patience_may_end_it_before() {
    let origin = Origin::echo();
    let line = ["tcp-request content reject if WAIT_END"];
    let (mut proxy, address) = listen(Mode::Tcp, &line, &origin);
    proxy.timeouts.request_inspection = Some(20);
    let world = World::new(vec![proxy]);
    assert_eq!(say(&world, address, b"x", false).0, b"");
    assert_eq!(tail(&world.line("PR")), "<NOSRV> 0 PR 1/1/0/0/0 0/0");
    let (mut proxy, address) = listen(Mode::Tcp, &line, &origin);
    (proxy.timeouts.request_inspection, proxy.timeouts.client) = (Some(LONG), Some(20));
    let world = World::new(vec![proxy]);
    assert_eq!(say(&world, address, b"x", false).0, b"");
    assert_eq!(tail(&world.line("cR")), "<NOSRV> 0 cR 1/1/0/0/0 0/0");
    assert_eq!(world.frontend("px").counters.sum(Metric::FailedRequests), 1);
}

#[test]
fn http_is_understood_on_a_connection_of_bytes() {
    let origin = Origin::answering("hello");
    let lines = [
        "tcp-request content accept if { req.hdr(host) x } { path /a }",
        "tcp-request content reject",
    ];
    let (mut proxy, address) = listen(Mode::Tcp, &lines, &origin);
    proxy.timeouts.request_inspection = Some(200);
    let world = World::new(vec![proxy]);
    assert_eq!(say(&world, address, get("/a"), false).0, b"hello");
    assert_eq!(say(&world, address, get("/b"), false).0, b"");
    assert_eq!(say(&world, address, b"GARBAGE\r\n\r\n", false).0, b"");
}

#[test]
fn a_backend_has_its_own_rules() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    let (mut front, address) =
        listen(Mode::Http, &["tcp-request content reject if { path /f }"], &origin);
    front.back = None;
    front.front.as_mut().unwrap().default_backend = Some(1);
    let server = testing::server(1, origin.address);
    let mut back = testing::backend("be", Mode::Http, vec![server]);
    back.rules = testing::rules(Mode::Http, &["tcp-request content reject if { path /b }"]);
    let world = World::new(vec![front, back]);
    assert_eq!(say(&world, address, get("/f"), false).0, b"");
    assert!(world.line("BADREQ").contains(" px px/<NOSRV> -1/-1/-1/-1/"), "{:?}", world.lines());
    assert_eq!(say(&world, address, get("/b"), false).0, b"");
    let line = world.line("GET /b");
    assert!(
        line.contains(" px be/<NOSRV> -1/-1/-1/-1/") && line.contains(" -1 0 - - PR-- "),
        "{line}"
    );
    assert!(say(&world, address, get("/c"), false).0.ends_with(b"hi"));
    assert_eq!(world.frontend("px").counters.sum(Metric::DeniedRequests), 2);
}

#[test]
fn a_servers_first_words_can_be_refused() {
    let origin = Origin::echo();
    let lines = [
        "tcp-response content close if { res.payload(0,3) -m str bye }",
        "tcp-response content reject if { res.payload(0,3) -m str bad }",
    ];
    let (mut proxy, address) = listen(Mode::Tcp, &lines, &origin);
    proxy.timeouts.response_inspection = Some(LONG);
    let world = World::new(vec![proxy]);
    assert_eq!(say(&world, address, b"bad", false).0, b"");
    assert_eq!(tail(&world.line("PD")), "s1 0 PD 1/1/0/0/0 0/0");
    assert_eq!(say(&world, address, b"good", true).0, b"good");
    assert_eq!(say(&world, address, b"go", true).0, b"go", "the end is what it is");
    assert_eq!(say(&world, address, b"bye", false).0, b"bye", "closed after what was there");
    let back = world.backend("px");
    for counters in [&world.frontend("px").counters, &back.counters, &back.servers[0].counters] {
        assert_eq!(counters.sum(Metric::DeniedResponses), 1);
    }
    world.until("all are gone", || world.frontend("px").connections.current() == 0);
    assert_eq!(world.workers[0].buffers.in_use(), 0);
}

#[test]
fn a_response_can_be_refused_without_an_error_response() {
    let origin = Origin::answering("HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\nhi");
    let (proxy, address) =
        listen(Mode::Http, &["tcp-response content reject if { status 404 }"], &origin);
    let world = World::new(vec![proxy]);
    assert_eq!(say(&world, address, get("/"), false).0, b"");
    assert!(world.line("GET /").contains(" PD-- "));
}

#[test]
fn an_accept_of_inherited_rules_is_final() {
    let origin = Origin::echo();
    let (mut proxy, address) = listen(
        Mode::Http,
        &[
            "http-request deny if { path /a }",
            "http-request return status 200",
            "http-after-response set-header x-own 1",
        ],
        &origin,
    );
    let inherited = [
        "http-request allow if { path /a }",
        "http-after-response set-header x-inherited 1",
        "http-after-response allow",
    ];
    proxy.inherited_rules = Some(Arc::new(testing::rules(Mode::Http, &inherited)));
    proxy.back = None;
    let world = World::new(vec![proxy]);
    let heard = String::from_utf8(say(&world, address, get("/a"), false).0).unwrap();
    assert!(heard.starts_with("HTTP/1.1 503 "), "not refused, but there is no backend: {heard}");
    assert!(heard.contains("x-inherited: 1\r\n") && !heard.contains("x-own"), "{heard}");
}
