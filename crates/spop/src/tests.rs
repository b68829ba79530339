//! Tests of frames, handshakes, payloads and connections.

use super::*;
use crate::data::put_string;
use crate::frame::{ABORT, FIN};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const ALL: Capabilities = Capabilities { fragmentation: true, pipelining: true, is_async: true };

fn settings(capabilities: Capabilities) -> SpopSettings<'static> {
    SpopSettings {
        max_frame_size: 16_380,
        capabilities,
        max_waiting: 20,
        engine_id: b"e",
        healthcheck: false,
    }
}

fn frame(kind: FrameKind, flags: u32, id: (u64, u64), payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let id = FrameId { stream: id.0, frame: id.1 };
    Frame { kind, flags, id, payload }.put(&mut out);
    out
}

fn pairs(list: &[(&str, Data<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in list {
        put_string(name.as_bytes(), &mut out);
        value.put(&mut out);
    }
    out
}

fn hello(version: &str, size: u32, capabilities: &str) -> Vec<u8> {
    let list = [
        ("version", Data::String(version.as_bytes())),
        ("max-frame-size", Data::Uint32(size)),
        ("capabilities", Data::String(capabilities.as_bytes())),
        ("other", Data::Null),
    ];
    frame(FrameKind::AgentHello, FIN, (0, 0), &pairs(&list))
}

fn open(agent: &str, size: u32) -> SpopConn {
    let mut conn = SpopConn::new(&settings(ALL));
    let input = hello("2.0", size, agent);
    let received = conn.receive(&input).expect("valid").expect("complete");
    assert!(matches!(received, (Received::Hello(_), len) if len == input.len()));
    conn.advance_output(conn.output().len());
    conn
}

/// The frames of an output.
fn frames(mut bytes: &[u8]) -> Vec<Frame<'_>> {
    let mut all = Vec::new();
    while let Some((frame, len)) = Frame::parse(bytes, u32::MAX).expect("valid") {
        all.push(frame);
        bytes = &bytes[len..];
    }
    assert!(bytes.is_empty());
    all
}

fn id(stream: u64, frame: u64) -> FrameId {
    FrameId { stream, frame }
}

#[test]
fn hello_announces_the_settings() {
    let conn = SpopConn::new(&settings(ALL));
    let expected = pairs(&[
        ("supported-versions", Data::String(b"2.0")),
        ("max-frame-size", Data::Uint32(16_380)),
        ("capabilities", Data::String(b"pipelining,async")),
        ("engine-id", Data::String(b"e")),
    ]);
    assert_eq!(conn.output(), frame(FrameKind::Hello, FIN, (0, 0), &expected));
    let check = SpopConn::new(&SpopSettings { healthcheck: true, ..settings(ALL) });
    let end = pairs(&[("healthcheck", Data::Bool(true))]);
    assert!(check.output().ends_with(&end));
}

#[test]
fn faulty_handshakes_end_with_their_status() {
    let item = |name, value| frame(FrameKind::AgentHello, FIN, (0, 0), &pairs(&[(name, value)]));
    let ack = frame(FrameKind::Ack, FIN, (1, 1), b"");
    for (input, status) in [
        (hello("1.0", 1_000, ""), Status::BadVersion),
        (hello("2.", 1_000, ""), Status::BadVersion),
        (hello("2.0", 255, ""), Status::BadFrameSize),
        (hello("2.0", 16_381, ""), Status::BadFrameSize),
        (item("max-frame-size", Data::Uint32(1_000)), Status::NoVersion),
        (item("version", Data::String(b"2.0")), Status::NoFrameSize),
        (hello("2.1", 1_000, ""), Status::BadVersion),
        (item("version", Data::Uint32(2)), Status::Invalid),
        (item("max-frame-size", Data::Int32(-1)), Status::Invalid),
        (frame(FrameKind::AgentHello, 0, (0, 0), b""), Status::Fragmentation),
        (frame(FrameKind::AgentHello, FIN, (0, 1), b""), Status::Invalid),
        (ack, Status::Invalid),
        (frame(FrameKind::Hello, FIN, (0, 0), b""), Status::Invalid),
        (vec![0, 0, 0, 7, 50, 0, 0, 0, 1, 0, 0], Status::Invalid),
        (vec![0, 0, 0, 0], Status::Invalid),
        (b"HTTP/1.1 400 Bad".to_vec(), Status::TooBig),
    ] {
        let mut conn = SpopConn::new(&settings(ALL));
        conn.advance_output(conn.output().len());
        assert_eq!(conn.receive(&input).expect_err("faulty"), status, "{input:?}");
        assert_eq!(conn.receive(&input).expect_err("closed"), status);
        assert_eq!(conn.closed(), Some(status));
        let sent = frames(conn.output());
        assert_eq!((sent.len(), sent[0].kind), (1, FrameKind::Disconnect));
        assert_eq!(conn.submit(id(1, 1), b"x"), Submission::Closed);
    }
}

#[test]
fn payloads_in_flight_are_limited_by_what_is_agreed() {
    for (agent, limit) in [("", 1), ("async", 20), ("pipelining, async", 20)] {
        let mut conn = open(agent, 1_000);
        for number in 0..limit {
            assert_eq!(conn.submit(id(number, 1), b"x"), Submission::Sent);
        }
        assert_eq!(conn.submit(id(99, 1), b"x"), Submission::Wait);
        let ack = frame(FrameKind::Ack, FIN, (limit - 1, 1), b"");
        let received = conn.receive(&ack).expect("valid").expect("complete").0;
        assert!(matches!(received, Received::Ack(it, _) if it == id(limit - 1, 1)));
        assert_eq!(conn.room(), 1);
    }
    let mut early = SpopConn::new(&settings(ALL));
    assert_eq!(early.submit(id(1, 1), b"x"), Submission::Wait);
}

#[test]
fn large_payloads_are_fragmented_only_when_agreed() {
    let payload: Vec<u8> = (0..1_000u32).map(|it| it as u8).collect();
    let mut conn = open("", 256);
    assert_eq!(conn.submit(id(1, 1), &payload), Submission::TooBig);
    assert!(conn.output().is_empty() && conn.in_flight().is_empty());
    assert_eq!(conn.submit(id(1, 2), &payload[..249]), Submission::Sent, "249 + 7 fit");

    let mut conn = open("fragmentation", 256);
    assert_eq!(conn.submit(id(1, 1), &payload), Submission::Sent);
    let sent = frames(conn.output());
    assert_eq!(sent.len(), 5);
    for (number, frame) in sent.iter().enumerate() {
        let first = number == 0;
        assert_eq!(frame.kind, if first { FrameKind::Notify } else { FrameKind::Unset });
        assert_eq!(frame.has(FIN), number == 4);
        assert_eq!(frame.id, id(1, 1));
        assert!(frame.payload.len() <= 249);
    }
    assert_eq!(sent.iter().flat_map(|frame| frame.payload.to_vec()).collect::<Vec<_>>(), payload);
}

#[test]
fn acks_of_unknown_or_forgotten_payloads_are_strays() {
    let mut conn = open("pipelining", 1_000);
    assert_eq!(conn.submit(id(1, 1), b"x"), Submission::Sent);
    assert_eq!(conn.submit(id(2, 1), b"x"), Submission::Sent);
    assert!(conn.forget(id(2, 1)));
    let ack = |id, flags| frame(FrameKind::Ack, flags, id, b"");
    for (input, answered) in [
        (ack((1, 2), FIN), false),
        (ack((2, 1), FIN), false),
        (ack((1, 1), FIN), true),
        (ack((1, 1), FIN), false),
    ] {
        let (received, _) = conn.receive(&input).expect("valid").expect("complete");
        assert_eq!(matches!(received, Received::Ack(..)), answered);
        assert_eq!(matches!(received, Received::Stray(..)), !answered);
    }
}

#[test]
fn only_fragmented_payloads_are_aborted() {
    let mut conn = open("fragmentation,pipelining", 256);
    for (number, len) in [(1, 100), (2, 1_000)] {
        assert_eq!(conn.submit(id(number, 1), &vec![7; len]), Submission::Sent);
    }
    let ack = |number| frame(FrameKind::Ack, FIN | ABORT, (number, 1), &[2, 2, 2, 1, b'a']);
    let input = ack(1);
    let Ok(Some((Received::Ack(_, actions), _))) = conn.receive(&input) else { panic!("an ACK") };
    assert_eq!(actions.count(), 1);
    assert!(matches!(conn.receive(&ack(2)), Ok(Some((Received::Aborted(_), _)))));
    assert!(conn.in_flight().is_empty());
}

#[test]
fn frames_of_unknown_types_are_skipped_once_a_connection_is_open() {
    let mut conn = open("", 1_000);
    let input = [0, 0, 0, 8, 110, 0, 0, 0, 1, 0, 0, 9];
    assert!(matches!(conn.receive(&input), Ok(Some((Received::Unknown, 12)))));
}

#[test]
fn an_agent_without_capabilities_is_taken() {
    let items = [("version", Data::String(b"2.0")), ("max-frame-size", Data::Uint32(1_000))];
    let input = frame(FrameKind::AgentHello, FIN, (0, 0), &pairs(&items));
    let mut conn = SpopConn::new(&settings(ALL));
    assert!(matches!(conn.receive(&input), Ok(Some((Received::Hello(_), _)))));
    assert_eq!(conn.agreed().map(|it| it.capabilities), Some(Capabilities::default()));
}

#[test]
fn faulty_frames_end_an_open_connection_and_name_the_payloads_that_fail() {
    let bad = |payload: &[u8]| frame(FrameKind::Ack, FIN, (1, 1), payload);
    for (input, status) in [
        (frame(FrameKind::Ack, 0, (1, 1), b""), Status::Fragmentation),
        (frame(FrameKind::Unset, FIN, (1, 1), b""), Status::Fragmentation),
        (frame(FrameKind::Notify, FIN, (1, 1), b""), Status::Invalid),
        (hello("2.0", 1_000, ""), Status::Invalid),
        (bad(&[0; 1_000]), Status::TooBig),
    ] {
        let mut conn = open("pipelining", 1_000);
        assert_eq!(conn.submit(id(1, 1), b"x"), Submission::Sent);
        assert_eq!(conn.receive(&input).expect_err("faulty"), status, "{input:?}");
        assert_eq!(conn.in_flight(), [id(1, 1)]);
        let sent = frames(conn.output());
        assert_eq!(sent.last().map(|frame| frame.kind), Some(FrameKind::Disconnect));
    }
}

#[test]
fn malformed_actions_end_the_actions() {
    let good = [2, 2, 2, 1, b'a'];
    for bad in [
        &[1, 2, 0, 1, b'a', 0][..],
        &[1, 3, 5, 1, b'a', 0],
        &[1, 3, 0, 9, b'a', 0],
        &[1, 3, 0, 1, b'a', 15],
        &[1, 3, 0, 1, b'a', 8, 0xff, 0xff, 0xff],
        &[1],
        &[2, 2, 0, 1, b'a', 2, 2],
    ] {
        let payload = [&good[..], bad].concat();
        let mut conn = open("pipelining", 1_000);
        assert_eq!(conn.submit(id(1, 1), b"x"), Submission::Sent);
        let input = frame(FrameKind::Ack, FIN, (1, 1), &payload);
        let Ok(Some((Received::Ack(_, actions), _))) = conn.receive(&input) else {
            panic!("an ACK: {bad:?}")
        };
        assert_eq!(actions.bytes(), payload);
        let whole = actions.map_while(Result::ok).count();
        assert!(whole >= 1 && conn.closed().is_none(), "{bad:?}");
    }
}

#[test]
fn actions_are_read_in_order_and_unknown_ones_end_them() {
    let mut payload = vec![1, 3, 2];
    put_string(b"score", &mut payload);
    Data::Int32(-7).put(&mut payload);
    payload.extend_from_slice(&[2, 2, 4]);
    put_string(b"old", &mut payload);
    payload.extend_from_slice(&[77, 1, 9, 9, 9]);
    let all: Vec<_> = Actions::new(&payload).collect();
    let set = Action::Set { scope: Scope::Transaction, name: b"score", value: Data::Int32(-7) };
    let unset = Action::Unset { scope: Scope::Response, name: b"old" };
    assert_eq!(all, [Ok(set), Ok(unset)]);
    assert_eq!(Actions::new(&[]).count(), 0);
}

#[test]
fn disconnects_of_agents_are_read() {
    let list = [("status-code", Data::Uint32(3)), ("message", Data::String(b"big"))];
    let input = frame(FrameKind::AgentDisconnect, FIN, (0, 0), &pairs(&list));
    let mut conn = open("", 1_000);
    let received = conn.receive(&input).expect("valid").expect("complete").0;
    let expected = Disconnect { status: Status::TooBig, message: b"big" };
    assert!(matches!(received, Received::Disconnect(it) if it == expected));
    assert_eq!(conn.closed(), Some(Status::TooBig));
    let faulty = frame(FrameKind::AgentDisconnect, FIN, (0, 0), &pairs(&list[..1]));
    assert_eq!(open("", 1_000).receive(&faulty).expect_err("no message"), Status::Invalid);
    assert_eq!(Status::of(98), Status::Unknown);
    let mut conn = open("", 1_000);
    conn.handle_eof();
    assert_eq!(conn.closed(), Some(Status::Io));
}

#[test]
fn messages_hold_at_most_255_arguments() {
    let mut writer = MessageWriter::default();
    assert!(!writer.argument(b"x", Data::Null), "no message yet");
    writer.message(b"m");
    for _ in 0..255 {
        assert!(writer.argument(b"", Data::Null));
    }
    assert!(!writer.argument(b"", Data::Null));
    assert_eq!(writer.payload()[..3], [1, b'm', 255]);
    assert_eq!(writer.payload().len(), 3 + 2 * 255);
    writer.clear();
    assert!(writer.payload().is_empty() && !writer.argument(b"", Data::Null));
}

#[test]
fn numbers_out_of_the_range_of_their_type_are_refused() {
    for (kind, value, fits) in [
        (2, u64::MAX, true),
        (2, 0xffff_ffff, true),
        (2, 1 << 32, false),
        (3, 0xffff_ffff, true),
        (3, 1 << 32, false),
        (4, u64::MAX, true),
    ] {
        let mut bytes = vec![kind];
        stdx::varint::put(&mut bytes, value);
        assert_eq!(Data::take(&mut &bytes[..]).is_ok(), fits, "{kind} {value}");
    }
    for bytes in [&[][..], &[3], &[6, 1, 2, 3], &[7; 16], &[8, 4, 1, 2, 3], &[10], &[5, 0xff, 0xff]]
    {
        assert!(Data::take(&mut &bytes[..]).is_err(), "{bytes:?}");
    }
}

fn value() -> impl Strategy<Value = (u8, u64, Vec<u8>)> {
    (0u8..10, any::<u64>(), proptest::collection::vec(any::<u8>(), 0..300))
}

fn typed((kind, number, bytes): &(u8, u64, Vec<u8>)) -> Data<'_> {
    let number = *number;
    match kind {
        0 => Data::Null,
        1 => Data::Bool(number & 1 == 0),
        2 => Data::Int32(number as i32),
        3 => Data::Uint32(number as u32),
        4 => Data::Int64(number as i64),
        5 => Data::Uint64(number),
        6 => Data::Ipv4(Ipv4Addr::from_bits(number as u32)),
        7 => Data::Ipv6(Ipv6Addr::from_bits(u128::from(number) << 31)),
        8 => Data::String(bytes),
        _ => Data::Binary(bytes),
    }
}

proptest! {
    #[test]
    fn values_come_back(value in value()) {
        let data = typed(&value);
        let mut bytes = Vec::new();
        data.put(&mut bytes);
        for end in 0..bytes.len() {
            prop_assert!(Data::take(&mut &bytes[..end]).is_err());
        }
        bytes.push(7);
        let mut rest = &bytes[..];
        prop_assert_eq!(Data::take(&mut rest), Ok(data));
        prop_assert_eq!(rest, [7]);
    }

    #[test]
    fn frames_come_back(kind in 0u8..7, flags in 0u32.., stream in any::<u64>(), number in any::<u64>(), payload in proptest::collection::vec(any::<u8>(), 0..300)) {
        let kind = [FrameKind::Unset, FrameKind::Hello, FrameKind::Disconnect, FrameKind::Notify,
            FrameKind::AgentHello, FrameKind::AgentDisconnect, FrameKind::Ack][usize::from(kind)];
        let bytes = frame(kind, flags, (stream, number), &payload);
        let expected = Frame { kind, flags, id: id(stream, number), payload: &payload };
        prop_assert_eq!(Frame::parse(&bytes, 1_000), Ok(Some((expected, bytes.len()))));
        prop_assert_eq!(bytes.len(), 4 + Frame::overhead(expected.id) + payload.len());
        for end in 0..bytes.len() {
            prop_assert_eq!(Frame::parse(&bytes[..end], 1_000), Ok(None));
        }
    }

    #[test]
    fn fragments_never_exceed_the_agreed_size(len in 0usize..3_000, max in 256u32..1_000, stream in any::<u64>()) {
        let (payload, mut out) = (vec![1; len], Vec::new());
        notify::put(&payload, id(stream, 1), max, &mut out);
        let all = frames(&out);
        prop_assert_eq!(all.len(), notify::frames(len, id(stream, 1), max));
        let mut sum = 0;
        for frame in all {
            prop_assert!(Frame::overhead(frame.id) + frame.payload.len() <= max as usize);
            sum += frame.payload.len();
        }
        prop_assert_eq!(sum, len);
    }
}
