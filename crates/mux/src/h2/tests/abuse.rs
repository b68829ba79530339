//! Tests of flood detection: the price of each frame, and honest use that goes unpunished.

use super::{GET, drain, frame, greeted};
use crate::h2::flood::{FloodLimits, TurnLimits, cost};
use crate::h2::{H2Conn, H2ConnSettings};
use htx::{Head, Version};
use std::io::IoSlice;
use wire::h2::frame::{ACK, END_HEADERS, END_STREAM};
use wire::h2::{ErrorCode, FrameType, encode};

const WHOLE: u8 = END_HEADERS | END_STREAM;

/// Repeats frames until the connection ends; returns the number of times and the error code.
fn repeat(conn: &mut H2Conn, mut frames: impl FnMut(u32) -> Vec<u8>) -> (u32, ErrorCode) {
    for round in 0..1_000_000 {
        let bytes = frames(round);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match conn.handle_input(rest, 0) {
                Ok(0) => panic!("it waits for ever in round {round}"),
                Ok(taken) => rest = &rest[taken..],
                Err(broken) => return (round, broken.code),
            }
            while let Some(key) = conn.poll_opened() {
                conn.release(key);
            }
            drain(conn);
        }
        assert!(conn.streams() <= 200, "streams are bounded");
    }
    panic!("nobody has ended it");
}

fn calm(frames: impl FnMut(u32) -> Vec<u8>, price: u32) {
    calm_on(greeted(H2ConnSettings::default()), frames, price);
}

fn calm_on(mut conn: H2Conn, frames: impl FnMut(u32) -> Vec<u8>, price: u32) {
    let (rounds, code) = repeat(&mut conn, frames);
    assert_eq!(code, ErrorCode::ENHANCE_YOUR_CALM);
    let allowed = FloodLimits::default().points / price;
    assert!(rounds <= allowed, "{rounds} rounds, {allowed} allowed");
}

#[test]
fn rapid_reset() {
    let reset = |round| {
        let stream = 2 * round + 1;
        let cancel = frame(FrameType::RstStream, 0, stream, &ErrorCode::CANCEL.0.to_be_bytes());
        [frame(FrameType::Headers, WHOLE, stream, GET), cancel].concat()
    };
    calm(reset, cost::EARLY_RESET);
}

/// Takes a request, then cancels it at a time; `None`: the connection continues.
fn cancel(conn: &mut H2Conn, stream: u32, now_ms: u64) -> Option<ErrorCode> {
    let request = frame(FrameType::Headers, WHOLE, stream, GET);
    let reset = frame(FrameType::RstStream, 0, stream, &ErrorCode::CANCEL.0.to_be_bytes());
    if let Err(broken) = conn.handle_input(&request, now_ms) {
        return Some(broken.code);
    }
    let key = conn.poll_opened().unwrap();
    conn.handle_head(key, &mut Head::default()).unwrap();
    let ended = conn.handle_input(&reset, now_ms).err();
    conn.release(key);
    drain(conn);
    ended.map(|broken| broken.code)
}

/// Browsers cancel requests that a scrolled page no longer needs: some dozens per second, or
/// hundreds at once.
#[test]
fn cancelled_requests_do_not_end_the_connection() {
    for per_second in [30, 100, 300, 1_000] {
        let mut conn = greeted(H2ConnSettings::default());
        for round in 0..60 * per_second {
            let now = u64::from(round) * 1_000 / u64::from(per_second);
            let ended = cancel(&mut conn, 2 * round + 1, now);
            assert_eq!(ended, None, "{per_second} per second, after {now} ms");
        }
        assert_eq!(conn.glitches(), 0, "cancels are no glitches");
    }
    let mut conn = greeted(H2ConnSettings::default());
    assert!((0..10_000).all(|round| cancel(&mut conn, 2 * round + 1, 0).is_none()));
    assert_eq!(cancel(&mut conn, 20_001, 0), Some(ErrorCode::ENHANCE_YOUR_CALM), "there is an end");
}

/// A busy thread may see a request and its reset together.
#[test]
fn some_resets_that_come_with_their_requests_do_not_end_the_connection() {
    let mut conn = greeted(H2ConnSettings::default());
    for round in 0..30 * 60 {
        let stream = 2 * round + 1;
        let reset = frame(FrameType::RstStream, 0, stream, &ErrorCode::CANCEL.0.to_be_bytes());
        let both = [frame(FrameType::Headers, WHOLE, stream, GET), reset].concat();
        assert_eq!(conn.handle_input(&both, u64::from(round) * 1_000 / 30), Ok(both.len()));
        let key = conn.poll_opened().unwrap();
        conn.release(key);
        drain(&mut conn);
    }
    assert_eq!(conn.glitches(), 1_800);
}

/// An empty DATA frame on an open stream.
fn with_empty_data(settings: H2ConnSettings) -> (H2Conn, Vec<u8>) {
    let mut conn = greeted(settings);
    conn.handle_input(&frame(FrameType::Headers, END_HEADERS, 1, GET), 0).unwrap();
    (conn, frame(FrameType::Data, 0, 1, b""))
}

#[test]
fn glitches_end_the_connection_at_their_threshold() {
    let settings = H2ConnSettings { glitches_threshold: Some(5), ..H2ConnSettings::default() };
    let (mut conn, empty) = with_empty_data(settings);
    for count in 1..5 {
        assert_eq!(conn.handle_input(&empty, 0), Ok(empty.len()));
        assert_eq!(conn.glitches(), count);
    }
    let ended = conn.handle_input(&empty, 0).map_err(|broken| broken.code);
    assert_eq!(ended, Err(ErrorCode::ENHANCE_YOUR_CALM));
}

#[test]
fn a_threshold_of_zero_allows_all_glitches() {
    let settings = H2ConnSettings { glitches_threshold: Some(0), ..H2ConnSettings::default() };
    let (mut conn, empty) = with_empty_data(settings);
    for _ in 0..10_000 {
        assert_eq!(conn.handle_input(&empty, 0), Ok(empty.len()));
    }
    // A frame that is no glitch still costs points.
    calm_on(conn, |_| frame(FrameType::Ping, 0, 0, &[0; 8]), cost::PING);
}

#[test]
fn glitches_do_not_end_connections_while_floods_are_tolerated() {
    for glitches_threshold in [None, Some(5)] {
        let (mut conn, empty) =
            with_empty_data(H2ConnSettings { glitches_threshold, ..H2ConnSettings::default() });
        conn.set_flood_tolerance(true);
        for _ in 0..10_000 {
            assert_eq!(conn.handle_input(&empty, 0), Ok(empty.len()));
        }
        conn.set_flood_tolerance(false);
        assert!(conn.handle_input(&empty, 0).is_err(), "{glitches_threshold:?}");
    }
}

/// Frames that every peer may send are no glitches, at any cost.
#[test]
fn ordinary_frames_are_no_glitches() {
    let settings = H2ConnSettings { glitches_threshold: Some(1), ..H2ConnSettings::default() };
    let mut conn = greeted(settings);
    let stream = |kind, flags, payload: &[u8]| frame(kind, flags, 1, payload);
    let whole = |kind, payload: &[u8]| frame(kind, 0, 0, payload);
    let bytes = [
        frame(FrameType::Settings, ACK, 0, b""),
        whole(FrameType::Settings, b"\0\x04\0\0\xff\xff"),
        stream(FrameType::Priority, 0, &[0, 0, 0, 3, 1]),
        whole(FrameType::Unknown(0x0b), b"grease"),
        stream(FrameType::Headers, 0, GET),
        stream(FrameType::Continuation, END_HEADERS, b"\x00\x01a\x01b"),
        whole(FrameType::Ping, &[0; 8]),
        stream(FrameType::Data, END_STREAM, b"x"),
        stream(FrameType::WindowUpdate, 0, &100u32.to_be_bytes()),
    ];
    conn.handle_input(&bytes.concat(), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    conn.handle_head(key, &mut Head::default()).unwrap();
    conn.handle_input(&stream(FrameType::RstStream, 0, &[0, 0, 0, 8]), 0).unwrap();
    conn.release(key);
    // The frames have crossed the end of their stream.
    let late = [
        stream(FrameType::RstStream, 0, &[0, 0, 0, 8]),
        stream(FrameType::WindowUpdate, 0, &100u32.to_be_bytes()),
        whole(FrameType::GoAway, &[0; 8]),
    ];
    conn.handle_input(&late.concat(), 0).unwrap();
    assert_eq!((conn.glitches(), conn.broken()), (0, None));
}

#[test]
fn a_turn_takes_so_many_frames_and_resets() {
    let ping = frame(FrameType::Ping, 0, 0, &[0; 8]);
    let reset = frame(FrameType::RstStream, 0, 1, &[0, 0, 0, 8]);
    for (at_once, word, most) in [
        (TurnLimits { frames: 3, resets: 0 }, &ping, 3),
        (TurnLimits { frames: 0, resets: 2 }, &reset, 2),
    ] {
        let mut conn =
            greeted(H2ConnSettings { turn_limits: at_once, ..H2ConnSettings::default() });
        conn.begin_turn();
        conn.handle_input(&frame(FrameType::Headers, WHOLE, 1, GET), 0).unwrap();
        conn.begin_turn();
        let many = word.repeat(10);
        assert_eq!(conn.handle_input(&many, 0), Ok(most * word.len()));
        assert!(conn.turn_limit_reached());
        conn.begin_turn();
        assert_eq!(conn.handle_input(&many, 0), Ok(most * word.len()));
    }
}

/// Completed requests earn points for some that are cancelled.
#[test]
fn honest_cancels_are_paid_for() {
    let mut conn = greeted(H2ConnSettings::default());
    for round in 0..5_000 {
        let stream = 4 * round + 1;
        let (one, two) = (frame(FrameType::Headers, WHOLE, stream, GET), stream + 2);
        let cancel = frame(FrameType::RstStream, 0, two, &ErrorCode::CANCEL.0.to_be_bytes());
        let bytes = [one, frame(FrameType::Headers, WHOLE, two, GET), cancel].concat();
        assert_eq!(conn.handle_input(&bytes, 0), Ok(bytes.len()));
        while let Some(key) = conn.poll_opened() {
            let mut head = Head::default();
            head.set_response(Version::Http11, 200, b"OK");
            conn.encode_head(key, &mut head, crate::BodyKind::None, b"");
            conn.release(key);
        }
        drain(&mut conn);
    }
}

#[test]
fn pings() {
    calm(|_| frame(FrameType::Ping, 0, 0, &[0; 8]), cost::PING);
}

/// grpc-go measures the round trip as often as DATA comes, and returns every byte of window at
/// once.
#[test]
fn a_ping_and_two_updates_go_free_with_payload() {
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&frame(FrameType::Headers, END_HEADERS, 1, GET), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    let mut head = Head::default();
    head.set_response(Version::Http11, 200, b"OK");
    conn.encode_head(key, &mut head, crate::BodyKind::Chunked, b"");
    let update = |stream| frame(FrameType::WindowUpdate, 0, stream, &10u32.to_be_bytes());
    let words = [frame(FrameType::Ping, 0, 0, &[0; 8]), update(0), update(1)].concat();
    // A minute with a message every 5 ms, in alternating directions.
    for round in 0..12_000 {
        if round % 2 == 0 {
            conn.encode_data(key, 10);
            assert_eq!(conn.send(key, &[IoSlice::new(&[b'x'; 10])]), Ok(10));
        } else {
            conn.handle_input(&frame(FrameType::Data, 0, 1, &[b'x'; 10]), 5 * round).unwrap();
            assert_eq!(conn.read(key, &mut [0; 20]), Ok(Some(10)));
        }
        assert_eq!(conn.handle_input(&words, 5 * round), Ok(words.len()));
        drain(&mut conn);
    }
    // Without payload, the frames cost points.
    calm_on(conn, |_| frame(FrameType::Ping, 0, 0, &[0; 8]), cost::PING);
}

#[test]
fn settings() {
    calm(|_| frame(FrameType::Settings, 0, 0, b""), cost::SETTINGS);
}

#[test]
fn empty_frames() {
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&frame(FrameType::Headers, END_HEADERS, 1, GET), 0).unwrap();
    conn.poll_opened();
    let (rounds, code) = repeat(&mut conn, |_| frame(FrameType::Data, 0, 1, b""));
    assert_eq!((code, rounds), (ErrorCode::ENHANCE_YOUR_CALM, 2_000 / cost::EMPTY));
}

#[test]
fn continuations() {
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&frame(FrameType::Headers, 0, 1, GET), 0).unwrap();
    let (rounds, code) =
        repeat(&mut conn, |_| frame(FrameType::Continuation, 0, 1, b"\x00\x01a\x01b"));
    assert_eq!((code, rounds), (ErrorCode::ENHANCE_YOUR_CALM, 2_000 / cost::CONTINUATION));
    // Large ones are bounded by their size.
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&frame(FrameType::Headers, 0, 1, GET), 0).unwrap();
    let (rounds, code) = repeat(&mut conn, |_| frame(FrameType::Continuation, 0, 1, &[0; 16_000]));
    assert_eq!((code, rounds), (ErrorCode::ENHANCE_YOUR_CALM, 2));
}

#[test]
fn priorities_and_unknown_frames() {
    calm(|_| frame(FrameType::Priority, 0, 1, &[0, 0, 0, 3, 1]), cost::IGNORED);
    calm(|_| frame(FrameType::Unknown(99), 0, 0, b"x"), cost::IGNORED);
}

#[test]
fn malformed_requests() {
    let bad = |round| frame(FrameType::Headers, WHOLE, 2 * round + 1, b"\x82");
    calm(bad, cost::STREAM_ERROR);
}

#[test]
fn streams_beyond_the_limit() {
    let mut settings = H2ConnSettings::default();
    settings.announced.max_concurrent_streams = Some(1);
    let mut conn = greeted(settings);
    let mut refused = 0;
    for round in 0.. {
        let bytes = frame(FrameType::Headers, WHOLE, 2 * round + 1, GET);
        match conn.handle_input(&bytes, 0) {
            Ok(taken) => assert_eq!(taken, bytes.len()),
            Err(broken) => {
                assert_eq!(broken.code, ErrorCode::ENHANCE_YOUR_CALM);
                break;
            }
        }
        let said = drain(&mut conn);
        refused +=
            said.iter().filter(|it| it.1 == ErrorCode::REFUSED_STREAM.0.to_be_bytes()).count();
        assert_eq!(conn.streams(), 1);
    }
    assert_eq!(refused, 2_000 / cost::STREAM_ERROR as usize);
}

/// Resets free the peer's limit before our side has released the streams: input waits meanwhile.
#[test]
fn streams_that_linger() {
    let mut settings = H2ConnSettings::default();
    settings.announced.max_concurrent_streams = Some(2);
    let mut conn = greeted(settings);
    let mut bytes = Vec::new();
    for stream in [1, 3, 5, 7, 9, 11] {
        bytes.extend(frame(FrameType::Headers, WHOLE, stream, GET));
        bytes.extend(frame(FrameType::RstStream, 0, stream, &[0, 0, 0, 8]));
    }
    let taken = conn.handle_input(&bytes, 0).unwrap();
    assert!(taken < bytes.len() && !conn.takes_input());
    assert_eq!(conn.streams(), 4);
    let key = conn.poll_opened().unwrap();
    conn.release(key);
    assert!(conn.takes_input(), "one is gone, one more may come");
}

/// A request whose block adds a field of 4,000 bytes to the table and refers to it `times` times.
fn bomb(stream: u32, times: usize) -> Vec<u8> {
    let mut block = GET.to_vec();
    block.extend_from_slice(b"\x40\x01n\x7f\xa1\x1e");
    block.extend_from_slice(&[b'v'; 4_000]);
    block.resize(block.len() + times, 0xbe);
    frame(FrameType::Headers, WHOLE, stream, &block)
}

/// Opens another stream, whose header list is too large.
fn refused(conn: &mut H2Conn) {
    let key = conn.poll_opened().unwrap();
    let mut head = Head::default();
    assert_eq!(conn.handle_head(key, &mut head).map_err(|error| error.status), Err(400));
    assert!(head.is_empty());
    conn.release(key);
}

/// A list that is too large is answered, and the table stays in step: other streams are not
/// affected.
#[test]
fn one_list_too_large() {
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&bomb(1, 10), 0).unwrap();
    refused(&mut conn);
    // `GET` adds a table entry, too.
    let again = [GET, b"\xbf"].concat();
    conn.handle_input(&frame(FrameType::Headers, WHOLE, 3, &again), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    let mut head = Head::default();
    assert!(conn.handle_head(key, &mut head).is_ok());
    let kept = head.fields().any(|field| field.name == b"n" && field.value.len() == 4_000);
    assert!(kept, "the table has what the refused list has put there");
    assert!(conn.take_counters().glitches > 0);
}

/// A block that decodes to far more than the limit is not decoded to its end; it ends the
/// connection at once.
#[test]
fn header_bombs() {
    let calm = Err(ErrorCode::ENHANCE_YOUR_CALM);
    let mut conn = greeted(H2ConnSettings::default());
    let large = conn.handle_input(&bomb(1, 12_000), 0);
    assert_eq!(large.map_err(|broken| broken.code), calm);
    // Many small fields: the overhead per field counts as well.
    let mut conn = greeted(H2ConnSettings::default());
    let block = [GET, &[0x83; 4_000]].concat();
    let many = conn.handle_input(&frame(FrameType::Headers, WHOLE, 1, &block), 0);
    assert_eq!(many.map_err(|broken| broken.code), calm);
    // A list on a stream that is already closed.
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&frame(FrameType::Headers, WHOLE, 1, GET), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    conn.reset(key, ErrorCode::CANCEL);
    let late = conn.handle_input(&bomb(1, 12_000), 0);
    assert_eq!(late.map_err(|broken| broken.code), calm);
}

/// A peer that keeps sending lists that are too large loses the connection.
#[test]
fn lists_too_large() {
    let fields = b"\x00\x01a\x01b".repeat(300);
    let many = |round| frame(FrameType::Headers, WHOLE, 2 * round + 1, &[GET, &fields].concat());
    calm(many, cost::LIST_TOO_LARGE);
    calm(|round| bomb(2 * round + 1, 10), cost::LIST_TOO_LARGE);
}

#[test]
fn tiny_windows() {
    let mut conn = greeted(H2ConnSettings::default());
    let mut bytes = Vec::new();
    let tiny = wire::h2::Settings { initial_window_size: 1, ..wire::h2::Settings::default() };
    encode::settings(&tiny, &mut bytes);
    bytes.extend(frame(FrameType::Headers, WHOLE, 1, GET));
    conn.handle_input(&bytes, 0).unwrap();
    let key = conn.poll_opened().unwrap();
    let mut head = Head::default();
    head.set_response(Version::Http11, 200, b"OK");
    conn.encode_head(key, &mut head, crate::BodyKind::Chunked, b"");
    conn.encode_data(key, 1 << 20);
    let body = [0; 1_000];
    let mut frames = 0;
    let code = loop {
        if conn.send(key, &[IoSlice::new(&body)]).is_ok_and(|count| count > 0) {
            frames += 1;
        }
        drain(&mut conn);
        if let Err(broken) =
            conn.handle_input(&frame(FrameType::WindowUpdate, 0, 1, &[0, 0, 0, 1]), 0)
        {
            break broken.code;
        }
    };
    assert_eq!(code, ErrorCode::ENHANCE_YOUR_CALM);
    assert!(frames <= 2_000);
}

/// A peer that asks and does not read is not answered without bound.
#[test]
fn output_is_bounded() {
    let patience = FloodLimits { points: u32::MAX, ..FloodLimits::default() };
    let mut conn = greeted(H2ConnSettings { flood_limits: patience, ..H2ConnSettings::default() });
    let pings = frame(FrameType::Ping, 0, 0, &[0; 8]).repeat(1_000);
    let mut stopped = false;
    for _ in 0..100 {
        stopped |= conn.handle_input(&pings, 0).unwrap() < pings.len();
    }
    assert!(stopped && conn.output().len() <= 130 * 1_024, "{}", conn.output().len());
}

/// Frames about closed streams cost points.
#[test]
fn frames_about_closed_streams() {
    let request = frame(FrameType::Headers, WHOLE, 1, GET);
    let reset = frame(FrameType::RstStream, 0, 1, &ErrorCode::CANCEL.0.to_be_bytes());
    let widen = frame(FrameType::WindowUpdate, 0, 1, &100u32.to_be_bytes());
    let leave = frame(FrameType::GoAway, 0, 0, &[0; 8]);
    let answer = frame(FrameType::Settings, ACK, 0, b"");
    let drip = frame(FrameType::WindowUpdate, 0, 0, &1u32.to_be_bytes());
    for word in [reset, widen, leave, answer.clone(), drip] {
        let mut conn = greeted(H2ConnSettings::default());
        // Our SETTINGS are acknowledged once.
        assert_eq!(conn.handle_input(&answer, 0), Ok(answer.len()));
        assert_eq!(conn.handle_input(&request, 0), Ok(request.len()));
        let key = conn.poll_opened().unwrap();
        conn.release(key);
        calm_on(conn, |_| word.clone(), cost::IGNORED);
    }
}

/// Payload sent before its sender knew of a reset is dropped, however long ago that was.
#[test]
fn late_payload_of_forgotten_streams() {
    let mut conn = greeted(H2ConnSettings::default());
    for round in 0..150 {
        // `:path` without a leading slash: the stream is reset.
        let bad = frame(FrameType::Headers, END_HEADERS, 2 * round + 1, b"\x82\x86\x04\x01a");
        assert_eq!(conn.handle_input(&bad, 0), Ok(bad.len()));
    }
    let late = frame(FrameType::Data, 0, 1, b"late");
    assert_eq!(conn.handle_input(&late, 0), Ok(late.len()));
}
