//! Applications that break the protocol, lie or close.

use super::*;
use conn::MAX_QUIET;
use proptest::prelude::*;

#[test]
fn answers_without_valid_head_fail() {
    for text in ["", "\n", "\r\n\r\n", "\n\nbody", "A: b\n", "A", "A: \0\n\n", "no field\n\n"] {
        let (mut conn, key) = opened(FcgiSettings::default());
        feed(&mut conn, &[stdout(text.as_bytes()), end(1, 0)]);
        assert_eq!(answer(&mut conn, key).map_err(|error| error.status), Err(502), "{text:?}");
        conn.release(key);
        assert!(conn.can_reuse(), "the records are valid: {text:?}");
    }
}

#[test]
fn refusals_fail_at_once() {
    for (status, expected) in [(1, 503), (2, 503), (3, 502), (4, 502), (255, 502)] {
        let (mut conn, key) = opened(FcgiSettings::default());
        feed(&mut conn, &[end(1, status)]);
        assert!(conn.is_refused(key));
        assert_eq!(answer(&mut conn, key).map_err(|error| error.status), Err(expected));
        assert!(conn.send(key, b"x").is_err());
    }
}

#[test]
fn lengths_that_lie_are_found() {
    for (text, body) in [("Content-Length: 3\n\nxy", None), ("Content-Length: 1\n\nxy", Some("x"))]
    {
        let (mut conn, key) = opened(FcgiSettings::default());
        feed(&mut conn, &[stdout(text.as_bytes())]);
        let early = answer(&mut conn, key);
        feed(&mut conn, &[end(1, 0)]);
        match body {
            Some(body) => assert_eq!(early.map(|it| it.2), Ok(body.as_bytes().to_vec())),
            None => assert!(conn.read(key, &mut [0; 9]).is_err()),
        }
        assert_eq!(conn.has_excess(key), body.is_some());
        let (mut conn, key) = opened(FcgiSettings::default());
        feed(&mut conn, &[stdout(text.as_bytes()), end(1, 0)]);
        assert_eq!(answer(&mut conn, key).is_ok(), body.is_some(), "{text}");
    }
    for value in ["x", "-1", "1\nContent-Length: 2", "99999999999999999999", "1, 1", "01"] {
        let (mut conn, key) = opened(FcgiSettings::default());
        feed(&mut conn, &[stdout(format!("Content-Length: {value}\n\nx").as_bytes())]);
        assert!(answer(&mut conn, key).is_err(), "{value}");
    }
}

#[test]
fn a_connection_that_closes_cuts_answers_off() {
    for (text, delivered) in [("", None), ("A: b\n", None), ("A: b\n\nxy", Some("xy"))] {
        let (mut conn, key) = opened(FcgiSettings::default());
        feed(
            &mut conn,
            &[stdout(text.as_bytes()).into_iter().collect()]
                .map(|it: Vec<u8>| if text.is_empty() { Vec::new() } else { it }),
        );
        conn.handle_eof();
        assert_eq!(conn.take_woken(), Some(key));
        let mut head = Head::default();
        let step = conn.handle_head(key, &mut head);
        match delivered {
            None => assert_eq!(step.map_err(|error| error.status), Err(502)),
            Some(body) => {
                let mut buffer = [0; 9];
                let read = conn.read(key, &mut buffer).expect("received");
                assert_eq!((read.done, &buffer[..read.data]), (false, body.as_bytes()));
                assert!(conn.read(key, &mut buffer).is_err());
            }
        }
        conn.release(key);
        assert!(conn.must_close());
    }
}

#[test]
fn records_that_break_the_protocol_end_the_connection() {
    let of = |kind, id, content: &[u8]| record(kind, id, content, 0);
    for (bad, expected) in [
        (b"HTTP/1.1 200 OK\r\n".to_vec(), FcgiError::Version),
        (of(RecordType::Stdout, 0, b"x"), FcgiError::NullRequest),
        (of(RecordType::Stderr, 0, b"x"), FcgiError::NullRequest),
        (end(0, 0), FcgiError::NullRequest),
        (of(RecordType::EndRequest, 1, b"x"), FcgiError::Length),
        (of(RecordType::EndRequest, 1, &[0; 9]), FcgiError::Length),
        (of(RecordType::BeginRequest, 1, &[0; 8]), FcgiError::Direction),
        (of(RecordType::Stdin, 1, b""), FcgiError::Direction),
        (of(RecordType::GetValuesResult, 0, &[9]), FcgiError::Values),
        (of(RecordType::GetValuesResult, 0, &[0; 2_000]), FcgiError::Length),
    ] {
        let settings = FcgiSettings { get_values: true, ..FcgiSettings::default() };
        let (mut conn, key) = opened(settings);
        assert_eq!(conn.handle_input(&bad), Err(expected));
        assert_eq!(conn.handle_input(b""), Err(expected));
        assert!(conn.must_close() && conn.open().is_none());
        assert_eq!(answer(&mut conn, key).map_err(|error| error.reason), Err(expected.text()));
        conn.release(key);
        assert!(conn.output().is_empty());
    }
}

#[test]
fn records_of_no_request_prevent_reuse_and_reach_no_other_request() {
    for stray in [stdout(b"A: b\n\nstolen"), end(1, 0), record(RecordType::Stderr, 1, b"x", 0)] {
        let (mut conn, key) = opened(FcgiSettings::default());
        feed(&mut conn, &[stdout(b"A: b\n\nmine"), end(1, 0), stray.clone()]);
        assert_eq!(answer(&mut conn, key).map(|it| it.2), Ok(b"mine".to_vec()));
        conn.release(key);
        assert!(conn.must_close(), "before the release");

        let (mut conn, key) = opened(FcgiSettings::default());
        feed(&mut conn, &[stdout(b"A: b\n\nmine"), end(1, 0)]);
        conn.release(key);
        feed(&mut conn, &[stray]);
        assert!(conn.must_close() && conn.open().is_none(), "after the release");
    }
}

#[test]
fn an_answer_that_continues_after_its_end_fails_alone() {
    let settings = FcgiSettings { max_reqs: 2, ..FcgiSettings::default() };
    let (mut conn, one) = opened(settings);
    let two = request(&mut conn);
    let out = |text: &str| record(RecordType::Stdout, 2, text.as_bytes(), 0);
    feed(&mut conn, &[stdout(b"A: b\n\nx"), stdout(b""), stdout(b"y"), out("A: b\n\nz")]);
    assert!(answer(&mut conn, one).is_err());
    feed(&mut conn, &[end(2, 0)]);
    assert_eq!(answer(&mut conn, two).map(|it| it.2), Ok(b"z".to_vec()));
}

#[test]
fn output_before_the_request_is_refused() {
    let mut conn = FcgiConn::new(FcgiSettings::default());
    let key = conn.open().expect("free");
    feed(&mut conn, &[stdout(b"A: b\n\nstolen")]);
    assert!(answer(&mut conn, key).is_err());
    assert!(!conn.can_open());
}

#[test]
fn records_without_effect_are_limited() {
    let unknown = RecordType::Other(77);
    for quiet in [
        record(unknown, 0, b"", 0),
        record(unknown, 1, b"x", 255),
        record(RecordType::UnknownType, 0, &[0; 8], 0),
        record(RecordType::Stderr, 1, b"", 255),
        record(RecordType::Stdout, 900, b"x", 0),
        end(900, 0),
        record(RecordType::GetValuesResult, 0, b"", 0),
    ] {
        let (mut conn, _) = opened(FcgiSettings::default());
        let allowed = quiet.repeat(MAX_QUIET as usize);
        assert_eq!(conn.handle_input(&allowed), Ok(allowed.len()));
        assert_eq!(conn.handle_input(&quiet), Err(FcgiError::Flood));
    }
}

#[test]
fn error_text_without_reader_is_bounded() {
    let (mut conn, key) = opened(FcgiSettings::default());
    for _ in 0..100 {
        feed(&mut conn, &[record(RecordType::Stderr, 1, &[b'e'; 60_000], 0)]);
    }
    let mut line = Vec::new();
    assert!(conn.take_error_line(key, &mut line));
    assert_eq!(line.len(), stderr::CAPACITY);
    assert_eq!(conn.dropped_error_text(key), 6_000_000 - stderr::CAPACITY as u64);
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    const TEXTS: &[&str] =
        &["A: b\n\nbody", "", "Status: 404\r\n", "\r\n", "Content-Length: 3\n\n", "x"];
    let text = proptest::sample::select(TEXTS).prop_map(str::as_bytes);
    let piece = prop_oneof![
        6 => (text, 1u16..4, 0u8..9, 6u8..8).prop_map(|(text, id, padding, kind)|
            record(RecordType::of(kind), id, text, padding)),
        2 => (0u16..4, 0u8..4).prop_map(|(id, status)| end(id, status)),
        1 => (0u8..14, 0u16..3, 0u8..).prop_map(|(kind, id, padding)|
            record(RecordType::of(kind), id, &[0; 8], padding)),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|all| all.concat())
}

type Outcome = (Vec<Result<(u16, Vec<u8>), u16>>, Option<FcgiError>, bool);

fn outcome(input: &[u8], step: usize) -> Outcome {
    let settings = FcgiSettings { max_reqs: 2, ..FcgiSettings::default() };
    let (mut conn, one) = opened(settings);
    let keys = [one, request(&mut conn)];
    let (mut kept, mut error) = (Vec::new(), None);
    for piece in input.chunks(step) {
        kept.extend_from_slice(piece);
        match conn.handle_input(&kept) {
            Ok(taken) => drop(kept.drain(..taken)),
            Err(it) => error = Some(it),
        }
    }
    conn.handle_eof();
    let answers =
        keys.map(|key| answer(&mut conn, key).map(|it| (it.0, it.2)).map_err(|error| error.status));
    keys.iter().for_each(|key| conn.release(*key));
    assert_eq!(conn.streams(), 0);
    (answers.to_vec(), error, conn.must_close())
}

proptest! {
    #[test]
    fn segmentation_does_not_matter(input in pieces(), step in 1usize..20) {
        prop_assert_eq!(outcome(&input, usize::MAX), outcome(&input, step));
    }
}
