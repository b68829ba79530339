//! Requests that wait for a free server.
//!
//! A queue is a short-locked list of waiting tasks, by class and then oldest first
//! (`set-priority-*`). A request that frees a connection slot of a server calls the first waiter
//! that was not called yet. The waiter tries to take the slot, and keeps its position in the queue
//! if another request was quicker. A call names the server, so that a waiter that does not take the
//! slot passes the call on.

use reactor::{Mailbox, TaskId, Thread, Wake};
use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
    fence,
};
use std::sync::{Arc, MutexGuard};
use stdx::Mutex;
use transport::stats::counters::Gauge;

/// A waiting task of some thread.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// The mailbox of its thread.
    pub mailbox: Arc<Mailbox>,
    /// The task.
    pub task: TaskId,
}

impl Waiter {
    /// The running task of a thread.
    pub fn current(thread: &Thread) -> Self {
        Self { mailbox: thread.mailbox().clone(), task: thread.scheduler().current() }
    }
}

#[derive(Debug)]
struct Entry {
    place: QueuePlace,
    waiter: Waiter,
    /// The server with a free connection slot that the waiter was called for and has not tried yet.
    called: Option<usize>,
}

/// Calls the next waiter in the queues of the server in `slot` and of its backend, as if both were
/// one queue, so that neither blocks the other. `false` when no waiter is left to call.
pub(crate) fn call_either(server: &Queue, backend: Option<&Queue>, slot: usize) -> bool {
    let Some(backend) = backend else { return server.call(slot) };
    let (own, any) = (server.next_order(), backend.next_order());
    let own_first = any.is_none_or(|any| own.is_some_and(|own| own <= any));
    let (first, second) = if own_first { (server, backend) } else { (backend, server) };
    first.call(slot) || second.call(slot)
}

/// The waiters in their order.
#[derive(Debug, Default)]
struct Waiters {
    entries: VecDeque<Entry>,
    /// A connection slot came free when all waiters had been called already.
    missed: bool,
}

/// Waiting requests of one server or backend.
#[derive(Debug, Default)]
pub struct Queue {
    line: Mutex<Waiters>,
    next: AtomicU64,
    /// The number of waiters, and its peak.
    pub length: Gauge,
    /// Requests that have got a connection slot so far.
    passed: AtomicU32,
}

/// Whether a waiter may try to take a connection slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueTurn {
    /// Not now: other waiters have precedence.
    No,
    /// The waiter is the first in the queue, and a slot may have come free before it joined.
    First,
    /// The waiter was called for a free connection slot of the server with this index.
    Called(usize),
}

/// Duties of a waiter that leaves the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// The server of a call that the waiter has not used: the next waiter has to be called for it.
    pub called: Option<usize>,
    /// Connection slots came free when no waiter was left to call.
    pub missed: bool,
}

/// The order of waiters: the lower class first, then the earlier moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Priority {
    /// `set-priority-class`
    pub class: i16,
    /// Arrival in microseconds, moved by `set-priority-offset`.
    pub moment: i64,
}

/// A place in a queue. Must be given to [`Queue::leave`] in the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QueuePlace(Priority, u64);

impl Queue {
    fn line(&self) -> MutexGuard<'_, Waiters> {
        self.line.lock()
    }

    /// Adds a waiter at its position. The caller has to check the servers once afterwards: slots
    /// freed earlier are visible then, and slots freed later wake a waiter.
    pub fn join(&self, waiter: Waiter, order: Priority) -> QueuePlace {
        let mut line = self.line();
        let place = QueuePlace(order, self.next.fetch_add(1, Relaxed));
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

    /// Whether a waiter may try to take a connection slot. This uses its call up; a waiter that
    /// gets no slot waits for the next call.
    pub fn turn(&self, place: QueuePlace) -> QueueTurn {
        let mut line = self.line();
        let at = position(&line.entries, place);
        match at.and_then(|at| line.entries[at].called.take()) {
            Some(slot) => QueueTurn::Called(slot),
            None if at == Some(0) => QueueTurn::First,
            None => QueueTurn::No,
        }
    }

    /// Removes a waiter from the queue.
    pub fn leave(&self, place: QueuePlace) -> Left {
        let mut line = self.line();
        let at = position(&line.entries, place);
        let entry = at.and_then(|at| line.entries.remove(at));
        let missed = std::mem::take(&mut line.missed);
        // Under the lock: a queue that seems empty while a waiter is in it would hide a free slot
        // from a request that joins behind that waiter.
        self.length.leave();
        Left { called: entry.and_then(|entry| entry.called), missed }
    }

    /// Requests that have got a connection slot so far.
    pub fn passed(&self) -> u32 {
        self.passed.load(Relaxed)
    }

    /// Counts a request that has got a connection slot.
    pub fn pass(&self) {
        self.passed.fetch_add(1, Relaxed);
    }

    /// Calls the first waiter that was not called yet, because the server in `slot` has room.
    /// `false` if there is no such waiter.
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

    /// The order of the waiter that would be called next.
    pub fn next_order(&self) -> Option<Priority> {
        if self.is_deserted() {
            return None;
        }
        self.line().entries.iter().find(|entry| entry.called.is_none()).map(|entry| entry.place.0)
    }

    /// Whether the queue is empty, for a request that has just freed a connection slot: a waiter
    /// that joins and is not seen here sees that slot itself.
    pub(crate) fn is_deserted(&self) -> bool {
        self.length.settled() == 0
    }

    /// Waiting requests.
    pub fn len(&self) -> u32 {
        self.length.current()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn position(entries: &VecDeque<Entry>, place: QueuePlace) -> Option<usize> {
    entries.binary_search_by_key(&place, |entry| entry.place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server whose connection slots are released.
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
        let [a, b, c] =
            all.each_ref().map(|waiter| queue.join(waiter.clone(), Priority::default()));
        assert!(queue.call(S));
        assert_eq!(called(), [1, 0, 0]);
        assert_eq!((queue.turn(a), queue.turn(b)), (QueueTurn::Called(S), QueueTurn::No));
        assert_eq!(queue.turn(a), QueueTurn::First, "a call is used up");
        assert!(queue.call(S));
        assert_eq!(called(), [2, 0, 0], "another was quicker, so it is called again");
        assert!(queue.call(S));
        assert_eq!(called(), [2, 1, 0]);
        assert_eq!(queue.turn(b), QueueTurn::Called(S), "though not the first");
        assert_eq!(queue.leave(a), CALLED, "it was called and has not tried");
        assert_eq!(queue.leave(b), NOTHING, "it has tried");
        assert_eq!(queue.turn(c), QueueTurn::First, "nobody stands before it");
        assert!(queue.call(S) && !queue.call(S), "each is called once");
        let missed = Left { missed: true, ..CALLED };
        assert_eq!(queue.leave(c), missed, "a place was left for whoever comes behind");
        assert!(!queue.call(S) && queue.is_empty());
    }

    #[test]
    fn two_queues_move_on_like_one() {
        let (server, backend) = (Queue::default(), Queue::default());
        let all = [(0, 1), (0, 2), (0, 3), (-1, 9)].map(|(class, moment)| {
            let (waiter, order) = (waiter(), Priority { class, moment });
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
    fn waiters_for_any_server_do_not_get_one_that_takes_no_part() {
        let (server, backend) = (Queue::default(), Queue::default());
        let (any, own) = (waiter(), waiter());
        backend.join(any.clone(), Priority::default());
        server.join(own.clone(), Priority { class: 1, moment: 0 });
        assert!(call_either(&server, None, S) && !call_either(&server, None, S));
        assert_eq!((any.mailbox.len(), own.mailbox.len()), (0, 1));
    }

    #[test]
    fn a_free_slot_without_waiters_is_reported_once() {
        let queue = Queue::default();
        let [a, b] = [waiter(), waiter()].map(|waiter| queue.join(waiter, Priority::default()));
        assert!(queue.call(S) && queue.call(S + 1) && !queue.call(S + 2));
        let c = queue.join(waiter(), Priority::default());
        assert_eq!((queue.turn(a), queue.turn(c)), (QueueTurn::Called(S), QueueTurn::No));
        assert_eq!(queue.leave(a), Left { called: None, missed: true });
        assert_eq!(queue.leave(b), Left { called: Some(S + 1), missed: false });
        assert_eq!(queue.turn(c), QueueTurn::First);
    }

    #[test]
    fn lower_classes_and_earlier_moments_go_first() {
        let queue = Queue::default();
        let orders = [(0, 5), (0, 3), (-1, 9), (1, 0)];
        let all = orders.map(|(class, moment)| {
            let waiter = waiter();
            (queue.join(waiter.clone(), Priority { class, moment }), waiter)
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
