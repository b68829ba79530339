//! A pipe that moves bytes between two sockets of a thread inside the kernel (splice(2)).

use crate::kernel::Handle;
use crate::thread::Thread;
use crate::thread::socket::{READ, Socket, WRITE};
use std::io;
use std::rc::Rc;

/// A pipe of the system. Dropping it discards the bytes in it.
#[derive(Debug)]
pub struct Pipe {
    thread: Rc<Thread>,
    read: Handle,
    write: Handle,
    size: usize,
    held: usize,
}

impl Pipe {
    /// Opens a pipe of about `size` bytes, 0 for the system's default.
    ///
    /// # Errors
    /// No descriptors left, or the system does not support splicing.
    pub fn open(thread: &Rc<Thread>, size: usize) -> io::Result<Self> {
        let (read, write, size) = thread.kernel().pipe(size)?;
        Ok(Self { thread: thread.clone(), read, write, size, held: 0 })
    }

    /// Bytes in the pipe.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Moves up to `limit` bytes from a socket into the pipe; 0 at the end of its stream. The pipe
    /// must be empty, because otherwise `WouldBlock` could mean either end.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing to read; otherwise the system's error.
    pub fn fill(&mut self, from: &Socket, limit: u64) -> io::Result<usize> {
        debug_assert!(self.held == 0, "what it holds goes first");
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(self.size);
        let count =
            from.try_io(READ, |kernel, handle| kernel.splice(handle, self.write, limit, false))?;
        self.held += count;
        Ok(count)
    }

    /// Moves bytes from the pipe to a socket, as many as it takes.
    ///
    /// # Errors
    /// `WouldBlock` when the socket takes none now; otherwise the system's error.
    pub fn drain(&mut self, to: &Socket) -> io::Result<usize> {
        let count =
            to.try_io(WRITE, |kernel, handle| kernel.splice(self.read, handle, self.held, false))?;
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
