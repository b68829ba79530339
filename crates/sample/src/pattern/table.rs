//! A hash table of texts kept in one arena.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// No entry.
const NONE: u32 = u32::MAX;
/// Entries up to which a text is compared with each: cheaper than to hash it.
const FEW: usize = 6;
/// Bytes that are folded at once while a text is hashed without regard to case.
const CHUNK: usize = 64;

#[derive(Debug)]
struct TextEntry {
    from: u32,
    len: u32,
    number: u32,
    /// The next entry with the same text, in order.
    next: u32,
    /// The last entry with the same text; [`NONE`] in all but the first one.
    last: u32,
}

/// Texts and their numbers. Keys may come from clients (`add-acl`), so the hash has a secret.
#[derive(Debug, Default)]
pub(super) struct Table {
    arena: Vec<u8>,
    entries: Vec<TextEntry>,
    /// Indexes of first entries by hash, probed linearly; a power of two, at most half full. Empty
    /// while the entries are few.
    slots: Vec<u32>,
    ignore_case: bool,
    hasher: RandomState,
}

impl Table {
    /// An empty table.
    pub(super) fn new(ignore_case: bool) -> Table {
        Table { ignore_case, ..Table::default() }
    }

    /// Makes room for `count` texts in a table that is empty, so that it need not grow.
    pub(super) fn reserve(&mut self, count: usize) {
        self.entries.reserve_exact(count);
        if self.entries.is_empty() && count > FEW {
            self.slots = vec![NONE; (count * 2).next_power_of_two()];
        }
    }

    /// Adds `text` with its number. False when the table is full (4 GiB of texts).
    pub(super) fn push(&mut self, text: &[u8], number: u32) -> bool {
        let (from, at) = (self.arena.len(), self.entries.len());
        let (Ok(from), Ok(at)) = (u32::try_from(from), u32::try_from(at)) else { return false };
        let Ok(len) = u32::try_from(text.len()) else { return false };
        if self.entries.len() >= FEW && (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        if let Some(first) = self.first(text) {
            // The same text again shares the bytes of the first.
            let (from, last) = (self.entries[first].from, self.entries[first].last);
            self.entries.push(TextEntry { from, len, number, next: NONE, last: NONE });
            self.entries[last as usize].next = at;
            self.entries[first].last = at;
            return true;
        }
        if !self.slots.is_empty() {
            let slot = self.slot(text);
            self.slots[slot] = at;
        }
        self.entries.push(TextEntry { from, len, number, next: NONE, last: at });
        self.arena.extend_from_slice(text);
        true
    }

    /// The numbers of `text`, in the order in which they were added.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> impl Iterator<Item = u32> {
        let first = self.first(text).map(|first| &self.entries[first]);
        std::iter::successors(first, |entry| self.entries.get(entry.next as usize))
            .map(|entry| entry.number)
    }

    /// All texts, each as often as it was added.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| self.text(entry))
    }

    /// The first entry of `text`.
    #[inline]
    fn first(&self, text: &[u8]) -> Option<usize> {
        if self.slots.is_empty() {
            let fits = |entry: &TextEntry| {
                entry.len as usize == text.len() && self.same(self.text(entry), text)
            };
            return self.entries.iter().position(fits);
        }
        let first = self.slots[self.slot(text)];
        (first != NONE).then_some(first as usize)
    }

    fn text(&self, entry: &TextEntry) -> &[u8] {
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
        let size = (self.slots.len() * 2).max(4 * FEW.next_power_of_two());
        self.slots = vec![NONE; size];
        for (entry, at) in self.entries.iter().zip(0..).filter(|(entry, _)| entry.last != NONE) {
            let mut slot = self.hash(self.text(entry)) as usize & (size - 1);
            while self.slots[slot] != NONE {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = at;
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
    fn room_may_be_made_first() {
        let mut table = Table::new(false);
        table.reserve(100);
        let slots = table.slots.len();
        for number in 0..120u32 {
            assert!(table.push(format!("k{number}").as_bytes(), number));
        }
        assert!((0..120).all(|n| table.find(format!("k{n}").as_bytes()).eq([n])));
        assert_eq!(slots, 256, "and it still grows beyond");
    }

    #[test]
    fn case_may_be_ignored() {
        let mut table = Table::new(true);
        let long = "aB".repeat(100);
        assert!(table.push(long.as_bytes(), 3));
        assert_eq!(table.find(long.to_uppercase().as_bytes()).next(), Some(3));
    }
}
