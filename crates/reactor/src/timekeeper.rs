//! What the threads of a process agree on about their clock: how far it has leapt. Never reads it.
//!
//! Moments that one thread has noted are compared with the time of another: entries of tables
//! expire, queues have an order, checks move. So a leap is taken back once, for all, by whoever
//! comes back from its poller first.

use crate::pulse::Pulse;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// How much later than expected a process may have its next turn before the clock is said to have
/// leapt, in nanoseconds. More than the watchdog lets a turn take.
pub(crate) const LEAP: u64 = 5_000_000_000;

/// The time of a process.
#[derive(Debug)]
pub struct Timekeeper {
    /// What is added to the kernel's clock to take back its leaps, in nanoseconds, wrapping.
    correction: AtomicU64,
    pulses: Vec<Arc<Pulse>>,
}

impl Timekeeper {
    /// That of a process with so many threads.
    pub fn new(threads: usize) -> Arc<Self> {
        Self::of((0..threads).map(|_| Arc::default()).collect())
    }

    /// That of a process whose threads have these signs of life.
    pub(crate) fn of(pulses: Vec<Arc<Pulse>>) -> Arc<Self> {
        Arc::new(Self { correction: AtomicU64::new(0), pulses })
    }

    /// The signs of life of all threads.
    pub fn pulses(&self) -> &[Arc<Pulse>] {
        &self.pulses
    }

    /// What is added to the kernel's clock now.
    #[inline]
    pub(crate) fn correction(&self) -> u64 {
        self.correction.load(Relaxed)
    }

    /// The time of a thread that finds the kernel's clock at `raw`, earlier than its last turn
    /// `before` or more than [`LEAP`] later; and the correction that makes it so, which holds for
    /// all from now on.
    ///
    /// A clock goes back for the thread itself: others may have looked at it since this one has.
    /// Since the last turn that any thread has had, the process has not been seen alive. If the
    /// thread that was to have the next one has not had it long after it should, the process has
    /// stood still.
    #[cold]
    pub(crate) fn judge(&self, raw: u64, before: u64) -> (u64, u64) {
        loop {
            let correction = self.correction.load(Acquire);
            let read = raw.wrapping_add(correction);
            let (last, next) = self.turns(before);
            let now = if read < before {
                last
            } else if read > next.saturating_add(LEAP) {
                next
            } else {
                read
            };
            let right = correction.wrapping_add(now.wrapping_sub(read));
            // If another thread has judged meanwhile, there may be nothing left to take back.
            let swapped = self.correction.compare_exchange(correction, right, AcqRel, Relaxed);
            if swapped.is_ok() {
                return (now, right);
            }
        }
    }

    /// When the last turn of any thread was, and when the first one after that was expected.
    /// Whoever is later than the last turn is busy, or stands in line for a processor, and has
    /// nothing to tell.
    fn turns(&self, before: u64) -> (u64, u64) {
        let last = self.pulses.iter().map(|it| it.last_turn()).fold(before, u64::max);
        let next = self.pulses.iter().map(|it| it.next_turn()).filter(|next| *next >= last);
        (last, next.min().unwrap_or(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Threads by their last turns and when they expect their next ones.
    fn process(turns: &[(u64, u64)]) -> Arc<Timekeeper> {
        let timekeeper = Timekeeper::new(turns.len());
        for (pulse, (last, next)) in timekeeper.pulses().iter().zip(turns) {
            pulse.date(last * S);
            pulse.sleep(next * S);
        }
        timekeeper
    }

    #[test]
    fn who_alone_is_late_is_late() {
        let process = process(&[(100, 130), (50, 50), (0, 0)]);
        assert_eq!(process.judge(125 * S, 50 * S), (125 * S, 0), "one was busy");
        assert_eq!(process.judge(125 * S, 100 * S), (125 * S, 0), "one has slept");
        assert_eq!(process.judge(99 * S, 50 * S), (99 * S, 0), "one has looked before another");
    }

    #[test]
    fn a_leap_is_taken_back_once() {
        let process = process(&[(100, 101), (90, u64::MAX / S), (50, 50)]);
        let taken = (99 * S).wrapping_neg();
        assert_eq!(process.judge(200 * S, 90 * S), (101 * S, taken), "no timer of its own");
        assert_eq!(process.judge(201 * S, 100 * S), (102 * S, taken));
        assert_eq!(process.judge(202 * S, 50 * S), (103 * S, taken));
    }

    #[test]
    fn a_clock_that_goes_back_stands_still() {
        let process = process(&[(100, 101), (90, 200)]);
        assert_eq!(process.judge(10 * S, 90 * S), (100 * S, 90 * S), "nobody goes back");
        assert_eq!(process.judge(11 * S, 100 * S), (101 * S, 90 * S));
    }
}
