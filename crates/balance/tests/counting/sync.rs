//! Words and locks that note the cache line of each write.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, atomic::Ordering};

thread_local! {
    static WRITTEN: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
}

/// How many different lines `work` writes.
pub(crate) fn lines(work: impl FnOnce()) -> usize {
    WRITTEN.with_borrow_mut(BTreeSet::clear);
    work();
    WRITTEN.with_borrow(BTreeSet::len)
}

fn note<T>(place: &T) {
    let line = std::ptr::from_ref(place).addr() / 64;
    WRITTEN.with_borrow_mut(|written| written.insert(line));
}

macro_rules! word {
    ($name:ident, $int:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name(std::sync::atomic::$name);

        impl $name {
            pub(crate) fn new(value: $int) -> Self {
                Self(value.into())
            }

            pub(crate) fn load(&self, order: Ordering) -> $int {
                self.0.load(order)
            }

            pub(crate) fn store(&self, value: $int, order: Ordering) {
                note(self);
                self.0.store(value, order);
            }

            pub(crate) fn swap(&self, value: $int, order: Ordering) -> $int {
                note(self);
                self.0.swap(value, order)
            }

            pub(crate) fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                note(self);
                self.0.fetch_add(value, order)
            }

            pub(crate) fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                note(self);
                self.0.fetch_sub(value, order)
            }

            pub(crate) fn compare_exchange(
                &self,
                from: $int,
                to: $int,
                set: Ordering,
                fetch: Ordering,
            ) -> Result<$int, $int> {
                note(self);
                self.0.compare_exchange(from, to, set, fetch)
            }

            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                step: impl FnMut($int) -> Option<$int>,
            ) -> Result<$int, $int> {
                self.0.fetch_update(set, fetch, step).inspect(|_| note(self))
            }
        }
    };
}

word!(AtomicU32, u32);
word!(AtomicU64, u64);

/// A lock on a line of its own; the value behind it counts as another line.
#[derive(Debug)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(value.into())
    }
}

pub(crate) struct MutexGuard<'a, T>(std::sync::MutexGuard<'a, T>);

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    note(mutex);
    WRITTEN.with_borrow_mut(|written| written.insert(0));
    MutexGuard(mutex.0.lock().unwrap_or_else(PoisonError::into_inner))
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
