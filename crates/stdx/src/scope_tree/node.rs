//! One node of the tree: entries in order, and the threads that each entry concerns.
//!
//! Scopes are stored by thread, not by entry: `places[t]` has a bit for each entry whose scope
//! includes thread `t`. So the first entry of a thread is found with one load and one count of
//! zeros, in one cache line, and an insertion shifts 64 contiguous words.

use super::Position;

/// Entries per node. Larger nodes make a shallower tree but costlier insertions.
pub(super) const FANOUT: usize = Places::BITS as usize;
/// A node with fewer entries merges with a sibling if possible.
pub(super) const SPARSE: usize = FANOUT / 4;
/// Most entries after a merge, so that the next insertion does not split the node again.
pub(super) const MERGED: usize = FANOUT * 3 / 4;

/// Slots of a node, one bit each.
pub(super) type Places = u32;

/// An item in a leaf, or a node below an inner node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeEntry {
    /// Position of the item; of a node, a lower bound of all positions below it.
    pub(super) position: Position,
    /// Scope of the item; of a node, the union of all scopes below it.
    pub(super) scope: u64,
    /// Index of the item or of the node.
    pub(super) link: u32,
}

/// A node. Serials are compared only among equal keys. Unused slots have no bits and the greatest
/// key.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Node {
    places: [Places; 64],
    keys: [u64; FANOUT],
    links: [u32; FANOUT],
    serials: [u64; FANOUT],
    len: u32,
}

impl Node {
    pub(super) const fn new() -> Self {
        Self {
            places: [0; 64],
            keys: [u64::MAX; FANOUT],
            links: [0; FANOUT],
            serials: [0; FANOUT],
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == FANOUT
    }

    pub(super) fn link(&self, place: usize) -> u32 {
        self.links[place]
    }

    pub(super) fn position(&self, place: usize) -> Position {
        Position { key: self.keys[place], serial: self.serials[place] }
    }

    pub(super) fn entry(&self, place: usize) -> NodeEntry {
        let scope = self.scope_of(|places| places & bit(place));
        NodeEntry { position: self.position(place), scope, link: self.links[place] }
    }

    /// The union of all scopes in the node.
    pub(super) fn union(&self) -> u64 {
        self.scope_of(|places| places)
    }

    fn scope_of(&self, places: impl Fn(Places) -> Places) -> u64 {
        let thread = |(thread, it): (usize, &Places)| u64::from(places(*it) != 0) << thread;
        self.places.iter().enumerate().map(thread).fold(0, |scope, thread| scope | thread)
    }

    /// The entries whose scopes intersect `scope`.
    pub(super) fn meeting(&self, scope: u64) -> Places {
        threads(scope).fold(0, |places, thread| places | self.places[thread])
    }

    /// Number of entries before `position`: its slot, present or not.
    pub(super) fn place(&self, position: Position) -> usize {
        let mut place = self.keys.partition_point(|key| *key < position.key);
        while place < self.len() && self.position(place) < position {
            place += 1;
        }
        place
    }

    /// Slot of the child below which `position` belongs.
    pub(super) fn child(&self, position: Position) -> usize {
        let place = self.place(position);
        let exact = place < self.len() && self.position(place) == position;
        if exact { place } else { place.saturating_sub(1) }
    }

    /// Slot of exactly this position.
    pub(super) fn find(&self, position: Position) -> Option<usize> {
        let place = self.place(position);
        (place < self.len() && self.position(place) == position).then_some(place)
    }

    /// Updates the child at `place` for a new item below it.
    pub(super) fn extend(&mut self, place: usize, entry: &NodeEntry) {
        threads(entry.scope).for_each(|thread| self.places[thread] |= bit(place));
        if entry.position < self.position(place) {
            self.set_position(place, entry.position);
        }
    }

    /// Removes the threads `gone` from the scope at `place`.
    pub(super) fn restrict(&mut self, place: usize, gone: u64) {
        threads(gone).for_each(|thread| self.places[thread] &= !bit(place));
    }

    /// Those threads of `scope` for which the node has no entry.
    pub(super) fn without(&self, scope: u64) -> u64 {
        threads(scope).filter(|thread| self.places[*thread] == 0).fold(0, |all, it| all | 1 << it)
    }

    pub(super) fn set_scope(&mut self, place: usize, scope: u64) {
        for (thread, places) in self.places.iter_mut().enumerate() {
            let concerned = (scope >> thread & 1) as Places;
            *places = *places & !bit(place) | concerned << place;
        }
    }

    /// Inserts an entry at `place`; the node must not be full.
    pub(super) fn insert(&mut self, place: usize, entry: NodeEntry) {
        let len = self.len();
        let below = below(place);
        self.places.iter_mut().for_each(|it| *it = *it & below | (*it & !below) << 1);
        self.keys.copy_within(place..len, place + 1);
        self.serials.copy_within(place..len, place + 1);
        self.links.copy_within(place..len, place + 1);
        self.len += 1;
        threads(entry.scope).for_each(|thread| self.places[thread] |= bit(place));
        self.links[place] = entry.link;
        self.set_position(place, entry.position);
    }

    /// Removes the entry at `place`; returns its link.
    pub(super) fn remove(&mut self, place: usize) -> u32 {
        let (link, len) = (self.links[place], self.len());
        let below = below(place);
        self.places.iter_mut().for_each(|it| *it = *it & below | *it >> 1 & !below);
        self.keys.copy_within(place + 1..len, place);
        self.serials.copy_within(place + 1..len, place);
        self.links.copy_within(place + 1..len, place);
        self.keys[len - 1] = u64::MAX;
        self.len -= 1;
        link
    }

    /// Moves the entries from `cut` on into a new node.
    pub(super) fn split_off(&mut self, cut: usize) -> Self {
        let (mut right, len) = (Self::new(), self.len());
        for (left, right) in self.places.iter_mut().zip(&mut right.places) {
            *right = left.checked_shr(cut as u32).unwrap_or(0);
            *left &= below(cut);
        }
        right.keys[..len - cut].copy_from_slice(&self.keys[cut..len]);
        right.serials[..len - cut].copy_from_slice(&self.serials[cut..len]);
        right.links[..len - cut].copy_from_slice(&self.links[cut..len]);
        self.keys[cut..].fill(u64::MAX);
        (self.len, right.len) = (cut as u32, (len - cut) as u32);
        right
    }

    /// Appends the entries of the right sibling; they must fit.
    pub(super) fn append(&mut self, right: &Self) {
        let (len, more) = (self.len(), right.len());
        for (left, right) in self.places.iter_mut().zip(&right.places) {
            *left |= right.checked_shl(len as u32).unwrap_or(0);
        }
        self.keys[len..len + more].copy_from_slice(&right.keys[..more]);
        self.serials[len..len + more].copy_from_slice(&right.serials[..more]);
        self.links[len..len + more].copy_from_slice(&right.links[..more]);
        self.len += right.len;
    }

    fn set_position(&mut self, place: usize, position: Position) {
        (self.keys[place], self.serials[place]) = (position.key, position.serial);
    }
}

const fn bit(place: usize) -> Places {
    1 << place
}

/// All slots before `place`.
fn below(place: usize) -> Places {
    (1 as Places).checked_shl(place as u32).unwrap_or(0).wrapping_sub(1)
}

/// The threads of a scope, in ascending order.
fn threads(scope: u64) -> impl Iterator<Item = usize> {
    let mut left = scope;
    std::iter::from_fn(move || {
        let thread = (left != 0).then(|| left.trailing_zeros() as usize);
        left &= left.wrapping_sub(1);
        thread
    })
}
