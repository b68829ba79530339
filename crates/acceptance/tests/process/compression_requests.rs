//! Compression of requests on their way to servers, and the words for one direction alone.

use crate::support::{Message, Origin, Running, Setup, Talker, decoded, page, reply};
use mux::BodyKind;

const LINES: &str = "    compression direction request\n    compression algo-req ALGORITHM\n    \
                     compression type-req text/\n    compression minsize-req 100\n    \
                     server s <origin>\n";

fn before(origin: &Origin, algorithm: &str) -> Running {
    let lines = LINES.replace("ALGORITHM", algorithm);
    Setup::http("    bind <h2> proto h2", &lines).with("origin", origin.address()).start()
}

/// A request with this body, of a length or in chunks.
fn post(kind: &str, fields: &str, body: &str, chunked: bool) -> String {
    let (framing, body) = match chunked {
        true => {
            let (one, two) = body.split_at(body.len() / 2);
            let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
            let chunks = [one, two].map(chunk).concat();
            ("transfer-encoding: chunked".to_owned(), chunks + "0\r\n\r\n")
        }
        false => (format!("content-length: {}", body.len()), body.to_owned()),
    };
    format!("POST / HTTP/1.1\r\nhost: t\r\ncontent-type: {kind}\r\n{fields}{framing}\r\n\r\n{body}")
}

fn assert_compressed(sent: &Message, algorithm: &str, token: &str) {
    assert_eq!(sent.header("content-encoding"), Some(token), "{algorithm}");
    assert_eq!(sent.header("content-length"), None, "{algorithm}");
    assert_eq!(sent.all("transfer-encoding").collect::<Vec<_>>(), ["chunked"], "{algorithm}");
    assert!(sent.body.len() < page().len() / 5, "{algorithm}: {} bytes", sent.body.len());
    assert_eq!(decoded(algorithm, &sent.body), page().into_bytes(), "{algorithm}");
}

#[test]
fn servers_get_compressed_requests_of_each_algorithm() {
    for (algorithm, token) in
        [("gzip", "gzip"), ("deflate", "deflate"), ("raw-deflate", "deflate"), ("zstd", "zstd")]
    {
        let origin = Origin::saying("ok");
        let weir = before(&origin, algorithm);
        let mut client = weir.web();
        for (number, chunked) in [false, true, false].into_iter().enumerate() {
            let answer = client.ask(post("text/plain", "", &page(), chunked));
            assert_eq!((answer.status(), answer.text()), (200, "ok".to_owned()), "{algorithm}");
            assert_compressed(&origin.request(number), algorithm, token);
        }
        assert_eq!(origin.connections(), 1, "{algorithm}: the connection is used again");
        assert_eq!(client.get("/").text(), "ok", "{algorithm}: a request without a body");
        assert_eq!(origin.request(3).header("content-encoding"), None);
    }
}

#[test]
fn requests_of_http_2_are_compressed() {
    let origin = Origin::saying("ok");
    let weir = before(&origin, "gzip");
    let mut client = Talker::connect(weir.address("h2"), 2, false);
    client.begin("POST /", &[("content-type", "text/plain")], BodyKind::Chunked);
    client.say(page().as_bytes());
    client.end(&[]);
    assert_eq!(client.hear().body, b"ok");
    assert_compressed(&origin.request(0), "gzip", "gzip");
}

#[test]
fn requests_stay_as_they_are_where_a_condition_does_not_hold() {
    let (long, short) = (page(), "x".repeat(99));
    for (kind, fields, body) in [
        ("image/png", "", &long),
        ("text/plain", "content-encoding: br\r\n", &long),
        ("text/plain", "cache-control: no-transform\r\n", &long),
        ("text/plain", "", &short),
    ] {
        let origin = Origin::saying("ok");
        let weir = before(&origin, "gzip");
        assert_eq!(weir.web().ask(post(kind, fields, body, false)).text(), "ok");
        let sent = origin.request(0);
        assert_eq!(sent.text(), **body, "{kind}, {fields}");
        assert_eq!(sent.header("content-length"), Some(&*body.len().to_string()));
        let coding = sent.header("content-encoding");
        assert_eq!(coding, fields.contains("br").then_some("br"), "{kind}, {fields}");
    }
}

#[test]
fn each_direction_is_compressed_where_its_lines_say_so() {
    let answer = |body: &str| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n";
        format!("{head}content-length: {}\r\n\r\n{body}", body.len())
    };
    for (lines, requests, responses) in [
        ("algo-req gzip\n    compression direction request", true, false),
        ("algo-req gzip\n    compression algo gzip\n    compression direction both", true, true),
        ("algo-res gzip\n    compression type-res text/html", false, true),
        ("algo gzip\n    compression direction response", false, true),
        ("algo gzip\n    compression type-res image/", false, false),
        ("algo gzip\n    compression minsize-res 1m", false, false),
        ("algo gzip\n    compression minsize-res 100", false, true),
    ] {
        let origin = Origin::answering(answer(&page()));
        let back = format!("    server s <origin>\n    compression {lines}");
        let weir = Setup::http("", &back).with("origin", origin.address()).start();
        let fields = "accept-encoding: gzip\r\n";
        let answer = weir.web().ask(post("text/plain", fields, &page(), false));
        assert_eq!(answer.header("content-encoding").is_some(), responses, "{lines}");
        let sent = origin.request(0);
        assert_eq!(sent.header("content-encoding").is_some(), requests, "{lines}");
    }
}

/// The server closes a kept connection in place of a response.
#[test]
fn a_compressed_request_is_not_sent_twice() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send(reply("200 OK", "first"));
        peer.request();
    });
    let weir = before(&origin, "gzip");
    let mut client = weir.web();
    assert_eq!(client.ask(post("text/plain", "", &page(), false)).text(), "first");
    client.send(post("text/plain", "", &page(), false));
    assert_compressed(&origin.request(1), "gzip", "gzip");
    client.expect_end();
    assert_eq!((origin.requests().len(), origin.connections()), (2, 1));
}
