//! HTTP/2 as the configuration asks for it.

use crate::support::{
    Client, Identity, LogReceiver, Message, Origin, Peer, Setup, Talker, eventually, shape,
};
use crate::threads::first;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
pub(crate) const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// `GET http://a/` on a stream of its own, complete.
pub(crate) fn get(stream: u8) -> Vec<u8> {
    [&[0, 0, 6, 1, 5, 0, 0, 0, stream][..], b"\x82\x86\x84\x41\x01a"].concat()
}

/// A frame: its type, its flags, its stream, its payload.
pub(crate) fn frame(client: &mut Client) -> (u8, u8, u32, Vec<u8>) {
    let header = client.take(9);
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let payload = client.take(number(&header[..3]) as usize);
    (header[3], header[4], number(&header[5..]), payload)
}

/// The settings that a client receives, by number.
pub(crate) fn told(client: &mut Client) -> Vec<(u8, u32)> {
    client.send([PREFACE, &SETTINGS].concat());
    let (kind, _, _, payload) = frame(client);
    assert_eq!(kind, 4, "SETTINGS come first");
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    payload.chunks(6).map(|entry| (entry[1], number(&entry[2..]))).collect()
}

/// The first byte of the header block that answers a stream: an indexed status.
pub(crate) fn answer(client: &mut Client, stream: u8) -> u8 {
    client.send(get(stream));
    block(client, u32::from(stream))[0]
}

/// The next header block of a stream.
pub(crate) fn block(client: &mut Client, stream: u32) -> Vec<u8> {
    loop {
        let (kind, _, id, payload) = frame(client);
        if (kind, id) == (1, stream) {
            return payload;
        }
    }
}

pub(crate) const OK: u8 = 0x88;

/// The status that a header block begins with.
fn status(block: &[u8]) -> u16 {
    let text = || std::str::from_utf8(&block[2..5]).expect("a status");
    if block[0] == OK { 200 } else { text().parse().expect("a status") }
}

#[test]
fn clear_ports_take_both_versions() {
    let log = LogReceiver::new();
    let origin = Origin::saying("ok");
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    told(&mut client);
    assert_eq!(answer(&mut client, 1), OK);
    assert_eq!(weir.web().get("/").status(), 200);
    log.find("\"GET http://a/ HTTP/2.0\"");
}

/// A list that is too large gets an answer, and the connection continues; a block that decodes to
/// far more ends the connection (RFC 9113 section 10.5.1).
#[test]
fn fragments_are_refused_as_over_http1() {
    let origin = Origin::saying("hello");
    // `:path: /x#y` instead of the indexed path of `get`.
    let request = [&[0, 0, 11, 1, 5, 0, 0, 0, 1][..], b"\x82\x86\x44\x04/x#y\x41\x01a"].concat();
    for (front, expected) in [
        ("", (3, vec![0, 0, 0, 1])),
        ("    option accept-invalid-http-request", (1, vec![OK])),
        ("    http-request normalize-uri fragment-strip", (1, vec![OK])),
    ] {
        let setup = Setup::http(front, "    server s <origin>");
        let setup = setup.global("expose-experimental-directives");
        let weir = setup.with("origin", origin.address()).start();
        let mut client = weir.web();
        client.send([PREFACE, &SETTINGS, &request].concat());
        let (kind, payload) = loop {
            let (kind, _, stream, payload) = frame(&mut client);
            if stream == 1 {
                break (kind, payload);
            }
        };
        let payload = if kind == 1 { payload[..1].to_vec() } else { payload };
        assert_eq!((kind, payload), expected, "{front}");
    }
    assert_eq!(origin.request(0).target(), "/x#y");
    assert_eq!(origin.request(1).target(), "/x");
}

#[test]
fn a_rejected_request_ends_its_connection() {
    for front in [
        "    http-request reject if { path / }",
        "    tcp-request inspect-delay 5s\n    tcp-request content reject if { path / }",
    ] {
        let weir = Setup::http(front, "    server s 127.0.0.1:1").start();
        let mut client = weir.web();
        client.send([PREFACE, &SETTINGS, &get(1)].concat());
        let mut frames = std::iter::repeat_with(|| frame(&mut client));
        let mut next =
            |wanted| frames.find(|(kind, ..)| *kind == wanted).expect("no end of frames");
        let (_, _, stream, code) = next(3);
        assert_eq!((stream, code), (1, vec![0, 0, 0, 11]), "{front}");
        let (_, _, _, told) = next(7);
        assert_eq!(told[4..], [0, 0, 0, 11], "{front}");
        assert_eq!(client.rest(), b"", "{front}");
    }
}

#[test]
fn header_lists_that_are_too_large() {
    let weir = Setup::http("    http-request return status 200", "").start();
    let mut client = weir.web();
    told(&mut client);
    let headers = |stream: u8, block: &[u8]| {
        let length = (block.len() as u32).to_be_bytes();
        [&length[1..], &[1, 5, 0, 0, 0, stream], block].concat()
    };
    let fields = b"\0\x01a\x01b".repeat(300);
    client.send(headers(1, &[b"\x82\x86\x84\x41\x01a", &fields[..]].concat()));
    // 400 is an entry of the static table.
    assert_eq!(block(&mut client, 1)[0], 0x8c);
    assert_eq!(answer(&mut client, 3), OK);
    client.send(headers(5, &[0x82; 4_000]));
    loop {
        let (kind, _, _, payload) = frame(&mut client);
        if kind == 7 {
            assert_eq!(payload[4..8], [0, 0, 0, 11], "ENHANCE_YOUR_CALM");
            break;
        }
    }
    client.expect_end();
}

#[test]
fn settings_of_http2_are_sent_to_the_peer() {
    let front = "    http-request return status 200";
    let weir = Setup::http(front, "").start();
    assert_eq!(told(&mut weir.web()), [(3, 100), (4, 65_536), (8, 1)]);
    let global = "tune.h2.header-table-size 8192\n    tune.h2.initial-window-size 1000\n    \
                  tune.h2.max-concurrent-streams 7\n    tune.bufsize 32768\n    \
                  tune.h2.max-frame-size 20000\n    h2-workaround-bogus-websocket-clients";
    let weir = Setup::http(front, "").global(global).start();
    assert_eq!(told(&mut weir.web()), [(1, 8_192), (3, 7), (4, 1_000), (5, 20_000)]);
}

#[test]
fn clear_ports_that_do_not_change_their_protocol() {
    let front = "    option disable-h2-upgrade\n    http-request return status 200";
    let weir = Setup::http(front, "").start();
    let mut client = weir.web();
    client.send(PREFACE);
    assert_eq!(client.response().status(), 400);
}

#[test]
fn the_version_can_be_asked_for() {
    let front = "    http-request return status 200 if { fc_http_major 2 }\n    \
                 http-request deny";
    let weir = Setup::http(front, "").start();
    let mut client = weir.web();
    told(&mut client);
    assert_eq!(answer(&mut client, 1), OK);
    assert_eq!(weir.web().get("/").status(), 403);
}

#[test]
fn proto_and_alpn_of_a_bind_line_set_its_protocols() {
    let back = "    server s <inner> proto h2\nfrontend inner\n    bind <inner> proto h2\n    \
                http-request return status 200 hdr x-version %[fc_http_major]";
    let weir = Setup::http("", back).start();
    assert_eq!(weir.web().get("/").header("x-version"), Some("2"));
    let mut client = weir.connect("inner");
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(!client.rest().starts_with(b"HTTP/1"));
}

/// An encrypted frontend that backends use as their server, and backends that reach it over HTTP/1
/// and HTTP/2.
const INNER: &str = "frontend inner\n    bind <inner> ssl crt <dir>/key.pem alpn h2,http/1.1\n    \
    acl ws hdr(upgrade) -m str websocket\n    \
    http-request set-var(txn.version) fc_http_major\n    \
    http-request return status 200 if !ws\n    \
    http-after-response set-header x-version %[var(txn.version)]\n    default_backend sockets\n\
    backend sockets\n    server s <origin>\n";

/// A server that accepts websockets and says `hello`; its answer to the key is right or wrong.
fn websocket_origin(right: bool) -> Origin {
    Origin::new(move |mut peer| {
        let Some(request) = peer.request() else { return };
        let key = request.header("sec-websocket-key").expect("a key");
        let accepted = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
        let accept = openssl::base64::encode_block(&openssl::sha::sha1(accepted.as_bytes()));
        let accept = if right { &accept } else { "wrong" };
        peer.send(format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\nhello"
        ));
        peer.client.rest();
    })
}

const WEBSOCKET: &str = "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[test]
fn connections_to_servers_are_counted_by_version() {
    for (options, h1, h2) in [("alpn h2,http/1.1", "0", "2"), ("alpn http/1.1", "2", "0")] {
        let back = format!("    server s <inner> ssl verify none {options}\n{INNER}");
        let key = Identity::new("a.test", None).pem();
        let origin = websocket_origin(true);
        let weir =
            Setup::http("", &back).file("key.pem", &key).with("origin", origin.address()).start();
        assert_eq!((weir.web().get("/").status(), weir.web().get("/").status()), (200, 200));
        let stat = |field| weir.stat("app", "BACKEND", field);
        assert_eq!(stat("h1_total_streams"), h1, "{options}");
        assert_eq!(stat("h2_backend_total_streams"), h2, "{options}");
        assert_eq!(stat("h1_bytes_in") == "0", h1 == "0", "{options}");
        assert_eq!(stat("h1_total_connections") == "0", h1 == "0", "{options}");
        assert_eq!(stat("h2_total_connections") == "0", h2 == "0", "{options}");
    }
}

/// The version that servers with these options speak, and the one for websockets.
fn versions(options: &str) -> (String, String) {
    let back = format!("    server s <inner> ssl verify none {options}\n{INNER}");
    let key = Identity::new("a.test", None).pem();
    let origin = websocket_origin(true);
    let weir =
        Setup::http("", &back).file("key.pem", &key).with("origin", origin.address()).start();
    let usual = weir.web().get("/");
    let upgraded = weir.web().ask(WEBSOCKET);
    assert_eq!((usual.status(), upgraded.status()), (200, 101), "{options}");
    let answer = upgraded.header("sec-websocket-accept");
    assert_eq!(answer, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{options}");
    let version = |message: &Message| message.header("x-version").unwrap_or_default().to_owned();
    (version(&usual), version(&upgraded))
}

#[test]
fn servers_choose_the_version_in_their_handshake() {
    for (options, usual, websocket) in [
        ("", "1", "1"),
        ("alpn h2,http/1.1", "2", "1"),
        ("alpn h2", "2", "2"),
        ("alpn http/1.1", "1", "1"),
        ("alpn http/1.1 proto h1", "1", "1"),
        ("alpn h2,http/1.1 ws h2", "2", "2"),
        ("alpn h2,http/1.1 ws h1", "2", "1"),
        ("alpn h2 proto h2 ws auto", "2", "2"),
    ] {
        let expected = (usual.to_owned(), websocket.to_owned());
        assert_eq!(versions(options), expected, "{options}");
    }
}

#[test]
fn upgrades_go_only_to_servers_that_take_them() {
    // An HTTP/2 server that does not announce extended CONNECT.
    let origin = Origin::new(|mut peer| {
        peer.send(SETTINGS);
        peer.client.rest();
    });
    let weir = Setup::http("", "    server s <origin> proto h2\n    retries 0")
        .with("origin", origin.address())
        .with("log", LogReceiver::new().address())
        .start();
    assert_eq!(weir.web().ask(WEBSOCKET).status(), 502);
    assert_eq!(origin.connections(), 1, "its answer will not change");
}

/// Two requests at the same time take a connection each; afterwards the pool has room for one of
/// them.
#[test]
fn unused_connections_are_kept_up_to_the_limit() {
    let (closed, both) = (Arc::new(AtomicUsize::new(0)), Barrier::new(2));
    let (count, first) = (closed.clone(), AtomicUsize::new(0));
    let origin = Origin::new(move |mut peer| {
        peer.send(SETTINGS);
        peer.client.try_take(PREFACE.len());
        while let Some(header) = peer.client.try_take(9) {
            peer.client.take(usize::from(header[1]) << 8 | usize::from(header[2]));
            if header[3] == 1 {
                if first.fetch_add(1, Relaxed) < 2 {
                    both.wait();
                }
                peer.send([&[0, 0, 1, 1, 5], &header[5..], &[OK]].concat());
            }
        }
        count.fetch_add(1, Relaxed);
    });
    let back = "    http-reuse always\n    \
                server s <origin> proto h2 pool-max-conn 1 pool-purge-delay 1m";
    let weir = Setup::http("", back)
        .global("tune.h2.max-concurrent-streams 1")
        .with("origin", origin.address())
        .start();
    let mut clients = [weir.web(), weir.web()];
    clients.iter_mut().for_each(|client| client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    clients.iter_mut().for_each(|client| assert_eq!(client.response().status(), 200));
    eventually("one is closed", || (closed.load(Relaxed) == 1).then_some(()));
    assert_eq!(weir.web().get("/").status(), 200);
    assert_eq!((origin.connections(), closed.load(Relaxed)), (2, 1), "the other is kept");
}

/// A form without a length.
#[test]
fn forms_are_read_in_frames() {
    let front = "    stats enable\n    stats uri /stats\n    stats admin if TRUE";
    let weir = Setup::http(front, "    server s 127.0.0.1:9").start();
    let mut client = weir.web();
    told(&mut client);
    client.send(open(1, b"\x83\x86\x04\x06/stats\x41\x01a"));
    let form = "s=s&b=app&action=drain";
    client.send([&[0, 0, form.len() as u8, 0, 1, 0, 0, 0, 1], form.as_bytes()].concat());
    assert_eq!(status(&block(&mut client, 1)), 303);
    assert!(weir.stat("app", "s", "status").starts_with("DRAIN"));
}

/// A new connection has no stream until its server has announced that it accepts upgrades.
#[test]
fn connections_that_are_not_kept_wait_for_their_upgrade() {
    for options in ["pool-max-conn 0", "pool-purge-delay 0"] {
        let origin = websocket_origin(true);
        let back = format!(
            "    server s <inner> proto h2 {options}\n    retries 0\n\
             frontend inner\n    bind <inner> proto h2\n    default_backend last\n\
             backend last\n    server s <origin>"
        );
        let weir = Setup::http("", &back).with("origin", origin.address()).start();
        let mut client = weir.web();
        assert_eq!(client.ask(WEBSOCKET).status(), 101, "{options}");
        assert_eq!(client.take(5), b"hello");
    }
}

/// Requests to a server of HTTP/2: CONNECT keeps its port, and an empty path is `*` for
/// OPTIONS (RFC 9113 sections 8.5 and 8.3.1).
#[test]
fn targets_without_a_path_reach_servers() {
    let back = "    server s <inner> proto h2\nfrontend inner\n    bind <inner> proto h2\n    \
                http-request return status 403 hdr x-url %[url] hdr x-host %[req.hdr(host)]";
    let front = "    http-request set-header host new if { req.hdr(x-new) 1 }\n    \
                 http-request set-uri foo/bar?x=1 if { path /relative }\n    \
                 http-request set-header x-seen %[path]-%[query] if { path foo/bar }\n    \
                 http-request return status 403 hdr x-url %[url] hdr x-host %[req.hdr(x-seen)] \
                 if { path foo/bar }";
    let weir = Setup::http(front, back).with("log", LogReceiver::new().address()).start();
    for (request, url, host) in [
        (
            "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com",
            "example.com:443",
            "example.com:443",
        ),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a:80", "a:80", "a:80"),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nX-New: 1", "new:443", "new:443"),
        ("OPTIONS http://a.test HTTP/1.1\r\nHost: a.test", "*", "a.test"),
        ("OPTIONS * HTTP/1.1\r\nHost: a.test", "*", "a.test"),
        ("OPTIONS http://a.test/ HTTP/1.1\r\nHost: a.test", "http://a.test/", "a.test"),
        ("GET http://a.test HTTP/1.1\r\nHost: a.test", "http://a.test/", "a.test"),
        ("GET /relative HTTP/1.1\r\nHost: a.test", "foo/bar?x=1", "foo/bar-x=1"),
    ] {
        let answer = weir.web().ask(format!("{request}\r\n\r\n"));
        let seen = (answer.header("x-url"), answer.header("x-host"));
        assert_eq!(seen, (Some(url), Some(host)), "{request}");
    }
}

/// A request that cannot be an extended CONNECT is sent without its `Upgrade`, which a server may
/// always ignore: for HTTP/2 itself (`curl --http2` asks for it), and with another method or a
/// body. HAProxy 2.6 does only the last of these; it answers 502 to the others.
#[test]
fn upgrades_that_streams_do_not_have_are_ignored() {
    let (sender, heard) = std::sync::mpsc::channel();
    let origin = Origin::new(move |mut peer| {
        peer.send(SETTINGS);
        peer.client.try_take(PREFACE.len());
        while let Some(header) = peer.client.try_take(9) {
            let payload = peer.client.take(usize::from(header[1]) << 8 | usize::from(header[2]));
            if header[3] == 1 {
                let _ = sender.send(payload);
                peer.send([&[0, 0, 1, 1, 5], &header[5..], &[OK]].concat());
            }
        }
    });
    let weir = Setup::http("", "    server s <origin> proto h2")
        .with("origin", origin.address())
        .with("log", LogReceiver::new().address())
        .start();
    let ask = "HTTP/1.1\r\nHost: a\r\nConnection: upgrade, http2-settings\r\nUpgrade:";
    for (request, method) in [
        (format!("GET / {ask} h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"), 0x82),
        (format!("POST / {ask} x\r\nContent-Length: 3\r\n\r\nabc"), 0x83),
        (format!("POST / {ask} x\r\nContent-Length: 0\r\n\r\n"), 0x83),
    ] {
        assert_eq!(weir.web().ask(&request).status(), 200, "{request}");
        let block = heard.recv_timeout(crate::support::PATIENCE).expect("a request");
        let text = String::from_utf8_lossy(&block);
        assert_eq!(block[0], method, "{request}");
        assert!(!text.contains("upgrade") && !text.contains("settings"), "{text}");
    }
}

#[test]
fn keys_of_websockets_are_made_and_looked_at() {
    for (right, status) in [(true, 200), (false, 502)] {
        let origin = websocket_origin(right);
        let weir =
            Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
        let mut client = weir.web();
        told(&mut client);
        // CONNECT / of `a` for websocket, over http.
        let list = b"\x02\x07CONNECT\x86\x84\x41\x01a\x00\x09:protocol\x09websocket";
        client.send([&[0, 0, list.len() as u8, 1, 4, 0, 0, 0, 1][..], list].concat());
        let heard = block(&mut client, 1);
        let said = String::from_utf8_lossy(&heard).into_owned();
        assert_eq!(self::status(&heard), status, "{right}");
        assert!(status != 200 || !said.contains("sec-websocket-accept"));
    }
}

#[test]
fn checks_use_the_version_of_check_proto() {
    let tls = "ssl crt <dir>/key.pem alpn h2";
    for (bind, server, step, up) in [
        ("proto h2", "proto h2 check", "", true),
        ("proto h2", "check check-proto h2", "", true),
        ("proto h2", "check", "", false),
        ("proto h1", "proto h2 check check-proto h1", "", true),
        ("proto h2", "check", "connect proto h2", true),
        ("proto h2", "check check-proto h2", "connect default", true),
        ("proto h1", "check check-proto h2", "connect default proto h1", true),
        ("proto h1", "check", "connect proto h2", false),
        (tls, "ssl verify none no-check-ssl check", "connect ssl alpn h2", true),
        (tls, "ssl verify none no-check-ssl check", "connect ssl alpn h2 proto h2", true),
        (tls, "ssl verify none no-check-ssl check", "connect ssl alpn h2 proto h1", false),
    ] {
        let step = if step.is_empty() { String::new() } else { format!("http-check {step}") };
        let back = format!(
            "    option httpchk GET /check\n    {step}\n    \
             server s <inner> {server} inter 50ms rise 1 fall 1\n\
             frontend inner\n    bind <inner> {bind}\n    http-request return status 200 if \
             {{ path /check }}\n    http-request deny"
        );
        let key = Identity::new("a.test", None).pem();
        let weir = Setup::http("", &back).file("key.pem", &key).start();
        let expected = if up { ("UP", "L7OK") } else { ("DOWN", "L7RSP") };
        eventually(&format!("{bind} {server} {step}: {expected:?}"), || {
            let status = weir.stat("app", "s", "status");
            let check = weir.stat("app", "s", "check_status");
            (status == expected.0 && check.trim_start_matches("* ") == expected.1).then_some(())
        });
    }
}

#[test]
fn steps_of_checks_set_their_protocol() {
    for (bind, connect, up) in [
        ("proto h2", "connect proto h2", true),
        ("proto h2", "connect proto h1", false),
        ("proto h2", "connect", false),
        ("proto h1", "connect proto h1", true),
        ("proto h1", "connect default proto h1", true),
    ] {
        let back = format!(
            "    option httpchk\n    http-check {connect}\n    http-check send meth GET uri /check\n    \
             server s <inner> proto h2 check inter 50ms rise 1 fall 1\n\
             frontend inner\n    bind <inner> {bind}\n    http-request return status 200 if \
             {{ path /check }}\n    http-request deny"
        );
        let weir = Setup::http("", &back).start();
        let expected = if up { ("UP", "L7OK") } else { ("DOWN", "L7RSP") };
        eventually(&format!("{bind} {connect}: {expected:?}"), || {
            let status = weir.stat("app", "s", "status");
            let check = weir.stat("app", "s", "check_status");
            (status == expected.0 && check.trim_start_matches("* ") == expected.1).then_some(())
        });
    }
}

#[test]
fn streams_of_a_session_share_its_variables() {
    // The first request waits while the second one sets a variable.
    let front = "    http-request set-var(sess.seen) str(yes) if { path /set }\n    \
                 http-request wait-for-body time 10s if { path /wait }\n    \
                 http-request return status 200 if { path /wait } { var(sess.seen) -m found }\n    \
                 http-request return status 404 if { path /wait }\n    \
                 http-request return status 200";
    let weir = Setup::http(front, "").start();
    let mut client = weir.web();
    told(&mut client);
    let post = b"\x83\x86\x44\x05/wait\x41\x01a";
    client.send([&[0, 0, post.len() as u8, 1, 4, 0, 0, 0, 1][..], post].concat());
    let set = b"\x82\x86\x44\x04/set\x41\x01a";
    client.send([&[0, 0, set.len() as u8, 1, 5, 0, 0, 0, 3][..], set].concat());
    assert_eq!(block(&mut client, 3)[0], OK);
    client.send([0, 0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(block(&mut client, 1)[0], OK, "what another stream has set");
}

#[test]
fn small_answers_overtake_a_large_one() {
    const LARGE: usize = 32 << 20;
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            let length = if request.target() == "/large" { LARGE } else { 2 };
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"));
            peer.send(vec![b'x'; length]);
        }
    });
    let weir = Setup::http("", "    server s <origin>").between(&origin, &LogReceiver::new());
    let mut client = weir.web();
    // Windows as large as can be.
    let windows = b"\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0";
    client.send([PREFACE, windows].concat());
    let block = b"\x82\x86\x44\x06/large\x41\x01a";
    client.send([&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1][..], block].concat());
    let (mut large, mut small) = (0, 0);
    while small < 99 {
        let (kind, flags, stream, payload) = frame(&mut client);
        if large == 0 && (kind, stream) == (0, 1) {
            (1..100).for_each(|number| client.send(get(2 * number + 1)));
        }
        large += if (kind, stream) == (0, 1) { payload.len() } else { 0 };
        small += usize::from(kind == 0 && stream > 1 && flags & 1 != 0);
    }
    // The buffers of the sockets on the way hold the bytes before them, and no more than that.
    assert!(large < LARGE / 2, "{large} bytes");
}

#[test]
fn streams_that_a_kept_connection_fails() {
    // A request that is answered with 502 may have been processed, and must not run twice.
    const GET: u8 = 0x82;
    const POST: u8 = 0x83;
    let cases = [
        ("retries 3", GET, Ok(200)),
        ("retries 0", GET, Err(7)),
        ("http-request disable-l7-retry", GET, Err(7)),
        ("retries 3", POST, Ok(502)),
    ];
    for (rule, method, expected) in cases {
        // Answers the first request of each connection, and closes when it has read a second one.
        let origin = Origin::new(|mut peer| {
            peer.request();
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            peer.request();
        });
        let back = format!("    {rule}\n    server s <origin>");
        let weir = Setup::http("", &back).between(&origin, &LogReceiver::new());
        let mut client = weir.web();
        told(&mut client);
        assert_eq!(answer(&mut client, 1), OK);
        client.send([&[0, 0, 6, 1, 5, 0, 0, 0, 3, method][..], b"\x86\x84\x41\x01a"].concat());
        let heard = loop {
            match frame(&mut client) {
                (1, _, 3, block) => break Ok(status(&block)),
                (3, _, 3, code) => break Err(code[3]),
                _ => {}
            }
        };
        assert_eq!(heard, expected, "{rule}");
        assert_eq!(answer(&mut client, 5), OK, "{rule}");
    }
}

#[test]
fn a_client_that_has_ended_its_side_is_answered() {
    let log = LogReceiver::new();
    let origin = Origin::saying("ok");
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send([PREFACE, &SETTINGS, &get(1), &get(3)].concat());
    client.half_close();
    let rest = client.rest();
    let answers = rest.windows(10).filter(|it| it[3] == 1 && it[9] == OK);
    assert_eq!(answers.count(), 2, "{rest:?}");
    assert_eq!(origin.requests().len(), 2);
    log.find(" 200 ");
}

#[test]
fn a_client_that_has_ended_its_side_is_not_waited_for_where_that_matters() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| while peer.request().is_some() {});
    let text = "defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
                timeout server 20s\n    log <log> format raw local0\n    option httplog\n    \
                option abortonclose\nlisten web\n    bind <web>\n    server s <origin>\n";
    let weir = Setup::new(text).between(&origin, &log);
    let mut client = weir.web();
    client.send([PREFACE, &SETTINGS, &get(1)].concat());
    client.half_close();
    let rest = client.rest();
    assert!(rest.windows(3).any(|it| it == b"400"), "{rest:?}");
    log.find(" 400 ");
}

#[test]
fn a_tarpit_leaves_the_thread_asleep() {
    let front = "    timeout tarpit 300ms\n    http-request tarpit";
    let global = "nbthread 1\n    stats socket <dir>/cli level admin";
    let weir = Setup::http(front, "").global(global).start();
    let before = first(&weir, "tasksw");
    let mut client = weir.web();
    told(&mut client);
    // The request is complete, so that a read of its stream would return at once each time.
    client.send(get(1));
    const FAULT: u8 = 0x8e;
    assert_eq!(block(&mut client, 1)[0], FAULT);
    let turns = first(&weir, "tasksw") - before;
    assert!(turns < 500, "{turns} turns of tasks for one request that waits");
}

/// A request whose field is no field of HTTP/2 (RFC 9113 section 8.2.2).
pub(crate) fn connection_field(stream: u8) -> Vec<u8> {
    let block = b"\x82\x86\x84\x41\x01a\0\x0aconnection\x05close";
    [&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, stream][..], block].concat()
}

/// As in HAProxy, a stream that is refused before it is a request leaves a log line, even with
/// `option dontlognull`.
#[test]
fn refused_streams_leave_a_log_line() {
    const LINE: &str = "web web/<NOSRV> 0 PR-- \"<BADREQ>\"";
    let log = LogReceiver::new();
    let front = "    option dontlognull\n    http-request return status 200";
    let weir = Setup::http(front, "").between(&Origin::saying(""), &log);
    let mut client = weir.web();
    told(&mut client);
    client.send([connection_field(1), connection_field(3)].concat());
    let lines = [log.line(), log.line()];
    assert!(lines[0].contains(" -1/-1/-1/-1/0 0 0 - - PR-- "), "{lines:?}");
    assert_eq!(lines.each_ref().map(|line| shape(line)), [LINE; 2]);
    assert_eq!(answer(&mut client, 5), OK, "the connection goes on");
    assert!(log.line().ends_with("\"GET http://a/ HTTP/2.0\""));
    // A PING of the wrong size.
    client.send([0, 0, 1, 6, 0, 0, 0, 0, 0, 0]);
    assert_eq!(shape(&log.line()), LINE);
    assert_eq!(weir.web().get("/").status(), 200);
    assert!(log.line().ends_with("\"GET / HTTP/1.1\""), "one line for the connection");
}

#[test]
fn refused_streams_are_logged_in_the_format_of_errors() {
    let log = LogReceiver::new();
    let front = "    error-log-format \"refused %ST %ts %HM %HV %Tt %[fc_http_major]\"\n    \
                 http-request return status 200\nfrontend h2\n    bind <h2> proto h2\n    \
                 error-log-format \"not h2: %HP %ft\"";
    let weir = Setup::http(front, "").between(&Origin::saying(""), &log);
    let mut client = weir.web();
    told(&mut client);
    client.send(connection_field(1));
    assert!(log.line().ends_with("refused 0 PR <BADREQ> <BADREQ> 0 2"));
    let mut other = weir.connect("h2");
    other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(log.line().ends_with("not h2: <BADREQ> h2"));
}

/// An abusive client gets ENHANCE_YOUR_CALM, and the log shows it; there are no more lines than it
/// has points.
#[test]
fn floods_of_refused_streams_end_in_the_log() {
    let log = LogReceiver::new();
    let front = "    http-request return status 200";
    let weir = Setup::http(front, "").between(&Origin::saying(""), &log);
    let mut client = weir.web();
    told(&mut client);
    for round in 0..4_u32 {
        let streams = (0..100).flat_map(|n| {
            let mut request = connection_field(1);
            request[5..9].copy_from_slice(&(200 * round + 2 * n + 1).to_be_bytes());
            request
        });
        if client.try_send(streams.collect::<Vec<u8>>()).is_err() {
            break;
        }
    }
    while frame(&mut client).0 != 7 {}
    assert_eq!(weir.web().get("/").status(), 200);
    let refused = (0..).take_while(|_| log.line().ends_with("\"<BADREQ>\"")).count();
    assert!((150..300).contains(&refused), "{refused} lines");
}

/// A HEADERS frame that leaves its stream open.
fn open(stream: u8, block: &[u8]) -> Vec<u8> {
    [&[0, 0, block.len() as u8, 1, 4, 0, 0, 0, stream][..], block].concat()
}

/// As in HAProxy, the end of the connection ends the stream of a tunnel, as in HTTP/1.
#[test]
fn a_tunnel_ends_with_its_connection() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        peer.client.expect_end();
        peer.send("bye");
    });
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    told(&mut client);
    client.send(open(1, b"\x02\x07CONNECT\x01\x04a:80"));
    assert_eq!(block(&mut client, 1)[0], OK);
    client.half_close();
    while frame(&mut client).3 != b"bye" {}
    assert_eq!(shape(&log.line()), "web app/s 200 ---- \"CONNECT a:80 HTTP/2.0\"");
}

/// `CONNECT http://a/` for websocket, and bytes sent before any answer, with these flags.
fn hasty(behind: &str, flags: u8) -> Vec<u8> {
    let head = open(1, b"\x02\x07CONNECT\x86\x84\x41\x01a\0\x09:protocol\x09websocket");
    let data = [0, 0, behind.len() as u8, 0, flags, 0, 0, 0, 1];
    [&head[..], &data, behind.as_bytes()].concat()
}

/// A server of HTTP/1 that does not upgrade would take it for the next request.
#[test]
fn bytes_behind_an_upgrade_do_not_precede_its_response() {
    for (front, back, flags) in [
        ("    option http-buffer-request", "", 0),
        ("    option http-buffer-request", "", 1),
        ("", "    option http-buffer-request\n", 1),
        ("    http-request wait-for-body time 10s", "", 0),
        ("    http-request wait-for-body time 10s at-least 5", "", 0),
    ] {
        let (origin, log) = (Origin::saying("no"), LogReceiver::new());
        let back = format!("{back}    server s <origin>");
        let weir = Setup::http(front, &back).between(&origin, &log);
        let mut client = weir.web();
        told(&mut client);
        client.send(hasty("GET /admin HTTP/1.1\r\n\r\n", flags));
        assert_eq!(block(&mut client, 1)[0], OK, "{front}{back}");
        assert_eq!(weir.web().get("/next").status(), 200);
        let requests = origin.requests();
        let targets: Vec<&str> = requests.iter().map(Message::target).collect();
        assert_eq!(targets, ["/", "/next"], "{front}{back}");
    }
}

#[test]
fn tunnels_have_no_body_to_wait_for() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        let early = peer.client.take(5);
        peer.send(early);
        peer.client.rest();
    });
    let front = "    option http-buffer-request\n    http-request wait-for-body time 10s";
    let back = "    http-response wait-for-body time 10s\n    server s <origin>";
    let weir = Setup::http(front, back).between(&origin, &log);
    let mut client = weir.web();
    told(&mut client);
    let data = [0, 0, 5, 0, 0, 0, 0, 0, 1, b'e', b'a', b'r', b'l', b'y'];
    client.send([&open(1, b"\x02\x07CONNECT\x01\x04a:80")[..], &data].concat());
    assert_eq!(block(&mut client, 1)[0], OK);
    while frame(&mut client).3 != b"early" {}
}

/// As in HAProxy, a requested upgrade that is answered with a message ends with that message.
#[test]
fn an_upgrade_that_is_not_taken_ends_with_its_answer() {
    let (origin, log) = (Origin::saying("no"), LogReceiver::new());
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    told(&mut client);
    client.send(open(1, b"\x02\x07CONNECT\x86\x84\x01\x01a\0\x09:protocol\x09websocket"));
    assert_eq!(block(&mut client, 1)[0], OK);
    let (kind, flags, _, payload) = frame(&mut client);
    assert_eq!((kind, flags, &payload[..]), (0, 1, &b"no"[..]));
    assert_eq!(shape(&log.line()), "web app/s 200 ---- \"GET http://a/ HTTP/2.0\"");
}

/// A server of HTTP/2 that does this for each request, by the number of its stream.
fn answering(answer: impl Fn(&mut Peer, &[u8]) + Send + Sync + 'static) -> Origin {
    Origin::new(move |mut peer| {
        peer.send(SETTINGS);
        peer.client.try_take(PREFACE.len());
        while let Some(header) = peer.client.try_take(9) {
            peer.client.take(usize::from(header[1]) << 8 | usize::from(header[2]));
            if header[3] == 1 {
                answer(&mut peer, &header[5..]);
            }
        }
    })
}

/// As servers of gRPC end calls whose client streams: the answer is complete, the rest of the
/// request is not wanted (RFC 9113 section 8.1). The client need not end it first.
#[test]
fn an_exchange_ends_with_its_answer_where_the_server_wants_no_more() {
    let (release, hold) = std::sync::mpsc::channel();
    let hold = std::sync::Mutex::new(hold);
    let origin = answering(move |peer, stream| {
        peer.send([&[0, 0, 1, 1, 4], stream, &[OK]].concat());
        peer.send([&[0, 0, 8, 1, 5], stream, b"\0\x03sum\x02ok"].concat());
        // The client has the answer before the server's GOAWAY.
        let _ = hold.lock().expect("one connection").recv();
        peer.send([&[0, 0, 4, 3, 0], stream, &[0; 4]].concat());
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin> proto h2").between(&origin, &log);
    let mut client = weir.web();
    told(&mut client);
    client.send(open(1, b"\x83\x86\x84\x41\x01a"));
    assert_eq!(block(&mut client, 1)[0], OK);
    assert!(String::from_utf8_lossy(&block(&mut client, 1)).contains("sum"));
    release.send(()).expect("the origin waits");
    let reset = loop {
        let (kind, _, stream, payload) = frame(&mut client);
        if (kind, stream) == (3, 1) {
            break payload;
        }
    };
    assert_eq!(reset, [0; 4], "nothing is wrong");
    assert_eq!(shape(&log.line()), "web app/s 200 ---- \"POST http://a/ HTTP/2.0\"");
}

/// A client of HTTP/1 has its connection closed, whatever reason the server gives.
/// HAProxy does the same and logs `SD--`.
#[test]
fn a_request_whose_rest_is_not_wanted_ends_its_connection() {
    for code in [0, 2] {
        let origin = answering(move |peer, stream| {
            peer.send([&[0, 0, 1, 1, 5], stream, &[OK]].concat());
            peer.send([&[0, 0, 4, 3, 0], stream, &[0, 0, 0, code]].concat());
        });
        let log = LogReceiver::new();
        let weir = Setup::http("", "    server s <origin> proto h2").between(&origin, &log);
        let mut client = weir.web();
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
        assert_eq!(client.response().status(), 200);
        client.expect_end();
        assert_eq!(shape(&log.line()), "web app/s 200 ---- \"POST / HTTP/1.1\"", "{code}");
    }
}

/// As in HAProxy, a request that is reset before it is processed is no request.
#[test]
fn a_request_that_is_withdrawn_at_once() {
    let (origin, log) = (Origin::saying(""), LogReceiver::new());
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    told(&mut client);
    let short = [0, 0, 3, 0, 1, 0, 0, 0, 1, b'a', b'b', b'c'];
    let post = open(1, b"\x83\x86\x84\x41\x01a\x0f\x0d\x015");
    client.send([&post[..], &short].concat());
    assert_eq!(shape(&log.line()), "web app/<NOSRV> -1 CR-- \"POST http://a/ HTTP/2.0\"");
    assert_eq!(weir.stat("app", "BACKEND", "cli_abrt"), "1");
    assert_eq!(weir.stat("web", "FRONTEND", "ereq"), "1");
}

/// An interim response like any other (RFC 8297), and one for all hints of the rules.
#[test]
fn early_hints_come_before_the_answer_in_either_version() {
    let front = "    http-request early-hint Link </a>;rel=preload\n    \
                 http-request early-hint X-Who %[src]\n    \
                 http-request return status 200 content-type text/plain string hello";
    let weir = Setup::http(front, "").start();
    for version in [1, 2] {
        let mut talker = Talker::connect(weir.address("web"), version, false);
        for _ in 0..2 {
            let heard = talker.ask("GET /", &[]);
            assert_eq!((heard.interim, heard.status, heard.whole), (vec![103], 200, true));
            assert_eq!((heard.body, heard.headers.len()), (b"hello".to_vec(), 2), "{version}");
        }
    }
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    let head = "HTTP/1.1 103 Early Hints\r\nlink: </a>;rel=preload\r\nx-who: 127.0.0.1\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&client.take(head.len())), head);
    assert_eq!(client.response().text(), "hello");
    let old = weir.web().ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((old.status(), old.text().as_str()), (200, "hello"));
}

/// A server takes as much of a body as it has room for, answers in part and resets the stream. As
/// with HAProxy, the client gets that part although it continues to send.
#[test]
fn the_received_part_of_a_truncated_response_arrives() {
    const WINDOW: usize = 65_535;
    let (log, headed) = (LogReceiver::new(), Arc::new(Barrier::new(2)));
    let origin = Origin::new({
        let headed = headed.clone();
        move |mut peer| {
            peer.send(SETTINGS);
            peer.client.take(PREFACE.len());
            let opened = std::iter::repeat_with(|| frame(&mut peer.client)).find(|it| it.0 == 1);
            let id = opened.expect("HEADERS").2.to_be_bytes();
            peer.send([&[0, 0, 1, 1, 4], &id[..], &[OK, 0, 0, 5, 0, 0], &id, b"hello"].concat());
            let mut room = WINDOW;
            while room > 0 {
                let (kind, _, _, payload) = frame(&mut peer.client);
                room -= if kind == 0 { payload.len() } else { 0 };
            }
            headed.wait();
            peer.send([&[0, 0, 4, 3, 0], &id[..], &[0, 0, 0, 8]].concat());
            let _ = peer.client.rest();
        }
    });
    let weir = Setup::http("", "    server s <origin> proto h2").between(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    client.send(vec![b'x'; 4 * WINDOW]);
    headed.wait();
    assert!(client.ends_cleanly(), "a reset");
    assert!(client.rest().ends_with(b"\r\n\r\n5\r\nhello\r\n"));
    assert_eq!(shape(&log.line()), "web app/s 200 SD-- \"POST / HTTP/1.1\"");
}
