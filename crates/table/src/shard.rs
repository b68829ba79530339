//! A part of a table: its entries by key, and the order in which they expire.
//!
//! The order is lazy: touching an entry only writes its new time into the entry. When an entry
//! comes up in the order and has been touched since, it is put back at its new time. So the first
//! one that was not touched since is truly the oldest.
//!
//! Each entry also has a place, which is its own as long as it lives, so that a listing can let go
//! of the lock and continue later without missing or repeating one.

use crate::entry::Entry;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A key with its hash, which is computed once, outside of the lock.
pub(crate) trait Keyed {
    fn hash(&self) -> u64;
    fn key(&self) -> &[u8];
}

/// A key and its hash.
pub(crate) struct Probe<'k>(pub(crate) u64, pub(crate) &'k [u8]);

impl Keyed for Probe<'_> {
    fn hash(&self) -> u64 {
        self.0
    }

    fn key(&self) -> &[u8] {
        self.1
    }
}

/// An entry in the set.
#[derive(Debug)]
struct Member(Arc<Entry>);

impl Keyed for Member {
    fn hash(&self) -> u64 {
        self.0.hash
    }

    fn key(&self) -> &[u8] {
        self.0.key()
    }
}

impl Hash for dyn Keyed + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(Keyed::hash(self));
    }
}

impl PartialEq for dyn Keyed + '_ {
    fn eq(&self, other: &Self) -> bool {
        Keyed::hash(self) == Keyed::hash(other) && self.key() == other.key()
    }
}

impl Eq for dyn Keyed + '_ {}

impl Hash for Member {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.0.hash == other.0.hash && self.0.key() == other.0.key()
    }
}

impl Eq for Member {}

impl<'k> Borrow<dyn Keyed + 'k> for Member {
    fn borrow(&self) -> &(dyn Keyed + 'k) {
        self
    }
}

/// Passes a hash on as it is.
#[derive(Debug, Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A place in the order of expiry; the earliest is the greatest.
#[derive(Debug)]
struct Turn {
    due: u64,
    entry: Arc<Entry>,
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Turn {}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

/// The state at the head of the expiry order.
pub(crate) enum Head {
    /// No entry.
    Empty,
    /// The oldest entry is due later than asked for.
    Later,
    /// The oldest entry was taken out.
    Removed,
    /// An entry was looked at and put back: it was touched since, or is held.
    PutBack,
}

/// A part of a table.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    members: HashSet<Member, BuildHasherDefault<Ready>>,
    order: BinaryHeap<Turn>,
    places: Vec<Option<Arc<Entry>>>,
    /// Places without an entry.
    free: Vec<u32>,
}

impl Shard {
    pub(crate) fn find(&self, probe: &Probe<'_>) -> Option<&Arc<Entry>> {
        self.members.get(probe as &dyn Keyed).map(|member| &member.0)
    }

    pub(crate) fn insert(&mut self, entry: Arc<Entry>) {
        self.place(&entry);
        self.members.insert(Member(entry));
    }

    /// Gives a new entry its turn in the order of expiry.
    pub(crate) fn enqueue(&mut self, entry: &Arc<Entry>) {
        self.order.push(Turn { due: entry.due(), entry: entry.clone() });
    }

    /// Gives an entry its place.
    fn place(&mut self, entry: &Arc<Entry>) {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.places.push(None);
                u32::try_from(self.places.len() - 1).expect("a table has fewer than 2^32 entries")
            }
        };
        entry.place.store(place, Relaxed);
        self.places[place as usize] = Some(entry.clone());
    }

    /// Takes an entry out of all but the order.
    fn forget(&mut self, entry: &Entry) {
        let place = entry.place.load(Relaxed);
        entry.layout.log.forget(entry.layout.shard_of(entry.hash), place, &entry.mark);
        self.places[place as usize] = None;
        self.free.push(place);
        self.members.remove(&Probe(entry.hash, entry.key()) as &dyn Keyed);
    }

    /// Takes an entry out. Its place in the order stays until it comes up, or until such places are
    /// more than the entries.
    pub(crate) fn remove(&mut self, entry: &Entry) {
        self.forget(entry);
        if self.order.len() > 2 * self.members.len() + 8 {
            self.order.retain(|turn| !turn.entry.mark.is_gone());
        }
    }

    /// When the first place in the order comes up; an entry may have been touched since.
    pub(crate) fn first_due(&self) -> u64 {
        self.order.peek().map_or(u64::MAX, |turn| turn.due)
    }

    /// Looks at the entry that is first in the order, if it is due by `until`, and takes it out
    /// unless it is held or was touched since. A held entry is put back with `held_until` as its
    /// time.
    pub(crate) fn take_first(&mut self, until: u64, held_until: u64) -> Head {
        let Some(first) = self.order.peek() else { return Head::Empty };
        if first.due > until {
            return Head::Later;
        }
        let Some(turn) = self.order.pop() else { return Head::Empty };
        if turn.entry.mark.is_gone() {
            return Head::PutBack;
        }
        let due = turn.entry.due();
        if due > turn.due {
            self.order.push(Turn { due, ..turn });
            return Head::PutBack;
        }
        if turn.entry.uses() > 0 {
            self.order.push(Turn { due: held_until, ..turn });
            return Head::PutBack;
        }
        self.forget(&turn.entry);
        Head::Removed
    }

    /// The entry in a place.
    pub(crate) fn in_place(&self, place: u32) -> Option<&Arc<Entry>> {
        self.places.get(place as usize)?.as_ref()
    }

    /// The entries at these positions, and whether more positions follow.
    pub(crate) fn at(&self, places: Range<usize>) -> (impl Iterator<Item = &Arc<Entry>>, bool) {
        let count = self.places.len();
        let here = &self.places[places.start.min(count)..places.end.min(count)];
        (here.iter().flatten(), places.end < count)
    }
}
