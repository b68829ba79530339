//! Decisions of `docs/http1-strictness.md` that take a whole program: limits, names, early answers.
//! Decisions of the grammar alone are tested where it is parsed.

use crate::support::{LogReceiver, Origin, Running, Setup, shape};

const ASK: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn start(front: &str, back: &str, origin: &Origin, log: &LogReceiver) -> Running {
    Setup::http(front, &format!("{back}\n    server s <origin>"))
        .with("origin", origin.address())
        .with("log", log.address())
        .start()
}

/// `option http-restrict-req-hdr-names`, section 4.2.
#[test]
fn odd_names_are_kept_deleted_or_rejected() {
    let request = "GET / HTTP/1.1\r\nHost: a\r\nX_Odd: 1\r\nx.odd: 2\r\nx-even: 3\r\n\r\n";
    for (policy, seen) in [("preserve", Some(2)), ("delete", Some(0)), ("reject", None)] {
        let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
        let option = format!("    option http-restrict-req-hdr-names {policy}");
        let weir = start(&option, "", &origin, &log);
        let answer = weir.web().ask(request);
        match seen {
            Some(odd) => {
                assert_eq!(answer.status(), 200, "{policy}");
                let names = origin.request(0).headers;
                let is_odd = |name: &String| name.contains(['_', '.']);
                assert_eq!(names.iter().filter(|(name, _)| is_odd(name)).count(), odd, "{policy}");
                assert!(names.iter().any(|(name, _)| name == "x-even"), "{policy}");
            }
            None => {
                assert_eq!(answer.status(), 403, "{policy}");
                assert_eq!(shape(&log.line()), "web web/<NOSRV> 403 PR-- \"GET / HTTP/1.1\"");
                assert_eq!(origin.connections(), 0);
            }
        }
    }
}

/// `tune.bufsize`, `tune.maxrewrite`, `tune.http.maxhdr`, section 3.2.
#[test]
fn limits_of_heads_can_be_set() {
    let lines = |count: usize| "x: y\r\n".repeat(count);
    let sized = |bytes: usize| format!("x: {}\r\n", "y".repeat(bytes));
    let (few, many, small, large) = (lines(9), lines(10), sized(2_900), sized(3_100));
    let origin = Origin::new({
        let [many, large] = [&many, &large].map(|fields| {
            format!("HTTP/1.1 200 OK\r\n{fields}content-length: 0\r\n\r\n").into_bytes()
        });
        move |mut peer| {
            while let Some(request) = peer.request() {
                match request.target() {
                    "/many" => peer.send(&many),
                    "/large" => peer.send(&large),
                    _ => peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
                }
            }
        }
    });
    let weir = Setup::new(
        "global\n    tune.bufsize 4096\n    tune.maxrewrite 1024\n    tune.http.maxhdr 10\n\
         defaults\n    mode http\n    timeout client 9s\n    timeout server 9s\n    timeout connect 9s\n\
         listen web\n    bind <web>\n    server s <origin>\n",
    )
    .with("origin", origin.address())
    .start();
    for (target, fields, status) in [
        ("/", &few, 200),
        ("/", &many, 400),
        ("/", &small, 200),
        ("/", &large, 400),
        ("/many", &few, 502),
        ("/large", &few, 502),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(weir.web().ask(&request).status(), status, "{target} {}", fields.len());
    }
}

#[test]
fn a_large_head_may_come_in_pieces() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = start("", "", &origin, &log);
    let value = "v".repeat(14_000);
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {value}\r\nX-Last: z\r\n\r\n");
    let mut client = weir.web();
    for piece in request.as_bytes().chunks(3_000) {
        client.send(piece);
        crate::support::pass(std::time::Duration::from_millis(10));
    }
    assert_eq!(client.response().status(), 200);
    let seen = origin.request(0);
    assert_eq!(seen.header("x-long"), Some(value.as_str()));
    assert_eq!(seen.header("x-last"), Some("z"));
}

#[test]
fn the_preface_of_http_2_is_no_request() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = start("", "", &origin, &log);
    let mut client = weir.web();
    client.send("PRI * HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = client.rest();
    assert!(answer.starts_with(b"HTTP/1.1 400 Bad request\r\ncontent-length: 90\r\n"));
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 400 PR-- \"<BADREQ>\"");
    assert_eq!(origin.connections(), 0);
}

/// The bytes that a server sends beyond an answer can never become the answer to another request.
#[test]
fn a_connection_with_excess_bytes_is_not_reused() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"
            .to_owned(),
    );
    let log = LogReceiver::new();
    let weir = start("", "    http-reuse always", &origin, &log);
    let mut client = weir.web();
    for _ in 0..3 {
        assert_eq!(client.ask(ASK).text(), "ok");
    }
    assert_eq!(origin.connections(), 3);
}

#[test]
fn a_body_goes_on_after_an_early_answer() {
    let origin = Origin::new(|mut peer| {
        peer.client.head();
        peer.send("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok");
        let body = peer.client.take(10_000);
        assert!(body.iter().all(|byte| *byte == b'x'));
        if peer.request().is_some() {
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain");
        }
    });
    let log = LogReceiver::new();
    let weir = start("", "", &origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n");
    client.send(vec![b'x'; 5_000]);
    assert_eq!(client.response().text(), "ok");
    client.send(vec![b'x'; 5_000]);
    assert_eq!(shape(&log.line()), "web app/s 202 ---- \"POST / HTTP/1.1\"");
    assert_eq!(client.ask(ASK).text(), "again");
    assert_eq!(origin.connections(), 1);
}

/// With `Expect: 100-continue` there may never be a body.
#[test]
fn a_body_that_was_not_asked_for_is_not_waited_for() {
    let origin = Origin::new(|mut peer| {
        peer.client.head();
        peer.send("HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno");
        let _ = peer.client.rest();
    });
    let log = LogReceiver::new();
    let weir = start("", "", &origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
    assert_eq!(client.response().status(), 417);
    client.expect_end();
    assert_eq!(shape(&log.line()), "web app/s 417 ---- \"POST / HTTP/1.1\"");
}
