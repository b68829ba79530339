//! Shuttle's locks and atomics under the names of the product.

use std::sync::PoisonError;

pub(crate) use shuttle::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU8, AtomicU64},
};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok()
}
