//! The shared state of the streams of a connection: its protocol machine and its task.

use super::StreamMux;
use crate::socket::Transport;
use mux::h2::Key;
use reactor::{TaskId, Thread, Wake};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A connection's machine on its thread.
pub struct Session {
    thread: Rc<Thread>,
    machine: RefCell<StreamMux>,
    /// The task that reads and writes.
    driver: Cell<TaskId>,
    /// Whether the task was woken and has not run since.
    nudged: Cell<bool>,
    /// `http` or `https`.
    scheme: &'static [u8],
    /// Whether the connection ends without a GOAWAY.
    closes_silently: Cell<bool>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    /// A session that the running task drives.
    pub fn new(
        thread: &Rc<Thread>,
        machine: impl Into<StreamMux>,
        scheme: &'static [u8],
    ) -> Rc<Self> {
        Rc::new(Self {
            thread: thread.clone(),
            machine: RefCell::new(machine.into()),
            driver: Cell::new(thread.scheduler().current()),
            nudged: Cell::new(false),
            scheme,
            closes_silently: Cell::new(false),
        })
    }

    /// The thread of the connection.
    pub fn thread(&self) -> &Rc<Thread> {
        &self.thread
    }

    pub(crate) fn scheme(&self) -> &'static [u8] {
        self.scheme
    }

    /// Makes another task the driver.
    pub fn set_driver(&self, driver: TaskId) {
        self.driver.set(driver);
    }

    /// Reads the machine.
    pub fn inspect<T>(&self, how: impl FnOnce(&StreamMux) -> T) -> T {
        how(&self.machine.borrow())
    }

    /// Changes the machine in a way that leaves no output and resumes no input.
    pub fn update<T>(&self, how: impl FnOnce(&mut StreamMux) -> T) -> T {
        how(&mut self.machine.borrow_mut())
    }

    /// Changes the machine on behalf of a stream. Streams whose wait ends are woken, and the driver
    /// if there is output to write or input to resume.
    pub fn act_for_stream<T>(&self, how: impl FnOnce(&mut StreamMux) -> T) -> T {
        let mut machine = self.machine.borrow_mut();
        let (paused, pending) = (!machine.takes_input(), machine.pending_work());
        let result = how(&mut machine);
        let resumes = paused && machine.takes_input();
        // The driver already waits to write earlier output.
        if resumes || machine.pending_work() > pending {
            self.wake_driver();
        }
        self.wake(&mut machine);
        result
    }

    /// As [`Session::act`], for a stream that alone has something to send: its task writes the
    /// output, which saves a run of the driver.
    pub fn act_at_once<T>(
        &self,
        transport: &Transport,
        how: impl FnOnce(&mut StreamMux) -> T,
    ) -> T {
        if self.nudged.get() || !self.inspect(|mux| mux.output().is_empty() && mux.takes_input()) {
            return self.act_for_stream(how);
        }
        let result = self.update(how);
        // The driver writes the rest, or finds the error.
        if !matches!(self.flush(transport), Ok(true)) {
            self.wake_driver();
        }
        result
    }

    /// Changes the machine on behalf of the driver.
    pub fn act_for_driver<T>(&self, how: impl FnOnce(&mut StreamMux) -> T) -> T {
        self.nudged.set(false);
        let mut machine = self.machine.borrow_mut();
        let result = how(&mut machine);
        self.wake(&mut machine);
        result
    }

    fn wake(&self, machine: &mut StreamMux) {
        while let Some(token) = machine.take_woken() {
            self.thread.scheduler().wake(TaskId::from_bits(token), Wake::IO);
        }
    }

    /// Wakes the driver.
    pub fn wake_driver(&self) {
        if !self.nudged.replace(true) {
            self.thread.scheduler().wake(self.driver.get(), Wake::MESSAGE);
        }
    }

    /// Closes the connection without a GOAWAY.
    pub(crate) fn close_silently(&self) {
        self.closes_silently.set(true);
        self.act_for_stream(StreamMux::handle_eof);
        self.wake_driver();
    }

    /// Whether the connection closes without a GOAWAY (`silent-drop`).
    pub fn closes_silently(&self) -> bool {
        self.closes_silently.get()
    }

    /// Writes the output. `false`: the peer accepts no more bytes now.
    pub fn flush(&self, socket: &Transport) -> std::io::Result<bool> {
        loop {
            let mut machine = self.machine.borrow_mut();
            if machine.output().is_empty() {
                return Ok(true);
            }
            if socket.session().is_some() {
                machine.note_offered();
            }
            let sent = socket.send(&[std::io::IoSlice::new(machine.output())], false);
            drop(machine);
            match sent {
                Ok(count) => self.act_for_driver(|machine| machine.advance_output(count)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The stream that the peer has opened next.
    pub fn poll_opened(&self) -> Option<Key> {
        self.machine.borrow_mut().poll_opened()
    }
}
