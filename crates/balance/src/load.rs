//! The counters of one server that every request writes, on a cache line of their own.
//!
//! Protocol: `word` holds served (low half) and pending (high half) requests, so that turning a
//! reservation into a served request is one addition that leaves their sum, the load, unchanged.
//! Writes per request: reserve 1, commit 1, release 1, all to this line, which also holds the
//! server's data of the load index.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

use super::sync::{AtomicU32, AtomicU64};

const PENDING: u64 = 1 << 32;

/// The key in [`Load::indexed`] of a server that is not in the load index.
pub(crate) const OUT: u64 = u64::MAX;

/// The current load of a server, and its place in the load index.
#[derive(Debug)]
#[repr(align(64))]
pub struct Load {
    word: AtomicU64,
    /// The key under which the load index holds this server, or [`OUT`]; written under the index's
    /// lock only.
    pub(crate) indexed: AtomicU64,
    /// The order in which servers came to their loads, for [`super::index::few`]: a higher turn
    /// came later.
    pub(crate) turn: AtomicU64,
    /// Effective weight in units of 1/16 of a user weight.
    weight: AtomicU32,
    /// Most concurrent requests, 0 for no limit.
    maxconn: AtomicU32,
    avoided: AtomicU64,
    /// How many of the pending requests wait in the server's queue.
    queued: AtomicU32,
    /// The servers before and after this one at its level of the load index, by slot; written
    /// under the index's lock only.
    pub(crate) before: AtomicU32,
    pub(crate) after: AtomicU32,
}

impl Load {
    pub(crate) fn new(weight: u32, maxconn: u32) -> Self {
        Self {
            word: AtomicU64::new(0),
            indexed: AtomicU64::new(OUT),
            turn: AtomicU64::new(0),
            weight: AtomicU32::new(weight),
            maxconn: AtomicU32::new(maxconn),
            avoided: AtomicU64::new(0),
            queued: AtomicU32::new(0),
            before: AtomicU32::new(0),
            after: AtomicU32::new(0),
        }
    }

    /// Requests that the server serves now.
    pub fn served(&self) -> u32 {
        self.word.load(Acquire) as u32
    }

    /// Requests that chose this server and are not served yet, queued ones included.
    pub fn pending(&self) -> u32 {
        (self.word.load(Acquire) >> 32) as u32
    }

    /// Requests that wait in the queue of this server.
    pub fn queued(&self) -> u32 {
        self.queued.load(Relaxed)
    }

    /// Served and pending requests together.
    pub fn total(&self) -> u64 {
        total(self.word.load(Acquire))
    }

    /// Effective weight, see [`crate::WEIGHT_SCALE`].
    pub fn weight(&self) -> u32 {
        self.weight.load(Acquire)
    }

    /// The connection limit now in force, 0 for none.
    pub fn maxconn(&self) -> u32 {
        self.maxconn.load(Relaxed)
    }

    /// Whether one more request could be served at once.
    pub fn has_room(&self) -> bool {
        self.leaves_room(self.total())
    }

    /// The counts in one word, for [`Load::reserve_from`].
    pub(crate) fn word(&self) -> u64 {
        self.word.load(Acquire)
    }

    /// Served and pending requests together, of a word read before.
    pub(crate) fn total_of(word: u64) -> u64 {
        total(word)
    }

    /// Whether one more request could be served at once beside `total`.
    pub(crate) fn leaves_room(&self, total: u64) -> bool {
        let limit = self.maxconn();
        limit == 0 || (self.queued() == 0 && total < u64::from(limit))
    }

    /// The order of least connections: 0 while idle, then (load + 1) by weight in units of 2^-24
    /// requests. A weight of 0 sorts last.
    pub(crate) fn key(&self) -> u64 {
        key(total(self.word.load(Acquire)), self.weight())
    }

    /// The key, read by a write to the word: a thread that changes the word later sees all that
    /// this thread has stored before.
    pub(crate) fn settled_key(&self) -> u64 {
        let word = self.word.fetch_add(0, AcqRel);
        key(total(word), self.weight())
    }

    /// How often a request found the server in its right place in the load index, so that nothing
    /// was moved. Two threads that count at once may count one.
    pub fn avoided_moves(&self) -> u64 {
        self.avoided.load(Relaxed)
    }

    pub(crate) fn count_avoided_move(&self) {
        self.avoided.store(self.avoided_moves().wrapping_add(1), Relaxed);
    }

    /// Whether this load, by weight, is below that of `other`.
    pub(crate) fn lighter_than(&self, other: &Self) -> bool {
        let scaled = |a: &Self, b: &Self| u128::from(a.total() + 1) * u128::from(b.weight());
        scaled(self, other) < scaled(other, self)
    }

    pub(crate) fn set_weight(&self, weight: u32) -> bool {
        self.weight.swap(weight, AcqRel) != weight
    }

    pub(crate) fn set_maxconn(&self, limit: u32) {
        self.maxconn.store(limit, Relaxed);
    }

    pub(crate) fn reserve(&self) {
        self.word.fetch_add(PENDING, AcqRel);
    }

    /// Reserves only while there is room and the key is at most `most`; tells whether it did.
    pub(crate) fn reserve_up_to(&self, most: u64) -> bool {
        let weight = self.weight();
        let step = |word: u64| {
            let total = total(word);
            (key(total, weight) <= most && self.leaves_room(total)).then(|| word + PENDING)
        };
        self.word.fetch_update(AcqRel, Acquire, step).is_ok()
    }

    /// Reserves if the counts equal those of a word read before; returns whether it did.
    pub(crate) fn reserve_from(&self, word: u64) -> bool {
        self.word.compare_exchange(word, word + PENDING, AcqRel, Relaxed).is_ok()
    }

    pub(crate) fn cancel(&self) {
        self.word.fetch_sub(PENDING, AcqRel);
    }

    pub(crate) fn commit(&self) {
        self.word.fetch_sub(PENDING - 1, AcqRel);
    }

    /// Commits only while fewer than `maxconn` requests are served; tells whether it did.
    pub(crate) fn try_commit(&self) -> bool {
        let limit = self.maxconn();
        let step = |word: u64| {
            (limit == 0 || (word as u32) < limit).then(|| word.wrapping_sub(PENDING - 1))
        };
        self.word.fetch_update(AcqRel, Acquire, step).is_ok()
    }

    /// Ordered before the next read of this thread, because a thread that releases a slot then
    /// looks for a waiting request.
    pub(crate) fn release(&self) {
        self.word.fetch_sub(1, SeqCst);
    }

    pub(crate) fn enqueue(&self) {
        self.queued.fetch_add(1, Relaxed);
    }

    pub(crate) fn dequeue(&self) {
        self.queued.fetch_sub(1, Relaxed);
    }
}

fn total(word: u64) -> u64 {
    (word & (PENDING - 1)) + (word >> 32)
}

fn key(total: u64, weight: u32) -> u64 {
    match (total, u64::from(weight)) {
        (_, 0) => OUT - 1,
        (0, _) => 0,
        (load, weight) => ((load + 1) << 24) / weight,
    }
}
