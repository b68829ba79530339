//! Which server a request goes to: algorithms, persistence, backups, queues, redispatch.

use crate::support::{LogReceiver, Origin, Setup, eventually, reply, shape};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// Three origins that say their names, and a set-up that knows them as `<a>`, `<b>` and `<c>`.
fn three(back: &str) -> (Vec<Origin>, Setup) {
    let origins: Vec<Origin> = ["a", "b", "c"].map(Origin::saying).into();
    let mut setup = Setup::http("", back);
    for (name, origin) in ["a", "b", "c"].iter().zip(&origins) {
        setup = setup.with(name, origin.address());
    }
    (origins, setup)
}

const PLAIN: &str = "    server a <a>\n    server b <b>\n    server c <c>\n";

fn closed_port() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("a port")
}

#[test]
fn weights_are_kept_exactly() {
    for algorithm in ["roundrobin", "static-rr"] {
        let back = format!(
            "    balance {algorithm}\n    server a <a> weight 1\n    server b <b> weight 2\n    \
             server c <c> weight 3\n"
        );
        let (_origins, setup) = three(&back);
        let weir = setup.start();
        let mut client = weir.web();
        let mut counts = BTreeMap::new();
        for _ in 0..60 {
            *counts.entry(client.get("/").text()).or_insert(0) += 1;
        }
        assert_eq!(counts.into_values().collect::<Vec<_>>(), [10, 20, 30], "{algorithm}");
    }
}

#[test]
fn source_and_first_stay_with_one() {
    for algorithm in ["source", "first"] {
        let (_origins, setup) = three(&format!("    balance {algorithm}\n{PLAIN}"));
        let weir = setup.start();
        let first = weir.web().get("/").text();
        for _ in 0..10 {
            assert_eq!(weir.web().get("/").text(), first, "{algorithm}");
        }
    }
}

#[test]
fn leastconn_and_random_use_all() {
    for algorithm in ["leastconn", "random"] {
        let (origins, setup) = three(&format!("    balance {algorithm}\n{PLAIN}"));
        let weir = setup.start();
        let mut client = weir.web();
        for _ in 0..60 {
            client.expect_open("/");
        }
        assert!(origins.iter().all(|origin| !origin.requests().is_empty()), "{algorithm}");
    }
}

#[test]
fn an_inserted_cookie_keeps_a_client_at_its_server() {
    let log = LogReceiver::new();
    let back = "    cookie SRV insert indirect nocache\n    server a <a> cookie one\n    \
                server b <b> cookie two\n    server c <c> cookie three\n";
    let (origins, setup) = three(back);
    let weir = setup.with("log", log.address()).start();
    let mut client = weir.web();
    let answer = client.get("/");
    let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
    assert_eq!(cookie, "SRV=one; path=/");
    assert_eq!(answer.header("cache-control"), None, "nobody would cache it");
    assert_eq!(shape(&log.line()), "web app/a 200 --NI \"GET / HTTP/1.1\"");

    for _ in 0..5 {
        let request = "GET /c HTTP/1.1\r\nHost: test\r\nCookie: x=1; SRV=two; y=2\r\n\r\n";
        let answer = client.ask(request);
        assert_eq!((answer.text().as_str(), answer.header("set-cookie")), ("b", None));
        assert_eq!(shape(&log.line()), "web app/b 200 --VN \"GET /c HTTP/1.1\"");
    }
    assert_eq!(origins[1].request(0).header("cookie"), Some("x=1; y=2"));

    let answer = client.ask("GET / HTTP/1.1\r\nHost: test\r\nCookie: SRV=unknown\r\n\r\n");
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.starts_with("SRV=")));
    assert!(log.line().contains(" --II "), "an invalid cookie is replaced");
}

#[test]
fn a_cacheable_response_with_a_cookie_becomes_private() {
    let origin = Origin::new(|peer| {
        crate::support::serve_forever(peer, |request| {
            let field = request.target().trim_start_matches('/').replace("%20", " ");
            format!("HTTP/1.1 200 OK\r\n{field}\r\nContent-Length: 0\r\n\r\n").into_bytes()
        })
    });
    let back = "    cookie SRV insert indirect nocache\n    server s <origin> cookie one\n";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    for (method, field, values) in [
        ("GET", "Cache-Control:%20max-age=10", &["max-age=10", "private"][..]),
        ("GET", "ETag:%20x", &["private"]),
        ("GET", "Last-Modified:%20x", &["private"]),
        ("GET", "Expires:%20x", &["private"]),
        ("GET", "X-Other:%20x", &[]),
        ("GET", "Cache-Control:%20public", &["public"]),
        ("GET", "Cache-Control:%20public,max-age=9", &["public,max-age=9", "private"]),
        ("GET", "Cache-Control:%20no-cache,max-age=9", &["no-cache,max-age=9"]),
        ("GET", "Cache-Control:%20no-cache", &["no-cache"]),
        ("GET", "Cache-Control:%20private", &["private"]),
        ("OPTIONS", "ETag:%20x", &["private"]),
        ("POST", "ETag:%20x", &[]),
        ("PUT", "Last-Modified:%20x", &[]),
        ("PATCH", "Expires:%20x", &[]),
        ("DELETE", "Cache-Control:%20max-age=10", &["max-age=10"]),
        ("POST", "Cache-Control:%20public,max-age=9", &["public,max-age=9", "private"]),
    ] {
        let request = format!("{method} /{field} HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
        let answer = weir.web().ask(request);
        let found: Vec<_> = answer.all("cache-control").collect();
        assert_eq!(found, values, "{method} {field}");
    }
}

#[test]
fn a_cookie_of_a_down_server_is_replaced() {
    let log = LogReceiver::new();
    let back = "    cookie SRV insert indirect\n    option redispatch\n    \
                server a <a> cookie one disabled\n    server b <b> cookie two\n";
    let (_origins, setup) = three(back);
    let weir = setup.with("log", log.address()).start();
    let answer = weir.web().ask("GET / HTTP/1.1\r\nHost: test\r\nCookie: SRV=one\r\n\r\n");
    assert_eq!(answer.text(), "b");
    assert_eq!(answer.header("set-cookie"), Some("SRV=two; path=/"));
    assert_eq!(shape(&log.line()), "web app/b 200 --DI \"GET / HTTP/1.1\"");
}

#[test]
fn backups_serve_when_no_other_server_does() {
    let back = "    server a <a>\n    server b <b> backup\n    server c <c> backup\n";
    let (_origins, setup) = three(back);
    let weir = setup.start();
    let mut client = weir.web();
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "a");
    }
    weir.cli("disable server app/a");
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "b", "the first backup alone");
    }
    weir.cli("disable server app/b");
    assert_eq!(client.get("/").text(), "c");
    weir.cli("enable server app/a");
    assert_eq!(client.get("/").text(), "a");
}

#[test]
fn all_backups_serve_together_on_demand() {
    let back = "    option allbackups\n    server a <a> disabled\n    server b <b> backup\n    \
                server c <c> backup\n";
    let (_origins, setup) = three(back);
    let weir = setup.start();
    let mut client = weir.web();
    let mut answers: Vec<String> = (0..4).map(|_| client.get("/").text()).collect();
    answers.sort();
    assert_eq!(answers, ["b", "b", "c", "c"]);
}

#[test]
fn a_server_without_checks_warms_up_by_itself() {
    let (_origins, setup) = three(
        "    server long <a> weight 100 slowstart 1h\n    server short <b> weight 100 slowstart 200ms",
    );
    let weir = setup.start();
    for server in ["long", "short"] {
        for state in ["maint", "ready"] {
            weir.cli(&format!("set server app/{server} state {state}"));
        }
    }
    let told = |server: &str| ["weight", "throttle"].map(|it| weir.stat("app", server, it));
    assert_eq!(told("long"), ["7", "6"]);
    eventually("the other is warm", || (told("short") == ["100", ""]).then_some(()));
    weir.cli("set server app/long state drain");
    weir.cli("set server app/long state ready");
    assert_eq!(told("long"), ["7", "6"], "a drain changes nothing");
    weir.cli("set server app/short state drain");
    weir.cli("set server app/short state ready");
    assert_eq!(told("short"), ["100", ""], "nor does its end begin anything");
}

#[test]
fn a_full_server_s_requests_wait_in_its_queue() {
    let (tell, told) = channel::<()>();
    let told = Arc::new(Mutex::new(told));
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            told.lock().expect("nothing panics with it").recv().expect("the test goes on");
            peer.send(reply("200 OK", "turn"));
        }
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin> maxconn 1").between(&origin, &log);
    let mut clients: Vec<_> = (0..4).map(|_| weir.web()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(format!("GET /{number} HTTP/1.1\r\nHost: test\r\n\r\n"));
        let queued = number.to_string();
        eventually("its place in the queue", || {
            let cur = weir.stat("app", "s", "scur");
            let served = weir.stat("app", "s", "qcur") == queued && cur == "1";
            let pending = weir.stat("app", "BACKEND", "qcur") == queued;
            (served || pending).then_some(())
        });
    }
    origin.request(0);
    assert_eq!(origin.requests().len(), 1);
    for (number, client) in clients.iter_mut().enumerate() {
        tell.send(()).expect("the origin waits");
        assert_eq!(client.response().text(), "turn");
        let line = log.line();
        assert!(line.contains(&format!("\"GET /{number} HTTP/1.1\"")), "in order: {line}");
    }
    assert_eq!(origin.requests().len(), 4);
    assert_eq!(weir.stat("app", "s", "smax"), "1");
}

#[test]
fn a_queue_has_its_own_timeout() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        let _ = peer.client.rest();
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    timeout queue 100ms\n    server s <origin> maxconn 1")
        .between(&origin, &log);
    let mut first = weir.web();
    first.send("GET /1 HTTP/1.1\r\nHost: test\r\n\r\n");
    origin.request(0);
    let mut second = weir.web();
    assert_eq!(second.get("/2").status(), 503);
    assert_eq!(shape(&log.line()), "web app/<NOSRV> 503 sQ-- \"GET /2 HTTP/1.1\"");
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn redispatch_finds_another_server_for_the_last_retry() {
    let log = LogReceiver::new();
    let back = "    option redispatch\n    retries 1\n    timeout connect 100ms\n    balance first\n    \
                server dead <dead>\n    server b <b>\n";
    let (_origins, setup) = three(back);
    let weir = setup.with("dead", closed_port()).with("log", log.address()).start();
    assert_eq!(weir.web().get("/").text(), "b");
    let line = log.line();
    assert_eq!(shape(&line), "web app/b 200 ---- \"GET / HTTP/1.1\"");
    assert!(line.contains("/+1 0/0 "), "one retry, redispatched: {line}");
    assert_eq!(weir.stat("app", "dead", "wredis"), "1");
    assert_eq!(weir.stat("app", "BACKEND", "wredis"), "1");
}
