//! Tests of whole exchanges through a client and a server connection. The expected bytes were
//! measured on HAProxy.

use htx::{Fields, Head};

use crate::h1::{ConnectionMode, H1Conn, H1ConnSettings, HeadStep};
use crate::{BodyKind, MessageError, Side};

/// Bytes that were forwarded in both directions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) to_server: String,
    pub(super) to_client: String,
    pub(super) client_closes: bool,
    pub(super) server_closes: bool,
}

pub(super) fn settings(mode: ConnectionMode) -> H1ConnSettings {
    H1ConnSettings { mode, ..H1ConnSettings::default() }
}

/// Reads one message from one connection and writes it to the other. `input` is all that the peer
/// sends before it closes.
pub(super) fn relay(
    from: &mut H1Conn,
    to: &mut H1Conn,
    mut input: &[u8],
) -> Result<Vec<u8>, MessageError> {
    let (mut head, mut out) = (Head::default(), Vec::new());
    let body = loop {
        match from.handle_head(input, &mut head)? {
            HeadStep::NeedMore => panic!("the head is incomplete"),
            HeadStep::Interim { consumed } => {
                input = &input[consumed..];
                to.encode_head(&mut head, BodyKind::None, &mut out);
            }
            HeadStep::Complete { consumed, body } => {
                input = &input[consumed..];
                break body;
            }
        }
    };
    let sends = to.encode_head(&mut head, body, &mut out);
    if body == BodyKind::Tunnel {
        out.extend_from_slice(input);
        return Ok(out);
    }
    let mut trailers = Fields::default();
    loop {
        let step = from.handle_body(input, &mut trailers)?;
        let (data, rest) = input[step.skip..].split_at(step.data);
        if sends != BodyKind::None {
            let framing = to.encode_data(data.len() as u64)?;
            out.extend_from_slice(framing.prefix());
            out.extend_from_slice(data);
            out.extend_from_slice(framing.suffix());
        }
        input = rest;
        if step.done {
            break;
        }
        if step.skip + step.data == 0 {
            from.handle_eof();
            break;
        }
    }
    to.encode_end(Some(&trailers), &mut out);
    Ok(out)
}

pub(super) fn exchange(
    mode: ConnectionMode,
    request: &str,
    response: &str,
) -> Result<Exchange, MessageError> {
    let mut client = H1Conn::new(Side::Client, settings(mode));
    let mut server = H1Conn::new(Side::Server, settings(mode));
    let to_server = relay(&mut client, &mut server, request.as_bytes())?;
    if client.is_ambiguous() {
        server.close_after_message();
    }
    let to_client = relay(&mut server, &mut client, response.as_bytes())?;
    Ok(Exchange {
        to_server: String::from_utf8_lossy(&to_server).into_owned(),
        to_client: String::from_utf8_lossy(&to_client).into_owned(),
        client_closes: client.must_close(),
        server_closes: server.must_close(),
    })
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const OK10: &str = "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok";
const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

/// Request as received, request as sent, response as sent when the server answers `OK`, and whether
/// the client connection closes.
#[test]
fn requests_keep_alive() {
    let open = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let close = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
    let keep = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok";
    let rows = [
        ("G / HTTP/1.1\r\n\r\n", "G / HTTP/1.1\r\n\r\n", open),
        ("G / HTTP/1.1\r\nconnection: close\r\n\r\n", "G / HTTP/1.1\r\n\r\n", close),
        ("G / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", "G / HTTP/1.1\r\n\r\n", open),
        (
            "G / HTTP/1.1\r\nconnection: Foo, keep-alive, bar\r\n\r\n",
            "G / HTTP/1.1\r\nconnection: Foo,bar\r\n\r\n",
            open,
        ),
        ("G / HTTP/1.1\r\nconnection: close, keep-alive\r\n\r\n", "G / HTTP/1.1\r\n\r\n", close),
        (
            "G / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
            "G / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
            keep,
        ),
        (
            "G / HTTP/1.0\r\nconnection: foo\r\n\r\n",
            "G / HTTP/1.0\r\nconnection: foo\r\nconnection: keep-alive\r\n\r\n",
            close,
        ),
        ("G / HTTP/1.0\r\n\r\n", "G / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", close),
        (
            "G / HTTP/1.1\r\nconnection: upgrade, keep-alive\r\nupgrade: x\r\n\r\n",
            "G / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
            open,
        ),
        (
            "G / HTTP/1.1\r\nupgrade: x\r\nhttp2-settings: AA\r\nhost: a\r\n\r\n",
            "G / HTTP/1.1\r\nhost: a\r\n\r\n",
            open,
        ),
        (
            "G / HTTP/1.0\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
            "G / HTTP/1.0\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
            close,
        ),
        (
            "G / HTTP/1.1\r\nproxy-connection: close\r\nkeep-alive: 3\r\n\r\n",
            "G / HTTP/1.1\r\nproxy-connection: close\r\nkeep-alive: 3\r\n\r\n",
            open,
        ),
        (
            "G / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 0\r\n\r\n",
            "G / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 0\r\n\r\n",
            open,
        ),
        (
            "G / HTTP/1.1\r\nte: trailers, gzip\r\n\r\n",
            "G / HTTP/1.1\r\nte: trailers\r\n\r\n",
            open,
        ),
        (
            "G / HTTP/1.1\r\nte: gzip\r\nte: trailers\r\nx: y\r\n\r\n",
            "G / HTTP/1.1\r\nte: trailers\r\nx: y\r\n\r\n",
            open,
        ),
        ("G / HTTP/1.1\r\nte: trailers;q=1\r\n\r\n", "G / HTTP/1.1\r\n\r\n", open),
        (
            "P / HTTP/1.1\r\ncontent-length: 2\r\nx: y\r\ncontent-length: 2\r\n\r\nab",
            "P / HTTP/1.1\r\ncontent-length: 2\r\nx: y\r\n\r\nab",
            open,
        ),
        (
            "P / HTTP/1.1\r\ncontent-length: 2 , 2\r\n\r\nab",
            "P / HTTP/1.1\r\ncontent-length: 2\r\n\r\nab",
            open,
        ),
        (
            "P / HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n5;x\r\nabcde\r\n0\r\nFoo: bar\r\n\r\n",
            "P / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nfoo: bar\r\n\r\n",
            open,
        ),
        (
            "P / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "P / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            close,
        ),
        (
            "P / HTTP/1.0\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n0\r\n\r\n",
            "P / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            close,
        ),
        (
            "P / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: foo\r\ncontent-length: 1\r\n\r\nx",
            "P / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: foo\r\ncontent-length: 1\r\n\r\nx",
            open,
        ),
        (
            "P / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\ncontent-length: 1\r\n\r\nx",
            "P / HTTP/1.1\r\nconnection: upgrade\r\ncontent-length: 1\r\n\r\nx",
            open,
        ),
        (
            "P / HTTP/1.1\r\nTransfer-Encoding: CHUNKED\r\nx: y\r\n\r\n0\r\n\r\n",
            "P / HTTP/1.1\r\ntransfer-encoding: chunked\r\nx: y\r\n\r\n0\r\n\r\n",
            open,
        ),
        (
            "P / HTTP/1.1\r\ncontent-length: 0002\r\nx: y\r\n\r\nab",
            "P / HTTP/1.1\r\ncontent-length: 2\r\nx: y\r\n\r\nab",
            open,
        ),
        (
            "P / HTTP/1.1\r\ncontent-length: 02, 2\r\ncontent-length: 2\r\n\r\nab",
            "P / HTTP/1.1\r\ncontent-length: 2\r\n\r\nab",
            open,
        ),
        (
            "P / HTTP/1.1\r\ncontent-length: 000\r\n\r\n",
            "P / HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
            open,
        ),
    ];
    for (request, sent, reply) in rows {
        let got = exchange(ConnectionMode::KeepAlive, request, OK).unwrap();
        assert_eq!(got.to_server, sent, "{request:?}");
        assert_eq!(got.to_client, reply, "{request:?}");
        assert_eq!(got.client_closes, reply == close, "{request:?}");
    }
}

#[test]
fn responses_to_an_11_client() {
    let rows = [
        (
            "HTTP/1.1 200 OK\r\n\r\nbody",
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nbody",
            true,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nab",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
            false,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabcd",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
            false,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x\r\nab\r\n0\r\nFoo: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nfoo: b\r\n\r\n",
            false,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            false,
            true,
        ),
        (
            OK10,
            "HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok",
            false,
            true,
        ),
        (
            "HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n",
            "HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n",
            false,
            false,
        ),
        ("HTTP/1.0 200 OK\r\n\r\nab", "HTTP/1.0 200 OK\r\n\r\nab", true, true),
        (
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            true,
            true,
        ),
        ("HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\n", "HTTP/1.1 204 No\r\n\r\n", false, false),
        (
            "HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 204 No\r\n\r\n",
            false,
            false,
        ),
        (
            "HTTP/1.1 304 NM\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 304 NM\r\ncontent-length: 2\r\n\r\n",
            false,
            false,
        ),
        (
            "HTTP/1.1 304 NM\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 304 NM\r\ntransfer-encoding: chunked\r\n\r\n",
            false,
            false,
        ),
        (
            "HTTP/1.1 304 NM\r\ntransfer-encoding: CHUNKED\r\n\r\n",
            "HTTP/1.1 304 NM\r\ntransfer-encoding: chunked\r\n\r\n",
            false,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 02\r\nx: y\r\n\r\nab",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx: y\r\n\r\nab",
            false,
            false,
        ),
        (
            "HTTP/1.1 304 NM\r\ncontent-length: 02\r\n\r\n",
            "HTTP/1.1 304 NM\r\ncontent-length: 2\r\n\r\n",
            false,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nX: y\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\nHost: b\r\nTE: trailers\r\nConnection: close\r\nUpgrade: h2c\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: y\r\n\r\n",
            false,
            false,
        ),
        (
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nlink: x\r\ncontent-length: 5\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            false,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nConnection: Upgrade, close\r\nUpgrade: x\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nconnection: Upgrade\r\nupgrade: x\r\ncontent-length: 0\r\n\r\n",
            false,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nte: x\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            false,
            false,
        ),
    ];
    for (response, sent, client, server) in rows {
        let got = exchange(ConnectionMode::KeepAlive, GET, response).unwrap();
        assert_eq!(got.to_client, sent, "{response:?}");
        assert_eq!((got.client_closes, got.server_closes), (client, server), "{response:?}");
    }
}

#[test]
fn head_requests_get_no_body() {
    let head = "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n";
    for response in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
    ] {
        let got = exchange(ConnectionMode::KeepAlive, head, response).unwrap();
        assert_eq!(got.to_client, response);
        assert!(!got.client_closes && !got.server_closes);
    }
}

#[test]
fn responses_to_a_10_client() {
    let request = "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    let got = exchange(ConnectionMode::KeepAlive, request, chunked).unwrap();
    assert_eq!(got.to_client, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc");
    assert!(got.client_closes && !got.server_closes);
    let got = exchange(ConnectionMode::KeepAlive, request, OK10).unwrap();
    assert_eq!(
        got.to_client,
        "HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok"
    );
    let got = exchange(ConnectionMode::KeepAlive, "GET / HTTP/1.0\r\n\r\n", OK10).unwrap();
    assert_eq!((got.to_client.as_str(), got.client_closes), (OK10, true));
    let got = exchange(ConnectionMode::KeepAlive, request, "HTTP/1.1 304 N\r\n\r\n").unwrap();
    assert_eq!(got.to_client, "HTTP/1.1 304 N\r\nconnection: keep-alive\r\n\r\n");
}

#[test]
fn modes() {
    let keep10 = "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let upgrade = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    let closed = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
    let kept10 = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok";
    let get_close = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let rows = [
        (ConnectionMode::Close, GET, OK, get_close, closed, true),
        (ConnectionMode::Close, GET, OK10, get_close, OK10, true),
        (ConnectionMode::Close, keep10, OK, "GET / HTTP/1.0\r\n\r\n", closed, true),
        (ConnectionMode::Close, upgrade, OK, upgrade, closed, true),
        (ConnectionMode::ServerClose, GET, OK, get_close, OK, false),
        (ConnectionMode::ServerClose, keep10, OK, "GET / HTTP/1.0\r\n\r\n", kept10, false),
        (ConnectionMode::ServerClose, upgrade, OK, upgrade, OK, false),
    ];
    for (mode, request, response, to_server, to_client, client_closes) in rows {
        let got = exchange(mode, request, response).unwrap();
        let want = Exchange {
            to_server: to_server.to_owned(),
            to_client: to_client.to_owned(),
            client_closes,
            server_closes: true,
        };
        assert_eq!(got, want, "{mode:?} {request:?}");
    }
}

#[test]
fn tunnels() {
    let ws = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let up = "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: bad\r\n\r\nxyz";
    let got = exchange(ConnectionMode::KeepAlive, ws, up).unwrap();
    assert_eq!((got.to_server.as_str(), got.to_client.as_str()), (ws, up));
    assert!(got.client_closes && got.server_closes);

    let plain = "GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: foo\r\n\r\n";
    let up =
        "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: foo\r\ncontent-length: 3\r\n\r\nxyz";
    let got = exchange(ConnectionMode::KeepAlive, plain, up).unwrap();
    assert_eq!(got.to_client, "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: foo\r\n\r\nxyz");

    let connect = "CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n";
    for response in [
        "HTTP/1.1 200 OK\r\n\r\nxyz",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz",
        "HTTP/1.0 200 OK\r\n\r\nxyz",
    ] {
        let got = exchange(ConnectionMode::KeepAlive, connect, response).unwrap();
        assert_eq!(got.to_client, response);
        assert!(got.client_closes);
    }
    let refused = "HTTP/1.1 403 F\r\ncontent-length: 2\r\n\r\nab";
    let got = exchange(ConnectionMode::KeepAlive, connect, refused).unwrap();
    assert_eq!((got.to_client.as_str(), got.client_closes), (refused, false));
}

/// RFC 9110 section 7.8: the protocol does not change within a message.
#[test]
fn an_upgrade_accepted_early_switches_behind_the_body() {
    let request =
        "POST / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: foo\r\ncontent-length: 3\r\n\r\n";
    let (mut client, mut server) = (
        H1Conn::new(Side::Client, H1ConnSettings::default()),
        H1Conn::new(Side::Server, H1ConnSettings::default()),
    );
    let (mut head, mut out) = (Head::default(), Vec::new());
    let HeadStep::Complete { body, .. } =
        client.handle_head(request.as_bytes(), &mut head).unwrap()
    else {
        panic!("the head is incomplete");
    };
    assert_eq!(server.encode_head(&mut head, body, &mut out), BodyKind::Length(3));

    let answer = "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: foo\r\n\r\nxyz";
    let answered = relay(&mut server, &mut client, answer.as_bytes()).unwrap();
    assert_eq!(String::from_utf8_lossy(&answered), answer);
    assert!(client.is_tunnel() && server.is_tunnel());

    let mut trailers = Fields::default();
    let step = client.handle_body(b"abcDEF", &mut trailers).unwrap();
    assert_eq!((step.data, step.done), (3, true), "the rest is not the body's");
    server.encode_data(3).unwrap();
    assert!(server.encode_data(3).is_err(), "the message has no place for more");
    server.encode_end(None, &mut out);

    client.tunnel_behind_request();
    server.tunnel_behind_request();
    let step = client.handle_body(b"DEF", &mut trailers).unwrap();
    assert_eq!((step.data, step.done), (3, false));
    server.encode_data(3).unwrap();
    assert!(client.must_close() && server.must_close());
}

#[test]
fn a_connection_without_an_upgrade_does_not_become_a_tunnel() {
    let mut server = H1Conn::new(Side::Server, H1ConnSettings::default());
    let (mut client, get) = (H1Conn::new(Side::Client, H1ConnSettings::default()), GET.as_bytes());
    relay(&mut client, &mut server, get).unwrap();
    server.tunnel_behind_request();
    assert!(!server.is_tunnel() && server.encode_data(1).is_err());
}
