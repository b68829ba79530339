//! State of the trace sources: which events they report, to which sink, and since when.

pub mod place;
pub mod state;
pub mod words;
use crate::state::records::trace::state::{Phase, TraceState};
use crate::state::records::trace::words::Source;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use stdx::Mutex;

/// The traces of the process.
#[derive(Debug)]
pub struct Traces {
    /// The sources that are traced.
    pub armed: Armed,
    sources: [Mutex<TraceState>; Source::ALL.len()],
}

/// A bit for each source that is traced. The bits have a cache line of their own: writes to
/// neighbours would move it between processors.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Armed(pub AtomicU32);

impl Default for Traces {
    fn default() -> Self {
        let state = |source| Mutex::new(TraceState::new(source));
        Self { armed: Armed::default(), sources: Source::ALL.map(state) }
    }
}

impl Traces {
    /// Whether any source is traced.
    #[inline]
    pub fn any(&self) -> bool {
        self.armed.0.load(Relaxed) != 0
    }

    /// Reads or changes the state of a source.
    pub fn with<R>(&self, source: Source, change: impl FnOnce(&mut TraceState) -> R) -> R {
        let mut state = self.lock(source);
        let result = change(&mut state);
        // Under the lock, so that the bit stored last matches the last state.
        if state.hears() {
            self.armed.0.fetch_or(source.bit(), Relaxed);
        } else {
            self.armed.0.fetch_and(!source.bit(), Relaxed);
        }
        result
    }

    /// Ends all traces.
    pub fn stop_all(&self) {
        Source::ALL
            .iter()
            .for_each(|source| self.with(*source, |state| state.enter(Phase::Stopped)));
    }

    fn lock(&self, source: Source) -> MutexGuard<'_, TraceState> {
        self.sources[source as usize].lock()
    }
}
