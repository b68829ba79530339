//! Tests of single rules: refusals with their statuses, and the resulting hosts.

use htx::Head;
use wire::h1::Exceptions;

use super::exchange::{exchange, settings};
use crate::h1::remove_met_expectation;
use crate::h1::{CheckedBody, ConnectionMode, H1Conn, HeadStep, expects_continue};
use crate::{Fault, Side};

fn receive(request: &str) -> Result<(H1Conn, Head), u16> {
    receive_bytes(request.as_bytes())
}

fn receive_bytes(request: &[u8]) -> Result<(H1Conn, Head), u16> {
    let mut conn = H1Conn::new(Side::Client, settings(ConnectionMode::KeepAlive));
    let mut head = Head::default();
    match conn.handle_head(request, &mut head) {
        Ok(HeadStep::Complete { .. }) => Ok((conn, head)),
        Ok(step) => panic!("{step:?} for {}", request.escape_ascii()),
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
        ("transfer-encoding: ,chunked", 422),
        ("transfer-encoding: chunked, ,", 400),
        ("transfer-encoding: chunked,", 400),
        ("transfer-encoding: Chunked ,", 400),
        ("transfer-encoding: \x0bchunked", 400),
        ("connection: upgrade\r\nupgrade: websocket", 400),
        ("connection: upgrade\r\nupgrade: h2c, websocket", 400),
        ("connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: k", 400),
        ("foo : x", 400),
    ];
    for (fields, status) in rows {
        let got = receive(&format!("POST / HTTP/1.1\r\nhost: a\r\n{fields}\r\n\r\n"));
        assert_eq!(got.map(|_| ()), Err(status), "{fields:?}");
    }
}

#[test]
fn bodies_that_a_method_does_not_have() {
    let rows = [
        ("GET / HTTP/1.0\r\ncontent-length: 3\r\n\r\n", Err(413)),
        ("HEAD / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n", Err(413)),
        ("GET / HTTP/1.0\r\ntransfer-encoding: gzip, chunked\r\n\r\n", Err(413)),
        ("DELETE / HTTP/1.0\r\ncontent-length: 3\r\n\r\n", Err(413)),
        ("GET / HTTP/1.0\r\ncontent-length: 0\r\n\r\n", Ok(())),
        ("OPTIONS / HTTP/1.0\r\ncontent-length: 3\r\n\r\n", Ok(())),
        ("GET / HTTP/1.1\r\ncontent-length: 3\r\n\r\n", Ok(())),
        ("CONNECT a:80 HTTP/1.1\r\ncontent-length: 3\r\n\r\n", Err(400)),
        ("CONNECT a:80 HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", Err(400)),
        ("CONNECT a:80 HTTP/1.1\r\ncontent-length: 0\r\n\r\n", Ok(())),
    ];
    for (request, want) in rows {
        assert_eq!(receive(request).map(drop), want, "{request:?}");
    }
    let mut settings = settings(ConnectionMode::KeepAlive);
    settings.limits.exceptions =
        Exceptions::default().with(Exceptions::PAYLOAD_WITH_ANY_METHOD, true);
    let mut conn = H1Conn::new(Side::Client, settings);
    assert!(conn.handle_head(rows[0].0.as_bytes(), &mut Head::default()).is_ok());
}

#[test]
fn lenient_readers_let_a_target_differ_from_host() {
    for (target, want) in [
        ("GET http://a/", ("http://a/", "b")),
        ("GET http://a:80/", ("http://a/", "a")),
        ("GET foo", ("foo", "b")),
        ("CONNECT /", ("/", "b")),
    ] {
        let mut settings = settings(ConnectionMode::KeepAlive);
        settings.limits.lenient = true;
        let mut conn = H1Conn::new(Side::Client, settings);
        let mut head = Head::default();
        let request = format!("{target} HTTP/1.1\r\nhost: b\r\n\r\n");
        assert!(conn.handle_head(request.as_bytes(), &mut head).is_ok(), "{target}");
        let got = (head.uri(), head.host().unwrap_or_default());
        assert_eq!(got, (want.0.as_bytes(), want.1.as_bytes()), "{target}");
    }
}

#[test]
fn ambiguous_framing_closes() {
    let both = "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n";
    for (head, ambiguous) in [
        (format!("POST / HTTP/1.1\r\n{both}"), true),
        ("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(), true),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(), false),
    ] {
        let (conn, head) = receive(&head).unwrap();
        assert_eq!((conn.is_ambiguous(), conn.must_close()), (ambiguous, ambiguous));
        assert!(head.get(b"content-length").is_none());
    }
    for (status, ambiguous) in [("200 OK", true), ("204 No", false), ("304 No", true)] {
        let mut conn = H1Conn::new(Side::Server, settings(ConnectionMode::KeepAlive));
        let (mut head, mut request) = (Head::default(), Head::default());
        request.set_request(b"GET", b"/", htx::Version::Http11);
        conn.encode_head(&mut request, crate::BodyKind::None, &mut Vec::new());
        let answer = format!("HTTP/1.1 {status}\r\n{both}");
        conn.handle_head(answer.as_bytes(), &mut head).unwrap();
        assert_eq!(conn.is_ambiguous(), ambiguous, "{status}");
    }
}

/// Body bytes after a head are checked without being consumed.
#[test]
fn broken_chunks_are_seen_ahead() {
    let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    for (body, right) in [
        ("", true),
        ("3\r\nab", true),
        ("3\r\nabc\r\n0\r\n\r\nGET", true),
        ("3\r\nabc\r\n0\r\nx: y", true),
        ("zz", false),
        ("3\r\nabcX", false),
        ("3\r\nabc\r\n0\r\nx\r\n", false),
    ] {
        let (mut conn, _) = receive(head).unwrap();
        let checked = conn.check_body(body.as_bytes());
        assert_eq!(checked.is_ok(), right, "{body:?}");
        assert_eq!(conn.payload_received(), 0);
        // The same body, byte by byte.
        let ((mut conn, _), mut ahead) = (receive(head).unwrap(), CheckedBody::default());
        let mut look = |end: usize| conn.check_more(&body.as_bytes()[..end], &mut ahead);
        assert_eq!((0..=body.len()).all(|end| look(end).is_ok()), right, "{body:?}");
    }
    let (mut conn, _) = receive("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\n").unwrap();
    assert!(conn.check_body(b"zz").is_ok());
}

#[test]
fn refused_responses_are_502() {
    let get = "GET / HTTP/1.1\r\n\r\n";
    let ws = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let rows = [
        (get, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked,\r\n\r\n0\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\nfoo : x\r\n\r\n"),
        (get, "junk\r\n\r\n"),
        (
            ws,
            "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\ncontent-length: 1, 2\r\n\r\n",
        ),
        (get, "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: foo\r\n\r\n"),
        (ws, "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
        (ws, "HTTP/1.1 101 S\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n"),
        (get, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
    ];
    for (request, response) in rows {
        let error = exchange(ConnectionMode::KeepAlive, request, response).unwrap_err();
        assert_eq!((error.status, error.fault), (502, Fault::Server), "{response:?}");
    }
}

type Row = (&'static str, &'static str, Result<(&'static str, &'static str), u16>);

/// Every byte that is invalid in a host, in `Host`, in an absolute target and in a CONNECT.
#[test]
fn hosts_are_of_valid_bytes() {
    for odd in b"/?#@\\,[] \t\x7f\x80\xff\"<>^`{|}\x0b%" {
        for (before, after) in [("a", "b"), ("", "b"), ("a", "")] {
            let host = [before.as_bytes(), &[*odd], after.as_bytes()].concat();
            let blank = matches!(odd, b' ' | b'\t') && host.len() < 3;
            let line = [b"GET / HTTP/1.1\r\nhost: ", &host[..], b"\r\n\r\n"].concat();
            let got = receive_bytes(&line).map(drop);
            assert_eq!(got, if blank { Ok(()) } else { Err(400) }, "{}", host.escape_ascii());
            let ends = matches!(odd, b'/' | b'?') && !before.is_empty();
            if ends || blank || (*odd == b'@' && !after.is_empty()) {
                continue;
            }
            let line = [b"GET http://", &host[..], b"/ HTTP/1.1\r\n\r\n"].concat();
            assert_eq!(receive_bytes(&line).map(drop), Err(400), "{}", host.escape_ascii());
            let line = [b"CONNECT ", &host[..], b":80 HTTP/1.1\r\n\r\n"].concat();
            assert_eq!(receive_bytes(&line).map(drop), Err(400), "{}", host.escape_ascii());
        }
    }
}

#[test]
fn lenient_readers_take_odd_hosts_codings_and_trailers() {
    let mut settings = settings(ConnectionMode::KeepAlive);
    settings.limits.lenient = true;
    for request in [
        "GET / HTTP/1.1\r\nhost: a,b/c d\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n b\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n",
        "GET mailto:x@y HTTP/1.1\r\n\r\n",
        "GET http:///x HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked,\r\n\r\n2;x=\"\r\nab\r\n0\r\nhost: b\r\n\r\n",
    ] {
        let mut conn = H1Conn::new(Side::Client, settings);
        let mut head = Head::default();
        let Ok(HeadStep::Complete { consumed, .. }) =
            conn.handle_head(request.as_bytes(), &mut head)
        else {
            panic!("{request:?} is refused")
        };
        assert!(conn.check_body(&request.as_bytes()[consumed..]).is_ok(), "{request:?}");
    }
}

/// Request line and Host, then the target and Host that rules see, or the refusal.
#[test]
fn hosts() {
    let rows: &[Row] = &[
        ("GET /", "a:80", Ok(("/", "a:80"))),
        ("GET /", "a b/c", Err(400)),
        ("GET /", "", Ok(("/", ""))),
        ("GET /", ":8443example.org", Ok(("/", ":8443example.org"))),
        ("GET http://a:x/", "a:x", Err(400)),
        ("GET *", "a", Err(400)),
        ("OPTIONS *", "a", Ok(("*", "a"))),
        ("OPTIONS a:80", "a:80", Err(400)),
        ("OPTIONS http://a:80", "a", Ok(("http://a", "a"))),
        ("GET *x", "a", Err(400)),
        ("GET foo", "a", Err(400)),
        ("GET ?", "a", Err(400)),
        ("GET http:/a/", "a", Err(400)),
        ("GET h\"t://a/", "a", Err(400)),
        ("GET foo", "FOO", Err(400)),
        ("GET @a", "a", Err(400)),
        ("GET a:443", "a:443", Err(400)),
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
        ("GET https://A:443/x", "a:443", Ok(("https://A/x", "A"))),
        ("GET https://a:80/", "a:80", Ok(("https://a:80/", "a:80"))),
        ("GET ftp://a:80/", "a:80", Ok(("ftp://a:80/", "a:80"))),
        ("GET http://u:p@a:80/c", "a:80", Ok(("http://u:p@a/c", "a"))),
        ("GET http://u@a/", "u@a", Err(400)),
        ("GET http:///x", "a", Err(400)),
        ("GET http://:80/x", "a", Err(400)),
        ("GET http://a,b/", "a,b", Err(400)),
        ("GET http://u@v@a/", "a", Err(400)),
        ("GET http://a\\b/", "a\\b", Err(400)),
        ("GET mailto:x@y", "y", Err(400)),
        ("GET <script>", "a", Err(400)),
        ("GET !", "a", Err(400)),
        ("GET data://", "a", Err(400)),
        ("CONNECT [::1]:443", "[::1]", Ok(("[::1]:443", "[::1]"))),
        ("CONNECT a,b:443", "a,b", Err(400)),
        ("CONNECT :443", ":443", Err(400)),
        ("CONNECT *", "a", Err(400)),
        ("CONNECT a:443", "a:443", Ok(("a:443", "a"))),
        ("CONNECT a:443", "a", Ok(("a:443", "a"))),
        ("CONNECT u:p@a:80", "a:80", Ok(("u:p@a:80", "a"))),
        ("CONNECT a:8443", "a:8443", Ok(("a:8443", "a:8443"))),
        ("CONNECT a:8443", "a", Err(400)),
        ("CONNECT a:80", "a:443", Err(400)),
        ("CONNECT a", "a", Err(400)),
        ("CONNECT http://a/", "a", Err(400)),
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

#[test]
fn expectation_that_is_met_is_removed_and_others_stay() {
    for (fields, left) in [
        ("Expect: 100-continue\r\n", &[][..]),
        ("Expect: 100-CONTINUE, x\r\n", &["x"]),
        ("Expect: 100-continue\r\nExpect: 100-continue, x\r\n", &["100-continue, x"]),
        ("Expect: 100-continue\r\nExpect: 100-continue\r\n", &["100-continue"]),
        ("Expect: x\r\nExpect: 100-continue\r\n", &["x"]),
        ("Expect: a=\"100-continue,\", 100-continue,b\r\n", &["a=\"100-continue,\", b"]),
    ] {
        let (_, mut head) = receive(&format!("PUT / HTTP/1.1\r\n{fields}\r\n")).unwrap();
        assert!(expects_continue(&head), "{fields}");
        remove_met_expectation(&mut head);
        let values: Vec<_> = head.all(b"expect").map(|field| field.value.to_vec()).collect();
        assert_eq!(values, left.iter().map(|it| it.as_bytes()).collect::<Vec<_>>(), "{fields}");
    }
    let (_, head) = receive("PUT / HTTP/1.1\r\nExpect: 100-continue;q=1\r\n\r\n").unwrap();
    assert!(!expects_continue(&head));
}
