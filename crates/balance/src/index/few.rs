//! The load index for a handful of servers: a pick looks at all of them.
//!
//! Equals are served in the order in which they came to their load or were last served at it; turns
//! drawn from one counter keep that order. Shared lines written: two per pick and per release (the
//! counter; the server's). A pick reads every server's line, which is what limits their number.

use std::{
    cmp::Ordering,
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Relaxed, Release},
    },
};

use stdx::AppendList;

use super::{Load, LoadIndex, NoServer, OUT, sync::AtomicU64};

/// A handful of servers.
#[derive(Debug)]
pub(crate) struct Few {
    turn: Turn,
    loads: AppendList<Arc<Load>>,
}

/// The next turn, on a line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Turn(AtomicU64);

/// A server with the load that was read.
#[derive(Clone, Copy)]
struct SeenLoad {
    slot: usize,
    turn: u64,
    word: u64,
    weight: u64,
}

impl SeenLoad {
    /// The order of service: the least loaded server by weight, then the one whose turn it is.
    fn order(&self, other: &Self) -> Ordering {
        // By weights as fractions are compared: without a division.
        let (own, others) = (self.share() * other.weight, other.share() * self.weight);
        let last = (self.weight == 0).cmp(&(other.weight == 0));
        last.then(own.cmp(&others)).then(self.turn.cmp(&other.turn))
    }

    /// 0 if idle, else the load with one more request.
    fn share(&self) -> u64 {
        match Load::total_of(self.word) {
            0 => 0,
            load => load + 1,
        }
    }
}

impl Few {
    pub(crate) fn new(loads: Box<[Arc<Load>]>) -> Self {
        Self { turn: Turn(AtomicU64::new(0)), loads: loads.into_iter().collect() }
    }

    /// All servers, by slot.
    pub(crate) fn loads(&self) -> Box<[Arc<Load>]> {
        self.loads.iter().cloned().collect()
    }

    /// The number of servers, whether or not they take part in balancing.
    pub(crate) fn len(&self) -> usize {
        self.loads.len()
    }

    /// The server to serve first, with room and not to be avoided; else the one to be avoided if it
    /// has room.
    fn look(&self, avoid: Option<usize>) -> Result<SeenLoad, NoServer> {
        let (mut best, mut avoided, mut none): (Option<SeenLoad>, _, _) = (None, None, true);
        for (slot, load) in self.loads.iter().enumerate() {
            if load.indexed.load(Acquire) == OUT {
                continue;
            }
            none = false;
            let (turn, word) = (load.turn.load(Relaxed), load.word());
            if !load.leaves_room(Load::total_of(word)) {
                continue;
            }
            let seen = SeenLoad { slot, turn, word, weight: u64::from(load.weight()) };
            if avoid == Some(slot) {
                avoided = Some(seen);
            } else if best.is_none_or(|best| seen.order(&best) == Ordering::Less) {
                best = Some(seen);
            }
        }
        best.or(avoided).ok_or(if none { NoServer::Unusable } else { NoServer::Full })
    }

    /// The server came to its load just now.
    fn arrive(&self, slot: usize) {
        let now = self.turn.0.fetch_add(1, Relaxed);
        self.loads[slot].turn.store(now, Relaxed);
    }
}

impl LoadIndex for Few {
    fn admit(&self, load: Arc<Load>) {
        self.loads.push(load);
    }

    fn members(&self, slots: &[usize]) {
        let first = self.turn.0.fetch_add(slots.len() as u64, Relaxed);
        for (slot, load) in self.loads.iter().enumerate() {
            let place = slots.iter().position(|it| *it == slot);
            if let Some(place) = place {
                load.turn.store(first + place as u64, Relaxed);
            }
            load.indexed.store(place.map_or(OUT, |_| 0), Release);
        }
    }

    fn pick(&self, avoid: Option<usize>) -> Result<usize, NoServer> {
        loop {
            let seen = self.look(avoid)?;
            if self.loads[seen.slot].reserve_from(seen.word) {
                self.arrive(seen.slot);
                return Ok(seen.slot);
            }
            // Another request has taken the slot: the search starts again.
        }
    }

    fn load_changed(&self, slot: usize) {
        self.arrive(slot);
    }

    fn moves(&self) -> u64 {
        0
    }
}
