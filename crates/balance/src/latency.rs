//! How long a server takes to answer: a mean that jumps to every peak and forgets it slowly.
//!
//! Two words, written by every answer under `balance peak-ewma` and by nothing under any other
//! algorithm, on a cache line of their own. They are read and written one by one: of two answers at
//! the same time one may be forgotten, which a mean survives.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How fast the past is forgotten: after this time it counts for 1/e, in nanoseconds.
const DECAY_NS: f64 = 10e9;

/// The cost of a server that has requests under way and has never answered one, in nanoseconds: it
/// gets no second request before the first is answered, if there is any other server.
const UNKNOWN_NS: f64 = 1e15;

/// The peak-sensitive moving average of one server's latency.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Latency {
    /// Bits of the mean in nanoseconds; 0 before the first answer.
    mean: AtomicU64,
    /// When it was written last, in the caller's nanoseconds.
    written_ns: AtomicU64,
}

impl Latency {
    /// Forgets all answers.
    pub(crate) fn forget(&self) {
        self.mean.store(0, Relaxed);
    }

    /// Adds the latency of one answer: a higher value counts at once, a lower one in proportion to
    /// the time passed.
    pub(crate) fn observe(&self, took_ns: u64, now_ns: u64) {
        let took = took_ns as f64;
        let before = f64::from_bits(self.mean.load(Relaxed));
        let keep = self.kept(now_ns);
        let mean = if took > before { took } else { before * keep + took * (1.0 - keep) };
        self.mean.store(mean.to_bits(), Relaxed);
        self.written_ns.store(now_ns, Relaxed);
    }

    /// The expected cost of one more request beside `load` others: the decayed mean latency times
    /// the number of requests including the new one.
    pub(crate) fn cost(&self, load: u64, now_ns: u64) -> f64 {
        let mean = f64::from_bits(self.mean.load(Relaxed)) * self.kept(now_ns);
        match load {
            0 => mean,
            load if mean == 0.0 => UNKNOWN_NS + load as f64,
            load => mean * (load + 1) as f64,
        }
    }

    fn kept(&self, now_ns: u64) -> f64 {
        let past = now_ns.saturating_sub(self.written_ns.load(Relaxed));
        (-(past as f64) / DECAY_NS).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    impl Latency {
        /// The mean in nanoseconds, as it was last written.
        fn mean_ns(&self) -> u64 {
            f64::from_bits(self.mean.load(Relaxed)) as u64
        }
    }

    #[test]
    fn peaks_count_at_once_and_are_forgotten_slowly() {
        let latency = Latency::default();
        latency.observe(5 * MS, 0);
        assert_eq!(latency.mean_ns(), 5 * MS);
        latency.observe(100 * MS, MS);
        assert_eq!(latency.mean_ns(), 100 * MS);
        latency.observe(5 * MS, 1_000 * MS);
        let soon = latency.mean_ns();
        assert!((90 * MS..95 * MS).contains(&soon), "{soon}");
        latency.observe(5 * MS, 60_000 * MS);
        let late = latency.mean_ns();
        assert!((5 * MS..6 * MS).contains(&late), "{late}");
    }

    #[test]
    fn cost_grows_with_load_and_shrinks_with_time() {
        let latency = Latency::default();
        assert_eq!(latency.cost(0, 0), 0.0);
        assert!(latency.cost(1, 0) > 1e14, "one request at a time until it is known");
        latency.observe(10 * MS, 0);
        assert_eq!((latency.cost(0, 0), latency.cost(3, 0)), (10e6, 40e6));
        assert!(latency.cost(0, 30_000 * MS) < 0.6e6, "a slow server is tried again");
    }
}
