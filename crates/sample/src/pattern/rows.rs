//! The rows of one version of a dictionary: keys and values as text.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

/// The number of a row in its dictionary. Orders are never reused.
pub(super) type Order = u64;

/// Loaded rows up to which a key is compared with each: cheaper than to index them.
const FEW: usize = 256;

/// Where the text of a loaded row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowPlace {
    Arena,
    /// Its value has changed: the row is among those added.
    Added,
    Gone,
}

/// A row of the file. Its text begins at `from` in the arena.
#[derive(Debug)]
struct Loaded {
    from: usize,
    key: u32,
    value: u32,
    place: RowPlace,
}

/// A row of its own.
#[derive(Debug)]
struct Added {
    /// Key and value.
    text: Box<[u8]>,
    key: u32,
}

/// Rows in order. Rows of a file are packed; rows added or changed later are stored one by one, so
/// that no change takes longer than a search among all rows, and a removed row leaves nothing.
#[derive(Debug, Default)]
pub(super) struct Rows {
    arena: Vec<u8>,
    /// By number, from 0.
    loaded: Vec<Loaded>,
    gone: usize,
    added: BTreeMap<Order, Added>,
    /// Loaded rows by the hash of their keys: hash and number in each. Empty while the rows are
    /// few.
    index: Vec<u64>,
    /// Added rows, but for those that were loaded, by the hash of their keys.
    added_index: BTreeSet<(u32, Order)>,
    /// Keys may come from clients (`set-map`), so the hash has a secret.
    hasher: RandomState,
}

impl Rows {
    /// Makes room for `rows` rows of together `bytes` bytes.
    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.loaded.reserve(rows);
        self.arena.reserve(bytes);
    }

    /// Adds a row of the file; false when there are too many. No row was added otherwise.
    pub(super) fn load(&mut self, key: &[u8], value: &[u8]) -> bool {
        let (Ok(key_len), Ok(value_len)) = (u32::try_from(key.len()), u32::try_from(value.len()))
        else {
            return false;
        };
        if self.loaded.len() >= u32::MAX as usize {
            return false;
        }
        let (from, place) = (self.arena.len(), RowPlace::Arena);
        self.loaded.push(Loaded { from, key: key_len, value: value_len, place });
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(value);
        true
    }

    /// The file is at its end: rows can be found by key without looking at each.
    pub(super) fn finish(&mut self) {
        if self.loaded.len() > FEW {
            let entry = |order: Order| u64::from(self.hash(self.key(order))) << 32 | order;
            self.index = (0..self.loaded.len() as Order).map(entry).collect();
            self.index.sort_unstable();
        }
    }

    fn hash(&self, key: &[u8]) -> u32 {
        self.hasher.hash_one(key) as u32
    }

    fn loaded(&self, order: Order) -> Option<&Loaded> {
        self.loaded.get(usize::try_from(order).ok()?)
    }

    /// Key and value of a row.
    fn text(&self, order: Order) -> Option<(&[u8], &[u8])> {
        match self.loaded(order) {
            Some(row) if row.place == RowPlace::Arena => {
                let (key, end) = (row.key as usize, (row.key + row.value) as usize);
                Some(self.arena.get(row.from..row.from + end)?.split_at(key))
            }
            _ => self.added.get(&order).map(|row| row.text.split_at(row.key as usize)),
        }
    }

    /// The key of a row.
    pub(super) fn key(&self, order: Order) -> &[u8] {
        self.text(order).map_or(b"", |text| text.0)
    }

    /// The value of a row.
    pub(super) fn value(&self, order: Order) -> &[u8] {
        self.text(order).map_or(b"", |text| text.1)
    }

    /// Adds a row with a number that is higher than all there have been.
    pub(super) fn push(&mut self, order: Order, key: &[u8], value: &[u8]) {
        self.added_index.insert((self.hash(key), order));
        self.keep(order, key, value);
    }

    fn keep(&mut self, order: Order, key: &[u8], value: &[u8]) {
        let text = [key, value].concat().into_boxed_slice();
        self.added.insert(order, Added { text, key: key.len() as u32 });
    }

    /// Replaces the value of a row.
    pub(super) fn set(&mut self, order: Order, value: &[u8]) {
        let key = self.key(order).to_vec();
        self.keep(order, &key, value);
        if let Some(row) = self.loaded.get_mut(order as usize) {
            row.place = RowPlace::Added;
        }
    }

    /// Removes a row.
    pub(super) fn kill(&mut self, order: Order) {
        if !self.holds(order) {
            return;
        }
        match self.loaded.get_mut(order as usize) {
            Some(row) => {
                row.place = RowPlace::Gone;
                self.gone += 1;
            }
            None => drop(self.added_index.remove(&(self.hash(self.key(order)), order))),
        }
        self.added.remove(&order);
    }

    /// Whether the row is there.
    pub(super) fn holds(&self, order: Order) -> bool {
        match self.loaded(order) {
            Some(row) => row.place != RowPlace::Gone,
            None => self.added.contains_key(&order),
        }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.loaded.len() - self.gone + self.added_index.len()
    }

    /// How many rows the file had.
    pub(super) fn count_loaded(&self) -> Order {
        self.loaded.len() as Order
    }

    /// The rows that the file did not have, from a number on, in order.
    fn later(&self, from: Order) -> impl Iterator<Item = Order> {
        self.added.range(from.max(self.count_loaded())..).map(|(order, _)| *order)
    }

    /// All the rows, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = Order> {
        (0..self.count_loaded()).filter(|order| self.holds(*order)).chain(self.later(0))
    }

    /// The rows among `most` places from `from` on, and where to continue.
    pub(super) fn among(&self, from: Order, most: u32) -> (Vec<Order>, Option<Order>) {
        let (loaded, most) = (self.count_loaded(), Order::from(most));
        let end = from.saturating_add(most).min(loaded).max(from);
        let mut found: Vec<Order> = (from..end).filter(|order| self.holds(*order)).collect();
        let mut later = self.later(end);
        if end >= loaded {
            found.extend(later.by_ref().take((most - (end - from)) as usize));
        }
        let next = if end < loaded { Some(end) } else { later.next() };
        (found, next)
    }

    /// The rows with exactly this key, in order.
    pub(super) fn by_key(&self, key: &[u8]) -> Vec<Order> {
        let hash = self.hash(key);
        let first = u64::from(hash) << 32;
        let from = self.index.partition_point(|entry| *entry < first);
        let hashed = self.index[from..].iter().take_while(|entry| **entry >> 32 == hash.into());
        let hashed = hashed.map(|entry| entry & u64::from(u32::MAX));
        let few = if self.index.is_empty() { 0..self.count_loaded() } else { 0..0 };
        let added = self.added_index.range((hash, 0)..=(hash, Order::MAX)).map(|entry| entry.1);
        let same = |order: &Order| self.holds(*order) && self.key(*order) == key;
        few.chain(hashed).chain(added).filter(same).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(count: u32) -> Rows {
        let mut rows = Rows::default();
        for number in 0..count {
            assert!(rows.load(format!("k{}", number % 700).as_bytes(), b"v"));
        }
        rows.finish();
        rows
    }

    #[test]
    fn rows_are_found_by_key_in_their_order() {
        for count in [20, 1_000] {
            let mut rows = loaded(count);
            rows.push(5_000, b"k7", b"w");
            let file = if count == 1_000 { &[7, 707][..] } else { &[7] };
            assert_eq!(rows.by_key(b"k7"), [file, &[5_000]].concat());
            assert!(rows.by_key(b"k").is_empty());
        }
    }

    #[test]
    fn changed_rows_keep_their_number_and_removed_ones_leave_nothing() {
        let mut rows = loaded(1_000);
        rows.set(7, b"x");
        rows.set(7, b"y");
        assert_eq!(
            (rows.key(7), rows.value(7), rows.value(707)),
            (&b"k7"[..], &b"y"[..], &b"v"[..])
        );
        assert_eq!((rows.by_key(b"k7"), rows.len()), (vec![7, 707], 1_000));
        for round in 0..10_000 {
            rows.push(5_000 + round, b"new", b"");
            rows.kill(5_000 + round);
        }
        rows.kill(7);
        rows.kill(7);
        assert_eq!((rows.len(), rows.added.len(), rows.added_index.len()), (999, 0, 0));
        assert!(!rows.holds(7) && rows.by_key(b"k7") == [707] && rows.all().count() == 999);
    }
}
