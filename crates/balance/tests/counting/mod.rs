//! The load index over words that note the cache lines written.
#![allow(dead_code, unreachable_pub, reason = "the product uses all of it")]

pub(crate) mod sync;

#[path = "../../src/index/mod.rs"]
mod index;
#[path = "../../src/load.rs"]
mod load;
#[path = "../../src/reindex.rs"]
mod reindex;

pub(crate) use balance::NoServer;
pub(crate) use load::Load;

use index::{LoadIndex, LoadOrder};
use std::sync::Arc;
use stdx::Prng;

/// Builds an index over these loads.
pub type Build = fn(Box<[Arc<Load>]>) -> Arc<dyn LoadIndex>;

pub fn levels(loads: Box<[Arc<Load>]>) -> Arc<dyn LoadIndex> {
    LoadOrder::Levels.build(loads)
}

pub fn tree(loads: Box<[Arc<Load>]>) -> Arc<dyn LoadIndex> {
    LoadOrder::Tree.build(loads)
}

/// The number of different shared lines that one operation writes, on average. The nodes that a
/// tree writes on the heap count as one more line each time its lock is taken.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// By a pick.
    pub pick: f64,
    /// By the end of a request.
    pub release: f64,
}

/// Lines written while requests end in random order, each followed by another.
pub fn steady(build: Build, servers: usize, held: usize) -> Lines {
    play(build, servers, held, |_| [true, false])
}

/// Lines written while requests begin and end two by two at random, from `held` at once.
pub fn wandering(build: Build, servers: usize, held: usize) -> Lines {
    play(build, servers, held, |random| [random.below(2) == 0; 2])
}

/// Plays steps, each of which ends a request or begins one: `next` says which for two in a row.
fn play(build: Build, servers: usize, held: usize, next: impl Fn(&Prng) -> [bool; 2]) -> Lines {
    let loads: Vec<_> = (0..servers).map(|_| Arc::new(Load::new(16, 0))).collect();
    let index = build(loads.iter().cloned().collect());
    index.members(&(0..servers).collect::<Vec<_>>());
    let random = Prng::new(1);
    let pick = || index.pick(None).expect("all are usable");
    let mut running: Vec<usize> = (0..held).map(|_| pick()).collect();
    let (mut picks, mut releases) = (Vec::new(), Vec::new());
    for end in (0..20_000).flat_map(|_| next(&random)) {
        if !end {
            picks.push(sync::lines(|| running.push(pick())));
        } else if !running.is_empty() {
            let slot = running.swap_remove(random.below(running.len() as u32) as usize);
            loads[slot].commit();
            releases.push(sync::lines(|| {
                loads[slot].release();
                index.load_changed(slot);
            }));
        }
    }
    let mean = |all: &[usize]| all.iter().sum::<usize>() as f64 / all.len() as f64;
    Lines { pick: mean(&picks), release: mean(&releases) }
}
