//! Tests over several messages: pipelining, ends of stream, rewritten methods, split input,
//! arbitrary bytes.

use htx::{Fields, Head, Version};
use proptest::prelude::*;

use super::exchange::{relay, settings};
use crate::h1::{BodyStep, ConnectionMode, Eof, H1Conn, H1ConnSettings, HeadStep};
use crate::{BodyKind, Side};

fn client() -> H1Conn {
    H1Conn::new(Side::Client, H1ConnSettings::default())
}

fn server() -> H1Conn {
    H1Conn::new(Side::Server, H1ConnSettings::default())
}

#[test]
fn a_connection_is_small() {
    assert!(size_of::<H1Conn>() <= 64, "{}", size_of::<H1Conn>());
}

#[test]
fn pipelined_requests_are_taken_one_by_one() {
    let mut input: &[u8] =
        b"POST /1 HTTP/1.1\r\ncontent-length: 2\r\n\r\nabGET /2 HTTP/1.1\r\n\r\n";
    let (mut conn, mut head, mut out) = (client(), Head::default(), Vec::new());
    assert!(conn.is_idle());
    for uri in ["/1", "/2"] {
        let Ok(HeadStep::Complete { consumed, .. }) = conn.handle_head(input, &mut head) else {
            panic!("no head for {uri}");
        };
        input = &input[consumed..];
        assert_eq!(head.uri(), uri.as_bytes());
        if !conn.has_received_all() {
            let step = conn.handle_body(input, &mut Fields::default()).unwrap();
            assert_eq!(step, BodyStep { skip: 0, data: 2, done: true });
            input = &input[2..];
        }
        head.clear();
        head.set_response(Version::Http11, 204, b"No Content");
        assert!(!conn.can_reuse());
        conn.encode_head(&mut head, BodyKind::None, &mut out);
        conn.encode_end(None, &mut out);
        assert!(conn.can_reuse());
        conn.reset_for_next();
    }
    assert!(conn.is_idle() && input.is_empty());
    assert_eq!(conn.exchanges(), 2);
}

#[test]
fn ends_of_stream() {
    let after = |input: &[u8]| {
        let mut conn = client();
        let mut head = Head::default();
        if let Ok(HeadStep::Complete { consumed, .. }) = conn.handle_head(input, &mut head) {
            let _ = conn.handle_body(&input[consumed..], &mut Fields::default());
        }
        conn.handle_eof()
    };
    assert_eq!(after(b""), Eof::Idle);
    assert_eq!(after(b"GET"), Eof::Truncated);
    assert_eq!(after(b"GET / HTTP/1.1\r\n\r\n"), Eof::AfterMessage);
    assert_eq!(after(b"GET / HTTP/1.1\r\ncontent-length: 2\r\n\r\na"), Eof::Truncated);
    assert_eq!(after(b"GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"), Eof::Truncated);

    let mut conn = server();
    assert_eq!(conn.handle_eof(), Eof::Idle);
    let mut conn = server();
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    conn.encode_head(&mut head, BodyKind::None, &mut Vec::new());
    assert_eq!(conn.handle_eof(), Eof::Truncated);
}

#[test]
fn a_half_close_lets_the_response_out() {
    let (mut conn, mut head) = (client(), Head::default());
    conn.handle_head(b"GET / HTTP/1.1\r\n\r\n", &mut head).unwrap();
    assert_eq!(conn.handle_eof(), Eof::AfterMessage);
    assert!(conn.must_close());
    head.clear();
    head.set_response(Version::Http11, 200, b"OK");
    let mut out = Vec::new();
    conn.encode_head(&mut head, BodyKind::Length(0), &mut out);
    assert_eq!(out, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

#[test]
fn a_head_request_rewritten_to_get_gets_no_body() {
    let (mut conn, mut up, mut head) = (client(), server(), Head::default());
    conn.handle_head(b"HEAD / HTTP/1.1\r\n\r\n", &mut head).unwrap();
    head.set_method(b"GET");
    let mut sent = Vec::new();
    up.encode_head(&mut head, BodyKind::None, &mut sent);
    let out =
        relay(&mut up, &mut conn, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc").unwrap();
    assert_eq!(out, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n");
    assert!(conn.can_reuse() && up.can_reuse());
}

#[test]
fn a_get_request_rewritten_to_head_announces_nothing() {
    let (mut conn, mut up, mut head) = (client(), server(), Head::default());
    conn.handle_head(b"GET / HTTP/1.1\r\n\r\n", &mut head).unwrap();
    head.set_method(b"HEAD");
    up.encode_head(&mut head, BodyKind::None, &mut Vec::new());
    let out = relay(&mut up, &mut conn, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n").unwrap();
    assert_eq!(out, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
}

#[test]
fn bodies_can_be_forwarded_without_parsing() {
    let (mut conn, mut head) = (client(), Head::default());
    conn.handle_head(b"PUT / HTTP/1.1\r\ncontent-length: 1000\r\n\r\n", &mut head).unwrap();
    assert_eq!(conn.payload_left(), 1000);
    assert!(!conn.skip_payload(400));
    assert!(conn.skip_payload(600));
    assert_eq!(conn.payload_received(), 1000);
    assert!(conn.has_received_all());
}

#[test]
fn a_short_body_closes() {
    let (mut conn, mut head) = (client(), Head::default());
    conn.handle_head(b"GET / HTTP/1.1\r\n\r\n", &mut head).unwrap();
    head.clear();
    head.set_response(Version::Http11, 200, b"OK");
    let mut out = Vec::new();
    conn.encode_head(&mut head, BodyKind::Length(10), &mut out);
    conn.encode_data(4).unwrap();
    assert!(!conn.must_close());
    conn.encode_end(None, &mut out);
    assert!(conn.must_close() && !conn.can_reuse());
}

#[test]
fn payload_beyond_the_message_is_refused() {
    for (body, most) in [(BodyKind::None, 0), (BodyKind::Length(3), 3)] {
        let mut conn = H1Conn::new(Side::Server, H1ConnSettings::default());
        let mut head = Head::default();
        head.set_request(b"POST", b"/", Version::Http11);
        conn.encode_head(&mut head, body, &mut Vec::new());
        assert!(conn.encode_data(most).is_ok() && conn.encode_data(0).is_ok());
        assert_eq!(conn.encode_data(1).map(drop).map_err(|error| error.status), Err(502));
        assert!(!conn.can_reuse());
    }
}

#[test]
fn the_stronger_mode_wins() {
    let mut conn = H1Conn::new(Side::Client, settings(ConnectionMode::ServerClose));
    conn.raise_mode(ConnectionMode::KeepAlive);
    assert!(!conn.must_close());
    conn.raise_mode(ConnectionMode::Close);
    assert!(conn.must_close());
}

#[test]
fn a_local_reply_may_close() {
    let (mut conn, mut head) = (client(), Head::default());
    conn.handle_head(b"GET / HTTP/1.1\r\n\r\n", &mut head).unwrap();
    let body = htx::error_replies::fill(400, &mut head).unwrap();
    conn.close_after_message();
    let mut out = Vec::new();
    conn.encode_head(&mut head, BodyKind::Length(body.len() as u64), &mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(
        text,
        "HTTP/1.1 400 Bad request\r\ncontent-length: 90\r\ncache-control: no-cache\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n"
    );
}

/// All results of a connection when `input` arrives in pieces that end at `cuts`.
fn drive(side: Side, input: &[u8], cuts: &[usize]) -> String {
    let mut conn = H1Conn::new(side, H1ConnSettings::default());
    let (mut head, mut trailers) = (Head::default(), Fields::default());
    let (mut at, mut in_body, mut log, mut payload) = (0, false, String::new(), Vec::new());
    for end in cuts.iter().map(|&c| c.min(input.len())).chain([input.len()]) {
        while at <= end {
            if !in_body {
                match conn.handle_head(&input[at..end], &mut head) {
                    Ok(HeadStep::NeedMore) => break,
                    Ok(HeadStep::Interim { consumed }) => at += consumed,
                    Ok(HeadStep::Complete { consumed, body }) => {
                        at += consumed;
                        in_body = true;
                        log += &format!("{body:?};");
                    }
                    Err(e) => return format!("{log}{}", e.status),
                }
                continue;
            }
            match conn.handle_body(&input[at..end], &mut trailers) {
                Ok(step) => {
                    payload.extend_from_slice(&input[at + step.skip..at + step.skip + step.data]);
                    at += step.skip + step.data;
                    if step.done {
                        return format!("{log}{payload:?} done at {at} {:?}", trailers.len());
                    }
                    if step.skip + step.data == 0 {
                        break;
                    }
                }
                Err(e) => return format!("{log}{payload:?} {}", e.status),
            }
        }
    }
    format!("{log}{payload:?} {:?}", conn.handle_eof())
}

const REQUEST_LINES: &[&str] = &[
    "GET / HTTP/1.1\r\n",
    "\r\nPUT /x HTTP/1.0\n",
    "CONNECT a:443 HTTP/1.1\r\n",
    "GET http://a:80/ HTTP/1.0\r\n",
];
const STATUS_LINES: &[&str] = &[
    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 204 N\r\n",
    "HTTP/1.1 101 S\r\n",
];
const FIELDS: &[&str] = &[
    "Host: a\r\n",
    "host: a:443\r\n",
    "content-length: 5\r\n",
    "content-length: 5, 5\r\n",
    "content-length: 12\n",
    "transfer-encoding: chunked\r\n",
    "te: a, trailers\r\n",
    "connection: close, x\r\n",
    "connection: upgrade\r\n",
    "upgrade: websocket\r\n",
    "sec-websocket-key: k\r\n",
    "X: y\r\n folded\r\n",
];
const BODY: &[&str] =
    &["5\r\nabcde\r\n", "2;x\r\nab\r\n", "0\r\n", "0\r\nFoo: bar\r\n\r\n", "\r\n", "abcde"];

fn some(from: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<u8>> {
    let known = proptest::sample::select(from).prop_map(|p| p.as_bytes().to_vec());
    let noise = proptest::collection::vec(any::<u8>(), 0..3);
    proptest::collection::vec(prop_oneof![39 => known, 1 => noise], 0..most)
        .prop_map(|v| v.concat())
}

fn almost_a_message(side: Side) -> impl Strategy<Value = Vec<u8>> {
    let lines = if side == Side::Client { REQUEST_LINES } else { STATUS_LINES };
    let start = proptest::sample::select(lines).prop_map(|p| p.as_bytes().to_vec());
    (start, some(FIELDS, 5), some(BODY, 6))
        .prop_map(|(start, fields, body)| [start, fields, b"\r\n".to_vec(), body].concat())
}

fn message_for_a_side() -> impl Strategy<Value = (Side, Vec<u8>)> {
    prop_oneof![
        almost_a_message(Side::Client).prop_map(|m| (Side::Client, m)),
        almost_a_message(Side::Server).prop_map(|m| (Side::Server, m)),
    ]
}

proptest! {
    #[test]
    fn pieces_equal_the_whole(
        (side, input) in message_for_a_side(),
        cuts in proptest::collection::vec(0usize..250, 0..8),
    ) {
        let whole = drive(side, &input, &[]);
        let mut cuts = cuts;
        cuts.sort_unstable();
        let every: Vec<usize> = (0..input.len()).collect();
        prop_assert_eq!(&drive(side, &input, &cuts), &whole);
        prop_assert_eq!(&drive(side, &input, &every), &whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(input in proptest::collection::vec(any::<u8>(), 0..200)) {
        drive(Side::Client, &input, &[]);
        drive(Side::Server, &input, &[]);
    }

    #[test]
    fn forwarded_messages_are_accepted_again(input in almost_a_message(Side::Client)) {
        let (mut from, mut to) = (client(), server());
        let mut head = Head::default();
        if let Ok(HeadStep::Complete { body, .. }) = from.handle_head(&input, &mut head) {
            let mut out = Vec::new();
            to.encode_head(&mut head, body, &mut out);
            let mut again = Head::default();
            let step = client().handle_head(&out, &mut again).unwrap();
            let expected = if body == BodyKind::Tunnel { BodyKind::None } else { body };
            prop_assert_eq!(step, HeadStep::Complete { consumed: out.len(), body: expected });
        }
    }
}
