//! A hash table of texts kept in one arena. Never removes: whoever removes rebuilds.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// No entry.
const NONE: u32 = u32::MAX;
/// Bytes that are folded at once while a text is hashed without regard to case.
const CHUNK: usize = 64;

#[derive(Debug)]
struct Entry {
    from: u32,
    len: u32,
    number: u32,
    /// The next entry with the same text, in order.
    next: u32,
    /// The last entry with the same text; kept in the first one only.
    last: u32,
}

/// Texts and their numbers. Keys may come from clients (`add-acl`), so the hash has a secret.
#[derive(Debug, Default)]
pub(super) struct Table {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// Indexes of first entries by hash, probed linearly; a power of two, at most half full.
    slots: Vec<u32>,
    ignore_case: bool,
    hasher: RandomState,
}

impl Table {
    /// An empty table.
    pub(super) fn new(ignore_case: bool) -> Table {
        Table { ignore_case, ..Table::default() }
    }

    /// Adds `text` with its number. False when the table is full (4 GiB of texts).
    pub(super) fn push(&mut self, text: &[u8], number: u32) -> bool {
        let (from, at) = (self.arena.len(), self.entries.len());
        let (Ok(from), Ok(at)) = (u32::try_from(from), u32::try_from(at)) else { return false };
        let Ok(len) = u32::try_from(text.len()) else { return false };
        if (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(text);
        self.entries.push(Entry { from, len, number, next: NONE, last: at });
        let first = self.slots[slot];
        if first == NONE {
            self.arena.extend_from_slice(text);
            self.slots[slot] = at;
            return true;
        }
        // The same text again shares the bytes of the first.
        let first = first as usize;
        self.entries[at as usize].from = self.entries[first].from;
        let last = self.entries[first].last as usize;
        self.entries[last].next = at;
        self.entries[first].last = at;
        true
    }

    /// The numbers of `text`, in the order in which they were added.
    pub(super) fn find(&self, text: &[u8]) -> impl Iterator<Item = u32> {
        let first = if self.slots.is_empty() { NONE } else { self.slots[self.slot(text)] };
        std::iter::successors(self.entries.get(first as usize), |entry| {
            self.entries.get(entry.next as usize)
        })
        .map(|entry| entry.number)
    }

    fn text(&self, entry: &Entry) -> &[u8] {
        let from = entry.from as usize;
        &self.arena[from..from + entry.len as usize]
    }

    /// The slot that holds the first entry of `text`, or the empty one where it belongs.
    fn slot(&self, text: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hash(text) as usize & mask;
        while let Some(entry) = self.entries.get(self.slots[slot] as usize) {
            if self.same(self.text(entry), text) {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        if self.ignore_case { a.eq_ignore_ascii_case(b) } else { a == b }
    }

    fn hash(&self, text: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        if !self.ignore_case {
            hasher.write(text);
            return hasher.finish();
        }
        let mut folded = [0; CHUNK];
        for chunk in text.chunks(CHUNK) {
            folded[..chunk.len()].copy_from_slice(chunk);
            folded[..chunk.len()].make_ascii_lowercase();
            hasher.write(&folded[..chunk.len()]);
        }
        hasher.finish()
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(8);
        let old = std::mem::replace(&mut self.slots, vec![NONE; size]);
        for first in old.into_iter().filter(|first| *first != NONE) {
            let mut slot = self.hash(self.text(&self.entries[first as usize])) as usize;
            slot &= size - 1;
            while self.slots[slot] != NONE {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_keep_their_order() {
        let mut table = Table::new(false);
        for number in 0..1000u32 {
            assert!(table.push(format!("k{}", number % 100).as_bytes(), number));
        }
        let found: Vec<u32> = table.find(b"k7").collect();
        assert_eq!(found, (0..10).map(|i| i * 100 + 7).collect::<Vec<_>>());
        assert_eq!(table.find(b"K7").count() + table.find(b"").count(), 0);
        assert_eq!(Table::default().find(b"a").count(), 0);
    }

    #[test]
    fn case_may_be_ignored() {
        let mut table = Table::new(true);
        let long = "aB".repeat(100);
        assert!(table.push(long.as_bytes(), 3));
        assert_eq!(table.find(long.to_uppercase().as_bytes()).next(), Some(3));
    }
}
