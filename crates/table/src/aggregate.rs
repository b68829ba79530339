//! Which values of an entry readers see if several nodes count on it (`aggregate`, `recv-only`).

use crate::data::DataType;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The time for which the connections of a node count after its session has ended, and those of its
/// last session after the next one has begun, in milliseconds.
const GRACE: u64 = 10_000;

/// The function that combines the values of all nodes. A value that is set rather than counted
/// (tags, servers) is always that of the node that has used its entry last, of the nodes that have
/// set one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Their sum.
    Sum,
    /// The greatest one.
    Max,
    /// The value of the node that has used its entry last.
    Last,
}

impl Aggregate {
    /// Every kind with its name in configurations.
    pub const TABLE: [(&str, Aggregate); 3] =
        [("sum", Aggregate::Sum), ("max", Aggregate::Max), ("last", Aggregate::Last)];

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Aggregate> {
        Aggregate::TABLE.into_iter().find(|(own, _)| *own == name).map(|(_, kind)| kind)
    }
}

/// An entry of a table whose copies at other nodes are looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryOfNode<'e> {
    pub(crate) hash: u64,
    pub(crate) key: &'e [u8],
    /// The moment at which the entry expires, or was touched last.
    pub(crate) due: u64,
}

/// The tables in which other nodes count.
pub(crate) trait OtherNodes: Debug + Send + Sync {
    /// The value of all nodes for element `index` of a data type, of which the entry has `own`.
    fn total(&self, entry: EntryOfNode<'_>, own: u64, what: (DataType, u32), now: u64) -> u64;

    /// The server of the node that has used its entry last, of those that have stored one.
    fn server_key(
        &self,
        entry: EntryOfNode<'_>,
        own: Option<Arc<str>>,
        now: u64,
    ) -> Option<Arc<str>>;
}

/// Whether a table learns how many connections others have open.
#[derive(Debug)]
pub(crate) enum ForeignConnections {
    /// Foreign connections do not count: `conn_cur` has the connections of this process.
    Ignored,
    /// Foreign connections count: this process only reads the table (`recv-only`).
    Learned,
    /// The table is the copy of a node: connections count until the node's session is over.
    OfNode(NodeSession),
}

/// The session with the node that changes a copy.
///
/// The node teaches all of its entries again when a session begins, so a number of open connections
/// that was taught in an earlier session is over: the node may have been replaced meanwhile.
#[derive(Debug, Default)]
pub(crate) struct NodeSession {
    /// The number of the session, from 1 on.
    number: AtomicU32,
    begun: AtomicU64,
    /// The moment of its end; `u64::MAX` while it is open.
    ended: AtomicU64,
}

impl NodeSession {
    /// A number of open connections as it is stored: with the number of the session.
    pub(crate) fn stored(&self, count: u64) -> u64 {
        u64::from(self.number.load(Relaxed)) << 32 | (count & u64::from(u32::MAX))
    }

    /// The number of connections that are taken for open.
    pub(crate) fn open(&self, stored: u64, now: u64) -> u64 {
        let (session, count) = ((stored >> 32) as u32, stored & u64::from(u32::MAX));
        let current = self.number.load(Relaxed);
        let is_there = now < self.ended.load(Relaxed).saturating_add(GRACE);
        let is_last = session.wrapping_add(1) == current
            && now < self.begun.load(Relaxed).saturating_add(GRACE);
        if is_there && session > 0 && (session == current || is_last) { count } else { 0 }
    }

    /// Takes note that a session has begun.
    pub(crate) fn begin(&self, now: u64) {
        self.begun.store(now, Relaxed);
        self.ended.store(u64::MAX, Relaxed);
        self.number.fetch_add(1, Relaxed);
    }

    /// Takes note that the session has ended.
    pub(crate) fn end(&self, now: u64) {
        self.ended.store(now, Relaxed);
    }
}
