//! The exchange as the service sees it: it reads the request and writes the response.

use super::LocalConn;
use crate::length;
use crate::{BodyKind, Ready, StreamGone};
use htx::{Fields, Head};

impl LocalConn {
    /// Takes the head of the request, with the way in which its body is delimited; `None` before
    /// it was sent, and afterwards.
    pub fn take_request(&mut self) -> Option<(Head, BodyKind)> {
        self.request.take().map(|head| (head, self.request_body))
    }

    /// Moves payload of the request into `buffer`; `None` when there is none now, 0 at its end.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        let count = self.up.read(buffer);
        if count > 0 {
            self.wake_client();
            return Ok(Some(count));
        }
        match self.up.ended {
            true => Ok(Some(0)),
            false if self.is_gone => Err(StreamGone),
            false => Ok(None),
        }
    }

    /// Sends the head of the response. A `content-length` field announces the length of the body;
    /// without one its end is [`LocalConn::finish`].
    ///
    /// # Errors
    /// The transaction has ended, or a head was sent already.
    pub fn respond(&mut self, head: Head) -> Result<(), StreamGone> {
        if self.is_gone || self.has_response {
            return Err(StreamGone);
        }
        self.has_response = true;
        self.unwritten = length::announced(&head);
        self.response = Some(head);
        self.wake_client();
        Ok(())
    }

    /// Sends payload of the response: the bytes that fit; 0: the service has to wait. Bytes beyond
    /// the announced length, and a body that its request or status excludes, are dropped.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, StreamGone> {
        if self.is_gone {
            return Err(StreamGone);
        }
        let allowed = self.unwritten.map_or(bytes.len(), |left| {
            bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))
        });
        if allowed == 0 || self.has_received_all() {
            return Ok(bytes.len());
        }
        let count = self.down.write(&bytes[..allowed]);
        if let Some(left) = &mut self.unwritten {
            *left -= count as u64;
        }
        if count > 0 {
            self.wake_client();
        }
        Ok(if count == allowed { bytes.len() } else { count })
    }

    /// Ends the response. A response that is shorter than announced counts as truncated.
    pub fn finish(&mut self, trailers: Option<Fields>) {
        if self.served {
            return;
        }
        self.served = true;
        if self.has_response && self.unwritten.is_none_or(|left| left == 0) {
            self.down.ended = true;
            self.trailers = trailers.unwrap_or_default();
        }
        self.wake_client();
    }

    /// Ends the service without the end of its response.
    pub fn fail(&mut self) {
        if !self.served {
            self.served = true;
            self.wake_client();
        }
    }

    /// Registers `token` to be woken once the service can continue: [`Ready::READ`] for the
    /// request, [`Ready::WRITE`] for room. `true`: it is ready already.
    pub fn service_want(&mut self, ready: Ready, token: u64) -> bool {
        let is_ready = self.is_gone
            || match ready {
                Ready::READ => {
                    self.request.is_some() || !self.up.waiting().is_empty() || self.up.ended
                }
                _ => self.down.room() > 0,
            };
        if !is_ready {
            self.service.set(ready, token);
        }
        is_ready
    }

    /// Registers `token` to be woken once the transaction has ended. `true`: it has.
    pub fn service_want_end(&mut self, token: u64) -> bool {
        if !self.is_gone {
            self.service.set(Ready::RESET, token);
        }
        self.is_gone
    }

    /// Whether the transaction has ended, so that the response has no reader.
    pub fn is_abandoned(&self) -> bool {
        self.is_gone
    }
}
