//! Pooled buffers of fixed size.
//!
//! Invariant: no I/O (`cargo xtask tidy`).

pub mod buffer;
mod memory;
pub mod pool;

pub use buffer::Buf;
pub use pool::{Levels, Pool};
