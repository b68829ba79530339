//! Exchanges between a caller and a transaction: payload both ways, bounds, ends and faults.

use super::CallConn;
use crate::pipe::WINDOW;
use crate::{BodyKind, Eof, HeadStep, Ready, StreamGone};
use htx::{Head, Version};
use std::io::IoSlice;

fn request(method: &[u8]) -> Head {
    let mut head = Head::default();
    head.set_request_target(method, b"http", b"a.test", b"/", Version::Http11);
    head
}

fn response(status: u16) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, status, b"x");
    head
}

fn begun(method: &[u8], body: BodyKind) -> CallConn {
    let mut conn = CallConn::new(request(method), body);
    let mut head = Head::default();
    assert_eq!(conn.handle_head(&mut head), HeadStep::Complete { consumed: 0, body });
    assert_eq!(head.method(), method);
    conn
}

#[test]
fn a_request_reaches_the_transaction_with_its_body() {
    let mut conn = begun(b"POST", BodyKind::Chunked);
    assert!(!conn.want(Ready::READ, 7));
    assert_eq!(conn.write(b"abc"), Ok(3));
    assert_eq!((conn.take_woken(), conn.take_woken()), (Some(7), None));
    let mut buffer = [0; 10];
    assert_eq!(conn.read(&mut buffer), Ok(Some(3)));
    assert!(!conn.handle_body(&buffer[..3]).done);
    assert_eq!(conn.read(&mut buffer), Ok(None));
    conn.finish();
    assert_eq!(conn.read(&mut buffer), Ok(Some(0)));
    assert_eq!(conn.end_of(), Eof::MessageEnd);
}

#[test]
fn a_request_with_a_length_is_complete_with_its_last_byte() {
    let mut conn = begun(b"POST", BodyKind::Length(3));
    conn.write(b"abc").unwrap();
    let mut buffer = [0; 10];
    assert_eq!(conn.read(&mut buffer), Ok(Some(3)));
    assert!(conn.handle_body(&buffer[..3]).done && conn.has_received_all());
    let short = begun(b"POST", BodyKind::Length(3));
    assert_eq!(short.end_of(), Eof::Truncated);
}

#[test]
fn the_caller_reads_the_response_to_its_end() {
    let mut conn = begun(b"GET", BodyKind::None);
    assert!(conn.has_received_all() && !conn.caller_want(Ready::READ, 5));
    assert_eq!(conn.encode_head(&response(100), BodyKind::None), BodyKind::None);
    assert_eq!(conn.take_response().map(|it| it.is_some()), Ok(false), "it is interim");
    assert_eq!(conn.encode_head(&response(200), BodyKind::Chunked), BodyKind::Chunked);
    assert_eq!(conn.take_woken(), Some(5));
    let (head, body) = conn.take_response().unwrap().unwrap();
    assert_eq!((head.status(), body), (200, BodyKind::Chunked));
    conn.encode_data(4);
    conn.encode_end();
    let mut buffer = [0; 10];
    assert_eq!(conn.receive(&mut buffer), Ok(None), "announced is not sent");
    assert_eq!(conn.send(&[IoSlice::new(b"bo"), IoSlice::new(b"dy")]), Ok(4));
    conn.release();
    assert_eq!(conn.receive(&mut buffer), Ok(Some(4)));
    assert_eq!(conn.receive(&mut buffer), Ok(Some(0)));
}

#[test]
fn a_response_without_its_end_is_truncated() {
    let mut conn = begun(b"GET", BodyKind::None);
    conn.encode_head(&response(200), BodyKind::Length(10));
    conn.encode_data(10);
    conn.send(&[IoSlice::new(b"half")]).unwrap();
    conn.release();
    let mut buffer = [0; 10];
    assert_eq!(conn.receive(&mut buffer), Ok(Some(4)));
    assert_eq!(conn.receive(&mut buffer), Err(StreamGone));
}

#[test]
fn a_transaction_that_ends_without_a_response_is_an_error() {
    let mut conn = begun(b"POST", BodyKind::Chunked);
    assert_eq!(conn.take_response().map(|it| it.is_some()), Ok(false));
    conn.reset();
    assert!(conn.take_response().is_err() && conn.write(b"x").is_err());
}

#[test]
fn responses_to_head_and_without_content_have_no_body() {
    let mut conn = begun(b"HEAD", BodyKind::None);
    assert_eq!(conn.encode_head(&response(200), BodyKind::Length(4)), BodyKind::None);
    let mut conn = begun(b"GET", BodyKind::None);
    assert_eq!(conn.encode_head(&response(304), BodyKind::Chunked), BodyKind::None);
    conn.encode_end();
    assert_eq!(conn.receive(&mut [0; 10]), Ok(Some(0)));
}

#[test]
fn each_direction_holds_a_window_and_no_more() {
    let mut conn = begun(b"POST", BodyKind::Chunked);
    let bytes = vec![b'x'; WINDOW + 10];
    assert_eq!(conn.write(&bytes), Ok(WINDOW));
    assert!(!conn.caller_want(Ready::WRITE, 3));
    assert_eq!(conn.read(&mut [0; 100]), Ok(Some(100)));
    assert_eq!(conn.take_woken(), Some(3));
    conn.encode_head(&response(200), BodyKind::Chunked);
    assert_eq!(conn.send(&[IoSlice::new(&bytes)]), Ok(WINDOW));
    assert!(!conn.want(Ready::WRITE, 4));
    assert_eq!(conn.receive(&mut [0; 100]), Ok(Some(100)));
    assert_eq!(conn.take_woken(), Some(4));
}

#[test]
fn the_transaction_learns_that_its_caller_has_ended() {
    let mut conn = begun(b"POST", BodyKind::Chunked);
    assert!(!conn.want(Ready::RESET, 9));
    conn.cancel();
    assert_eq!(conn.take_woken(), Some(9));
    assert!(conn.is_reset() && conn.is_readable());
    assert_eq!(conn.read(&mut [0; 10]), Err(StreamGone));
    assert_eq!(conn.send(&[IoSlice::new(b"x")]), Err(StreamGone));
}
