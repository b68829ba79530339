//! Writes frames and the field sections of messages. The mux has checked states before.

use super::frame::{H3FrameType, StreamType};
use super::settings::H3Settings;
use super::{qpack, varint};
use crate::h2::fields;
use crate::sink::Sink;
use htx::{Fields, Head};

/// The header of a frame; `len` bytes of payload follow.
#[inline]
pub fn header(kind: H3FrameType, len: usize, out: &mut impl Sink) {
    varint::encode(kind.0, out);
    varint::encode(len as u64, out);
}

/// The type at the front of a unidirectional stream.
pub fn stream_type(kind: StreamType, out: &mut impl Sink) {
    varint::encode(kind.0, out);
}

/// SETTINGS.
pub fn settings(settings: &H3Settings, out: &mut impl Sink) {
    let mut payload = Vec::with_capacity(32);
    settings.encode(&mut payload);
    header(H3FrameType::SETTINGS, payload.len(), out);
    out.put(&payload);
}

/// GOAWAY: requests from this stream on were not processed.
pub fn go_away(stream: u64, out: &mut impl Sink) {
    header(H3FrameType::GOAWAY, varint::size(stream), out);
    varint::encode(stream, out);
}

/// The HEADERS frame of a response with this status. `scratch` is memory for the field section.
pub fn response(head: &Head, status: u16, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    scratch.clear();
    qpack::prefix(scratch);
    qpack::status(status, scratch);
    for field in head.fields() {
        if !fields::is_dropped(field.id) {
            qpack::field(field.id, field.name, field.value, scratch);
        }
    }
    headers(scratch, out);
}

/// The HEADERS frame of trailers, without fields that are not allowed there.
pub fn trailers(trailers: &Fields, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    scratch.clear();
    qpack::prefix(scratch);
    for field in trailers.iter().filter(|field| !fields::is_dropped(field.id)) {
        qpack::field(field.id, field.name, field.value, scratch);
    }
    headers(scratch, out);
}

fn headers(section: &[u8], out: &mut Vec<u8>) {
    header(H3FrameType::HEADERS, section.len(), out);
    out.extend_from_slice(section);
}
