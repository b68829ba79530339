//! A reader-writer lock without poison: a panic of one holder does not make its data unusable for others.

use std::sync::{PoisonError, RwLockReadGuard, RwLockWriteGuard};

/// [`std::sync::RwLock`] without poison.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for shared access.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for exclusive access.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn data_is_usable_after_a_panic_of_its_writer() {
        let lock = RwLock::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _held = lock.write();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        *lock.write() += 1;
        assert_eq!(*lock.read(), 2);
    }
}
