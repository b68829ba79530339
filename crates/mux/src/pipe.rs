//! Exchanges inside the process: payload of one direction, with a bound, and the wake-ups of an end.

use crate::Ready;

/// Bytes of payload that wait for their reader.
pub const WINDOW: usize = 16 * 1024;

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    bytes: Vec<u8>,
    /// Bytes of `bytes` that were read.
    at: usize,
    /// Whether the writer has finished.
    pub(crate) ended: bool,
}

impl Pipe {
    /// Bytes that the reader has not taken.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Bytes that the writer may add.
    pub(crate) fn room(&self) -> usize {
        WINDOW - self.waiting().len()
    }

    /// Adds the bytes that fit; returns how many.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        if self.at > 0 && self.bytes.len() + count > WINDOW {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(&bytes[..count]);
        count
    }

    /// Moves bytes into `buffer`; returns how many.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.waiting().len());
        buffer[..count].copy_from_slice(&self.waiting()[..count]);
        self.at += count;
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        }
        count
    }

    /// Whether the reader has received everything.
    pub(crate) fn is_drained(&self) -> bool {
        self.ended && self.waiting().is_empty()
    }

    /// Drops all queued bytes.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.at = 0;
    }
}

/// The wish of one end to be woken.
#[derive(Debug, Default)]
pub(crate) struct WakeRequest {
    token: u64,
    events: u8,
}

impl WakeRequest {
    /// Registers `token` to be woken.
    pub(crate) fn set(&mut self, ready: Ready, token: u64) {
        self.token = token;
        self.events |= ready.0;
    }

    /// Cancels the wake-up.
    pub(crate) fn clear(&mut self) {
        self.events = 0;
    }

    /// Takes the token, if the end waits.
    pub(crate) fn take(&mut self) -> Option<u64> {
        (std::mem::take(&mut self.events) != 0).then_some(self.token)
    }
}
