//! The shared words and locks of the load index, under one name, so that models can replace them.

use std::sync::PoisonError;
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64},
};

/// A lock whose data stays valid even if a holder panicked: every holder leaves it consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
