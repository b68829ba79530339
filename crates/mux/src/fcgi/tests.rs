//! Tests of connections to FastCGI applications, and of parameters.

use super::*;
use crate::{BodyKind, MessageError};
use htx::{Head, Method, Version};
use wire::fcgi::{Pairs, RecordHeader, RecordType, pairs, record::HEADER_LEN};

mod answers;
mod hostile;
mod parameters;

/// A record, with padding that the application has not cleared.
fn record(kind: RecordType, request: u16, content: &[u8], padding: u8) -> Vec<u8> {
    let len = content.len() as u16;
    let header = RecordHeader { kind, request, len, padding };
    [&header.bytes()[..], content, &vec![0xa5; padding.into()]].concat()
}

fn stdout(content: &[u8]) -> Vec<u8> {
    record(RecordType::Stdout, 1, content, 3)
}

fn end(request: u16, status: u8) -> Vec<u8> {
    record(RecordType::EndRequest, request, &[0, 0, 0, 0, status, 0, 0, 0], 0)
}

fn opened(settings: FcgiSettings) -> (FcgiConn, Key) {
    let mut conn = FcgiConn::new(settings);
    let key = request(&mut conn);
    (conn, key)
}

fn request(conn: &mut FcgiConn) -> Key {
    let key = conn.open().expect("a free id");
    conn.send_params(key, Method::Get, b"\x01\x01ab").expect("small");
    conn.send_end(key);
    key
}

fn feed(conn: &mut FcgiConn, parts: &[Vec<u8>]) {
    let input = parts.concat();
    assert_eq!(conn.handle_input(&input), Ok(input.len()));
}

/// Head, kind of body, and body of an answer that is there.
fn answer(conn: &mut FcgiConn, key: Key) -> Result<(u16, BodyKind, Vec<u8>), MessageError> {
    let mut head = Head::default();
    let HeadStep::Complete { body, .. } = conn.handle_head(key, &mut head)? else {
        return Ok((0, BodyKind::None, Vec::new()));
    };
    let (mut bytes, mut buffer) = (Vec::new(), [0; 100]);
    loop {
        let step = conn.read(key, &mut buffer)?;
        bytes.extend_from_slice(&buffer[..step.data]);
        if step.done || step.data == 0 {
            return Ok((head.status(), body, bytes));
        }
    }
}

/// The records of the output.
fn sent(conn: &mut FcgiConn) -> Vec<(RecordType, u16, Vec<u8>)> {
    let (mut rest, mut records) = (conn.output(), Vec::new());
    while let Some(header) = RecordHeader::parse(rest).expect("version 1") {
        let end = HEADER_LEN + usize::from(header.len);
        records.push((header.kind, header.request, rest[HEADER_LEN..end].to_vec()));
        rest = &rest[end..];
    }
    assert!(rest.is_empty());
    conn.advance_output(conn.output().len());
    records
}
