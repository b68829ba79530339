//! Words and locks of the change log. The model checker compiles the log over its own.

pub(crate) use std::sync::MutexGuard;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
pub(crate) use stdx::Mutex;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
