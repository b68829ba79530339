//! Tests of filters: payload passes through them, over real sockets.

use compression::Algorithm;
use settings::{Compression, Filter, Mode, ProxySection, TraceFilter};
use std::io::{Read, Write};
use std::net::SocketAddr;
use testing::*;
use transport::stats::counters::Metric;

fn trace() -> Filter {
    Filter::Trace(TraceFilter {
        name: "TRACE".into(),
        random_forwarding: true,
        hexdump: false,
        quiet: true,
    })
}

/// A proxy with compression between two filters that forward in pieces of random size.
fn filtered(mode: Mode, server: SocketAddr) -> (ProxySection, SocketAddr) {
    let (mut proxy, address) = listen("px", mode, vec![testing::server(1, server)]);
    proxy.filters = vec![trace(), Filter::Compression, trace()];
    let algorithms = vec![Algorithm::Gzip];
    proxy.compression = Some(Compression { algorithms, offload: true, ..Default::default() });
    (proxy, address)
}

/// The head and the body that the client receives until the connection closes.
fn exchange(world: &World, address: SocketAddr, request: Vec<u8>) -> (String, Vec<u8>) {
    let answer = world.play(move || {
        let mut stream = client(address);
        stream.write_all(&request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    });
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8_lossy(&answer[..end]).to_lowercase(), answer[end..].to_vec())
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| b"compression of payload "[n * n % 23]).collect()
}

/// The payload of a chunked body.
fn dechunked(mut body: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    loop {
        let end = body.windows(2).position(|it| it == b"\r\n").unwrap();
        let length = std::str::from_utf8(&body[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            assert_eq!(&body[end..], b"\r\n\r\n");
            return payload;
        }
        payload.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 2 + length + 2..];
    }
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

/// A server that answers with this body, delimited by its length or in chunks; it asserts that no
/// `accept-encoding` arrives.
fn origin(body: Vec<u8>, chunk: Option<usize>) -> Origin {
    Origin::new(move |mut stream, _| {
        let head = String::from_utf8(read_head(&mut stream)).unwrap().to_lowercase();
        assert!(!head.contains("accept-encoding"), "{head}");
        let kind = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\netag: \"a\"\r\n";
        let mut answer = kind.as_bytes().to_vec();
        match chunk {
            None => {
                let _ = write!(answer, "content-length: {}\r\n\r\n", body.len());
                answer.extend_from_slice(&body);
            }
            Some(size) => {
                answer.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
                for part in body.chunks(size) {
                    let _ = write!(answer, "{:x}\r\n", part.len());
                    answer.extend_from_slice(part);
                    answer.extend_from_slice(b"\r\n");
                }
                answer.extend_from_slice(b"0\r\n\r\n");
            }
        }
        let _ = stream.write_all(&answer);
    })
}

const ASK: &str =
    "GET /x HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n";

#[test]
fn compressed_bodies_are_what_the_server_sent() {
    for (length, chunk) in [
        (1, None),
        (20_000, None),
        (500_000, None),
        (0, Some(7)),
        (9_000, Some(100)),
        (300_000, Some(40_000)),
    ] {
        let body = text(length);
        let origin = origin(body.clone(), chunk);
        let (proxy, address) = filtered(Mode::Http, origin.address);
        let world = World::new(vec![proxy]);
        let (head, answer) = exchange(&world, address, ASK.into());
        assert!(head.contains("content-encoding: gzip\r\n"), "{length} {chunk:?}: {head}");
        assert!(head.contains("etag: w/\"a\"\r\n") && head.contains("vary: accept-encoding\r\n"));
        assert!(!head.contains("content-length"), "{head}");
        assert_eq!(gunzip(&dechunked(&answer)), body, "{length} {chunk:?}");
        let block = &world.frontend("px").counters;
        assert_eq!(block.sum(Metric::CompressedIn), length as u64);
        assert_eq!(block.sum(Metric::CompressedResponses), 1);
        assert_eq!(world.backend("px").counters.sum(Metric::CompressedIn), length as u64);
        assert_eq!(world.shared.compression.memory(), 0);
    }
}

#[test]
fn answers_stay_as_they_are_for_clients_that_take_no_coding() {
    let origin = origin(text(5_000), None);
    let (proxy, address) = filtered(Mode::Http, origin.address);
    let world = World::new(vec![proxy]);
    let request = "GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let (head, answer) = exchange(&world, address, request.into());
    assert!(head.contains("content-length: 5000\r\n") && head.contains("etag: \"a\"\r\n"));
    assert_eq!(answer, text(5_000));
}

#[test]
fn payload_passes_filters_in_both_directions_and_modes() {
    for mode in [Mode::Http, Mode::Tcp] {
        let origin = Origin::new(|mut stream, _| {
            let head = read_head(&mut stream);
            let mut body = vec![0; 200_000];
            stream.read_exact(&mut body).unwrap();
            assert_eq!(body, text(200_000), "{head:?}");
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(&body);
        });
        let (proxy, address) = filtered(mode, origin.address);
        let world = World::new(vec![proxy]);
        let head =
            "POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\nconnection: close\r\n\r\n";
        let (_, answer) = exchange(&world, address, [head.as_bytes(), &text(200_000)].concat());
        assert!(answer == text(200_000), "{mode:?}: {} bytes", answer.len());
    }
}

#[test]
fn an_error_in_place_of_a_response_passes_none_of_its_filters() {
    let origin = origin(text(5_000), None);
    let (mut proxy, address) = filtered(Mode::Http, origin.address);
    let long = "x".repeat(20_000);
    let rule = format!("http-after-response set-header x-long {long} if {{ status 200 }}");
    proxy.rules = rules(Mode::Http, &[&rule]);
    let world = World::new(vec![proxy]);
    let (head, answer) = exchange(&world, address, ASK.into());
    assert!(head.starts_with("http/1.1 500 "), "{head}");
    assert!(!head.contains("content-encoding"), "{head}");
    let answer = String::from_utf8(answer).expect("a page of text");
    assert!(answer.contains("500 Internal Server Error"), "{answer}");
}

#[test]
fn payload_that_the_client_does_not_get_passes_filters_all_the_same() {
    let origin = origin(text(50_000), None);
    let (mut proxy, address) = filtered(Mode::Http, origin.address);
    proxy.rules = rules(Mode::Http, &["http-response set-status 204"]);
    let world = World::new(vec![proxy]);
    let (head, answer) = exchange(&world, address, ASK.into());
    assert!(head.starts_with("http/1.1 204 ") && answer.is_empty(), "{head} {answer:?}");
    assert_eq!(world.line("px"), world.line("204"), "it ends well");
}
