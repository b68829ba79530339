//! Requests that wait for a free server. Never decides which server serves them.
//!
//! A queue is a short-locked list of waiting tasks, by class and then oldest first
//! (`set-priority-*`). Whoever frees a place calls the first waiter that was not called yet; the
//! waiter tries to take the place, and waits on where it stands if another was quicker. A waiter
//! that gives up passes a call on that it has not used.

use crate::counters::Gauge;
use reactor::{Mailbox, TaskId, Wake};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
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

/// Calls one of those who wait in the queues of a server and of its backend, as if both were one
/// queue: neither can keep the other from moving on. `false` when nobody is left to be called.
pub(crate) fn call_either(server: &Queue, backend: &Queue) -> bool {
    let (own, any) = (server.next_order(), backend.next_order());
    let own_first = any.is_none_or(|any| own.is_some_and(|own| own <= any));
    let (first, second) = if own_first { (server, backend) } else { (backend, server) };
    first.call() || second.call()
}

/// Waiting requests of one server or backend.
#[derive(Debug, Default)]
pub struct Queue {
    entries: Mutex<VecDeque<Entry>>,
    next: AtomicU64,
    /// How many wait, and the most that ever did.
    pub length: Gauge,
    /// Those who have got what they waited for, so far.
    passed: AtomicU32,
}

/// Whose turn it is to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Others'.
    No,
    /// That of the first in the queue, in case a place came free before it stood there.
    First,
    /// That of one for whom a place has come free.
    Called,
}

/// Who goes first: the lower class, then the earlier moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Order {
    /// `set-priority-class`
    pub class: i16,
    /// Arrival in microseconds, moved by `set-priority-offset`.
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

    /// Whether it is a waiter's turn to try to take a place. A call is used up by that; who gets no
    /// place waits for the next one.
    pub fn turn(&self, place: Place) -> Turn {
        let mut entries = self.entries();
        match position(&entries, place) {
            Some(at) if std::mem::replace(&mut entries[at].called, false) => Turn::Called,
            Some(0) => Turn::First,
            _ => Turn::No,
        }
    }

    /// Leaves for good. `false`: the waiter has been called and has not tried, and owes the call to
    /// the next one.
    pub fn leave(&self, place: Place) -> bool {
        self.length.leave();
        let mut entries = self.entries();
        let entry = position(&entries, place).and_then(|at| entries.remove(at));
        entry.is_some_and(|entry| !entry.called)
    }

    /// How many have got what they waited for, so far.
    pub fn passed(&self) -> u32 {
        self.passed.load(Relaxed)
    }

    /// One more has.
    pub fn pass(&self) {
        self.passed.fetch_add(1, Relaxed);
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

    /// Who would be called next, if anybody would.
    pub fn next_order(&self) -> Option<Order> {
        if self.length.current() == 0 {
            return None;
        }
        self.entries().iter().find(|entry| !entry.called).map(|entry| entry.place.0)
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
        assert_eq!((queue.turn(a), queue.turn(b)), (Turn::Called, Turn::No));
        assert_eq!(queue.turn(a), Turn::First, "a call is used up");
        assert!(queue.call());
        assert_eq!(called(), [2, 0, 0], "another was quicker, so it is called again");
        assert!(queue.call());
        assert_eq!(called(), [2, 1, 0]);
        assert_eq!(queue.turn(b), Turn::Called, "though not the first");
        assert!(!queue.leave(a), "it was called and has not tried");
        assert!(queue.leave(b), "it has tried");
        assert_eq!(queue.turn(c), Turn::First, "nobody stands before it");
        assert!(queue.call() && !queue.call(), "each is called once");
        assert!(!queue.leave(c) && !queue.call() && queue.is_empty());
    }

    #[test]
    fn two_queues_move_on_like_one() {
        let (server, backend) = (Queue::default(), Queue::default());
        let all = [(0, 1), (0, 2), (0, 3), (-1, 9)].map(|(class, moment)| {
            let (waiter, order) = (waiter(), Order { class, moment });
            let queue = if moment % 2 == 1 { &server } else { &backend };
            queue.join(waiter.clone(), order);
            waiter
        });
        for expected in [3, 0, 1, 2] {
            let before = all.each_ref().map(|waiter| waiter.mailbox.len());
            assert!(call_either(&server, &backend));
            let changed = |index: &usize| all[*index].mailbox.len() != before[*index];
            assert_eq!((0..4).find(changed), Some(expected));
        }
        assert!(!call_either(&server, &backend));
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
