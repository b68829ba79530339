//! The changes of one shard in the order in which they were made, as a doubly linked list of places.
//!
//! An entry is in the list at most once, so the list is bounded by the table. Readers are nodes of
//! the same list: a reader's node follows the last change that it has read, so it continues without
//! a search, whatever was moved or removed meanwhile.

/// Readers of one table at the same time.
pub(crate) const MAX_READERS: u32 = 63;
/// The node that is both ends of the list.
const ENDS: u32 = 0;
/// The first node of an entry; lower nodes belong to readers.
const FIRST_ENTRY: u32 = MAX_READERS + 1;
/// The links of a node that is not in the list.
const UNLINKED: u32 = u32::MAX;

/// One place of the list.
#[derive(Debug, Clone, Copy)]
struct Node {
    before: u32,
    after: u32,
    /// The number of the change; for a reader, of the last change that it has read.
    number: u64,
}

/// The list.
#[derive(Debug)]
pub(crate) struct ChangeList {
    /// Both ends, all readers, and the entries by their place in the shard.
    nodes: Vec<Node>,
}

impl Default for ChangeList {
    fn default() -> ChangeList {
        let ends = Node { before: ENDS, after: ENDS, number: 0 };
        ChangeList { nodes: vec![ends] }
    }
}

impl ChangeList {
    fn node(&mut self, index: u32) -> &mut Node {
        let index = index as usize;
        if self.nodes.len() <= index {
            let none = Node { before: UNLINKED, after: UNLINKED, number: 0 };
            self.nodes.resize(index + 1, none);
        }
        &mut self.nodes[index]
    }

    fn unlink(&mut self, index: u32) {
        let Node { before, after, .. } = *self.node(index);
        if before == UNLINKED {
            return;
        }
        self.node(before).after = after;
        self.node(after).before = before;
        let node = self.node(index);
        (node.before, node.after) = (UNLINKED, UNLINKED);
    }

    fn link_behind(&mut self, index: u32, before: u32, number: u64) {
        let after = self.node(before).after;
        *self.node(index) = Node { before, after, number };
        self.node(before).after = index;
        self.node(after).before = index;
    }

    /// Moves the entry in this place to the end of the list.
    pub(crate) fn append(&mut self, place: u32, number: u64) {
        let index = FIRST_ENTRY + place;
        self.unlink(index);
        let last = self.node(ENDS).before;
        self.link_behind(index, last, number);
    }

    /// Takes the entry in this place out of the list.
    pub(crate) fn remove(&mut self, place: u32) {
        let index = FIRST_ENTRY + place;
        if (index as usize) < self.nodes.len() {
            self.unlink(index);
        }
    }

    /// Puts a reader behind all changes.
    pub(crate) fn open(&mut self, reader: u32, number: u64) {
        self.unlink(reader + 1);
        let last = self.node(ENDS).before;
        self.link_behind(reader + 1, last, number);
    }

    /// Takes a reader out.
    pub(crate) fn close(&mut self, reader: u32) {
        self.unlink(reader + 1);
    }

    /// Yields the places and numbers of up to `max` changes behind the reader that are numbered up
    /// to `upto`, and moves the reader behind them. `true`: more entries may follow.
    pub(crate) fn read(
        &mut self,
        reader: u32,
        upto: u64,
        max: usize,
        mut visit: impl FnMut(u32, u64),
    ) -> bool {
        let reader = reader + 1;
        let Node { after: mut next, number: mut read, .. } = *self.node(reader);
        if next == UNLINKED {
            return false;
        }
        let (mut last, mut count, mut more) = (reader, 0, false);
        while next != ENDS {
            let node = *self.node(next);
            if next >= FIRST_ENTRY {
                more = node.number <= upto;
                if !more || count == max {
                    break;
                }
                visit(next - FIRST_ENTRY, node.number);
                (last, read, more) = (next, node.number, false);
                count += 1;
            }
            next = node.after;
        }
        if last != reader {
            self.unlink(reader);
            self.link_behind(reader, last, read);
        }
        more
    }

    /// Moves a reader back, so that it reads the changes above `to` again.
    pub(crate) fn rewind(&mut self, reader: u32, to: u64) {
        let reader = reader + 1;
        let mut before = match to {
            0 => ENDS,
            _ => self.node(reader).before,
        };
        if before == UNLINKED {
            return;
        }
        while before != ENDS && (before < FIRST_ENTRY || self.node(before).number > to) {
            before = self.node(before).before;
        }
        self.unlink(reader);
        self.link_behind(reader, before, to);
    }
}
