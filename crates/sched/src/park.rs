//! The protocol by which a thread goes to sleep without losing a wake-up from another thread.
//!
//! A sender posts its letter, fences, then tests `parked`; the owner sets `parked`, fences, then
//! looks for letters. Both fences are sequentially consistent, so at least one side sees the other:
//! either the owner does not sleep, or the sender rings. (With acquire and release alone wake-ups
//! are lost; `tests/park` shows it.) Cache lines written per remote wake-up: none while the owner
//! is awake, this flag once per sleep.

use super::sync::{AtomicBool, Ordering, fence};

/// Whether a thread sleeps, or is about to sleep.
#[derive(Debug)]
pub struct Park {
    parked: AtomicBool,
}

impl Park {
    /// The state of a thread that is awake.
    #[allow(clippy::new_without_default, reason = "the atomics of a model cannot be made anywhere")]
    pub fn new() -> Self {
        Self { parked: AtomicBool::new(false) }
    }

    /// A letter has just been posted. `true`: the sender must ring, and no other sender will.
    pub fn posted(&self) -> bool {
        fence(Ordering::SeqCst);
        self.parked.load(Ordering::Relaxed) && self.parked.swap(false, Ordering::Relaxed)
    }

    /// The owner announces that it is about to sleep; `has_mail` looks for letters. `false`: there
    /// are letters, do not sleep.
    pub fn park(&self, has_mail: impl FnOnce() -> bool) -> bool {
        self.parked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !has_mail() {
            return true;
        }
        self.unpark();
        false
    }

    /// The owner is awake again.
    pub fn unpark(&self) {
        self.parked.store(false, Ordering::Relaxed);
    }
}
