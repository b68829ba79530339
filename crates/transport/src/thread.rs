//! Memory that a thread keeps for reuse: buffers, futures, and the budget of the process.

pub mod buffers;
pub mod future_pool;
pub mod memory;
