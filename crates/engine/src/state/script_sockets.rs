//! The sockets that scripts of a thread have opened, by number.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Sockets of scripts that a thread keeps open at once.
const MOST: usize = 4_096;
/// Milliseconds of an operation, unless the script chooses others.
const TIMEOUT: u64 = 5_000;

/// A socket between two operations.
pub(crate) struct ScriptSocket {
    /// The connection, which the room `io` makes, once there is one.
    pub(crate) connection: Option<Box<dyn Any>>,
    /// Milliseconds of each operation; 0 without limit.
    pub(crate) timeout: u64,
    /// Whether the script has closed the socket, or no longer refers to it.
    closed: bool,
}

/// The sockets of a thread. The numbers of sockets are unique in the process.
#[derive(Default)]
pub struct ScriptSockets {
    opened: Cell<u64>,
    /// `None`: the connection is in use by an operation.
    sockets: RefCell<HashMap<u64, ScriptSocket>>,
}

impl ScriptSockets {
    /// A socket without a connection; `None`: there are too many.
    pub fn open(&self, thread: usize, threads: usize) -> Option<u64> {
        let mut sockets = self.sockets.borrow_mut();
        if sockets.len() >= MOST {
            return None;
        }
        let id = self.opened.get() * threads as u64 + thread as u64;
        self.opened.set(self.opened.get() + 1);
        sockets.insert(id, ScriptSocket { connection: None, timeout: TIMEOUT, closed: false });
        Some(id)
    }

    /// Forgets a socket, and ends its connection.
    pub fn close(&self, id: u64) {
        let gone = self.sockets.borrow_mut().remove(&id);
        drop(gone);
    }

    /// Runs `how` on a socket; `None` if it belongs to another thread or was forgotten.
    pub(crate) fn with<T>(&self, id: u64, how: impl FnOnce(&mut ScriptSocket) -> T) -> Option<T> {
        self.sockets.borrow_mut().get_mut(&id).map(how)
    }
}

impl ScriptSocket {
    /// Ends the connection; another one may follow.
    pub(crate) fn hang_up(&mut self) {
        (self.connection, self.closed) = (None, true);
    }

    /// Takes the connection out for an operation.
    pub(crate) fn take(&mut self) -> Option<Box<dyn Any>> {
        self.closed = false;
        self.connection.take()
    }

    /// Puts a connection back behind an operation, unless the script has closed the socket since.
    pub(crate) fn put(&mut self, connection: Box<dyn Any>) {
        if !self.closed {
            self.connection = Some(connection);
        }
    }
}
