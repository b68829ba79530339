//! Clients of HTTP/1.1 whose requests go over HTTP/3, for tests that do not depend on the version.
//!
//! With `WEIR_TEST_VERSION=3`, [`Running::web`](super::Running::web) returns such a client. A file
//! that `WEIR_TEST_BRIDGED` names gets the name of each test that has made one.

use super::h3_client::{H3Client, fields};
use super::{Client, Message};
use quinn_proto::Dir;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use wire::h3::qpack::QpackDecoder;
use wire::h3::{H3FrameHeader, H3FrameType, encode};

/// Whether tests that can use HTTP/3 do.
pub(crate) fn is_wanted() -> bool {
    std::env::var_os("WEIR_TEST_VERSION").is_some_and(|version| version == "3")
}

/// A client whose requests go to a listener of HTTP/3, over a connection of its own.
pub(crate) fn connect(server: SocketAddr, trust: &[u8]) -> Client {
    note();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a bound socket");
    let trust = trust.to_vec();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the test connects");
        let mut client = Client::of(stream);
        let mut server = H3Client::connect(server, &trust);
        while let Some(request) = client.request() {
            let id = server.send(Dir::Bi, &encoded(&request));
            let is_head = request.start.starts_with("HEAD ");
            let response = decoded(&server.raw_answer(id), is_head);
            let closes = request.header("connection").is_some_and(|value| value == "close");
            if client.try_send(response).is_err() || closes {
                return;
            }
        }
    });
    Client::connect(address)
}

/// Writes the name of the test down.
fn note() {
    let Some(path) = std::env::var_os("WEIR_TEST_BRIDGED") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    if let (Ok(mut file), Some(name)) = (file, std::thread::current().name()) {
        let _ = writeln!(file, "{name}");
    }
}

/// Fields that concern a connection of HTTP/1 only (RFC 9114 section 4.2).
const OWN: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// A request in the frames of HTTP/3.
fn encoded(request: &Message) -> Vec<u8> {
    let mut words = request.start.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let authority = request.header("host").unwrap_or("a.test");
    let lower: Vec<_> =
        request.headers.iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
    let mut all = vec![
        (":method", method),
        (":scheme", "https"),
        (":authority", authority),
        (":path", target),
    ];
    let others = lower.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    all.extend(others.map(|(name, value)| (name.as_str(), value.as_str())));
    let mut bytes = fields(&all);
    if !request.body.is_empty() {
        encode::header(H3FrameType::DATA, request.body.len(), &mut bytes);
        bytes.extend_from_slice(&request.body);
    }
    let trailers = request.trailers.iter().filter_map(|line| line.split_once(':'));
    let trailers: Vec<_> =
        trailers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
    if !trailers.is_empty() {
        let all: Vec<_> = trailers.iter().map(|(name, value)| (&**name, &**value)).collect();
        bytes.extend_from_slice(&fields(&all));
    }
    bytes
}

/// A response of HTTP/3 as one of HTTP/1.1.
fn decoded(mut rest: &[u8], is_head: bool) -> Vec<u8> {
    let (mut heads, mut body) = (Vec::new(), Vec::new());
    while let Some((header, size)) = H3FrameHeader::decode(rest) {
        let (payload, next) = rest[size..].split_at(header.len as usize);
        match header.kind {
            H3FrameType::HEADERS => heads.push(section(payload)),
            H3FrameType::DATA => body.extend_from_slice(payload),
            _ => {}
        }
        rest = next;
    }
    let mut out = Vec::new();
    for (status, lines) in heads.iter().filter(|(status, _)| *status > 0) {
        let has_length = lines.iter().any(|line| line.starts_with("content-length:"));
        let chunked = !(is_head || has_length || matches!(status, 100..200 | 204 | 304));
        let coding = if chunked { "transfer-encoding: chunked\r\n" } else { "" };
        let text =
            format!("HTTP/1.1 {status} {}\r\n{}{coding}\r\n", reason(*status), lines.concat());
        out.extend_from_slice(text.as_bytes());
        if chunked {
            let trailers = heads.iter().filter(|(status, _)| *status == 0);
            let trailers: String = trailers.map(|(_, lines)| lines.concat()).collect();
            if !body.is_empty() {
                out.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
                out.extend_from_slice(&body);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
        } else if *status >= 200 {
            out.extend_from_slice(&body);
        }
    }
    out
}

/// The status of a field section, 0 for trailers, and its lines.
fn section(payload: &[u8]) -> (u16, Vec<String>) {
    let (mut status, mut lines) = (0, Vec::new());
    let note = |name: &[u8], value: &[u8]| {
        let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        match &*name {
            ":status" => status = value.parse().unwrap_or(0),
            _ => lines.push(format!("{name}: {value}\r\n")),
        }
    };
    QpackDecoder::new(0).decode_within(payload, usize::MAX, note).expect("a section");
    (status, lines)
}

/// The reason phrase, which HTTP/3 does not carry.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad request",
        403 => "Forbidden",
        404 => "Not Found",
        503 => "Service Unavailable",
        _ => "Other",
    }
}
