//! Copies of a table in which other nodes count, and the values that readers see (`aggregate`).
//!
//! Each node counts in a table of its own and keeps a copy of that of every other node, which the
//! other node alone changes. A reader of an entry sees one value for the whole group.
//!
//! Each table adds up the copies behind it: all copies are behind the own table, all further copies
//! are behind the first one, and so on. So an entry that this node does not have is read from the
//! first copy that has it. Order of locks: the shard of a table, then that of a copy behind it.

use crate::aggregate::{Aggregate, EntryOfNode, ForeignConnections, OtherNodes};
use crate::data::DataType;
use crate::entry::Entry;
use crate::store::{Table, Walk};
use std::sync::Arc;

/// The copies behind a table.
#[derive(Debug)]
pub(crate) struct Copies {
    how: Aggregate,
    tables: Vec<Arc<Table>>,
}

impl Copies {
    /// Reads the entries of the other nodes that have one.
    fn others<T>(
        &self,
        entry: EntryOfNode<'_>,
        now: u64,
        read: impl Fn(&Entry) -> Option<T>,
    ) -> impl Iterator<Item = T> {
        self.tables.iter().filter_map(move |copy| {
            copy.look_hashed(entry.hash, entry.key, now, |other| read(other)).flatten()
        })
    }
}

impl OtherNodes for Copies {
    fn total(
        &self,
        entry: EntryOfNode<'_>,
        own: u64,
        (data, index): (DataType, u32),
        now: u64,
    ) -> u64 {
        let read = |other: &Entry| Some((other.due(), other.get_own(data, index, now)?));
        let others = self.others(entry, now, read);
        match if data.is_label() { Aggregate::Last } else { self.how } {
            Aggregate::Sum => others.fold(own, |sum, (_, value)| sum.saturating_add(value)),
            Aggregate::Max => others.fold(own, |most, (_, value)| most.max(value)),
            Aggregate::Last => {
                let all = std::iter::once((entry.due, own)).chain(others);
                let set = all.filter(|(_, value)| !data.is_label() || *value > 0);
                set.max_by_key(|(due, _)| *due).map_or(0, |(_, value)| value)
            }
        }
    }

    fn server_key(
        &self,
        entry: EntryOfNode<'_>,
        own: Option<Arc<str>>,
        now: u64,
    ) -> Option<Arc<str>> {
        let read = |other: &Entry| Some((other.due(), other.server_key_own()?));
        let others = self.others(entry, now, read);
        let all = own.map(|own| (entry.due, own)).into_iter().chain(others);
        all.max_by_key(|(due, _)| *due).map(|(_, key)| key)
    }
}

/// The progress of a listing of the entries of all nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct GroupWalk {
    table: usize,
    walk: Walk,
}

impl Table {
    /// Keeps a copy for each of these nodes, if the table is one of `aggregate`. The caller does so
    /// before it sets the keeper, and once.
    pub fn keep_copies(&self, nodes: &[Arc<str>]) {
        let Some(how) = self.settings().aggregate else { return };
        let mut tables: Vec<Arc<Table>> = Vec::new();
        for node in nodes.iter().rev() {
            let copy = self.copy_of(node);
            copy.set_copies(tables.clone(), Box::new(Copies { how, tables: tables.clone() }));
            tables.insert(0, Arc::new(copy));
        }
        self.set_copies(tables.clone(), Box::new(Copies { how, tables }));
    }

    /// Takes note that a session with the node of a copy has begun.
    pub fn node_connected(&self, now: u64) {
        if let ForeignConnections::OfNode(session) = &self.layout.connections {
            session.begin(now);
        }
    }

    /// Takes note that the session with the node of a copy has ended.
    pub fn node_lost(&self, now: u64) {
        if let ForeignConnections::OfNode(session) = &self.layout.connections {
            session.end(now);
        }
    }

    /// Entries of all nodes; a key that several nodes have counts several times. A copy has its own
    /// entries only.
    pub fn used_in_group(&self) -> usize {
        let others = if self.is_copy() { &[] } else { self.copies() };
        std::iter::once(self)
            .chain(others.iter().map(|it| &**it))
            .map(|it| it.used() as usize)
            .sum()
    }

    /// The next few living entries of all nodes, each key once, or of one node if this is its copy;
    /// `None` behind the last one. A step may yield none.
    pub fn walk_group(&self, walk: &mut GroupWalk, now: u64) -> Option<Vec<Arc<Entry>>> {
        let copies = if self.is_copy() { &[] } else { self.copies() };
        loop {
            let table = match walk.table.checked_sub(1) {
                None => self,
                Some(at) => copies.get(at)?,
            };
            if let Some(mut found) = table.walk(&mut walk.walk, now) {
                let before = &copies[..walk.table.saturating_sub(1)];
                let has = |table: &Table, key: &[u8]| table.contains(key, now);
                let is_known =
                    |key: &[u8]| has(self, key) || before.iter().any(|table| has(table, key));
                found.retain(|entry| walk.table == 0 || !is_known(entry.key()));
                return Some(found);
            }
            *walk = GroupWalk { table: walk.table + 1, walk: Walk::default() };
        }
    }
}

#[cfg(test)]
mod tests;
