//! A free list of equal buffers for one thread.

use crate::Buf;
use crate::memory::Memory;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes allocated at a time, if the pool may keep that many buffers; fresh pages cost nothing
/// until they are written.
const SLAB: usize = 1 << 20;

/// Numbers of buffers of a pool; written by the pool's thread, readable by all.
#[derive(Debug)]
pub struct Levels {
    size: usize,
    used: AtomicUsize,
    free: AtomicUsize,
}

impl Levels {
    /// Bytes of buffers in use.
    pub fn used_bytes(&self) -> u64 {
        (self.used.load(Relaxed) * self.size) as u64
    }

    /// Bytes of all buffers, free ones included.
    pub fn allocated_bytes(&self) -> u64 {
        self.used_bytes() + (self.free.load(Relaxed) * self.size) as u64
    }
}

/// Hands out buffers of one size and keeps returned ones, up to a limit.
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

    /// Buffers in use.
    pub fn in_use(&self) -> usize {
        self.levels.used.load(Relaxed)
    }

    /// The numbers of buffers, for other threads to read.
    pub fn levels(&self) -> &Arc<Levels> {
        &self.levels
    }

    /// Free buffers that are kept.
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

    /// Allocates buffers for the empty list: at least one, and at most as many as may be kept.
    #[cold]
    fn allocate(&self, free: &mut Vec<Buf>) {
        let count = (SLAB / self.size.max(1)).clamp(1, self.keep.max(1));
        free.extend(Memory::parts(self.size, count).map(Buf::of));
    }

    /// Releases the free buffers.
    pub fn trim(&self) {
        self.free.take();
        self.levels.free.store(0, Relaxed);
    }

    /// Takes a buffer back. A buffer of another size, or beyond the limit, is freed.
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
