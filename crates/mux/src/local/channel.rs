//! The exchange as the transaction sees it: a stream of a shared connection.

use super::LocalConn;
use super::conn::Progress;
use crate::length;
use crate::{BodyKind, BodyStep, Eof, Fault, HeadStep, MessageError, Ready, StreamGone};
use htx::{Fields, Head, Method};
use std::io::IoSlice;

impl LocalConn {
    /// Streams that are in use: one, until it is released.
    pub fn in_use(&self) -> usize {
        usize::from(!self.is_released)
    }

    /// Registers `token` to be woken once the stream is ready. `true`: it is ready already.
    pub fn want(&mut self, ready: Ready, token: u64) -> bool {
        let is_ready = match ready {
            Ready::READ => self.is_readable(),
            Ready::WRITE => self.up.room() > 0 || self.served,
            Ready::ROOM => true,
            _ => self.is_reset(),
        };
        if !is_ready {
            self.client.set(ready, token);
        }
        is_ready
    }

    /// Cancels the wake-up.
    pub fn want_nothing(&mut self) {
        self.client.clear();
    }

    /// Whether a read would return bytes or the end.
    pub fn is_readable(&self) -> bool {
        match self.progress {
            Progress::Head => self.response.is_some() || self.served,
            Progress::Body(_) => !self.down.waiting().is_empty() || self.down.ended || self.served,
            Progress::Done => true,
        }
    }

    /// Whether the request is obsolete. That of a service that has answered it is still read to its
    /// end, as from a server, so that the client's connection remains.
    pub fn is_reset(&self) -> bool {
        self.is_gone || self.served && self.request_body == BodyKind::UntilClose
    }

    /// Whether the response is complete and was read.
    pub fn has_received_all(&self) -> bool {
        self.progress == Progress::Done
    }

    /// Whether the request was sent to its end.
    pub fn has_sent_all(&self) -> bool {
        self.up.ended
    }

    /// Whether the head of the request was sent.
    pub fn has_sent_head(&self) -> bool {
        self.has_request
    }

    /// Payload bytes received of the response.
    pub fn payload_received(&self) -> u64 {
        self.received
    }

    /// Payload that has not arrived; `u64::MAX` if no length was announced.
    pub fn payload_left(&self) -> u64 {
        match self.progress {
            Progress::Body(Some(left)) => left,
            Progress::Body(None) | Progress::Head => u64::MAX,
            Progress::Done => 0,
        }
    }

    /// Reads the head of the response.
    ///
    /// # Errors
    /// The service has ended without one.
    pub fn handle_head(&mut self, head: &mut Head) -> Result<HeadStep, MessageError> {
        let Some(response) = self.response.take() else {
            return match self.served {
                true => Err(fault("the service has ended without a response")),
                false => Ok(HeadStep::NeedMore),
            };
        };
        if response.status() < 200 {
            return Err(fault("an interim status in place of a final response"));
        }
        *head = response;
        let body = self.body_of(head);
        self.progress = match body {
            BodyKind::None => Progress::Done,
            BodyKind::Length(0) => Progress::Done,
            BodyKind::Length(length) => Progress::Body(Some(length)),
            _ => Progress::Body(None),
        };
        Ok(HeadStep::Complete { consumed: 0, body })
    }

    fn body_of(&self, head: &Head) -> BodyKind {
        if self.is_head || matches!(head.status(), 204 | 304) {
            return BodyKind::None;
        }
        length::announced(head).map_or(BodyKind::Chunked, BodyKind::Length)
    }

    /// Moves received payload into `buffer`; `None` when there is none now, 0 at the end of the
    /// response.
    ///
    /// # Errors
    /// The stream has ended.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        if self.is_gone {
            return Err(StreamGone);
        }
        if self.progress == Progress::Head {
            return Ok((self.served && self.response.is_none()).then_some(0));
        }
        let count = self.down.read(buffer);
        if count > 0 {
            self.wake_service();
            return Ok(Some(count));
        }
        Ok((self.down.ended || self.served || self.progress == Progress::Done).then_some(0))
    }

    /// Counts bytes read from the response, all of which are payload.
    pub fn handle_body(&mut self, input: &[u8], trailers: &mut Fields) -> BodyStep {
        self.received += input.len() as u64;
        if let Progress::Body(Some(left)) = &mut self.progress {
            *left = left.saturating_sub(input.len() as u64);
        }
        let whole = match self.progress {
            Progress::Body(Some(left)) => left == 0,
            Progress::Body(None) => self.down.is_drained(),
            Progress::Head | Progress::Done => true,
        };
        if whole {
            self.progress = Progress::Done;
            *trailers = std::mem::take(&mut self.trailers);
        }
        BodyStep { skip: 0, data: input.len(), done: whole }
    }

    /// The meaning of the end that [`LocalConn::read`] has returned.
    pub fn end_of(&self) -> Eof {
        let whole = self.progress == Progress::Body(None) && self.down.is_drained();
        match whole || self.progress == Progress::Done {
            true => Eof::MessageEnd,
            false => Eof::Truncated,
        }
    }

    /// Sends the head of the request.
    pub fn encode_head(&mut self, head: &mut Head, body: BodyKind) -> BodyKind {
        self.is_head = head.method_id() == Method::Head;
        self.request = Some(head.clone());
        self.request_body = body;
        self.has_request = true;
        if body.is_empty() {
            self.up.ended = true;
        }
        self.wake_service();
        body
    }

    /// Announces payload that will be sent.
    pub fn encode_data(&mut self, len: u64) {
        self.owed += len;
    }

    /// Ends the request once all payload that was announced is sent.
    pub fn encode_end(&mut self) {
        self.is_ending = true;
        self.end_request();
    }

    fn end_request(&mut self) {
        if self.is_ending && self.owed == 0 && !self.up.ended {
            self.up.ended = true;
            self.wake_service();
        }
    }

    /// Sends payload; 0: the stream has to wait for room. A service that has ended without reading
    /// its request has answered it all the same: the rest is dropped.
    ///
    /// # Errors
    /// The transaction has aborted the exchange, or a service of bytes has ended.
    pub fn send(&mut self, parts: &[IoSlice<'_>]) -> Result<usize, StreamGone> {
        if self.is_reset() {
            return Err(StreamGone);
        }
        if self.served {
            let dropped = parts.iter().map(|part| part.len()).sum();
            self.owed = self.owed.saturating_sub(dropped as u64);
            return Ok(dropped);
        }
        let mut sent = 0;
        for part in parts {
            let count = self.up.write(part);
            sent += count;
            if count < part.len() {
                break;
            }
        }
        self.owed = self.owed.saturating_sub(sent as u64);
        if sent > 0 {
            self.wake_service();
        }
        self.end_request();
        Ok(sent)
    }

    /// Aborts the exchange: the service learns that nothing more is read.
    pub fn reset(&mut self) {
        self.is_gone = true;
        self.down.clear();
        self.wake_service();
    }

    /// Releases the stream.
    pub fn release(&mut self) {
        self.is_released = true;
        self.reset();
    }
}

/// A fault of the service.
fn fault(reason: &'static str) -> MessageError {
    MessageError { status: 502, fault: Fault::Server, at: None, reason }
}
