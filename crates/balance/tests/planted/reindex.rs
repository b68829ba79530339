//! Moving a server in the load index without the second read of its load: a planted fault.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::load::{Load, OUT};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    Down,
    Both,
}

pub(crate) fn reindex(load: &Load, moves: Moves, mut shift: impl FnMut(u64, u64)) -> u64 {
    let indexed = load.indexed.load(Acquire);
    let key = load.settled_key();
    if key == indexed || (moves == Moves::Down && key > indexed) || indexed == OUT {
        return indexed;
    }
    shift(indexed, key);
    load.indexed.store(key, Release);
    key
}
