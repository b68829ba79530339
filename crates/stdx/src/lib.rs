//! Data structures and helpers that std lacks: slab with generations, append-only list, ordered
//! tree with scopes, mutex without poison, wrapping ticks, random numbers, hash functions,
//! histograms, JSON strings, base64, numbers in texts, byte sets, prefetching, blocks of
//! one allocation, secrets that are wiped, descriptions of sockets.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`).

pub mod append_list;
pub mod base64;
pub mod block_area;
pub mod byte_set;
pub mod decimal;
pub mod hash;
pub mod histogram;
pub mod json;
pub mod leading_number;
pub mod mutex;
pub mod prefetch;
pub mod prng;
pub mod rw_lock;
pub mod scope_tree;
pub mod secret_bytes;
pub mod simd;
pub mod siphash;
pub mod slab;
pub mod socket;
pub mod tick;
pub mod varint;
pub mod xxhash;

pub use append_list::AppendList;
pub use block_area::{BlockArea, BlockChain, BlockReader, SharedBlocks};
pub use histogram::{Histogram, Summary};
pub use mutex::Mutex;
pub use prng::Prng;
pub use rw_lock::RwLock;
pub use scope_tree::{Position, ScopeTree};
pub use secret_bytes::SecretBytes;
pub use slab::{Key, Slab};
pub use tick::Tick;
