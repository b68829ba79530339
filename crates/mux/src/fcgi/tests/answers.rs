//! Requests that an application answers.

use super::*;
use RecordType::{AbortRequest, BeginRequest, GetValues, Params, Stdin};

#[test]
fn a_request_is_sent_in_records_and_its_connection_reused() {
    let mut conn = FcgiConn::new(FcgiSettings::default());
    let key = conn.open().expect("free");
    assert!(conn.open().is_none(), "one request at a time");
    conn.send_params(key, Method::Post, b"\x01\x01ab").expect("small");
    assert_eq!(conn.send(key, b"abc"), Ok(3));
    conn.send_end(key);
    let begin = (BeginRequest, 1, vec![0, 1, 1, 0, 0, 0, 0, 0]);
    let expected = [
        begin,
        (Params, 1, b"\x01\x01ab".to_vec()),
        (Params, 1, vec![]),
        (Stdin, 1, b"abc".to_vec()),
        (Stdin, 1, vec![]),
    ];
    assert_eq!(sent(&mut conn), expected);
    feed(&mut conn, &[stdout(b"A: b\r\n\r\nhello"), stdout(b""), end(1, 0)]);
    assert_eq!(conn.take_woken(), Some(key));
    assert_eq!(conn.take_woken(), None);
    assert_eq!(answer(&mut conn, key), Ok((200, BodyKind::Length(5), b"hello".to_vec())));
    assert!(!conn.can_reuse());
    conn.release(key);
    assert!(conn.can_reuse() && conn.open().is_some());
}

#[test]
fn an_answer_without_keep_conn_ends_its_connection() {
    let settings = FcgiSettings { keep_conn: false, max_reqs: 8, ..FcgiSettings::default() };
    let (mut conn, key) = opened(settings);
    assert_eq!(sent(&mut conn)[0].2, [0, 1, 0, 0, 0, 0, 0, 0]);
    assert!(conn.open().is_none());
    feed(&mut conn, &[stdout(b"A: b\n\n"), end(1, 0)]);
    assert_eq!(answer(&mut conn, key), Ok((200, BodyKind::Length(0), vec![])));
    conn.release(key);
    assert!(conn.must_close() && !conn.can_reuse());
}

#[test]
fn body_kinds_follow_from_head_and_request() {
    for (method, head, ended, body) in [
        (Method::Get, "A: b\n\n", false, BodyKind::Chunked),
        (Method::Get, "A: b\n\n", true, BodyKind::Length(2)),
        (Method::Get, "Content-Length: 2\n\n", false, BodyKind::Length(2)),
        (Method::Head, "Content-Length: 2\n\n", true, BodyKind::None),
        (Method::Head, "A: b\n\n", false, BodyKind::None),
        (Method::Get, "Status: 204\n\n", false, BodyKind::None),
        (Method::Get, "Status: 304\nContent-Length: 9\n\n", true, BodyKind::None),
    ] {
        let mut conn = FcgiConn::new(FcgiSettings::default());
        let key = conn.open().expect("free");
        conn.send_params(key, method, b"").expect("small");
        conn.send_end(key);
        feed(&mut conn, &[stdout(head.as_bytes()), stdout(b"xy")]);
        if ended {
            feed(&mut conn, &[end(1, 0)]);
        }
        let (_, kind, bytes) = answer(&mut conn, key).expect(head);
        assert_eq!(kind, body, "{head}");
        assert_eq!(bytes.len(), if body == BodyKind::None { 0 } else { 2 }, "{head}");
    }
}

#[test]
fn a_body_beyond_the_output_waits_for_room() {
    let mut conn = FcgiConn::new(FcgiSettings::default());
    let key = conn.open().expect("free");
    conn.send_params(key, Method::Post, b"").expect("small");
    sent(&mut conn);
    let (body, mut at, mut received) = (vec![7; 1_000_000], 0, 0);
    while at < body.len() {
        match conn.send(key, &body[at..]).expect("alive") {
            0 => {
                assert!(conn.output().len() < 2 * send::OUTPUT);
                received +=
                    sent(&mut conn).iter().map(|(_, _, content)| content.len()).sum::<usize>();
                assert_eq!(conn.take_woken(), Some(key));
            }
            taken => at += taken,
        }
    }
    conn.send_end(key);
    let rest = sent(&mut conn);
    assert_eq!(rest.last(), Some(&(Stdin, 1, vec![])));
    received += rest.iter().map(|(_, _, content)| content.len()).sum::<usize>();
    assert_eq!(received, body.len());
}

#[test]
fn an_unread_answer_stops_the_input_at_its_window() {
    let (mut conn, key) = opened(FcgiSettings::default());
    let piece = stdout(&[b'x'; 60_000]);
    let input = [stdout(b"A: b\n\n"), piece.clone(), piece.clone(), piece].concat();
    let mut at = conn.handle_input(&input).expect("valid");
    assert!(at < input.len());
    assert_eq!(conn.handle_input(&input[at..]), Ok(0));
    let (mut head, mut total, mut buffer) = (Head::default(), 0, [0; 5_000]);
    assert!(matches!(conn.handle_head(key, &mut head), Ok(HeadStep::Complete { .. })));
    while at < input.len() || total < 180_000 {
        total += conn.read(key, &mut buffer).expect("valid").data;
        at += conn.handle_input(&input[at..]).expect("valid");
    }
    assert_eq!(total, 180_000);
}

#[test]
fn capacities_limit_requests() {
    let settings = FcgiSettings { get_values: true, max_reqs: 50, ..FcgiSettings::default() };
    for (values, limit) in [
        (&[("FCGI_MAX_REQS", "3"), ("FCGI_MPXS_CONNS", "1")][..], 3),
        (&[("FCGI_MPXS_CONNS", "1")], 50),
        (&[("FCGI_MAX_REQS", "0"), ("FCGI_MPXS_CONNS", "1")], 1),
        (&[("FCGI_MAX_REQS", "9"), ("FCGI_MPXS_CONNS", "0")], 1),
        (&[], 1),
    ] {
        let mut conn = FcgiConn::new(settings);
        assert_eq!(sent(&mut conn)[0].0, GetValues);
        assert_eq!(conn.limit(), 1, "until the application has reported");
        let mut content = Vec::new();
        for (name, value) in values {
            pairs::put(name.as_bytes(), &[value.as_bytes()], &mut content);
        }
        feed(&mut conn, &[record(RecordType::GetValuesResult, 0, &content, 7)]);
        assert_eq!(conn.limit(), limit, "{values:?}");
    }
}

#[test]
fn requests_of_one_connection_are_answered_in_any_order() {
    let settings = FcgiSettings { max_reqs: 3, ..FcgiSettings::default() };
    let mut conn = FcgiConn::new(settings);
    let keys = [(); 3].map(|()| request(&mut conn));
    assert!(conn.open().is_none());
    let out = |id, text: &str| record(RecordType::Stdout, id, text.as_bytes(), 0);
    feed(&mut conn, &[out(3, "A: b\n\n3"), out(1, "A: b\n"), out(2, "A: b\n\n2"), end(3, 0)]);
    feed(&mut conn, &[out(1, "\n1"), end(1, 0), end(2, 0)]);
    for (key, body) in keys.into_iter().zip(["1", "2", "3"]) {
        let expected = (200, BodyKind::Length(1), body.as_bytes().to_vec());
        assert_eq!(answer(&mut conn, key), Ok(expected));
        conn.release(key);
    }
    assert!(conn.can_reuse());
    sent(&mut conn);
    request(&mut conn);
    assert_eq!(sent(&mut conn)[0].1, 4, "late records of a request do not meet the next one");
}

#[test]
fn error_text_is_taken_in_lines_and_cannot_control_a_terminal() {
    let (mut conn, key) = opened(FcgiSettings::default());
    let err = |text: &[u8]| record(RecordType::Stderr, 1, text, 0);
    feed(&mut conn, &[err(b"PHP War"), stdout(b"A: b\n\nok"), err(b"ning: \x1b[2J\0\r\nlast")]);
    let mut line = Vec::new();
    assert!(conn.take_error_line(key, &mut line));
    assert_eq!(line, b"PHP Warning: ?[2J?");
    assert!(!conn.take_error_line(key, &mut line));
    feed(&mut conn, &[end(1, 0)]);
    assert!(conn.take_error_line(key, &mut line));
    assert_eq!(line, b"last");
    assert_eq!(answer(&mut conn, key).map(|it| it.2), Ok(b"ok".to_vec()));
    assert_eq!(conn.dropped_error_text(key), 0);
}

#[test]
fn a_released_request_is_aborted_and_its_connection_ends() {
    let (mut conn, key) = opened(FcgiSettings::default());
    feed(&mut conn, &[stdout(b"A: b\n\nhe")]);
    sent(&mut conn);
    conn.release(key);
    assert_eq!(sent(&mut conn), [(AbortRequest, 1, vec![])]);
    assert!(!conn.can_open() && !conn.must_close());
    feed(&mut conn, &[stdout(&[0; 60_000]), stdout(&[0; 60_000]), end(1, 0)]);
    assert!(conn.must_close());
    assert_eq!(conn.streams(), 0);
}

#[test]
fn a_request_that_only_lacks_its_end_is_not_aborted() {
    let (mut conn, key) = opened(FcgiSettings::default());
    sent(&mut conn);
    feed(&mut conn, &[stdout(b"Content-Length: 2\n\nhe")]);
    assert_eq!(answer(&mut conn, key).map(|it| it.2), Ok(b"he".to_vec()));
    conn.release(key);
    assert!(sent(&mut conn).is_empty() && !conn.can_reuse());
    feed(&mut conn, &[stdout(b""), end(1, 0)]);
    assert!(conn.can_reuse());
}

#[test]
fn an_end_before_the_whole_body_ends_the_connection() {
    let mut conn = FcgiConn::new(FcgiSettings::default());
    let key = conn.open().expect("free");
    conn.send_params(key, Method::Post, b"").expect("small");
    feed(&mut conn, &[stdout(b"Status: 413\n\n"), end(1, 0)]);
    sent(&mut conn);
    assert_eq!(conn.send(key, b"more"), Ok(4));
    conn.send_end(key);
    assert!(sent(&mut conn).is_empty(), "nothing follows the end");
    assert_eq!(answer(&mut conn, key).map(|it| it.0), Ok(413));
    conn.release(key);
    assert!(conn.must_close());
}
