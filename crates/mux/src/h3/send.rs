//! Bytes to the peer: heads, payload, ends of messages, and what the transport takes of them.

use super::conn::H3Conn;
use super::stream::H3SendPhase;
use crate::stream_response::{self, ResponsePart, StreamResponse};
use crate::{BodyKind, Ready, StreamGone};
use htx::{Fields, Head};
use std::io::IoSlice;
use stdx::Key;
use wire::h3::{H3ErrorCode, H3FrameType, encode};

/// Bytes of unsent output of a stream beyond which it waits.
pub(super) const OUTPUT: usize = 32 * 1024;

/// Largest payload of a DATA frame.
const FRAME: usize = 16 * 1024;

/// A stream with output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Our control stream, the first unidirectional one.
    Control,
    /// Our QPACK decoder stream, the second unidirectional one.
    Decoder,
    /// A request stream.
    Request(u64),
}

/// The early end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Its number.
    pub stream: u64,
    /// The error code.
    pub code: H3ErrorCode,
    /// Our direction ends.
    pub sends: bool,
    /// The peer is asked to end its direction.
    pub receives: bool,
}

/// Output of a unidirectional stream of ours.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    out: Vec<u8>,
    is_dirty: bool,
}

impl H3Conn {
    // ---- for the transport

    /// Takes a stream that has output, or an end, that the transport has not been shown.
    pub fn poll_write(&mut self) -> Option<Target> {
        let target = self.dirty.pop_front()?;
        match target {
            Target::Control => self.control.is_dirty = false,
            Target::Decoder => self.decoder_stream.is_dirty = false,
            Target::Request(id) => {
                let key = self.requests.find(id);
                if let Some(stream) = key.and_then(|key| self.requests.get_mut(key)) {
                    stream.is_dirty = false;
                }
            }
        }
        Some(target)
    }

    /// Whether [`H3Conn::poll_write`], [`H3Conn::poll_abort`] or [`H3Conn::poll_resume`] return
    /// something, or the connection is broken.
    pub fn has_news(&self) -> bool {
        let quiet = self.dirty.is_empty() && self.aborts.is_empty() && self.resumed.is_empty();
        !quiet || self.broken.is_some()
    }

    /// The output of a stream.
    pub fn output(&self, target: Target) -> &[u8] {
        match target {
            Target::Control => &self.control.out,
            Target::Decoder => &self.decoder_stream.out,
            Target::Request(id) => {
                let stream = self.requests.find(id).and_then(|key| self.requests.get(key));
                stream.map_or(&[], |stream| &stream.out[stream.sent..])
            }
        }
    }

    /// Records output that the transport has taken. A stream with more is shown again after
    /// [`H3Conn::resume_write`].
    pub fn advance(&mut self, target: Target, count: usize) {
        let own = match target {
            Target::Control => &mut self.control,
            Target::Decoder => &mut self.decoder_stream,
            Target::Request(id) => return self.advance_request(id, count),
        };
        let count = count.min(own.out.len());
        own.out.drain(..count);
        self.pending -= count;
    }

    fn advance_request(&mut self, id: u64, count: usize) {
        let Some(key) = self.requests.find(id) else { return };
        let Some(stream) = self.requests.get_mut(key) else { return };
        let count = count.min(stream.pending());
        stream.sent += count;
        if stream.sent == stream.out.len() {
            stream.out.clear();
            stream.sent = 0;
        } else if stream.sent > OUTPUT / 2 {
            stream.out.drain(..stream.sent);
            stream.sent = 0;
        }
        let has_room = stream.pending() < OUTPUT;
        self.pending -= count;
        if has_room && count > 0 {
            self.wake(key, Ready::WRITE);
            self.wake(key, Ready::ROOM);
        }
        self.forget_if_done(key);
    }

    /// Whether a stream ends, now that its output is taken; `true` once per stream.
    pub fn take_end(&mut self, target: Target) -> bool {
        let Target::Request(id) = target else { return false };
        let Some(key) = self.requests.find(id) else { return false };
        let Some(stream) = self.requests.get_mut(key) else { return false };
        let ends = stream.pending() == 0 && std::mem::take(&mut stream.ends);
        self.forget_if_done(key);
        ends
    }

    /// Shows a stream again, because the transport has room for more of it.
    pub fn resume_write(&mut self, target: Target) {
        let waits = match target {
            Target::Request(id) => {
                let stream = self.requests.find(id).and_then(|key| self.requests.get(key));
                stream.is_some_and(|stream| stream.pending() > 0 || stream.ends)
            }
            own => !self.output(own).is_empty(),
        };
        if waits {
            self.mark_dirty(target);
        }
    }

    /// Takes the early end of a stream.
    pub fn poll_abort(&mut self) -> Option<Abort> {
        self.aborts.pop_front()
    }

    fn mark_dirty(&mut self, target: Target) {
        let is_dirty = match target {
            Target::Control => &mut self.control.is_dirty,
            Target::Decoder => &mut self.decoder_stream.is_dirty,
            Target::Request(id) => {
                let key = self.requests.find(id);
                let Some(stream) = key.and_then(|key| self.requests.get_mut(key)) else { return };
                &mut stream.is_dirty
            }
        };
        if !std::mem::replace(is_dirty, true) {
            self.dirty.push_back(target);
        }
    }

    /// Writes to one of our own unidirectional streams.
    pub(super) fn write_own(&mut self, target: Target, write: impl FnOnce(&mut Vec<u8>)) {
        let own = match target {
            Target::Control => &mut self.control,
            _ => &mut self.decoder_stream,
        };
        let before = own.out.len();
        write(&mut own.out);
        self.pending += own.out.len() - before;
        self.mark_dirty(target);
    }

    /// Writes to a request stream, and shows it to the transport.
    fn write(&mut self, key: Key, write: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>)) {
        let Some(stream) = self.requests.get_mut(key) else { return };
        if stream.reset.is_some() || self.broken.is_some() {
            return;
        }
        let before = stream.out.len();
        write(&mut self.scratch, &mut stream.out);
        let id = stream.id;
        self.pending += stream.out.len() - before;
        self.mark_dirty(Target::Request(id));
    }

    // ---- a stream's message

    /// Sends the head of a response. `body` is the framing of the incoming message; the result is
    /// the framing on this stream: `None` means that payload must not be sent and has to be
    /// discarded. After an interim response the stream expects another head; before the next one
    /// the caller waits for [`Ready::ROOM`].
    pub fn encode_head(&mut self, key: Key, head: &mut Head, body: BodyKind) -> BodyKind {
        let Some(stream) = self.requests.get_mut(key) else { return BodyKind::None };
        let StreamResponse { status, body, part } =
            stream_response::prepare(head, body, stream.response_to());
        match part {
            ResponsePart::Interim => {}
            ResponsePart::Tunnel => (stream.is_tunnel, stream.send) = (true, H3SendPhase::Body),
            ResponsePart::Final { ends: true } => stream.send = H3SendPhase::Ended,
            ResponsePart::Final { ends: false } => stream.send = H3SendPhase::Body,
        }
        stream.ends |= part == ResponsePart::Final { ends: true };
        self.write(key, |scratch, out| encode::response(head, status, scratch, out));
        body
    }

    /// Announces payload that will be sent.
    pub fn encode_data(&mut self, key: Key, len: u64) {
        if let Some(stream) = self.requests.get_mut(key) {
            stream.owed += len;
        }
    }

    /// Ends the outgoing message once all payload that was announced is sent.
    pub fn encode_end(&mut self, key: Key, trailers: Option<&Fields>) {
        let Some(stream) = self.requests.get_mut(key) else { return };
        if stream.send != H3SendPhase::Body || stream.ending {
            return;
        }
        stream.ending = true;
        stream.last_trailers = trailers.filter(|it| !it.is_empty()).cloned().map(Box::new);
        if stream.owed == 0 {
            self.end_sent(key);
        }
    }

    /// Ends the message, with the trailers if any, because all announced payload is sent.
    fn end_sent(&mut self, key: Key) {
        let Some(stream) = self.requests.get_mut(key) else { return };
        let last = stream.last_trailers.take();
        stream.send = H3SendPhase::Ended;
        stream.ends = true;
        self.write(key, |scratch, out| {
            if let Some(section) = last {
                encode::trailers(&section, scratch, out);
            }
        });
    }

    /// Sends payload, up to one frame; 0: the stream has to wait.
    ///
    /// # Errors
    /// The stream was reset, or its connection is over.
    pub fn send(&mut self, key: Key, parts: &[IoSlice<'_>]) -> Result<usize, StreamGone> {
        let total = parts.iter().map(|part| part.len()).sum::<usize>();
        let stream = self.requests.get_mut(key).ok_or(StreamGone)?;
        if stream.reset.is_some() || self.broken.is_some() {
            return Err(StreamGone);
        }
        let count = total.min(FRAME).min(OUTPUT.saturating_sub(stream.pending()));
        if count == 0 {
            return Ok(0);
        }
        stream.owed = stream.owed.saturating_sub(count as u64);
        let all = stream.ending && stream.owed == 0;
        self.write(key, |_, out| {
            encode::header(H3FrameType::DATA, count, out);
            let mut left = count;
            for part in parts {
                let piece = &part[..part.len().min(left)];
                out.extend_from_slice(piece);
                left -= piece.len();
            }
        });
        if all {
            self.end_sent(key);
        }
        Ok(count)
    }

    /// Ends the outgoing direction of a tunnel.
    pub fn shutdown(&mut self, key: Key) {
        self.encode_end(key, None);
    }
}
