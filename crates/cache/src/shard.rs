//! One part of the index: the objects whose hashes fall into it, found by hash and ordered by use.

use crate::key::CacheKey;
use crate::object::{ObjectRecord, has_key};
use crate::vary::{Selecting, Variant};
use stdx::SharedBlocks;

/// No slot.
const NONE: u32 = u32::MAX;

/// Milliseconds for which an object keeps its place in the order of use, so that a popular one is
/// not moved at each hit.
pub(crate) const TOUCH_MS: u64 = 100;

/// The largest number of objects that one eviction inspects; objects being served are skipped.
const EVICTION_SCAN: usize = 32;

/// Most objects that are stored at the same time in a shard; beyond, responses are not stored.
pub(crate) const MAX_FILLING: usize = 256;

/// Bytes of the index per object: its slot and its bucket.
pub(crate) const INDEX_COST: usize = size_of::<Slot>() + size_of::<u32>();

/// An object in the index, or a free slot.
#[derive(Debug)]
struct Slot {
    object: Option<SharedBlocks>,
    hash: u64,
    /// The next slot of the bucket, or of the free list.
    next: u32,
    newer: u32,
    older: u32,
    /// Time of the last touch, in units of `TOUCH_MS`.
    touched: u32,
}

/// A response that is being stored.
#[derive(Debug)]
struct FillingObject {
    hash: u64,
    variant: Variant,
    id: u64,
    /// Whether the key was invalidated since: then the object is not published.
    is_outdated: bool,
}

/// Counts of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Requests that were looked up.
    pub lookups: u64,
    /// Look-ups that found a fresh response.
    pub hits: u64,
    /// Responses that were stored.
    pub stored: u64,
    /// Objects that were evicted.
    pub evicted: u64,
}

impl CacheCounters {
    pub(crate) fn add(&mut self, other: &Self) {
        self.lookups += other.lookups;
        self.hits += other.hits;
        self.stored += other.stored;
        self.evicted += other.evicted;
    }
}

/// Why an object cannot be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublishFault {
    Outdated,
    Crowded,
    Full,
}

#[derive(Debug)]
pub(crate) struct Shard {
    slots: Vec<Slot>,
    capacity: usize,
    buckets: Box<[u32]>,
    free: u32,
    newest: u32,
    oldest: u32,
    len: usize,
    filling: Vec<FillingObject>,
    next_id: u64,
    pub(crate) counters: CacheCounters,
}

impl Shard {
    /// A shard of at most `capacity` objects. Slots are reserved now and written when first used.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            slots: Vec::with_capacity(capacity),
            capacity,
            buckets: vec![NONE; capacity.max(1)].into(),
            free: NONE,
            newest: NONE,
            oldest: NONE,
            len: 0,
            filling: Vec::new(),
            next_id: 0,
            counters: CacheCounters::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The place of a hash among the buckets, by its low half: the high one chooses the shard.
    fn bucket(&self, hash: u64) -> usize {
        (((hash & 0xffff_ffff) * self.buckets.len() as u64) >> 32) as usize
    }

    fn slot(&self, at: u32) -> &Slot {
        &self.slots[at as usize]
    }

    fn slot_mut(&mut self, at: u32) -> &mut Slot {
        &mut self.slots[at as usize]
    }

    /// The slots of a key, newest first.
    fn of_key(&self, key: &CacheKey) -> impl Iterator<Item = (u32, ObjectRecord)> {
        let mut at = self.buckets[self.bucket(key.hash())];
        std::iter::from_fn(move || {
            while at != NONE {
                let (slot, this) = (self.slot(at), at);
                at = slot.next;
                let Some(object) = slot.object.as_ref().filter(|_| slot.hash == key.hash()) else {
                    continue;
                };
                let record = ObjectRecord::of(object);
                if has_key(object, &record, key.text()) {
                    return Some((this, record));
                }
            }
            None
        })
    }

    /// The newest object of a key that a request selects. An expired object is removed, and
    /// returned to be dropped outside the lock.
    pub(crate) fn find(&mut self, key: &CacheKey, request: &Selecting, now: u64) -> FoundObject {
        let selected = |(_, record): &(u32, ObjectRecord)| record.variant.is_selected_by(request);
        let Some((at, record)) = self.of_key(key).find(selected) else {
            return FoundObject::None;
        };
        if record.end() <= now {
            return FoundObject::Expired(self.remove(at));
        }
        self.touch(at, now);
        match &self.slot(at).object {
            Some(object) => FoundObject::Whole(object.clone(), record),
            None => FoundObject::None,
        }
    }

    /// Notes that a response begins to be stored; `None` if one with the same secondary key is
    /// being stored already, or too many are.
    pub(crate) fn begin(&mut self, hash: u64, variant: Variant) -> Option<u64> {
        let same = |other: &FillingObject| other.hash == hash && other.variant == variant;
        if self.filling.len() >= MAX_FILLING || self.filling.iter().any(same) {
            return None;
        }
        self.next_id += 1;
        let id = self.next_id;
        self.filling.push(FillingObject { hash, variant, id, is_outdated: false });
        Some(id)
    }

    /// Ends the storing of a response; returns whether the response was outdated meanwhile.
    pub(crate) fn end(&mut self, id: u64) -> bool {
        let Some(at) = self.filling.iter().position(|filling| filling.id == id) else {
            return true;
        };
        self.filling.swap_remove(at).is_outdated
    }

    /// Makes an object visible in place of those with its secondary key. Evicted objects are
    /// appended to `gone`, as is this one if it cannot be published.
    pub(crate) fn publish(
        &mut self,
        key: &CacheKey,
        object: SharedBlocks,
        max_secondary: usize,
        now: u64,
        gone: &mut Vec<SharedBlocks>,
    ) -> Result<(), PublishFault> {
        let record = ObjectRecord::of(&object);
        let gives_way = |other: &ObjectRecord| {
            other.end() <= now
                || other.variant == record.variant
                || !other.variant.has_fields_of(&record.variant)
        };
        let (removed, kept): (Vec<_>, Vec<_>) =
            self.of_key(key).partition(|(_, other)| gives_way(other));
        for (at, _) in removed {
            gone.extend(self.remove(at));
        }
        if !record.variant.is_sole() && kept.len() >= max_secondary {
            gone.push(object);
            return Err(PublishFault::Crowded);
        }
        if self.len >= self.capacity {
            match self.evict() {
                Some(evicted) => gone.push(evicted),
                None => {
                    gone.push(object);
                    return Err(PublishFault::Full);
                }
            }
        }
        self.insert(key.hash(), object, now);
        self.counters.stored += 1;
        Ok(())
    }

    fn insert(&mut self, hash: u64, object: SharedBlocks, now: u64) {
        let bucket = self.bucket(hash);
        let next = self.buckets[bucket];
        let touched = units(now);
        let slot = Slot { object: Some(object), hash, next, newer: NONE, older: NONE, touched };
        let at = if self.free == NONE {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.slot(at).next;
            *self.slot_mut(at) = slot;
            at
        };
        self.buckets[bucket] = at;
        self.len += 1;
        self.link_newest(at);
    }

    fn link_newest(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        let slot = self.slot_mut(at);
        (slot.newer, slot.older) = (NONE, before);
        match before {
            NONE => self.oldest = at,
            before => self.slot_mut(before).newer = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let (newer, older) = (self.slot(at).newer, self.slot(at).older);
        match newer {
            NONE => self.newest = older,
            newer => self.slot_mut(newer).older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slot_mut(older).newer = newer,
        }
    }

    fn touch(&mut self, at: u32, now: u64) {
        let now = units(now);
        if self.slot(at).touched != now {
            self.slot_mut(at).touched = now;
            self.unlink(at);
            self.link_newest(at);
        }
    }

    /// Takes an object out of the index.
    fn remove(&mut self, at: u32) -> Option<SharedBlocks> {
        let bucket = self.bucket(self.slot(at).hash);
        let next = self.slot(at).next;
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while before != NONE && self.slot(before).next != at {
                before = self.slot(before).next;
            }
            if before != NONE {
                self.slot_mut(before).next = next;
            }
        }
        self.unlink(at);
        self.len -= 1;
        let free = std::mem::replace(&mut self.free, at);
        let slot = self.slot_mut(at);
        slot.next = free;
        slot.object.take()
    }

    /// Takes the least recently used object that no request holds out of the index; `None` if none
    /// of the oldest is free. Objects that are being served count as used now.
    pub(crate) fn evict(&mut self) -> Option<SharedBlocks> {
        for _ in 0..EVICTION_SCAN.min(self.len) {
            let at = self.oldest;
            if self.slot(at).object.as_ref().is_none_or(|object| object.holders() == 1) {
                self.counters.evicted += 1;
                return self.remove(at);
            }
            self.unlink(at);
            self.slot_mut(at).touched = self.newest_touch();
            self.link_newest(at);
        }
        None
    }

    fn newest_touch(&self) -> u32 {
        if self.newest == NONE { 0 } else { self.slot(self.newest).touched }
    }

    /// When the least recently used object was touched; `u32::MAX` without any.
    pub(crate) fn oldest_touch(&self) -> u32 {
        if self.oldest == NONE { u32::MAX } else { self.slot(self.oldest).touched }
    }

    /// Removes all objects of a key, and has those that are being stored not be published.
    pub(crate) fn invalidate(&mut self, key: &CacheKey, gone: &mut Vec<SharedBlocks>) {
        let outdated = self.filling.iter_mut().filter(|filling| filling.hash == key.hash());
        outdated.for_each(|filling| filling.is_outdated = true);
        // Removal changes the chain of the bucket: begin again each time.
        while let Some((at, _)) = { self.of_key(key).next() } {
            gone.extend(self.remove(at));
        }
    }

    /// Has no response that is being stored be published.
    pub(crate) fn outdate_filling(&mut self) {
        self.filling.iter_mut().for_each(|filling| filling.is_outdated = true);
    }

    /// Removes the objects for which `is_gone` holds in at most `count` slots from `from` on;
    /// returns the next slot, or `None` at the end.
    pub(crate) fn sweep(
        &mut self,
        from: usize,
        count: usize,
        is_gone: impl Fn(&SharedBlocks, &ObjectRecord) -> bool,
        gone: &mut Vec<SharedBlocks>,
    ) -> Option<usize> {
        let end = from.saturating_add(count).min(self.slots.len());
        for at in from..end {
            let remove = |object: &SharedBlocks| is_gone(object, &ObjectRecord::of(object));
            if self.slots[at].object.as_ref().is_some_and(remove) {
                gone.extend(self.remove(at as u32));
            }
        }
        (end < self.slots.len()).then_some(end)
    }

    /// The objects in at most `count` slots from `from` on with their hashes.
    pub(crate) fn objects(
        &self,
        from: usize,
        count: usize,
    ) -> impl Iterator<Item = (u64, &SharedBlocks)> {
        let slots = self.slots.iter().skip(from).take(count);
        slots.filter_map(|slot| slot.object.as_ref().map(|object| (slot.hash, object)))
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }
}

/// The result of a lookup in a shard.
#[derive(Debug)]
pub(crate) enum FoundObject {
    None,
    Expired(Option<SharedBlocks>),
    Whole(SharedBlocks, ObjectRecord),
}

fn units(now: u64) -> u32 {
    (now / TOUCH_MS) as u32
}
