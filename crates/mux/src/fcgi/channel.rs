//! A request of a connection as a stream of any multiplexed protocol: readiness, heads, payload.
//!
//! The interface is that of an HTTP/2 stream, so that one forwarder serves both.

use htx::{Fields, Head};
use std::io::IoSlice;
use stdx::Key;

use super::conn::{FcgiConn, RecordInput};
use super::send::OUTPUT;
use super::stream::RequestPhase;
use crate::{BodyStep, Eof, HeadStep, MessageError, Ready, StreamGone};
use wire::fcgi::RecordType;

/// Bytes of output beyond which input is not read any more: an application that does not read has
/// to wait.
const MAX_OUTPUT: usize = OUTPUT + 64 * 1024;

impl FcgiConn {
    // ---- the connection

    /// Requests that the caller has not released.
    pub fn in_use(&self) -> usize {
        self.streams.iter().filter(|(_, stream)| !stream.released).count()
    }

    /// Whether further requests may be opened, now or later.
    pub fn is_open(&self) -> bool {
        !self.is_draining && self.broken.is_none()
    }

    /// Opens no further requests; running ones continue.
    pub fn begin_shutdown(&mut self) {
        self.is_draining = true;
    }

    /// Whether the connection has nothing left to do and can be closed.
    pub fn is_over(&self) -> bool {
        let drained = self.is_draining && self.in_use() == 0;
        (drained || self.broken.is_some()) && self.output().is_empty()
    }

    /// Whether input can be handled now. Otherwise the application has to wait: an answer is not
    /// read, or the application does not read its requests.
    pub fn takes_input(&self) -> bool {
        self.broken.is_none() && self.output().len() <= MAX_OUTPUT && !self.is_blocked()
    }

    /// Whether the input continues an answer that has no room.
    fn is_blocked(&self) -> bool {
        let RecordInput::Content { key, kind: RecordType::Stdout, .. } = self.input else {
            return false;
        };
        self.streams.get(key).is_some_and(|stream| stream.room() == Some(0))
    }

    /// Whether the output has room, because the application reads it.
    pub fn has_room(&self) -> bool {
        self.output().len() < OUTPUT
    }

    /// Whether the application's side of the connection has ended.
    pub fn has_input_ended(&self) -> bool {
        self.has_ended || self.broken.is_some()
    }

    /// Whether the application has answered any request.
    pub fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Records that all output may leave before its write is reported, as TLS records may.
    pub fn note_offered(&mut self) {
        self.offered = self.written + self.output().len() as u64;
    }

    /// Records that the last `count` bytes reported as written were not sent.
    pub fn take_back(&mut self, count: u64) {
        self.written = self.written.saturating_sub(count);
    }

    /// Takes the token of a request to wake.
    pub fn take_woken_token(&mut self) -> Option<u64> {
        while let Some(key) = self.take_woken() {
            let Some(stream) = self.streams.get_mut(key) else { continue };
            if std::mem::take(&mut stream.wants) != 0 {
                return Some(stream.token);
            }
        }
        None
    }

    // ---- its requests

    /// Registers `token` to be woken once a request is ready. `true`: it is ready already.
    pub fn want(&mut self, key: Key, ready: Ready, token: u64) -> bool {
        let has_room = self.has_room();
        let Some(stream) = self.streams.get_mut(key) else { return true };
        let is_ready = match ready {
            Ready::READ => stream.is_readable(),
            Ready::WRITE => has_room || stream.is_reset(),
            Ready::ROOM => true,
            _ => stream.is_reset(),
        };
        if is_ready {
            return true;
        }
        stream.token = token;
        stream.wants |= ready.0;
        if ready == Ready::WRITE && !self.awaiting_room.contains(&key) {
            self.awaiting_room.push(key);
        }
        false
    }

    /// Cancels the wake-up of a request.
    pub fn want_nothing(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(key) {
            stream.wants = 0;
        }
    }

    /// Whether reading a request's answer would return something.
    pub fn is_readable(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|it| it.is_readable())
    }

    /// Whether the application reads no more of a request: it has ended the request, or has closed
    /// the connection.
    pub fn is_reset(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|it| it.is_reset())
    }

    /// Whether a request was cut off by the loss of its connection, so that it is unknown whether
    /// the application has processed it.
    pub fn is_lost(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.is_cut)
    }

    /// Whether the request was not processed: the application refused it, or it was not sent.
    pub fn is_unprocessed(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.is_refused() || stream.is_unsent)
    }

    /// Whether the answer is complete and was read.
    pub fn has_received_all(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|it| it.is_read())
    }

    /// Whether the parameters were sent.
    pub fn has_sent_head(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|stream| stream.send != RequestPhase::Params)
    }

    /// Whether the request was sent to its end.
    pub fn has_sent_all(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.send == RequestPhase::Done)
    }

    /// Payload bytes received of the answer.
    pub fn payload_received(&self, key: Key) -> u64 {
        self.streams.get(key).map_or(0, |stream| stream.received)
    }

    /// Payload that has not arrived; `u64::MAX` if no length was announced.
    pub fn payload_left(&self, key: Key) -> u64 {
        self.streams.get(key).map_or(0, |it| it.payload_left())
    }

    /// Reads the head of an answer, as [`FcgiConn::handle_head`], which fails if the connection
    /// closes; here [`FcgiConn::receive`] returns that end.
    ///
    /// # Errors
    /// As [`FcgiConn::handle_head`].
    pub fn read_head(&mut self, key: Key, head: &mut Head) -> Result<HeadStep, MessageError> {
        let Some(stream) = self.streams.get_mut(key) else { return Ok(HeadStep::NeedMore) };
        if !stream.has_head_to_read() {
            return Ok(HeadStep::NeedMore);
        }
        let step = stream.handle_head(self.settings.limits, head);
        stream.is_stalled = matches!(step, Ok(HeadStep::NeedMore));
        step
    }

    /// Moves received payload into `buffer`; `None` when there is none now, 0 at the end of the
    /// answer or of its connection before the head.
    ///
    /// # Errors
    /// The answer has failed.
    pub fn receive(&mut self, key: Key, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        let stream = self.streams.get_mut(key).ok_or(StreamGone)?;
        if stream.awaits_head() {
            return Ok(stream.is_cut.then_some(0));
        }
        let step = stream.read(buffer).map_err(|_| StreamGone)?;
        let is_something = step.data > 0 || step.done;
        Ok(is_something.then_some(step.data))
    }

    /// Counts bytes read from an answer, all of which are payload.
    pub fn handle_body(&mut self, key: Key, input: &[u8], _trailers: &mut Fields) -> BodyStep {
        let mut step = BodyStep { skip: 0, data: input.len(), done: true };
        if let Some(stream) = self.streams.get_mut(key) {
            stream.received += input.len() as u64;
            step.done = stream.is_read();
        }
        step
    }

    /// The meaning of the end that [`FcgiConn::receive`] has returned.
    pub fn end_of(&self, key: Key) -> Eof {
        match self.streams.get(key) {
            Some(stream) if stream.is_read() => Eof::MessageEnd,
            _ => Eof::Truncated,
        }
    }

    /// Announces payload that will be sent.
    pub fn encode_data(&mut self, key: Key, len: u64) {
        if let Some(stream) = self.streams.get_mut(key) {
            stream.owed += len;
        }
    }

    /// Ends the request once all payload that was announced is sent.
    pub fn encode_end(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        stream.is_ending = true;
        if stream.owed == 0 {
            self.send_end(key);
        }
    }

    /// Sends payload; 0: the request has to wait for room.
    ///
    /// # Errors
    /// The request has failed.
    pub fn send_parts(&mut self, key: Key, parts: &[IoSlice<'_>]) -> Result<usize, StreamGone> {
        let mut sent = 0;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let count = self.send(key, part).map_err(|_| StreamGone)?;
            sent += count;
            if count < part.len() {
                break;
            }
        }
        if let Some(stream) = self.streams.get_mut(key) {
            stream.owed = stream.owed.saturating_sub(sent as u64);
            if stream.is_ending && stream.owed == 0 {
                self.send_end(key);
            }
        }
        Ok(sent)
    }
}
