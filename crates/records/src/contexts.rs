//! Contexts with expanded keys, kept per thread for the connections that have used them last.
//!
//! A context takes about a kilobyte, and setting its key as long as protecting a short record. So a
//! thread has a limited number of pairs, and a layer leases one: it finds its keys there again
//! unless others have needed the place, and a connection at rest costs nothing. A pair is freed,
//! and its keys wiped, when its layer is dropped on the thread or another layer takes its place.

use crate::direction::Direction;
use ffi::{AeadContext, Purpose};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Pairs of one thread.
const PLACES: usize = 256;

/// Bits of a lease's name that count leases of one thread.
const COUNTER_BITS: u32 = 40;

thread_local! {
    static CONTEXTS: RefCell<Contexts> = RefCell::new(Contexts::new());
}

/// The place of a layer among the pairs of the thread that has used it last.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    place: usize,
    /// No other lease of the process has this name; 0 is none.
    name: u64,
}

/// The pairs of one thread.
struct Contexts {
    places: Vec<Pair>,
    /// The place at which the search for a pair that was not used lately continues.
    hand: usize,
    /// The name of the last lease.
    last: u64,
}

#[derive(Default)]
struct Pair {
    /// The lease that has the pair; 0 is none.
    name: u64,
    /// Whether the pair was used since the hand has passed.
    used: bool,
    opener: Keyed,
    sealer: Keyed,
}

/// A context that may have the key of its lease.
#[derive(Default)]
struct Keyed {
    context: Option<AeadContext>,
    /// Whether the key is that of the lease.
    current: bool,
}

impl Keyed {
    fn get(&mut self, purpose: Purpose, direction: &Direction) -> Option<&mut AeadContext> {
        if !self.current {
            let (aead, key) = (direction.suite.aead, direction.key());
            match &mut self.context {
                Some(context) => context.set_key(aead, key).then_some(())?,
                none => *none = Some(AeadContext::new(aead, purpose, key)?),
            }
            self.current = true;
        }
        self.context.as_mut()
    }
}

impl Contexts {
    fn new() -> Self {
        static THREADS: AtomicU64 = AtomicU64::new(1);
        let last = THREADS.fetch_add(1, Relaxed) << COUNTER_BITS;
        Self { places: Vec::new(), hand: 0, last }
    }

    /// The pair of a lease, which is made valid if it is not.
    fn pair(&mut self, lease: &mut Lease) -> &mut Pair {
        let valid = |pair: &Pair| pair.name == lease.name && lease.name != 0;
        if !self.places.get(lease.place).is_some_and(valid) {
            self.last += 1;
            *lease = Lease { place: self.free_place(), name: self.last };
            let pair = &mut self.places[lease.place];
            (pair.name, pair.opener.current, pair.sealer.current) = (lease.name, false, false);
        }
        let pair = &mut self.places[lease.place];
        pair.used = true;
        pair
    }

    /// A place that was not used since the hand has last passed: at most two rounds.
    fn free_place(&mut self) -> usize {
        if self.places.len() < PLACES {
            self.places.push(Pair::default());
            return self.places.len() - 1;
        }
        loop {
            self.hand = (self.hand + 1) % PLACES;
            let pair = &mut self.places[self.hand];
            if !std::mem::take(&mut pair.used) {
                return self.hand;
            }
        }
    }
}

/// Runs `act` with the context that opens records of the direction. `None`: the library has failed.
#[inline]
pub(crate) fn with_opener<T>(
    lease: &mut Lease,
    direction: &Direction,
    act: impl FnOnce(&mut AeadContext) -> T,
) -> Option<T> {
    with_pair(lease, |pair| pair.opener.get(Purpose::Open, direction).map(act))
}

/// Runs `act` with the context that seals records of the direction. `None`: the library has failed.
#[inline]
pub(crate) fn with_sealer<T>(
    lease: &mut Lease,
    direction: &Direction,
    act: impl FnOnce(&mut AeadContext) -> T,
) -> Option<T> {
    with_pair(lease, |pair| pair.sealer.get(Purpose::Seal, direction).map(act))
}

/// `None`: the thread ends, and has freed its pairs.
#[inline]
fn with_pair<T>(lease: &mut Lease, act: impl FnOnce(&mut Pair) -> Option<T>) -> Option<T> {
    CONTEXTS.try_with(|all| act(all.borrow_mut().pair(lease))).ok().flatten()
}

/// The keys of a lease are no longer valid, or not needed any more: the pair is freed if it is this
/// thread's.
pub(crate) fn forget(lease: &mut Lease) {
    let lease = std::mem::take(lease);
    // When a thread ends, its pairs may have been freed before.
    let _ = CONTEXTS.try_with(|all| {
        if let Ok(mut all) = all.try_borrow_mut()
            && let Some(pair) = all.places.get_mut(lease.place)
            && pair.name == lease.name
            && lease.name != 0
        {
            *pair = Pair::default();
        }
    });
}

/// How many keys this thread has in contexts.
#[cfg(test)]
pub(crate) fn keys() -> usize {
    CONTEXTS.with_borrow(|all| {
        let keyed = all.places.iter().flat_map(|pair| [&pair.opener, &pair.sealer]);
        keyed.filter(|keyed| keyed.context.is_some()).count()
    })
}

/// How many pairs a thread has at most.
#[cfg(test)]
pub(crate) const MOST: usize = PLACES;
