//! Compressed responses, section 4.2 `compression`: which responses, by which encoding, and what
//! clients receive.

use crate::support::{Client, Responder, reply};
use crate::support::{LogReceiver, Message, Origin, Running, Setup, Talker, begun, decoded, page};
use mux::BodyKind;

/// A response of a text.
fn plain(body: &str) -> String {
    typed("text/plain", "", body)
}

fn typed(kind: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}\r\n{body}"
    )
}

/// A backend `app` with these lines before an origin that always answers so.
fn before(answer: &str, lines: &str) -> (Running, Origin) {
    let origin = Origin::answering(answer);
    let back = format!("    server s <origin>\n{lines}");
    let weir = Setup::http("", &back).with("origin", origin.address()).start();
    (weir, origin)
}

/// The response to a GET with these header lines.
fn get(weir: &Running, target: &str, lines: &str) -> Message {
    weir.web().ask(format!("GET {target} HTTP/1.1\r\nHost: test\r\n{lines}\r\n"))
}

fn coding(answer: &Message) -> &str {
    answer.header("content-encoding").unwrap_or("")
}

#[test]
fn every_algorithm_gives_the_original_back() {
    for (algorithm, token) in [
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("raw-deflate", "deflate"),
        ("br", "br"),
        ("zstd", "zstd"),
    ] {
        let lines = format!(
            "    compression algo {algorithm}\n    \
             http-response set-header x-comp %[res.comp],%[res.comp_algo]"
        );
        let (weir, _origin) = before(&plain(&page()), &lines);
        let answer = get(&weir, "/", &format!("Accept-Encoding: {token}\r\n"));
        assert_eq!((answer.status(), coding(&answer)), (200, token), "{algorithm}");
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{algorithm}");
        assert_eq!(answer.header("x-comp"), Some(&*format!("1,{algorithm}")));
        assert_eq!(answer.header("content-length"), None, "{algorithm}");
        assert_eq!(answer.all("transfer-encoding").collect::<Vec<_>>(), ["chunked"]);
        assert!(answer.body.len() < page().len() / 5, "{algorithm}: {} bytes", answer.body.len());
        assert_eq!(decoded(algorithm, &answer.body), page().into_bytes(), "{algorithm}");
        let plain = get(&weir, "/", "");
        assert_eq!((coding(&plain), plain.text()), ("", page()), "{algorithm}");
        assert_eq!(plain.header("x-comp"), Some("0,"), "{algorithm}");
        assert_eq!(plain.header("vary"), None, "{algorithm}");
    }
}

#[test]
fn identity_is_a_choice_that_compresses_nothing() {
    let (weir, _origin) = before(&plain(&page()), "    compression algo identity gzip");
    assert_eq!(coding(&get(&weir, "/", "Accept-Encoding: identity, gzip;q=0.9\r\n")), "");
    assert_eq!(coding(&get(&weir, "/", "Accept-Encoding: identity;q=0.5, gzip\r\n")), "gzip");
}

#[test]
fn clients_choose_among_the_algorithms() {
    let (weir, _origin) = before(&plain("text"), "    compression algo gzip deflate");
    for (accepted, expected) in [
        ("", ""),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("deflate, gzip;q=0.9", "deflate"),
        ("gzip;q=0.5, deflate;q=0.8", "deflate"),
        ("br, gzip;q=0.001", "gzip"),
        ("gzip;q=0", ""),
        ("x-gzip", ""),
        ("identity", ""),
        ("*", "deflate"),
        ("identity;q=0, *;q=0", ""),
    ] {
        let answer = get(&weir, "/", &format!("Accept-Encoding: {accepted}\r\n"));
        assert_eq!((answer.status(), coding(&answer)), (200, expected), "{accepted}");
    }
    let long = "a, ".repeat(2_600) + "gzip";
    assert_eq!(coding(&get(&weir, "/", &format!("Accept-Encoding: {long}\r\n"))), "gzip");
}

/// Responses by number, and whether they are compressed.
const RESPONSES: &[(&str, bool)] = &[
    ("200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ntext", true),
    ("201 C\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ntext", true),
    ("203 N\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ntext", true),
    (
        "200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n",
        true,
    ),
    ("200 OK\r\ncontent-type: TEXT/PLAIN\r\ncontent-length: 4\r\n\r\ntext", true),
    ("200 OK\r\ncontent-type: text/plainx\r\ncontent-length: 4\r\n\r\ntext", true),
    ("200 OK\r\ncontent-type: application/json;q=1\r\ncontent-length: 4\r\n\r\ntext", true),
    ("200 OK\r\ncontent-type: text/plain\r\nvary: *\r\ncontent-length: 4\r\n\r\ntext", true),
    ("200 OK\r\ncontent-type: text/plain\r\netag: \"1\"\r\ncontent-length: 4\r\n\r\ntext", true),
    ("200 OK\r\ncontent-type: text/plain\r\netag: W/\"1\"\r\ncontent-length: 4\r\n\r\ntext", true),
    ("200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\ntext", false),
    ("200 OK\r\ncontent-length: 4\r\n\r\ntext", false),
    ("204 N\r\ncontent-type: text/plain\r\n\r\n", false),
    (
        "206 P\r\ncontent-type: text/plain\r\ncontent-range: bytes 0-3/9\r\ncontent-length: 4\r\n\r\ntext",
        false,
    ),
    ("304 N\r\ncontent-type: text/plain\r\netag: \"1\"\r\n\r\n", false),
    ("404 N\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ntext", false),
    ("500 E\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ntext", false),
    ("200 OK\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n", false),
    (
        "200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: br\r\ncontent-length: 4\r\n\r\ntext",
        false,
    ),
    (
        "200 OK\r\ncontent-type: text/plain\r\ncache-control: a, no-transform\r\ncontent-length: 4\r\n\r\ntext",
        false,
    ),
    ("200 OK\r\ncontent-type: text/plain\r\netag: 1\r\ncontent-length: 4\r\n\r\ntext", false),
    (
        "200 OK\r\ncontent-type: text/plain\r\netag: \"1\"\r\netag: \"2\"\r\ncontent-length: 4\r\n\r\ntext",
        false,
    ),
];

#[test]
fn responses_are_compressed_where_all_conditions_hold() {
    let origin = Origin::new(|peer| {
        crate::support::serve_forever(peer, |request| {
            let number: usize = request.target()[1..].parse().expect("a number");
            format!("HTTP/1.1 {}", RESPONSES[number].0).into_bytes()
        });
    });
    let back = "    server s <origin>\n    compression algo gzip\n    \
                compression type text/plain\n    compression type application/json";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    for (number, (response, compressed)) in RESPONSES.iter().enumerate() {
        let answer = get(&weir, &format!("/{number}"), "Accept-Encoding: gzip\r\n");
        let sent = Message::of_head(format!("HTTP/1.1 {response}").as_bytes());
        let expected = if *compressed { "gzip" } else { coding(&sent) };
        assert_eq!(coding(&answer), expected, "{response}");
        assert_eq!(answer.status(), sent.status(), "{response}");
        if !compressed {
            assert_eq!(answer.header("etag"), sent.header("etag"), "{response}");
            assert_eq!(answer.header("content-length"), sent.header("content-length"));
            continue;
        }
        assert_eq!(decoded("gzip", &answer.body), b"text", "{response}");
        let vary: Vec<_> = answer.all("vary").collect();
        assert_eq!(vary.last(), Some(&"Accept-Encoding"), "{response}");
        assert_eq!(vary.len(), 1 + sent.all("vary").count(), "an own line: {response}");
        if sent.header("etag").is_some() {
            assert_eq!(answer.header("etag"), Some("W/\"1\""), "{response}");
        }
    }
}

#[test]
fn a_body_that_ends_with_its_connection_is_not_compressed() {
    let origin = Origin::new(|mut peer| {
        let _ = peer.request();
        peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\ntext");
    });
    let back = "    server s <origin>\n    compression algo gzip";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let answer = get(&weir, "/", "Accept-Encoding: gzip\r\nConnection: close\r\n");
    assert_eq!((coding(&answer), answer.text()), ("", "text".to_owned()));
}

#[test]
fn requests_that_cannot_take_compressed_answers_get_plain_ones() {
    let (weir, _origin) = before(&plain("text"), "    compression algo gzip");
    let old = "Accept-Encoding: gzip\r\nUser-Agent: Mozilla/4.0";
    for (lines, expected) in [
        (format!("{old}\r\n"), ""),
        (format!("{old} (compatible; MSIE 6.0; Windows NT 5.1)\r\n"), ""),
        (format!("{old} (compatible; MSIE 6.0; Windows NT 5.1; SV1)\r\n"), "gzip"),
        (format!("{old} (compatible; MSIE 7.0; Windows NT 6.0)\r\n"), "gzip"),
        ("Accept-Encoding: gzip\r\nUser-Agent: Mozilla/5.0\r\n".to_owned(), "gzip"),
    ] {
        let answer = get(&weir, "/", &lines);
        assert_eq!(coding(&answer), expected, "{lines}");
    }
    let text = "GET / HTTP/1.0\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n";
    let answer = weir.web().ask(text);
    assert_eq!((coding(&answer), answer.text()), ("", "text".to_owned()));
    let mut client = weir.web();
    client.send("HEAD / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n");
    let head = client.head();
    assert_eq!((coding(&head), head.header("content-length")), ("", Some("4")));
}

#[test]
fn without_types_all_but_multipart_is_compressed() {
    for (kind, expected) in [("image/png", "gzip"), ("multipart/mixed; boundary=a", "")] {
        let (weir, _origin) = before(&typed(kind, "", "text"), "    compression algo gzip");
        assert_eq!(coding(&get(&weir, "/", "Accept-Encoding: gzip\r\n")), expected, "{kind}");
    }
    let (weir, _origin) = before(&reply("200 OK", "text"), "    compression algo gzip");
    assert_eq!(coding(&get(&weir, "/", "Accept-Encoding: gzip\r\n")), "gzip");
}

#[test]
fn lists_of_the_backend_go_before_those_of_the_frontend() {
    let html = typed("text/html", "", "text");
    for (front, back, expected) in [
        ("algo gzip", "algo deflate", ["", "deflate"]),
        ("algo gzip", "type text/html", ["gzip", ""]),
        ("type text/plain", "algo gzip", ["", ""]),
        ("type text/html", "algo gzip", ["gzip", ""]),
        ("algo gzip\n    compression type text/html", "type text/plain", ["", ""]),
    ] {
        let origin = Origin::answering(&*html);
        let front = format!("    compression {front}");
        let back = format!("    server s <origin>\n    compression {back}");
        let weir = Setup::http(&front, &back).with("origin", origin.address()).start();
        let of = |accepted: &str| get(&weir, "/", &format!("Accept-Encoding: {accepted}\r\n"));
        let found = ["gzip", "deflate"].map(|accepted| coding(&of(accepted)).to_owned());
        assert_eq!(found, expected, "{front} {back}");
    }
}

#[test]
fn proxies_in_a_row_compress_once_and_each_counts_the_bytes_once() {
    let origin = Origin::answering(plain(&page()));
    let lines = "    compression algo gzip\n    compression type text/plain";
    let back = format!(
        "{lines}\n    server next unix@<dir>/next\nlisten inner\n    bind unix@<dir>/next\n    \
         server s <origin>\n{lines}"
    );
    let weir = Setup::http(lines, &back).with("origin", origin.address()).start();
    let answer = get(&weir, "/", "Accept-Encoding: gzip\r\n");
    assert_eq!(answer.all("content-encoding").collect::<Vec<_>>(), ["gzip"]);
    assert_eq!(answer.all("vary").count(), 1);
    assert_eq!(decoded("gzip", &answer.body), page().into_bytes());
    for (proxy, side, bytes) in [
        ("inner", "FRONTEND", page().len()),
        ("inner", "BACKEND", page().len()),
        ("web", "FRONTEND", 0),
        ("app", "BACKEND", 0),
    ] {
        assert_eq!(weir.stat(proxy, side, "comp_in"), bytes.to_string(), "{proxy} {side}");
    }
    // Without the inner one, frontend and backend both name the filter.
    let back = format!("    server s <origin>\n{lines}");
    let weir = Setup::http(lines, &back).with("origin", origin.address()).start();
    assert_eq!(coding(&get(&weir, "/", "Accept-Encoding: gzip\r\n")), "gzip");
    for (proxy, side) in [("web", "FRONTEND"), ("app", "BACKEND")] {
        assert_eq!(weir.stat(proxy, side, "comp_in"), page().len().to_string());
        assert_eq!(weir.stat(proxy, side, "comp_rsp"), "1");
    }
}

#[test]
fn responses_of_fastcgi_applications_are_compressed() {
    let output = format!("Content-Type: text/plain\r\n\r\n{}", page());
    let app = Responder::answering(output);
    let weir = Setup::http(
        "",
        "    use-fcgi-app app\n    server s <app> proto fcgi\n    compression algo gzip\n    \
         compression direction both\n    compression algo-req gzip",
    )
    .append("fcgi-app app\n    docroot /srv\n")
    .with("app", app.address())
    .start();
    let text = page();
    let request = format!(
        "POST /a HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    let answer = weir.web().ask(request);
    assert_eq!(coding(&answer), "gzip");
    assert_eq!(decoded("gzip", &answer.body), page().into_bytes());
    // An application gets the length of its body, so that stays as it is.
    let asked = app.request(0);
    assert_eq!(asked.param("CONTENT_LENGTH"), Some(&*text.len().to_string()));
    assert_eq!(asked.param("HTTP_CONTENT_ENCODING"), None);
}

#[test]
fn streams_of_tcp_mode_are_compressed_once_they_are_http() {
    let inspects = "    tcp-request inspect-delay 5s\n    tcp-request content switch-mode http";
    let gzip = "    compression algo gzip";
    for (front, back) in [(gzip, ""), ("", gzip), (&*format!("{inspects}\n{gzip}"), "")] {
        let origin = Origin::answering(plain("text"));
        let front = format!("    mode tcp\n    option tcplog\n{front}");
        let back = format!("    server s <origin>\n{back}");
        let weir = Setup::http(&front, &back).with("origin", origin.address()).start();
        let answer = get(&weir, "/", "Accept-Encoding: gzip\r\n");
        assert_eq!(coding(&answer), "gzip", "{front} {back}");
        assert_eq!(decoded("gzip", &answer.body), b"text", "{front} {back}");
    }
}

#[test]
fn offload_hides_the_codings_that_clients_take() {
    let lines = "    compression algo gzip\n    compression offload";
    let (weir, origin) = before(&plain("text"), lines);
    let answer = get(&weir, "/", "Accept-Encoding: gzip\r\n");
    assert_eq!((coding(&answer), origin.request(0).header("accept-encoding")), ("gzip", None));
    let old = "User-Agent: Mozilla/4.0\r\n";
    for (lines, left) in [("deflate", "deflate"), ("gzip;q=0", "gzip;q=0"), ("gzip", "gzip")] {
        let text = format!("Accept-Encoding: {lines}\r\n{old}");
        let count = origin.requests().len();
        assert_eq!(coding(&get(&weir, "/", &text)), "");
        assert_eq!(origin.request(count).header("accept-encoding"), Some(left));
    }
    let (weir, origin) = before(&plain("text"), "    compression algo gzip");
    let answer = get(&weir, "/", "Accept-Encoding: gzip\r\n");
    let sent = origin.request(0);
    assert_eq!((coding(&answer), sent.header("accept-encoding")), ("gzip", Some("gzip")));
}

#[test]
fn a_pause_of_the_server_holds_nothing_back() {
    let origin = Origin::new(|mut peer| {
        let _ = peer.request();
        peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 200\r\n\r\n");
        peer.send("first part ".repeat(10));
        let _ = peer.client.rest();
    });
    let back = "    server s <origin>\n    compression algo gzip";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_eq!(coding(&client.head()), "gzip");
    let mut body = Vec::new();
    while begun(&body).len() < 110 {
        body.extend(chunk(&mut client));
    }
    assert_eq!(begun(&body), "first part ".repeat(10).into_bytes());
}

/// The payload of the next chunk.
fn chunk(client: &mut Client) -> Vec<u8> {
    let line = client.try_line().expect("another chunk");
    let length = usize::from_str_radix(&line, 16).expect("a length");
    let payload = client.take(length);
    assert_eq!(client.take(2), b"\r\n");
    payload
}

#[test]
fn a_response_that_ends_early_stays_unfinished() {
    let origin = Origin::new(|mut peer| {
        let _ = peer.request();
        peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 200\r\n\r\npart");
    });
    let back = "    server s <origin>\n    compression algo gzip";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_eq!(coding(&client.head()), "gzip");
    let rest = client.rest();
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{rest:?}");
}

#[test]
fn http2_clients_get_compressed_streams() {
    let front = "    bind <h2> proto h2";
    let origin = Origin::answering(plain(&page()));
    let back = "    server s <origin>\n    compression algo gzip";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    let mut talker = Talker::connect(weir.address("h2"), 2, false);
    talker.begin("GET /", &[("accept-encoding", "gzip")], BodyKind::None);
    let heard = talker.hear();
    assert_eq!((heard.status, heard.header("content-encoding")), (200, Some("gzip")));
    assert_eq!(heard.header("content-length"), None);
    assert_eq!(heard.header("transfer-encoding"), None);
    assert!(heard.whole);
    assert_eq!(decoded("gzip", &heard.body), page().into_bytes());
}

#[test]
fn answers_of_services_are_compressed_and_those_of_rules_are_not() {
    let front = "    http-request use-service prometheus-exporter if { path /metrics }\n    \
                 http-request return status 200 content-type text/plain string text if { path /rule }\n    \
                 stats uri /page\n    compression algo gzip";
    let weir = Setup::http(front, "").start();
    for (target, expected) in [("/metrics", "gzip"), ("/page", "gzip"), ("/rule", "")] {
        let answer = get(&weir, target, "Accept-Encoding: gzip\r\n");
        assert_eq!((answer.status(), coding(&answer)), (200, expected), "{target}");
        assert!(answer.all("transfer-encoding").count() <= 1, "{target}");
        if !expected.is_empty() {
            let text = decoded("gzip", &answer.body);
            assert!(
                text.windows(7).any(|it| it == b"haproxy" || it == b"<table>" || it == b"</html>")
            );
        }
    }
}

#[test]
fn logs_count_the_bytes_that_the_server_sent() {
    let log = LogReceiver::new();
    let origin = Origin::answering(plain(&page()));
    let front = "    log-format \"%[res.comp] %[res.comp_algo] %B\"";
    let back = "    server s <origin>\n    compression algo gzip";
    let weir = Setup::http(front, back).between(&origin, &log);
    let answer = get(&weir, "/", "Accept-Encoding: gzip\r\n");
    let head = plain("").len() + page().len();
    let line = log.line();
    let mut words = line.split(' ').rev();
    let count: usize = words.next().and_then(|it| it.parse().ok()).expect("a number");
    assert!(count >= page().len() && count < head + 100, "{line}");
    assert!(line.contains("1 gzip "), "{line}");
    assert_eq!(coding(&answer), "gzip");
}
