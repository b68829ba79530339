//! Writes frames. The mux has checked windows and states before.

use super::error::ErrorCode;
use super::frame::{ACK, END_HEADERS, END_STREAM, FrameHeader, FrameType, HEADER_LEN};
use super::settings::{Setting, Settings};
use crate::sink::Sink;

fn header(kind: FrameType, flags: u8, stream: u32, len: usize, out: &mut impl Sink) {
    debug_assert!(len as u64 <= u64::from(super::MAX_FRAME_SIZE), "longer than any frame");
    out.put(&FrameHeader { len: len as u32, kind, flags, stream }.bytes());
}

/// SETTINGS with the values that differ from the defaults.
pub fn settings(settings: &Settings, out: &mut impl Sink) {
    header(FrameType::Settings, 0, 0, 6 * settings.differences().count(), out);
    for (setting, value) in settings.differences() {
        out.put(&(setting as u16).to_be_bytes());
        out.put(&value.to_be_bytes());
    }
}

/// SETTINGS with one parameter.
pub fn setting((setting, value): (Setting, u32), out: &mut impl Sink) {
    header(FrameType::Settings, 0, 0, 6, out);
    out.put(&(setting as u16).to_be_bytes());
    out.put(&value.to_be_bytes());
}

/// The acknowledgement of SETTINGS.
pub fn settings_ack(out: &mut impl Sink) {
    header(FrameType::Settings, ACK, 0, 0, out);
}

/// PING.
pub fn ping(payload: &[u8; 8], out: &mut impl Sink) {
    header(FrameType::Ping, 0, 0, payload.len(), out);
    out.put(payload);
}

/// The acknowledgement of a PING with this payload.
pub fn ping_ack(payload: &[u8], out: &mut impl Sink) {
    header(FrameType::Ping, ACK, 0, payload.len(), out);
    out.put(payload);
}

/// GOAWAY: streams above `last` were not processed.
pub fn go_away(last: u32, code: ErrorCode, out: &mut impl Sink) {
    header(FrameType::GoAway, 0, 0, 8, out);
    out.put(&last.to_be_bytes());
    out.put(&code.0.to_be_bytes());
}

/// RST_STREAM.
pub fn rst_stream(stream: u32, code: ErrorCode, out: &mut impl Sink) {
    header(FrameType::RstStream, 0, stream, 4, out);
    out.put(&code.0.to_be_bytes());
}

/// WINDOW_UPDATE of a stream, or of the connection (0).
pub fn window_update(stream: u32, increment: u32, out: &mut impl Sink) {
    header(FrameType::WindowUpdate, 0, stream, 4, out);
    out.put(&increment.to_be_bytes());
}

/// The header of a DATA frame; `len` bytes of payload follow.
#[inline]
pub fn data(stream: u32, len: usize, end: bool, out: &mut impl Sink) {
    header(FrameType::Data, if end { END_STREAM } else { 0 }, stream, len, out);
}

/// Begins a header block in `out`, to which the caller appends the block. Returns the offset for
/// [`end_headers`].
pub fn begin_headers(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; HEADER_LEN]);
    at
}

/// Ends the header block that [`begin_headers`] began at `at`: a HEADERS frame and, if it is longer
/// than `max`, CONTINUATION frames.
pub fn end_headers(at: usize, stream: u32, end: bool, max: u32, out: &mut Vec<u8>) {
    let block = out.len() - at - HEADER_LEN;
    let max = max.max(super::DEFAULT_FRAME_SIZE) as usize;
    let stream_flag = if end { END_STREAM } else { 0 };
    let first = block.min(max);
    let whole = first == block;
    let flags = stream_flag | if whole { END_HEADERS } else { 0 };
    let frame = FrameHeader { len: first as u32, kind: FrameType::Headers, flags, stream };
    out[at..at + HEADER_LEN].copy_from_slice(&frame.bytes());
    if !whole {
        continuations(at + HEADER_LEN + first, stream, max, out);
    }
}

/// Splits the bytes of `out` from `at` on into CONTINUATION frames.
#[cold]
fn continuations(at: usize, stream: u32, max: usize, out: &mut Vec<u8>) {
    let rest = out.split_off(at);
    let mut pieces = rest.chunks(max).peekable();
    while let Some(piece) = pieces.next() {
        let flags = if pieces.peek().is_none() { END_HEADERS } else { 0 };
        header(FrameType::Continuation, flags, stream, piece.len(), out);
        out.extend_from_slice(piece);
    }
}
