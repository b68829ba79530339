//! A mutex without poison: a panic of one holder does not make its data unusable for others.

use std::sync::{MutexGuard, PoisonError, TryLockError};

/// A mutex whose data stays usable after a panic. Holders must leave the data consistent at each
/// point that can panic.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// The value, because no other thread can refer to it.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock. The guard is that of std, so it can be passed to a `Condvar`.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock without waiting; `None` while another thread holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value, because the borrow is exclusive.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn data_is_usable_after_a_panic_of_its_holder() {
        let shared = Arc::new(Mutex::new(1));
        let other = shared.clone();
        let holder = std::thread::spawn(move || {
            let mut value = other.lock();
            *value += 1;
            assert_eq!(*value, 0, "a panic with the lock held");
        });
        assert!(holder.join().is_err());
        assert_eq!(*shared.lock(), 2);
        assert_eq!(shared.try_lock().map(|value| *value), Some(2));
        let _held = shared.lock();
        assert!(shared.try_lock().is_none());
    }
}
