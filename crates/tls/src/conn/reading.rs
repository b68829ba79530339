//! The read side of a session: plain bytes from the records of the peer.

use super::{Conn, End, Session};
use crate::error::{io_error, waits};
use crate::scratch::Scratch;
use ffi::Wire;
use openssl::error::ErrorStack;
use openssl::ssl::{Error, ErrorCode};
use std::io;

/// How often in a row a peer may speak of nothing but the session (new keys, renegotiation), as no
/// peer has to: that costs it little and us much.
pub(super) const MOST_ASIDES: u8 = 32;

/// The most bytes of answers to such words that wait for a peer that does not read.
const MOST_ANSWERS: u32 = 1 << 16;

impl Conn {
    /// Reads decrypted bytes; 0 at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` when more has to arrive first, and as the wire says; `InvalidData` when the
    /// peer breaks the protocol, or keeps us busy with it.
    pub fn recv(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        // The first read returns the request that arrived with the handshake. A caller that reads
        // on needs more of it before it answers, so tickets are no longer held back.
        let first = self.held > 0 && self.buffered;
        let read = self.fill(wire, scratch, buffer);
        if !first || read.is_err() {
            self.held = 0;
        }
        self.send_own_messages(wire, scratch);
        read
    }

    /// Sends messages that the library has created on its own, such as key updates or the refusal
    /// to renegotiate.
    fn send_own_messages(&mut self, wire: &mut dyn Wire, scratch: &Scratch) {
        let held = self.held > 0 && self.held == self.out.len();
        if self.promised == 0 && !held {
            let _ = self.flush(wire, scratch);
        }
    }

    fn fill(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        match self.end {
            End::Open => {}
            End::Over => return Ok(0),
            End::Broken(kind) => return Err(kind.into()),
        }
        if matches!(self.session, Session::Own(_)) {
            return self.fill_own(wire, scratch, buffer);
        }
        let mut filled = 0;
        while filled < buffer.len() {
            let (rest, before) = (&mut buffer[filled..], self.out.len());
            let read = match self.early {
                None => self.run(wire, scratch, |channel, wire| channel.read(wire, rest)),
                Some(_) => self.read_early(wire, scratch, rest),
            };
            match self.weigh(read, before) {
                Ok(count) => filled += count,
                Err(error) if self.is_aside(&error) => {}
                Err(error) if filled == 0 => return self.end_of_reading(error),
                Err(error) => {
                    self.note_end(error);
                    break;
                }
            }
        }
        if self.may_take_over && self.early.is_none() {
            // The handshake has ended behind early data.
            self.settle();
        }
        if matches!(self.end, End::Open) && filled == buffer.len() {
            self.buffered = self.has_more();
        }
        Ok(filled)
    }

    /// Counts session messages after a call, and fails it if the peer sends too many in a row or
    /// lets too many answers pile up. `before` is the length of unsent records before the call.
    fn weigh(&mut self, read: Result<usize, Error>, before: usize) -> Result<usize, Error> {
        let more = self.out.len().saturating_sub(before);
        self.answers = self.answers.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        match &read {
            Ok(_) => self.asides = 0,
            Err(error) if self.is_aside(error) => self.asides += 1,
            Err(_) => {}
        }
        if self.asides > MOST_ASIDES || self.answers > MOST_ANSWERS {
            return Err(ErrorStack::get().into());
        }
        read
    }

    /// Whether the library has read only what belongs to the session: there may be more to read.
    fn is_aside(&self, error: &Error) -> bool {
        let nothing = error.io_error().is_none() || self.cut_short;
        error.code() == ErrorCode::WANT_READ && nothing
    }

    /// Whether something has arrived and not been read, understood or not.
    pub(super) fn has_more(&self) -> bool {
        let pending = match &self.session {
            Session::Library(channel) => ffi::has_pending(channel.ssl()),
            Session::Own(own) => own.has_plain(),
        };
        pending
            || !self.ahead.is_empty()
            || self.early.as_ref().is_some_and(|early| early.has_plain())
    }

    fn end_of_reading(&mut self, error: Error) -> io::Result<usize> {
        self.buffered = false;
        if waits(&error).is_some() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if is_end(&error) {
            self.end = End::Over;
            return Ok(0);
        }
        self.note_failure(&error);
        let error = io_error(error);
        self.end = End::Broken(error.kind());
        Err(error)
    }

    /// As [`Conn::end_of_reading`], for the next read to find.
    fn note_end(&mut self, error: Error) {
        let _ = self.end_of_reading(error);
        self.buffered = !matches!(self.end, End::Open);
    }

    /// Whether an idle connection has neither data nor an end of stream. Session messages are read
    /// and do not count.
    pub fn is_quiet(&mut self, wire: &mut dyn Wire, scratch: &Scratch) -> bool {
        if self.buffered || !matches!(self.end, End::Open) {
            return false;
        }
        if matches!(self.session, Session::Own(_)) {
            let quiet = self.is_quiet_own(wire, scratch);
            self.send_own_messages(wire, scratch);
            return quiet;
        }
        let quiet = loop {
            let (mut byte, before) = ([0], self.out.len());
            let peeked = self.run(wire, scratch, |channel, wire| channel.peek(wire, &mut byte));
            match self.weigh(peeked, before) {
                Ok(_) => {
                    self.buffered = true;
                    break false;
                }
                Err(error) if self.is_aside(&error) => {}
                Err(error) => break waits(&error).is_some(),
            }
        };
        self.send_own_messages(wire, scratch);
        quiet
    }
}

/// Whether the peer has closed, with or without a closing alert.
fn is_end(error: &Error) -> bool {
    match error.code() {
        ErrorCode::ZERO_RETURN => true,
        ErrorCode::SYSCALL => error.io_error().is_none(),
        _ => false,
    }
}
