//! Early data, on both sides (RFC 8446 section 2.3).
//!
//! Early data may be replayed by an attacker; the caller decides whether to act on it.

use super::Conn;
use crate::error::{HandshakeError, Reason};
use crate::replay;
use crate::scratch::Scratch;
use ffi::{Channel, Wire};
use openssl::error::ErrorStack;
use openssl::ssl::Error;

/// How much is taken at once while it is put by. All of it is bounded by what a client may say
/// early (`ffi::EARLY_ROOM`): the library counts.
const PART: usize = 1 << 12;

/// The phase of a handshake with early data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EarlyPhase {
    /// More early data may follow.
    Data,
    /// The client has sent all its early data.
    Handshake,
    Nothing,
}

/// The state of a session that may have early data.
#[derive(Debug)]
pub(crate) struct Early {
    rest: EarlyPhase,
    /// The ClientHello has passed the replay check.
    new: bool,
    /// Early data received and not yet read.
    plain: Vec<u8>,
}

impl Early {
    pub(crate) fn new() -> Self {
        Self { rest: EarlyPhase::Data, new: false, plain: Vec::new() }
    }

    /// Whether the handshake is still to be ended.
    pub(crate) fn is_open(&self) -> bool {
        self.rest != EarlyPhase::Nothing
    }

    /// Whether something that is put by waits to be read.
    pub(crate) fn has_plain(&self) -> bool {
        !self.plain.is_empty()
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.plain.len());
        buffer[..count].copy_from_slice(&self.plain[..count]);
        self.plain.drain(..count);
        count
    }
}

impl Conn {
    /// Takes steps of the handshake until it is over, or, at first, until early data has arrived,
    /// which is kept.
    pub(crate) fn advance(&mut self, wire: &mut dyn Wire, scratch: &Scratch) -> Result<(), Error> {
        self.begin_early(wire, scratch)?;
        while self.rest() == EarlyPhase::Data {
            let mut part = [0; PART];
            let count =
                self.run(wire, scratch, |channel, wire| channel.read_early(wire, &mut part));
            let (count, over) = (count?, self.is_over());
            let first = !self.stands();
            let Some(early) = &mut self.early else { break };
            early.plain.extend_from_slice(&part[..count]);
            if over {
                self.end_early();
                return Ok(());
            }
            if count == 0 {
                early.rest = EarlyPhase::Handshake;
            } else if first {
                return Ok(());
            }
        }
        self.run(wire, scratch, Channel::handshake)?;
        self.end_early();
        Ok(())
    }

    /// Receives the ClientHello, and refuses it if its early data was received before.
    fn begin_early(&mut self, wire: &mut dyn Wire, scratch: &Scratch) -> Result<(), Error> {
        if !self.early.as_ref().is_some_and(|early| early.is_open() && !early.new) {
            return Ok(());
        }
        self.run(wire, scratch, Channel::begin_early)?;
        if self.was_early_taken() && !self.library().is_some_and(replay::is_new) {
            return Err(ErrorStack::get().into());
        }
        self.early.iter_mut().for_each(|early| early.new = true);
        Ok(())
    }

    /// Reads from a session that may have early data.
    #[cold]
    pub(crate) fn read_early(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        if let Some(early) = self.early.as_mut().filter(|early| early.has_plain()) {
            let count = early.take(buffer);
            if !early.is_open() {
                self.end_early();
            }
            return Ok(count);
        }
        self.begin_early(wire, scratch)?;
        while self.rest() == EarlyPhase::Data {
            match self.run(wire, scratch, |channel, wire| channel.read_early(wire, buffer))? {
                0 => self.early.iter_mut().for_each(|early| early.rest = EarlyPhase::Handshake),
                count => {
                    if self.is_over() {
                        self.end_early();
                    }
                    return Ok(count);
                }
            }
        }
        self.run(wire, scratch, Channel::handshake)?;
        self.end_early();
        self.run(wire, scratch, |channel, wire| channel.read(wire, buffer))
    }

    /// Whether the session has begun with early data and its handshake is not finished: everything
    /// read so far may be a replay.
    pub fn is_early(&self) -> bool {
        self.stands() && self.early.as_ref().is_some_and(|early| early.is_open())
    }

    /// Says something to a server before the handshake has begun: as much as
    /// [`crate::Connector::connect_early`] has found room for at most. The early data leaves with
    /// the first step of the handshake.
    ///
    /// # Errors
    /// The library has no session to say it with, after all.
    pub fn say_early(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        bytes: &[u8],
    ) -> Result<(), HandshakeError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self.run(wire, scratch, |channel, wire| channel.write_early(wire, rest));
            match count {
                Ok(count @ 1..) => rest = &rest[count..],
                Ok(0) => return Err(HandshakeError::new(Reason::Broken)),
                Err(error) => return Err(HandshakeError::of(&error)),
            }
        }
        Ok(())
    }

    fn rest(&self) -> EarlyPhase {
        self.early.as_ref().map_or(EarlyPhase::Nothing, |early| early.rest)
    }

    /// The handshake is over; what is put by stays.
    fn end_early(&mut self) {
        self.early = self.early.take().filter(|early| early.has_plain());
        if let Some(early) = &mut self.early {
            early.rest = EarlyPhase::Nothing;
        }
    }
}
