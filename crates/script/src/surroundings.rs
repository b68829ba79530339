//! The part of the process that scripts reach from anywhere on a thread: logs and figures.

use crate::error::ScriptError;
use crate::process::{Process, SocketHandle};
use std::cell::RefCell;
use std::rc::Rc;

/// A thread as scripts see it.
pub trait Surroundings {
    /// Logs a line; without a level at the one that `txn:deflog` has.
    fn log(&self, level: Option<u8>, text: &[u8]);

    /// Reports the failure of a script.
    fn alert(&self, text: &str);

    /// Writes to the standard output (1) or the standard error output (2) without waiting.
    fn write(&self, descriptor: i32, text: &[u8]);

    /// Seconds since 1970 and microseconds.
    fn wall(&self) -> (i64, u32);

    /// Changes the weight of the running task (`core.set_nice`).
    fn set_nice(&self, _nice: i64) {}

    /// The process, once it serves.
    fn process(&self) -> Option<Rc<dyn Process>> {
        None
    }

    /// A socket without a connection.
    ///
    /// # Errors
    /// There are no sockets yet, or too many.
    fn open_socket(&self) -> Result<SocketHandle, ScriptError> {
        Err(ScriptError::refused("socket: uninitialized pools."))
    }
}

thread_local! {
    static SURROUNDINGS: RefCell<Option<Rc<dyn Surroundings>>> = const { RefCell::new(None) };
}

/// Gives the scripts of this thread their surroundings.
pub fn surround(with: Rc<dyn Surroundings>) {
    SURROUNDINGS.set(Some(with));
}

/// The surroundings of this thread.
pub(crate) fn here() -> Option<Rc<dyn Surroundings>> {
    SURROUNDINGS.with_borrow(Clone::clone)
}

/// The process that the thread belongs to.
///
/// # Errors
/// The process does not serve yet.
pub(crate) fn process(name: &str) -> Result<Rc<dyn Process>, ScriptError> {
    let process = here().and_then(|here| here.process());
    process.ok_or_else(|| {
        ScriptError::refused(format!("'{name}' is only possible once the process serves"))
    })
}

/// Reports the failure of a script.
pub fn alert(text: &str) {
    if let Some(here) = here() {
        here.alert(text);
    }
}

/// Writes to a standard stream.
pub(crate) fn write(descriptor: i32, text: &[u8]) {
    if let Some(here) = here() {
        here.write(descriptor, text);
    }
}
