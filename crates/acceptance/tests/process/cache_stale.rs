//! The cache beyond HAProxy's: validation, stale responses, one fetch for many requests, ranges.

use crate::support::{
    Client, Identity, LogReceiver, Message, Origin, Running, Setup, Talker, eventually, reply,
    serve_forever,
};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

const RULES: &str = "    http-request cache-use c\n    http-response cache-store c\n    \
                     http-response set-header x-hit %[res.cache_hit]\n    retries 0\n";

fn start(origin: &Origin, lines: &str) -> Running {
    let cache = format!("cache c\n    total-max-size 4\n    max-object-size 100000\n    {lines}\n");
    let text = format!("{RULES}    server a <a>\n{cache}");
    Setup::http("", &text).with("a", origin.address()).start()
}

/// A request that a stored response with a lifetime of 30 s is not fresh enough for.
fn demanding(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: test\r\nCache-Control: min-fresh=40\r\n{fields}\r\n")
}

fn seen(answer: &Message) -> (u16, &str, String) {
    (answer.status(), answer.header("x-hit").unwrap_or("-"), answer.text())
}

const V1: &str = "HTTP/1.1 200 OK\r\netag: \"v1\"\r\ncache-control: max-age=30\r\n\
                  x-from: store\r\ncontent-length: 3\r\n\r\none";

#[test]
fn a_stored_response_that_its_server_validates_answers_with_updated_fields() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| match request.header("if-none-match") {
            Some("\"v1\"") => b"HTTP/1.1 304 Not Modified\r\netag: \"v1\"\r\nx-from: check\r\n\
                                cache-control: max-age=300\r\n\r\n"
                .to_vec(),
            _ => V1.into(),
        })
    });
    let weir = start(&origin, "max-age 300\n    revalidate 60");
    let mut client = weir.web();
    assert_eq!(seen(&client.get("/")), (200, "0", "one".into()));
    let answer = client.ask(demanding("if-none-match: \"other\"\r\nrange: bytes=0-0\r\n"));
    assert_eq!(seen(&answer), (200, "1", "one".into()));
    assert_eq!(answer.header("x-from"), Some("check"));
    assert_eq!(answer.header("content-length"), Some("3"));
    let sent = origin.request(1);
    assert_eq!((sent.header("if-none-match"), sent.header("range")), (Some("\"v1\""), None));
    // The updated response has taken the place of the first one.
    let answer = client.ask(demanding(""));
    assert_eq!((seen(&answer), answer.header("x-from")), ((200, "1", "one".into()), Some("check")));
    assert_eq!(origin.requests().len(), 2);
    assert_eq!(origin.connections(), 1, "the connection to the server is kept");
}

#[test]
fn conditions_of_a_client_are_answered_from_the_validated_response() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| match request.header("if-none-match") {
            Some(_) => b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(),
            None => V1.into(),
        })
    });
    let weir = start(&origin, "revalidate 60");
    let mut client = weir.web();
    client.get("/");
    let answer = client.ask(demanding("if-none-match: W/\"v1\"\r\n"));
    assert_eq!(seen(&answer), (304, "1", String::new()));
    assert_eq!(origin.request(1).header("if-none-match"), Some("\"v1\""));
}

#[test]
fn a_new_response_replaces_the_stored_one() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| match request.header("if-none-match") {
            Some(_) => V1.replace("v1", "v2").replace("one", "two").into(),
            None => V1.into(),
        })
    });
    let weir = start(&origin, "revalidate 60");
    let mut client = weir.web();
    client.get("/");
    assert_eq!(seen(&client.ask(demanding(""))), (200, "0", "two".into()));
    assert_eq!(seen(&client.get("/")), (200, "1", "two".into()));
}

#[test]
fn a_304_for_another_response_makes_the_request_go_out_again_without_conditions() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| match request.header("if-none-match") {
            Some("\"v1\"") => b"HTTP/1.1 304 Not Modified\r\netag: \"v9\"\r\n\r\n".to_vec(),
            _ => V1.into(),
        })
    });
    let weir = start(&origin, "revalidate 60");
    let mut client = weir.web();
    client.get("/");
    assert_eq!(seen(&client.ask(demanding(""))), (200, "0", "one".into()));
    let sent: Vec<_> =
        origin.requests().iter().map(|it| it.header("if-none-match").is_some()).collect();
    assert_eq!(sent, [false, true, false]);
}

/// Without `revalidate` requests pass as they are, as in HAProxy.
#[test]
fn objects_are_validated_only_if_the_section_allows_it() {
    let origin = Origin::answering(V1);
    let weir = start(&origin, "");
    let mut client = weir.web();
    client.get("/");
    assert_eq!(seen(&client.ask(demanding("if-none-match: \"x\"\r\n"))), (200, "0", "one".into()));
    assert_eq!(origin.request(1).header("if-none-match"), Some("\"x\""));
}

/// An origin whose first answer has these directives, and whose later answers are errors of one
/// kind.
fn failing(directives: &str, error: &'static str) -> Origin {
    let first = V1.replace("max-age=30", &format!("max-age=30{directives}"));
    let first = Mutex::new(Some(first));
    Origin::new(move |mut peer| {
        while peer.request().is_some() {
            match first.lock().expect("no test thread panicked").take() {
                Some(first) => peer.send(first),
                None if error.is_empty() => return,
                None => peer.send(error),
            }
        }
    })
}

const ERRORS: [&str; 3] =
    ["HTTP/1.1 500 Oops\r\ncontent-length: 1\r\n\r\nx", "HTTP/1.1 200 OK\r\nbroken\r\n\r\n", ""];

#[test]
fn a_stale_response_takes_the_place_of_an_error_where_section_and_server_allow_it() {
    for (section, directives, served) in [
        ("stale-if-error 60", ", stale-if-error=60", true),
        ("", ", stale-if-error=60", false),
        ("stale-if-error 60", "", false),
        ("stale-if-error 60", ", stale-if-error=60, must-revalidate", false),
    ] {
        for error in ERRORS {
            let origin = failing(directives, error);
            let weir = start(&origin, section);
            let mut client = weir.web();
            client.get("/");
            let answer = weir.web().ask(demanding(""));
            let found = (answer.status(), answer.header("x-hit") == Some("1"));
            let expected = if served { (200, true) } else { (found.0, false) };
            assert_eq!(found, expected, "{section}, {directives}, {error}");
            assert!(served || answer.status() >= 500, "{}", answer.status());
            assert!(!served || answer.text() == "one");
        }
    }
}

#[test]
fn requests_for_a_missing_object_wait_for_one_fetch() {
    let (send, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let origin = Origin::new(move |peer| {
        serve_forever(peer, |_| {
            let _ = gate.lock().expect("no test thread panicked").recv();
            V1.into()
        })
    });
    let weir = start(&origin, "coalesce 60s");
    let mut clients: Vec<_> = (0..5).map(|_| weir.web()).collect();
    clients[0].send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    origin.request(0);
    clients[1..].iter_mut().for_each(|it| it.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n"));
    eventually("all requests are in the process", || {
        (weir.cli("show stat").contains("app") && streams(&weir) >= 5).then_some(())
    });
    assert_eq!(origin.requests().len(), 1);
    send.send(()).expect("the origin waits");
    let answers: Vec<_> = clients.iter_mut().map(|client| client.response()).collect();
    assert!(answers.iter().all(|answer| answer.text() == "one"));
    let hits = answers.iter().filter(|answer| answer.header("x-hit") == Some("1")).count();
    assert_eq!((hits, origin.requests().len()), (4, 1));
}

/// Streams of the frontend `web`.
fn streams(weir: &Running) -> usize {
    weir.cli("show sess").lines().filter(|line| line.contains("fe=web")).count()
}

#[test]
fn requests_wait_at_most_coalesce_and_only_for_storable_responses() {
    for (lines, answer) in [
        ("coalesce 1ms", V1.to_owned()),
        ("coalesce 60s", reply("200 OK", "one")),
        ("coalesce 60s", reply("404 Not Found", "one")),
    ] {
        let (send, gate) = channel::<()>();
        let gate = Arc::new(Mutex::new(Some(gate)));
        let origin = Origin::new(move |peer| {
            serve_forever(peer, |_| {
                let first = gate.lock().expect("no test thread panicked").take();
                first.map(|gate| gate.recv());
                answer.clone().into()
            })
        });
        let weir = start(&origin, lines);
        let (mut first, mut second) = (weir.web(), weir.web());
        first.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        origin.request(0);
        second.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        if lines == "coalesce 1ms" {
            assert_eq!(second.response().text(), "one", "it has not waited for the first");
        }
        send.send(()).expect("the origin waits");
        assert_eq!(first.response().text(), "one");
        if lines != "coalesce 1ms" {
            assert_eq!(second.response().text(), "one");
        }
        assert_eq!(origin.requests().len(), 2, "{lines}");
    }
}

#[test]
fn a_fetch_that_is_shut_down_lets_the_others_go_on() {
    let (send, gate) = channel::<()>();
    let gate = Mutex::new(Some(gate));
    let origin = Origin::new(move |peer| {
        serve_forever(peer, |_| {
            let first = gate.lock().expect("no test thread panicked").take();
            first.map(|gate| gate.recv());
            V1.into()
        })
    });
    let weir = start(&origin, "coalesce 60s");
    let (mut first, mut second) = (weir.web(), weir.web());
    first.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    origin.request(0);
    second.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    eventually("both requests are in the process", || (streams(&weir) >= 2).then_some(()));
    let listed = weir.cli("show sess");
    let leader = listed.lines().find(|line| line.contains("srv=a")).expect("it has a server");
    let id = leader.split(':').next().unwrap_or_default();
    assert_eq!(weir.cli(&format!("shutdown session {id}")), "");
    assert_eq!(second.response().text(), "one");
    drop(send);
}

/// A response that is stale after a second, and that its server lets be served for a minute while
/// it is validated.
fn stale_soon() -> String {
    V1.replace("max-age=30", "max-age=1, stale-while-revalidate=60")
}

/// Requests the object until the process validates it; every answer is the stored one. The
/// validation is request number `number` of the origin.
fn until_stale(client: &mut Client, origin: &Origin, number: usize, request: &str) {
    while origin.requests().len() <= number {
        assert_eq!(seen(&client.ask(request)), (200, "1", "one".into()));
    }
}

const GET: &str = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";

#[test]
fn every_client_gets_the_stale_response_while_the_process_validates_it() {
    for (answer, text) in [
        (V1.replace("v1", "v2").replace("one", "two"), "two"),
        ("HTTP/1.1 304 Not Modified\r\ncache-control: max-age=30\r\n\r\n".to_owned(), "one"),
    ] {
        let (send, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let origin = Origin::new(move |peer| {
            serve_forever(peer, |request| match request.header("if-none-match") {
                Some(_) => {
                    let _ = gate.lock().expect("no test thread panicked").recv();
                    answer.clone().into()
                }
                None => stale_soon().into(),
            })
        });
        let weir = start(&origin, "stale-while-revalidate 60");
        let mut client = weir.web();
        assert_eq!(seen(&client.get("/")), (200, "0", "one".into()));
        until_stale(&mut client, &origin, 1, GET);
        for _ in 0..3 {
            assert_eq!(seen(&client.get("/")), (200, "1", "one".into()));
            assert_eq!(seen(&weir.web().get("/")), (200, "1", "one".into()));
        }
        assert_eq!(origin.requests().len(), 2, "one validation at a time");
        send.send(()).expect("the origin waits");
        let fresh = || weir.web().get("/").header("age").is_none_or(|age| age == "0");
        eventually("the response is fresh again", || fresh().then_some(()));
        assert_eq!(seen(&client.get("/")), (200, "1", text.into()));
        assert_eq!(origin.requests().len(), 2);
    }
}

#[test]
fn a_validation_in_the_background_asks_as_the_client_would_have_but_for_its_conditions() {
    let origin = Origin::answering(stale_soon());
    let text = "    http-request set-header x-early 1\n    \
                http-request set-var(txn.v) str(kept)\n    http-request cache-use c\n    \
                http-request set-header x-late %[var(txn.v)],%[src],%[ssl_fc]\n    \
                http-response cache-store c\n    http-response set-header x-hit 1\n    \
                server a <a>\n\
                cache c\n    total-max-size 4\n    stale-while-revalidate 60\n";
    let weir = Setup::http("", text).with("a", origin.address()).start();
    let mut client = weir.web();
    client.get("/x?y");
    let request = "GET /x?y HTTP/1.1\r\nHost: test\r\nRange: bytes=0-0\r\nIf-Match: \"v\"\r\n\
                   Connection: keep-alive\r\nCookie: a=b\r\n\r\n";
    until_stale(&mut client, &origin, 1, request);
    let sent = origin.request(1);
    assert!(sent.start.starts_with("GET /x?y "), "{}", sent.start);
    for (name, value) in [
        ("x-early", Some("1")),
        ("x-late", Some("kept,127.0.0.1,0")),
        ("cookie", Some("a=b")),
        ("if-none-match", Some("\"v1\"")),
        ("range", None),
        ("if-match", None),
    ] {
        assert_eq!(sent.header(name), value, "{name}");
    }
}

/// Clients of each protocol: the validation finds and updates the object of its client.
#[test]
fn a_validation_in_the_background_is_for_the_object_of_its_client() {
    for (version, encrypted) in [(1, true), (2, true), (2, false)] {
        let origin = Origin::new(|peer| {
            serve_forever(peer, |request| match request.header("if-none-match") {
                Some(_) => V1.replace("one", "two").into(),
                None => stale_soon().into(),
            })
        });
        let line = match (version, encrypted) {
            (_, true) => " ssl crt <dir>/key.pem alpn h2,http/1.1",
            _ => " proto h2",
        };
        let text = format!(
            "defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
             timeout server 20s\nlisten web\n    bind <web>{line}\n    \
             http-request cache-use c\n    http-request set-header x-tls %[ssl_fc]\n    \
             http-response cache-store c\n    server a <a>\n\
             cache c\n    total-max-size 4\n    stale-while-revalidate 60\n"
        );
        let setup = Setup::new(&text).file("key.pem", &Identity::new("a.test", None).pem());
        let weir = setup.with("a", origin.address()).start();
        let mut client = Talker::connect(weir.address("web"), version, encrypted);
        let form = format!("version {version}, encrypted {encrypted}");
        while client.ask("GET /x", &[]).body == b"one" {}
        let tls = if encrypted { "1" } else { "0" };
        assert_eq!(origin.request(1).header("x-tls"), Some(tls), "{form}");
        assert_eq!(client.ask("GET /x", &[]).body, b"two", "{form}");
        assert_eq!(origin.requests().len(), 2, "{form}");
    }
}

/// The cache of the frontend has rules behind it that choose the backend.
#[test]
fn a_validation_in_the_background_goes_to_the_backend_that_the_frontend_chooses() {
    let origin = Origin::answering(stale_soon());
    let text = "    server none 127.0.0.1:1\nbackend other\n    http-request set-header x-be other\n    \
                server a <a>\ncache c\n    total-max-size 4\n    stale-while-revalidate 60\n";
    let front = "    http-request cache-use c\n    http-request set-header x-fe web\n    \
                 http-response cache-store c\n    http-response set-header x-hit 1\n    \
                 use_backend other\n";
    let weir = Setup::http(front, text).with("a", origin.address()).start();
    let mut client = weir.web();
    client.get("/");
    until_stale(&mut client, &origin, 1, GET);
    let sent = origin.request(1);
    assert_eq!((sent.header("x-fe"), sent.header("x-be")), (Some("web"), Some("other")));
}

#[test]
fn the_frontend_neither_counts_nor_logs_a_validation_in_the_background() {
    let (origin, log) = (Origin::answering(stale_soon()), LogReceiver::new());
    let text = format!(
        "{RULES}    server a <a>\ncache c\n    total-max-size 4\n    \
                        stale-while-revalidate 60\n"
    );
    let weir =
        Setup::http("", &text).with("a", origin.address()).with("log", log.address()).start();
    let mut client = weir.web();
    // A validation would have a line between those of the client.
    while origin.requests().len() < 2 {
        let line = (client.get("/"), log.line()).1;
        assert!(line.ends_with("GET / HTTP/1.1\""), "{line}");
    }
    let count = |service: &str, field: &str| -> usize {
        let proxy = if service == "FRONTEND" { "web" } else { "app" };
        weir.stat(proxy, service, field).parse().expect("a number")
    };
    eventually("the backend has counted it", || {
        let counted = count("BACKEND", "hrsp_2xx");
        (counted == count("FRONTEND", "hrsp_2xx") + 1).then_some(())
    });
    assert_eq!(count("BACKEND", "req_tot"), count("FRONTEND", "req_tot") + 1);
    assert_eq!(count("a", "hrsp_2xx"), 2);
    client.get("/last");
    assert!(log.line().contains("/last"));
}

#[test]
fn a_failed_validation_leaves_the_stale_response_and_the_next_request_tries_again() {
    let origin = failing(", stale-while-revalidate=60\r\nage: 29", ERRORS[0]);
    let weir = start(&origin, "stale-while-revalidate 60");
    let mut client = weir.web();
    client.get("/");
    for number in 1..4 {
        until_stale(&mut client, &origin, number, GET);
        eventually("the validation has ended", || {
            weir.cli("show sess").lines().all(|line| !line.contains("srv=a")).then_some(())
        });
    }
}

#[test]
fn a_request_that_passes_a_cache_twice_does_not_wait_for_itself() {
    let origin = Origin::answering(V1);
    let text = "    http-request cache-use c\n    http-request cache-use c\n    \
                http-response cache-store c\n    server a <a>\n\
                cache c\n    total-max-size 4\n    coalesce 1h\n";
    let weir = Setup::http("", text).with("a", origin.address()).start();
    assert_eq!(weir.web().get("/").text(), "one");
}

#[test]
fn the_time_that_a_server_takes_counts_as_age() {
    let (send, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let origin = Origin::new(move |peer| {
        serve_forever(peer, |request| {
            if request.target() == "/slow" {
                let _ = gate.lock().expect("no test thread panicked").recv();
            }
            V1.into()
        })
    });
    let weir = start(&origin, "");
    let (mut slow, mut other) = (weir.web(), weir.web());
    slow.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n");
    other.get("/other");
    // The other object ages meanwhile.
    let age = |answer: &Message| answer.header("age").and_then(|age| age.parse::<u32>().ok());
    while age(&other.get("/other")) < Some(2) {}
    send.send(()).expect("the origin waits");
    assert_eq!(slow.response().text(), "one");
    let hit = slow.get("/slow");
    assert!(age(&hit) >= Some(1), "{:?}", age(&hit));
}

#[test]
fn a_response_to_head_with_another_tag_removes_the_stored_one() {
    for (tag, stays) in [("\"v1\"", true), ("\"v2\"", false)] {
        let origin = Origin::new(move |peer| {
            serve_forever(peer, |request| {
                match request.start.starts_with("HEAD") {
                    true => format!("HTTP/1.1 200 OK\r\netag: {tag}\r\ncontent-length: 3\r\n\r\n"),
                    false => V1.to_owned(),
                }
                .into_bytes()
            })
        });
        let weir = start(&origin, "");
        let mut client = weir.web();
        client.get("/");
        client.send("HEAD / HTTP/1.1\r\nHost: test\r\nCache-Control: no-cache\r\n\r\n");
        assert_eq!(client.head().header("etag"), Some(tag));
        let expected = if stays { "1" } else { "0" };
        assert_eq!(client.get("/").header("x-hit"), Some(expected), "{tag}");
    }
}

#[test]
fn ranges_are_answered_from_the_whole_object() {
    for framing in [
        "content-length: 10\r\n\r\n0123456789",
        "transfer-encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
    ] {
        let answer =
            format!("HTTP/1.1 200 OK\r\netag: \"v1\"\r\ncache-control: max-age=30\r\n{framing}");
        let origin = Origin::answering(answer);
        let weir = start(&origin, "ranges on");
        let mut client = weir.web();
        assert_eq!(client.get("/").text(), "0123456789");
        for (fields, status, text, range) in [
            ("range: bytes=2-4\r\n", 206, "234", Some("bytes 2-4/10")),
            ("range: bytes=7-\r\n", 206, "789", Some("bytes 7-9/10")),
            ("range: bytes=-1\r\n", 206, "9", Some("bytes 9-9/10")),
            ("range: bytes=10-\r\n", 416, "", Some("bytes */10")),
            ("range: bytes=1-2,4-5\r\n", 200, "0123456789", None),
            ("range: bytes=2-4\r\nif-range: \"v1\"\r\n", 206, "234", Some("bytes 2-4/10")),
            ("range: bytes=2-4\r\nif-range: \"v2\"\r\n", 200, "0123456789", None),
            ("range: bytes=2-4\r\nif-none-match: \"v1\"\r\n", 304, "", None),
            ("", 200, "0123456789", None),
        ] {
            let answer = client.ask(format!("GET / HTTP/1.1\r\nHost: test\r\n{fields}\r\n"));
            let found = (answer.status(), answer.text(), answer.header("content-range"));
            assert_eq!(found, (status, text.to_owned(), range), "{fields}");
            assert_eq!(answer.header("x-hit"), Some("1"), "{fields}");
        }
        assert_eq!(origin.requests().len(), 1);
    }
}

#[test]
fn without_ranges_a_range_gets_the_whole_object() {
    let origin = Origin::answering(V1);
    let weir = start(&origin, "");
    let mut client = weir.web();
    client.get("/");
    let answer = client.ask("GET / HTTP/1.1\r\nHost: test\r\nRange: bytes=0-0\r\n\r\n");
    assert_eq!(seen(&answer), (200, "1", "one".into()));
}
