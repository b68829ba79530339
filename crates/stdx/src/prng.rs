//! A fast random generator for jitter and random balancing; not for secrets.

use std::cell::Cell;

/// SplitMix64: one 64-bit state, one multiplication chain per draw, full period.
///
/// Not cryptographic. Interior mutability keeps it usable behind a shared per-thread context.
#[derive(Debug)]
pub struct Prng(Cell<u64>);

impl Prng {
    /// Starts the sequence that belongs to `seed`; equal seeds give equal sequences.
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next 64 uniformly distributed bits.
    pub fn next_u64(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next 32 bits.
    pub fn next_u32(&self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A value in `0..bound`, or 0 when `bound` is 0. The bias is below 2^-32.
    pub fn below(&self, bound: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences() {
        let (a, b) = (Prng::new(7), Prng::new(7));
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        let prng = Prng::new(1);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[prng.below(10) as usize] = true;
        }
        assert!(seen.iter().all(|s| *s));
        assert_eq!(prng.below(0), 0);
    }
}
