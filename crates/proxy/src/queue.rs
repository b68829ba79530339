//! Requests that wait for a free server. Never decides which server serves them.
//!
//! A queue is a short-locked list of waiting tasks, oldest first. Whoever frees a place takes the first
//! waiter out and wakes it; the waiter tries to take the place, and goes back to the front if another
//! was quicker. A waiter that gives up takes itself out, and passes a wake-up on that it no longer needs.

use crate::counters::Gauge;
use reactor::{Mailbox, TaskId, Wake};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A waiting task of some thread.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// The way to its thread.
    pub mailbox: Arc<Mailbox>,
    /// The task.
    pub task: TaskId,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    waiter: Waiter,
}

/// Waiting requests of one server or backend.
#[derive(Debug, Default)]
pub struct Queue {
    entries: Mutex<VecDeque<Entry>>,
    next: AtomicU64,
    /// How many wait, and the most that ever did.
    pub length: Gauge,
}

/// A place in a queue. Must be given to [`Queue::leave`] in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u64);

impl Queue {
    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins at the end.
    pub fn join(&self, waiter: Waiter) -> Place {
        let number = self.next.fetch_add(1, Relaxed);
        self.entries().push_back(Entry { number, waiter });
        self.length.enter();
        Place(number)
    }

    /// Goes back to where it was, after a wake-up that came to nothing.
    pub fn rejoin(&self, place: Place, waiter: Waiter) {
        let mut entries = self.entries();
        let at = entries.partition_point(|entry| entry.number < place.0);
        if entries.get(at).is_none_or(|entry| entry.number != place.0) {
            entries.insert(at, Entry { number: place.0, waiter });
        }
    }

    /// Leaves for good. `false`: the waiter had been called already, and owes the call to the next
    /// one if it does not use it.
    pub fn leave(&self, place: Place) -> bool {
        self.length.leave();
        let mut entries = self.entries();
        let at = entries.partition_point(|entry| entry.number < place.0);
        let found = entries.get(at).is_some_and(|entry| entry.number == place.0);
        if found {
            entries.remove(at);
        }
        found
    }

    /// Calls the first waiter. `false` when nobody waits.
    pub fn call(&self) -> bool {
        if self.length.current() == 0 {
            return false;
        }
        let first = self.entries().pop_front();
        let Some(entry) = first else { return false };
        entry.waiter.mailbox.wake(entry.waiter.task, Wake::RESOURCE);
        true
    }

    /// Calls everybody, because the server that they wait for is gone.
    pub fn call_all(&self) {
        while self.call() {}
    }

    /// Waiting requests.
    pub fn len(&self) -> u32 {
        self.length.current()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;
    impl sched::Alarm for Silent {
        fn ring(&self) {}
    }

    fn waiter() -> Waiter {
        Waiter { mailbox: Arc::new(Mailbox::new(Box::new(Silent))), task: TaskId::NONE }
    }

    #[test]
    fn first_come_first_called_and_a_loser_goes_back_to_the_front() {
        let queue = Queue::default();
        let (a, b, c) = (waiter(), waiter(), waiter());
        let places = [&a, &b, &c].map(|waiter| queue.join(waiter.clone()));
        assert!(queue.call());
        assert_eq!([&a, &b, &c].map(|waiter| waiter.mailbox.len()), [1, 0, 0]);
        queue.rejoin(places[0], a.clone());
        assert!(queue.call());
        assert_eq!([&a, &b, &c].map(|waiter| waiter.mailbox.len()), [2, 0, 0]);
        assert!(!queue.leave(places[0]), "it was called");
        assert!(queue.leave(places[1]), "it was not");
        assert!(queue.call());
        assert_eq!([&b, &c].map(|waiter| waiter.mailbox.len()), [0, 1]);
        assert!(!queue.leave(places[2]));
        assert!(!queue.call() && queue.is_empty());
    }
}
