//! A table that all threads share.
//!
//! Protocol. A key belongs to one of up to 64 shards, each on cache lines of its own. A shard's
//! lock is held for one look-up, insertion or removal; an entry's lock is only taken alone or under
//! its shard's, and so is the lock of the shard's list of changes. An entry that a tracker holds is
//! never taken out, because trackers are made under the shard's lock. Order of locks: shard, entry;
//! shard, list. No lock is held while another shard's is taken.
//!
//! Cache lines written per operation: to read a value, 2 (the shard's lock, the entry's lock); to
//! begin tracking, 3 (the shard's lock, the entry, its counters); to count on a tracked entry and
//! to end tracking, 2 each (the entry, its counters). The number of entries, in a cache line that
//! all threads share, is written when an entry is added or removed.

use crate::aggregate::{ForeignConnections, NodeSession, OtherNodes};
use crate::data::DataType;
use crate::entry::Entry;
use crate::key::{Key, KeyKind};
use crate::layout::{Layout, Settings, Stored};
use crate::shard::{Head, Probe, Shard};
use crate::track::{EntryUse, Tracker};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, MutexGuard, OnceLock};
use stdx::Mutex;

/// The most shards of a table.
const SHARDS: usize = 64;
/// Entries per shard below which there are fewer shards.
const PER_SHARD: usize = 16;
/// The most entries that give way at once to a new one.
const PURGE: u32 = 256;
/// The fewest looks for one that gives way: all of a small table may have been touched since they
/// were put in order, and a look is under 100 ns.
const LOOKS: usize = 4_096;
/// The most entries looked at under one lock.
const BATCH: usize = 32;

/// A shard, and when its first entry is due, readable without its lock.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Part {
    shard: Mutex<Shard>,
    first_due: AtomicU64,
}

impl Part {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shard> {
        self.shard.lock()
    }

    fn publish(&self, shard: &Shard) {
        self.first_due.store(shard.first_due(), Relaxed);
    }
}

/// The outcome of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The entry was removed.
    Done,
    /// A tracker holds it.
    InUse,
    /// There is none.
    Absent,
}

/// The callback for a table that begins to have expiring entries, with the time at which the first
/// one expires.
pub type ExpiryCallback = Box<dyn Fn(u64) + Send + Sync>;

/// Entries that one step of [`Table::walk`] yields at most, which is how long a lock is held.
pub const STEP: usize = 64;

/// The progress of a listing. The default is before the first entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    shard: usize,
    place: usize,
}

impl Walk {
    /// The place as two numbers.
    pub fn numbers(self) -> (usize, usize) {
        (self.shard, self.place)
    }

    /// The place of two numbers that [`Walk::numbers`] has returned.
    pub fn at((shard, place): (usize, usize)) -> Self {
        Self { shard, place }
    }
}

/// A stick table.
pub struct Table {
    settings: Settings,
    pub(crate) layout: Arc<Layout>,
    pub(crate) parts: Box<[Part]>,
    random: RandomState,
    used: AtomicU32,
    /// Memory is short.
    tight: AtomicBool,
    refused: AtomicU64,
    /// The shard at which expiry continues.
    cursor: AtomicUsize,
    keeper: OnceLock<Arc<dyn Fn(u64) + Send + Sync>>,
    /// The table that tags and servers are written to as well, when they are learned.
    write_to: OnceLock<Arc<Table>>,
    copies: OnceLock<Vec<Arc<Table>>>,
    /// The keeper was called, and passes continue; one flag for a table and its copies.
    tended: Arc<AtomicBool>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Table {
    /// An empty table; `number` is its place among all tables of the process.
    pub fn new(settings: Settings, number: usize) -> Table {
        Table::with(settings, number, RandomState::new(), None)
    }

    /// An empty copy for a node.
    pub(crate) fn copy_of(&self, node: &str) -> Table {
        let name = format!("{}@{node}", self.name()).into();
        let settings = Settings { name, ..self.settings.clone() };
        let connections = ForeignConnections::OfNode(NodeSession::default());
        // Keys have the same hash in all copies.
        let copy = Table::with(settings, self.number(), self.random.clone(), Some(connections));
        Table { tended: self.tended.clone(), ..copy }
    }

    fn with(
        settings: Settings,
        number: usize,
        random: RandomState,
        connections: Option<ForeignConnections>,
    ) -> Table {
        let shards = (settings.size as usize / PER_SHARD).next_power_of_two().clamp(1, SHARDS);
        let part = |_| Part { shard: Mutex::default(), first_due: AtomicU64::new(u64::MAX) };
        let mut layout = Layout::new(&settings, number, shards);
        if let Some(connections) = connections {
            layout.connections = connections;
        }
        Table {
            layout: Arc::new(layout),
            settings,
            parts: (0..shards).map(part).collect(),
            random,
            used: AtomicU32::new(0),
            tight: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            cursor: AtomicUsize::new(0),
            keeper: OnceLock::new(),
            write_to: OnceLock::new(),
            copies: OnceLock::new(),
            tended: Arc::default(),
        }
    }

    /// Sets the callback that starts expiry: from then on its owner calls [`Table::expire`] until
    /// [`Table::next_pass`] yields nothing. Only the first callback that is set counts.
    pub fn set_keeper(&self, keeper: ExpiryCallback) {
        let keeper: Arc<dyn Fn(u64) + Send + Sync> = keeper.into();
        for copy in self.copies() {
            let _ = copy.keeper.set(keeper.clone());
        }
        let _ = self.keeper.set(keeper);
    }

    /// Sets the copies of other nodes, and how readers see them.
    pub(crate) fn set_copies(&self, copies: Vec<Arc<Table>>, others: Box<dyn OtherNodes>) {
        let _ = self.copies.set(copies);
        let _ = self.layout.others.set(others);
    }

    /// The copies of other nodes, in the order of the nodes.
    pub fn copies(&self) -> &[Arc<Table>] {
        self.copies.get().map_or(&[], |copies| copies)
    }

    /// Whether only another node changes it.
    pub fn is_copy(&self) -> bool {
        matches!(self.layout.connections, ForeignConnections::OfNode(_))
    }

    /// Sets the table that tags and servers are written to as well, when peers teach them
    /// (`write-to`). Its keys are of the same type and length.
    pub fn set_write_to(&self, target: Arc<Table>) {
        let _ = self.write_to.set(target);
    }

    pub(crate) fn write_to(&self) -> Option<&Arc<Table>> {
        self.write_to.get()
    }

    fn call_keeper(&self, due: u64) {
        if let Some(keeper) = self.keeper.get()
            && !self.tended.load(Relaxed)
            && !self.tended.swap(true, AcqRel)
        {
            keeper(due);
        }
    }

    /// When the first entry may have to be taken out; `None`, and no pass is needed until the
    /// keeper is called again, when there is none.
    pub fn next_pass(&self) -> Option<u64> {
        self.first_due().or_else(|| {
            self.tended.swap(false, AcqRel);
            // An entry created just now may have seen the flag still set; so the table is checked
            // again.
            self.first_due().filter(|_| !self.tended.swap(true, AcqRel))
        })
    }

    fn first_due(&self) -> Option<u64> {
        let copies = self.copies().iter().flat_map(|copy| &copy.parts);
        let due = self.parts.iter().chain(copies).map(|part| part.lock().first_due()).min();
        due.filter(|due| *due < u64::MAX)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Its place among all tables.
    pub fn number(&self) -> usize {
        self.layout.table
    }

    /// As it was declared.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The type of its keys.
    pub fn kind(&self) -> KeyKind {
        self.settings.kind
    }

    /// How a data type is stored.
    pub fn stored(&self, data: DataType) -> Option<Stored> {
        self.layout.stored(data)
    }

    /// Whether element `index` of a data type is stored, as itself or in an array.
    pub fn stores(&self, data: DataType, index: u32) -> bool {
        self.layout.cell(data, index).is_some()
    }

    /// Entries, including expired ones that have not been removed yet.
    pub fn used(&self) -> u32 {
        self.used.load(Relaxed)
    }

    /// Room for more entries.
    pub fn available(&self) -> u32 {
        self.settings.size.saturating_sub(self.used())
    }

    pub(crate) fn part(&self, key: &[u8]) -> (&Part, u64) {
        let hash = self.random.hash_one(key);
        (&self.parts[self.layout.shard_of(hash)], hash)
    }

    /// Calls `look` with an entry, which does not count as a use. `look` runs under the lock of the
    /// shard. An entry that another node alone has is that of its copy.
    pub fn look<T>(&self, key: &[u8], now: u64, look: impl FnOnce(&Entry) -> T) -> Option<T> {
        let hash = self.random.hash_one(key);
        let copies = self.copies();
        if copies.is_empty() || self.is_copy() {
            return self.look_hashed(hash, key, now, look);
        }
        let has = |table: &&Table| table.look_hashed(hash, key, now, |_| ()).is_some();
        let holder = std::iter::once(self).chain(copies.iter().map(|copy| &**copy)).find(has)?;
        holder.look_hashed(hash, key, now, look)
    }

    /// Calls `look` with an entry of this table alone.
    pub(crate) fn look_hashed<T>(
        &self,
        hash: u64,
        key: &[u8],
        now: u64,
        look: impl FnOnce(&Entry) -> T,
    ) -> Option<T> {
        let shard = self.parts[self.layout.shard_of(hash)].lock();
        let entry = shard.find(&Probe(hash, key)).filter(|entry| !entry.has_expired(now))?;
        Some(look(entry))
    }

    /// Looks at an entry, which lives on for a whole span.
    pub fn touch<T>(&self, key: &[u8], now: u64, look: impl FnOnce(&Entry) -> T) -> Option<T> {
        self.look(key, now, |entry| {
            entry.touch(now);
            let seen = look(entry);
            entry.changed();
            seen
        })
    }

    /// Reads an entry, which is created if it does not exist, and renews its expiry. `None` when
    /// the table is full and no entry can be removed.
    pub fn enter<T>(&self, key: &[u8], now: u64, look: impl FnOnce(&Entry) -> T) -> Option<T> {
        self.enter_shared(key, now, |entry| {
            let seen = look(entry);
            entry.changed();
            seen
        })
    }

    /// Reads an entry, which is created if it does not exist. This is no change of our own.
    pub(crate) fn enter_quietly<T>(
        &self,
        key: &[u8],
        now: u64,
        look: impl FnOnce(&Entry) -> T,
    ) -> Option<T> {
        self.enter_shared(key, now, |entry| look(entry))
    }

    /// Tracks an entry, which is created if it does not exist, and counts these events on it.
    /// `None` when the table is full and no entry can be removed.
    pub fn track(&self, key: &[u8], now: u64, events: &[DataType]) -> Option<Tracker> {
        self.enter_shared(key, now, |entry| {
            entry.hold(events, now);
            entry.changed();
            Tracker::new(entry.clone())
        })
    }

    /// Holds an entry, which is created if it does not exist, without counting a connection. `None`
    /// when the table is full and no entry can be removed.
    pub fn hold(&self, key: &[u8], now: u64) -> Option<EntryUse> {
        self.enter_shared(key, now, |entry| {
            entry.begin_use(now);
            entry.changed();
            EntryUse::new(entry.clone())
        })
    }

    fn enter_shared<T>(
        &self,
        key: &[u8],
        now: u64,
        look: impl FnOnce(&Arc<Entry>) -> T,
    ) -> Option<T> {
        let (part, hash) = self.part(key);
        {
            let shard = part.lock();
            if let Some(entry) = shard.find(&Probe(hash, key)) {
                return Some(look(live(entry, now)));
            }
        }
        if !self.reserve(now) {
            return None;
        }
        let mut shard = part.lock();
        // Another thread may have been faster.
        if let Some(entry) = shard.find(&Probe(hash, key)) {
            self.used.fetch_sub(1, Relaxed);
            return Some(look(live(entry, now)));
        }
        let entry = Arc::new(Entry::new(&self.layout, key, hash, now));
        shard.insert(entry.clone());
        let seen = look(&entry);
        shard.enqueue(&entry);
        part.publish(&shard);
        let due = shard.first_due();
        drop(shard);
        self.call_keeper(due);
        Some(seen)
    }

    /// Sets whether memory is short: then a new entry takes the place of the oldest one, as if the
    /// table were full.
    pub fn set_tight(&self, tight: bool) {
        self.tight.store(tight, Relaxed);
        self.copies().iter().for_each(|copy| copy.tight.store(tight, Relaxed));
    }

    /// Takes some of the oldest entries out, because memory is short.
    pub fn give_way(&self, now: u64) {
        if !self.settings.nopurge {
            self.purge(PURGE, now);
            self.copies().iter().for_each(|copy| copy.purge(PURGE, now));
        }
    }

    /// Entries that were not made because memory was short.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Makes room for one more entry while memory is short by evicting another one.
    #[cold]
    fn replace(&self, now: u64) -> bool {
        let before = self.used();
        if !self.settings.nopurge {
            self.purge(1, now);
        }
        let more = |used: u32| (used < before).then_some(used + 1);
        let made = self.used.fetch_update(Relaxed, Relaxed, more).is_ok();
        if !made {
            self.refused.fetch_add(1, Relaxed);
        }
        made
    }

    /// Makes room for one more entry, by removing the oldest entries of a full table.
    fn reserve(&self, now: u64) -> bool {
        if self.tight.load(Relaxed) {
            return self.replace(now);
        }
        let size = self.settings.size;
        let more = |used: u32| (used < size).then_some(used + 1);
        if self.used.fetch_update(Relaxed, Relaxed, more).is_ok() {
            return true;
        }
        if self.settings.nopurge {
            return false;
        }
        self.purge((size / 256 + 1).min(PURGE), now);
        self.used.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Takes the oldest entries out, held ones excepted.
    fn purge(&self, count: u32, now: u64) {
        let span = u64::from(self.settings.expire.unwrap_or(0));
        let mut left = count;
        // Entries put back cost a look too; an untouched entry comes up only once. When all
        // attempts are used up the caller is refused, and the next one continues behind them.
        let mut looks = LOOKS.max(8 * count as usize);
        while left > 0 && looks > 0 {
            let Some((part, next)) = self.oldest() else { return };
            let mut shard = part.lock();
            for _ in 0..BATCH {
                looks = looks.saturating_sub(1);
                match shard.take_first(next, now + span + 1) {
                    Head::Removed => {
                        self.used.fetch_sub(1, Relaxed);
                        left -= 1;
                    }
                    Head::PutBack => {}
                    Head::Empty | Head::Later => break,
                }
                if left == 0 || looks == 0 {
                    break;
                }
            }
            part.publish(&shard);
        }
    }

    /// The shard with the oldest entry, and when that of the next shard is due.
    fn oldest(&self) -> Option<(&Part, u64)> {
        let (mut best, mut first, mut second) = (None, u64::MAX, u64::MAX);
        for part in &self.parts {
            let due = part.first_due.load(Relaxed);
            if due < first {
                (best, second, first) = (Some(part), first, due);
            } else if due < second {
                second = due;
            }
        }
        best.map(|part| (part, second))
    }

    /// Removes expired entries; inspects about `budget` entries at most. Returns how many were
    /// looked at: with less than `budget` there is nothing left to do now.
    pub fn expire(&self, now: u64, budget: usize) -> usize {
        let mut looked = self.expire_own(now, budget);
        for copy in self.copies() {
            if looked < budget {
                looked += copy.expire_own(now, budget - looked);
            }
        }
        looked
    }

    fn expire_own(&self, now: u64, budget: usize) -> usize {
        let Some(span) = self.settings.expire else { return 0 };
        let mut looked = 0;
        let count = self.parts.len();
        let start = self.cursor.load(Relaxed);
        for step in 0..count {
            let at = start.wrapping_add(step) % count;
            let part = &self.parts[at];
            while part.first_due.load(Relaxed) <= now {
                if looked >= budget {
                    self.cursor.store(at, Relaxed);
                    return looked;
                }
                looked += self.expire_batch(part, now, span.into());
            }
        }
        looked
    }

    fn expire_batch(&self, part: &Part, now: u64, span: u64) -> usize {
        let mut shard = part.lock();
        let mut looked = 0;
        while looked < BATCH {
            match shard.take_first(now, now + span.max(1)) {
                Head::Removed => {
                    self.used.fetch_sub(1, Relaxed);
                }
                Head::PutBack => {}
                Head::Empty | Head::Later => break,
            }
            looked += 1;
        }
        part.publish(&shard);
        looked.max(1)
    }

    /// Removes an entry with the copies of other nodes, which come back when those nodes change
    /// their entries.
    pub fn remove(&self, key: &[u8]) -> Removal {
        let removal = self.remove_own(key);
        if removal == Removal::InUse {
            return removal;
        }
        let copies = self.copies().iter().map(|copy| copy.remove_own(key));
        let was_there = copies.filter(|removal| *removal == Removal::Done).count() > 0;
        if was_there { Removal::Done } else { removal }
    }

    fn remove_own(&self, key: &[u8]) -> Removal {
        let (part, hash) = self.part(key);
        let mut shard = part.lock();
        let Some(entry) = shard.find(&Probe(hash, key)).cloned() else { return Removal::Absent };
        if entry.uses() > 0 {
            return Removal::InUse;
        }
        shard.remove(&entry);
        part.publish(&shard);
        self.used.fetch_sub(1, Relaxed);
        Removal::Done
    }

    /// The next few living entries, in no order, at most [`STEP`]; `None` behind the last one. The
    /// caller uses them without a lock. An entry that lives for the whole walk is returned once.
    pub fn walk(&self, walk: &mut Walk, now: u64) -> Option<Vec<Arc<Entry>>> {
        let shard = self.parts.get(walk.shard)?.lock();
        let places = walk.place..walk.place + STEP;
        // Entries of a large table are in no cache: they are asked for together, and come together.
        shard.at(places.clone()).0.for_each(|entry| stdx::prefetch::prefetch(&**entry));
        let (entries, more) = shard.at(places);
        let living = entries.filter(|entry| !entry.has_expired(now));
        let found: Vec<_> = living.cloned().collect();
        drop(shard);
        found.iter().for_each(|entry| entry.prefetch());
        *walk = match more {
            true => Walk { place: walk.place + STEP, ..*walk },
            false => Walk { shard: walk.shard + 1, place: 0 },
        };
        Some(found)
    }

    /// A key as an operator writes it.
    pub fn parse_key<'k>(&self, text: &'k str) -> Option<Key<'k>> {
        self.settings.kind.parse(text)
    }
}

/// The entry, which is used from now on; an expired one is reset.
fn live(entry: &Arc<Entry>, now: u64) -> &Arc<Entry> {
    if entry.has_expired(now) {
        entry.renew(now);
    } else {
        entry.touch(now);
    }
    entry
}

#[cfg(test)]
mod tests;
