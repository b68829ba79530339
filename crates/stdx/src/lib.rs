//! What std lacks: generational slab, growing list, ordered tree with scopes, wrapping ticks, PRNG, hash functions, histograms, strings of JSON, numbers at the start of texts and as digits, sets of bytes, asking for memory ahead of its use. Never does I/O and never reads a clock.

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
