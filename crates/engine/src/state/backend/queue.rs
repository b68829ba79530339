//! Requests that wait for a free server.
//!
//! A queue is a short-locked list of waiting tasks, by class and then oldest first
//! (`set-priority-*`). Whoever frees a place calls the first waiter that was not called yet; the
//! waiter tries to take the place, and waits on where it stands if another was quicker. A call
//! names the server whose place is free, so that a waiter that does not take it passes it on.

use reactor::{Mailbox, TaskId, Wake};
use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
    fence,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use transport::stats::counters::Gauge;

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
    /// The server on which a place was offered that the waiter has not tried yet.
    called: Option<usize>,
}

/// Calls one of those who wait in the queues of the server in `slot` and of its backend, as if both
/// were one queue: neither can keep the other from moving on. `false` when nobody is left to be
/// called.
pub(crate) fn call_either(server: &Queue, backend: Option<&Queue>, slot: usize) -> bool {
    let Some(backend) = backend else { return server.call(slot) };
    let (own, any) = (server.next_order(), backend.next_order());
    let own_first = any.is_none_or(|any| own.is_some_and(|own| own <= any));
    let (first, second) = if own_first { (server, backend) } else { (backend, server) };
    first.call(slot) || second.call(slot)
}

/// Those who wait, in their order.
#[derive(Debug, Default)]
struct Line {
    entries: VecDeque<Entry>,
    /// A place came free when all had been called already.
    missed: bool,
}

/// Waiting requests of one server or backend.
#[derive(Debug, Default)]
pub struct Queue {
    line: Mutex<Line>,
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
    /// That of one for whom a place has come free, on the server in this slot.
    Called(usize),
}

/// What a waiter leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// It has been called and has not tried: it owes the call to the next one.
    pub called: Option<usize>,
    /// Places came free for which nobody was left to be called.
    pub missed: bool,
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
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins behind those that go first. What came free before is seen by a look at the servers
    /// that follows; for what comes free from now on, one who waits is called.
    pub fn join(&self, waiter: Waiter, order: Order) -> Place {
        let mut line = self.line();
        let place = Place(order, self.next.fetch_add(1, Relaxed));
        let entry = Entry { place, waiter, called: None };
        match line.entries.back().is_none_or(|last| last.place < place) {
            true => line.entries.push_back(entry),
            false => {
                let at = line.entries.partition_point(|other| other.place < place);
                line.entries.insert(at, entry);
            }
        }
        self.length.enter();
        fence(SeqCst);
        place
    }

    /// Whether it is a waiter's turn to try to take a place. A call is used up by that; who gets no
    /// place waits for the next one.
    pub fn turn(&self, place: Place) -> Turn {
        let mut line = self.line();
        let at = position(&line.entries, place);
        match at.and_then(|at| line.entries[at].called.take()) {
            Some(slot) => Turn::Called(slot),
            None if at == Some(0) => Turn::First,
            None => Turn::No,
        }
    }

    /// Leaves for good.
    pub fn leave(&self, place: Place) -> Left {
        let mut line = self.line();
        let at = position(&line.entries, place);
        let entry = at.and_then(|at| line.entries.remove(at));
        let missed = std::mem::take(&mut line.missed);
        // Under the lock: a queue that seems deserted while somebody stands in it would hide a
        // place from whoever joins behind that one.
        self.length.leave();
        Left { called: entry.and_then(|entry| entry.called), missed }
    }

    /// How many have got what they waited for, so far.
    pub fn passed(&self) -> u32 {
        self.passed.load(Relaxed)
    }

    /// One more has.
    pub fn pass(&self) {
        self.passed.fetch_add(1, Relaxed);
    }

    /// Calls the first waiter that was not called yet, for a place on the server in `slot`. `false`
    /// when there is none.
    pub fn call(&self, slot: usize) -> bool {
        if self.is_deserted() {
            return false;
        }
        let mut line = self.line();
        let Some(entry) = line.entries.iter_mut().find(|entry| entry.called.is_none()) else {
            line.missed = !line.entries.is_empty();
            return false;
        };
        entry.called = Some(slot);
        entry.waiter.mailbox.wake(entry.waiter.task, Wake::RESOURCE);
        true
    }

    /// Who would be called next, if anybody would.
    pub fn next_order(&self) -> Option<Order> {
        if self.is_deserted() {
            return None;
        }
        self.line().entries.iter().find(|entry| entry.called.is_none()).map(|entry| entry.place.0)
    }

    /// Whether nobody waits, as whoever has just given a place up has to ask: who joins and is not
    /// seen here will see that place.
    pub(crate) fn is_deserted(&self) -> bool {
        self.length.settled() == 0
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

    /// The server whose places come free.
    const S: usize = 7;
    const CALLED: Left = Left { called: Some(S), missed: false };
    const NOTHING: Left = Left { called: None, missed: false };

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
        assert!(queue.call(S));
        assert_eq!(called(), [1, 0, 0]);
        assert_eq!((queue.turn(a), queue.turn(b)), (Turn::Called(S), Turn::No));
        assert_eq!(queue.turn(a), Turn::First, "a call is used up");
        assert!(queue.call(S));
        assert_eq!(called(), [2, 0, 0], "another was quicker, so it is called again");
        assert!(queue.call(S));
        assert_eq!(called(), [2, 1, 0]);
        assert_eq!(queue.turn(b), Turn::Called(S), "though not the first");
        assert_eq!(queue.leave(a), CALLED, "it was called and has not tried");
        assert_eq!(queue.leave(b), NOTHING, "it has tried");
        assert_eq!(queue.turn(c), Turn::First, "nobody stands before it");
        assert!(queue.call(S) && !queue.call(S), "each is called once");
        let missed = Left { missed: true, ..CALLED };
        assert_eq!(queue.leave(c), missed, "a place was left for whoever comes behind");
        assert!(!queue.call(S) && queue.is_empty());
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
            assert!(call_either(&server, Some(&backend), S));
            let changed = |index: &usize| all[*index].mailbox.len() != before[*index];
            assert_eq!((0..4).find(changed), Some(expected));
        }
        assert!(!call_either(&server, Some(&backend), S));
    }

    #[test]
    fn those_who_wait_for_any_do_not_get_a_server_that_takes_no_part() {
        let (server, backend) = (Queue::default(), Queue::default());
        let (any, own) = (waiter(), waiter());
        backend.join(any.clone(), Order::default());
        server.join(own.clone(), Order { class: 1, moment: 0 });
        assert!(call_either(&server, None, S) && !call_either(&server, None, S));
        assert_eq!((any.mailbox.len(), own.mailbox.len()), (0, 1));
    }

    #[test]
    fn a_place_that_nobody_could_be_called_for_is_told_once() {
        let queue = Queue::default();
        let [a, b] = [waiter(), waiter()].map(|waiter| queue.join(waiter, Order::default()));
        assert!(queue.call(S) && queue.call(S + 1) && !queue.call(S + 2));
        let c = queue.join(waiter(), Order::default());
        assert_eq!((queue.turn(a), queue.turn(c)), (Turn::Called(S), Turn::No));
        assert_eq!(queue.leave(a), Left { called: None, missed: true });
        assert_eq!(queue.leave(b), Left { called: Some(S + 1), missed: false });
        assert_eq!(queue.turn(c), Turn::First);
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
        while queue.call(S) {
            let len = |index: &usize| !all[*index].1.mailbox.is_empty() && !called.contains(index);
            let index = (0..4).find(len).unwrap();
            called.push(index);
        }
        assert_eq!(called, [2, 1, 0, 3]);
        for (place, _) in all {
            assert_eq!(queue.leave(place).called, Some(S));
        }
        assert!(queue.is_empty());
    }
}
