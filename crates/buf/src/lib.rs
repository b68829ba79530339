//! Pooled fixed-size buffers. Never does I/O; an idle connection holds none.

pub mod buffer;
mod memory;
pub mod pool;

pub use buffer::Buf;
pub use pool::{Levels, Pool};
