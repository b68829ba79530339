//! Tests of upgrades: which are forwarded, which a server may accept, and when the switch takes
//! effect.

use htx::{Head, Version};

use super::exchange::{exchange, settings};
use crate::h1::{ConnectionMode, H1Conn};
use crate::{BodyKind, Side};

/// The fields with which a request with these fields arrives at the server.
fn passed_on(fields: &str) -> String {
    let request = format!("GET / HTTP/1.1\r\nhost: a\r\n{fields}\r\n");
    let got = exchange(ConnectionMode::KeepAlive, &request, "HTTP/1.1 204 No\r\n\r\n");
    let sent = got.expect("a request of valid form").to_server;
    let sent = sent.strip_prefix("GET / HTTP/1.1\r\nhost: a\r\n").expect("the same start");
    sent.strip_suffix("\r\n").expect("an end").to_owned()
}

#[test]
fn protocols_with_requests_are_removed_from_upgrades() {
    for (fields, left) in [
        ("Connection: Upgrade\r\nUpgrade: h2c\r\n", ""),
        ("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", ""),
        ("Connection: HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n", ""),
        ("connection: x, upgrade\r\nupgrade: H2C\r\n", "connection: x\r\n"),
        (
            "connection: upgrade\r\nupgrade: foo/1, h2c\r\n",
            "connection: upgrade\r\nupgrade: foo/1\r\n",
        ),
        (
            "connection: upgrade\r\nupgrade: h2c,foo/1\r\n",
            "connection: upgrade\r\nupgrade: foo/1\r\n",
        ),
        (
            "connection: upgrade\r\nupgrade: foo\r\nupgrade: h2c\r\n",
            "connection: upgrade\r\nupgrade: foo\r\n",
        ),
        (
            "connection: upgrade\r\nupgrade: h2c\r\nupgrade: foo\r\n",
            "connection: upgrade\r\nupgrade: foo\r\n",
        ),
        ("connection: upgrade\r\nupgrade: \"x, h2c, y\"\r\n", ""),
        (
            "connection: upgrade\r\nupgrade: foo, \"h2c\"\r\n",
            "connection: upgrade\r\nupgrade: foo\r\n",
        ),
        ("connection: upgrade\r\nupgrade: foo\r\n h2c\r\n", ""),
        ("connection: upgrade\r\nupgrade: \x0bh2c\r\n", ""),
        ("connection: upgrade\r\nupgrade: TLS/1.0, HTTP/1.1\r\n", ""),
        ("connection: upgrade\r\nupgrade: HTTP/2.0, h2, h2-14, spdy/3\r\n", ""),
        ("connection: upgrade\r\nupgrade: ,\r\n", ""),
        ("connection: upgrade\r\n", ""),
        ("connection: \"upgrade\r\nupgrade: foo\r\n", "connection: \"upgrade\r\n"),
        ("upgrade: foo\r\n", ""),
        ("connection: close\r\nupgrade: foo\r\n", ""),
        (
            "connection: Upgrade\r\nupgrade: foo/1, bar\r\n",
            "connection: Upgrade\r\nupgrade: foo/1, bar\r\n",
        ),
    ] {
        assert_eq!(passed_on(fields), left, "{fields:?}");
    }
}

/// A rule may have added the field.
#[test]
fn upgrades_added_by_rules_are_checked() {
    let mut conn = H1Conn::new(Side::Server, settings(ConnectionMode::KeepAlive));
    let (mut head, mut out) = (Head::default(), Vec::new());
    head.set_request(b"GET", b"/", Version::Http11);
    head.push(b"connection", b"upgrade");
    head.push(b"upgrade", b"h2c");
    conn.encode_head(&mut head, BodyKind::None, &mut out);
    assert_eq!(out, b"GET / HTTP/1.1\r\n\r\n");
}

#[test]
fn servers_may_switch_only_to_allowed_protocols() {
    let asked = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: foo\r\n\r\n";
    let answer = |fields: &str| format!("HTTP/1.1 101 S\r\nconnection: upgrade\r\n{fields}\r\n");
    for named in ["h2c", "foo, h2c", "H2", "HTTP/2.0", "TLS/1.0", "\"h2c\"", "foo\r\nupgrade: h2c"]
    {
        let answer = answer(&format!("upgrade: {named}\r\n"));
        let error = exchange(ConnectionMode::KeepAlive, asked, &answer).unwrap_err();
        assert_eq!(error.status, 502, "{named}");
    }
    let h2c = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n";
    for fields in ["upgrade: h2c\r\n", "upgrade: foo\r\n", ""] {
        let error = exchange(ConnectionMode::KeepAlive, h2c, &answer(fields)).unwrap_err();
        assert_eq!(error.status, 502, "nothing was asked for");
    }
    let switched = exchange(ConnectionMode::KeepAlive, asked, &answer("upgrade: foo\r\n")).unwrap();
    assert!(switched.client_closes && switched.server_closes, "a tunnel");
}

#[test]
fn upgrades_offered_by_servers_lose_protocols_with_requests() {
    for (fields, left) in [
        ("connection: Upgrade, close\r\nupgrade: h2,h2c\r\n", ""),
        ("connection: upgrade\r\nupgrade: h2c, foo\r\n", "connection: upgrade\r\nupgrade: foo\r\n"),
        ("upgrade: foo\r\n", ""),
    ] {
        for status in ["200 OK", "426 No"] {
            let answer = format!("HTTP/1.1 {status}\r\n{fields}content-length: 0\r\n\r\n");
            let got =
                exchange(ConnectionMode::KeepAlive, "GET / HTTP/1.1\r\n\r\n", &answer).unwrap();
            let end = "content-length: 0\r\n\r\n";
            assert_eq!(got.to_client, format!("HTTP/1.1 {status}\r\n{left}{end}"));
        }
    }
}

#[test]
fn an_aborted_request_cannot_switch_protocols() {
    let mut conn = H1Conn::new(Side::Server, settings(ConnectionMode::KeepAlive));
    let mut head = Head::default();
    head.set_request(b"POST", b"/exec", Version::Http11);
    head.push(b"connection", b"upgrade");
    head.push(b"upgrade", b"tcp");
    conn.encode_head(&mut head, BodyKind::Length(2), &mut Vec::new());
    conn.abort();
    let input = b"HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: tcp\r\n\r\n";
    assert_eq!(conn.handle_head(input, &mut head).unwrap_err().status, 502);
}
