//! The counters of one server that every request writes, on a cache line of their own. Never takes a lock.
//!
//! Protocol: `word` holds served (low half) and pending (high half) requests, so that turning a
//! reservation into a served request is one addition that leaves their sum, the load, unchanged.
//! Writes per request: reserve 1, commit 1, release 1, all on this one line.

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

const PENDING: u64 = 1 << 32;

/// What a server carries now, and what the load index last knew of it.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Load {
    word: AtomicU64,
    /// The key under which the load index holds this server; written under the index's lock only.
    pub(crate) indexed: AtomicU64,
    /// Effective weight in units of 1/16 of a user weight.
    weight: AtomicU32,
    /// Most concurrent requests, 0 for no limit.
    maxconn: AtomicU32,
    avoided: AtomicU64,
    /// How many of the pending requests wait in the server's queue.
    queued: AtomicU32,
}

impl Load {
    pub(crate) fn new(weight: u32, maxconn: u32) -> Self {
        Self { weight: weight.into(), maxconn: maxconn.into(), ..Self::default() }
    }

    /// Requests that the server serves now.
    pub fn served(&self) -> u32 {
        self.word.load(SeqCst) as u32
    }

    /// Requests that chose this server and are not served yet, queued ones included.
    pub fn pending(&self) -> u32 {
        (self.word.load(SeqCst) >> 32) as u32
    }

    /// Requests that wait in the queue of this server.
    pub fn queued(&self) -> u32 {
        self.queued.load(Relaxed)
    }

    /// Served and pending requests together.
    pub fn total(&self) -> u64 {
        let word = self.word.load(SeqCst);
        (word & (PENDING - 1)) + (word >> 32)
    }

    /// Effective weight, see [`crate::WEIGHT_SCALE`].
    pub fn weight(&self) -> u32 {
        self.weight.load(SeqCst)
    }

    /// The connection limit now in force, 0 for none.
    pub fn maxconn(&self) -> u32 {
        self.maxconn.load(Relaxed)
    }

    /// Whether one more request could be served at once.
    pub fn has_room(&self) -> bool {
        let limit = self.maxconn();
        limit == 0 || (self.queued() == 0 && self.total() < u64::from(limit))
    }

    /// The order of least connections: 0 while idle, then (load + 1) by weight in units of 2^-24
    /// requests. A weight of 0 sorts last.
    pub(crate) fn key(&self) -> u64 {
        match (self.total(), u64::from(self.weight())) {
            (_, 0) => u64::MAX,
            (0, _) => 0,
            (load, weight) => ((load + 1) << 24) / weight,
        }
    }

    /// How often a change of load found the server in its right place in the load index.
    pub fn avoided_moves(&self) -> u64 {
        self.avoided.load(Relaxed)
    }

    pub(crate) fn count_avoided_move(&self) {
        self.avoided.fetch_add(1, Relaxed);
    }

    /// Whether this load, by weight, is below that of `other`.
    pub(crate) fn lighter_than(&self, other: &Self) -> bool {
        let scaled = |a: &Self, b: &Self| u128::from(a.total() + 1) * u128::from(b.weight());
        scaled(self, other) < scaled(other, self)
    }

    pub(crate) fn set_weight(&self, weight: u32) -> bool {
        self.weight.swap(weight, SeqCst) != weight
    }

    pub(crate) fn set_maxconn(&self, limit: u32) {
        self.maxconn.store(limit, Relaxed);
    }

    pub(crate) fn reserve(&self) {
        self.word.fetch_add(PENDING, SeqCst);
    }

    pub(crate) fn cancel(&self) {
        self.word.fetch_sub(PENDING, SeqCst);
    }

    pub(crate) fn commit(&self) {
        self.word.fetch_sub(PENDING - 1, SeqCst);
    }

    /// Commits only while fewer than `maxconn` requests are served; tells whether it did.
    pub(crate) fn try_commit(&self) -> bool {
        let limit = self.maxconn();
        let step = |word: u64| {
            (limit == 0 || (word as u32) < limit).then(|| word.wrapping_sub(PENDING - 1))
        };
        self.word.fetch_update(SeqCst, SeqCst, step).is_ok()
    }

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
