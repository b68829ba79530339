//! The change log of a table: which entries this process has changed, in order, for each reader.
//!
//! Protocol. A thread changes an entry, lets its lock go, and notes the change. The log gives the
//! change a number and moves the entry to the end of its shard's list, under the lock of that list.
//! Between two reads of a shard an entry is moved once: while the number of its last change is
//! higher than the number up to which its shard was read, readers will still read its values, and
//! the note is two loads. A reader takes entries under the locks of the shard and the list,
//! publishes how far it has come, lets both go, and only then reads the values; so a change that a
//! note has left out is in them.
//!
//! Without a reader the log is off: a note is one load and a branch.
//!
//! Order of locks: shard, list. The lock of an entry is never held while that of a list is taken.

use super::change_list::{ChangeList, MAX_READERS};
use super::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, lock};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// The callback for a table that changes while its reader sleeps. The callback runs on the thread
/// of the change, may run under a lock of the table, and must not use the table.
pub type ChangeCallback = Box<dyn Fn() + Send + Sync>;

/// The part of an entry that belongs to the log.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    /// The number of its last change that was logged; 0 before the first.
    number: AtomicU64,
    /// The entry was taken out of its table. Written under the lock of its shard.
    gone: AtomicBool,
}

impl Mark {
    /// The number of its last change that was logged; 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// Whether the entry was taken out of its table.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }
}

/// The log of one shard.
#[derive(Debug, Default)]
#[repr(align(128))]
struct ShardLog {
    list: Mutex<ChangeList>,
    /// The highest number that a reader has taken out of this list.
    read: AtomicU64,
    /// The number of the last change of this shard.
    last: AtomicU64,
}

/// Words that every logged change writes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Numbers {
    /// Changes so far.
    count: AtomicU64,
    /// The reader wants to be woken by the next change.
    armed: AtomicBool,
}

/// The log of a table.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    readers: AtomicU32,
    /// A bit for each reader in use.
    taken: Mutex<u64>,
    numbers: Numbers,
    shards: Box<[ShardLog]>,
}

impl ChangeLog {
    /// A log that is off, for a table with this many shards.
    pub(crate) fn new(shards: usize) -> ChangeLog {
        ChangeLog {
            readers: AtomicU32::new(0),
            taken: Mutex::new(0),
            numbers: Numbers::default(),
            shards: (0..shards).map(|_| ShardLog::default()).collect(),
        }
    }

    /// Whether there is a reader.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.readers.load(Relaxed) > 0
    }

    /// Notes a change that was made to an entry before. `true`: the reader has to be woken.
    pub(crate) fn note(&self, shard: usize, place: u32, mark: &Mark) -> bool {
        let log = &self.shards[shard];
        if mark.number.load(Relaxed) > log.read.load(Relaxed) {
            return false;
        }
        let mut list = lock(&log.list);
        if mark.gone.load(Relaxed) {
            return false;
        }
        let number = self.numbers.count.fetch_add(1, Relaxed) + 1;
        list.append(place, number);
        mark.number.store(number, Relaxed);
        log.last.store(number, Relaxed);
        drop(list);
        // A reader that arms itself afterwards sees the number; a reader that was armed before is
        // woken.
        self.numbers.armed.swap(false, AcqRel)
    }

    /// Forgets an entry, which is being taken out of its shard.
    pub(crate) fn forget(&self, shard: usize, place: u32, mark: &Mark) {
        if !self.is_on() {
            mark.gone.store(true, Relaxed);
            return;
        }
        let mut list = lock(&self.shards[shard].list);
        mark.gone.store(true, Relaxed);
        list.remove(place);
    }

    /// Adds a reader, which reads the changes from now on. `None` when there are too many readers.
    pub(crate) fn open(&self) -> Option<u32> {
        let mut taken = lock(&self.taken);
        let reader = (!*taken).trailing_zeros();
        if reader >= MAX_READERS {
            return None;
        }
        *taken |= 1 << reader;
        self.readers.fetch_add(1, Relaxed);
        self.skip(reader);
        Some(reader)
    }

    /// Puts a reader behind all changes. For it they are read: a further change of an entry has to
    /// be logged, even if other readers have yet to see the last one.
    pub(crate) fn skip(&self, reader: u32) {
        for log in &self.shards {
            let mut list = lock(&log.list);
            let last = log.last.load(Relaxed);
            list.open(reader, last);
            log.read.store(last.max(log.read.load(Relaxed)), Relaxed);
        }
    }

    /// Removes a reader.
    pub(crate) fn close(&self, reader: u32) {
        let mut taken = lock(&self.taken);
        for log in &self.shards {
            lock(&log.list).close(reader);
        }
        *taken &= !(1 << reader);
        self.readers.fetch_sub(1, Relaxed);
    }

    /// Asks for a wake-up by the next change that is not yet to be seen.
    pub(crate) fn arm(&self) {
        self.numbers.armed.swap(true, AcqRel);
    }

    /// The number of the last change.
    pub(crate) fn count(&self) -> u64 {
        self.numbers.count.load(Relaxed)
    }

    /// The number of the last change of a shard.
    pub(crate) fn last(&self, shard: usize) -> u64 {
        self.shards[shard].last.load(Relaxed)
    }

    /// Yields up to `max` changes of a shard that are numbered up to `upto`, by place and number.
    /// `true`: there may be more. The caller holds the lock of the shard.
    pub(crate) fn read(
        &self,
        shard: usize,
        reader: u32,
        upto: u64,
        max: usize,
        mut visit: impl FnMut(u32, u64),
    ) -> bool {
        let log = &self.shards[shard];
        let mut list = lock(&log.list);
        let mut highest = log.read.load(Relaxed);
        let more = list.read(reader, upto, max, |place, number| {
            highest = highest.max(number);
            visit(place, number);
        });
        log.read.store(highest, Relaxed);
        more
    }

    /// Moves a reader back, so that it reads the changes above `to` again.
    pub(crate) fn rewind(&self, reader: u32, to: u64) {
        for log in &self.shards {
            lock(&log.list).rewind(reader, to);
        }
    }
}
