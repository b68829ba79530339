//! The budget of a running script: its share of time, counted at every slice of instructions.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use stdx::Mutex;

/// Shared by a state and its hook. All fields belong to the script that runs, of which there is one
/// at a time.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// Milliseconds that the script may run in total; 0 without end.
    limit: AtomicU64,
    /// Milliseconds that it has run before this turn.
    used: AtomicU64,
    /// The start of this turn.
    since: AtomicU64,
    /// The address of the script's own coroutine: coroutines below it cannot be cut.
    main: AtomicUsize,
    expired: AtomicBool,
    /// The place at which it was cut for good.
    trace: Mutex<String>,
}

/// The fate of a script at the end of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slice {
    /// The script stands aside and is resumed later.
    Cut,
    /// The script goes on: it cannot be cut here.
    GoesOn,
    /// Its time is over.
    Expired,
}

impl Budget {
    /// A script begins a turn.
    pub(crate) fn begin(&self, limit: u64, used: u64, now: u64, main: usize) {
        self.limit.store(limit, Relaxed);
        self.used.store(used, Relaxed);
        self.since.store(now, Relaxed);
        self.main.store(main, Relaxed);
        self.expired.store(false, Relaxed);
    }

    /// The milliseconds that it has run in total.
    pub(crate) fn used(&self, now: u64) -> u64 {
        self.used.load(Relaxed) + now.saturating_sub(self.since.load(Relaxed))
    }

    /// A slice has ended in this coroutine.
    pub(crate) fn slice(&self, now: u64, coroutine: usize) -> Slice {
        let limit = self.limit.load(Relaxed);
        if limit > 0 && self.used(now) >= limit {
            self.expired.store(true, Relaxed);
            return Slice::Expired;
        }
        if coroutine == self.main.load(Relaxed) { Slice::Cut } else { Slice::GoesOn }
    }

    /// Keeps the place at which the script is cut for good.
    pub(crate) fn set_trace(&self, trace: String) {
        *self.trace.lock() = trace;
    }

    /// The place at which it was cut for good, if it was.
    pub(crate) fn expired(&self) -> Option<String> {
        self.expired.load(Relaxed).then(|| std::mem::take(&mut *self.trace.lock()))
    }
}
