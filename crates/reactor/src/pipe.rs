//! A pipe between two sockets of a thread, for bytes that nobody looks at. Never blocks.

use crate::kernel::Handle;
use crate::socket::{READ, Socket, WRITE};
use crate::thread::Thread;
use std::io;
use std::rc::Rc;

/// A pipe of the system. Dropping it drops what it holds.
#[derive(Debug)]
pub struct Pipe {
    thread: Rc<Thread>,
    read: Handle,
    write: Handle,
    size: usize,
    held: usize,
}

impl Pipe {
    /// Opens a pipe of about `size` bytes, 0 for the system's choice.
    ///
    /// # Errors
    /// No descriptors left, or the system has no pipes of this kind.
    pub fn open(thread: &Rc<Thread>, size: usize) -> io::Result<Self> {
        let (read, write, size) = thread.kernel().pipe(size)?;
        Ok(Self { thread: thread.clone(), read, write, size, held: 0 })
    }

    /// Bytes in it.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes up to `limit` bytes from a socket; 0 at the end of its stream. To be called when the
    /// pipe is empty: otherwise "would block" may mean either end.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing; otherwise as the system says.
    pub fn fill(&mut self, from: &Socket, limit: u64) -> io::Result<usize> {
        debug_assert!(self.held == 0, "what it holds goes first");
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(self.size);
        let count =
            from.attempt(READ, |kernel, handle| kernel.splice(handle, self.write, limit, false))?;
        self.held += count;
        Ok(count)
    }

    /// Gives a socket what it takes of the bytes.
    ///
    /// # Errors
    /// `WouldBlock` when it takes nothing now; otherwise as the system says.
    pub fn drain(&mut self, to: &Socket) -> io::Result<usize> {
        let count =
            to.attempt(WRITE, |kernel, handle| kernel.splice(self.read, handle, self.held, false))?;
        self.held -= count.min(self.held);
        Ok(count)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let kernel = self.thread.kernel();
        kernel.close(self.read, false);
        kernel.close(self.write, false);
    }
}
