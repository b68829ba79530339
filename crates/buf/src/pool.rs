//! A thread's free list of equal buffers. Never shared between threads.

use crate::Buf;
use std::cell::{Cell, RefCell};

/// Hands out buffers of one size and keeps those given back, up to a limit.
#[derive(Debug)]
pub struct Pool {
    size: usize,
    keep: usize,
    free: RefCell<Vec<Buf>>,
    in_use: Cell<usize>,
}

impl Pool {
    /// A pool of buffers of `size` bytes that keeps at most `keep` free ones.
    pub fn new(size: usize, keep: usize) -> Self {
        Self { size, keep, free: RefCell::default(), in_use: Cell::new(0) }
    }

    /// Bytes per buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Buffers handed out and not given back.
    pub fn in_use(&self) -> usize {
        self.in_use.get()
    }

    /// An empty buffer; allocates only when none is free.
    pub fn take(&self) -> Buf {
        self.in_use.set(self.in_use.get() + 1);
        let recycled = self.free.borrow_mut().pop();
        recycled.unwrap_or_else(|| Buf::with_capacity(self.size))
    }

    /// Takes a buffer back. One that the pool did not make, or does not want, is freed.
    pub fn give(&self, mut buf: Buf) {
        if buf.capacity() != self.size {
            return;
        }
        self.in_use.set(self.in_use.get().saturating_sub(1));
        let mut free = self.free.borrow_mut();
        if free.len() < self.keep {
            buf.clear();
            free.push(buf);
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
        let again = pool.take();
        assert_eq!((again.data().as_ptr(), again.len()), (memory, 0));
    }
}
