//! Tests of the RFC's rules about wrong frames, and of arbitrary bytes.

use super::{GET, drain, frame, greeted, read_all};
use crate::h2::{H2Conn, H2ConnSettings, Ready};
use crate::{HeadStep, Side};
use htx::{Fields, Head};
use proptest::prelude::*;
use wire::h2::frame::{ACK, END_HEADERS, END_STREAM, HEADER_LEN, PADDED, PRIORITY};
use wire::h2::{ErrorCode, FrameType, PREFACE, encode};

const WHOLE: u8 = END_HEADERS | END_STREAM;

/// Feeds frames; returns the code that ends the connection.
fn fatal(frames: &[Vec<u8>]) -> Option<ErrorCode> {
    let mut conn = greeted(H2ConnSettings::default());
    let code = frames.iter().find_map(|it| conn.handle_input(it, 0).err()).map(|it| it.code);
    if let Some(code) = code {
        let said = drain(&mut conn);
        let last = said.last().expect("GOAWAY");
        assert_eq!((last.0.kind, &last.1[4..]), (FrameType::GoAway, &code.0.to_be_bytes()[..]));
        assert!(conn.is_over());
    }
    code
}

/// Feeds frames; returns the code that ends stream 1, with no other effect.
fn resets(frames: &[Vec<u8>]) -> Option<ErrorCode> {
    let mut conn = greeted(H2ConnSettings::default());
    for bytes in frames {
        assert_eq!(conn.handle_input(bytes, 0), Ok(bytes.len()));
    }
    let said = drain(&mut conn);
    let reset = said.iter().find(|(header, _)| header.kind == FrameType::RstStream)?;
    assert_eq!(reset.0.stream, 1);
    Some(ErrorCode(u32::from_be_bytes(reset.1[..].try_into().unwrap())))
}

/// Literal fields.
fn literal(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.extend_from_slice(&[0, name.len() as u8]);
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

const AMONG_TRAILERS: [(&str, &str); 9] = [
    ("te", "trailers"),
    ("trailer", "x"),
    ("expect", "100-continue"),
    ("authorization", "Basic YTpi"),
    ("content-type", "text/html"),
    ("x-forwarded-for", "192.0.2.1"),
    ("http2-settings", "AA"),
    ("cookie", "a=b"),
    ("max-forwards", "0"),
];

/// RFC 9110 section 6.5.1: fields for framing and routing are not allowed in trailers.
#[test]
fn trailers_of_requests_neither_frame_nor_route() {
    let body = [headers(END_HEADERS, 1), frame(FrameType::Data, 0, 1, b"x")];
    let with = |fields: &[(&str, &str)]| {
        [&body[..], &[frame(FrameType::Headers, WHOLE, 1, &literal(fields))]].concat()
    };
    for field in [
        ("content-length", "1"),
        ("content-length", "5"),
        ("host", "b"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("upgrade", "h2c"),
        (":path", "/"),
    ] {
        let code = resets(&with(&[("x", "y"), field]));
        assert_eq!(code, Some(ErrorCode::PROTOCOL_ERROR), "{field:?}");
    }
    let mut conn = greeted(H2ConnSettings::default());
    for bytes in with(&[&[("x", "y")], &AMONG_TRAILERS[..]].concat()) {
        assert_eq!(conn.handle_input(&bytes, 0), Ok(bytes.len()));
    }
    let key = conn.poll_opened().unwrap();
    conn.handle_head(key, &mut Head::default()).unwrap();
    assert_eq!(read_all(&mut conn, key), b"x");
    let mut trailers = Fields::default();
    assert!(conn.handle_body(key, b"", &mut trailers).done);
    let names: Vec<_> = trailers.iter().map(|field| field.name.to_vec()).collect();
    assert_eq!(names, [b"x"]);
}

fn headers(flags: u8, stream: u32) -> Vec<u8> {
    frame(FrameType::Headers, flags, stream, GET)
}

#[test]
fn errors_that_end_the_connection() {
    let open = || headers(END_HEADERS, 1);
    let cases: &[(&[Vec<u8>], ErrorCode)] = &[
        (&[frame(FrameType::Data, 0, 0, b"")], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::Data, 0, 1, b"x")], ErrorCode::PROTOCOL_ERROR),
        (&[open(), frame(FrameType::Data, PADDED, 1, b"\x02x")], ErrorCode::PROTOCOL_ERROR),
        (&[headers(END_HEADERS, 2)], ErrorCode::PROTOCOL_ERROR),
        (&[headers(WHOLE, 5), headers(WHOLE, 3)], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::Headers, WHOLE, 1, b"\x80")], ErrorCode::COMPRESSION_ERROR),
        (&[frame(FrameType::Headers, WHOLE | PADDED, 1, b"\x09\x82")], ErrorCode::PROTOCOL_ERROR),
        (&[headers(0, 1), frame(FrameType::Ping, 0, 0, &[0; 8])], ErrorCode::PROTOCOL_ERROR),
        (&[headers(0, 1), frame(FrameType::Continuation, 0, 3, b"")], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::Continuation, 0, 1, b"")], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::RstStream, 0, 1, &[0; 4])], ErrorCode::PROTOCOL_ERROR),
        (&[open(), frame(FrameType::RstStream, 0, 1, &[0; 3])], ErrorCode::FRAME_SIZE_ERROR),
        (&[frame(FrameType::Settings, 0, 0, &[0; 5])], ErrorCode::FRAME_SIZE_ERROR),
        (&[frame(FrameType::Settings, ACK, 0, &[0; 6])], ErrorCode::FRAME_SIZE_ERROR),
        (&[frame(FrameType::Settings, 0, 1, b"")], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::Ping, 0, 0, &[0; 7])], ErrorCode::FRAME_SIZE_ERROR),
        (&[frame(FrameType::PushPromise, 0, 1, &[0; 4])], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::WindowUpdate, 0, 0, &[0; 4])], ErrorCode::PROTOCOL_ERROR),
        (
            &[frame(FrameType::WindowUpdate, 0, 0, &[0x7f, 255, 255, 255])],
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
        (&[frame(FrameType::WindowUpdate, 0, 1, &[0, 0, 0, 1])], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::Unknown(77), 0, 0, &[0; 20_000])], ErrorCode::FRAME_SIZE_ERROR),
    ];
    for (frames, code) in cases {
        assert_eq!(fatal(frames), Some(*code), "{frames:x?}");
    }
}

#[test]
fn errors_that_end_a_stream() {
    let open = || headers(END_HEADERS, 1);
    let length = [GET, b"\x0f\x0d\x012"].concat();
    let announced = || frame(FrameType::Headers, END_HEADERS, 1, &length);
    let cases: &[(&[Vec<u8>], ErrorCode)] = &[
        (&[headers(WHOLE, 1), frame(FrameType::Data, 0, 1, b"x")], ErrorCode::STREAM_CLOSED),
        (&[headers(WHOLE, 1), headers(WHOLE, 1)], ErrorCode::STREAM_CLOSED),
        (&[open(), headers(END_HEADERS, 1)], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::Headers, WHOLE, 1, b"\x82")], ErrorCode::PROTOCOL_ERROR),
        (&[open(), frame(FrameType::WindowUpdate, 0, 1, &[0; 4])], ErrorCode::PROTOCOL_ERROR),
        (
            &[open(), frame(FrameType::WindowUpdate, 0, 1, &[127, 255, 255, 255])],
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
        (&[frame(FrameType::Priority, 0, 1, &[0; 4])], ErrorCode::FRAME_SIZE_ERROR),
        (&[frame(FrameType::Priority, 0, 1, &[0, 0, 0, 1, 9])], ErrorCode::PROTOCOL_ERROR),
        (&[announced(), frame(FrameType::Data, END_STREAM, 1, b"x")], ErrorCode::PROTOCOL_ERROR),
        (&[announced(), frame(FrameType::Data, 0, 1, b"xyz")], ErrorCode::PROTOCOL_ERROR),
        (&[frame(FrameType::Headers, WHOLE, 1, &length)], ErrorCode::PROTOCOL_ERROR),
    ];
    for (frames, code) in cases {
        assert_eq!(resets(frames), Some(*code), "{frames:x?}");
    }
    let itself = [&[0, 0, 0, 1, 9][..], GET].concat();
    let frames = [frame(FrameType::Headers, WHOLE | PRIORITY, 1, &itself)];
    assert_eq!(resets(&frames), Some(ErrorCode::PROTOCOL_ERROR), "it depends on itself");
}

#[test]
fn valid_frames_are_accepted() {
    for frames in [
        vec![headers(0, 1), frame(FrameType::Continuation, END_HEADERS, 1, b"")],
        vec![headers(END_HEADERS, 1), frame(FrameType::Data, PADDED | END_STREAM, 1, b"\x02xyz")],
        vec![frame(FrameType::Unknown(200), 255, 7, b"whatever")],
        vec![frame(FrameType::Priority, 0, 9, &[0, 0, 0, 1, 9])],
        vec![frame(FrameType::Settings, 0, 0, &[0, 99, 0, 0, 0, 1])],
        vec![frame(FrameType::GoAway, 0, 0, &[0; 12])],
    ] {
        assert_eq!((fatal(&frames), resets(&frames)), (None, None), "{frames:x?}");
    }
}

#[test]
fn pings_are_answered() {
    let mut conn = greeted(H2ConnSettings::default());
    let ping = frame(FrameType::Ping, 0, 0, b"12345678");
    conn.handle_input(&ping, 0).unwrap();
    let said = drain(&mut conn);
    assert_eq!(
        (said[0].0.kind, said[0].0.flags, &said[0].1[..]),
        (FrameType::Ping, ACK, &b"12345678"[..])
    );
}

#[test]
fn another_protocol_is_noticed_at_once() {
    let mut conn = H2Conn::new(Side::Client, H2ConnSettings::default());
    assert_eq!(
        conn.handle_input(b"GET / H", 0).map_err(|it| it.code),
        Err(ErrorCode::PROTOCOL_ERROR)
    );
    let mut conn = H2Conn::new(Side::Client, H2ConnSettings::default());
    assert_eq!(conn.handle_input(PREFACE, 0), Ok(24));
    let early = frame(FrameType::Ping, 0, 0, &[0; 8]);
    assert_eq!(conn.handle_input(&early, 0).map_err(|it| it.code), Err(ErrorCode::PROTOCOL_ERROR));
}

#[test]
fn a_window_that_was_not_given_is_not_used() {
    let mut settings = H2ConnSettings::default();
    settings.announced.initial_window_size = 4;
    let mut conn = greeted(settings);
    conn.handle_input(&frame(FrameType::Settings, ACK, 0, b""), 0).unwrap();
    conn.handle_input(&headers(END_HEADERS, 1), 0).unwrap();
    conn.handle_input(&frame(FrameType::Data, 0, 1, b"12345"), 0).unwrap();
    let said = drain(&mut conn);
    let reset = said.iter().find(|(header, _)| header.kind == FrameType::RstStream).unwrap();
    assert_eq!(reset.1, ErrorCode::FLOW_CONTROL_ERROR.0.to_be_bytes());
}

/// RFC 9113 sections 6.9.2 and 6.9.3: until our settings are acknowledged, the default window
/// applies.
#[test]
fn a_smaller_window_holds_once_the_peer_knows_of_it() {
    let mut settings = H2ConnSettings::default();
    settings.announced.initial_window_size = 1_000;
    let mut conn = greeted(settings);
    conn.handle_input(&headers(END_HEADERS, 1), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    conn.handle_input(&frame(FrameType::Data, 0, 1, &[b'x'; 9_000]), 0).unwrap();
    conn.handle_input(&frame(FrameType::Settings, ACK, 0, b""), 0).unwrap();
    // Its window is negative, and its message may still end.
    conn.handle_input(&frame(FrameType::Data, END_STREAM, 1, b""), 0).unwrap();
    assert_eq!((read_all(&mut conn, key).len(), conn.is_reset(key)), (9_000, false));
    // New streams have the small window, also after they were read.
    conn.handle_input(&headers(END_HEADERS, 3), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    for _ in 0..3 {
        conn.handle_input(&frame(FrameType::Data, 0, 3, &[b'x'; 1_000]), 0).unwrap();
        assert_eq!((read_all(&mut conn, key).len(), conn.is_reset(key)), (1_000, false));
    }
    conn.handle_input(&frame(FrameType::Data, 0, 3, &[b'x'; 1_001]), 0).unwrap();
    assert!(conn.is_reset(key));
}

#[test]
fn a_request_that_can_be_answered_only() {
    let mut conn = greeted(H2ConnSettings::default());
    let bad = b"\x42\x04GET?\x86\x84\x41\x01a";
    conn.handle_input(&frame(FrameType::Headers, WHOLE, 1, bad), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    let error = conn.handle_head(key, &mut Head::default()).unwrap_err();
    assert_eq!(error.status, 400);
}

/// The encoder announces that it keeps to the smaller table of the peer's decoder.
#[test]
fn a_smaller_table_is_acknowledged_in_the_next_block() {
    let mut conn = greeted(H2ConnSettings::default());
    let mut bytes = Vec::new();
    let none = wire::h2::Settings { header_table_size: 0, ..wire::h2::Settings::default() };
    encode::settings(&none, &mut bytes);
    bytes.extend(headers(WHOLE, 1));
    conn.handle_input(&bytes, 0).unwrap();
    drain(&mut conn);
    let key = conn.poll_opened().unwrap();
    let mut head = Head::default();
    assert!(matches!(conn.handle_head(key, &mut head), Ok(HeadStep::Complete { .. })));
    head.set_response(htx::Version::Http11, 200, b"OK");
    conn.encode_head(key, &mut head, crate::BodyKind::None, b"");
    assert_eq!(drain(&mut conn)[0].1[..2], [0x20, 0x88]);
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        Just(GET.to_vec()),
        proptest::collection::vec(any::<u8>(), 0..30),
        Just(vec![0, 0, 0, 1]),
        Just(vec![0; 8]),
    ];
    (0..11u8, prop_oneof![Just(END_HEADERS), Just(WHOLE), any::<u8>()], 0..6u32, payload).prop_map(
        |(kind, flags, stream, payload)| frame(FrameType::of(kind), flags, stream, &payload),
    )
}

proptest! {
    /// The result does not depend on how bytes are split, and nothing panics or grows.
    #[test]
    fn pieces_do_not_matter(
        frames in proptest::collection::vec(any_frame(), 0..30),
        tail in proptest::collection::vec(any::<u8>(), 0..20),
        size in 1..50usize,
    ) {
        let mut bytes = frames.concat();
        bytes.extend(tail);
        let mut whole = greeted(H2ConnSettings::default());
        let result = whole.handle_input(&bytes, 0);
        let mut pieces = greeted(H2ConnSettings::default());
        let (mut kept, mut error) = (Vec::new(), None);
        for piece in bytes.chunks(size) {
            kept.extend_from_slice(piece);
            match pieces.handle_input(&kept, 0) {
                Ok(taken) => drop(kept.drain(..taken)),
                Err(broken) => {
                    error = Some(broken);
                    break;
                }
            }
        }
        prop_assert_eq!(result.err(), error);
        prop_assert_eq!(whole.output(), pieces.output());
        prop_assert_eq!(whole.streams(), pieces.streams());
        while let Some(key) = whole.poll_opened() {
            let _ = whole.handle_head(key, &mut Head::default());
            let _ = whole.read(key, &mut [0; 100]);
            whole.release(key);
        }
        prop_assert_eq!(whole.streams(), 0);
    }
}

/// A driver with unwritten output calls again and again: if that woke the stream, the two would
/// wake each other without end.
#[test]
fn only_payload_wakes_a_reading_stream() {
    let mut conn = greeted(H2ConnSettings::default());
    conn.handle_input(&frame(FrameType::Headers, END_HEADERS, 1, GET), 0).unwrap();
    let key = conn.poll_opened().unwrap();
    conn.handle_head(key, &mut Head::default()).unwrap();
    let data = frame(FrameType::Data, 0, 1, b"0123456789");
    let (begun, rest) = data.split_at(HEADER_LEN + 4);
    conn.handle_input(begun, 0).unwrap();
    assert_eq!(read_all(&mut conn, key), b"0123");
    assert!(!conn.want(key, Ready::READ, 7));
    for _ in 0..3 {
        assert_eq!(conn.handle_input(b"", 0), Ok(0));
        assert_eq!(conn.take_woken(), None);
    }
    conn.handle_input(rest, 0).unwrap();
    assert_eq!(conn.take_woken(), Some(7));
}
