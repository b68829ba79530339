//! Tracked entries: what `track-sc*` rules leave with a session or a stream.

use crate::data::DataType;
use crate::entry::Entry;
use std::cell::OnceCell;
use std::sync::Arc;

/// Entries that one session or stream can track (`track-sc0` to `track-sc2`).
pub const SLOTS: usize = 3;

/// A hold on an entry; its drop gives the entry up and takes it out of `conn_cur`.
#[derive(Debug)]
pub struct Tracker(Arc<Entry>);

impl Tracker {
    /// The caller must have called [`Entry::hold`].
    pub(crate) fn new(entry: Arc<Entry>) -> Tracker {
        Tracker(entry)
    }

    /// The entry.
    pub fn entry(&self) -> &Entry {
        &self.0
    }

    /// Gives the entry up; it lives on for a whole span from now.
    pub fn release(self, now: u64) {
        self.0.touch(now);
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.0.release();
        // Peers read the entry after this, on any thread: the count is down by now.
        self.0.changed();
    }
}

/// A use of an entry that is no connection: the entry stays as long as this, and `conn_cur` does
/// not count it.
#[derive(Debug)]
pub struct EntryUse(Arc<Entry>);

impl EntryUse {
    /// The caller must have called [`Entry::begin_use`].
    pub(crate) fn new(entry: Arc<Entry>) -> EntryUse {
        EntryUse(entry)
    }

    /// The entry.
    pub fn entry(&self) -> &Entry {
        &self.0
    }
}

impl Drop for EntryUse {
    fn drop(&mut self) {
        self.0.end_use();
    }
}

/// The entries that a session or a stream tracks. The first rule that fills a place wins.
#[derive(Debug, Default)]
pub struct Trackers([OnceCell<Tracker>; SLOTS]);

impl Trackers {
    /// The entry tracked in a place.
    pub fn get(&self, slot: usize) -> Option<&Entry> {
        self.0.get(slot)?.get().map(Tracker::entry)
    }

    /// Whether nothing is tracked.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|cell| cell.get().is_none())
    }

    /// Fills a place that is free; a tracker too many is dropped.
    pub fn set(&self, slot: usize, tracker: Tracker) {
        if let Some(cell) = self.0.get(slot) {
            let _ = cell.set(tracker);
        }
    }

    /// Counts events on all entries.
    pub fn count(&self, events: &[DataType], amount: u64, now: u64) {
        for tracker in self.0.iter().filter_map(OnceCell::get) {
            tracker.entry().count(events, amount, now);
        }
    }

    /// Gives all entries up; they live on for a whole span from now.
    pub fn release(&mut self, now: u64) {
        for cell in &mut self.0 {
            if let Some(tracker) = cell.take() {
                tracker.release(now);
            }
        }
    }
}
