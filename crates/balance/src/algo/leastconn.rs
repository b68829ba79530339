//! `balance leastconn`: idle servers in turns, then the least (load + 1) by weight. Never guesses a load.
//!
//! [`TreeIndex`] is the plain index: an ordered set under one lock. A pick takes the lock once and
//! moves one node; a release takes it only if the key in the index no longer holds, since turning a
//! reservation into a served request leaves the load as it is. The key is computed before the lock
//! and again under it. Equals take turns. Shared lines per request: the lock and the tree's node
//! twice, the server's load three times.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, atomic::Ordering::SeqCst},
};

use super::{Chooser, LoadIndex, Member, NoServer, Wish, lock};
use crate::Load;

/// The algorithm over whatever index orders the servers.
#[derive(Debug)]
pub(crate) struct LeastConn(pub(crate) Arc<dyn LoadIndex>);

impl Chooser for LeastConn {
    fn members(&self, members: &[Member]) {
        self.0.members(members);
    }

    fn choose(&self, wish: &Wish<'_>) -> Result<usize, NoServer> {
        self.0.pick(wish.avoid)
    }
}

/// A server in the tree: by key, then by when it came to that key, so equals take turns.
type Node = (u64, u64, usize);

/// Nodes in order. A handful in a sorted array moves in less time than one in a tree; beyond that
/// the tree's logarithm wins.
#[derive(Debug)]
enum Order {
    Few(Vec<Node>),
    Many(BTreeSet<Node>),
}

/// The most servers that are kept in an array.
const FEW: usize = 16;

impl Default for Order {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Order {
    fn for_servers(count: usize) -> Self {
        if count <= FEW {
            Self::Few(Vec::with_capacity(count))
        } else {
            Self::Many(BTreeSet::new())
        }
    }

    fn insert(&mut self, node: Node) {
        match self {
            Self::Few(nodes) => nodes.insert(nodes.partition_point(|it| *it < node), node),
            Self::Many(nodes) => drop(nodes.insert(node)),
        }
    }

    fn remove(&mut self, node: &Node) {
        match self {
            Self::Few(nodes) => nodes.retain(|it| it != node),
            Self::Many(nodes) => drop(nodes.remove(node)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Few(nodes) => nodes.is_empty(),
            Self::Many(nodes) => nodes.is_empty(),
        }
    }

    /// The first slot, in order, that `take` accepts.
    fn find(&self, mut take: impl FnMut(usize) -> bool) -> Option<usize> {
        let slot = |node: &Node| Some(node.2).filter(|slot| take(*slot));
        match self {
            Self::Few(nodes) => nodes.iter().find_map(slot),
            Self::Many(nodes) => nodes.iter().find_map(slot),
        }
    }
}

#[derive(Debug, Default)]
struct Tree {
    order: Order,
    /// By slot: the member and its node, for those in the tree.
    places: Vec<Option<(Member, Node)>>,
    moves: u64,
}

/// An ordered tree under one lock.
#[derive(Debug, Default)]
pub(crate) struct TreeIndex(Mutex<Tree>);

#[cfg(test)]
impl TreeIndex {
    /// Nodes moved so far.
    pub(crate) fn moves(&self) -> u64 {
        lock(&self.0).moves
    }
}

impl Tree {
    /// Puts the server where its load belongs now.
    ///
    /// A change of load that finds `indexed` right does not come here, so after publishing a new
    /// `indexed` the load is looked at again: either the changer sees the new value, or this does.
    fn settle(&mut self, slot: usize) {
        let Some(Some((member, node))) = self.places.get_mut(slot) else { return };
        loop {
            let key = member.load.key();
            if key == node.0 {
                return;
            }
            self.order.remove(node);
            self.moves += 1;
            *node = (key, self.moves, slot);
            self.order.insert(*node);
            member.load.indexed.store(key, SeqCst);
        }
    }

    fn least(&self, avoid: Option<usize>) -> Option<usize> {
        let mut avoided = None;
        let found = self.order.find(|slot| {
            let room = self.places[slot].as_ref().is_some_and(|(m, _)| m.load.has_room());
            if room && avoid == Some(slot) {
                avoided = Some(slot);
            }
            room && avoid != Some(slot)
        });
        found.or(avoided)
    }
}

impl LoadIndex for TreeIndex {
    fn members(&self, members: &[Member]) {
        let mut tree = lock(&self.0);
        let slots = members.iter().map(|m| m.slot + 1).max().unwrap_or(0);
        tree.order = Order::for_servers(members.len());
        tree.places = vec![None; slots];
        for member in members {
            tree.moves += 1;
            let node = (member.load.key(), tree.moves, member.slot);
            member.load.indexed.store(node.0, SeqCst);
            tree.order.insert(node);
            tree.places[member.slot] = Some((member.clone(), node));
        }
    }

    fn pick(&self, avoid: Option<usize>) -> Result<usize, NoServer> {
        let mut tree = lock(&self.0);
        let none = if tree.order.is_empty() { NoServer::Unusable } else { NoServer::Full };
        let slot = tree.least(avoid).ok_or(none)?;
        if let Some((member, _)) = &tree.places[slot] {
            member.load.reserve();
        }
        tree.settle(slot);
        Ok(slot)
    }

    fn load_changed(&self, slot: usize, load: &Load) {
        if load.key() == load.indexed.load(SeqCst) {
            load.count_avoided_move();
        } else {
            lock(&self.0).settle(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn few_and_many_keep_the_same_order(
            nodes in prop::collection::vec((0..5u64, 0..100u64, 0..20usize), 0..40),
            removed in prop::collection::vec(0..40usize, 0..10),
        ) {
            let (mut few, mut many) = (Order::for_servers(FEW), Order::for_servers(FEW + 1));
            let unique: BTreeSet<Node> = nodes.iter().copied().collect();
            for node in &unique {
                few.insert(*node);
                many.insert(*node);
            }
            for node in removed.iter().filter_map(|at| nodes.get(*at)) {
                few.remove(node);
                many.remove(node);
            }
            prop_assert_eq!(few.is_empty(), many.is_empty());
            let walk = |order: &Order| {
                let mut seen = Vec::new();
                order.find(|slot| {
                    seen.push(slot);
                    false
                });
                seen
            };
            prop_assert_eq!(walk(&few), walk(&many));
        }
    }
}
