//! What std lacks: generational slab, wrapping ticks, PRNG. Never does I/O and never reads a clock.

pub mod prng;
pub mod slab;
pub mod tick;

pub use prng::Prng;
pub use slab::{Key, Slab};
pub use tick::Tick;
