//! Streams of HTTP/2 clients: what they are counted as, the timeouts of their connection, and their
//! allowed contents.

use crate::support::{
    Client, LogReceiver, Origin, Running, Setup, Talker, eventually, pass, reply, serve_forever,
    shape,
};
use mux::BodyKind;
use std::sync::{Arc, Barrier};
use std::time::Duration;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// `:status: 200`.
const OK: u8 = 0x88;

/// `GET http://a` and a path of fewer than 127 bytes, on a stream of its own.
fn get(stream: u8, path: &[u8]) -> Vec<u8> {
    let length = path.len() as u8;
    let header = [0, 0, length + 7, 1, 5, 0, 0, 0, stream];
    [&header, &b"\x82\x86\x41\x01a\x04"[..], &[length], path].concat()
}

fn connected(mut client: Client) -> Client {
    client.send([PREFACE, &SETTINGS].concat());
    client
}

/// A frame: its header and its payload.
fn frame(client: &mut Client) -> (Vec<u8>, Vec<u8>) {
    let header = client.take(9);
    let length = header[..3].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let payload = client.take(length);
    (header, payload)
}

/// The next frame of a stream: its type and its payload.
fn next(client: &mut Client, stream: u8) -> (u8, Vec<u8>) {
    loop {
        let (header, payload) = frame(client);
        if header[8] == stream {
            return (header[3], payload);
        }
    }
}

/// Whether the answer to a stream is 200.
fn succeeds(client: &mut Client, stream: u8, path: &[u8]) -> bool {
    client.send(get(stream, path));
    let (kind, payload) = next(client, stream);
    (kind, payload.first()) == (1, Some(&OK))
}

/// The expected figures are those that HAProxy 2.6 logs.
#[test]
fn heads_count_as_with_haproxy() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            let answer = match request.target() {
                "/many" => "HTTP/1.1 200 OK\r\na: b\r\nc:   d\r\ncontent-length: 5\r\n\r\nhello",
                "/chunk" => &format!("{head}5\r\nhello\r\n6\r\nworld!\r\n0\r\n\r\n"),
                "/trail" => &format!("{head}5\r\nhello\r\n0\r\nx-tr: abc\r\n\r\n"),
                "/304" => "HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n",
                "/103" => {
                    "HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
                }
                _ if request.start.starts_with("HEAD") => {
                    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
                }
                _ => &reply("200 OK", "hello"),
            };
            answer.as_bytes().to_vec()
        });
    });
    let front = "    log-format \"%B %U\"\n    http-request deny if { path /deny }\n    \
        http-request redirect location /foo if { path /redir }\n    \
        http-response set-header x-added by-a-rule\n    \
        http-after-response set-header x-after all-rules";
    let log = LogReceiver::new();
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    let mut total = [0, 0];
    for (line, expected) in [
        ("GET /", "54 66"),
        ("HEAD /", "49 67"),
        ("GET /many", "58 70"),
        ("GET /chunk", "70 71"),
        ("GET /trail", "71 71"),
        ("GET /304", "51 69"),
        ("GET /103", "92 69"),
        ("GET /deny", "192 70"),
        ("GET /redir", "85 71"),
    ] {
        Talker::connect(weir.address("web"), 2, false).ask(line, &[]);
        assert_eq!(log.line(), expected, "{line}");
        let numbers = expected.split(' ').map(|number| number.parse::<u64>().unwrap_or(0));
        total.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    for (field, sum) in [("bout", total[0]), ("bin", total[1])] {
        assert_eq!(weir.stat("web", "FRONTEND", field), sum.to_string(), "{field}");
    }
    let mut client = Talker::connect(weir.address("web"), 2, false);
    client.begin("POST /post", &[("a", "bc")], BodyKind::Chunked);
    client.say(b"12");
    client.end(&[("x-t", "1")]);
    assert_eq!(client.hear().status, 200);
    assert_eq!(log.line(), "54 81");
}

/// The time between requests begins with the end of an answer, not with its beginning or before.
#[test]
fn a_long_answer_takes_nothing_of_the_time_after_it() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |_| {
            pass(Duration::from_millis(1_500));
            reply("200 OK", "late").into_bytes()
        });
    });
    let front = "    timeout http-keep-alive 1s";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let mut client = connected(weir.web());
    assert!(succeeds(&mut client, 1, b"/"));
    assert!(succeeds(&mut client, 3, b"/"), "the connection goes on");
}

/// As with HAProxy, HTTP/2 needs no option for this, unlike HTTP/1.
#[test]
fn a_path_beyond_ascii_goes_through() {
    let origin = Origin::saying("ok");
    let log = LogReceiver::new();
    for front in ["", "    option accept-invalid-http-request"] {
        let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
        assert!(succeeds(&mut connected(weir.web()), 1, b"/caf\xc3\xa9?\xff"), "{front}");
        log.find("\"GET http://a/caf#C3#A9?#FF HTTP/2.0\"");
    }
    let raw = origin.request(1).raw;
    assert!(raw.starts_with(b"GET /caf\xc3\xa9?\xff HTTP/1.1\r\n"), "{raw:?}");
}

/// Sends a request as a new client, which then leaves.
fn visit(weir: &Running, line: &str) {
    let heard = Talker::connect(weir.address("web"), 2, false).ask(line, &[]);
    assert_eq!(heard.status, 200, "{line}");
}

/// A safe request on a stream can be repeated: it is no first request, as with HAProxy. An unsafe
/// request counts as first here.
#[test]
fn clients_of_http2_share_connections_from_their_first_stream_on() {
    for (mode, connections) in [("never", [3, 4]), ("safe", [1, 2]), ("always", [1, 1])] {
        let origin = Origin::saying("ok");
        let back = format!("    http-reuse {mode}\n    server s <origin>");
        let weir = Setup::http("", &back).with("origin", origin.address()).start();
        (0..3).for_each(|_| visit(&weir, "GET /"));
        let safe = origin.connections();
        visit(&weir, "POST /");
        assert_eq!([safe, origin.connections()], connections, "{mode}");
        let mut old = weir.web();
        old.expect_open("/");
        let first = usize::from(mode != "always");
        assert_eq!(origin.connections(), connections[1] + first, "{mode}, HTTP/1");
    }
}

/// Three streams at a time, twice: a server connection for each is enough, also where no other
/// client may use it. The server answers when it has all three.
#[test]
fn streams_of_a_client_share_its_private_connections() {
    for mode in ["never", "safe"] {
        let all = Arc::new(Barrier::new(3));
        let origin = Origin::new(move |peer| {
            serve_forever(peer, |_| {
                all.wait();
                reply("200 OK", "ok").into_bytes()
            });
        });
        let back = format!("    http-reuse {mode}\n    server s <origin>");
        let weir = Setup::http("", &back).with("origin", origin.address()).start();
        let mut client = connected(weir.web());
        for first in [1_u8, 7, 13] {
            let streams = [first, first + 2, first + 4];
            streams.iter().for_each(|stream| client.send(get(*stream, b"/")));
            let mut ended = 0;
            while ended < streams.len() {
                let (header, _) = frame(&mut client);
                ended += usize::from(header[3] < 2 && header[4] & 1 == 1);
            }
        }
        assert_eq!(origin.connections(), 3, "{mode}");
    }
}

/// A GET whose method or path is another.
fn broken(method: &[u8], path: &[u8]) -> Vec<u8> {
    let field = |index: u8, value: &[u8]| [&[index, value.len() as u8][..], value].concat();
    let block = [field(2, method), b"\x86\x41\x01a".to_vec(), field(4, path)].concat();
    [&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1][..], &block].concat()
}

/// Severity and words of log lines for streams that are refused before they are requests, as
/// measured with HAProxy: a reset stream, a connection that breaks the rules (DATA on stream 0),
/// one that is answered with 400. A client that sends nothing behind the preface leaves no line.
#[test]
fn refused_streams_leave_a_line_with_dontlognull_and_dontlog_normal() {
    let all = "    option log-separate-errors\n    option dontlog-normal\n    option dontlognull";
    for (options, severity) in [
        ("", 134),
        ("    option log-separate-errors", 131),
        ("    option dontlog-normal", 134),
        ("    option dontlognull", 134),
        (all, 131),
    ] {
        let log = LogReceiver::new();
        let front = format!("{options}\n    no log\n    log <log> format rfc3164 local0");
        let origin = Origin::saying("ok");
        let weir = Setup::http(&front, "    server s <origin>").between(&origin, &log);
        for (nonsense, status) in [
            (broken(b"GET", b"/ "), 0),
            (vec![0, 0, 1, 0, 0, 0, 0, 0, 0, b'x'], 0),
            (broken(b"G T", b"/"), 400),
        ] {
            connected(weir.web()).close();
            let mut client = connected(weir.web());
            client.send(&nonsense);
            let line = log.line();
            assert!(line.starts_with(&format!("<{severity}>")), "{options}: {line}");
            let shape = shape(line.split_once("]: ").expect("a tag").1);
            assert_eq!(shape, format!("web web/<NOSRV> {status} PR-- \"<BADREQ>\""), "{options}");
        }
    }
}

/// An aborted request has no status and no bytes in the log, as with HAProxy.
#[test]
fn a_stream_that_its_client_resets_has_no_answer() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| drop((peer.request(), peer.client.rest())));
    let front = "    log-format \"%ST %B %ts\"";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    let mut client = connected(weir.web());
    client.send(get(1, b"/"));
    origin.request(0);
    client.send([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8]);
    assert_eq!(log.line(), "-1 0 CD");
    assert_eq!(weir.stat("app", "BACKEND", "cli_abrt"), "1");
    assert_eq!(weir.stat("web", "FRONTEND", "hrsp_4xx"), "0");
}

/// A rule that rejects is no fault of the protocol: one line, and no error of the connection. Nor
/// is the end of a connection's time one.
#[test]
fn ends_that_are_no_fault_are_not_counted_as_one() {
    let log = LogReceiver::new();
    let front = "    http-request reject if { path /no }\n    timeout http-keep-alive 50ms\n    \
        http-request return status 200";
    let weir = Setup::http(front, "").with("log", log.address()).start();
    let mut client = connected(weir.web());
    assert!(succeeds(&mut client, 1, b"/"));
    client.rest();
    let mut client = connected(weir.web());
    client.send(get(1, b"/no"));
    client.rest();
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 200 LR-- \"GET http://a/ HTTP/2.0\"");
    assert_eq!(shape(&log.line()), "web web/<NOSRV> -1 PR-- \"GET http://a/no HTTP/2.0\"");
    assert_eq!(log.lines_for(Duration::from_millis(100)), Vec::<String>::new());
    for field in ["h2_detected_conn_protocol_errors", "h2_goaway_resp"] {
        assert_eq!(weir.stat("web", "FRONTEND", field), "0", "{field}");
    }
}

/// Operators see the connections that streams are of.
#[test]
fn streams_are_listed_with_the_descriptors_of_their_connections() {
    let origin = Origin::new(|mut peer| {
        // An empty SETTINGS frame.
        peer.client.send([0, 0, 0, 4, 0, 0, 0, 0, 0]);
        peer.client.rest();
    });
    let back = "    server s <origin> proto h2";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let mut client = connected(weir.web());
    client.send([get(1, b"/"), get(3, b"/")].concat());
    let word = |line: &str, name: &str| {
        let rest = line.split_once(name).expect("both sides have a descriptor").1;
        rest.split([',', ']']).find_map(|part| part.strip_prefix("fd=")).map(str::to_owned)
    };
    let told = eventually("both streams have their server", || {
        let all = weir.cli("show sess");
        let lines = all.lines().filter(|line| line.contains("fe=web"));
        let told = lines.map(|line| (word(line, "scf=["), word(line, "scb=["))).collect::<Vec<_>>();
        let known = told.iter().all(|(_, back)| back.as_deref().is_some_and(|it| it != "-1"));
        (told.len() == 2 && known).then_some(told)
    });
    assert_eq!(told[0], told[1], "the same connections");
    assert_ne!(told[0].0, Some("-1".into()));
    assert!(weir.cli("show sess all").contains(&format!("addr={}", weir.address("web"))));
}

/// HAProxy logs and retries a malformed response in this way. The log line differs from that of a
/// missing response.
#[test]
fn a_malformed_answer_over_http2_is_logged_as_one() {
    let origin = Origin::new(|mut peer| {
        if peer.client.try_take(PREFACE.len()).is_none() {
            return;
        }
        peer.client.send(SETTINGS);
        while let Some(header) = peer.client.try_take(9) {
            let length = header[..3].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            peer.client.take(length);
            if header[3] == 1 {
                // `:status: 200` and a name in upper case.
                let block = b"\x88\0\x03X-A\x01b";
                peer.client.send([&[0, 0, 8, 1, 5, 0, 0, 0, header[8]], &block[..]].concat());
            }
        }
    });
    for (retry, retries) in [("none", "0"), ("junk-response", "1")] {
        let log = LogReceiver::new();
        let back = format!("    retries 1\n    retry-on {retry}\n    server s <origin> proto h2");
        let weir = Setup::http("", &back).between(&origin, &log);
        assert_eq!(weir.web().get("/").status(), 502);
        assert_eq!(shape(&log.line()), "web app/s 502 PH-- \"GET / HTTP/1.1\"", "{retry}");
        assert_eq!(weir.stat("app", "s", "wretr"), retries, "{retry}");
        assert_eq!(weir.stat("app", "s", "eresp"), "1", "{retry}");
    }
}
