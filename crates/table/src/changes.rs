//! Reading the changes of a table, and merging the changes of other processes.
//!
//! Contract. A change is what this process does to an entry: creating it, counting, setting values,
//! and giving it a new span to live. A merge of [`Table::merge`] is no change, so it is not taught
//! back. A reader sees the entry, not the change: several changes are one, and the values are those
//! at the time when the reader exports them. An entry that has expired or was taken out is left
//! out. Readers hold no memory but their place, however slow they are.

use crate::change_log::ChangeCallback;
use crate::data::DataType;
use crate::entry::Entry;
use crate::shard::Probe;
use crate::store::{STEP, Table};
use crate::value::{Keep, LearnedValue};
use std::sync::Arc;

/// A reader of the changes of one table.
#[derive(Debug)]
pub struct ChangeReader {
    pub(crate) reader: u32,
    /// Per shard, up to which number it was read.
    read: Box<[u64]>,
    /// The shard at which the round continues.
    shard: usize,
    /// The last number that belongs to this round; nothing between rounds.
    round: Option<u64>,
}

/// The progress of calls of [`Table::changes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There may be more changes at hand.
    More,
    /// All changes up to this one were read, or replaced by later ones.
    Read(u64),
}

/// An entry as other processes teach it.
#[derive(Debug, Clone, Copy)]
pub struct Learned<'a> {
    /// Its key, as long as keys of the table are.
    pub key: &'a [u8],
    /// Milliseconds that it has left; the table's `expire` if `None`.
    pub expires_in: Option<u64>,
    /// Its values. Data types that are missing stay as they are.
    pub values: &'a [LearnedValue],
    /// The values that stay if this process has changed the entry too.
    pub precedence: Precedence,
}

/// How taught values are merged into an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precedence {
    /// The values that were learned from peers.
    Learned,
    /// The greater counts and rates, and the learned values otherwise. If this process has logged a
    /// change of the entry after this one, its own values.
    OwnAfter(u64),
    /// If this process logged its last change of the entry after the first of these changes and not
    /// after the second, the greater value of each kind. Values of this process that stay are
    /// logged as a change, so that all others get them.
    GreaterBetween(u64, u64),
    /// The greater counts and rates, and the learned values otherwise. For an entry that this
    /// process alone changes, and whose former values others teach it: if this process has changed
    /// the entry since it began, its values stay, and the entry is logged as changed, so that all
    /// others get it.
    OwnBefore,
    /// The learned values but for `conn_cur`: other peers teach the entries of a node that is
    /// absent, whose connections have ended.
    OfAbsentNode,
}

impl Precedence {
    /// The values that stay in an entry with this last change.
    fn of(self, change: u64) -> Keep {
        match self {
            Precedence::OwnAfter(after) if change > after => Keep::Own,
            Precedence::OwnBefore if change > 0 => Keep::Own,
            Precedence::OwnAfter(_) | Precedence::OwnBefore => Keep::Counts,
            Precedence::GreaterBetween(after, upto) if change > after && change <= upto => {
                Keep::Greater
            }
            _ => Keep::Nothing,
        }
    }
}

impl Table {
    /// Names the callback that wakes the reader. Only the first one named counts.
    pub fn set_change_callback(&self, callback: ChangeCallback) {
        let _ = self.layout.on_change.set(callback);
    }

    /// Asks for one call of the callback by the next change. A reader that wants to sleep arms the
    /// callback first, then reads until there is nothing left.
    pub fn arm(&self) {
        self.layout.log.arm();
    }

    /// Registers a reader of changes from now on; `None` if the table has 63 readers. Entries that
    /// exist already are found by [`Table::walk`].
    pub fn subscribe(&self) -> Option<ChangeReader> {
        // Before the reader is in place, so that no later change is taken for one that was read.
        let read = (0..self.parts.len()).map(|shard| self.layout.log.last(shard)).collect();
        let reader = self.layout.log.open()?;
        Some(ChangeReader { reader, read, shard: 0, round: None })
    }

    /// Ends a reader.
    pub fn unsubscribe(&self, reader: ChangeReader) {
        self.layout.log.close(reader.reader);
    }

    /// The number of the last change.
    pub fn last_change(&self) -> u64 {
        self.layout.log.count()
    }

    /// Appends the next changed entries to `found`, up to [`STEP`] of one shard. No lock is held
    /// when the caller exports them.
    pub fn changes(
        &self,
        reader: &mut ChangeReader,
        now: u64,
        found: &mut Vec<Arc<Entry>>,
    ) -> Progress {
        let log = &self.layout.log;
        let upto = *reader.round.get_or_insert_with(|| log.count());
        while let Some(part) = self.parts.get(reader.shard) {
            let at = reader.shard;
            if log.last(at) <= reader.read[at] {
                reader.shard += 1;
                continue;
            }
            let shard = part.lock();
            let before = found.len();
            let more = log.read(at, reader.reader, upto, STEP, |place, _| {
                let entry = shard.in_place(place).filter(|entry| !entry.has_expired(now));
                found.extend(entry.cloned());
            });
            drop(shard);
            if !more {
                reader.read[at] = upto;
                reader.shard += 1;
            }
            if found.len() > before || more {
                return Progress::More;
            }
        }
        (reader.shard, reader.round) = (0, None);
        Progress::Read(upto)
    }

    /// Passes over all changes so far, because the caller is about to read all entries.
    pub fn skip_changes(&self, reader: &mut ChangeReader) {
        for (shard, read) in reader.read.iter_mut().enumerate() {
            // Before the reader moves, so that no later change is taken for one that was read.
            *read = self.layout.log.last(shard);
        }
        self.layout.log.skip(reader.reader);
        (reader.shard, reader.round) = (0, None);
    }

    /// Moves a reader back to a change, so that it reads the later ones again.
    pub fn rewind(&self, reader: &mut ChangeReader, to: u64) {
        self.layout.log.rewind(reader.reader, to);
        reader.read.iter_mut().for_each(|read| *read = to.min(*read));
        (reader.shard, reader.round) = (0, None);
    }

    /// Merges an entry that another process has taught. The entry is made if there is none, its
    /// values replace those at hand but for `conn_cur`, and it expires as `learned` says. This
    /// counts as no change of this process. `false`: the table is full and no entry can be removed.
    pub fn merge(&self, learned: &Learned<'_>, now: u64) -> bool {
        let taken = self.enter_quietly(learned.key, now, |entry| {
            let keep = learned.precedence.of(entry.mark.number());
            let with_connections = learned.precedence != Precedence::OfAbsentNode;
            let taken = |it: &&LearnedValue| with_connections || it.data != DataType::ConnCur;
            let differs = entry.import(learned.values.iter().filter(taken), now, keep);
            match learned.expires_in {
                Some(left) if matches!(keep, Keep::Nothing | Keep::Counts) => {
                    entry.expires_at(now.saturating_add(left))
                }
                _ => {}
            }
            let is_restored = learned.precedence == Precedence::OwnBefore && keep == Keep::Own;
            if is_restored || (keep == Keep::Greater && differs) {
                entry.changed();
            }
        });
        if let Some(target) = self.write_to() {
            target.write_labels(learned, now);
        }
        taken.is_some()
    }

    /// Takes over what was learned for another table: tags and servers alone, for a whole span.
    fn write_labels(&self, learned: &Learned<'_>, now: u64) {
        self.enter_quietly(learned.key, now, |entry| {
            let labels = learned.values.iter().filter(|learned| learned.data.is_label());
            entry.import(labels, now, Keep::Nothing);
        });
    }

    /// Whether an entry is in the table and alive.
    pub fn contains(&self, key: &[u8], now: u64) -> bool {
        let (part, hash) = self.part(key);
        let shard = part.lock();
        shard.find(&Probe(hash, key)).is_some_and(|entry| !entry.has_expired(now))
    }
}

#[cfg(test)]
mod tests;
