//! Tests of requests and responses.

use super::*;
use crate::{BodyKind, Eof, HeadStep, Ready, StreamGone};
use htx::Fields;
use std::io::IoSlice;

#[test]
fn the_control_stream_begins_with_settings() {
    let mut conn = H3Conn::new(H3ConnSettings::default());
    let out = drain(&mut conn);
    assert_eq!(out[0].0, Target::Control);
    assert_eq!(out[0].1[0], 0);
    let sent = frames(&out[0].1[1..]);
    let announced = H3ConnSettings::default().announced;
    assert_eq!(sent[0].0, H3FrameType::SETTINGS);
    assert_eq!(H3Settings::decode(&sent[0].1), Ok(announced));
    assert_eq!(out[1], (Target::Decoder, vec![3], false));
    assert!(!conn.has_news());
}

#[test]
fn a_request_is_read_in_any_pieces_and_answered() {
    let trailer = headers(&[("x-sum", "1")]);
    let bytes = [
        get_with(&[("cookie", "a=1"), ("cookie", "b=2")]),
        frame(0, b"hello "),
        frame(0x21, b"ignored"),
        frame(0, b"world"),
        trailer,
    ]
    .concat();
    for piece in [1, 2, 7, bytes.len()] {
        let mut conn = greeted();
        conn.open_request(0);
        bytes.chunks(piece).for_each(|piece| conn.receive(0, piece).unwrap());
        conn.finish(0).unwrap();
        let key = conn.poll_opened().unwrap();
        let mut head = Head::default();
        let step = conn.handle_head(key, &mut head);
        assert_eq!(step, Ok(HeadStep::Complete { consumed: 0, body: BodyKind::Chunked }));
        assert_eq!((head.method(), head.uri()), (&b"GET"[..], &b"https://h/"[..]));
        assert_eq!(head.version(), Version::Http3);
        assert_eq!(head.host(), Some(&b"h"[..]));
        assert_eq!(head.first(htx::HeaderId::Cookie).unwrap().value, b"a=1; b=2");
        assert_eq!(read_all(&mut conn, key), b"hello world");
        assert_eq!(conn.end_of(key), Eof::MessageEnd);
        let mut trailers = Fields::default();
        assert!(conn.handle_body(key, b"hello world", &mut trailers).done);
        assert_eq!(trailers.iter().next().unwrap().name, b"x-sum");

        let mut head = response(200, &[("server", "x"), ("connection", "close")]);
        assert_eq!(conn.encode_head(key, &mut head, BodyKind::Length(2)), BodyKind::Length(2));
        conn.encode_data(key, 2);
        assert_eq!(conn.send(key, &[IoSlice::new(b"o"), IoSlice::new(b"k")]), Ok(2));
        conn.encode_end(key, None);
        conn.release(key);
        assert_eq!(conn.streams(), 0);
        let out = drain(&mut conn);
        assert_eq!((out.len(), out[0].0, out[0].2), (1, Target::Request(0), true));
        let sent = frames(&out[0].1);
        assert_eq!(fields(&sent[0].1)[0], (":status".to_owned(), "200".to_owned()));
        assert_eq!(fields(&sent[0].1).len(), 3);
        assert_eq!(sent[1], (H3FrameType::DATA, b"ok".to_vec()));
        assert!(conn.requests.is_empty() && conn.pending == 0);
        assert_eq!((aborts(&mut conn), conn.counters.stream_errors), (vec![], 0));
    }
}

#[test]
fn an_ended_request_without_payload_has_no_body() {
    let mut conn = greeted();
    let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
    conn.finish(0).unwrap();
    let step = conn.handle_head(key, &mut Head::default());
    assert_eq!(step, Ok(HeadStep::Complete { consumed: 0, body: BodyKind::None }));
}

#[test]
fn interim_responses_and_trailers_are_sent() {
    let mut conn = greeted();
    let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
    conn.encode_head(key, &mut response(103, &[("link", "</x>")]), BodyKind::None);
    conn.encode_head(key, &mut response(200, &[]), BodyKind::Chunked);
    conn.encode_data(key, 3);
    assert_eq!(conn.send(key, &[IoSlice::new(b"abc")]), Ok(3));
    let mut trailers = Fields::default();
    trailers.push(b"x-end", b"1");
    conn.encode_end(key, Some(&trailers));
    assert!(conn.has_sent_all(key));
    let out = drain(&mut conn);
    let kinds = frames(&out[0].1).iter().map(|(kind, _)| kind.0).collect::<Vec<_>>();
    assert_eq!((kinds, out[0].2), (vec![1, 1, 0, 1], true));
}

#[test]
fn head_responses_end_with_their_head() {
    let mut conn = greeted();
    let mut fields = GET.to_vec();
    fields[0].1 = "HEAD";
    let key = request(&mut conn, 0, &headers(&fields)).unwrap().unwrap();
    let body = conn.encode_head(key, &mut response(200, &[]), BodyKind::Length(5));
    assert_eq!(body, BodyKind::None);
    conn.encode_end(key, None);
    assert!(drain(&mut conn)[0].2);
}

#[test]
fn a_slow_reader_stops_the_transport() {
    let mut conn = greeted();
    let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
    let mut received = 0;
    while conn.room(0) > 0 {
        conn.receive(0, &frame(0, &[b'x'; 4_000])).unwrap();
        received += 4_000;
    }
    assert!(received <= 20_000, "{received}");
    assert_eq!(conn.poll_resume(), None);
    assert!(conn.want(key, Ready::READ, 9));
    assert_eq!(conn.read(key, &mut [0; 8_000]), Ok(Some(8_000)));
    assert_eq!(conn.poll_resume(), Some(0));
    assert!(conn.room(0) > 0);
}

#[test]
fn a_slow_client_stops_the_sender() {
    let mut conn = greeted();
    let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
    conn.encode_head(key, &mut response(200, &[]), BodyKind::Chunked);
    conn.encode_data(key, 1 << 20);
    let mut sent = 0;
    while let Ok(count @ 1..) = conn.send(key, &[IoSlice::new(&[b'y'; 5_000])]) {
        sent += count;
    }
    assert!(sent <= super::super::send::OUTPUT, "{sent}");
    assert!(!conn.want(key, Ready::WRITE, 7));
    let target = conn.poll_write().unwrap();
    conn.advance(target, 10);
    assert_eq!(conn.take_woken(), Some(7));
    // The transport was full, and shows room later.
    assert_eq!(conn.poll_write(), None);
    conn.resume_write(target);
    assert_eq!(conn.poll_write(), Some(target));
}

#[test]
fn a_blocked_section_waits_for_its_entries() {
    let mut conn = greeted();
    // GET https://h/, and one entry that is required: `x-a: b`, relative to base 1.
    let section = [2, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'h', 0x80];
    conn.open_request(0);
    let bytes = [frame(1, &section), frame(0, b"later")].concat();
    conn.receive(0, &bytes).unwrap();
    conn.finish(0).unwrap();
    assert_eq!((conn.poll_opened(), conn.room(0), conn.blocked), (None, 0, 1));
    let instructions = [&[0x3f, 0xe1, 0x1f][..], &[0x43], b"x-a", &[1], b"b"].concat();
    for byte in stream(StreamType::QPACK_ENCODER, &instructions) {
        conn.receive(6, &[byte]).unwrap();
    }
    let key = conn.poll_opened().unwrap();
    let mut head = Head::default();
    conn.handle_head(key, &mut head).unwrap();
    assert_eq!(head.fields().last().unwrap().name, b"x-a");
    assert_eq!((read_all(&mut conn, key), conn.end_of(key)), (b"later".to_vec(), Eof::MessageEnd));
    assert_eq!((conn.poll_resume(), conn.blocked), (Some(0), 0));
    // The section is acknowledged, and with it the entry.
    let out = drain(&mut conn);
    assert_eq!(out, [(Target::Decoder, vec![0x80], false)]);
}

#[test]
fn cancelled_requests_send_stream_cancellation_to_the_encoder() {
    let mut conn = greeted();
    conn.open_request(4);
    conn.receive(4, &frame(1, &[2, 0, 0x80])).unwrap();
    conn.receive_reset(4).unwrap();
    assert_eq!(conn.blocked, 0);
    assert_eq!(drain(&mut conn), [(Target::Decoder, vec![0x44], false)]);
    assert!(conn.requests.is_empty());
}

#[test]
fn an_upgrade_is_an_extended_connect() {
    let mut conn = greeted();
    let fields = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "https"),
        (":authority", "h"),
        (":path", "/chat"),
        ("sec-websocket-version", "13"),
    ];
    let bytes = [headers(&fields), frame(0, b"early")].concat();
    let key = request(&mut conn, 0, &bytes).unwrap().unwrap();
    let mut head = Head::default();
    conn.handle_head(key, &mut head).unwrap();
    assert_eq!((head.method(), head.uri()), (&b"GET"[..], &b"https://h/chat"[..]));
    let accepted = head.first(htx::HeaderId::SecWebSocketKey).unwrap().value;
    let accept = wire::websocket::accept(accepted);
    let mut answer = response(101, &[("upgrade", "websocket")]);
    assert!(!conn.is_accepted_by(key, &answer));
    answer.set(b"sec-websocket-accept", &accept);
    assert!(conn.is_accepted_by(key, &answer));
    assert_eq!(conn.encode_head(key, &mut answer, BodyKind::Tunnel), BodyKind::Tunnel);
    assert!(conn.is_tunnel(key));
    assert_eq!(read_all(&mut conn, key), b"early");
    conn.encode_data(key, 2);
    assert_eq!(conn.send(key, &[IoSlice::new(b"hi")]), Ok(2));
    conn.shutdown(key);
    let out = drain(&mut conn);
    let sent = frames(&out[0].1);
    assert_eq!(fields_of(&sent[0].1), "200");
    assert!(out[0].2);
}

fn fields_of(section: &[u8]) -> String {
    fields(section)[0].1.clone()
}

#[test]
fn a_shutdown_serves_the_requests_in_flight() {
    let mut conn = greeted();
    let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
    conn.begin_shutdown();
    let go_away = |conn: &mut H3Conn| frames(&drain(conn)[0].1)[0].1.clone();
    assert_eq!(go_away(&mut conn), number((1 << 62) - 4));
    let other = request(&mut conn, 4, &get_with(&[])).unwrap().unwrap();
    conn.finish_shutdown();
    assert_eq!(go_away(&mut conn), number(8));
    assert!(!conn.is_open() && !conn.is_over());
    assert_eq!(request(&mut conn, 8, &get_with(&[])).unwrap(), None);
    let rejected =
        Abort { stream: 8, code: H3ErrorCode::REQUEST_REJECTED, sends: true, receives: true };
    assert_eq!(aborts(&mut conn), [rejected]);
    for key in [key, other] {
        conn.finish(conn.id(key)).unwrap();
        conn.encode_head(key, &mut response(204, &[]), BodyKind::None);
        conn.encode_end(key, None);
        conn.release(key);
    }
    assert!(!conn.is_over());
    drain(&mut conn);
    assert!(conn.is_over());
}

#[test]
fn the_rest_of_a_request_is_not_read_after_its_answer() {
    let mut conn = greeted();
    let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
    conn.encode_head(key, &mut response(404, &[]), BodyKind::None);
    conn.encode_end(key, None);
    conn.release(key);
    let stop = Abort { stream: 0, code: H3ErrorCode::NO_ERROR, sends: false, receives: true };
    assert_eq!(aborts(&mut conn), [stop]);
    conn.receive(0, &frame(0, b"more")).unwrap();
    assert!(drain(&mut conn)[0].2);
    assert!(conn.requests.is_empty());
}

#[test]
fn a_lost_connection_ends_its_streams() {
    let mut conn = greeted();
    let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
    assert!(!conn.want(key, Ready::RESET, 3));
    conn.handle_eof();
    assert_eq!(conn.take_woken(), Some(3));
    assert!(conn.is_lost(key) && conn.is_reset(key) && conn.is_over());
    assert_eq!(conn.read(key, &mut [0; 1]), Err(StreamGone));
    assert_eq!(conn.send(key, &[IoSlice::new(b"x")]), Err(StreamGone));
    conn.release(key);
    assert!(conn.requests.is_empty());
}
