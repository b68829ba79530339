//! Requests that are sent once more: after which failures, where to, how often, and when not.

use crate::http2::{PREFACE, SETTINGS, frame};
use crate::support::{Client, LogReceiver, Origin, Running, Setup, Talker, reply, shape};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An origin whose first `bad` requests are handled by `script`; later ones are answered with the
/// received request.
fn spoiled(bad: usize, script: impl Fn(&mut Client) + Send + Sync + 'static) -> Origin {
    let count = AtomicUsize::new(0);
    Origin::new(move |mut peer| {
        while let Some(request) = peer.request() {
            if count.fetch_add(1, Relaxed) < bad {
                return script(&mut peer.client);
            }
            peer.send(reply("200 OK", &format!("{}:{}", request.start, request.text())));
        }
    })
}

fn start(origin: &Origin, back: &str) -> (Running, LogReceiver) {
    let log = LogReceiver::new();
    let weir = Setup::http("", &format!("    timeout server 300ms\n{back}\n    server s <origin>"))
        .between(origin, &log);
    (weir, log)
}

/// A port without a listener.
fn closed() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("a port")
}

const GET: &str = "GET /x HTTP/1.1\r\nHost: test\r\n\r\n";

#[test]
fn each_failure_is_tried_again_when_asked_for() {
    type Script = fn(&mut Client);
    let cases: [(&str, Script); 5] = [
        ("empty-response", |_| {}),
        ("junk-response", |peer| peer.send("nonsense\r\n\r\n")),
        ("junk-response", |peer| peer.send("HTTP/1.1 200 OK\r\nConte")),
        ("response-timeout", |peer| drop(peer.rest())),
        ("503", |peer| peer.send(reply("503 Busy", "busy"))),
    ];
    for (event, script) in cases {
        let origin = spoiled(2, script);
        let (weir, log) = start(&origin, &format!("    retry-on {event}"));
        let answer = weir.web().ask(GET);
        assert_eq!(answer.text(), "GET /x HTTP/1.1:", "{event}");
        let line = log.line();
        assert_eq!(shape(&line), "web app/s 200 ---- \"GET /x HTTP/1.1\"", "{event}");
        assert!(line.contains("/2 0/0 "), "2 retries: {line}");
        assert_eq!(weir.stat("app", "s", "wretr"), "2");

        let origin = spoiled(2, script);
        let (weir, _log) = start(&origin, "");
        assert_ne!(weir.web().ask(GET).status(), 200, "by default it is not: {event}");
        assert_eq!(origin.connections(), 1, "{event}");
    }
}

#[test]
fn statuses_are_tried_again_one_by_one_or_together() {
    for status in [500, 502, 503, 504] {
        let answer = reply(&format!("{status} No"), "no");
        let origin = spoiled(1, move |peer| peer.send(&answer));
        let (weir, _log) = start(&origin, "    retry-on all-retryable-errors");
        assert_eq!(weir.web().ask(GET).status(), 200);
    }
    for status in [401, 403, 404, 408, 425, 500, 501, 502, 503, 504] {
        let answer = reply(&format!("{status} No"), "no");
        let origin = spoiled(1, move |peer| peer.send(&answer));
        let (weir, _log) = start(&origin, &format!("    retry-on {status}"));
        assert_eq!(weir.web().ask(GET).status(), 200, "{status}");
    }
    let origin = spoiled(1, |peer| peer.send(reply("404 No", "no")));
    let (weir, _log) = start(&origin, "    retry-on all-retryable-errors");
    assert_eq!(weir.web().ask(GET).status(), 404);
}

#[test]
fn the_last_answer_counts_when_the_tries_are_used_up() {
    let origin = spoiled(9, |peer| peer.send(reply("503 Busy", "busy")));
    let (weir, log) = start(&origin, "    retry-on 503\n    retries 2");
    assert_eq!(weir.web().ask(GET).text(), "busy");
    assert_eq!(origin.connections(), 3);
    assert_eq!(shape(&log.line()), "web app/s 503 ---- \"GET /x HTTP/1.1\"");
}

#[test]
fn a_body_is_sent_again_with_its_trailers() {
    for request in [
        "POST /x HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello".to_owned(),
        "POST /x HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\na: b\r\n\r\n"
            .to_owned(),
    ] {
        let origin = spoiled(1, |_| {});
        let (weir, _log) = start(&origin, "    retry-on empty-response");
        assert_eq!(weir.web().ask(&request).text(), "POST /x HTTP/1.1:hello");
        let [first, second] = [origin.request(0), origin.request(1)];
        assert_eq!(first.text(), "hello");
        assert_eq!((&first.start, first.text()), (&second.start, second.text()));
        let end = |message: &crate::support::Message| message.raw[message.raw.len() - 8..].to_vec();
        assert_eq!(end(&first), end(&second), "the trailers too");
    }
}

#[test]
fn a_body_that_is_still_coming_goes_on_with_the_next_server() {
    let origin = Origin::new({
        let count = AtomicUsize::new(0);
        move |mut peer| {
            if count.fetch_add(1, Relaxed) == 0 {
                peer.client.head();
                assert_eq!(peer.client.take(3), b"one");
                return;
            }
            let request = peer.request().expect("the request, whole");
            peer.send(reply("200 OK", &request.text()));
        }
    });
    let (weir, _log) = start(&origin, "    retry-on empty-response");
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\none");
    crate::support::eventually("it is sent again", || (origin.connections() == 2).then_some(()));
    client.send("two");
    assert_eq!(client.response().text(), "onetwo");
}

#[test]
fn requests_larger_than_a_buffer_are_sent_once() {
    let origin = spoiled(1, |_| {});
    let (weir, _log) = start(&origin, "    retry-on empty-response");
    let body = "x".repeat(40_000);
    let request =
        format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(weir.web().ask(request).status(), 502);
    assert_eq!(origin.connections(), 1);
}

#[test]
fn rules_can_forbid_it() {
    let origin = spoiled(1, |_| {});
    let back = "    retry-on all-retryable-errors\n    http-request disable-l7-retry if METH_POST";
    let (weir, _log) = start(&origin, back);
    let post = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(weir.web().ask(post).status(), 502);
    let origin = spoiled(1, |_| {});
    let (weir, _log) = start(&origin, back);
    assert_eq!(weir.web().ask(GET).status(), 200);
}

#[test]
fn another_server_is_tried_with_redispatch() {
    let (bad, good) = (Origin::answering(reply("503 No", "bad")), Origin::saying("good"));
    let log = LogReceiver::new();
    let back = "    balance first\n    retry-on 503\n    option redispatch 1\n    \
                server a <a>\n    server b <b>";
    let weir = Setup::http("", back)
        .with("a", bad.address())
        .with("b", good.address())
        .with("log", log.address())
        .start();
    assert_eq!(weir.web().ask(GET).text(), "good");
    let line = log.line();
    assert!(line.contains("web app/b ") && line.contains("/+1 "), "{line}");
}

#[test]
fn refused_connections_are_retried_by_default() {
    let closed = closed();
    for (events, tries) in [("none", "0"), ("503", "0"), ("503 conn-failure", "1")] {
        let back = format!(
            "    timeout connect 50ms\n    retries 1\n    retry-on {events}\n    server s <origin>"
        );
        let weir = Setup::http("", &back).with("origin", closed).start();
        assert_eq!(weir.web().ask(GET).status(), 503);
        assert_eq!(weir.stat("app", "s", "wretr"), tries, "{events}");
    }
}

/// As in HAProxy, a redispatch counts when another server is chosen. A request that gets the same
/// server again has waited for it and counts as a retry.
#[test]
fn a_server_that_is_chosen_again_is_no_redispatch() {
    let log = LogReceiver::new();
    let back = "    timeout connect 100ms\n    retries 2\n    option redispatch 1\n    \
                server s <origin>\n    server b <origin> backup";
    let weir = Setup::http("", back).with("origin", closed()).with("log", log.address()).start();
    assert_eq!(weir.web().ask(GET).status(), 503);
    let line = log.line();
    assert!(line.contains("/2 0/0 "), "{line}");
    let waited: u32 = line
        .split(' ')
        .nth(4)
        .and_then(|timers| timers.rsplit('/').next()?.parse().ok())
        .expect("a time");
    // A pause counts the millisecond that it begins in.
    assert!(waited >= 198, "it pauses before each retry: {line}");
    let counts = ["wretr", "wredis"].map(|field| weir.stat("app", "s", field));
    assert_eq!(counts, ["2", "0"]);
    assert_eq!(weir.stat("app", "BACKEND", "wretr"), "2");
}

/// As in HAProxy, a server that has refused a request has no session for it, not even while the
/// request pauses before its next attempt.
#[test]
fn refused_connections_are_no_sessions() {
    let log = LogReceiver::new();
    let front = "    log-format \"%HP %bc/%sc %rc\"";
    let back = "    timeout connect 300ms\n    retries 1\n    server s <origin>";
    let weir = Setup::http(front, back).with("origin", closed()).with("log", log.address()).start();
    let clients = ["/1", "/2"].map(|path| {
        let mut client = weir.web();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        client
    });
    crate::support::eventually("both pause", || {
        (weir.stat("app", "BACKEND", "scur") == "2" && weir.stat("app", "s", "wretr") == "2")
            .then_some(())
    });
    assert_eq!(weir.stat("app", "s", "scur"), "0");
    assert_eq!([log.line(), log.line()].map(|line| line[2..].to_owned()), [" 1/0 1", " 0/0 1"]);
    drop(clients);
}

/// As in HAProxy, every attempt is a session of the server, and one that was not established has no
/// times.
#[test]
fn refused_attempts_are_counted_and_not_timed() {
    let back = "    timeout connect 50ms\n    retries 2\n    server s <origin>";
    let weir = Setup::http("", back).with("origin", closed()).start();
    assert_eq!(weir.web().ask(GET).status(), 503);
    let counts = ["stot", "lbtot", "wretr", "econ", "ttime", "ttime_max"];
    let counts = counts.map(|field| weir.stat("app", "s", field));
    assert_eq!(counts, ["3", "1", "2", "1", "0", "0"]);
    assert_eq!(weir.stat("app", "BACKEND", "stot"), "1");
}

/// A server that answers one request well, so that its connection is kept, and then fails: with an
/// interim response and the end of the connection. Later connections are answered well, with a 100
/// before.
fn fails_after(interim: &'static str) -> Origin {
    let connections = AtomicUsize::new(0);
    Origin::new(move |mut peer| {
        if connections.fetch_add(1, Relaxed) == 0 {
            if peer.request().is_some() {
                peer.send(reply("200 OK", "first"));
            }
            if peer.request().is_some() {
                peer.send(interim);
            }
            return;
        }
        while peer.request().is_some() {
            peer.send("HTTP/1.1 100 Continue\r\n\r\n");
            peer.send(reply("200 OK", "second"));
        }
    })
}

/// The interim responses and the status that a client of either version gets for the request that
/// fails.
fn heard(origin: &Origin, version: u8, back: &str) -> (Vec<u16>, u16) {
    let back = format!("    http-reuse always\n{back}\n    server s <origin>");
    let weir = Setup::http("", &back).with("origin", origin.address()).start();
    let mut client = Talker::connect(weir.address("web"), version, false);
    assert_eq!(client.ask("GET /", &[]).status, 200);
    let heard = client.ask("GET /", &[]);
    (heard.interim, heard.status)
}

const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

/// A server that has sent an interim response had the request: its connection was not closed for
/// want of use.
#[test]
fn a_request_whose_answer_has_begun_is_not_sent_again() {
    for version in [1, 2] {
        for (interim, status) in [(CONTINUE, 100), (HINTS, 103)] {
            for back in ["", "    retry-on conn-failure empty-response"] {
                let origin = fails_after(interim);
                let heard = heard(&origin, version, back);
                assert_eq!(heard, (vec![status], 502), "version {version}, {status}, {back}");
                assert_eq!(origin.connections(), 1, "version {version}, {status}, {back}");
            }
        }
        let origin = fails_after(HINTS);
        let back = "    retry-on all-retryable-errors";
        assert_eq!(heard(&origin, version, back), (vec![103], 502), "version {version}");
        assert_eq!(origin.connections(), 1);
        let origin = fails_after("");
        assert_eq!(heard(&origin, version, ""), (vec![100], 200), "nothing of an answer");
    }
}

/// A 100 is not the final response. The client gets the first one only.
#[test]
fn a_request_that_is_sent_again_is_continued_once() {
    for version in [1, 2] {
        for failure in ["", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"] {
            let answer: &'static str = format!("{CONTINUE}{failure}").leak();
            let origin = fails_after(answer);
            let back = "    retry-on all-retryable-errors";
            assert_eq!(heard(&origin, version, back), (vec![100], 200), "{version} {failure}");
            assert_eq!(origin.connections(), 2);
        }
        let origin = fails_after(format!("{HINTS}HTTP/1.1 503 Busy\r\n\r\n").leak());
        assert_eq!(heard(&origin, version, "    retry-on 503"), (vec![103], 503), "{version}");
    }
}

#[test]
fn a_stream_whose_answer_has_begun_is_not_sent_again() {
    let origin = Origin::new(|mut peer| {
        peer.client.take(PREFACE.len());
        for (stream, block, flags) in [(1, &b"\x88"[..], 5), (3, b"\x08\x03103", 4)] {
            while frame(&mut peer.client).0 != 1 {}
            let head = [0, 0, block.len() as u8, 1, flags, 0, 0, 0, stream];
            peer.send([&SETTINGS[..], &head, block].concat());
        }
    });
    let back = "    http-reuse always\n    server s <origin> proto h2";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    for version in [1, 2] {
        let mut client = Talker::connect(weir.address("web"), version, false);
        assert_eq!(client.ask("GET /", &[]).status, 200);
        let heard = client.ask("GET /", &[]);
        assert_eq!((heard.interim, heard.status), (vec![103], 502));
    }
    assert_eq!(origin.connections(), 2);
}
