//! The correction of clock leaps, on which the threads of a process agree.
//!
//! Times noted by one thread are compared with the clock of another: entries of tables expire,
//! queues are ordered, checks move between threads. So a leap is corrected once for all threads, by
//! the first thread that returns from its poller.

use crate::heartbeat::Heartbeat;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Delay of a process beyond its expected next turn that counts as a leap of the clock, in
/// nanoseconds. The leap is longer than any turn that the watchdog allows.
pub(crate) const LEAP: u64 = 5_000_000_000;

/// The clock correction of a process.
#[derive(Debug)]
pub struct ClockCorrection {
    /// Offset added to the kernel's clock, in nanoseconds, wrapping.
    correction: AtomicU64,
    heartbeats: Vec<Arc<Heartbeat>>,
}

impl ClockCorrection {
    /// A clock correction for this number of threads.
    pub fn new(threads: usize) -> Arc<Self> {
        Self::of((0..threads).map(|_| Arc::default()).collect())
    }

    /// A clock correction for threads with these heartbeats.
    pub(crate) fn of(heartbeats: Vec<Arc<Heartbeat>>) -> Arc<Self> {
        Arc::new(Self { correction: AtomicU64::new(0), heartbeats })
    }

    /// The heartbeats of all threads.
    pub fn heartbeats(&self) -> &[Arc<Heartbeat>] {
        &self.heartbeats
    }

    /// The current correction.
    #[inline]
    pub(crate) fn correction(&self) -> u64 {
        self.correction.load(Relaxed)
    }

    /// The time of a thread whose kernel clock shows `raw`, which is earlier than its last turn
    /// `before` or more than [`LEAP`] later; and the correction that yields it, which all threads
    /// use from now on.
    ///
    /// A clock goes back relative to the thread's own last turn, because other threads may have
    /// read it later. For a forward leap the expected turns of all threads count: if the thread
    /// whose turn was expected first has not had it long after that time, the whole process was
    /// stopped.
    #[cold]
    pub(crate) fn correct_leap(&self, raw: u64, before: u64) -> (u64, u64) {
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
            // Another thread may have corrected the leap already.
            let swapped = self.correction.compare_exchange(correction, right, AcqRel, Relaxed);
            if swapped.is_ok() {
                return (now, right);
            }
        }
    }

    /// Time of the last turn of any thread, and the earliest expected turn after it. A thread whose
    /// expected turn lies before the last turn is busy or waits for a processor, and is skipped.
    fn turns(&self, before: u64) -> (u64, u64) {
        let last = self.heartbeats.iter().map(|it| it.last_turn()).fold(before, u64::max);
        let next = self.heartbeats.iter().map(|it| it.next_turn()).filter(|next| *next >= last);
        (last, next.min().unwrap_or(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Threads by their last and their expected turns.
    fn process(turns: &[(u64, u64)]) -> Arc<ClockCorrection> {
        let clock_correction = ClockCorrection::new(turns.len());
        for (heartbeat, (last, next)) in clock_correction.heartbeats().iter().zip(turns) {
            heartbeat.set_turn_time(last * S);
            heartbeat.sleep(next * S);
        }
        clock_correction
    }

    #[test]
    fn one_late_thread_is_no_leap() {
        let process = process(&[(100, 130), (50, 50), (0, 0)]);
        assert_eq!(process.correct_leap(125 * S, 50 * S), (125 * S, 0), "one was busy");
        assert_eq!(process.correct_leap(125 * S, 100 * S), (125 * S, 0), "one has slept");
        assert_eq!(
            process.correct_leap(99 * S, 50 * S),
            (99 * S, 0),
            "one has looked before another"
        );
    }

    #[test]
    fn a_leap_is_taken_back_once() {
        let process = process(&[(100, 101), (90, u64::MAX / S), (50, 50)]);
        let taken = (99 * S).wrapping_neg();
        assert_eq!(process.correct_leap(200 * S, 90 * S), (101 * S, taken), "no timer of its own");
        assert_eq!(process.correct_leap(201 * S, 100 * S), (102 * S, taken));
        assert_eq!(process.correct_leap(202 * S, 50 * S), (103 * S, taken));
    }

    #[test]
    fn a_clock_that_goes_back_does_not_move() {
        let process = process(&[(100, 101), (90, 200)]);
        assert_eq!(process.correct_leap(10 * S, 90 * S), (100 * S, 90 * S), "nobody goes back");
        assert_eq!(process.correct_leap(11 * S, 100 * S), (101 * S, 90 * S));
    }
}
