//! Requests that wait for a server: limits that move, queues that are full, servers that go away.

use crate::support::{Client, LogReceiver, Origin, Running, Setup, eventually, reply, shape};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// An origin that answers one request per message, saying `body`.
fn held(body: &'static str) -> (Origin, Sender<()>) {
    let (release, released) = channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            if released.lock().expect("no test thread panicked").recv().is_err() {
                return;
            }
            peer.send(reply("200 OK", body));
        }
    });
    (origin, release)
}

/// Clients that have each sent a request, one after the other.
fn ask(weir: &Running, count: usize, request: &str) -> Vec<Client> {
    let begin = total(weir);
    let mut clients = Vec::new();
    for number in 1..=count {
        let mut client = weir.web();
        client.send(request);
        eventually("the request has arrived", || (total(weir) == begin + number).then_some(()));
        clients.push(client);
    }
    clients
}

fn total(weir: &Running) -> usize {
    weir.stat("web", "FRONTEND", "req_tot").parse().expect("a number")
}

const GET: &str = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";

#[test]
fn a_limit_rises_with_the_load_of_the_backend() {
    let (origin, release) = held("late");
    let back = "    fullconn 8\n    server s <origin> minconn 1 maxconn 4\n";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let served = || (weir.stat("app", "s", "scur"), weir.stat("app", "BACKEND", "qcur"));
    let mut clients = ask(&weir, 3, GET);
    assert_eq!(served(), ("1".into(), "2".into()), "3 of 8 streams: a limit of 1");
    clients.extend(ask(&weir, 1, GET));
    eventually("4 of 8 streams: a limit of 2", || (served().0 == "2").then_some(()));
    clients.extend(ask(&weir, 4, GET));
    eventually("full load: maxconn", || (served().0 == "4").then_some(()));
    (0..8).for_each(|_| release.send(()).expect("the origin listens"));
    clients.iter_mut().for_each(|client| assert_eq!(client.response().text(), "late"));
    assert_eq!(weir.stat("app", "s", "smax"), "4");
}

#[test]
fn a_full_queue_sends_requests_elsewhere() {
    let (first, release) = held("first");
    let second = Origin::saying("second");
    let back = "    balance first\n    cookie SRV insert indirect\n    \
                server a <a> cookie a maxconn 1 maxqueue 1\n    server b <b> cookie b\n";
    let log = LogReceiver::new();
    let weir = Setup::http("", back)
        .with("a", first.address())
        .with("b", second.address())
        .with("log", log.address())
        .start();
    let bound = "GET / HTTP/1.1\r\nHost: test\r\nCookie: SRV=a\r\n\r\n";
    let mut waiting = ask(&weir, 2, bound);
    eventually("one waits", || (weir.stat("app", "a", "qcur") == "1").then_some(()));
    let answer = weir.web().ask(bound);
    assert_eq!(answer.text(), "second");
    assert_eq!(answer.header("set-cookie"), Some("SRV=b; path=/"), "persistence is broken");
    assert!(log.line().contains("/+0 0/0 "), "and told of");
    assert_eq!(["a", "BACKEND"].map(|name| weir.stat("app", name, "wredis")), ["1", "1"]);
    (0..2).for_each(|_| release.send(()).expect("the origin listens"));
    waiting.iter_mut().for_each(|client| assert_eq!(client.response().text(), "first"));
}

#[test]
fn requests_for_a_server_that_goes_down_go_to_another() {
    let (first, release) = held("first");
    let second = Origin::saying("second");
    let back = "    cookie SRV insert indirect\n    server a <a> cookie a maxconn 1\n    \
                server b <b> cookie b\n";
    let weir = Setup::http("", back).with("a", first.address()).with("b", second.address()).start();
    let mut waiting = ask(&weir, 2, "GET / HTTP/1.1\r\nHost: test\r\nCookie: SRV=a\r\n\r\n");
    eventually("one waits", || (weir.stat("app", "a", "qcur") == "1").then_some(()));
    weir.cli("set server app/a state maint");
    assert_eq!(waiting[1].response().text(), "second", "while the other is served still");
    release.send(()).expect("the origin listens");
    assert_eq!(waiting[0].response().text(), "first");
}

/// Waiting requests get slots of a backup server as soon as it is the only server left.
#[test]
fn a_backup_server_takes_over_waiting_requests() {
    let ((first, _release), second) = (held("first"), Origin::saying("second"));
    let back = "    server a <a> maxconn 1\n    server b <b> backup\n";
    let weir = Setup::http("", back).with("a", first.address()).with("b", second.address()).start();
    let mut waiting = ask(&weir, 2, GET);
    eventually("one waits", || (weir.stat("app", "BACKEND", "qcur") == "1").then_some(()));
    weir.cli("set server app/a health down");
    assert_eq!(waiting[1].response().text(), "second", "while the other is served still");
}

/// As in HAProxy, requests that wait for any server continue waiting for `timeout queue`, but new
/// requests do not join them.
#[test]
fn a_wait_outlives_the_last_server() {
    for (leaves, comes) in [
        ("set server app/s state maint", "set server app/s state ready"),
        ("set server app/s health down", "set server app/s health up"),
        ("set weight app/s 0", "set weight app/s 1"),
    ] {
        let ((origin, release), log) = (held("late"), LogReceiver::new());
        let back = "    timeout queue 20s\n    server s <origin> check inter 1h maxconn 1\n";
        let weir = Setup::http("", back).between(&origin, &log);
        let mut clients = ask(&weir, 2, GET);
        eventually("one waits", || (weir.stat("app", "BACKEND", "qcur") == "1").then_some(()));
        weir.cli(leaves);
        assert_eq!(weir.web().get("/").status(), 503, "{leaves}");
        assert_eq!(shape(&log.find(" 503 ")), "web app/<NOSRV> 503 SC-- \"GET / HTTP/1.1\"");
        assert_eq!(weir.stat("app", "BACKEND", "qcur"), "1", "{leaves}");
        (0..2).for_each(|_| release.send(()).expect("the origin listens"));
        assert_eq!(clients[0].response().text(), "late");
        weir.cli(comes);
        assert_eq!(clients[1].response().text(), "late", "{comes}");
    }
}

#[test]
fn a_wait_for_servers_that_went_down_ends_in_time() {
    let ((origin, _release), log) = (held("never"), LogReceiver::new());
    let back = "    timeout queue 500ms\n    server s <origin> maxconn 1\n";
    let weir = Setup::http("", back).between(&origin, &log);
    let mut clients = ask(&weir, 2, GET);
    weir.cli("set server app/s state maint");
    assert_eq!(clients[1].response().status(), 503);
    assert_eq!(shape(&log.find(" 503 ")), "web app/<NOSRV> 503 sQ-- \"GET / HTTP/1.1\"");
}

#[test]
fn a_higher_limit_lets_waiting_requests_in() {
    let (origin, release) = held("late");
    let back = "    server s <origin> maxconn 1\n";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let mut clients = ask(&weir, 3, GET);
    assert_eq!(weir.stat("app", "s", "scur"), "1");
    weir.cli("set maxconn server app/s 2");
    eventually("two are served", || (weir.stat("app", "s", "scur") == "2").then_some(()));
    (0..3).for_each(|_| release.send(()).expect("the origin listens"));
    clients.iter_mut().for_each(|client| assert_eq!(client.response().text(), "late"));
}

/// More of the request has arrived than is read while it waits, so the poller has to report the end
/// behind it.
#[test]
fn a_client_that_leaves_the_queue_in_the_middle_of_a_body_ends_its_request() {
    for (request, shut) in [(POST, false), (POST, true), (GET, true)] {
        let (origin, release) = held("first");
        let log = LogReceiver::new();
        let back =
            "    option abortonclose\n    timeout queue 20s\n    server s <origin> maxconn 1";
        let weir = Setup::http("", back).between(&origin, &log);
        let mut first = ask(&weir, 1, GET);
        origin.request(0);
        let (mut second, rest) = (weir.web(), vec![b'x'; 60_000]);
        second.send([request.as_bytes(), &rest].concat());
        eventually("one waits", || (weir.stat("app", "BACKEND", "qcur") == "1").then_some(()));
        match shut {
            true => second.half_close(),
            false => second.close(),
        }
        let line = log.line();
        assert!(line.contains(" CQ-- "), "{line}");
        release.send(()).expect("the origin listens");
        assert_eq!(first[0].response().text(), "first");
        assert_eq!(origin.requests().len(), 1);
    }
}

const POST: &str = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n";

/// As in HAProxy, the log has the number of requests that were served while a request waited,
/// itself included, so that priorities do not falsify it.
#[test]
fn positions_count_requests_served_meanwhile() {
    let ((origin, release), log) = (held("late"), LogReceiver::new());
    let front = "    log-format \"%HP %sq/%bq\"\n    \
                 http-request set-priority-class int(-10) if { path /urgent }";
    let back = "    server s <origin> maxconn 1\n";
    let weir = Setup::http(front, back).between(&origin, &log);
    let paths = ["/first", "/a", "/b", "/urgent"];
    let asked = paths.map(|path| ask(&weir, 1, &format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")));
    eventually("three wait", || (weir.stat("app", "BACKEND", "qcur") == "3").then_some(()));
    for line in ["/first 0/0", "/urgent 0/1", "/a 0/2", "/b 0/3"] {
        release.send(()).expect("the origin listens");
        assert_eq!(log.line(), line);
    }
    drop(asked);
}
