//! The plain load index: an ordered set under one lock.
//!
//! A pick takes the lock once and moves one node; a release takes it only if the key in the index
//! no longer holds, since turning a reservation into a served request leaves the load as it is. The
//! key is computed before the lock and again under it. Equals take turns. Shared lines written per
//! request: the lock and the tree's nodes twice, the server's load three times.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Release},
    },
};

use stdx::AppendList;

use super::{
    Load, LoadIndex, Moves, NoServer, OUT, reindex,
    sync::{Mutex, lock},
};

/// A server in the tree: by key, then by when it came to that key, so equals take turns.
type Node = (u64, u64, usize);

/// Nodes in order. A handful in a sorted array moves in less time than one in a tree; beyond that
/// the tree's logarithm wins.
#[derive(Debug)]
pub(crate) enum Order {
    Few(Vec<Node>),
    Many(BTreeSet<Node>),
}

/// The most servers that are kept in an array.
pub(crate) const FEW: usize = 16;

impl Default for Order {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Order {
    pub(crate) fn for_servers(count: usize) -> Self {
        if count <= FEW {
            Self::Few(Vec::with_capacity(count))
        } else {
            Self::Many(BTreeSet::new())
        }
    }

    pub(crate) fn insert(&mut self, node: Node) {
        match self {
            Self::Few(nodes) => nodes.insert(nodes.partition_point(|it| *it < node), node),
            Self::Many(nodes) => drop(nodes.insert(node)),
        }
    }

    pub(crate) fn remove(&mut self, node: &Node) {
        match self {
            Self::Few(nodes) => nodes.retain(|it| it != node),
            Self::Many(nodes) => drop(nodes.remove(node)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Few(nodes) => nodes.is_empty(),
            Self::Many(nodes) => nodes.is_empty(),
        }
    }

    /// The first slot, in order, that `take` accepts.
    pub(crate) fn find(&self, mut take: impl FnMut(usize) -> bool) -> Option<usize> {
        let slot = |node: &Node| Some(node.2).filter(|slot| take(*slot));
        match self {
            Self::Few(nodes) => nodes.iter().find_map(slot),
            Self::Many(nodes) => nodes.iter().find_map(slot),
        }
    }
}

#[derive(Debug, Default)]
struct Nodes {
    order: Order,
    /// By slot: when the server came to its key.
    since: Vec<u64>,
    moves: u64,
}

/// An ordered tree under one lock.
#[derive(Debug)]
pub(crate) struct Tree {
    loads: AppendList<Arc<Load>>,
    nodes: Mutex<Nodes>,
}

impl Tree {
    pub(crate) fn new(loads: Box<[Arc<Load>]>) -> Self {
        let since = vec![0; loads.len()];
        Self {
            loads: loads.into_iter().collect(),
            nodes: Mutex::new(Nodes { since, ..Nodes::default() }),
        }
    }

    /// Puts the server where its load belongs now.
    fn reindex(&self, nodes: &mut Nodes, slot: usize) {
        let Nodes { order, since, moves } = nodes;
        reindex(&self.loads[slot], Moves::Both, |from, to| {
            order.remove(&(from, since[slot], slot));
            *moves += 1;
            since[slot] = *moves;
            order.insert((to, since[slot], slot));
        });
    }

    fn least(&self, order: &Order, avoid: Option<usize>) -> Option<usize> {
        let mut avoided = None;
        let found = order.find(|slot| {
            let room = self.loads[slot].has_room();
            if room && avoid == Some(slot) {
                avoided = Some(slot);
            }
            room && avoid != Some(slot)
        });
        found.or(avoided)
    }
}

impl LoadIndex for Tree {
    fn admit(&self, load: Arc<Load>) {
        lock(&self.nodes).since.push(0);
        self.loads.push(load);
    }

    fn members(&self, slots: &[usize]) {
        let nodes = &mut *lock(&self.nodes);
        self.loads.iter().for_each(|load| load.indexed.store(OUT, Release));
        nodes.order = Order::for_servers(slots.len());
        for slot in slots {
            let key = self.loads[*slot].key();
            nodes.moves += 1;
            nodes.since[*slot] = nodes.moves;
            nodes.order.insert((key, nodes.moves, *slot));
            self.loads[*slot].indexed.store(key, Release);
            self.reindex(nodes, *slot);
        }
    }

    fn pick(&self, avoid: Option<usize>) -> Result<usize, NoServer> {
        let nodes = &mut *lock(&self.nodes);
        let none = if nodes.order.is_empty() { NoServer::Unusable } else { NoServer::Full };
        let slot = self.least(&nodes.order, avoid).ok_or(none)?;
        self.loads[slot].reserve();
        self.reindex(nodes, slot);
        Ok(slot)
    }

    fn load_changed(&self, slot: usize) {
        let load = &self.loads[slot];
        let indexed = load.indexed.load(Acquire);
        if indexed == OUT || load.key() == indexed {
            load.count_avoided_move();
        } else {
            self.reindex(&mut lock(&self.nodes), slot);
        }
    }

    fn moves(&self) -> u64 {
        lock(&self.nodes).moves
    }
}
