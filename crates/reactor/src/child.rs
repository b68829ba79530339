//! A program that runs beside the process, owned by a task of this thread.

use crate::kernel::{ExitStatus, Handle, Program};
use crate::thread::Thread;
use crate::thread::socket::Listener;
use std::io;
use std::rc::Rc;

/// A running program. Dropping it kills the program.
#[derive(Debug)]
pub struct ChildProgram {
    thread: Rc<Thread>,
    /// `None` once it is dropped.
    watch: Option<Listener>,
    handle: Handle,
    ended: Option<ExitStatus>,
}

impl ChildProgram {
    /// Starts a program; the running task is woken when it ends.
    ///
    /// # Errors
    /// An error of the system, for instance that there is no such program.
    pub fn start(thread: &Rc<Thread>, program: &Program) -> io::Result<Self> {
        let handle = thread.kernel().start_program(program)?;
        let listener = Listener::new(thread, handle);
        let mut child = Self { thread: thread.clone(), watch: Some(listener), handle, ended: None };
        child.watch.as_mut().map_or(Ok(()), Listener::resume)?;
        Ok(child)
    }

    /// The exit status of the program; `None` while it runs.
    pub fn ending(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // This is the only caller that collects the status, so an error means that the program
            // is gone.
            self.ended =
                self.thread.kernel().exit_status(self.handle).unwrap_or(Some(ExitStatus::Killed));
        }
        self.ended
    }

    /// Asks the program to end, or kills it with `force`.
    pub fn end(&self, force: bool) {
        // An error means that the program has ended already.
        let _ = self.thread.kernel().end_program(self.handle, force);
    }
}

impl Drop for ChildProgram {
    fn drop(&mut self) {
        if self.ending().is_none() {
            self.end(true);
            // This collects the status if the program has ended by now. If it takes longer, it
            // stays a zombie until the process ends: a long-lived owner waits for the end itself.
            self.ending();
        }
        if let Some(watch) = self.watch.take() {
            watch.close();
        }
    }
}
