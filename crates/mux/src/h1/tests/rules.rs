//! One row per rule: what is refused and with which status, and how hosts come out.

use htx::Head;

use super::exchange::{exchange, settings};
use crate::h1::{Conn, HeadStep, Mode, expects_continue};
use crate::{Fault, Side};

fn receive(request: &str) -> Result<(Conn, Head), u16> {
    let mut conn = Conn::new(Side::Client, settings(Mode::KeepAlive));
    let mut head = Head::default();
    match conn.handle_head(request.as_bytes(), &mut head) {
        Ok(HeadStep::Complete { .. }) => Ok((conn, head)),
        Ok(step) => panic!("{step:?} for {request:?}"),
        Err(error) => {
            assert_eq!(error.fault, Fault::Client);
            assert!(conn.must_close());
            Err(error.status)
        }
    }
}

#[test]
fn refused_framing() {
    let rows = [
        ("content-length: 2\r\ncontent-length: 3", 400),
        ("content-length: 2, 3", 400),
        ("content-length: +2", 400),
        ("content-length: -2", 400),
        ("content-length: ", 400),
        ("content-length: 2,", 400),
        ("content-length: ,2", 400),
        ("content-length: 2 2", 400),
        ("content-length: 0x2", 400),
        ("content-length: 18446744073709551616", 400),
        ("content-length: x\r\ntransfer-encoding: chunked", 400),
        ("transfer-encoding: chunked, chunked", 400),
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked", 400),
        ("transfer-encoding: chunked, gzip", 400),
        ("transfer-encoding: chunked, gzip, chunked", 400),
        ("transfer-encoding: gzip", 400),
        ("transfer-encoding: identity", 400),
        ("transfer-encoding: ", 400),
        ("transfer-encoding: chunked;x", 400),
        ("transfer-encoding: \"chunked\"", 400),
        ("transfer-encoding: gzip, chunked", 422),
        ("transfer-encoding: gzip\r\ntransfer-encoding: chunked", 422),
        ("connection: upgrade\r\nupgrade: websocket", 400),
        ("connection: upgrade\r\nupgrade: h2c, websocket", 400),
        ("foo : x", 400),
    ];
    for (fields, status) in rows {
        let got = receive(&format!("POST / HTTP/1.1\r\nhost: a\r\n{fields}\r\n\r\n"));
        assert_eq!(got.map(|_| ()), Err(status), "{fields:?}");
    }
}

#[test]
fn refused_responses_are_502() {
    let get = "GET / HTTP/1.1\r\n\r\n";
    let ws = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: k\r\n\r\n";
    let rows = [
        (get, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\nfoo : x\r\n\r\n"),
        (get, "junk\r\n\r\n"),
        (get, "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: foo\r\n\r\n"),
        (ws, "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
        (ws, "HTTP/1.1 101 S\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
    ];
    for (request, response) in rows {
        let error = exchange(Mode::KeepAlive, request, response).unwrap_err();
        assert_eq!((error.status, error.fault), (502, Fault::Server), "{response:?}");
    }
}

type Row = (&'static str, &'static str, Result<(&'static str, &'static str), u16>);

/// Request line and Host, then the target and Host that rules will see, or the refusal.
#[test]
fn hosts() {
    let rows: [Row; 33] = [
        ("GET /", "a:80", Ok(("/", "a:80"))),
        ("GET /", "a b/c", Ok(("/", "a b/c"))),
        ("GET /", "", Ok(("/", ""))),
        ("GET *", "a", Ok(("*", "a"))),
        ("GET foo", "a", Ok(("foo", "a"))),
        ("GET a:443", "a:443", Ok(("a:443", "a:443"))),
        ("GET a:443", "a", Err(400)),
        ("GET a:443", "b", Err(400)),
        ("GET http://a:80/", "a:80", Ok(("http://a/", "a"))),
        ("GET http://a:80/", "a", Ok(("http://a/", "a"))),
        ("GET http://a/", "a:80", Ok(("http://a/", "a:80"))),
        ("GET http://a/", "A", Ok(("http://a/", "A"))),
        ("GET http://a/", "a:", Ok(("http://a/", "a:"))),
        ("GET http://a:/", "a", Ok(("http://a/", "a"))),
        ("GET http://a/", "b", Err(400)),
        ("GET http://a:8080/", "a", Err(400)),
        ("GET http://a:8080/x?y", "a:8080", Ok(("http://a:8080/x?y", "a:8080"))),
        ("GET https://a:443/x", "a:443", Ok(("https://a/x", "a"))),
        ("GET https://a:80/", "a:80", Ok(("https://a:80/", "a:80"))),
        ("GET ftp://a:80/", "a:80", Ok(("ftp://a:80/", "a:80"))),
        ("GET http://u:p@a:80/c", "a:80", Ok(("http://u:p@a/c", "a"))),
        ("GET http://u@a/", "u@a", Err(400)),
        ("GET http:///x", "a", Ok(("http:///x", "a"))),
        ("CONNECT a:443", "a:443", Ok(("a:443", "a"))),
        ("CONNECT a:443", "a", Ok(("a:443", "a"))),
        ("CONNECT u:p@a:80", "a:80", Ok(("u:p@a:80", "a"))),
        ("CONNECT a:8443", "a:8443", Ok(("a:8443", "a:8443"))),
        ("CONNECT a:8443", "a", Err(400)),
        ("CONNECT a:80", "a:443", Err(400)),
        ("CONNECT a", "a", Err(400)),
        ("CONNECT a:", "a", Err(400)),
        ("CONNECT a:x", "a:x", Err(400)),
        ("CONNECT /x", "a", Err(400)),
    ];
    for (line, host, want) in rows {
        let got = receive(&format!("{line} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        let got = got.as_ref().map(|(_, head)| (head.uri(), head.host().unwrap_or(b"-")));
        let want = want.as_ref().map(|(uri, host)| (uri.as_bytes(), host.as_bytes()));
        assert_eq!(got, want, "{line:?} {host:?}");
    }
}

#[test]
fn repeated_and_missing_hosts() {
    let host_lines = |fields: &str| {
        let got = receive(&format!("GET / HTTP/1.1\r\n{fields}\r\n"))?;
        Ok::<_, u16>(got.1.fields().filter(|f| f.name == b"host").count())
    };
    assert_eq!(host_lines("host: a\r\nx: y\r\nHost: A\r\nhost: a\r\n"), Ok(1));
    assert_eq!(host_lines("host: a\r\nhost: b\r\n"), Err(400));
    assert_eq!(host_lines(""), Ok(0));
    assert!(receive("GET http://a/ HTTP/1.1\r\n\r\n").is_ok());
    assert!(receive("CONNECT a:443 HTTP/1.1\r\n\r\n").is_ok());
}

#[test]
fn expectations_are_seen() {
    let (_, head) = receive("PUT / HTTP/1.1\r\nExpect: 100-Continue\r\n\r\n").unwrap();
    assert!(expects_continue(&head));
    let (_, head) = receive("PUT / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").unwrap();
    assert!(!expects_continue(&head));
}
