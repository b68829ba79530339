//! Figures of an agent over all threads, as the log lines of its engine show them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use stdx::Mutex;

/// The figures of one agent.
#[derive(Debug)]
pub struct SpoeFigures {
    threads: Box<[ThreadFigures]>,
    /// Connections opened.
    pub connections: Rate,
    /// Errors of events and groups.
    pub errors: Rate,
}

/// The figures of one thread; only that thread changes them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct ThreadFigures {
    /// Idle connections, all connections, payloads in the queue, payloads sent.
    state: [AtomicU32; 4],
    errors: AtomicU64,
    processed: AtomicU64,
}

impl ThreadFigures {
    /// Updates the gauges.
    pub fn set_state(&self, state: [usize; 4]) {
        for (to, from) in self.state.iter().zip(state) {
            to.store(u32::try_from(from).unwrap_or(u32::MAX), Relaxed);
        }
    }

    /// Counts an event or a group.
    pub fn count(&self, failed: bool) {
        self.processed.store(self.processed.load(Relaxed) + 1, Relaxed);
        self.errors.store(self.errors.load(Relaxed) + u64::from(failed), Relaxed);
    }
}

/// Sums over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoeSums {
    /// Idle connections, all connections, payloads in the queue, payloads sent.
    pub state: [u64; 4],
    /// Failed events and groups.
    pub errors: u64,
    /// All events and groups.
    pub processed: u64,
}

impl SpoeFigures {
    /// Figures of an agent that has done nothing.
    pub fn new(threads: usize) -> Self {
        let threads = (0..threads).map(|_| ThreadFigures::default()).collect();
        Self { threads, connections: Rate::default(), errors: Rate::default() }
    }

    /// The figures of a thread.
    pub fn of(&self, thread: usize) -> &ThreadFigures {
        &self.threads[thread]
    }

    /// The sums of the figures of all threads.
    pub fn sums(&self) -> SpoeSums {
        let mut sums = SpoeSums::default();
        for thread in &self.threads {
            for (sum, state) in sums.state.iter_mut().zip(&thread.state) {
                *sum += u64::from(state.load(Relaxed));
            }
            sums.errors += thread.errors.load(Relaxed);
            sums.processed += thread.processed.load(Relaxed);
        }
        sums
    }
}

/// Events of a second, of all threads. They are rare.
#[derive(Debug, Default)]
pub struct Rate(Mutex<(u32, u32)>);

impl Rate {
    /// Events of this second so far.
    pub fn count(&self, second: u32) -> u32 {
        let (known, count) = *self.0.lock();
        if known == second { count } else { 0 }
    }

    /// Counts an event of this second.
    pub fn add(&self, second: u32) {
        let mut state = self.0.lock();
        let count = if state.0 == second { state.1 } else { 0 };
        *state = (second, count.saturating_add(1));
    }
}
