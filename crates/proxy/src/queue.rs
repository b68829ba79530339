//! Requests that wait for a free server. Never decides which server serves them.
//!
//! A queue is a short-locked list of waiting tasks, by class and then oldest first
//! (`set-priority-*`). Whoever frees a place calls the first waiter that was not called yet; the
//! waiter tries to take the place, and waits on where it stands if another was quicker. A waiter
//! that gives up passes a call on that it has not used.

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
    place: Place,
    waiter: Waiter,
    /// A place was offered, and the waiter has not tried it yet.
    called: bool,
}

/// Waiting requests of one server or backend.
#[derive(Debug, Default)]
pub struct Queue {
    entries: Mutex<VecDeque<Entry>>,
    next: AtomicU64,
    /// How many wait, and the most that ever did.
    pub length: Gauge,
}

/// Who goes first: the lower class, then the earlier moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Order {
    /// `set-priority-class`
    pub class: i16,
    /// Arrival in milliseconds, moved by `set-priority-offset`.
    pub moment: i64,
}

/// A place in a queue. Must be given to [`Queue::leave`] in the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place(Order, u64);

impl Queue {
    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins behind those that go first.
    pub fn join(&self, waiter: Waiter, order: Order) -> Place {
        let mut entries = self.entries();
        let place = Place(order, self.next.fetch_add(1, Relaxed));
        let entry = Entry { place, waiter, called: false };
        match entries.back().is_none_or(|last| last.place < place) {
            true => entries.push_back(entry),
            false => {
                let at = entries.partition_point(|other| other.place < place);
                entries.insert(at, entry);
            }
        }
        self.length.enter();
        place
    }

    /// Whether a waiter may try to take a place: it was called, or nobody stands before it. A call
    /// is used up by that; who gets no place waits for the next one.
    pub fn may_try(&self, place: Place) -> bool {
        let mut entries = self.entries();
        let Some(at) = position(&entries, place) else { return false };
        std::mem::replace(&mut entries[at].called, false) || at == 0
    }

    /// Leaves for good. `false`: the waiter has been called and has not tried, and owes the call to
    /// the next one.
    pub fn leave(&self, place: Place) -> bool {
        self.length.leave();
        let mut entries = self.entries();
        let entry = position(&entries, place).and_then(|at| entries.remove(at));
        entry.is_some_and(|entry| !entry.called)
    }

    /// Calls the first waiter that was not called yet. `false` when there is none.
    pub fn call(&self) -> bool {
        if self.length.current() == 0 {
            return false;
        }
        let mut entries = self.entries();
        let Some(entry) = entries.iter_mut().find(|entry| !entry.called) else { return false };
        entry.called = true;
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

fn position(entries: &VecDeque<Entry>, place: Place) -> Option<usize> {
    entries.binary_search_by_key(&place, |entry| entry.place).ok()
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
    fn first_come_first_called_and_a_loser_keeps_its_place() {
        let queue = Queue::default();
        let all = [waiter(), waiter(), waiter()];
        let called = || all.each_ref().map(|waiter| waiter.mailbox.len());
        let [a, b, c] = all.each_ref().map(|waiter| queue.join(waiter.clone(), Order::default()));
        assert!(queue.call());
        assert_eq!(called(), [1, 0, 0]);
        assert!(queue.may_try(a) && !queue.may_try(b), "only who was called or stands first");
        assert!(queue.call());
        assert_eq!(called(), [2, 0, 0], "another was quicker, so it is called again");
        assert!(queue.call());
        assert_eq!(called(), [2, 1, 0]);
        assert!(queue.may_try(b), "called, though not the first");
        assert!(!queue.leave(a), "it was called and has not tried");
        assert!(queue.leave(b), "it has tried");
        assert!(queue.may_try(c), "nobody stands before it");
        assert!(queue.call() && !queue.call(), "each is called once");
        assert!(!queue.leave(c) && !queue.call() && queue.is_empty());
    }

    #[test]
    fn lower_classes_and_earlier_moments_go_first() {
        let queue = Queue::default();
        let orders = [(0, 5), (0, 3), (-1, 9), (1, 0)];
        let all = orders.map(|(class, moment)| {
            let waiter = waiter();
            (queue.join(waiter.clone(), Order { class, moment }), waiter)
        });
        let mut called = Vec::new();
        while queue.call() {
            let len = |index: &usize| !all[*index].1.mailbox.is_empty() && !called.contains(index);
            let index = (0..4).find(len).unwrap();
            called.push(index);
        }
        assert_eq!(called, [2, 1, 0, 3]);
        for (place, _) in all {
            assert!(!queue.leave(place));
        }
        assert!(queue.is_empty());
    }
}
