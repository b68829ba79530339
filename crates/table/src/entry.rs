//! An entry of a stick table: its key, its values and its users.
//!
//! The values are behind a lock of their own, held for a few nanoseconds: rates need several words
//! changed together. Invariant: the lock of an entry may be taken under the lock of its shard, not
//! the other way round.

use crate::aggregate::{EntryOfNode, ForeignConnections};
use crate::change_log::Mark;
use crate::data::{DataKind, DataType};
use crate::layout::{Cell, Layout};
use crate::rate::Rate;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};
use stdx::Mutex;

/// Keys up to this length need no memory of their own.
const INLINE: usize = 22;

/// A key as it is kept.
#[derive(Debug)]
pub(crate) enum StoredKey {
    Inline(u8, [u8; INLINE]),
    Heap(Box<[u8]>),
}

impl StoredKey {
    fn new(key: &[u8]) -> StoredKey {
        if key.len() > INLINE {
            return StoredKey::Heap(key.into());
        }
        let mut bytes = [0; INLINE];
        bytes[..key.len()].copy_from_slice(key);
        StoredKey::Inline(key.len() as u8, bytes)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            StoredKey::Inline(len, bytes) => &bytes[..usize::from(*len)],
            StoredKey::Heap(bytes) => bytes,
        }
    }
}

/// An entry of a table.
#[derive(Debug)]
pub struct Entry {
    data: Mutex<Data>,
    /// When it expires; for tables without expiry, when it was touched last.
    expire: AtomicU64,
    /// Its place in the log of changes, and whether it was taken out of the table.
    pub(crate) mark: Mark,
    /// Its place in its shard; written and read under the shard's lock.
    pub(crate) place: AtomicU32,
    pub(crate) hash: u64,
    pub(crate) layout: Arc<Layout>,
    key: StoredKey,
}

#[derive(Debug)]
pub(crate) struct Data {
    /// The number of trackers of the entry.
    uses: u32,
    pub(crate) words: Box<[u64]>,
    pub(crate) server_key: Option<Arc<str>>,
}

impl Data {
    /// The value in a cell.
    fn value(&self, cell: Cell, now: u64) -> u64 {
        match cell.kind {
            DataKind::Rate => Rate::load(&self.words[cell.at..]).read(now, cell.period).into(),
            _ => self.words[cell.at],
        }
    }
}

impl Layout {
    /// A stored number as it reads now.
    pub(crate) fn number(&self, data: DataType, word: u64, now: u64) -> u64 {
        match (data, &self.connections) {
            (DataType::ConnCur, ForeignConnections::OfNode(session)) => session.open(word, now),
            _ => word,
        }
    }
}

impl Entry {
    pub(crate) fn new(layout: &Arc<Layout>, key: &[u8], hash: u64, now: u64) -> Entry {
        let words = vec![0; layout.words].into();
        let entry = Entry {
            data: Mutex::new(Data { uses: 0, words, server_key: None }),
            expire: AtomicU64::new(0),
            mark: Mark::default(),
            place: AtomicU32::new(0),
            hash,
            layout: layout.clone(),
            key: StoredKey::new(key),
        };
        entry.touch(now);
        entry
    }

    /// Its key.
    pub fn key(&self) -> &[u8] {
        self.key.bytes()
    }

    /// The table that it belongs to, by number.
    pub fn table(&self) -> usize {
        self.layout.table
    }

    /// Trackers that hold it now.
    pub fn uses(&self) -> u32 {
        self.lock().uses
    }

    /// Milliseconds until it expires; 0 in a table without expiry.
    pub fn expires_in(&self, now: u64) -> u64 {
        match self.layout.expire {
            Some(_) => self.due().saturating_sub(now),
            None => 0,
        }
    }

    /// Milliseconds since it was touched last.
    pub fn idle(&self, now: u64) -> u64 {
        let span = u64::from(self.layout.expire.unwrap_or(0));
        now.saturating_sub(self.due().saturating_sub(span))
    }

    /// Whether a data type is stored, as itself or in an array.
    pub fn stores(&self, data: DataType) -> bool {
        self.layout.cell(data, 0).is_some() || self.layout.stored(data).is_some()
    }

    /// Element `index` of a data type, of all nodes if the table adds them up; nothing when it is
    /// not stored. A rate is read as of `now`.
    pub fn get(&self, data: DataType, index: u32, now: u64) -> Option<u64> {
        let own = self.get_own(data, index, now)?;
        Some(self.of_all(own, (data, index), now))
    }

    /// The value of all nodes for element `index` of a data type, of which this node has `own`.
    pub fn of_all(&self, own: u64, (data, index): (DataType, u32), now: u64) -> u64 {
        match self.layout.others.get() {
            None => own,
            Some(others) => others.total(self.of_node(), own, (data, index), now),
        }
    }

    fn of_node(&self) -> EntryOfNode<'_> {
        EntryOfNode { hash: self.hash, key: self.key(), due: self.due() }
    }

    /// Element `index` of a data type of this node alone; nothing when it is not stored.
    pub fn get_own(&self, data: DataType, index: u32, now: u64) -> Option<u64> {
        let cell = self.layout.cell(data, index)?;
        let value = self.lock().value(cell, now);
        Some(self.layout.number(data, value, now))
    }

    /// Elements of data types, 0 for what is not stored, and how many trackers of this node hold
    /// the entry. Replaces the contents of `values`. Those of this node are all as of one moment;
    /// values of other nodes are added up as [`Entry::get`] does.
    pub fn read(&self, of: &[(DataType, u32)], now: u64, values: &mut Vec<u64>) -> u32 {
        let uses = self.read_own(of, now, values);
        if self.layout.others.get().is_some() {
            for (wanted, value) in of.iter().zip(values) {
                *value = self.of_all(*value, *wanted, now);
            }
        }
        uses
    }

    /// The value of this node alone.
    pub fn read_own(&self, of: &[(DataType, u32)], now: u64, values: &mut Vec<u64>) -> u32 {
        let held = self.lock();
        let value = |(data, index): &(DataType, u32)| {
            let cell = self.layout.cell(*data, *index);
            cell.map_or(0, |cell| self.layout.number(*data, held.value(cell, now), now))
        };
        values.clear();
        values.extend(of.iter().map(value));
        held.uses
    }

    /// Asks for the memory of the values, which will be read soon.
    pub(crate) fn prefetch(&self) {
        stdx::prefetch::prefetch(&self.lock().words[..]);
    }

    /// Counts `amount` more in each of these data types that is stored.
    pub fn count(&self, events: &[DataType], amount: u64, now: u64) {
        if self.layout.stores_any(events) {
            self.change(now, |counters| {
                events.iter().for_each(|data| {
                    counters.add(*data, 0, amount);
                });
            });
        }
    }

    /// Changes several values at once.
    pub fn change<T>(&self, now: u64, how: impl FnOnce(&mut Counters<'_>) -> T) -> T {
        let mut data = self.lock();
        let done = how(&mut Counters { layout: &self.layout, words: &mut data.words, now });
        drop(data);
        self.changed();
        done
    }

    /// The server that a `stick` rule stored, by name or address; the last one of all nodes if the
    /// table adds them up.
    pub fn server_key(&self, now: u64) -> Option<Arc<str>> {
        let own = self.server_key_own();
        match self.layout.others.get() {
            None => own,
            Some(others) => others.server_key(self.of_node(), own, now),
        }
    }

    /// The server that this node has stored.
    pub fn server_key_own(&self) -> Option<Arc<str>> {
        self.lock().server_key.clone()
    }

    /// Remembers a server.
    pub fn set_server(&self, id: u32, key: Option<&Arc<str>>) {
        let mut data = self.lock();
        if let Some(cell) = self.layout.cell(DataType::ServerId, 0) {
            data.words[cell.at] = id.into();
        }
        if self.layout.stored(DataType::ServerKey).is_some() && data.server_key.as_ref() != key {
            data.server_key = key.cloned();
        }
        drop(data);
        self.changed();
    }

    /// Notes a change for readers of the change log. The caller holds no lock of the entry.
    #[inline]
    pub(crate) fn changed(&self) {
        if self.layout.log.is_on() {
            self.note_change();
        }
    }

    #[inline(never)]
    fn note_change(&self) {
        let layout = &self.layout;
        let place = self.place.load(Relaxed);
        if layout.log.note(layout.shard_of(self.hash), place, &self.mark)
            && let Some(wake) = layout.on_change.get()
        {
            wake();
        }
    }

    /// Lives on for a whole span from now.
    pub fn touch(&self, now: u64) {
        let due = now + u64::from(self.layout.expire.unwrap_or(0));
        if self.due() != due {
            self.expire.store(due, Relaxed);
        }
    }

    /// Expires at this moment, in a table with expiry.
    pub(crate) fn expires_at(&self, due: u64) {
        if self.layout.expire.is_some() {
            self.expire.store(due, Relaxed);
        }
    }

    /// When it expires, or was touched last.
    pub(crate) fn due(&self) -> u64 {
        self.expire.load(Relaxed)
    }

    /// Whether the entry is in its table and has not expired.
    pub fn is_alive(&self, now: u64) -> bool {
        !self.mark.is_gone() && !self.has_expired(now)
    }

    /// Whether its time is over and no transaction holds it.
    pub(crate) fn has_expired(&self, now: u64) -> bool {
        self.layout.expire.is_some() && self.due() <= now && self.uses() == 0
    }

    /// Forgets all values, as if it had just been made.
    pub(crate) fn renew(&self, now: u64) {
        let mut data = self.lock();
        data.words.fill(0);
        data.server_key = None;
        self.touch(now);
    }

    /// Adds a tracker to the entry.
    pub(crate) fn hold(&self, events: &[DataType], now: u64) {
        let mut data = self.lock();
        data.uses += 1;
        let mut counters = Counters { layout: &self.layout, words: &mut data.words, now };
        counters.add(DataType::ConnCur, 0, 1);
        events.iter().for_each(|data| {
            counters.add(*data, 0, 1);
        });
        self.touch(now);
    }

    /// Adds a holder that is no connection.
    pub(crate) fn begin_use(&self, now: u64) {
        self.lock().uses += 1;
        self.touch(now);
    }

    /// Removes a holder that is no connection.
    pub(crate) fn end_use(&self) {
        let mut data = self.lock();
        data.uses = data.uses.saturating_sub(1);
    }

    /// Removes a tracker from the entry.
    pub(crate) fn release(&self) {
        let mut data = self.lock();
        data.uses = data.uses.saturating_sub(1);
        if let Some(cell) = self.layout.cell(DataType::ConnCur, 0) {
            data.words[cell.at] = data.words[cell.at].saturating_sub(1);
        }
    }

    // A thread that panicked left whole words behind: counters are worth more than purity.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Data> {
        self.data.lock()
    }
}

/// The values of an entry, open for change.
#[derive(Debug)]
pub struct Counters<'a> {
    layout: &'a Layout,
    words: &'a mut [u64],
    now: u64,
}

impl Counters<'_> {
    /// Adds to element `index` of a data type and returns what it reads then; nothing when it is
    /// not stored.
    pub fn add(&mut self, data: DataType, index: u32, amount: u64) -> Option<u64> {
        let cell = self.layout.cell(data, index)?;
        let word = &mut self.words[cell.at];
        match cell.kind {
            DataKind::Rate => {
                let words = &mut self.words[cell.at..];
                let events = u32::try_from(amount).unwrap_or(u32::MAX);
                let rate = Rate::load(words).add(events, self.now, cell.period);
                rate.save(words);
                return Some(rate.read(self.now, cell.period).into());
            }
            DataKind::Count => *word = word.wrapping_add(amount) & u64::from(u32::MAX),
            DataKind::Long | DataKind::Text => *word = word.wrapping_add(amount),
        }
        Some(*word)
    }

    /// Sets element `index` of a data type and returns its former value; `None` if the table does
    /// not store it. A rate reads `value` for a period from now on.
    pub fn set(&mut self, data: DataType, index: u32, value: u64) -> Option<u64> {
        let cell = self.layout.cell(data, index)?;
        if cell.kind == DataKind::Rate {
            let words = &mut self.words[cell.at..];
            let old = Rate::load(words).read(self.now, cell.period);
            Rate::set(u32::try_from(value).unwrap_or(u32::MAX), self.now).save(words);
            return Some(old.into());
        }
        let value = if cell.kind == DataKind::Count { value & u64::from(u32::MAX) } else { value };
        Some(std::mem::replace(&mut self.words[cell.at], value))
    }
}
