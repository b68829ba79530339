//! The locks and words of parking and of shared work, under one name so that models can stand in.
//! Never anything but names.

use std::sync::PoisonError;
pub(crate) use std::sync::{
    Mutex, MutexGuard, TryLockError,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence},
};

/// A lock whose data stays valid even if a holder panicked: every holder leaves it consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same without waiting: `None` while somebody else holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
