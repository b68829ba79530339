//! The budget of a running script: its share of time, counted at every slice of instructions.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use stdx::Mutex;

/// Milliseconds that a script may hold its thread where it cannot be interrupted: in fetches,
/// converters, coroutines of its own, and functions that the interpreter's library calls. The
/// default of `tune.lua.burst-timeout`; the watchdog ends a process that is held for 2 s.
pub const BURST: u64 = 1_000;

/// The time that a function may take that runs to its end in one turn; 0 is without end.
pub(crate) fn in_one_turn(limit: u64, burst: u64) -> u64 {
    match (limit, burst) {
        (0, one) | (one, 0) => one,
        (limit, burst) => limit.min(burst),
    }
}

/// The progress of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) run: i64,
    /// Milliseconds that a script may run in total, and in one turn; 0 without end.
    pub(crate) limit: u64,
    pub(crate) burst: u64,
    /// Milliseconds that it has run.
    pub(crate) used: u64,
    pub(crate) waits: bool,
}

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
    /// Milliseconds that this turn may last; 0 without end.
    burst: AtomicU64,
    /// The address of the script's own coroutine: coroutines below it cannot be cut.
    main: AtomicUsize,
    expired: AtomicBool,
    /// The stack of the script where it was stopped.
    trace: Mutex<String>,
}

/// The fate of a script at the end of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slice {
    /// The script is suspended and resumed later.
    Cut,
    /// The script continues: it cannot be cut here.
    GoesOn,
    /// Its time is over.
    Expired,
}

impl Budget {
    /// A script begins a turn.
    pub(crate) fn begin(&self, pace: &Pace, now: u64, main: usize) {
        self.limit.store(pace.limit, Relaxed);
        self.used.store(pace.used, Relaxed);
        self.burst.store(pace.burst, Relaxed);
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
        let is_over = |limit: u64, used| limit > 0 && used >= limit;
        let turn = now.saturating_sub(self.since.load(Relaxed));
        if is_over(self.limit.load(Relaxed), self.used(now))
            || is_over(self.burst.load(Relaxed), turn)
        {
            self.expired.store(true, Relaxed);
            return Slice::Expired;
        }
        if coroutine == self.main.load(Relaxed) { Slice::Cut } else { Slice::GoesOn }
    }

    /// Stores the place at which the script is ended for exceeding its time.
    pub(crate) fn set_trace(&self, trace: String) {
        *self.trace.lock() = trace;
    }

    /// The stack of the script where it was stopped, if it was stopped.
    pub(crate) fn expired(&self) -> Option<String> {
        self.expired.load(Relaxed).then(|| std::mem::take(&mut *self.trace.lock()))
    }
}
