//! One buffer of fixed size: memory with a window of readable bytes.

use crate::memory::Memory;
use std::ops::Range;

/// A fixed-size buffer: bytes are written behind the window and consumed from its front.
#[derive(Debug)]
pub struct Buf {
    memory: Memory,
    /// Bounds of the window. Waiting clients hold a `Buf` without memory, so its size counts.
    start: u32,
    end: u32,
}

impl Buf {
    /// Allocates `capacity` bytes. Prefer [`crate::Pool::take`].
    pub fn with_capacity(capacity: usize) -> Self {
        Self::of(Memory::parts(capacity, 1).next().unwrap_or(Memory::none()))
    }

    /// A buffer over this memory.
    pub fn empty() -> Self {
        Self::of(Memory::none())
    }

    /// A buffer over this memory.
    ///
    /// # Panics
    /// The memory is larger than 4 GiB.
    pub(crate) const fn of(memory: Memory) -> Self {
        assert!(memory.len() <= u32::MAX as usize, "a buffer is smaller than that");
        Self { memory, start: 0, end: 0 }
    }

    fn window(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Total size in bytes.
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Readable bytes.
    pub fn len(&self) -> usize {
        self.window().len()
    }

    /// Whether nothing is readable.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The readable bytes.
    pub fn data(&self) -> &[u8] {
        &self.memory[self.window()]
    }

    /// `count` exceeds the space: a fault of the caller.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.memory[self.end as usize..]
    }

    /// Size of [`Buf::space`].
    pub fn room(&self) -> usize {
        self.memory.len() - self.end as usize
    }

    /// Marks `count` bytes of the space as readable.
    ///
    /// # Panics
    /// `count` exceeds the space: a fault of the caller.
    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.room(), "filled beyond the end of the buffer");
        self.end += count as u32;
    }

    /// Drops `count` readable bytes from the front (all, if there are fewer).
    pub fn consume(&mut self, count: usize) {
        self.start += count.min(self.len()) as u32;
        if self.start == self.end {
            self.clear();
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Moves the readable bytes to the front, so that all free space lies behind them.
    pub fn compact(&mut self) {
        if self.start > 0 {
            let window = self.window();
            self.memory.copy_within(window, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }

    /// Appends as much of `bytes` as fits, and returns how much that was.
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        self.space()[..count].copy_from_slice(&bytes[..count]);
        self.end += count as u32;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_moves_and_compacts() {
        let mut buf = Buf::with_capacity(8);
        assert_eq!(buf.append(b"abcdefghij"), 8);
        buf.consume(3);
        assert_eq!((buf.data(), buf.room()), (&b"defgh"[..], 0));
        buf.compact();
        assert_eq!((buf.data(), buf.room()), (&b"defgh"[..], 3));
        buf.space()[0] = b'x';
        buf.filled(1);
        assert_eq!(buf.data(), b"defghx");
        buf.consume(100);
        assert_eq!((buf.len(), buf.room()), (0, 8));
    }
}
