//! A thread's free list of equal buffers. Never shared between threads.

use crate::Buf;
use crate::memory::Memory;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The least that is allocated at a time, in bytes, if as many buffers may be kept: so much comes
/// from the system untouched.
const SLAB: usize = 1 << 20;

/// How many buffers of a pool there are; the pool's thread writes, all may read.
#[derive(Debug)]
pub struct Levels {
    size: usize,
    used: AtomicUsize,
    free: AtomicUsize,
}

impl Levels {
    /// Bytes of the buffers that are handed out.
    pub fn used_bytes(&self) -> u64 {
        (self.used.load(Relaxed) * self.size) as u64
    }

    /// Bytes of all buffers, those kept for later included.
    pub fn allocated_bytes(&self) -> u64 {
        self.used_bytes() + (self.free.load(Relaxed) * self.size) as u64
    }
}

/// Hands out buffers of one size and keeps those given back, up to a limit.
#[derive(Debug)]
pub struct Pool {
    size: usize,
    keep: usize,
    free: RefCell<Vec<Buf>>,
    levels: Arc<Levels>,
}

impl Pool {
    /// A pool of buffers of `size` bytes that keeps at most `keep` free ones.
    pub fn new(size: usize, keep: usize) -> Self {
        let levels = Levels { size, used: AtomicUsize::new(0), free: AtomicUsize::new(0) };
        Self { size, keep, free: RefCell::default(), levels: Arc::new(levels) }
    }

    /// Bytes per buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Buffers handed out and not given back.
    pub fn in_use(&self) -> usize {
        self.levels.used.load(Relaxed)
    }

    /// How many buffers there are, for other threads to read.
    pub fn levels(&self) -> &Arc<Levels> {
        &self.levels
    }

    /// Buffers that are kept for later.
    pub fn kept(&self) -> usize {
        self.free.borrow().len()
    }

    /// An empty buffer; allocates only when none is free, then for some more to come.
    pub fn take(&self) -> Buf {
        self.levels.used.store(self.in_use() + 1, Relaxed);
        let mut free = self.free.borrow_mut();
        if free.is_empty() {
            self.allocate(&mut free);
        }
        let buffer = free.pop().expect("some were allocated");
        self.levels.free.store(free.len(), Relaxed);
        buffer
    }

    /// Puts new buffers into the empty list: at least one, and no more than are kept.
    #[cold]
    fn allocate(&self, free: &mut Vec<Buf>) {
        let count = (SLAB / self.size.max(1)).clamp(1, self.keep.max(1));
        free.extend(Memory::parts(self.size, count).map(Buf::of));
    }

    /// Frees the buffers that are kept for later.
    pub fn trim(&self) {
        self.free.take();
        self.levels.free.store(0, Relaxed);
    }

    /// Takes a buffer back. One that the pool did not make, or does not want, is freed.
    pub fn give(&self, mut buf: Buf) {
        if buf.capacity() != self.size {
            return;
        }
        self.levels.used.store(self.in_use().saturating_sub(1), Relaxed);
        let mut free = self.free.borrow_mut();
        if free.len() < self.keep {
            buf.clear();
            free.push(buf);
            self.levels.free.store(free.len(), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycles_up_to_its_limit() {
        let pool = Pool::new(16, 1);
        let (mut a, b) = (pool.take(), pool.take());
        a.append(b"left over");
        let memory = a.data().as_ptr();
        assert_eq!(pool.in_use(), 2);
        pool.give(a);
        pool.give(b);
        pool.give(Buf::empty());
        assert_eq!(pool.in_use(), 0);
        let levels = pool.levels().clone();
        assert_eq!((levels.used_bytes(), levels.allocated_bytes()), (0, 16));
        let again = pool.take();
        assert_eq!((again.data().as_ptr(), again.len()), (memory, 0));
        assert_eq!((levels.used_bytes(), levels.allocated_bytes()), (16, 16));
        assert_eq!(pool.take().len(), 0, "more are allocated");
        pool.give(again);
        pool.trim();
        assert_eq!((pool.kept(), levels.allocated_bytes()), (0, 16));
    }
}
