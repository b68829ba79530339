//! Data structures and helpers that std lacks: slab with generations, append-only list, ordered
//! tree with scopes, wrapping ticks, random numbers, hash functions, histograms, JSON strings,
//! numbers in texts, byte sets, prefetching.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`).

pub mod byte_set;
pub mod decimal;
pub mod grow;
pub mod hash;
pub mod histogram;
pub mod ignored;
pub mod json;
pub mod lanes;
pub mod leading;
pub mod prefetch;
pub mod prng;
pub mod scope_tree;
pub mod slab;
pub mod tick;
pub mod xxhash;

pub use grow::Grow;
pub use histogram::{Histogram, Summary};
pub use ignored::ignored;
pub use prng::Prng;
pub use scope_tree::{Position, ScopeTree};
pub use slab::{Key, Slab};
pub use tick::Tick;
