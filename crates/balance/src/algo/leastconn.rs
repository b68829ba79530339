//! `balance leastconn`: idle servers in turns, then the least (load + 1) by weight. Never guesses a load.
//!
//! [`TreeIndex`] is the plain index: an ordered tree under one lock. A pick takes the lock once and
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

#[derive(Debug, Default)]
struct Tree {
    order: BTreeSet<Node>,
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
        for (_, _, slot) in &self.order {
            let room = self.places[*slot].as_ref().is_some_and(|(m, _)| m.load.has_room());
            match room {
                true if avoid == Some(*slot) => avoided = Some(*slot),
                true => return Some(*slot),
                false => {}
            }
        }
        avoided
    }
}

impl LoadIndex for TreeIndex {
    fn members(&self, members: &[Member]) {
        let mut tree = lock(&self.0);
        let slots = members.iter().map(|m| m.slot + 1).max().unwrap_or(0);
        tree.order.clear();
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
