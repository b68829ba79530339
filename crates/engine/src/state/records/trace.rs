//! State of the trace sources: which events they report, to which sink, and since when.

pub mod place;
pub mod state;
pub mod words;
use crate::state::records::trace::state::{Phase, State};
use crate::state::records::trace::words::Source;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The traces of the process.
#[derive(Debug)]
pub struct Traces {
    /// Which sources and events are traced.
    pub armed: Armed,
    sources: [Mutex<State>; Source::ALL.len()],
}

/// A bit for each source that has to hear of what happens. It has a cache line of its own: what it
/// stood beside would have it travel between processors.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Armed(pub AtomicU32);

impl Default for Traces {
    fn default() -> Self {
        let state = |source| Mutex::new(State::new(source));
        Self { armed: Armed::default(), sources: Source::ALL.map(state) }
    }
}

impl Traces {
    /// Whether any source has to hear of what happens.
    #[inline]
    pub fn any(&self) -> bool {
        self.armed.0.load(Relaxed) != 0
    }

    /// Looks at the state of a source, or changes it.
    pub fn with<R>(&self, source: Source, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock(source);
        let result = change(&mut state);
        // Under the lock: what is last known of the state is what is last stored.
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

    fn lock(&self, source: Source) -> MutexGuard<'_, State> {
        self.sources[source as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
