//! Malformed requests: the exact reply, the log line, and that they reach no server.

use crate::support::{LogReceiver, Origin, Setup, shape};

const BAD_REQUEST: &str = "HTTP/1.1 400 Bad request\r\nContent-length: 90\r\n\
    Cache-Control: no-cache\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n\
    <html><body><h1>400 Bad request</h1>\n\
    Your browser sent an invalid request.\n</body></html>\n";

#[test]
fn malformed_requests_are_refused_with_the_exact_reply() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let many: String = (0..110).map(|n| format!("X-{n}: v\r\n")).collect();
    let long = "x".repeat(20_000);
    let cases = [
        "garbage\r\n\r\n".to_owned(),
        "GET /\r\n\r\n".into(),
        "GET / HTTX/1.1\r\nHost: a\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nno colon\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".into(),
        "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n".into(),
        "G{T / HTTP/1.1\r\nHost: a\r\n\r\n".into(),
        "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n".into(),
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".into(),
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n".into(),
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n".into(),
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n".into(),
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n".into(),
        format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
    ];
    for (number, case) in cases.iter().enumerate() {
        let mut client = weir.web();
        client.send(case);
        let shown: String = case.chars().take(60).collect();
        assert_eq!(String::from_utf8_lossy(&client.rest()), BAD_REQUEST, "for {shown:?}");
        assert_eq!(shape(&log.line()), "web web/<NOSRV> 400 PR-- \"<BADREQ>\"", "for {shown:?}");
        let refused = (number + 1).to_string();
        assert_eq!(weir.stat("web", "FRONTEND", "ereq"), refused, "for {shown:?}");
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
fn an_unsupported_coding_is_a_422() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
    assert!(client.rest().starts_with(b"HTTP/1.1 422 Unprocessable Content\r\n"));
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 422 PR-- \"<BADREQ>\"");
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_client_that_leaves_within_its_head_is_a_400() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost");
    client.half_close();
    assert_eq!(String::from_utf8_lossy(&client.rest()), BAD_REQUEST);
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 400 CR-- \"<BADREQ>\"");
    assert_eq!(origin.connections(), 0);
}

#[test]
fn garbage_behind_a_valid_request_does_not_affect_it() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("GET /good HTTP/1.1\r\nHost: a\r\n\r\nbad\r\n\r\n");
    assert_eq!(client.response().text(), "hello");
    assert_eq!(String::from_utf8_lossy(&client.rest()), BAD_REQUEST);
    assert!(log.line().contains("\"GET /good HTTP/1.1\""));
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 400 PR-- \"<BADREQ>\"");
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn broken_chunks_of_a_request_end_both_connections() {
    let (told, head_came) = std::sync::mpsc::channel();
    let origin = Origin::new(move |mut peer| {
        peer.client.head();
        told.send(()).expect("the test waits");
        let _ = peer.client.rest();
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    head_came.recv().expect("the head goes on at once");
    client.send("zz\r\n");
    let answer = client.response();
    assert_eq!(answer.status(), 400);
    client.expect_end();
    let line = log.line();
    assert!(line.contains(" app/s ") && line.contains(" 400 "), "{line}");
    assert!(line.contains(" PH-- "), "{line}");
}

#[test]
fn a_request_that_arrives_with_broken_chunks_reaches_no_server() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    for chunks in ["zz\r\n", "2\r\nab\r\nzz\r\n", "2\nab\r\n0\r\n\r\n", "0\r\nx : y\r\n\r\n"] {
        let mut client = weir.web();
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.send(format!("{head}{chunks}"));
        assert_eq!(String::from_utf8_lossy(&client.rest()), BAD_REQUEST, "for {chunks:?}");
        assert_eq!(shape(&log.line()), "web web/<NOSRV> 400 PR-- \"<BADREQ>\"", "for {chunks:?}");
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_response_that_comes_with_broken_chunks_is_a_502() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n".to_owned(),
    );
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    assert_eq!(weir.web().ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status(), 502);
    assert_eq!(shape(&log.line()), "web app/s 502 PH-- \"GET / HTTP/1.1\"");
}

/// Messages that are refused by default and accepted with the options of the manual, section 4.2.
#[test]
fn options_let_malformed_messages_through() {
    let origin =
        Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nb@d: x\r\n\r\nok".to_owned());
    let weir = Setup::http(
        "    option accept-invalid-http-request",
        "    option accept-invalid-http-response\n    server s <origin>\n\
         frontend strict\n    bind <strict>\n    default_backend app\n\
         listen both\n    bind <both>\n    server s <origin>",
    )
    .with("origin", origin.address())
    .start();
    let ask = |name: &str, line: &str, field: &str| {
        let request = format!("{line}\r\nHost: a\r\n{field}\r\n\r\n");
        weir.connect(name).ask(&request).status()
    };
    for (line, field) in [
        ("GET /#f HTTP/1.1", "x: y"),
        ("GET /\u{e9} HTTP/1.1", "x: y"),
        ("GET / RTSP/1.0", "x: y"),
        ("GET http://b/ HTTP/1.1", "x: y"),
        ("GET / HTTP/1.1", "f@o: y"),
        ("GET / HTTP/1.1", "x: a\0b"),
    ] {
        assert_eq!(ask("web", line, field), 200, "{line:?} {field:?}");
        assert_eq!(ask("strict", line, field), 400, "{line:?} {field:?}");
    }
    assert_eq!(ask("both", "GET / HTTP/1.1", "x: y"), 502);
    assert_eq!(ask("web", "GET / HTTP/1.1", "x: y"), 200);
}

#[test]
fn old_requests_have_bodies_of_some_methods_only() {
    let origin = Origin::saying("hello");
    let request = "GET / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab";
    let weir = Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    client.send(request);
    assert!(client.rest().starts_with(b"HTTP/1.1 413 Payload Too Large\r\n"));
    assert_eq!(origin.connections(), 0);

    let lenient = Setup::new(
        "global\n    h1-accept-payload-with-any-method\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout server 5s\n    timeout connect 5s\n\
         listen web\n    bind <web>\n    server s <origin>\n",
    )
    .with("origin", origin.address())
    .start();
    assert_eq!(lenient.web().ask(request).status(), 200);
    assert_eq!(origin.request(0).text(), "ab");
}

#[test]
fn messages_that_haproxy_2_7_accepts_are_accepted() {
    let origin = Origin::saying("hello");
    let weir = Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
    for request in [
        "GET / HTTP/1.1\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "get / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: one\r\n two\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\nab",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert_eq!(weir.web().ask(request).status(), 200, "for {request:?}");
    }
}

#[test]
fn fragments_are_taken_where_rules_treat_them() {
    let origin = Origin::saying("hello");
    let start = |front: &str| {
        let back = "    server s <origin>";
        let global = "expose-experimental-directives";
        Setup::http(front, back).global(global).with("origin", origin.address()).start()
    };
    let request = "GET /a#b HTTP/1.1\r\nHost: test\r\n\r\n";
    assert_eq!(start("").web().ask(request).status(), 400);
    let weir = start("    http-request normalize-uri fragment-strip");
    assert_eq!(weir.web().ask(request).status(), 200);
    assert_eq!(origin.request(0).target(), "/a");
}

#[test]
fn the_last_malformed_messages_can_be_looked_at() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nno colon\r\n\r\n");
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    assert!(weir.cli("show errors").ends_with("] : 0"));
    let mut client = weir.web();
    client.ask("GET / HTTP/1.1\r\nHost: x\r\nFoo : bar\r\n\r\n");
    let shown = weir.cli("show errors web request");
    let source = client.local();
    for part in [
        "] : 1\n \n[".to_owned(),
        format!(
            "] frontend web (#2): invalid request\n  backend <NONE> (#-1), server <NONE> (#-1), \
             event #0, src {source}\n  buffer starts at 0 (including 0 out), 16346 free,\n  \
             len 38, wraps at 16384, error at position 28\n"
        ),
        "\n  00000  GET / HTTP/1.1\\r\\n\n  00016  Host: x\\r\\n\n  00025  Foo : bar\\r\\n\n  \
         00036  \\r\\n"
            .to_owned(),
    ] {
        assert!(shown.contains(&part), "{part}\n---\n{shown}");
    }
    assert_eq!(weir.web().get("/").status(), 502);
    let shown = weir.cli("show errors app response");
    for part in [
        "] : 2\n \n[",
        "] backend app (#3): invalid response\n  frontend web (#2), server s (#1), event #1, src ",
        "error at position 19\n",
        "\n  00000  HTTP/1.1 200 OK\\r\\n\n  00017  no colon\\r\\n\n",
    ] {
        assert!(shown.contains(part), "{part}\n---\n{shown}");
    }
    assert!(!shown.contains("invalid request"));
    assert_eq!(weir.cli("show errors nobody"), "No such proxy.");
}
