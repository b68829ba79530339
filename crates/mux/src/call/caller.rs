//! The exchange as the caller sees it: it writes the request and reads the response.

use super::CallConn;
use crate::{BodyKind, Ready, StreamGone};
use htx::Head;

impl CallConn {
    /// Sends payload of the request: the bytes that fit; 0: the caller has to wait.
    ///
    /// # Errors
    /// The transaction reads nothing more. The response, if there is one, can still be read.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, StreamGone> {
        if self.is_over {
            return Err(StreamGone);
        }
        let count = self.up.write(bytes);
        if count > 0 {
            self.wake_channel();
        }
        Ok(count)
    }

    /// Ends the request.
    pub fn finish(&mut self) {
        if !self.up.ended {
            self.up.ended = true;
            self.wake_channel();
        }
    }

    /// Takes the head of the final response, with the way in which its body is delimited; `None`
    /// before it was sent.
    ///
    /// # Errors
    /// The transaction has ended without a response.
    pub fn take_response(&mut self) -> Result<Option<(Head, BodyKind)>, StreamGone> {
        match self.response.take() {
            Some(response) => Ok(Some(response)),
            None if self.is_over && !self.has_response => Err(StreamGone),
            None => Ok(None),
        }
    }

    /// Moves payload of the response into `buffer`; `None` when there is none now, 0 at its end.
    ///
    /// # Errors
    /// The response is truncated.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        let count = self.down.read(buffer);
        if count > 0 {
            self.wake_channel();
            return Ok(Some(count));
        }
        match self.down.ended {
            true => Ok(Some(0)),
            false if self.is_over => Err(StreamGone),
            false => Ok(None),
        }
    }

    /// Registers `token` to be woken once the caller can continue: [`Ready::READ`] for the
    /// response, [`Ready::WRITE`] for room. `true`: it is ready already.
    pub fn caller_want(&mut self, ready: Ready, token: u64) -> bool {
        let is_ready = self.is_over
            || match ready {
                Ready::READ => {
                    self.response.is_some() || !self.down.waiting().is_empty() || self.down.ended
                }
                _ => self.up.room() > 0,
            };
        if !is_ready {
            self.caller.set(ready, token);
        }
        is_ready
    }

    /// The caller reads and writes nothing more: the transaction ends.
    pub fn cancel(&mut self) {
        self.is_gone = true;
        self.down.clear();
        self.wake_channel();
    }
}
