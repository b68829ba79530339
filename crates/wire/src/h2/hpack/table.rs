//! The dynamic table of a decoder (RFC 7541 section 2.3.2): newest fields first, the oldest are
//! evicted.
//!
//! Texts are in one byte vector of at most twice the table's size, so that each is contiguous.

use super::ENTRY_OVERHEAD;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct TableEntry {
    start: u32,
    name_len: u32,
    value_len: u32,
}

impl TableEntry {
    fn size(self) -> usize {
        (self.name_len + self.value_len) as usize + ENTRY_OVERHEAD
    }
}

/// A dynamic table; without entries it has no memory.
#[derive(Debug)]
pub(crate) struct DynamicTable {
    /// Entries, newest first.
    entries: VecDeque<TableEntry>,
    /// Texts in order of insertion. Bytes before the oldest entry are dropped when the vector
    /// reaches twice the limit.
    bytes: Vec<u8>,
    size: usize,
    /// The size limit that the encoder has chosen.
    limit: usize,
}

impl DynamicTable {
    pub(crate) fn new(limit: usize) -> Self {
        Self { entries: VecDeque::new(), bytes: Vec::new(), size: 0, limit }
    }

    /// Its size as defined in RFC 7541 section 4.1.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The entry at an index, from 0.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(index)?;
        let start = entry.start as usize;
        let middle = start + entry.name_len as usize;
        Some((&self.bytes[start..middle], &self.bytes[middle..middle + entry.value_len as usize]))
    }

    /// Changes the limit; entries that do not fit are evicted, oldest first.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.evict(0);
    }

    /// Inserts a field. A field that is larger than the table empties it.
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let needed = name.len() + value.len() + ENTRY_OVERHEAD;
        self.evict(needed);
        if needed > self.limit {
            return;
        }
        if self.entries.is_empty() {
            self.bytes.clear();
        } else if self.bytes.len() + name.len() + value.len() > 2 * self.limit {
            self.compact();
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        let (name_len, value_len) = (name.len() as u32, value.len() as u32);
        self.entries.push_front(TableEntry { start, name_len, value_len });
        self.size += needed;
    }

    /// Evicts old entries until `needed` more bytes fit.
    fn evict(&mut self, needed: usize) {
        while self.size + needed > self.limit {
            let Some(oldest) = self.entries.pop_back() else { return };
            self.size -= oldest.size();
        }
    }

    /// Drops the texts of evicted entries.
    fn compact(&mut self) {
        let Some(oldest) = self.entries.back() else { return };
        let gone = oldest.start;
        self.bytes.drain(..gone as usize);
        self.entries.iter_mut().for_each(|entry| entry.start -= gone);
    }
}
