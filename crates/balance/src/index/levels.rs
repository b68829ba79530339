//! The load index by levels: one node per load value, with the servers at that value in a ring.
//!
//! A server stands at its load or below it, never above, save one. So most requests change nothing:
//!
//! - a pick goes round the lowest ring from where the last one stopped, without a lock, and takes
//!   the first server whose load still is that of the ring; this server now stands too low; - its
//!   release finds it standing right again, and does nothing;
//! - only when a pick has met several servers in a row on too low a level does it take the lock,
//!   and moves them all to their proper levels; - a release that leaves a server with less load
//!   than all others (the save one) writes its slot beside the ring's position, where the next pick
//!   takes it;
//! - only when that place is taken, or others have no more load, a release takes the lock and moves
//!   its server down.
//!
//! So no server with less load is passed over while nothing else changes. Equals are served in the
//! order in which they came to their load or were last served at it. The ring's position is a hint:
//! two picks at once may write it in either order, and a thread that finds it pointing nowhere
//! takes the lock and corrects it.
//!
//! Shared lines written: a pick two (position; the server's counters), a release one or two (the
//! counters; the place beside the position), and the lock with up to six servers' lines when one is
//! moved. Servers without room stay in their ring, so a pick that meets only full ones continues
//! under the lock, as in a tree.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

use stdx::AppendList;

use super::{
    Load, LoadIndex, Moves, NoServer, OUT, reindex,
    sync::{AtomicU32, AtomicU64, Mutex, lock},
};

/// Servers that a pick tries before it takes the lock.
const PATIENCE: usize = 8;

/// No server.
const NIL: u32 = u32::MAX;

/// The lowest ring as picks see it, on a line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Front {
    /// Its load value; written under the lock only.
    key: AtomicU64,
    /// The server to be tried next, or [`NIL`] to take the lock.
    next: AtomicU32,
    /// A server whose load is below its level, and below the lowest ring when it was put here; or
    /// [`NIL`]. The thread that takes the server out moves it to its level or puts it back.
    released: AtomicU32,
}

/// A ring of servers.
#[derive(Clone, Copy, Debug)]
struct LevelRing {
    /// The next server to serve; for the lowest ring [`Front::next`] is more recent.
    head: u32,
    len: usize,
}

#[derive(Debug, Default)]
struct Rings {
    by_key: BTreeMap<u64, LevelRing>,
    moves: u64,
}

/// The result of trying a server under the lock.
enum Tried {
    Reserved,
    /// The server's key was too low; it is in the ring of this key now.
    Moved(u64),
    /// The server has room, but the request avoids it.
    Avoided,
    Full,
}

/// The rings under their lock, on a line that picks without the lock never read.
#[derive(Debug)]
#[repr(align(64))]
struct Guarded(Mutex<Rings>);

/// One node per load value.
#[derive(Debug)]
pub(crate) struct Levels {
    front: Front,
    loads: AppendList<Arc<Load>>,
    rings: Guarded,
}

impl Levels {
    pub(crate) fn new(loads: Box<[Arc<Load>]>) -> Self {
        let front = Front {
            key: AtomicU64::new(OUT),
            next: AtomicU32::new(NIL),
            released: AtomicU32::new(NIL),
        };
        Self {
            front,
            loads: loads.into_iter().collect(),
            rings: Guarded(Mutex::new(Rings::default())),
        }
    }

    /// As [`LoadIndex::members`]; picks wait from before `known` is called until these take part.
    pub(crate) fn begin(&self, slots: &[usize], known: impl FnOnce()) {
        let rings = &mut *lock(&self.rings.0);
        known();
        self.front.next.store(NIL, Release);
        self.front.released.store(NIL, Release);
        self.loads.iter().for_each(|load| load.indexed.store(OUT, Release));
        rings.by_key.clear();
        for slot in slots {
            let (slot, key) = (*slot as u32, self.loads[*slot].key());
            self.link(rings, slot, key);
            self.load(slot).indexed.store(key, Release);
            self.reindex(rings, slot, Moves::Down);
        }
        self.publish(rings);
    }

    fn load(&self, slot: u32) -> &Load {
        &self.loads[slot as usize]
    }

    /// Takes the server that was left beside the lowest ring, if it has less load than that.
    fn pick_released(&self, avoid: Option<usize>) -> Option<usize> {
        let slot = self.front.released.load(Acquire);
        let load = self.loads.get(slot as usize)?;
        let (key, lowest) = (load.key(), self.front.key.load(Acquire));
        if key >= lowest || avoid == Some(slot as usize) || !load.has_room() {
            return None;
        }
        self.front.released.compare_exchange(slot, NIL, AcqRel, Relaxed).ok()?;
        let picked = load.indexed.load(Acquire) != OUT && load.reserve_up_to(key);
        self.load_changed(slot as usize);
        picked.then_some(slot as usize)
    }

    /// Puts a released server into the slot beside the lowest ring; `false` if its key is not lower
    /// or another server is in the slot.
    fn leave_released(&self, slot: u32, key: u64) -> bool {
        let left = |before| before == slot;
        key < self.front.key.load(Acquire)
            && (self.front.released.compare_exchange(NIL, slot, AcqRel, Acquire))
                .map_or_else(left, |_| true)
    }

    /// Puts the server beside the lowest ring in its proper ring.
    fn drain_released(&self, rings: &mut Rings) {
        let slot = self.front.released.swap(NIL, AcqRel);
        if slot != NIL {
            self.reindex(rings, slot, Moves::Both);
        }
    }

    /// The usual pick: no lock.
    fn pick_front(&self, avoid: Option<usize>) -> Option<usize> {
        let key = self.front.key.load(Acquire);
        let start = self.front.next.load(Acquire);
        let mut at = start;
        for _ in 0..PATIENCE {
            let load = self.loads.get(at as usize)?;
            let after = load.after.load(Relaxed);
            let stands_here = load.indexed.load(Acquire) <= key;
            if stands_here && avoid != Some(at as usize) && load.reserve_up_to(key) {
                self.front.next.store(after, Release);
                load.count_avoided_move();
                return Some(at as usize);
            }
            at = after;
            if at == start {
                return None;
            }
        }
        None
    }

    /// The pick that lifts whom it meets standing too low, and continues to higher rings.
    fn pick_rings(&self, rings: &mut Rings, avoid: Option<usize>) -> Result<usize, NoServer> {
        let mut avoided = None;
        let mut from = 0;
        while let Some((&key, ring)) = rings.by_key.range(from..).next() {
            let (mut at, mut lowest) = (self.head(key, ring), key + 1);
            for _ in 0..ring.len {
                let slot = at;
                at = self.load(slot).after.load(Relaxed);
                match self.try_at(rings, slot, key, avoid) {
                    Tried::Reserved => {
                        self.turn(rings, key, at);
                        if at == slot {
                            // The ring at this value is empty: the next ring becomes the lowest.
                            self.reindex(rings, slot, Moves::Both);
                        }
                        return Ok(slot as usize);
                    }
                    Tried::Moved(to) => lowest = lowest.min(to),
                    Tried::Avoided => avoided = Some(slot as usize),
                    Tried::Full => {}
                }
            }
            // Usually the next ring; a lower one if a server was released to it meanwhile.
            from = lowest;
        }
        let none = if rings.by_key.is_empty() { NoServer::Unusable } else { NoServer::Full };
        let slot = avoided.ok_or(none)?;
        self.loads[slot].reserve();
        Ok(slot)
    }

    /// Tries a server that stands at `key`, or lifts it if its load is above that.
    fn try_at(&self, rings: &mut Rings, slot: u32, key: u64, avoid: Option<usize>) -> Tried {
        let load = self.load(slot);
        loop {
            if load.settled_key() > key {
                return Tried::Moved(self.reindex(rings, slot, Moves::Both));
            }
            if !load.has_room() {
                return Tried::Full;
            }
            if avoid == Some(slot as usize) {
                return Tried::Avoided;
            }
            if load.reserve_up_to(key) {
                return Tried::Reserved;
            }
            // Another pick was faster: look again.
        }
    }

    /// The next server of a ring.
    fn head(&self, key: u64, ring: &LevelRing) -> u32 {
        let next = self.front.next.load(Acquire);
        if key == self.front.key.load(Relaxed) && self.stands_at(next, key) {
            next
        } else {
            ring.head
        }
    }

    fn stands_at(&self, slot: u32, key: u64) -> bool {
        self.loads.get(slot as usize).is_some_and(|load| load.indexed.load(Relaxed) == key)
    }

    /// Turns a ring so that `next` is served next.
    fn turn(&self, rings: &mut Rings, key: u64, next: u32) {
        if let Some(ring) = rings.by_key.get_mut(&key) {
            ring.head = next;
        }
        if key == self.front.key.load(Relaxed) {
            self.front.next.store(next, Release);
        }
    }

    /// Shows picks the lowest ring.
    fn publish(&self, rings: &mut Rings) {
        let Some((&key, &ring)) = rings.by_key.first_key_value() else {
            self.front.next.store(NIL, Release);
            return;
        };
        let (shown, next) = (self.front.key.load(Relaxed), self.front.next.load(Acquire));
        if shown == key {
            if !self.stands_at(next, key) {
                self.front.next.store(ring.head, Release);
            }
            return;
        }
        if self.stands_at(next, shown)
            && let Some(ring) = rings.by_key.get_mut(&shown)
        {
            ring.head = next;
        }
        self.front.key.store(key, Release);
        self.front.next.store(ring.head, Release);
    }

    /// Moves a server whose key is out of date; returns the new key.
    fn reindex(&self, rings: &mut Rings, slot: u32, moves: Moves) -> u64 {
        reindex(self.load(slot), moves, |from, to| {
            self.unlink(rings, slot, from);
            self.link(rings, slot, to);
            rings.moves += 1;
        })
    }

    /// Puts a server behind all others of a ring.
    fn link(&self, rings: &mut Rings, slot: u32, key: u64) {
        let load = self.load(slot);
        let Some(ring) = rings.by_key.get(&key) else {
            load.before.store(slot, Relaxed);
            load.after.store(slot, Relaxed);
            rings.by_key.insert(key, LevelRing { head: slot, len: 1 });
            return;
        };
        let head = self.head(key, ring);
        let last = self.load(head).before.load(Relaxed);
        load.before.store(last, Relaxed);
        load.after.store(head, Relaxed);
        self.load(last).after.store(slot, Relaxed);
        self.load(head).before.store(slot, Relaxed);
        rings.by_key.entry(key).and_modify(|ring| ring.len += 1);
    }

    fn unlink(&self, rings: &mut Rings, slot: u32, key: u64) {
        let (before, after) =
            (self.load(slot).before.load(Relaxed), self.load(slot).after.load(Relaxed));
        if after == slot {
            rings.by_key.remove(&key);
            return;
        }
        self.load(before).after.store(after, Relaxed);
        self.load(after).before.store(before, Relaxed);
        if let Some(ring) = rings.by_key.get_mut(&key) {
            ring.len -= 1;
            ring.head = if ring.head == slot { after } else { ring.head };
        }
        if key == self.front.key.load(Relaxed) && self.front.next.load(Acquire) == slot {
            self.front.next.store(after, Release);
        }
    }
}

impl LoadIndex for Levels {
    fn admit(&self, load: Arc<Load>) {
        self.loads.push(load);
    }

    fn members(&self, slots: &[usize]) {
        self.begin(slots, || {});
    }

    fn pick(&self, avoid: Option<usize>) -> Result<usize, NoServer> {
        if let Some(slot) = self.pick_released(avoid).or_else(|| self.pick_front(avoid)) {
            return Ok(slot);
        }
        let rings = &mut *lock(&self.rings.0);
        self.drain_released(rings);
        let picked = self.pick_rings(rings, avoid);
        self.publish(rings);
        picked
    }

    fn load_changed(&self, slot: usize) {
        let load = &self.loads[slot];
        let (indexed, key) = (load.indexed.load(Acquire), load.key());
        if indexed == OUT || key >= indexed || self.leave_released(slot as u32, key) {
            load.count_avoided_move();
            return;
        }
        let rings = &mut *lock(&self.rings.0);
        self.reindex(rings, slot as u32, Moves::Down);
        self.publish(rings);
    }

    fn moves(&self) -> u64 {
        lock(&self.rings.0).moves
    }
}
