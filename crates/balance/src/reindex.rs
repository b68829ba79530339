//! Moves a server to the place in the load index that its load gives.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::load::{Load, OUT};

/// Which way a server may be moved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    /// Down only: picks pass over a server whose position is too low.
    Down,
    /// To its exact place.
    Both,
}

/// Moves a server, under the lock of its index, until its level matches its load; returns its key
/// there.
///
/// A thread that changes a load reads `indexed` after the change, and moves nothing if the level
/// still fits. So after `indexed` has a new value the load is read once more, by writing to its
/// word: either the change comes after that and sees the new value, or it came before and is seen
/// here. Without the second read a server released in between would stay too high in the index and
/// get no more requests.
pub(crate) fn reindex(load: &Load, moves: Moves, mut shift: impl FnMut(u64, u64)) -> u64 {
    let mut indexed = load.indexed.load(Acquire);
    let mut moves = moves;
    loop {
        let key = load.settled_key();
        let right = key == indexed || (moves == Moves::Down && key > indexed);
        if right || indexed == OUT {
            return indexed;
        }
        shift(indexed, key);
        load.indexed.store(key, Release);
        (indexed, moves) = (key, Moves::Down);
    }
}
