//! The exchange as the transaction sees it: the stream of a client.

use super::CallConn;
use super::conn::RequestProgress;
use crate::length;
use crate::{BodyKind, BodyStep, Eof, HeadStep, Ready, StreamGone};
use htx::Head;
use std::io::IoSlice;

impl CallConn {
    /// Streams that are in use: one, until it is released.
    pub fn in_use(&self) -> usize {
        usize::from(!self.is_released)
    }

    /// Registers `token` to be woken once the stream is ready. `true`: it is ready already.
    pub fn want(&mut self, ready: Ready, token: u64) -> bool {
        let is_ready = match ready {
            Ready::READ => self.is_readable(),
            Ready::WRITE => self.down.room() > 0 || self.is_gone,
            Ready::ROOM => true,
            _ => self.is_gone,
        };
        if !is_ready {
            self.channel.set(ready, token);
        }
        is_ready
    }

    /// Cancels the wake-up.
    pub fn want_nothing(&mut self) {
        self.channel.clear();
    }

    /// Whether a read would return bytes or the end.
    pub fn is_readable(&self) -> bool {
        let waits = match self.progress {
            RequestProgress::Head => self.request.is_some(),
            RequestProgress::Body(_) => !self.up.waiting().is_empty() || self.up.ended,
            RequestProgress::Done => false,
        };
        waits || self.is_gone
    }

    /// Whether the caller has gone.
    pub fn is_reset(&self) -> bool {
        self.is_gone
    }

    /// Whether the request is complete and was read.
    pub fn has_received_all(&self) -> bool {
        self.progress == RequestProgress::Done
    }

    /// Whether the response was sent to its end.
    pub fn has_sent_all(&self) -> bool {
        self.down.ended
    }

    /// Whether the head of the final response was sent.
    pub fn has_sent_head(&self) -> bool {
        self.has_response
    }

    /// Payload bytes received of the request.
    pub fn payload_received(&self) -> u64 {
        self.received
    }

    /// Payload that has not arrived; `u64::MAX` if no length was announced.
    pub fn payload_left(&self) -> u64 {
        match self.progress {
            RequestProgress::Body(Some(left)) => left,
            RequestProgress::Body(None) | RequestProgress::Head => u64::MAX,
            RequestProgress::Done => 0,
        }
    }

    /// Reads the head of the request.
    pub fn handle_head(&mut self, head: &mut Head) -> HeadStep {
        let Some(request) = self.request.take() else { return HeadStep::NeedMore };
        *head = request;
        let body = self.request_body;
        self.progress = match body {
            body if body.is_empty() => RequestProgress::Done,
            BodyKind::Length(length) => RequestProgress::Body(Some(length)),
            _ => RequestProgress::Body(None),
        };
        HeadStep::Complete { consumed: 0, body }
    }

    /// Moves received payload into `buffer`; `None` when there is none now, 0 at the end of the
    /// request.
    ///
    /// # Errors
    /// The caller has dropped the call.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        if self.is_gone {
            return Err(StreamGone);
        }
        if self.progress == RequestProgress::Head {
            return Ok(None);
        }
        let count = self.up.read(buffer);
        if count > 0 {
            self.wake_caller();
            return Ok(Some(count));
        }
        Ok((self.up.ended || self.progress == RequestProgress::Done).then_some(0))
    }

    /// Counts bytes read from the request, all of which are payload.
    pub fn handle_body(&mut self, input: &[u8]) -> BodyStep {
        self.received += input.len() as u64;
        if let RequestProgress::Body(Some(left)) = &mut self.progress {
            *left = left.saturating_sub(input.len() as u64);
        }
        let whole = match self.progress {
            RequestProgress::Body(Some(left)) => left == 0,
            RequestProgress::Body(None) => self.up.is_drained(),
            RequestProgress::Head | RequestProgress::Done => true,
        };
        if whole {
            self.progress = RequestProgress::Done;
        }
        BodyStep { skip: 0, data: input.len(), done: whole }
    }

    /// The meaning of the end that [`CallConn::read`] has returned.
    pub fn end_of(&self) -> Eof {
        let whole = self.progress == RequestProgress::Body(None) && self.up.is_drained();
        match whole || self.progress == RequestProgress::Done {
            true => Eof::MessageEnd,
            false => Eof::Truncated,
        }
    }

    /// Sends the head of the response. The caller does not see interim responses.
    pub fn encode_head(&mut self, head: &Head, body: BodyKind) -> BodyKind {
        let status = head.status();
        if (100..200).contains(&status) && status != 101 {
            return BodyKind::None;
        }
        let bodiless = self.is_head || matches!(status, 204 | 304);
        let body = if bodiless { BodyKind::None } else { body };
        let mut head = head.clone();
        if let BodyKind::Length(length) = body {
            length::announce(&mut head, length);
        }
        self.response = Some((head, body));
        self.has_response = true;
        self.wake_caller();
        body
    }

    /// Announces payload that will be sent.
    pub fn encode_data(&mut self, len: u64) {
        self.owed += len;
    }

    /// Ends the response once all payload that was announced is sent.
    pub fn encode_end(&mut self) {
        self.is_ending = true;
        self.end_response();
    }

    fn end_response(&mut self) {
        if self.is_ending && self.owed == 0 && self.has_response && !self.down.ended {
            self.down.ended = true;
            self.wake_caller();
        }
    }

    /// Sends payload; 0: the stream has to wait for room.
    ///
    /// # Errors
    /// The caller has gone.
    pub fn send(&mut self, parts: &[IoSlice<'_>]) -> Result<usize, StreamGone> {
        if self.is_gone {
            return Err(StreamGone);
        }
        let mut sent = 0;
        for part in parts {
            let count = self.down.write(part);
            sent += count;
            if count < part.len() {
                break;
            }
        }
        self.owed = self.owed.saturating_sub(sent as u64);
        if sent > 0 {
            self.wake_caller();
        }
        self.end_response();
        Ok(sent)
    }

    /// Aborts the exchange: the caller gets no more of the response.
    pub fn reset(&mut self) {
        self.is_over = true;
        self.wake_caller();
    }

    /// Releases the stream.
    pub fn release(&mut self) {
        self.is_released = true;
        self.reset();
    }
}
