//! Sleeping checks of one thread, the next due first. Never runs one.

use super::rule;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A sleeping check: plain data that may move between threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    /// The backend, by index.
    pub(super) backend: u32,
    /// The server in it.
    pub(super) slot: u32,
    /// When it is due: monotonic milliseconds, the same for all threads.
    pub(super) due: u64,
    /// Milliseconds that it sleeps in all.
    pub(super) interval: u32,
    /// It has changed threads since it woke up, and does not do so again.
    pub(super) moved: bool,
}

impl Ord for Record {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.due, it.backend, it.slot, it.interval, it.moved);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Record {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The sleeping checks of a thread.
#[derive(Debug, Default)]
pub(super) struct Store(BinaryHeap<Reverse<Record>>);

impl Store {
    pub(super) fn put(&mut self, record: Record) {
        self.0.push(Reverse(record));
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<u64> {
        self.0.peek().map(|next| next.0.due)
    }

    /// Fills `batch` with what is due, and with what may run along with it; nothing is taken if
    /// nothing is due.
    pub(super) fn take_batch(&mut self, now: u64, batch: &mut Vec<Record>) {
        if self.next().is_none_or(|due| due > now) {
            return;
        }
        while batch.len() < rule::BATCH {
            let fits = |it: &Record| it.due <= now + rule::slack(it.interval);
            match self.0.peek() {
                Some(Reverse(next)) if fits(next) => batch.push(*next),
                _ => return,
            }
            self.0.pop();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
