//! What std lacks: generational slab, bounded queue, wrapping ticks, PRNG. Never does I/O and never reads a clock.
