//! An append-only list that threads read without a lock.
//!
//! Invariant: an item does not move while the list lives (`tests`).
//!
//! Items live in chunks that double in size, each allocated with its first item. A reader loads two
//! words that are written once. A writer takes a lock, which readers do not touch.

use crate::Mutex;
use std::ops::Index;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};

/// Items of the first chunk; each further chunk has twice as many as the one before.
const FIRST: usize = 8;
/// Number of chunks: room for more items than fit into memory.
const CHUNKS: usize = 40;

/// An append-only list.
#[derive(Debug)]
pub struct AppendList<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
    len: AtomicUsize,
    growing: Mutex<()>,
}

/// Chunk and offset of an item.
#[inline]
fn place(at: usize) -> (usize, usize) {
    if at < FIRST {
        // Fast path, because most lists are short.
        return (0, at);
    }
    let chunk = ((at / FIRST) + 1).ilog2() as usize;
    (chunk, at - FIRST * ((1 << chunk) - 1))
}

impl<T> Default for AppendList<T> {
    fn default() -> Self {
        let chunks = [const { OnceLock::new() }; CHUNKS];
        Self { chunks, len: AtomicUsize::new(0), growing: Mutex::new(()) }
    }
}

impl<T> AppendList<T> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the item that `make` returns for its index; no other thread gets that index.
    pub fn push_with(&self, make: impl FnOnce(usize) -> T) -> usize {
        let _alone = self.growing.lock();
        let at = self.len.load(Acquire);
        let (chunk, offset) = place(at);
        let empty = || (0..FIRST << chunk).map(|_| OnceLock::new()).collect();
        let slot = &self.chunks[chunk].get_or_init(empty)[offset];
        slot.get_or_init(|| make(at));
        self.len.store(at + 1, Release);
        at
    }

    /// Appends an item and returns its index.
    pub fn push(&self, item: T) -> usize {
        self.push_with(|_| item)
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// Whether the list has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at an index.
    pub fn get(&self, at: usize) -> Option<&T> {
        let (chunk, offset) = place(at);
        self.chunks.get(chunk)?.get()?.get(offset)?.get()
    }

    /// The items present now.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len()).map(|at| &self[at])
    }
}

impl<T> Index<usize> for AppendList<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        self.get(at).expect("a place that was filled")
    }
}

impl<T> FromIterator<T> for AppendList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let list = Self::new();
        for item in items {
            list.push(item);
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_where_they_are() {
        let list: AppendList<String> = AppendList::new();
        assert!(list.is_empty() && list.get(0).is_none());
        let first: *const String = {
            list.push("0".into());
            &list[0]
        };
        for n in 1..1_000 {
            assert_eq!(list.push_with(|at| at.to_string()), n);
        }
        assert!(std::ptr::eq(first, &list[0]));
        assert_eq!(list.len(), 1_000);
        assert!(list.iter().enumerate().all(|(at, item)| *item == at.to_string()));
        assert!(list.get(1_000).is_none() && list.get(usize::MAX / 2).is_none());
    }

    #[test]
    fn readers_see_whole_items_while_it_grows() {
        let list: AppendList<Box<usize>> = AppendList::new();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..5_000).for_each(|n| assert_eq!(list.push(Box::new(n)), n)));
            scope.spawn(|| {
                while list.len() < 5_000 {
                    assert!(list.iter().enumerate().all(|(at, item)| **item == at));
                }
            });
        });
    }
}
