//! A slab whose keys carry a generation, so that a stale key finds nothing.

/// The identity of an entry during its life. After its removal the key finds nothing (until the
/// 32-bit generation wraps).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Key {
    /// Position in the slab.
    pub index: u32,
    /// Number of entries that lived at this position before.
    pub generation: u32,
}

impl Key {
    /// A key without an entry.
    pub const NONE: Self = Self { index: u32::MAX, generation: u32::MAX };

    /// Both halves in one word, for use as an opaque token.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The inverse of [`Key::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

impl Default for Key {
    fn default() -> Self {
        Self::NONE
    }
}

#[derive(Debug)]
enum SlabEntry<T> {
    /// A free position, with the next free one.
    Free(u32),
    Used(T),
}

/// Entries addressed by [`Key`]. Insertion and removal are O(1) and reuse positions.
#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<(u32, SlabEntry<T>)>,
    free: u32,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slab<T> {
    /// An empty slab; allocates nothing.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), free: u32::MAX, len: 0 }
    }

    /// Entries alive.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no entry is alive.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Stores `value` and returns its key.
    ///
    /// # Panics
    /// The slab would exceed 2^32 - 1 entries.
    pub fn insert(&mut self, value: T) -> Key {
        self.len += 1;
        if self.free != u32::MAX {
            let index = self.free;
            let (generation, entry) = &mut self.entries[index as usize];
            if let SlabEntry::Free(next) = *entry {
                self.free = next;
            }
            *entry = SlabEntry::Used(value);
            return Key { index, generation: *generation };
        }
        let index = u32::try_from(self.entries.len()).expect("fewer than 2^32 entries");
        if self.entries.capacity() == 0 {
            // A vector begins with room for four. Many slabs have one entry for their whole life,
            // such as the streams of a client that has one request at a time.
            self.entries.reserve_exact(1);
        }
        self.entries.push((0, SlabEntry::Used(value)));
        Key { index, generation: 0 }
    }

    /// Removes an entry; its key finds nothing from now on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let (generation, entry) = self.entries.get_mut(key.index as usize)?;
        *generation = generation.wrapping_add(1);
        let old = std::mem::replace(entry, SlabEntry::Free(self.free));
        self.free = key.index;
        self.len -= 1;
        match old {
            SlabEntry::Used(value) => Some(value),
            SlabEntry::Free(_) => None,
        }
    }

    /// The entry, unless it was removed.
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.entries.get(key.index as usize) {
            Some((generation, SlabEntry::Used(value))) if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    /// The entry, unless it was removed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.entries.get_mut(key.index as usize) {
            Some((generation, SlabEntry::Used(value))) if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    /// The entry at a position, whatever its generation; for intrusive lists by index.
    pub fn at(&self, index: u32) -> Option<&T> {
        match self.entries.get(index as usize) {
            Some((_, SlabEntry::Used(value))) => Some(value),
            _ => None,
        }
    }

    /// The entry at a position, whatever its generation; for intrusive lists by index.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.entries.get_mut(index as usize) {
            Some((_, SlabEntry::Used(value))) => Some(value),
            _ => None,
        }
    }

    /// The key of the live entry at a position.
    pub fn key_at(&self, index: u32) -> Option<Key> {
        match self.entries.get(index as usize) {
            Some((generation, SlabEntry::Used(_))) => Some(Key { index, generation: *generation }),
            _ => None,
        }
    }

    /// Number of positions, free ones included: the upper bound for [`Slab::key_at`].
    pub fn positions(&self) -> u32 {
        u32::try_from(self.entries.len()).expect("fewer than 2^32 entries")
    }

    /// As [`Slab::iter`], mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut T)> {
        self.entries.iter_mut().enumerate().filter_map(|(index, (generation, entry))| match entry {
            SlabEntry::Used(value) => {
                Some((Key { index: index as u32, generation: *generation }, value))
            }
            SlabEntry::Free(_) => None,
        })
    }

    /// All live entries with their keys, by position.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.entries.iter().enumerate().filter_map(|(index, (generation, entry))| match entry {
            SlabEntry::Used(value) => {
                Some((Key { index: index as u32, generation: *generation }, value))
            }
            SlabEntry::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn a_stale_key_finds_nothing() {
        let mut slab = Slab::new();
        let a = slab.insert("a");
        assert_eq!(slab.remove(a), Some("a"));
        let b = slab.insert("b");
        assert_eq!((a.index, slab.get(a)), (b.index, None));
        assert_eq!(slab.get(b), Some(&"b"));
        assert_eq!(slab.remove(a), None);
        assert_eq!(Key::from_bits(b.to_bits()), b);
    }

    #[test]
    fn one_entry_takes_the_memory_of_one() {
        let mut slab = Slab::new();
        let key = slab.insert([0u8; 300]);
        assert_eq!(slab.entries.capacity(), 1);
        slab.remove(key);
        slab.insert([1; 300]);
        assert_eq!(slab.entries.capacity(), 1, "its position is used again");
        slab.insert([2; 300]);
        assert!(slab.entries.capacity() > 2, "more grow as before");
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(operations in prop::collection::vec(any::<(bool, u8)>(), 0..200)) {
            let mut slab = Slab::new();
            let mut model: HashMap<Key, u8> = HashMap::new();
            let mut dead = Vec::new();
            for (insert, value) in operations {
                if insert || model.is_empty() {
                    let key = slab.insert(value);
                    prop_assert!(model.insert(key, value).is_none());
                } else {
                    let key = *model.keys().nth(value as usize % model.len()).unwrap();
                    prop_assert_eq!(slab.remove(key), model.remove(&key));
                    dead.push(key);
                }
                prop_assert_eq!(slab.len(), model.len());
                prop_assert!(dead.iter().all(|key| slab.get(*key).is_none()));
                prop_assert!(model.iter().all(|(key, value)| slab.get(*key) == Some(value)));
            }
        }
    }
}
