//! A queue of wake-ups and kills that other threads send to one thread's scheduler.
//!
//! The queue is free of locks.
//!
//! [`crate::park`] describes how a sender and an owner that falls asleep agree. Cache lines written
//! per remote wake-up: the tail of the queue, and the flag of the park protocol once per sleep.

use crate::park::Park;
use crate::{TaskId, Wake};
use crossbeam_queue::SegQueue;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// Wakes the owner of a mailbox while it sleeps in its poller.
pub trait Alarm: Send + Sync {
    /// Makes the poller return soon, also if it has not begun to sleep yet.
    fn ring(&self);
}

/// An alarm that does nothing, for schedulers that are stepped by hand.
#[derive(Clone, Copy, Debug)]
pub struct NoAlarm;

impl Alarm for NoAlarm {
    fn ring(&self) {}
}

/// One message to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letter {
    /// Wake a task; the location is the caller's, for profiling.
    Wake(TaskId, Wake, &'static Location<'static>),
    /// Drop a task.
    Kill(TaskId),
}

/// Wake-ups and kills on their way to one thread's scheduler.
pub struct Mailbox {
    letters: SegQueue<Letter>,
    park: Park,
    rings: AtomicU64,
    alarm: Box<dyn Alarm>,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").field("letters", &self.letters.len()).finish_non_exhaustive()
    }
}

impl Mailbox {
    /// An empty mailbox whose owner is woken by `alarm`.
    pub fn new(alarm: Box<dyn Alarm>) -> Self {
        Self { letters: SegQueue::new(), park: Park::new(), rings: AtomicU64::new(0), alarm }
    }

    /// Wakes a task of the owner, from any thread.
    #[track_caller]
    pub fn wake(&self, id: TaskId, reason: Wake) {
        self.send(Letter::Wake(id, reason, Location::caller()));
    }

    /// Kills a task of the owner, from any thread.
    pub fn kill(&self, id: TaskId) {
        self.send(Letter::Kill(id));
    }

    /// Wakes the owner without a letter, for instance because the process received a signal.
    pub fn ring(&self) {
        self.alarm.ring();
    }

    fn send(&self, letter: Letter) {
        self.letters.push(letter);
        if self.park.posted() {
            self.rings.fetch_add(1, Ordering::Relaxed);
            self.alarm.ring();
        }
    }

    /// The owner announces that it is about to sleep. `false`: letters have arrived, do not sleep.
    pub fn park(&self) -> bool {
        self.park.park(|| !self.letters.is_empty())
    }

    /// The owner is awake again.
    pub fn unpark(&self) {
        self.park.unpark();
    }

    /// Takes the next letter. Called by the owner only.
    pub fn receive(&self) -> Option<Letter> {
        self.letters.pop()
    }

    /// Times that a sender found the owner asleep and rang its alarm.
    pub fn rings(&self) -> u64 {
        self.rings.load(Ordering::Relaxed)
    }

    /// Letters waiting.
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// Whether no letter waits.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use stdx::Key;

    struct CountingAlarm(Arc<AtomicUsize>);
    impl Alarm for CountingAlarm {
        fn ring(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn rings_only_a_sleeper_and_only_once() {
        let rings = Arc::new(AtomicUsize::new(0));
        let mailbox = Mailbox::new(Box::new(CountingAlarm(rings.clone())));
        let id = TaskId(Key { index: 1, generation: 1 });
        mailbox.wake(id, Wake::IO);
        assert_eq!(rings.load(Ordering::SeqCst), 0);
        assert!(!mailbox.park(), "mail keeps the owner awake");
        assert!(matches!(mailbox.receive(), Some(Letter::Wake(to, Wake::IO, _)) if to == id));
        assert!(mailbox.park());
        mailbox.kill(id);
        mailbox.kill(id);
        assert_eq!((rings.load(Ordering::SeqCst), mailbox.rings(), mailbox.len()), (1, 1, 2));
    }
}
