//! Bytes that one thread has sent, in total and within the last second.
//!
//! The owner adds with a load and a store, and begins a new second at most once per turn; a total
//! over all threads is the sum.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Bytes that one thread has sent over stream sockets; datagrams do not count.
#[derive(Debug, Default)]
pub struct Throughput {
    sent: AtomicU64,
    /// Start of the measured second, in nanoseconds of the owner's clock.
    began: AtomicU64,
    /// Total at that time.
    before: AtomicU64,
    /// Bytes sent in the second before.
    last: AtomicU64,
}

impl Throughput {
    /// Bytes since the start.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Bytes within the second that ends at `now`: those of the measured second, and a proportional
    /// share of the second before.
    pub fn rate(&self, now: u64) -> u64 {
        let current = self.sent().wrapping_sub(self.before.load(Relaxed));
        let age = now.saturating_sub(self.began.load(Relaxed));
        let (newer, older, age) = match age / SECOND {
            0 => (current, self.last.load(Relaxed), age),
            // Nothing was sent since, otherwise a new second would have begun.
            1 => (0, current, age - SECOND),
            _ => return 0,
        };
        let share = u128::from(older) * u128::from(SECOND - age) / u128::from(SECOND);
        newer + share as u64
    }

    /// Adds sent bytes. Called by the owner only.
    #[inline]
    pub(crate) fn add(&self, count: usize) {
        self.sent.store(self.sent().wrapping_add(count as u64), Relaxed);
    }

    /// Begins a new second if the old one is over. Called by the owner at the start of a turn.
    #[inline]
    pub(crate) fn turn(&self, now: u64) {
        if now.wrapping_sub(self.began.load(Relaxed)) >= SECOND {
            self.begin(now);
        }
    }

    #[cold]
    fn begin(&self, now: u64) {
        let (sent, began) = (self.sent(), self.began.load(Relaxed));
        let whole = now.saturating_sub(began) < 2 * SECOND;
        let last = if whole { sent.wrapping_sub(self.before.load(Relaxed)) } else { 0 };
        // A thread that wakes rarely begins its second when it wakes.
        self.began.store(if whole { began + SECOND } else { now }, Relaxed);
        self.last.store(last, Relaxed);
        self.before.store(sent, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_second() {
        let it = Throughput::default();
        let at = |tenths: u64| tenths * SECOND / 10;
        it.turn(at(100));
        it.add(1_000);
        assert_eq!((it.sent(), it.rate(at(100))), (1_000, 1_000));
        assert_eq!(it.rate(at(109)), 1_000, "within the second");
        assert_eq!(it.rate(at(115)), 500, "half of it lies further back");
        assert_eq!(it.rate(at(120)), 0);
        it.turn(at(114));
        assert_eq!(it.rate(at(115)), 500, "a turn changes nothing");
        it.add(50);
        assert_eq!(it.rate(at(115)), 550);
        it.turn(at(500));
        assert_eq!(it.rate(at(500)), 0, "after a long sleep");
        it.add(7);
        assert_eq!((it.rate(at(505)), it.sent()), (7, 1_057));
    }
}
