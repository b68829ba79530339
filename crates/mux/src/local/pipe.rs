//! Payload of one direction between its writer and its reader, with a bound.

/// Bytes of payload that wait for their reader.
pub const WINDOW: usize = 16 * 1024;

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    bytes: Vec<u8>,
    /// Bytes of `bytes` that were read.
    at: usize,
    /// Whether the writer has finished.
    pub(super) ended: bool,
}

impl Pipe {
    /// Bytes that the reader has not taken.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Bytes that the writer may add.
    pub(super) fn room(&self) -> usize {
        WINDOW - self.waiting().len()
    }

    /// Adds the bytes that fit; returns how many.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        if self.at > 0 && self.bytes.len() + count > WINDOW {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(&bytes[..count]);
        count
    }

    /// Moves bytes into `buffer`; returns how many.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.waiting().len());
        buffer[..count].copy_from_slice(&self.waiting()[..count]);
        self.at += count;
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        }
        count
    }

    /// Whether the reader has got everything.
    pub(super) fn is_drained(&self) -> bool {
        self.ended && self.waiting().is_empty()
    }

    /// Drops everything that waits.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.at = 0;
    }
}
