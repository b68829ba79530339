//! Tests of the HTTP/3 machine, against frames written by hand.

use super::{Abort, H3Conn, H3ConnSettings, H3Error, Key, Target};
use htx::{Head, Version};
use wire::h3::qpack;
use wire::h3::{H3ErrorCode, H3FrameHeader, H3FrameType, H3Settings, StreamType, encode, varint};

mod errors;
mod exchange;

/// A frame of any type.
fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode::header(H3FrameType(kind), payload.len(), &mut out);
    out.extend_from_slice(payload);
    out
}

/// A HEADERS frame.
fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    qpack::prefix(&mut section);
    for (name, value) in fields {
        let id = htx::HeaderId::from_lower(name.as_bytes());
        qpack::field(id, name.as_bytes(), value.as_bytes(), &mut section);
    }
    frame(1, &section)
}

const GET: &[(&str, &str)] =
    &[(":method", "GET"), (":scheme", "https"), (":authority", "h"), (":path", "/")];

/// A usual request with additional fields.
fn get_with(fields: &[(&str, &str)]) -> Vec<u8> {
    headers(&[GET, fields].concat())
}

/// The start of a unidirectional stream of a client.
fn stream(kind: StreamType, rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode::stream_type(kind, &mut out);
    out.extend_from_slice(rest);
    out
}

/// A connection whose client has sent its SETTINGS, and whose own output is taken.
fn greeted() -> H3Conn {
    greeted_with(H3ConnSettings::default())
}

fn greeted_with(settings: H3ConnSettings) -> H3Conn {
    let mut conn = H3Conn::new(settings);
    let mut hello = stream(StreamType::CONTROL, &[]);
    encode::settings(&H3Settings::default(), &mut hello);
    conn.receive(2, &hello).unwrap();
    drain(&mut conn);
    conn
}

/// Takes all output, with the ends of streams.
fn drain(conn: &mut H3Conn) -> Vec<(Target, Vec<u8>, bool)> {
    let mut taken = Vec::new();
    while let Some(target) = conn.poll_write() {
        let bytes = conn.output(target).to_vec();
        conn.advance(target, bytes.len());
        let end = conn.take_end(target);
        taken.push((target, bytes, end));
    }
    taken
}

/// The frames of a stream.
fn frames(mut bytes: &[u8]) -> Vec<(H3FrameType, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some((header, size)) = H3FrameHeader::decode(bytes) {
        let end = size + header.len as usize;
        found.push((header.kind, bytes[size..end].to_vec()));
        bytes = &bytes[end..];
    }
    assert!(bytes.is_empty(), "a frame is cut off");
    found
}

/// The fields of a section of ours.
fn fields(section: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    qpack::QpackDecoder::new(0)
        .decode_within(section, usize::MAX, |name, value| found.push((text(name), text(value))))
        .unwrap();
    found
}

/// Opens a request stream with these bytes.
fn request(conn: &mut H3Conn, id: u64, bytes: &[u8]) -> Result<Option<Key>, H3Error> {
    conn.open_request(id);
    conn.receive(id, bytes)?;
    Ok(conn.poll_opened())
}

fn response(status: u16, fields: &[(&str, &str)]) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, status, b"");
    fields.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
    head
}

fn read_all(conn: &mut H3Conn, key: Key) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), [0; 1_000]);
    while let Ok(Some(count @ 1..)) = conn.read(key, &mut buffer) {
        all.extend_from_slice(&buffer[..count]);
    }
    all
}

fn aborts(conn: &mut H3Conn) -> Vec<Abort> {
    std::iter::from_fn(|| conn.poll_abort()).collect()
}

fn number(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint::encode(value, &mut out);
    out
}

fn code(error: Result<impl Sized, H3Error>) -> Option<H3ErrorCode> {
    error.err().map(|error| error.code)
}
