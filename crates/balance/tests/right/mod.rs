//! The load index as it is, over loom's words and locks.
#![allow(dead_code, unreachable_pub, reason = "the product uses all of it")]

pub(crate) mod sync {
    //! Loom's primitives.
    pub(crate) use loom::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU32, AtomicU64},
    };

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().expect("no holder panics")
    }
}

#[path = "../../src/index/mod.rs"]
mod index;
#[path = "../../src/load.rs"]
mod load;
#[path = "../models/mod.rs"]
pub mod models;
#[path = "../../src/reindex.rs"]
mod reindex;

pub(crate) use balance::NoServer;
pub(crate) use load::Load;

use index::{LoadIndex, LoadOrder};
use std::sync::Arc;

/// Builds an index over these loads.
pub type Build = fn(Box<[Arc<Load>]>) -> Arc<dyn LoadIndex>;

pub fn levels(loads: Box<[Arc<Load>]>) -> Arc<dyn LoadIndex> {
    LoadOrder::Levels.build(loads)
}

pub fn tree(loads: Box<[Arc<Load>]>) -> Arc<dyn LoadIndex> {
    LoadOrder::Tree.build(loads)
}

pub fn few(loads: Box<[Arc<Load>]>) -> Arc<dyn LoadIndex> {
    LoadOrder::Few.build(loads)
}
