//! Tests of exchanges between two machines.

use super::super::conn::OUTPUT;
use super::{GET, Pair, drain, frame, greeted, read_all};
use crate::Ready;
use crate::h2::{FreeList, H2Conn, H2ConnSettings, Key, StreamGone, settings};
use crate::{BodyKind, BodyStep, HeadStep, Side};
use htx::{Fields, Head, Version};
use std::io::IoSlice;
use wire::h2::frame::{ACK, END_HEADERS, END_STREAM};
use wire::h2::{ErrorCode, FrameType, MAX_WINDOW, encode};

fn pair() -> Pair {
    Pair::new(H2ConnSettings::default(), H2ConnSettings::default())
}

fn respond(pair: &mut Pair, key: Key, status: u16, body: BodyKind) -> BodyKind {
    let mut head = Head::default();
    head.set_response(Version::Http11, status, b"");
    head.push(b"connection", b"close");
    let sent_as = pair.server.encode_head(key, &mut head, body, b"");
    pair.talk();
    sent_as
}

fn answer(pair: &mut Pair, key: Key) -> (Head, HeadStep) {
    let mut head = Head::default();
    let step = pair.client.handle_head(key, &mut head).unwrap();
    (head, step)
}

#[test]
fn a_request_and_its_answer() {
    let mut pair = pair();
    let (up, down, head) = pair.request(b"GET", BodyKind::None);
    assert_eq!(head.uri(), b"http://example.org/path");
    assert!(pair.server.has_received_all(down));
    assert_eq!(respond(&mut pair, down, 200, BodyKind::Length(5)), BodyKind::Length(5));
    pair.server.encode_data(down, 5);
    pair.server.encode_end(down, None);
    assert!(!pair.server.has_sent_all(down), "payload is owed still");
    assert_eq!(pair.server.send(down, &[IoSlice::new(b"he"), IoSlice::new(b"llo")]), Ok(5));
    assert!(pair.server.has_sent_all(down));
    pair.talk();
    let (head, step) = answer(&mut pair, up);
    assert_eq!(step, HeadStep::Complete { consumed: 0, body: BodyKind::Length(5) });
    assert_eq!((head.status(), head.get(b"connection")), (200, None));
    assert_eq!(read_all(&mut pair.client, up), b"hello");
    assert!(pair.client.has_received_all(up));
    pair.server.release(down);
    pair.client.release(up);
    assert_eq!((pair.server.streams(), pair.client.streams()), (0, 0));
    assert!(drain(&mut pair.server).is_empty() && drain(&mut pair.client).is_empty());
}

#[test]
fn interim_answers_and_trailers_both_ways() {
    let mut pair = pair();
    let (up, down, _) = pair.request(b"POST", BodyKind::Chunked);
    respond(&mut pair, down, 103, BodyKind::None);
    assert_eq!(answer(&mut pair, up).1, HeadStep::Interim { consumed: 0 });
    let mut trailers = Fields::default();
    trailers.push(b"checksum", b"1");
    pair.client.encode_data(up, 1);
    pair.client.encode_end(up, Some(&trailers));
    assert_eq!(pair.client.send(up, &[IoSlice::new(b"x")]), Ok(1));
    pair.talk();
    let mut section = Fields::default();
    assert_eq!(read_all(&mut pair.server, down), b"x");
    assert!(pair.server.handle_body(down, b"x", &mut section).done);
    assert_eq!(section.get(b"checksum"), Some(&b"1"[..]));
    respond(&mut pair, down, 200, BodyKind::Chunked);
    pair.server.encode_end(down, Some(&trailers));
    pair.talk();
    assert!(matches!(answer(&mut pair, up).1, HeadStep::Complete { body: BodyKind::Chunked, .. }));
    assert!(pair.client.handle_body(up, b"", &mut section).done);
    assert_eq!(section.len(), 2);
}

/// Heads are queued without a limit, so the caller waits for room between interim ones.
#[test]
fn interim_responses_wait_for_room() {
    let mut pair = pair();
    let (_, down, _) = pair.request(b"GET", BodyKind::None);
    assert!(pair.server.want(down, Ready::ROOM, 7));
    let mut head = Head::default();
    while pair.server.has_room() {
        head.clear();
        head.set_response(Version::Http11, 103, b"");
        head.push(b"link", &[b'x'; 8_000]);
        pair.server.encode_head(down, &mut head, BodyKind::None, b"");
    }
    // A window update would not help, and heads do not need one.
    assert!(!pair.server.want(down, Ready::ROOM, 7) && !pair.server.want(down, Ready::ROOM, 7));
    pair.server.advance_output(100);
    assert_eq!(pair.server.take_woken(), None);
    pair.server.advance_output(8_000);
    assert_eq!((pair.server.take_woken(), pair.server.take_woken()), (Some(7), None));
}

#[test]
fn unread_interim_responses_are_limited() {
    let mut pair = pair();
    let (up, down, _) = pair.request(b"GET", BodyKind::None);
    for _ in 0..16 {
        respond(&mut pair, down, 103, BodyKind::None);
    }
    assert!(!pair.client.is_reset(up));
    assert_eq!(answer(&mut pair, up).1, HeadStep::Interim { consumed: 0 });
    respond(&mut pair, down, 103, BodyKind::None);
    assert!(!pair.client.is_reset(up));
    respond(&mut pair, down, 103, BodyKind::None);
    assert!(pair.client.is_reset(up));
}

#[test]
fn answers_without_a_body() {
    let mut pair = pair();
    for (method, status) in [(&b"HEAD"[..], 200), (b"GET", 204), (b"GET", 304)] {
        let (up, down, _) = pair.request(method, BodyKind::None);
        let sent_as = respond(&mut pair, down, status, BodyKind::Length(3));
        assert_eq!(sent_as, BodyKind::None, "{status}");
        // The dropped body of a HEAD response is part of the exchange.
        assert_eq!(pair.server.has_sent_all(down), method != b"HEAD");
        pair.server.encode_end(down, None);
        assert!(pair.server.has_sent_all(down));
        let (_, step) = answer(&mut pair, up);
        assert_eq!(step, HeadStep::Complete { consumed: 0, body: BodyKind::None });
        pair.talk();
        assert!(pair.client.has_received_all(up));
        pair.server.release(down);
        pair.client.release(up);
    }
}

#[test]
fn a_connection_for_opaque_bytes() {
    let mut pair = pair();
    let key = pair.client.open().unwrap();
    let mut head = Head::default();
    head.set_request(b"CONNECT", b"example.org:443", Version::Http11);
    pair.client.encode_head(key, &mut head, BodyKind::None, b"http");
    pair.talk();
    let taken = pair.server.poll_opened().unwrap();
    assert!(pair.server.handle_head(taken, &mut head).is_ok());
    assert_eq!(respond(&mut pair, taken, 200, BodyKind::Chunked), BodyKind::Tunnel);
    let (_, step) = answer(&mut pair, key);
    assert_eq!(step, HeadStep::Complete { consumed: 0, body: BodyKind::Tunnel });
    assert_eq!(pair.client.send(key, &[IoSlice::new(b"up")]), Ok(2));
    assert_eq!(pair.server.send(taken, &[IoSlice::new(b"down")]), Ok(4));
    pair.client.shutdown(key);
    pair.talk();
    assert_eq!(read_all(&mut pair.server, taken), b"up");
    assert_eq!(read_all(&mut pair.client, key), b"down");
    assert!(pair.server.has_received_all(taken) && !pair.client.has_received_all(key));
}

/// An HTTP/1 server would take payload after a request without a body for the next request.
#[test]
fn payload_after_connect_waits_for_its_acceptance() {
    let mut pair = pair();
    let key = pair.client.open().unwrap();
    let mut head = Head::default();
    head.set_request(b"CONNECT", b"example.org:443", Version::Http11);
    pair.client.encode_head(key, &mut head, BodyKind::None, b"http");
    assert_eq!(pair.client.send(key, &[IoSlice::new(b"early")]), Ok(5));
    pair.talk();
    let taken = pair.server.poll_opened().unwrap();
    pair.server.handle_head(taken, &mut head).unwrap();
    let early = read_all(&mut pair.server, taken);
    let mut trailers = Fields::default();
    let none = BodyStep { skip: 0, data: 0, done: true };
    assert_eq!(pair.server.handle_body(taken, &early, &mut trailers), none);
    assert_eq!(pair.server.payload_received(taken), 0);
    respond(&mut pair, taken, 200, BodyKind::Chunked);
    let all = BodyStep { skip: 0, data: 5, done: false };
    assert_eq!(pair.server.handle_body(taken, &early, &mut trailers), all);
}

#[test]
fn an_upgrade_goes_as_extended_connect() {
    let mut settings = H2ConnSettings::default();
    settings.announced.enable_connect_protocol = true;
    let mut pair = Pair::new(H2ConnSettings::default(), settings);
    let key = pair.client.open().unwrap();
    let mut head = Head::default();
    head.set_request(b"GET", b"/chat", Version::Http11);
    for (name, value) in [("host", "h"), ("connection", "upgrade"), ("upgrade", "websocket")] {
        head.push(name.as_bytes(), value.as_bytes());
    }
    pair.client.encode_head(key, &mut head, BodyKind::None, b"http");
    pair.talk();
    let taken = pair.server.poll_opened().unwrap();
    assert!(pair.server.handle_head(taken, &mut head).is_ok());
    assert_eq!((head.method(), head.get(b"upgrade")), (&b"GET"[..], Some(&b"websocket"[..])));
    assert_eq!(head.get(b"sec-websocket-key").map(<[u8]>::len), Some(24));
    assert_eq!(respond(&mut pair, taken, 101, BodyKind::Tunnel), BodyKind::Tunnel);
    let (head, _) = answer(&mut pair, key);
    assert_eq!((head.status(), pair.client.is_tunnel(key)), (101, true));
}

#[test]
fn payload_waits_for_windows() {
    let mut small = H2ConnSettings::default();
    small.announced.initial_window_size = 10;
    let mut pair = Pair::new(small, H2ConnSettings::default());
    let (up, down, _) = pair.request(b"GET", BodyKind::None);
    respond(&mut pair, down, 200, BodyKind::Length(25));
    pair.server.encode_data(down, 25);
    pair.server.encode_end(down, None);
    let (body, mut sent, mut got) = ([b'x'; 25], 0, Vec::new());
    for _ in 0..10 {
        while let Ok(count @ 1..) = pair.server.send(down, &[IoSlice::new(&body[sent..])]) {
            sent += count;
        }
        if sent < body.len() {
            assert!(!pair.server.want(down, Ready::WRITE, 7));
        }
        pair.talk();
        got.extend(read_all(&mut pair.client, up));
        pair.talk();
    }
    assert_eq!((sent, got.len(), pair.client.has_received_all(up)), (25, 25, true));
    assert_eq!(pair.server.take_woken(), Some(7));
}

/// Unread streams do not hold up read ones, however many there are.
#[test]
fn unread_streams_leave_window_to_others() {
    let stalled = [(1 << 20, 9), (settings::window_of(100, 65_536), 99)];
    for (window, stalled) in stalled {
        let mut wide = H2ConnSettings { window, first_window: window, ..H2ConnSettings::default() };
        wide.announced.initial_window_size = 65_536;
        let mut pair = Pair::new(wide, H2ConnSettings::default());
        let piece = [b'x'; 16_384];
        let mut answers = Vec::new();
        for _ in 0..=stalled {
            let (up, down, _) = pair.request(b"GET", BodyKind::None);
            respond(&mut pair, down, 200, BodyKind::Chunked);
            answers.push((up, down));
        }
        let last = answers.pop().unwrap();
        for (_, down) in answers {
            while let Ok(1..) = pair.server.send(down, &[IoSlice::new(&piece)]) {
                pair.talk();
            }
        }
        let mut passed = 0;
        while let Ok(1..) = pair.server.send(last.1, &[IoSlice::new(&piece)]) {
            pair.talk();
            passed += read_all(&mut pair.client, last.0).len();
            pair.talk();
            if passed >= 2 << 20 {
                break;
            }
        }
        assert!(passed >= 2 << 20, "{passed} bytes beside {stalled} streams");
    }
}

#[test]
fn windows_of_connections_have_room_for_those_of_their_streams() {
    for (streams, each, window) in [
        (100, 65_536, 6_553_600),
        (1, 65_535, 1 << 20),
        (100, 1 << 20, 16 << 20),
        (u32::MAX, 65_535, 16 << 20),
        (100, 100 << 20, 200 << 20),
        (100, MAX_WINDOW, MAX_WINDOW),
    ] {
        assert_eq!(settings::window_of(streams, each), window, "{streams} times {each}");
    }
}

/// A stream that always has payload does not keep the others from sending.
#[test]
fn streams_take_turns() {
    let mut wide = H2ConnSettings::default();
    wide.announced.initial_window_size = 1 << 24;
    (wide.window, wide.first_window) = (1 << 24, 1 << 24);
    let mut pair = Pair::new(wide, H2ConnSettings::default());
    let more = frame(FrameType::WindowUpdate, 0, 0, &(1u32 << 24).to_be_bytes());
    pair.server.handle_input(&more, 0).unwrap();
    let keys: Vec<Key> = (0..3).map(|_| pair.request(b"GET", BodyKind::None).1).collect();
    for key in &keys {
        respond(&mut pair, *key, 200, BodyKind::Chunked);
        pair.server.encode_data(*key, 1 << 24);
    }
    let piece = [0; 40_000];
    let mut shares = [0; 3];
    for _ in 0..100 {
        // The first stream is always asked first, until it has to wait.
        for (key, share) in keys.iter().zip(&mut shares) {
            while let Ok(count @ 1..) = pair.server.send(*key, &[IoSlice::new(&piece)]) {
                *share += count;
            }
            pair.server.want(*key, Ready::WRITE, 1);
        }
        assert!(pair.server.output().len() <= OUTPUT + 9 * 8);
        let half = pair.server.output().len() / 2;
        pair.server.advance_output(half.max(1));
    }
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(*most < 2 * least, "fair shares: {shares:?}");
}

#[test]
fn unprocessed_requests_may_be_sent_again() {
    let mut pair = pair();
    let (first, _, _) = pair.request(b"GET", BodyKind::None);
    pair.server.begin_shutdown();
    pair.server.finish_shutdown();
    let second = pair.client.open().unwrap();
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    pair.client.encode_head(second, &mut head, BodyKind::None, b"http");
    pair.talk();
    assert!(pair.client.is_refused(second) && !pair.client.is_reset(first));
    assert!(pair.client.open().is_none(), "no more streams");
    assert!(pair.server.poll_opened().is_none());
    pair.client.release(second);
    pair.client.release(first);
    assert!(drain(&mut pair.client).len() == 1, "the first is cancelled, the second never was");
    assert!(pair.client.is_over());
}

/// RFC 9113 section 6.8: a client may have sent requests before it learns of the shutdown.
#[test]
fn a_graceful_shutdown_serves_requests_that_are_on_their_way() {
    let mut pair = pair();
    let (first, down, _) = pair.request(b"GET", BodyKind::None);
    let second = pair.client.open().unwrap();
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    pair.client.encode_head(second, &mut head, BodyKind::None, b"http");
    pair.server.begin_shutdown();
    assert!(pair.server.announces_shutdown() && pair.server.is_open());
    pair.talk();
    assert!(pair.client.open().is_none(), "the client opens no more streams");
    let late = pair.server.poll_opened().expect("the second request");
    // The answer to the PING has arrived after it.
    assert!(!pair.server.announces_shutdown() && !pair.server.is_open());
    pair.server.begin_shutdown();
    pair.server.finish_shutdown();
    assert!(pair.server.output().is_empty(), "the last stream is named once");
    for (key, up) in [(down, first), (late, second)] {
        respond(&mut pair, key, 200, BodyKind::None);
        assert_eq!(answer(&mut pair, up).0.status(), 200);
        assert!(!pair.server.is_over());
        pair.server.release(key);
    }
    assert!(pair.server.is_over());
}

#[test]
fn a_shutdown_names_no_last_stream_at_first() {
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&frame(FrameType::Headers, END_HEADERS | END_STREAM, 1, GET), 0).unwrap();
    conn.begin_shutdown();
    conn.begin_shutdown();
    let said = drain(&mut conn);
    let kinds: Vec<_> = said.iter().map(|(header, _)| header.kind).collect();
    assert_eq!(kinds, [FrameType::GoAway, FrameType::Ping]);
    assert_eq!(said[0].1, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let other = frame(FrameType::Ping, ACK, 0, b"whatever");
    conn.handle_input(&other, 0).unwrap();
    assert!(conn.announces_shutdown(), "another PING says nothing");
    conn.handle_input(&frame(FrameType::Headers, END_HEADERS | END_STREAM, 3, GET), 0).unwrap();
    conn.handle_input(&frame(FrameType::Ping, ACK, 0, &said[1].1), 0).unwrap();
    let said = drain(&mut conn);
    assert_eq!((said.len(), &said[0].1[..]), (1, &[0, 0, 0, 3, 0, 0, 0, 0][..]));
}

#[test]
fn the_last_stream_that_is_allowed_begins_the_shutdown() {
    let mut conn = greeted(H2ConnSettings { max_total_streams: 2, ..H2ConnSettings::default() });
    for stream in [1, 3] {
        assert!(!conn.announces_shutdown());
        let request = frame(FrameType::Headers, END_HEADERS | END_STREAM, stream, GET);
        conn.handle_input(&request, 0).unwrap();
        assert!(conn.poll_opened().is_some());
    }
    assert!(conn.announces_shutdown());
}

/// Servers open no streams, so there is nothing to wait for.
#[test]
fn one_go_away_is_enough_towards_a_server() {
    let mut pair = pair();
    pair.client.begin_shutdown();
    assert_eq!(drain(&mut pair.client)[0].1, [0; 8]);
    assert!(pair.client.is_over());
}

/// RFC 9113 section 6.8: streams above the last one of a GOAWAY are ignored, but their header
/// blocks and payload count.
#[test]
fn frames_of_streams_above_the_last_goaway_stream_are_ignored() {
    let mut pair = pair();
    let (up, down, _) = pair.request(b"GET", BodyKind::None);
    pair.server.begin_shutdown();
    pair.server.finish_shutdown();
    // The peer has sent these before it received the GOAWAY.
    let block = [GET, b"\x40\x01n\x01v"].concat();
    let late = [
        frame(FrameType::Headers, END_HEADERS, 3, &block),
        frame(FrameType::Data, 0, 3, &[b'x'; 9_000]),
        frame(FrameType::WindowUpdate, 0, 3, &100u32.to_be_bytes()),
        frame(FrameType::Headers, END_HEADERS | END_STREAM, 3, b"\xbe"),
        frame(FrameType::Headers, END_HEADERS, 5, &[GET, b"\xbf"].concat()),
        frame(FrameType::RstStream, 0, 5, &ErrorCode::CANCEL.0.to_be_bytes()),
        frame(FrameType::Data, 0, 5, b"x"),
    ];
    let late = late.concat();
    assert_eq!(pair.server.handle_input(&late, 0), Ok(late.len()));
    assert_eq!(pair.server.credit.left, (1 << 20) - 1, "payload is given back");
    assert!(pair.server.poll_opened().is_none() && !pair.server.is_reset(down));
    respond(&mut pair, down, 200, BodyKind::None);
    assert_eq!(answer(&mut pair, up).0.status(), 200);
    let unknown = frame(FrameType::Data, 0, 7, b"x");
    let broken = pair.server.handle_input(&unknown, 0).map_err(|broken| broken.code);
    assert_eq!(broken, Err(ErrorCode::PROTOCOL_ERROR), "nobody has opened it");
}

#[test]
fn limits_of_the_peer_are_kept() {
    let mut settings = H2ConnSettings::default();
    settings.announced.max_concurrent_streams = Some(1);
    let mut pair = Pair::new(H2ConnSettings::default(), settings);
    let (up, down, _) = pair.request(b"GET", BodyKind::None);
    assert!(pair.client.open().is_none());
    respond(&mut pair, down, 200, BodyKind::None);
    assert!(pair.client.open().is_some(), "a stream that is closed counts no more");
    pair.client.release(up);
}

#[test]
fn a_release_in_the_middle_is_a_reset() {
    let mut pair = pair();
    let (up, down, _) = pair.request(b"POST", BodyKind::Chunked);
    respond(&mut pair, down, 200, BodyKind::None);
    pair.server.release(down);
    pair.talk();
    assert!(pair.client.is_reset(up) && !pair.client.is_refused(up));
    assert_eq!(answer(&mut pair, up).0.status(), 200, "the answer is there all the same");
    assert_eq!(pair.client.send(up, &[IoSlice::new(b"more")]), Err(StreamGone));
    let mut nothing = [0; 1];
    assert_eq!(pair.client.read(up, &mut nothing), Ok(Some(0)));
}

/// The example of RFC 6455 section 1.3.
#[test]
fn keys_of_websockets_are_answered_where_versions_meet() {
    const ACCEPT: &[u8] = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    let mut settings = H2ConnSettings::default();
    settings.announced.enable_connect_protocol = true;
    let mut pair = Pair::new(H2ConnSettings::default(), settings);
    let (key, mut head) = (pair.client.open().unwrap(), Head::default());
    head.set_request(b"GET", b"/chat", Version::Http11);
    for (name, value) in [("host", "h"), ("connection", "upgrade"), ("upgrade", "websocket")] {
        head.push(name.as_bytes(), value.as_bytes());
    }
    head.push(b"sec-websocket-key", b"dGhlIHNhbXBsZSBub25jZQ==");
    pair.client.encode_head(key, &mut head, BodyKind::None, b"http");
    pair.client.encode_end(key, None);
    pair.talk();
    let taken = pair.server.poll_opened().unwrap();
    assert!(!pair.server.has_received_all(taken), "what is sent comes behind the request");
    pair.server.handle_head(taken, &mut head).unwrap();
    let made = head.get(b"sec-websocket-key").unwrap().to_vec();
    assert_ne!(made, b"dGhlIHNhbXBsZSBub25jZQ==", "keys stay on their connection");
    let mut answered = Head::default();
    answered.set_response(Version::Http11, 101, b"Switching Protocols");
    assert!(!pair.server.is_accepted_by(taken, &answered));
    answered.push(b"sec-websocket-accept", &wire::websocket::accept(&made));
    assert!(pair.server.is_accepted_by(taken, &answered));
    pair.server.encode_head(taken, &mut answered, BodyKind::Tunnel, b"");
    pair.talk();
    let (head, _) = answer(&mut pair, key);
    assert_eq!((head.status(), head.get(b"upgrade")), (101, Some(&b"websocket"[..])));
    assert_eq!(head.get(b"sec-websocket-accept"), Some(ACCEPT));
}

#[test]
fn unsent_requests_may_be_sent_again() {
    let mut pair = pair();
    let (sent, _, _) = pair.request(b"GET", BodyKind::None);
    let (unsent, unused) = (pair.client.open().unwrap(), pair.client.open().unwrap());
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    pair.client.encode_head(unsent, &mut head, BodyKind::None, b"http");
    pair.client.handle_eof();
    assert!(pair.client.is_refused(unsent) && !pair.client.is_refused(sent));
    assert!(pair.client.is_reset(unused));
}

#[test]
fn unsent_requests_may_be_sent_again_after_a_protocol_error() {
    let mut pair = pair();
    let (sent, _, _) = pair.request(b"GET", BodyKind::None);
    let unsent = pair.client.open().unwrap();
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    pair.client.encode_head(unsent, &mut head, BodyKind::None, b"http");
    assert!(pair.client.handle_input(&frame(FrameType::PushPromise, 0, 1, &[0; 4]), 0).is_err());
    assert!(pair.client.is_refused(unsent) && !pair.client.is_refused(sent));
    let said: Vec<FrameType> = drain(&mut pair.client).iter().map(|it| it.0.kind).collect();
    assert_eq!(said, [FrameType::GoAway], "and they do not leave after all");
}

#[test]
fn requests_taken_back_from_the_output_may_be_sent_again() {
    let mut pair = pair();
    let (sent, _, _) = pair.request(b"GET", BodyKind::None);
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    let keys = [(); 2].map(|()| {
        let key = pair.client.open().unwrap();
        pair.client.encode_head(key, &mut head, BodyKind::None, b"http");
        key
    });
    let length = pair.client.output().len();
    pair.client.advance_output(length);
    pair.client.take_back(length as u64 - 1);
    pair.client.handle_eof();
    let refused = |key| pair.client.is_refused(key);
    assert_eq!((refused(sent), keys.map(refused)), (false, [false, true]));
}

#[test]
fn no_reset_is_sent_for_an_unsent_request() {
    let mut pair = pair();
    let key = pair.client.open().unwrap();
    pair.client.release(key);
    assert!(pair.client.output().is_empty());
}

#[test]
fn tasks_wait_for_the_first_settings_of_a_server() {
    let mut conn = H2Conn::new(Side::Server, H2ConnSettings::default());
    assert!(
        !conn.has_peer_settings(7) && !conn.has_peer_settings(7) && conn.take_woken().is_none()
    );
    let mut hello = Vec::new();
    let settings =
        wire::h2::Settings { enable_connect_protocol: true, ..wire::h2::Settings::default() };
    encode::settings(&settings, &mut hello);
    conn.handle_input(&hello, 0).unwrap();
    assert_eq!((conn.take_woken(), conn.take_woken()), (Some(7), None));
    assert!(conn.has_peer_settings(7) && conn.accepts_extended_connect());
    let mut gone = H2Conn::new(Side::Server, H2ConnSettings::default());
    assert!(!gone.has_peer_settings(8));
    gone.handle_eof();
    assert_eq!(gone.take_woken(), Some(8));
    assert!(gone.has_peer_settings(8) && !gone.accepts_extended_connect());
}

#[test]
fn a_reset_by_the_client_wakes_a_stream_that_waits_for_it() {
    let mut pair = pair();
    let (up, down, _) = pair.request(b"GET", BodyKind::None);
    assert!(!pair.server.want(down, Ready::RESET, 5));
    pair.client.reset(up, ErrorCode::CANCEL);
    pair.talk();
    assert_eq!(pair.server.take_woken(), Some(5));
    assert!(pair.server.want(down, Ready::RESET, 5));
}

#[test]
fn requests_are_answered_after_a_half_close() {
    let mut pair = pair();
    let (up, whole, _) = pair.request(b"GET", BodyKind::None);
    let (_, part, _) = pair.request(b"POST", BodyKind::Length(5));
    assert!(!pair.server.want(whole, Ready::RESET, 5));
    pair.server.end_input();
    assert_eq!(pair.server.take_woken(), Some(5), "some had rather know");
    assert!(pair.server.is_reset(part) && !pair.server.is_reset(whole));
    pair.server.release(part);
    assert!(!pair.server.is_over() && !pair.server.takes_input() && !pair.server.is_open());
    respond(&mut pair, whole, 200, BodyKind::Length(2));
    pair.server.encode_data(whole, 2);
    pair.server.encode_end(whole, None);
    assert_eq!(pair.server.send(whole, &[IoSlice::new(b"ok")]), Ok(2));
    pair.server.release(whole);
    assert!(!pair.server.is_over(), "the answer is still to be sent");
    pair.talk();
    assert_eq!((answer(&mut pair, up).0.status(), read_all(&mut pair.client, up).len()), (200, 2));
    assert!(pair.server.is_over());
}

#[test]
fn a_response_beyond_the_window_is_reset_after_a_half_close() {
    let mut pair = pair();
    let (_, key, _) = pair.request(b"GET", BodyKind::None);
    respond(&mut pair, key, 200, BodyKind::Chunked);
    let body = vec![b'x'; 16 * 1024];
    let fill = |pair: &mut Pair| -> Result<usize, StreamGone> {
        let mut sent = 0;
        loop {
            match pair.server.send(key, &[IoSlice::new(&body)])? {
                0 => return Ok(sent),
                count => sent += count,
            }
            let taken = pair.server.output().len();
            pair.server.advance_output(taken);
        }
    };
    assert_eq!(fill(&mut pair), Ok(65_535));
    assert!(!pair.server.want(key, Ready::WRITE, 7));
    pair.server.end_input();
    assert_eq!(pair.server.take_woken(), Some(7), "it waits for nothing");
    assert_eq!(fill(&mut pair), Err(StreamGone));
    assert!(pair.server.is_reset(key));
}

#[test]
fn a_half_close_wakes_streams_that_wait_for_connection_window() {
    let wide = wire::h2::Settings { initial_window_size: 1 << 20, ..Default::default() };
    let client = H2ConnSettings { announced: wide, ..H2ConnSettings::default() };
    let mut pair = Pair::new(client, H2ConnSettings::default());
    let keys = [1, 2].map(|_| pair.request(b"GET", BodyKind::None).1);
    for key in keys {
        respond(&mut pair, key, 200, BodyKind::Chunked);
    }
    let body = vec![b'x'; 16 * 1024];
    let mut sent = 0;
    // The streams have window, the connection has none, and no update comes.
    while let Ok(count @ 1..) = pair.server.send(keys[0], &[IoSlice::new(&body)]) {
        sent += count;
        let taken = pair.server.output().len();
        pair.server.advance_output(taken);
    }
    assert!(sent >= 65_535);
    assert_eq!(pair.server.send(keys[1], &[IoSlice::new(&body)]), Ok(0));
    for (token, key) in keys.into_iter().enumerate() {
        assert!(!pair.server.want(key, Ready::WRITE, token as u64));
    }
    pair.server.end_input();
    let mut woken: Vec<u64> = std::iter::from_fn(|| pair.server.take_woken()).collect();
    woken.sort_unstable();
    assert_eq!(woken, [0, 1]);
    for key in keys {
        assert_eq!(pair.server.send(key, &[IoSlice::new(&body)]), Err(StreamGone));
        pair.server.release(key);
    }
    assert!(pair.server.is_over());
}

#[test]
fn connections_share_spare_heads() {
    let spares = FreeList::default();
    let mut both = [pair(), pair()];
    for pair in &mut both {
        pair.server = std::mem::replace(
            &mut pair.server,
            H2Conn::new(Side::Client, H2ConnSettings::default()),
        )
        .with_free_list(&spares);
    }
    for round in 0..3 {
        for pair in &mut both {
            let (up, down, _) = pair.request(b"GET", BodyKind::None);
            assert_eq!(spares.heads(), 1, "round {round}");
            pair.server.release(down);
            pair.client.release(up);
            pair.talk();
        }
    }
}
