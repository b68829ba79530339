//! The store: blocks, an index in shards, and what is done with objects: find, store, evict, forget.

use crate::fetches::Fetches;
use crate::hit::Hit;
use crate::key::CacheKey;
use crate::object::starts_with;
use crate::request::FreshnessDemand;
use crate::response::StoreRules;
use crate::shard::{CacheCounters, FoundObject, INDEX_COST, Shard, TOUCH_MS};
use crate::vary::Selecting;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use stdx::siphash::SipKey;
use stdx::{BlockArea, Mutex, SharedBlocks, block_area};

/// Bytes of a block, as in HAProxy.
pub const BLOCK: usize = 1024;

/// Least objects per shard: in smaller ones the objects of a cache would be spread too unevenly.
const LEAST_PER_SHARD: u32 = 1024;

/// Most shards of a cache.
const MAX_SHARDS: usize = 256;

/// Times that one search for room may fail in a shard whose oldest objects are being served.
const MAX_REFUSALS: u8 = 8;

/// Most fetches of a cache that requests can wait for; further ones are fetched by each request.
const MAX_FETCHES: usize = 1024;

/// Most requests that wait for one fetch; further ones go to the server.
const MAX_WAITERS: usize = 10_000;

/// Slots that [`Cache::list`] and [`Cache::clear`] look at under one lock.
pub const STEP: usize = 256;

/// A `cache` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Its name.
    pub name: String,
    /// Most bytes of memory: blocks, their links and the index (`total-max-size`).
    pub total_max_size: u64,
    /// Most entries with the same primary key (`max-secondary-entries`).
    pub max_secondary_entries: usize,
    /// Whether ranges are answered from whole objects (`ranges`).
    pub ranges: bool,
    /// Longest time in milliseconds that a request waits for the same object, which another request
    /// fetches (`coalesce`); `None`: requests do not wait.
    pub coalesce: Option<u32>,
    /// Rules for responses.
    pub rules: StoreRules,
}

/// The result of a lookup.
#[derive(Debug)]
pub enum Lookup {
    /// A response that may be used as it is.
    Fresh(Hit),
    /// A response that may be used under conditions: see [`Hit::may_serve_while_revalidating`] and
    /// [`Hit::may_serve_on_error`]; or be validated.
    Stale(Hit),
    /// None.
    Miss,
}

/// A cache, shared by all threads. Times are milliseconds of one monotonic clock.
#[derive(Debug)]
pub struct Cache {
    settings: CacheSettings,
    area: BlockArea,
    shards: Box<[Mutex<Shard>]>,
    /// When the least recently used object of each shard was touched: a hint, read without its
    /// lock.
    oldest: Box<[AtomicU32]>,
    key: SipKey,
    fetches: Arc<Fetches>,
}

impl Cache {
    /// Reserves the memory of a cache; `None` if there is no such memory. `threads` sets the number
    /// of shards; `key` is random, so that clients cannot choose URLs with equal hashes.
    pub fn new(settings: CacheSettings, threads: usize, key: SipKey) -> Option<Arc<Self>> {
        let per_block = (BLOCK + block_area::OVERHEAD + INDEX_COST) as u64;
        let blocks = u32::try_from(settings.total_max_size / per_block).ok()?;
        let area = BlockArea::new(BLOCK, blocks)?;
        let wanted = threads.max(1).saturating_mul(4).next_power_of_two().min(MAX_SHARDS);
        let count = wanted.min((blocks / LEAST_PER_SHARD).max(1) as usize);
        let capacity = blocks as usize / count;
        let shards = (0..count).map(|_| Mutex::new(Shard::new(capacity))).collect();
        let oldest = (0..count).map(|_| AtomicU32::new(u32::MAX)).collect();
        let fetches = Fetches::new(MAX_FETCHES, MAX_WAITERS);
        Some(Arc::new(Self { settings, area, shards, oldest, key, fetches }))
    }

    /// Its section.
    pub fn settings(&self) -> &CacheSettings {
        &self.settings
    }

    /// Fetches of missing or stale objects that other requests wait for.
    pub fn fetches(&self) -> &Arc<Fetches> {
        &self.fetches
    }

    /// Blocks that hold no object.
    pub fn free_blocks(&self) -> u32 {
        self.area.free()
    }

    /// All blocks.
    pub fn blocks(&self) -> u32 {
        self.area.count()
    }

    /// Bytes of memory that the cache can take, all in all.
    pub fn memory(&self) -> u64 {
        let blocks = u64::from(self.blocks()) * (BLOCK + block_area::OVERHEAD) as u64;
        blocks + u64::from(self.blocks()) * INDEX_COST as u64
    }

    /// Objects.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lookups, hits and other counts since the start.
    pub fn counters(&self) -> CacheCounters {
        let mut all = CacheCounters::default();
        self.shards.iter().for_each(|shard| all.add(&shard.lock().counters));
        all
    }

    /// The key of hashes, which [`CacheKey::set`] and [`Selecting::of`] need.
    pub fn sip_key(&self) -> SipKey {
        self.key
    }

    /// The shard of a hash, by the high bits of the half that `show cache` lists, so that shards in
    /// order are objects in order.
    fn shard_of(&self, hash: u64) -> usize {
        (((hash >> 32) * self.shards.len() as u64) >> 32) as usize
    }

    pub(crate) fn with_shard<T>(&self, hash: u64, act: impl FnOnce(&mut Shard) -> T) -> T {
        self.with_shard_at(self.shard_of(hash), act)
    }

    fn with_shard_at<T>(&self, at: usize, act: impl FnOnce(&mut Shard) -> T) -> T {
        let mut shard = self.shards[at].lock();
        let result = act(&mut shard);
        let oldest = shard.oldest_touch();
        if self.oldest[at].load(Relaxed) != oldest {
            self.oldest[at].store(oldest, Relaxed);
        }
        result
    }

    /// Looks for a response to a request (RFC 9111 section 4). Takes one lock for as long as that
    /// lasts.
    pub fn lookup(
        &self,
        key: &CacheKey,
        request: &Selecting,
        demand: &FreshnessDemand,
        now: u64,
    ) -> Lookup {
        let found = self.with_shard(key.hash(), |shard| {
            let found = shard.find(key, request, now);
            shard.counters.lookups += 1;
            if let FoundObject::Whole(_, record) = &found {
                shard.counters.hits += u64::from(Hit::satisfies(record, demand, now));
            }
            found
        });
        match found {
            FoundObject::Whole(object, record) if Hit::satisfies(&record, demand, now) => {
                Lookup::Fresh(Hit::new(object, record, now))
            }
            FoundObject::Whole(object, record) => Lookup::Stale(Hit::new(object, record, now)),
            FoundObject::Expired(gone) => {
                drop(gone);
                Lookup::Miss
            }
            FoundObject::None => Lookup::Miss,
        }
    }

    /// An empty chain of blocks.
    pub(crate) fn chain(&self) -> stdx::BlockChain {
        self.area.chain()
    }

    /// Evicts the least recently used objects until `wanted` blocks became free; the number of
    /// those. Objects that are being served stay.
    pub(crate) fn make_room(&self, wanted: u32) -> u32 {
        let mut freed = 0;
        // Each round frees an object, or learns that some objects of a shard are being served.
        let mut refusals = [0; MAX_SHARDS];
        while freed < wanted {
            let touched = self.oldest.iter().map(|oldest| oldest.load(Relaxed)).enumerate();
            let mut candidates = touched
                .filter(|(at, touched)| *touched != u32::MAX && refusals[*at] < MAX_REFUSALS);
            let Some(first) = candidates.next() else { break };
            let (at, _) = candidates.fold(first, |a, b| if b.1 < a.1 { b } else { a });
            match self.with_shard_at(at, Shard::evict) {
                Some(object) => freed += object.blocks(),
                None => refusals[at] += 1,
            }
        }
        freed
    }

    /// Removes the objects of a key (RFC 9111 section 4.4), and has those that are being stored not
    /// be published.
    pub fn invalidate(&self, key: &CacheKey) {
        let mut gone = Vec::new();
        self.with_shard(key.hash(), |shard| shard.invalidate(key, &mut gone));
    }

    /// Removes the objects whose keys start with `prefix`; all objects if it is empty. Returns
    /// their number. Locks are held for [`STEP`] slots at a time.
    pub fn clear(&self, prefix: &[u8]) -> usize {
        let mut walk = ClearWalk::default();
        std::iter::from_fn(|| self.clear_some(&mut walk, prefix)).sum()
    }

    /// One step of [`Cache::clear`]: [`STEP`] slots. The number of removed objects, `None` at the
    /// end. Responses that are being stored when the walk begins are not published.
    pub fn clear_some(&self, walk: &mut ClearWalk, prefix: &[u8]) -> Option<usize> {
        if *walk == ClearWalk::default() {
            (0..self.shards.len()).for_each(|at| self.with_shard_at(at, Shard::outdate_filling));
        }
        if walk.shard >= self.shards.len() {
            return None;
        }
        let is_gone = |object: &_, record: &_| starts_with(object, record, prefix);
        let mut gone = Vec::new();
        let next = self
            .with_shard_at(walk.shard, |shard| shard.sweep(walk.slot, STEP, is_gone, &mut gone));
        *walk = match next {
            Some(slot) => ClearWalk { slot, ..*walk },
            None => ClearWalk { shard: walk.shard + 1, slot: 0 },
        };
        Some(gone.len())
    }

    /// Shards, for [`Cache::list`].
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The objects of a shard that are in use at `now`, in the order of their hashes, for `show
    /// cache`. Locks are held for [`STEP`] slots at a time.
    pub fn list(&self, shard: usize, now: u64) -> Vec<ListedObject> {
        let Some(mutex) = self.shards.get(shard) else { return Vec::new() };
        let mut listed = Vec::new();
        let mut from = 0;
        loop {
            let shard = mutex.lock();
            let objects = shard.objects(from, STEP);
            listed.extend(objects.map(|(hash, object)| ListedObject::of(hash, object, now)));
            from += STEP;
            if from >= shard.slots() {
                break;
            }
        }
        listed.retain(|object: &ListedObject| object.expires_in > 0);
        listed.sort_by_key(|object| object.hash);
        listed
    }
}

/// The progress of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClearWalk {
    shard: usize,
    slot: usize,
}

/// A line of `show cache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// The address of its first block.
    pub address: usize,
    /// A part of the hash of its key.
    pub hash: u32,
    /// Its secondary key, 0 without one.
    pub vary: u64,
    /// Its bytes in blocks.
    pub size: usize,
    /// Its blocks.
    pub blocks: u32,
    /// How many requests it is served to.
    pub references: u32,
    /// Seconds for which it can be used.
    pub expires_in: u64,
}

impl ListedObject {
    fn of(hash: u64, object: &SharedBlocks, now: u64) -> Self {
        let record = crate::object::ObjectRecord::of(object);
        Self {
            address: object.address(),
            hash: (hash >> 32) as u32,
            vary: record.variant.listed(),
            size: object.len(),
            blocks: object.blocks(),
            references: object.holders() - 1,
            expires_in: record.end().saturating_sub(now).div_ceil(1000),
        }
    }
}

/// Milliseconds between two moves of an object in the order of use.
pub const TOUCH_INTERVAL: u64 = TOUCH_MS;
