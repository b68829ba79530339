//! Tests of peers that break the protocol.

use super::*;
use crate::{Ready, StreamGone};
use htx::{Fields, Head};
use proptest::prelude::*;

#[test]
fn frames_in_a_wrong_place_end_the_connection() {
    let on_request = |bytes: &[u8]| code(request(&mut greeted(), 0, bytes));
    let get = get_with(&[]);
    let unexpected = Some(H3ErrorCode::FRAME_UNEXPECTED);
    assert_eq!(on_request(&frame(0, b"x")), unexpected);
    for kind in [2, 3, 4, 5, 6, 7, 8, 9, 0xd, 0xf_0700, 0xf_0701] {
        assert_eq!(on_request(&[&get[..], &frame(kind, b"")].concat()), unexpected, "{kind:#x}");
    }
    let trailers = headers(&[("x", "y")]);
    for more in [frame(0, b"x"), trailers.clone()] {
        assert_eq!(on_request(&[&get[..], &trailers, &more].concat()), unexpected);
    }
    let connect = headers(&[(":method", "CONNECT"), (":authority", "h:1")]);
    assert_eq!(on_request(&[&connect[..], &trailers].concat()), unexpected);
    assert_eq!(on_request(&frame(1, b"")), Some(H3ErrorCode::QPACK_DECOMPRESSION_FAILED));
}

#[test]
fn a_stream_that_ends_in_a_frame_ends_the_connection() {
    let get = get_with(&[]);
    for bytes in [&get[..get.len() - 1], &get[..1], &[&get[..], &[0, 5, b'x']].concat()] {
        let mut conn = greeted();
        request(&mut conn, 0, bytes).unwrap();
        assert_eq!(code(conn.finish(0)), Some(H3ErrorCode::FRAME_ERROR));
        assert!(conn.is_over());
    }
}

#[test]
fn control_streams_are_checked() {
    let settings = frame(4, &[]);
    let control = |frames: &[u8]| {
        let mut conn = H3Conn::new(H3ConnSettings::default());
        code(conn.receive(2, &stream(StreamType::CONTROL, frames)))
    };
    assert_eq!(control(&frame(7, &[0])), Some(H3ErrorCode::MISSING_SETTINGS));
    assert_eq!(control(&frame(0x21, &[0])), Some(H3ErrorCode::MISSING_SETTINGS));
    let after = |more: &[&[u8]]| control(&[&settings[..], &more.concat()].concat());
    assert_eq!(after(&[&frame(0x21, &[0; 100]), &frame(7, &[0])]), None);
    for kind in [0, 1, 2, 4, 5, 6, 8, 9] {
        let error = after(&[&frame(kind, &[])]);
        assert_eq!(error, Some(H3ErrorCode::FRAME_UNEXPECTED), "{kind}");
    }
    for kind in [3, 7, 0xd, 0xf_0700] {
        assert_eq!(after(&[&frame(kind, &[])]), Some(H3ErrorCode::FRAME_ERROR), "{kind}");
    }
    let id_error = Some(H3ErrorCode::ID_ERROR);
    assert_eq!(after(&[&frame(7, &[4]), &frame(7, &[8])]), id_error);
    assert_eq!(after(&[&frame(0xd, &[4]), &frame(0xd, &[3])]), id_error);
    assert_eq!(after(&[&frame(3, &[0])]), id_error);
    assert_eq!(after(&[&frame(0xd, &[4]), &frame(3, &[4])]), None);
    assert_eq!(after(&[&frame(0xf_0700, &[2])]), id_error);
    assert_eq!(after(&[&frame(0xf_0700, b"\x04u=1")]), None);
    assert_eq!(control(&frame(4, &[2, 0])), Some(H3ErrorCode::SETTINGS_ERROR));
    assert_eq!(control(&frame(4, &[0; 5_000])), Some(H3ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn critical_streams_are_unique_and_stay_open() {
    let closed = Some(H3ErrorCode::CLOSED_CRITICAL_STREAM);
    for kind in [StreamType::CONTROL, StreamType::QPACK_ENCODER, StreamType::QPACK_DECODER] {
        let mut conn = H3Conn::new(H3ConnSettings::default());
        conn.receive(2, &stream(kind, &[])).unwrap();
        let again = conn.receive(6, &stream(kind, &[]));
        assert_eq!(code(again), Some(H3ErrorCode::STREAM_CREATION_ERROR));
        for ends in [H3Conn::finish, H3Conn::receive_reset] {
            let mut conn = H3Conn::new(H3ConnSettings::default());
            conn.receive(2, &stream(kind, &[])).unwrap();
            assert_eq!(code(ends(&mut conn, 2)), closed);
        }
    }
    assert_eq!(code(greeted().receive_stop(3)), closed);
    let pushed = greeted().receive(6, &stream(StreamType::PUSH, &[]));
    assert_eq!(code(pushed), Some(H3ErrorCode::STREAM_CREATION_ERROR));
}

#[test]
fn streams_of_unknown_types_are_not_read() {
    let mut conn = greeted();
    conn.receive(6, &[0x40]).unwrap();
    conn.receive(6, &[0x21, 1, 2, 3]).unwrap();
    let stop = aborts(&mut conn);
    assert_eq!((stop.len(), stop[0].stream, stop[0].sends), (1, 6, false));
    assert_eq!(conn.peer_streams.len(), 1);
}

#[test]
fn decoder_instructions_are_cancellations_only() {
    let decoder = |bytes: &[u8]| {
        let bytes = stream(StreamType::QPACK_DECODER, bytes);
        code(greeted().receive(6, &bytes))
    };
    assert_eq!(decoder(&[0x40, 0x7f, 0xff, 0x80, 0x01, 0x41]), None);
    for byte in [0x80, 0x00, 0x01] {
        assert_eq!(decoder(&[byte]), Some(H3ErrorCode::QPACK_DECODER_STREAM_ERROR));
    }
    let bytes = stream(StreamType::QPACK_ENCODER, &[0xff; 3]);
    let error = code(greeted().receive(6, &bytes));
    assert_eq!(error, None, "an index may go on");
    let bytes = stream(StreamType::QPACK_ENCODER, &[0xc0, 0x01, b'a']);
    let error = code(greeted().receive(6, &bytes));
    assert_eq!(error, Some(H3ErrorCode::QPACK_ENCODER_STREAM_ERROR));
}

#[test]
fn malformed_requests_are_reset_and_reach_no_server() {
    let two_hosts = get_with(&[("host", "other")]);
    let no_host = headers(&[(":method", "GET"), (":scheme", "https"), (":path", "/")]);
    for bytes in [
        get_with(&[("Upper", "x")]),
        get_with(&[("connection", "close")]),
        get_with(&[("transfer-encoding", "chunked")]),
        get_with(&[("te", "gzip")]),
        get_with(&[("x", "a\nb")]),
        get_with(&[("x y", "z")]),
        get_with(&[(":path", "/")]),
        get_with(&[("content-length", "1"), ("content-length", "2")]),
        headers(&[("x", "y")]),
        two_hosts,
        no_host,
    ] {
        let mut conn = greeted();
        assert_eq!(request(&mut conn, 0, &bytes).unwrap(), None);
        let reset = aborts(&mut conn);
        assert_eq!((reset.len(), reset[0].code), (1, H3ErrorCode::MESSAGE_ERROR));
        assert!(conn.requests.is_empty() && conn.streams() == 0);
        assert_eq!((conn.counters.stream_errors, conn.counters.refused), (1, 1));
        // The next request is served.
        assert!(request(&mut conn, 4, &get_with(&[("host", "h:443")])).unwrap().is_some());
    }
}

/// RFC 9110 section 6.5.1: fields for framing and routing are not allowed in trailers.
#[test]
fn trailers_of_requests_neither_frame_nor_route() {
    let with = |fields: &[(&str, &str)]| {
        let mut conn = greeted();
        let key = request(&mut conn, 0, &[&get_with(&[])[..], &frame(0, b"x")].concat());
        conn.receive(0, &headers(fields)).unwrap();
        conn.finish(0).unwrap();
        (conn, key.unwrap().unwrap())
    };
    for field in [
        ("content-length", "1"),
        ("content-length", "5"),
        ("host", "b"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("upgrade", "h2c"),
        (":path", "/"),
        ("x", "a\nb"),
    ] {
        let (mut conn, _) = with(&[("x", "y"), field]);
        let reset = aborts(&mut conn);
        assert_eq!((reset.len(), reset[0].code), (1, H3ErrorCode::MESSAGE_ERROR), "{field:?}");
    }
    let dropped = [("te", "trailers"), ("expect", "100-continue"), ("cookie", "a=b")];
    let (mut conn, key) = with(&[&[("x", "y")], &dropped[..]].concat());
    conn.handle_head(key, &mut Head::default()).unwrap();
    assert_eq!(read_all(&mut conn, key), b"x");
    let mut trailers = Fields::default();
    assert!(conn.handle_body(key, b"", &mut trailers).done);
    let names: Vec<_> = trailers.iter().map(|field| field.name.to_vec()).collect();
    assert_eq!(names, [b"x"]);
}

/// As in HTTP/1 and HTTP/2: bytes that other readers of the message take for another host or path.
#[test]
fn hosts_are_of_valid_bytes() {
    for host in
        ["a/b", "a?b", "a#b", "a@b", "a\\b", "a,b", "[a", "a b", "a\tb", "a\x7fb", "a\u{80}", ""]
    {
        let list = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", "/")];
        let mut conn = greeted();
        let key = request(&mut conn, 0, &headers(&list)).unwrap();
        let refused = key.is_none_or(|key| conn.handle_head(key, &mut Head::default()).is_err());
        assert!(refused, "{host:?}");
    }
}

/// No stream becomes a connection in which requests follow.
#[test]
fn extended_connects_to_http_are_refused() {
    for protocol in ["h2c", "H2", "HTTP", "h3"] {
        let mut conn = greeted();
        let list = [
            (":method", "CONNECT"),
            (":protocol", protocol),
            (":scheme", "https"),
            (":authority", "h"),
            (":path", "/"),
        ];
        let key = request(&mut conn, 0, &headers(&list)).unwrap().unwrap();
        let error = conn.handle_head(key, &mut Head::default()).unwrap_err();
        assert_eq!(error.status, 501, "{protocol}");
    }
}

#[test]
fn bodies_have_the_announced_length() {
    for (length, payload, ends) in [("3", &b"abcd"[..], false), ("3", b"ab", true)] {
        let mut conn = greeted();
        let key = request(&mut conn, 0, &get_with(&[("content-length", length)])).unwrap().unwrap();
        conn.receive(0, &frame(0, payload)).unwrap();
        if ends {
            conn.finish(0).unwrap();
        }
        assert!(conn.is_malformed(key));
        assert_eq!(aborts(&mut conn)[0].code, H3ErrorCode::MESSAGE_ERROR);
    }
    let mut conn = greeted();
    request(&mut conn, 0, &[]).unwrap();
    conn.finish(0).unwrap();
    assert_eq!(aborts(&mut conn)[0].code, H3ErrorCode::REQUEST_INCOMPLETE);
    assert!(conn.requests.is_empty());
}

#[test]
fn header_lists_that_are_too_large_are_refused_with_their_request() {
    let (large, huge) = ("x".repeat(20_000), "x".repeat(40_000));
    for value in [large.as_str(), huge.as_str()] {
        let mut conn = greeted();
        let bytes = get_with(&[("x", value)]);
        conn.open_request(0);
        bytes.chunks(1_000).for_each(|piece| conn.receive(0, piece).unwrap());
        let key = conn.poll_opened().unwrap();
        let error = conn.handle_head(key, &mut Head::default()).unwrap_err();
        assert_eq!(error.status, 400);
        let held = conn.requests.get(key).unwrap().held.len();
        assert!(held == 0, "{held}");
        assert!(request(&mut conn, 4, &get_with(&[])).unwrap().is_some());
    }
    // A few bytes that decode to a megabyte.
    let mut section = [0, 0].to_vec();
    section.extend_from_slice(&[0xd1; 30_000]);
    let mut conn = greeted();
    let key = request(&mut conn, 0, &frame(1, &section)).unwrap().unwrap();
    assert_eq!(conn.handle_head(key, &mut Head::default()).unwrap_err().status, 400);
}

#[test]
fn floods_end_the_connection() {
    let settings = H3ConnSettings { max_idle_frames: 20, ..H3ConnSettings::default() };
    let excessive = Some(H3ErrorCode::EXCESSIVE_LOAD);
    let get = get_with(&[]);
    for idle in [frame(0, b""), frame(0x21, b"x")] {
        let mut conn = greeted_with(settings);
        let bytes = [get.clone(), idle.repeat(20)].concat();
        request(&mut conn, 0, &bytes).unwrap();
        assert_eq!(code(conn.receive(0, &idle)), excessive);
    }
    let mut conn = greeted_with(settings);
    let mut end = Ok(());
    for id in (0..100).map(|n| 4 * n) {
        end = request(&mut conn, id, &get).map(drop).and_then(|()| conn.receive_reset(id));
        if end.is_err() {
            break;
        }
    }
    assert_eq!(code(end), excessive);
    let mut conn = greeted_with(settings);
    let updates = frame(0xf_0700, &[4]).repeat(21);
    assert_eq!(code(conn.receive(2, &updates)), excessive);
}

#[test]
fn blocked_sections_are_limited() {
    let mut conn = greeted();
    for id in (0..16).map(|n| 4 * n) {
        assert_eq!(request(&mut conn, id, &frame(1, &[2, 0, 0x80])).unwrap(), None);
    }
    let error = request(&mut conn, 64, &frame(1, &[2, 0, 0x80]));
    assert_eq!(code(error), Some(H3ErrorCode::QPACK_DECOMPRESSION_FAILED));
}

#[test]
fn a_client_that_stops_or_resets_cancels_its_request() {
    for cancels in [H3Conn::receive_reset, H3Conn::receive_stop] {
        let mut conn = greeted();
        let key = request(&mut conn, 0, &get_with(&[])).unwrap().unwrap();
        assert!(!conn.want(key, Ready::RESET, 5));
        cancels(&mut conn, 0).unwrap();
        assert_eq!(conn.take_woken(), Some(5));
        assert_eq!(conn.read(key, &mut [0; 1]), Err(StreamGone));
        assert!(!conn.is_malformed(key) && !conn.is_lost(key));
        assert!(aborts(&mut conn)[0].sends);
        conn.release(key);
        assert!(conn.requests.is_empty());
    }
}

proptest! {
    #[test]
    fn arbitrary_streams_never_panic(
        steps in proptest::collection::vec(
            (0..12u64, proptest::collection::vec(any::<u8>(), 0..40), 0..12u8), 0..60),
    ) {
        let mut conn = H3Conn::new(H3ConnSettings::default());
        let mut opened = std::collections::HashSet::new();
        let mut keys = Vec::new();
        for (id, bytes, step) in steps {
            if id % 4 == 0 && opened.insert(id) {
                conn.open_request(id);
            }
            let bytes = if step % 3 == 0 { get_with(&[]) } else { bytes };
            let _ = match step {
                0..8 if conn.room(id) > 0 => conn.receive(id, &bytes),
                8 => conn.finish(id),
                9 => conn.receive_reset(id),
                10 => conn.receive_stop(id),
                _ => Ok(()),
            };
            keys.extend(conn.poll_opened());
            if let Some(key) = keys.last().copied().filter(|_| step == 11) {
                conn.release(key);
            }
            drain(&mut conn);
            prop_assert_eq!(conn.pending, 0);
        }
        keys.into_iter().for_each(|key| conn.release(key));
        while let Some(key) = conn.poll_opened() {
            conn.release(key);
        }
        prop_assert_eq!(conn.streams(), conn.requests.in_use);
    }
}
