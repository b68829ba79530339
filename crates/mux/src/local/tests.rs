//! Exchanges between a transaction and a service: payload both ways, bounds, ends and faults.

use super::{LocalConn, WINDOW};
use crate::{BodyKind, Eof, HeadStep, Ready, StreamGone};
use htx::{Fields, Head, Version};
use std::io::IoSlice;

fn request(method: &[u8]) -> Head {
    let mut head = Head::default();
    head.set_request(method, b"/", Version::Http11);
    head
}

fn response(length: Option<usize>) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, 200, b"OK");
    if let Some(length) = length {
        head.push(b"content-length", length.to_string().as_bytes());
    }
    head
}

fn begun(method: &[u8], body: BodyKind) -> LocalConn {
    let mut conn = LocalConn::default();
    conn.encode_head(&mut request(method), body);
    assert_eq!(conn.take_request().map(|(_, kind)| kind), Some(body));
    conn
}

fn read_head(conn: &mut LocalConn) -> BodyKind {
    match conn.handle_head(&mut Head::default()) {
        Ok(HeadStep::Complete { consumed: 0, body }) => body,
        other => panic!("{other:?}"),
    }
}

/// Reads all available payload; returns the text, and whether the response has ended.
fn read(conn: &mut LocalConn) -> (Vec<u8>, bool) {
    let (mut buffer, mut all) = ([0; 1000], Vec::new());
    loop {
        match conn.read(&mut buffer) {
            Ok(Some(0)) | Ok(None) => return (all, conn.has_received_all()),
            Ok(Some(count)) => {
                let step = conn.handle_body(&buffer[..count], &mut Fields::default());
                assert_eq!((step.skip, step.data), (0, count));
                all.extend_from_slice(&buffer[..count]);
            }
            Err(StreamGone) => panic!("the stream is gone"),
        }
    }
}

#[test]
fn a_request_reaches_the_service_with_its_body() {
    let mut conn = begun(b"POST", BodyKind::Length(3));
    assert!(!conn.service_want(Ready::READ, 7));
    conn.encode_data(3);
    assert_eq!(conn.send(&[IoSlice::new(b"ab"), IoSlice::new(b"c")]), Ok(3));
    assert_eq!((conn.take_woken(), conn.take_woken()), (Some(7), None));
    conn.encode_end();
    let mut buffer = [0; 10];
    assert_eq!(conn.receive(&mut buffer), Ok(Some(3)));
    assert_eq!(&buffer[..3], b"abc");
    assert_eq!(conn.receive(&mut buffer), Ok(Some(0)));
}

#[test]
fn a_response_with_a_length_ends_with_its_last_byte() {
    let mut conn = begun(b"GET", BodyKind::None);
    assert!(!conn.want(Ready::READ, 5));
    conn.respond(response(Some(4))).unwrap();
    assert_eq!(conn.take_woken(), Some(5));
    assert_eq!(read_head(&mut conn), BodyKind::Length(4));
    assert_eq!(conn.write(b"body and more"), Ok(13), "what exceeds the length is dropped");
    assert_eq!(read(&mut conn), (b"body".to_vec(), true));
}

#[test]
fn a_response_without_a_length_ends_with_the_service() {
    let mut conn = begun(b"GET", BodyKind::None);
    conn.respond(response(None)).unwrap();
    assert_eq!(read_head(&mut conn), BodyKind::Chunked);
    conn.write(b"some").unwrap();
    assert_eq!(read(&mut conn), (b"some".to_vec(), false));
    conn.finish(None);
    assert_eq!(conn.read(&mut [0; 10]), Ok(Some(0)));
    assert_eq!(conn.end_of(), Eof::MessageEnd);
}

#[test]
fn a_response_that_is_shorter_than_announced_is_truncated() {
    for ends in [LocalConn::fail as fn(&mut LocalConn), |conn| conn.finish(None)] {
        let mut conn = begun(b"GET", BodyKind::None);
        conn.respond(response(Some(10))).unwrap();
        read_head(&mut conn);
        conn.write(b"half").unwrap();
        ends(&mut conn);
        assert_eq!(read(&mut conn), (b"half".to_vec(), false));
        assert_eq!(conn.end_of(), Eof::Truncated);
    }
}

#[test]
fn a_service_that_ends_without_a_response_is_an_error() {
    let mut conn = begun(b"GET", BodyKind::None);
    assert!(!conn.is_readable());
    conn.fail();
    assert!(conn.is_readable());
    assert_eq!(conn.handle_head(&mut Head::default()).map_err(|error| error.status), Err(502));
}

/// The client would wait for the final response, or take the connection for a tunnel.
#[test]
fn an_interim_status_is_no_response_of_a_service() {
    for status in [100, 101, 103, 199] {
        let mut conn = begun(b"GET", BodyKind::None);
        let mut head = response(None);
        head.set_status(status);
        conn.respond(head).unwrap();
        assert_eq!(conn.handle_head(&mut Head::default()).map_err(|error| error.status), Err(502));
    }
}

#[test]
fn each_direction_holds_a_window_and_no_more() {
    let mut conn = begun(b"POST", BodyKind::Chunked);
    let bytes = vec![b'x'; WINDOW + 10];
    assert_eq!(conn.send(&[IoSlice::new(&bytes)]), Ok(WINDOW));
    assert!(!conn.want(Ready::WRITE, 3));
    assert_eq!(conn.receive(&mut [0; 100]), Ok(Some(100)));
    assert_eq!(conn.take_woken(), Some(3));
    conn.respond(response(None)).unwrap();
    read_head(&mut conn);
    assert_eq!(conn.write(&bytes), Ok(WINDOW));
    assert!(!conn.service_want(Ready::WRITE, 4));
    assert_eq!(conn.read(&mut [0; 100]), Ok(Some(100)));
    assert_eq!(conn.take_woken(), Some(4));
    assert_eq!(conn.write(&bytes), Ok(100));
}

#[test]
fn the_response_to_head_has_no_body() {
    let mut conn = begun(b"HEAD", BodyKind::None);
    conn.respond(response(Some(4))).unwrap();
    assert_eq!(read_head(&mut conn), BodyKind::None);
    assert_eq!(conn.write(b"body"), Ok(4));
    assert!(conn.has_received_all());
}

#[test]
fn a_service_learns_that_its_transaction_has_ended() {
    let mut conn = begun(b"POST", BodyKind::Chunked);
    assert!(!conn.service_want(Ready::READ, 9));
    assert!(!conn.service_want_end(9));
    conn.release();
    assert_eq!(conn.take_woken(), Some(9));
    assert!(conn.service_want_end(9));
    assert_eq!(conn.receive(&mut [0; 10]), Err(StreamGone));
    assert_eq!(conn.write(b"x"), Err(StreamGone));
    assert!(conn.respond(response(None)).is_err() && conn.is_abandoned());
}
