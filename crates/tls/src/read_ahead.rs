//! A buffer of received bytes that the library has not asked for yet.
//!
//! During a handshake the library asks for the header of each record and then for its body, so a
//! flight of three records took seven system calls; with this buffer it takes one. A connection
//! without input holds no buffer.

use crate::scratch::{INPUT, Scratch};
use ffi::Wire;
use std::io;

/// How much is received at once: more than the messages of most handshakes.
const AHEAD: usize = 4096;

/// The most that is received of a peer that has closed.
const MOST_EXHAUSTED: usize = 16 * AHEAD;

/// The number of receive calls that an established session may make during one call of the library.
/// A record takes two; the library itself would continue as long as the peer sends only messages
/// about the session.
const MOST_RECEIVED: u8 = 8;

/// Received bytes that the session has not read yet.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    /// Those that have arrived, and room for more.
    bytes: Vec<u8>,
    taken: usize,
    /// Where they end.
    end: usize,
}

impl ReadAhead {
    /// Adds what has been received elsewhere.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.end);
        self.bytes.extend_from_slice(bytes);
        self.end = self.bytes.len();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.end
    }

    /// The bytes that were not taken.
    pub(crate) fn unread(&mut self) -> &mut [u8] {
        &mut self.bytes[self.taken..self.end]
    }

    /// Takes so many bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.taken = self.end.min(self.taken + count);
    }

    /// Receives at most so many bytes behind the ones that are left. Returns how many; 0 at the
    /// end.
    ///
    /// # Errors
    /// As the wire says.
    pub(crate) fn receive(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        most: usize,
    ) -> io::Result<usize> {
        let left = self.end - self.taken;
        if self.bytes.len() == INPUT {
            self.bytes.copy_within(self.taken..self.end, 0);
        } else {
            let mut input = scratch.take_input();
            // The buffer may hold more bytes than that.
            input.resize(INPUT.max(left + AHEAD), 0);
            input[..left].copy_from_slice(&self.bytes[self.taken..self.end]);
            self.give(scratch, input);
        }
        (self.taken, self.end) = (0, left);
        let most = self.bytes.len().min(left.saturating_add(most));
        let count = wire.recv(&mut self.bytes[left..most])?;
        self.end += count;
        Ok(count)
    }

    /// Gives the buffer back and goes on with another one.
    fn give(&mut self, scratch: &Scratch, other: Vec<u8>) {
        let buffer = std::mem::replace(&mut self.bytes, other);
        match buffer.len() == INPUT {
            true => scratch.give_input(buffer),
            false => scratch.give(buffer),
        }
    }

    /// Receives as much as fits, once nothing is left.
    ///
    /// # Errors
    /// As the wire says.
    fn fill(&mut self, wire: &mut dyn Wire, scratch: &Scratch) -> io::Result<()> {
        if self.bytes.capacity() == 0 {
            self.bytes = scratch.take();
        }
        (self.taken, self.end) = (0, 0);
        self.bytes.resize(AHEAD, 0);
        let received = wire.recv(&mut self.bytes);
        self.end = *received.as_ref().unwrap_or(&0);
        received.map(|_| ())
    }

    /// Receives all waiting bytes, up to a bound, and returns the bytes that were not taken yet.
    pub(crate) fn exhaust(&mut self, wire: &mut dyn Wire) -> &[u8] {
        let mut more = [0; AHEAD];
        while self.end < MOST_EXHAUSTED
            && let Ok(count @ 1..) = wire.recv(&mut more)
        {
            self.feed(&more[..count]);
        }
        self.unread()
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let rest = self.unread();
        let count = buffer.len().min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        count
    }

    /// Gives the memory back if nothing is left in it, or little in much: a spare buffer may have
    /// grown, and what is left may stay for long.
    pub(crate) fn rest(&mut self, scratch: &Scratch) {
        let left = &self.bytes[self.taken..self.end];
        if self.bytes.capacity() > 0 && (left.is_empty() || self.is_wasteful()) {
            let left = left.to_vec();
            self.give(scratch, left);
            (self.taken, self.end) = (0, self.bytes.len());
        }
    }

    fn is_wasteful(&self) -> bool {
        self.bytes.capacity() > 2 * AHEAD.max(self.end - self.taken)
    }
}

/// A wire that collects all output, so that records leave together.
pub(crate) struct BufferedWire<'a> {
    pub(crate) wire: &'a mut dyn Wire,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) ahead: &'a mut ReadAhead,
    /// More is received than is asked for, where that is little.
    pub(crate) eager: bool,
    /// The number of receive calls.
    pub(crate) received: u8,
    pub(crate) scratch: &'a Scratch,
}

impl BufferedWire<'_> {
    /// Whether it has reported an empty wire only to end the call.
    pub(crate) fn was_cut_short(&self) -> bool {
        self.received > MOST_RECEIVED
    }
}

impl Wire for BufferedWire<'_> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            self.received = self.received.saturating_add(1);
            if !self.eager && self.was_cut_short() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            if !self.eager || buffer.len() >= AHEAD {
                return self.wire.recv(buffer);
            }
            self.ahead.fill(self.wire, self.scratch)?;
        }
        Ok(self.ahead.take(buffer))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wire with these bytes to read.
    struct Said(&'static [u8]);

    impl Wire for Said {
        fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer[..self.0.len()].copy_from_slice(self.0);
            Ok(self.0.len())
        }

        fn send(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn leftover_bytes_keep_no_grown_buffer() {
        let (scratch, mut ahead) = (Scratch::default(), ReadAhead::default());
        scratch.give(Vec::with_capacity(100_000));
        ahead.fill(&mut Said(b"a record, and more"), &scratch).unwrap();
        let mut buffer = [0; 10];
        assert_eq!((ahead.take(&mut buffer), &buffer), (10, b"a record, "));
        ahead.rest(&scratch);
        assert!(ahead.bytes.capacity() <= 2 * AHEAD, "{}", ahead.bytes.capacity());
        assert!(scratch.take().capacity() >= 100_000, "given back for others");
        assert_eq!((ahead.take(&mut buffer), &buffer[..8]), (8, &b"and more"[..]));
        ahead.rest(&scratch);
        assert_eq!(ahead.bytes.capacity(), 0);
    }
}
