//! A short probe connection: one request, a look at the answer, close.
//!
//! A server that answers at once costs six system calls and no wake-up, because the connection is
//! registered with the poller only when a task has to wait. The answer is peeked at and stays in
//! the kernel, so no buffer is held while more of it comes, and closing with unread data resets the
//! connection without a socket option.

use crate::kernel::{Address, Handle, Watch};
use crate::thread::Thread;
use crate::thread::socket::{CLOSED, INPUT_ONLY, READ, WRITE};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::rc::Rc;
use stdx::Key;

/// The connection. Dropping it closes it, with a reset unless the peer closed without an answer.
#[derive(Debug)]
pub struct ProbeConnection {
    thread: Rc<Thread>,
    handle: Handle,
    /// Key of its entry with the poller, once it is registered.
    key: Cell<Option<Key>>,
    /// Whether the peer has answered or closed: then closing needs no option to end the connection
    /// at once.
    answered: Cell<bool>,
}

impl ProbeConnection {
    /// Starts a connection; the ACK of its handshake is sent together with the request.
    ///
    /// # Errors
    /// An error that the system reports at once, such as "connection refused" or no descriptors
    /// left.
    pub fn start(thread: &Rc<Thread>, to: &Address) -> io::Result<Self> {
        let handle = thread.kernel().connect_probe(to)?;
        let (key, heard) = Default::default();
        Ok(Self { thread: thread.clone(), handle, key, answered: heard })
    }

    /// The thread that it belongs to.
    pub fn thread(&self) -> &Rc<Thread> {
        &self.thread
    }

    fn lacks(&self, bit: u16) -> bool {
        self.key.get().is_some_and(|key| self.thread.io(key, |io| io.ready & bit == 0))
    }

    fn clear(&self, bit: u16) {
        if let Some(key) = self.key.get() {
            self.thread.io(key, |io| io.ready &= !bit);
        }
    }

    /// Writes what fits. Success also shows that the connection is established.
    ///
    /// # Errors
    /// `WouldBlock` while the connection is not established or its buffer is full; otherwise the
    /// system's error.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        if self.lacks(WRITE) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = self.thread.kernel().send(self.handle, &[IoSlice::new(bytes)], false);
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            self.clear(WRITE);
        }
        result
    }

    /// Peeks at the answer, each time from its beginning. Returns the length, and whether the end
    /// of the answer has come.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has come since the last call; otherwise the system's error.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        if self.lacks(READ) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = self.thread.kernel().peek(self.handle, buffer);
        if !matches!(&result, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
            self.clear(READ);
        }
        let count = result?;
        self.answered.set(true);
        let closed = |key| self.thread.io(key, |io| io.ready & CLOSED != 0);
        Ok((count, count == 0 || self.key.get().is_some_and(closed)))
    }

    /// Wakes the running task when more of the answer comes, or when the connection breaks.
    ///
    /// # Errors
    /// The poller refuses it.
    pub fn await_answer(&self) -> io::Result<()> {
        self.watch(READ, Watch::Incoming)
    }

    /// Wakes the running task when the connection is established or has room, and when
    /// [`ProbeConnection::await_answer`] would.
    ///
    /// # Errors
    /// The poller refuses it.
    pub fn await_room(&self) -> io::Result<()> {
        self.watch(READ | WRITE, Watch::Stream)
    }

    fn watch(&self, wanted: u16, watch: Watch) -> io::Result<()> {
        let half = if watch == Watch::Incoming { INPUT_ONLY } else { 0 };
        let key = match self.key.get() {
            Some(key) => key,
            // The poller reports readiness that exists already.
            None => self.thread.add_registered(self.handle, half, watch)?,
        };
        self.key.set(Some(key));
        let grows = self.thread.io(key, |io| {
            io.wanted = wanted;
            half == 0 && io.ready & INPUT_ONLY != 0
        });
        if grows {
            self.thread.kernel().modify_watch(self.handle, key.to_bits(), watch)?;
            self.thread.io(key, |io| io.ready &= !INPUT_ONLY);
        }
        Ok(())
    }
}

impl Drop for ProbeConnection {
    fn drop(&mut self) {
        let resets = !self.answered.get();
        match self.key.get() {
            Some(key) => {
                self.thread.io(key, |io| io.resets = resets);
                self.thread.unregister(key);
            }
            None => self.thread.kernel().close(self.handle, resets),
        }
    }
}
