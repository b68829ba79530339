//! The locks and atomics of parking and shared work under one name, so that models can replace
//! them.

pub(crate) use std::sync::{
    MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence},
};
pub(crate) use stdx::Mutex;

/// Waits for a lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Takes a lock without waiting; `None` while another thread holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock()
}
