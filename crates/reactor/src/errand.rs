//! A short connection: a request, a look at the answer, the end. Never kept, and never watched before
//! somebody waits.
//!
//! What answers at once costs six system calls and no wake-up: the poller is not told of it. The
//! answer is looked at and stays with the system, so no buffer is held while more of it comes, and
//! closing resets the connection without an option being set.

use crate::kernel::{Address, Handle, Watch};
use crate::socket::{CLOSED, HALF, READ, WRITE};
use crate::thread::Thread;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::rc::Rc;
use stdx::Key;

/// The connection. Dropping it closes it, with a reset unless the peer has ended it without a word.
#[derive(Debug)]
pub struct Errand {
    thread: Rc<Thread>,
    handle: Handle,
    /// Its entry with the poller, once it is watched.
    key: Cell<Option<Key>>,
    /// The peer has said something, or has gone: closing needs no option to end it at once.
    heard: Cell<bool>,
}

impl Errand {
    /// Starts a connection whose last packet of the handshake travels with the request.
    ///
    /// # Errors
    /// As the system says at once, such as "connection refused" or no descriptors left.
    pub fn start(thread: &Rc<Thread>, to: &Address) -> io::Result<Self> {
        let handle = thread.kernel().connect_unheard(to)?;
        let (key, heard) = Default::default();
        Ok(Self { thread: thread.clone(), handle, key, heard })
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

    /// Writes what fits; that it can be called at all tells that the connection stands.
    ///
    /// # Errors
    /// `WouldBlock` while the connection does not stand or nothing fits; otherwise as the system
    /// says.
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

    /// Copies the answer as far as it has come, each time from its beginning; also whether no more
    /// of it will come.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has come since the last look; otherwise as the system says.
    pub fn look(&self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        if self.lacks(READ) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = self.thread.kernel().peek(self.handle, buffer);
        if !matches!(&result, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
            self.clear(READ);
        }
        let count = result?;
        self.heard.set(true);
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

    /// Wakes the running task when the connection stands or has room, and as
    /// [`Errand::await_answer`].
    ///
    /// # Errors
    /// The poller refuses it.
    pub fn await_room(&self) -> io::Result<()> {
        self.watch(READ | WRITE, Watch::Stream)
    }

    fn watch(&self, wanted: u16, watch: Watch) -> io::Result<()> {
        let half = if watch == Watch::Incoming { HALF } else { 0 };
        let key = match self.key.get() {
            Some(key) => key,
            // The poller begins with what is there already.
            None => self.thread.enrol(self.handle, half, watch)?,
        };
        self.key.set(Some(key));
        let grows = self.thread.io(key, |io| {
            io.wanted = wanted;
            half == 0 && io.ready & HALF != 0
        });
        if grows {
            self.thread.kernel().rewatch(self.handle, key.to_bits(), watch)?;
            self.thread.io(key, |io| io.ready &= !HALF);
        }
        Ok(())
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        let resets = !self.heard.get();
        match self.key.get() {
            Some(key) => {
                self.thread.io(key, |io| io.resets = resets);
                self.thread.unregister(key);
            }
            None => self.thread.kernel().close(self.handle, resets),
        }
    }
}
