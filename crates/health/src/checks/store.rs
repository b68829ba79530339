//! Sleeping checks of one thread, the next due first.

use super::rule;
pub(crate) use engine::state::backend::check_record::{EarlyCheck, Record};
use std::collections::BTreeSet;

/// A batch that moves is a few cache lines.
const _: () = assert!(size_of::<Record>() <= 24);

/// The sleeping checks of a thread.
#[derive(Debug, Default)]
pub struct Store(BTreeSet<Record>);

impl Store {
    /// Adds a check.
    pub fn put(&mut self, record: Record) {
        self.0.insert(record);
    }

    /// As [`Store::put`], but up to `slack` percent of its interval earlier, if that brings it
    /// nearer to a batch that it can join.
    pub fn put_near(&mut self, record: Record, slack: u32) {
        let slack = rule::slack(record.interval, slack);
        let due = if slack > 0 { self.draw(record, slack) } else { record.due };
        self.put(Record { due, ..record });
    }

    fn draw(&self, record: Record, slack: u64) -> u64 {
        let from = |due| Record { due, ..Record::default() };
        let behind = from(record.due.saturating_add(1));
        let Some(before) = self.0.range(..behind).next_back().map(|it| it.due) else {
            return record.due;
        };
        let mates = self.0.range(from(before)..behind).take(rule::BATCH).count();
        if mates >= rule::BATCH {
            return record.due;
        }
        let after = self.0.range(behind..).next().map(|it| it.due);
        // Round the circle: the check that is next now comes again an interval later.
        let again = || self.0.first().map(|it| it.due + u64::from(record.interval));
        rule::drawn(record.due, before, after.or_else(again), slack)
    }

    /// The time at which the next check is due.
    pub fn next(&self) -> Option<u64> {
        self.0.first().map(|next| next.due)
    }

    /// Moves the check of a server forward, if it sleeps here and would sleep longer.
    pub(super) fn hasten(&mut self, haste: EarlyCheck, now: u64) {
        let due = now + u64::from(haste.within);
        let later = Record { due: due + 1, ..Record::default() };
        let meant =
            |it: &&Record| (it.backend, it.slot, it.agent) == (haste.backend, haste.slot, false);
        if let Some(record) = self.0.range(later..).find(meant).copied() {
            self.0.remove(&record);
            self.put(Record { due, ..record });
        }
    }

    /// Fills `batch` with the checks that are due, and with those that may run along with them, up
    /// to `slack` percent of its interval early; nothing is taken if nothing is due.
    pub fn take_batch(&mut self, now: u64, slack: u32, batch: &mut Vec<Record>) {
        if self.next().is_none_or(|due| due > now) {
            return;
        }
        while batch.len() < rule::BATCH {
            let fits = |it: &Record| it.due <= now + rule::slack(it.interval, slack);
            match self.0.first() {
                Some(next) if fits(next) => batch.push(*next),
                _ => return,
            }
            self.0.pop_first();
        }
    }

    /// Checks in the store.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
