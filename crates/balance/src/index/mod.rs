//! The order of servers by load, the one structure that every request of `leastconn` touches.
//!
//! Three designs stand behind one trait so that they can be compared: [`few`], which looks at every
//! server, [`tree`], an ordered set under one lock, and [`levels`], one node per load value with a
//! list of the servers at that value; [`growing`] goes from the first to the last. `cargo xtask
//! bench leastconn` runs them; [`LoadOrder`] says which is used when, and why.

pub(crate) mod few;
pub(crate) mod growing;
pub(crate) mod levels;
pub(crate) mod tree;

use std::sync::Arc;

use super::{
    Load, NoServer,
    load::OUT,
    reindex::{Moves, reindex},
    sync,
};

use few::Few;
use growing::Growing;
use levels::Levels;
use tree::Tree;

/// The index of `balance leastconn`. Each kind chooses among the least loaded servers, in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LoadOrder {
    /// One node per load value with a list of its servers. A pick usually takes no lock and writes
    /// two shared lines (the position in the list, the server's counters), a release one or two.
    ///
    /// The default, because it is faster everywhere: with 1 to 64 threads on two cores and 4 to 256
    /// servers it makes 1.5 to 7 times the picks of the tree, and 80 to 100 % of all picks and
    /// releases move no server, where the tree moves one every time. The traffic of these two lines
    /// grows with the threads, not a queue behind a lock.
    #[default]
    Levels,
    /// An ordered set under one lock, taken by every pick and by every release.
    Tree,
    /// No order: every pick looks at every server. Two shared lines written per pick and per
    /// release, no lock; as many read as there are servers. For up to [`LoadOrder::FEW`] of them.
    Few,
    /// [`LoadOrder::Few`] until there are more servers than that is for, then
    /// [`LoadOrder::Levels`].
    Growing,
}

/// Contract: `pick` reserves on the server that it returns; `load_changed` is called after each
/// other change of load and may skip the move when the place in the index still serves.
pub(crate) trait LoadIndex: Send + Sync + std::fmt::Debug {
    /// Takes in a server that was added, in the next slot; it does not take part yet.
    fn admit(&self, load: Arc<Load>);

    /// Takes the servers that take part from now on, by slot; their weights may have changed.
    fn members(&self, slots: &[usize]);

    /// Reserves on the least loaded server; on the avoided one only when no other has room.
    fn pick(&self, avoid: Option<usize>) -> Result<usize, NoServer>;

    /// The load of the server in this slot went up or down.
    fn load_changed(&self, slot: usize);

    /// Servers moved within the index so far.
    fn moves(&self) -> u64;
}

impl LoadOrder {
    /// The most servers that are looked at one by one: their counters take fewer instructions to
    /// compare than any order of them takes to keep.
    pub(crate) const FEW: usize = 4;

    /// The best one for this many servers.
    pub(crate) fn for_servers(count: usize) -> Self {
        if count <= Self::FEW { Self::Growing } else { Self::default() }
    }

    /// An index over all servers of a backend, none of which takes part yet.
    pub(crate) fn build(self, loads: Box<[Arc<Load>]>) -> Arc<dyn LoadIndex> {
        match self {
            Self::Levels => Arc::new(Levels::new(loads)),
            Self::Tree => Arc::new(Tree::new(loads)),
            Self::Few => Arc::new(Few::new(loads)),
            Self::Growing => Arc::new(Growing::new(loads)),
        }
    }
}
