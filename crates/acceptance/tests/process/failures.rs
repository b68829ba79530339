//! Peers that misbehave while a request is under way: replies, log lines, counters.

use crate::support::{LogReceiver, Origin, Running, Setup, eventually, pass, reply, shape};
use std::sync::{Arc, Barrier};
use std::time::Duration;

const BAD_GATEWAY: &str = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 107\r\n\
    cache-control: no-cache\r\ncontent-type: text/html\r\n\r\n\
    <html><body><h1>502 Bad Gateway</h1>\n\
    The server returned an invalid or incomplete response.\n</body></html>\n";

const UNAVAILABLE: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 107\r\n\
    cache-control: no-cache\r\ncontent-type: text/html\r\n\r\n\
    <html><body><h1>503 Service Unavailable</h1>\n\
    No server is available to handle this request.\n</body></html>\n";

fn start(origin: &Origin, log: &LogReceiver) -> Running {
    Setup::http("", "    server s <origin>")
        .with("origin", origin.address())
        .with("log", log.address())
        .start()
}

/// An origin that answers `bytes` to the first request of a connection and closes.
fn origin_saying(bytes: &'static str) -> Origin {
    Origin::new(move |mut peer| {
        peer.request();
        peer.send(bytes);
    })
}

fn raw(message: &crate::support::Message) -> String {
    String::from_utf8_lossy(&message.raw).into_owned()
}

#[test]
fn garbage_from_a_server_is_a_502_and_the_client_stays() {
    let log = LogReceiver::new();
    for garbage in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 2x0 OK\r\n\r\n",
    ] {
        let origin = origin_saying(garbage);
        let weir = start(&origin, &log);
        let mut client = weir.web();
        let answer = client.get("/");
        assert_eq!(raw(&answer), BAD_GATEWAY, "for {garbage:?}");
        assert_eq!(shape(&log.line()), "web app/s 502 PH-- \"GET / HTTP/1.1\"");
        assert_eq!(client.get("/again").status(), 502, "the connection is kept");
        log.line();
        assert_eq!(weir.stat("app", "s", "eresp"), "2");
    }
}

#[test]
fn a_server_that_closes_without_an_answer_is_a_502() {
    let log = LogReceiver::new();
    let origin = origin_saying("");
    let weir = start(&origin, &log);
    let answer = weir.web().get("/");
    assert_eq!(raw(&answer), BAD_GATEWAY);
    assert_eq!(shape(&log.line()), "web app/s 502 SH-- \"GET / HTTP/1.1\"");
    assert_eq!(weir.stat("app", "s", "eresp"), "1");
}

#[test]
fn a_server_that_closes_within_its_head_is_a_502() {
    let log = LogReceiver::new();
    let origin = origin_saying("HTTP/1.1 200 OK\r\nContent-Le");
    let weir = start(&origin, &log);
    assert_eq!(raw(&weir.web().get("/")), BAD_GATEWAY);
    assert_eq!(shape(&log.line()), "web app/s 502 SH-- \"GET / HTTP/1.1\"");
}

/// Answers the first request of each connection, and closes when it has read a second one.
fn origin_tiring() -> Origin {
    Origin::new(|mut peer| {
        peer.request();
        peer.send(reply("200 OK", "first"));
        peer.request();
    })
}

#[test]
fn a_later_request_without_an_answer_is_for_the_client_to_repeat() {
    let log = LogReceiver::new();
    let origin = origin_tiring();
    let weir = start(&origin, &log);
    let mut client = weir.web();
    assert_eq!(client.get("/1").text(), "first");
    client.send("POST /2 HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
    client.expect_end();
    assert_eq!(shape(&log.line()), "web app/s 200 ---- \"GET /1 HTTP/1.1\"");
    // HAProxy does not log this failure; Weir does, so that operators can find it.
    assert_eq!(shape(&log.line()), "web app/s -1 SH-- \"POST /2 HTTP/1.1\"");
}

#[test]
fn a_later_request_that_does_no_harm_is_repeated_on_a_new_connection() {
    let log = LogReceiver::new();
    let origin = origin_tiring();
    let weir = start(&origin, &log);
    let mut client = weir.web();
    for path in ["/1", "/2", "/3"] {
        assert_eq!(client.get(path).text(), "first");
        assert_eq!(shape(&log.line()), format!("web app/s 200 ---- \"GET {path} HTTP/1.1\""));
    }
    let body = "GET /4 HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbody";
    assert_eq!(client.ask(body).text(), "first");
    assert_eq!(origin.connections(), 4);
    assert_eq!(weir.stat("app", "s", "wretr"), "3");
    assert_eq!(weir.stat("app", "s", "eresp"), "0");
}

#[test]
fn no_request_is_repeated_that_must_not_be() {
    let log = LogReceiver::new();
    for rule in ["retries 0", "retry-on none", "http-request disable-l7-retry"] {
        let origin = origin_tiring();
        let setup = Setup::http("", &format!("    {rule}\n    server s <origin>"));
        let weir = setup.between(&origin, &log);
        let mut client = weir.web();
        assert_eq!(client.get("/1").text(), "first");
        client.send("GET /2 HTTP/1.1\r\nHost: test\r\n\r\n");
        client.expect_end();
        assert_eq!(origin.connections(), 1, "{rule}");
    }
}

#[test]
fn a_server_that_closes_within_a_body_ends_the_client_s_connection() {
    let log = LogReceiver::new();
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let origin = origin_saying(answer);
        let weir = start(&origin, &log);
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        assert_eq!(client.head().status(), 200);
        let rest = String::from_utf8(client.rest()).expect("text");
        assert!(rest.contains("half") && !rest.ends_with("0\r\n\r\n"), "{rest:?}");
        let line = log.line();
        assert!(shape(&line).starts_with("web app/s 200 "), "{line}");
        assert!(line.contains(" SD-- "), "{line}");
        assert_eq!(weir.stat("app", "s", "srv_abrt"), "1");
    }
}

#[test]
fn broken_chunks_from_a_server_end_the_client_s_connection() {
    let log = LogReceiver::new();
    let (seen, half_seen) = std::sync::mpsc::channel();
    let half_seen = std::sync::Mutex::new(half_seen);
    let origin = Origin::new(move |mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
        half_seen.lock().expect("one connection").recv().expect("the test goes on");
        peer.send("zz\r\n");
        let _ = peer.client.rest();
    });
    let weir = start(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(client.head().status(), 200);
    assert_eq!(client.take(9), b"4\r\nhalf\r\n");
    seen.send(()).expect("the origin waits");
    client.expect_end();
    assert_eq!(shape(&log.line()), "web app/s 200 SD-- \"GET / HTTP/1.1\"");
}

#[test]
fn no_server_at_all_is_a_503() {
    let log = LogReceiver::new();
    let weir = Setup::http("", "").with("log", log.address()).start();
    let mut client = weir.web();
    assert_eq!(raw(&client.get("/")), UNAVAILABLE);
    assert_eq!(shape(&log.line()), "web app/<NOSRV> 503 SC-- \"GET / HTTP/1.1\"");
    assert_eq!(client.get("/").status(), 503, "the connection is kept");
}

#[test]
fn no_backend_at_all_is_a_503() {
    let log = LogReceiver::new();
    let text = "defaults\n    mode http\n    timeout client 10s\n    log <log> format raw local0\n    \
                option httplog\nfrontend web\n    bind <web>\n";
    let weir = Setup::new(text).with("log", log.address()).start();
    assert_eq!(raw(&weir.web().get("/")), UNAVAILABLE);
    let line = log.line();
    assert_eq!(shape(&line), "web web/<NOSRV> 503 SC-- \"GET / HTTP/1.1\"");
    assert!(line.contains(" -1/-1/-1/-1/"), "as measured, no time is told: {line}");
}

/// As in HAProxy, neither its servers nor its rules nor its error files are used.
#[test]
fn a_disabled_backend_serves_no_client() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let back = "    disabled\n    http-request return status 200\n    \
                http-error status 503 content-type text/plain string mine\n    server s <origin>";
    let weir = Setup::http("", back).between(&origin, &log);
    assert_eq!(raw(&weir.web().get("/")), UNAVAILABLE);
    let line = log.line();
    assert_eq!(shape(&line), "web app/<NOSRV> 503 SC-- \"GET / HTTP/1.1\"");
    assert!(line.contains(" -1/-1/-1/-1/"), "{line}");
    let front = "    mode tcp\n    log-format \"%b/%s %Tw/%Tc %ts\"";
    for (mode, line) in [("tcp", "app/<NOSRV> -1/-1 SC"), ("http", "app/<NOSRV> -1/-1 SC")] {
        let back = format!("    mode {mode}\n    disabled\n    server s <origin>");
        let weir = Setup::http(front, &back).between(&origin, &log);
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        let heard = client.rest();
        assert_eq!(heard.starts_with(b"HTTP/1.1 503 "), mode == "http", "{mode}");
        assert_eq!(log.line(), line, "{mode}");
    }
    assert_eq!(origin.connections(), 0);
}

/// As in HAProxy, a connection that is closed before the response is parsed has brought no
/// response.
#[test]
fn a_connection_that_rules_close_brings_no_response() {
    let log = LogReceiver::new();
    for (rule, expected) in [
        ("close", "web app/s 502 SH-- \"GET / HTTP/1.1\""),
        ("close if { src 127.0.0.1 }", "web app/s 502 SH-- \"GET / HTTP/1.1\""),
        ("close if { status 404 }", "web app/s 200 ---- \"GET / HTTP/1.1\""),
        ("accept", "web app/s 200 ---- \"GET / HTTP/1.1\""),
    ] {
        let back = format!("    tcp-response content {rule}\n    server s <origin>");
        let origin = Origin::saying("hello");
        let weir = Setup::http("", &back).between(&origin, &log);
        weir.web().get("/");
        assert_eq!(shape(&log.line()), expected, "{rule}");
    }
}

#[test]
fn a_refused_connection_is_a_503_after_the_retries() {
    let log = LogReceiver::new();
    let address = crate::support::nobody();
    let back = "    retries 1\n    timeout connect 100ms\n    server s <origin>";
    let weir = Setup::http("", back).with("origin", address).with("log", log.address()).start();
    assert_eq!(raw(&weir.web().get("/")), UNAVAILABLE);
    let line = log.line();
    assert_eq!(shape(&line), "web app/s 503 SC-- \"GET / HTTP/1.1\"");
    assert!(line.contains("/1 0/0 \""), "one retry: {line}");
    assert_eq!(weir.stat("app", "s", "econ"), "1");
    assert_eq!(weir.stat("app", "s", "wretr"), "1");
}

#[test]
fn a_client_that_aborts_its_body_is_logged_and_its_server_connection_reset() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.client.head();
        let _ = peer.client.rest();
    });
    let weir = start(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhalf");
    eventually("a connection to the origin", || (origin.connections() == 1).then_some(()));
    client.close();
    let line = log.line();
    assert!(line.contains(" app/s ") && line.contains(" CD-- "), "{line}");
    assert_eq!(weir.stat("app", "s", "cli_abrt"), "1");
    eventually("the end of the session", || (weir.stat("app", "s", "scur") == "0").then_some(()));
}

#[test]
fn a_client_that_leaves_within_a_response_is_logged() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n");
        peer.send(vec![b'x'; 50_000_000]);
    });
    let weir = start(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    client.head();
    client.close();
    let line = log.line();
    assert!(
        line.contains(" app/s ") && line.contains(" 200 ") && line.contains(" CD-- "),
        "{line}"
    );
    assert_eq!(weir.stat("app", "s", "cli_abrt"), "1");
}

/// Short answers are sent together with others; a client's reset is noticed nevertheless before its
/// log line is written, as in HAProxy.
#[test]
fn a_client_that_resets_its_connection_is_logged() {
    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
    let whole = format!("{OK}done");
    for (begun, rest) in [("HTTP/1.1 103 Early Hints\r\n\r\n", &*whole), (OK, "done")] {
        let (log, gone) = (LogReceiver::new(), Arc::new(Barrier::new(2)));
        let (begun, rest, wait) = (begun.to_owned(), rest.to_owned(), gone.clone());
        let origin = Origin::new(move |mut peer| {
            while peer.request().is_some() {
                peer.send(&begun);
                wait.wait();
                // No task waits for the client meanwhile: its silence has to be noticed.
                pass(Duration::from_millis(150));
                peer.send(&rest);
            }
        });
        let weir = start(&origin, &log);
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        client.reset();
        gone.wait();
        let line = log.line();
        assert!(line.contains(" 200 ") && line.contains(" CD-- "), "{line}");
        assert_eq!(weir.stat("app", "s", "cli_abrt"), "1");
    }
}

#[test]
fn an_early_answer_to_a_big_request_arrives() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.client.head();
        peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!");
        let _ = peer.client.rest();
    });
    let weir = start(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n");
    client.send(vec![b'x'; 10_000]);
    let answer = client.response();
    assert_eq!((answer.status(), answer.text().as_str()), (413, "no!"));
}

/// As in HAProxy, a source address that this machine does not have is logged at each attempt.
#[test]
fn a_missing_source_address_is_reported() {
    let (origin, log) = (Origin::saying("never"), LogReceiver::new());
    let weir = Setup::http(
        "",
        "    timeout connect 50ms\n    retries 1\n    source 192.0.2.1\n    server s <origin>",
    )
    .between(&origin, &log);
    assert_eq!(weir.web().get("/").status(), 503);
    const TEXT: &str = "Cannot bind to source address before connect() for backend app.";
    assert_eq!([log.line(), log.line()], [TEXT; 2]);
    assert_eq!(shape(&log.line()), "web app/s 503 SC-- \"GET / HTTP/1.1\"");
    weir.expect_error(&format!("{TEXT} Aborting."));
}
