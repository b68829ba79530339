//! An ordered tree in which each of up to 64 threads finds its next item in O(log n).
//!
//! Every item has a key and a *scope*: the set of threads that may take it, one bit each. Items are
//! ordered by key, and equal keys by insertion. The tree is a B-tree of nodes in one pool, linked
//! by index; an inner node carries the union of the scopes below each child. A search for the items
//! of one thread skips every branch without any, and visits O(log n) nodes however many items of
//! other threads lie in between; without the unions it would have to visit all of them.
//!
//! [`ScopeTree::insert`] and [`ScopeTree::remove`] are O(log n) and allocate only when the pools
//! grow. Sparse nodes merge with a sibling, so the height shrinks with the number of items. The
//! tree belongs to one thread or is behind a lock.

mod node;

use crate::{Key, Slab};
use node::{FANOUT, MERGED, Node, NodeEntry, Places, SPARSE};

/// Unique position of an item: key, then order of insertion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Position {
    /// The key with which the item was inserted.
    pub key: u64,
    serial: u64,
}

impl Position {
    /// Before the first item, whatever its key.
    pub const START: Self = Self::before(0);

    /// Before the first item with this key.
    pub const fn before(key: u64) -> Self {
        Self { key, serial: 0 }
    }

    /// Right after this position, to continue from an item.
    #[must_use]
    pub const fn after(self) -> Self {
        Self { key: self.key, serial: self.serial + 1 }
    }
}

/// Items in order, with their scopes.
#[derive(Debug)]
pub struct ScopeTree<T> {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    /// Levels of inner nodes above the leaves.
    height: u32,
    items: Slab<T>,
    /// Items inserted so far; serials start at 1.
    came: u64,
}

impl<T> Default for ScopeTree<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ScopeTree<T> {
    /// An empty tree.
    pub fn new() -> Self {
        Self {
            nodes: vec![Node::new()],
            free: Vec::new(),
            root: 0,
            height: 0,
            items: Slab::new(),
            came: 0,
        }
    }

    /// Items in the tree.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no item is in the tree.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Inserts an item after all items with an equal or smaller key. With an empty scope no search
    /// finds it.
    pub fn insert(&mut self, key: u64, scope: u64, item: T) -> Position {
        self.came += 1;
        let position = Position { key, serial: self.came };
        let link = self.items.insert(item).index;
        let entry = NodeEntry { position, scope, link };
        if let Some(sibling) = self.insert_below(self.root, self.height, entry, true) {
            self.grow(sibling);
        }
        position
    }

    /// Removes the item at a position.
    pub fn remove(&mut self, position: Position) -> Option<T> {
        let (link, _) = self.remove_below(self.root, self.height, position)?;
        while self.height > 0 && self.node(self.root).len() == 1 {
            let only = self.node(self.root).link(0);
            self.free.push(std::mem::replace(&mut self.root, only));
            self.height -= 1;
        }
        self.items.remove(self.key_of(link))
    }

    /// The item at a position.
    pub fn get(&self, position: Position) -> Option<&T> {
        self.items.at(self.find(position)?)
    }

    /// The item at a position.
    pub fn get_mut(&mut self, position: Position) -> Option<&mut T> {
        let link = self.find(position)?;
        self.items.at_mut(link)
    }

    /// The first item for any thread of `scope`.
    pub fn first_for(&self, scope: u64) -> Option<(Position, &T)> {
        let found = self.least(self.root, self.height, scope, &mut || ());
        found.map(|entry| self.item(entry))
    }

    /// The first item at or after `from` for any thread of `scope`; continues with the first item
    /// after the last.
    pub fn next_for(&self, scope: u64, from: Position) -> Option<(Position, &T)> {
        let ahead = self.search(scope, from, &mut || ());
        let found = ahead.or_else(|| self.least(self.root, self.height, scope, &mut || ()));
        found.map(|entry| self.item(entry))
    }

    /// Removes the first item whose key is at most `key`, for any thread of `scope`.
    pub fn take_first(&mut self, scope: u64, key: u64) -> Option<(Position, T)> {
        let (position, _) = self.first_for(scope).filter(|(position, _)| position.key <= key)?;
        Some((position, self.remove(position)?))
    }

    /// Number of nodes that [`ScopeTree::next_for`] visits; for measurements.
    pub fn nodes_visited(&self, scope: u64, from: Position) -> usize {
        let mut visited = 0;
        let mut visit = || visited += 1;
        if self.search(scope, from, &mut visit).is_none() {
            self.least(self.root, self.height, scope, &mut visit);
        }
        visited
    }

    fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    fn node_mut(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index as usize]
    }

    fn key_of(&self, link: u32) -> Key {
        self.items.key_at(link).expect("a leaf's entry has an item")
    }

    fn item(&self, entry: NodeEntry) -> (Position, &T) {
        (entry.position, self.items.at(entry.link).expect("a leaf's entry has an item"))
    }

    fn find(&self, position: Position) -> Option<u32> {
        let mut node = self.node(self.root);
        for _ in 0..self.height {
            node = self.node(node.link(node.child(position)));
        }
        node.find(position).map(|place| node.link(place))
    }

    /// The first leaf entry at or after `from` whose scope intersects `scope`.
    ///
    /// Descends once towards `from`, and remembers on each level the next branch to the right with
    /// a match; if the descent ends without a match, the lowest of these branches has the result.
    fn search(&self, scope: u64, from: Position, visit: &mut impl FnMut()) -> Option<NodeEntry> {
        let mut aside = None;
        let mut at = self.root;
        for level in (1..=self.height).rev() {
            visit();
            let node = self.node(at);
            let (child, meeting) = (node.child(from), node.meeting(scope));
            let right = meeting >> child >> 1;
            if right != 0 {
                let next = child + 1 + right.trailing_zeros() as usize;
                aside = Some((node.link(next), level - 1));
            }
            if meeting & 1 << child == 0 {
                return aside.and_then(|(link, level)| self.least(link, level, scope, visit));
            }
            at = node.link(child);
        }
        visit();
        let node = self.node(at);
        let place = node.place(from);
        match node.meeting(scope).checked_shr(place as u32) {
            None | Some(0) => aside.and_then(|(link, level)| self.least(link, level, scope, visit)),
            Some(ahead) => Some(node.entry(place + ahead.trailing_zeros() as usize)),
        }
    }

    /// The first leaf entry below a node whose scope intersects `scope`.
    fn least(
        &self,
        at: u32,
        level: u32,
        scope: u64,
        visit: &mut impl FnMut(),
    ) -> Option<NodeEntry> {
        let mut node = self.node(at);
        for _ in 0..level {
            visit();
            node = self.node(node.link(first(node.meeting(scope))?));
        }
        visit();
        first(node.meeting(scope)).map(|place| node.entry(place))
    }

    /// Inserts below a node; returns its new right sibling if the node was split.
    ///
    /// `last`: the node is the last of its level. Ascending keys then fill nodes completely.
    fn insert_below(
        &mut self,
        at: u32,
        level: u32,
        entry: NodeEntry,
        last: bool,
    ) -> Option<NodeEntry> {
        let node = self.node_mut(at);
        if level == 0 {
            let place = node.place(entry.position);
            return self.put(at, place, entry, last);
        }
        let child = node.child(entry.position);
        let last_child = child + 1 == node.len();
        node.extend(child, &entry);
        let below = node.link(child);
        let sibling = self.insert_below(below, level - 1, entry, last && last_child)?;
        let union = self.node(below).union();
        self.node_mut(at).set_scope(child, union);
        self.put(at, child + 1, sibling, last)
    }

    /// Inserts an entry into a node, and splits the node if it is full.
    fn put(&mut self, at: u32, place: usize, entry: NodeEntry, last: bool) -> Option<NodeEntry> {
        let node = self.node_mut(at);
        if !node.is_full() {
            node.insert(place, entry);
            return None;
        }
        let cut = if last && place == FANOUT { FANOUT } else { FANOUT / 2 };
        let mut right = node.split_off(cut);
        if place < cut {
            node.insert(place, entry);
        } else {
            right.insert(place - cut, entry);
        }
        Some(self.adopt(right))
    }

    /// Adds a root above the present root and its new sibling.
    fn grow(&mut self, sibling: NodeEntry) {
        let mut root = Node::new();
        let old = self.node(self.root);
        root.insert(0, NodeEntry { scope: old.union(), link: self.root, ..old.entry(0) });
        root.insert(1, sibling);
        self.root = self.adopt(root).link;
        self.height += 1;
    }

    /// Puts a node into the pool.
    fn adopt(&mut self, node: Node) -> NodeEntry {
        let NodeEntry { position, .. } = node.entry(0);
        let scope = node.union();
        let link = match self.free.pop() {
            Some(free) => {
                *self.node_mut(free) = node;
                free
            }
            None => {
                self.nodes.push(node);
                u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 nodes")
            }
        };
        NodeEntry { position, scope, link }
    }

    /// Removes the entry at a position from the leaf below a node. Returns its link, and those
    /// threads of its scope for which the node has no entries any more.
    fn remove_below(&mut self, at: u32, level: u32, position: Position) -> Option<(u32, u64)> {
        let node = self.node_mut(at);
        if level == 0 {
            let place = node.find(position)?;
            let scope = node.entry(place).scope;
            let link = node.remove(place);
            return Some((link, node.without(scope)));
        }
        let child = node.child(position);
        let below = node.link(child);
        let (link, gone) = self.remove_below(below, level - 1, position)?;
        self.node_mut(at).restrict(child, gone);
        self.shrink(at, child);
        Some((link, self.node(at).without(gone)))
    }

    /// After a removal below a child: removes the child if it is empty, merges it if it is sparse.
    fn shrink(&mut self, at: u32, child: usize) {
        let below = self.node(at).link(child);
        let len = self.node(below).len();
        if len == 0 {
            self.node_mut(at).remove(child);
            self.free.push(below);
        } else if len < SPARSE {
            let fits = |left: usize| {
                let node = self.node(at);
                let lengths = [left, left + 1].map(|place| self.node(node.link(place)).len());
                lengths[0] + lengths[1] <= MERGED
            };
            if child > 0 && fits(child - 1) {
                self.merge(at, child - 1);
            } else if child + 1 < self.node(at).len() && fits(child) {
                self.merge(at, child);
            }
        }
    }

    /// Moves the entries of the child to the right of `left` into that child.
    fn merge(&mut self, at: u32, left: usize) {
        let gone = self.node_mut(at).remove(left + 1);
        let right = std::mem::replace(self.node_mut(gone), Node::new());
        let kept = self.node(at).link(left);
        self.node_mut(kept).append(&right);
        let union = self.node(kept).union();
        self.node_mut(at).set_scope(left, union);
        self.free.push(gone);
    }
}

/// The lowest of these slots.
fn first(places: Places) -> Option<usize> {
    (places != 0).then(|| places.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests;
