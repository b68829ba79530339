//! The due times of shared work that one thread has to watch.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::sync::{Mutex, lock};
use super::{Mailbox, TaskId, Wake};

/// Due times watched by one thread, on cache lines of its own; other threads write here only to add
/// one.
#[repr(align(64))]
pub(super) struct Watch(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    /// Due times, earliest first, with the sets of threads that may watch in its place.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    /// The task to wake when an earlier time is added.
    task: Option<(Arc<Mailbox>, TaskId)>,
    left: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Self(Mutex::new(Watched::default()))
    }
}

impl Watch {
    pub(super) fn attend(&self, mailbox: Arc<Mailbox>, task: TaskId) {
        let mut watched = lock(&self.0);
        watched.task = Some((mailbox, task));
        watched.left = false;
    }

    /// Ends the watching; yields the times that were watched.
    pub(super) fn leave(&self) -> Vec<(u64, u64)> {
        let mut watched = lock(&self.0);
        (watched.task, watched.left) = (None, true);
        watched.due.drain().map(|Reverse(it)| it).collect()
    }

    /// Adds a due time and wakes the task if it is the earliest. `false`: the thread has left.
    pub(super) fn add(&self, due: u64, scope: u64) -> bool {
        let mut watched = lock(&self.0);
        if watched.left {
            return false;
        }
        let earlier = watched.due.peek().is_none_or(|Reverse((first, _))| due < *first);
        watched.due.push(Reverse((due, scope)));
        if let Some((mailbox, task)) = watched.task.as_ref().filter(|_| earlier) {
            mailbox.wake(*task, Wake::MESSAGE);
        }
        true
    }

    /// Takes out the times up to `now`; the thread will scan for their jobs.
    pub(super) fn pass(&self, now: u64) -> Vec<(u64, u64)> {
        let mut watched = lock(&self.0);
        let mut passed = Vec::new();
        while watched.due.peek().is_some_and(|Reverse((due, _))| *due <= now) {
            passed.extend(watched.due.pop().map(|Reverse(it)| it));
        }
        passed
    }

    /// Puts times back that the thread could not handle yet; it returns without being woken.
    pub(super) fn put_back(&self, watched: impl Iterator<Item = (u64, u64)>) {
        lock(&self.0).due.extend(watched.map(Reverse));
    }

    pub(super) fn next(&self) -> Option<u64> {
        lock(&self.0).due.peek().map(|Reverse((due, _))| *due)
    }
}
