//! What has been received of a connection before its session asks for it. Never kept by a connection at rest.
//!
//! While it shakes hands the library asks for the head of each record and then for the rest of it,
//! so a flight of three records took seven calls of the system. Here it is received by one.

use crate::scratch::Scratch;
use ffi::Wire;
use std::io;

/// How much is received at once: more than the messages of most handshakes.
const AHEAD: usize = 4096;

/// Bytes that have arrived, as far as the session has not taken them.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    bytes: Vec<u8>,
    taken: usize,
}

impl Ahead {
    /// Adds what has been received elsewhere.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// Receives as much as fits, once nothing is left.
    ///
    /// # Errors
    /// As the wire says.
    fn fill(&mut self, wire: &mut dyn Wire, scratch: &Scratch) -> io::Result<()> {
        if self.bytes.capacity() == 0 {
            self.bytes = scratch.take();
        }
        self.taken = 0;
        self.bytes.resize(AHEAD, 0);
        let received = wire.recv(&mut self.bytes);
        self.bytes.truncate(*received.as_ref().unwrap_or(&0));
        received.map(|_| ())
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.bytes[self.taken..];
        let count = buffer.len().min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        count
    }

    /// Gives the memory back if nothing is left in it.
    pub(crate) fn rest(&mut self, scratch: &Scratch) {
        if self.bytes.capacity() > 0 && self.is_empty() {
            scratch.give(std::mem::take(&mut self.bytes));
            self.taken = 0;
        }
    }
}

/// A wire that takes all that is written, so that records leave together.
pub(crate) struct Gather<'a> {
    pub(crate) wire: &'a mut dyn Wire,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) ahead: &'a mut Ahead,
    /// More is received than is asked for, where that is little.
    pub(crate) eager: bool,
    pub(crate) scratch: &'a Scratch,
}

impl Wire for Gather<'_> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
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
