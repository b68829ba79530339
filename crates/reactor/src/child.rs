//! A program that runs beside the process, owned by a task of this thread. Never waits for it by itself.

use crate::kernel::{Ending, Handle, Program};
use crate::socket::Listener;
use crate::thread::Thread;
use std::io;
use std::rc::Rc;

/// A running program. Dropping it makes it end.
#[derive(Debug)]
pub struct Child {
    thread: Rc<Thread>,
    /// Present until it is dropped.
    watch: Option<Listener>,
    handle: Handle,
    ended: Option<Ending>,
}

impl Child {
    /// Starts a program; the running task is woken when it ends.
    ///
    /// # Errors
    /// As the system says, such as that there is no such program.
    pub fn start(thread: &Rc<Thread>, program: &Program) -> io::Result<Self> {
        let handle = thread.kernel().start(program)?;
        let listener = Listener::new(thread, handle);
        let mut child = Self { thread: thread.clone(), watch: Some(listener), handle, ended: None };
        child.watch.as_mut().map_or(Ok(()), Listener::resume)?;
        Ok(child)
    }

    /// How it ended; `None` while it runs.
    pub fn ending(&mut self) -> Option<Ending> {
        if self.ended.is_none() {
            // Nobody else asks, so an error means that it is gone in a way that nobody foresaw.
            self.ended = self.thread.kernel().ending(self.handle).unwrap_or(Some(Ending::Killed));
        }
        self.ended
    }

    /// Asks it to end, or makes it end by `force`.
    pub fn end(&self, force: bool) {
        // One that has ended already needs no telling.
        let _ = self.thread.kernel().end(self.handle, force);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ending().is_none() {
            self.end(true);
            // Once it has ended, whoever asks takes it off the system's list. One that takes longer
            // is the process's to the end: owners who live on wait for it.
            self.ending();
        }
        if let Some(watch) = self.watch.take() {
            watch.close();
        }
    }
}
