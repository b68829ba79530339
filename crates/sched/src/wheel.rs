//! A hierarchical timer wheel over small indices, without an allocation per timer.
//!
//! Four levels of 256 buckets cover all 2^32 ticks. Arming, moving and disarming are O(1). A timer
//! of a higher level moves down when the time of its bucket comes, a bounded number per call. A
//! timer that is postponed stays in its list until then, so that postponing touches its own node
//! alone. The lists are linked by index in one vector: the node of task *n* is entry *n*.

use stdx::Tick;

const LEVELS: usize = 4;
const SLOTS: usize = 256;
const NIL: u32 = u32::MAX;
/// Timers that one call may move to another bucket, for each that it may fire.
const MOVES: usize = 4;
/// Bucket number of a node that is not armed.
const IDLE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    prev: u32,
    next: u32,
    at: Tick,
    bucket: u16,
}

const UNARMED: Node = Node { prev: NIL, next: NIL, at: Tick(0), bucket: IDLE };

/// Timers of one thread, each named by an index that the caller chooses.
#[derive(Debug)]
pub struct Wheel {
    nodes: Vec<Node>,
    heads: Box<[u32]>,
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// All ticks up to and including this one have been expired.
    current: Tick,
    /// Level whose bucket of `current` is being moved down; 0 if none is.
    cascading: usize,
    /// Whether the last call's budget ended before everything due at `current` was done.
    unfinished: bool,
    armed: usize,
}

impl Wheel {
    /// An empty wheel whose past ends at `now`.
    pub fn new(now: Tick) -> Self {
        Self {
            nodes: Vec::new(),
            heads: vec![NIL; LEVELS * SLOTS].into_boxed_slice(),
            occupied: [[0; SLOTS / 64]; LEVELS],
            current: now,
            cascading: 0,
            unfinished: false,
            armed: 0,
        }
    }

    /// Timers armed.
    pub fn len(&self) -> usize {
        self.armed
    }

    /// Whether no timer is armed.
    pub fn is_empty(&self) -> bool {
        self.armed == 0
    }

    /// Time at which the timer fires, if it is armed.
    pub fn armed(&self, index: u32) -> Option<Tick> {
        self.nodes.get(index as usize).filter(|node| node.bucket != IDLE).map(|node| node.at)
    }

    /// Arms or moves a timer. A time in the past fires at the next tick.
    pub fn arm(&mut self, index: u32, at: Tick) {
        if self.nodes.len() <= index as usize {
            self.nodes.resize(index as usize + 1, UNARMED);
        }
        let node = &mut self.nodes[index as usize];
        if node.bucket != IDLE && !at.is_before(node.at) {
            // A postponed timer stays in its bucket, and moves when the bucket's time comes.
            node.at = at;
            return;
        }
        self.disarm(index);
        let at = if at.is_due(self.current) { Tick(self.current.0.wrapping_add(1)) } else { at };
        self.link(index, at);
        self.armed += 1;
    }

    /// Disarms a timer; nothing happens if it was not armed.
    pub fn disarm(&mut self, index: u32) {
        if self.armed(index).is_some() {
            self.unlink(index);
            self.armed -= 1;
        }
    }

    /// Advances time to `now` and passes up to `budget` expired timers, disarmed, to `fire`, which
    /// may return a later tick to arm the timer again.
    ///
    /// Returns the number of timers passed. Timers beyond the budget fire in the next call. However
    /// far `now` has jumped, the work is bounded by the budget and the number of occupied buckets.
    pub fn advance(
        &mut self,
        now: Tick,
        budget: usize,
        mut fire: impl FnMut(u32) -> Option<Tick>,
    ) -> usize {
        let mut fired = 0;
        let mut moves = budget.max(1).saturating_mul(MOVES);
        self.unfinished = false;
        loop {
            while let Some((index, at)) = self.first_due() {
                let due = at.is_due(self.current);
                let left = if due { budget - fired } else { moves };
                if left == 0 {
                    self.unfinished = true;
                    return fired;
                }
                self.unlink(index);
                if !due {
                    moves -= 1;
                    self.link(index, at);
                    continue;
                }
                self.armed -= 1;
                fired += 1;
                if let Some(again) = fire(index) {
                    self.arm(index, again);
                }
            }
            if self.cascading > 0 {
                if !self.cascade(&mut moves) {
                    self.unfinished = true;
                    return fired;
                }
            } else if self.current.is_before(now) {
                self.step(now);
            } else {
                return fired;
            }
        }
    }

    /// Time at which [`Wheel::advance`] has to be called next: never later than the first timer.
    pub fn next(&self) -> Option<Tick> {
        if self.armed == 0 {
            return None;
        }
        if self.unfinished { Some(self.current) } else { self.next_bucket() }
    }

    /// Start of the first bucket ahead that is occupied.
    fn next_bucket(&self) -> Option<Tick> {
        let mut first: Option<Tick> = None;
        for level in 0..LEVELS {
            let shift = 8 * level as u32;
            let place = (self.current.0 >> shift) as usize % SLOTS;
            if let Some(ahead) = self.next_occupied(level, place) {
                let base = (self.current.0 >> shift).wrapping_add(ahead);
                let ahead = |at: Tick| at.0.wrapping_sub(self.current.0);
                let start = Tick(base << shift);
                first = Some(first.filter(|first| ahead(*first) <= ahead(start)).unwrap_or(start));
            }
        }
        first
    }

    /// A timer in the bucket of the current tick with its time, which is later if it was postponed.
    fn first_due(&self) -> Option<(u32, Tick)> {
        let index = self.heads[self.current.0 as usize % SLOTS];
        (index != NIL).then(|| (index, self.nodes[index as usize].at))
    }

    /// Moves to the next tick with something to do, at most to `now`.
    fn step(&mut self, now: Tick) {
        let next = self.next_bucket().filter(|_| self.armed > 0);
        let ahead = |at: Tick| at.0.wrapping_sub(self.current.0);
        self.current = next.filter(|next| ahead(*next) < ahead(now)).unwrap_or(now);
        // The start of a higher-level bucket is reached, so that bucket has to be moved down.
        if self.current.0.is_multiple_of(SLOTS as u32) {
            self.cascading = LEVELS - 1;
            let aligned = |level: usize| self.current.0.trailing_zeros() >= 8 * level as u32;
            while !aligned(self.cascading) {
                self.cascading -= 1;
            }
        }
    }

    /// Re-links the timers of the higher-level buckets that begin at the current tick, from the
    /// highest level down. `false`: more are left than this call may move.
    fn cascade(&mut self, moves: &mut usize) -> bool {
        while self.cascading > 0 {
            let place = (self.current.0 >> (8 * self.cascading as u32)) as usize % SLOTS;
            let index = self.heads[self.cascading * SLOTS + place];
            if index == NIL {
                self.cascading -= 1;
            } else if *moves == 0 {
                return false;
            } else {
                *moves -= 1;
                let at = self.nodes[index as usize].at;
                self.unlink(index);
                self.link(index, at);
            }
        }
        true
    }

    /// Distance (1..=256) from `place` to the next occupied bucket of a level, cyclically.
    fn next_occupied(&self, level: usize, place: usize) -> Option<u32> {
        let words = &self.occupied[level];
        let start = (place + 1) % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let head = words[word] >> bit;
        if head != 0 {
            return Some(head.trailing_zeros() + 1);
        }
        let mut distance = 64 - bit as u32;
        for turn in 1..=words.len() {
            let bits = words[(word + turn) % words.len()];
            if bits != 0 {
                return Some(distance + bits.trailing_zeros() + 1).filter(|d| *d <= SLOTS as u32);
            }
            distance += 64;
        }
        None
    }

    fn link(&mut self, index: u32, at: Tick) {
        let ahead = at.0.wrapping_sub(self.current.0);
        let level = match ahead {
            0..0x100 => 0,
            0x100..0x1_0000 => 1,
            0x1_0000..0x100_0000 => 2,
            _ => 3,
        };
        let place = (at.0 >> (8 * level as u32)) as usize % SLOTS;
        let bucket = level * SLOTS + place;
        let next = std::mem::replace(&mut self.heads[bucket], index);
        self.nodes[index as usize] = Node { prev: NIL, next, at, bucket: bucket as u16 };
        if next != NIL {
            self.nodes[next as usize].prev = index;
        }
        self.occupied[level][place / 64] |= 1 << (place % 64);
    }

    fn unlink(&mut self, index: u32) {
        let Node { prev, next, bucket, .. } = self.nodes[index as usize];
        self.nodes[index as usize].bucket = IDLE;
        if next != NIL {
            self.nodes[next as usize].prev = prev;
        }
        if prev != NIL {
            self.nodes[prev as usize].next = next;
            return;
        }
        let bucket = bucket as usize;
        self.heads[bucket] = next;
        if next == NIL {
            self.occupied[bucket / SLOTS][bucket % SLOTS / 64] &= !(1 << (bucket % 64));
        }
    }
}

#[cfg(test)]
mod tests;
