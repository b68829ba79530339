//! What operators can watch while it happens: the `trace` commands (management.txt 9.3). Never changes
//! what it tells of.
//!
//! While nobody watches, a trace point is one load of a word that commands alone change, and a
//! branch; all that makes and writes a line is out of line. Sources and their words stand in
//! [`words`], what starts and ends a trace in [`state`], the places that tell something in
//! [`points`], and how it reads in `text`.

mod place;
pub(crate) mod points;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod words;

use crate::logging::log;
use crate::state::worker::Worker;
use crate::telemetry::anon::Anon;
use place::Place;
pub use state::{Phase, State};
use std::fmt::Write as _;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
pub use words::{CRITERIA, Criterion, Event, Level, Named, Source, Verbosity};

/// The traces of the process.
#[derive(Debug)]
pub struct Traces {
    armed: Armed,
    sources: [Mutex<State>; Source::ALL.len()],
}

/// A bit for each source that has to hear of what happens. It has a cache line of its own: what it
/// stood beside would have it travel between processors.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Armed(AtomicU32);

impl Default for Traces {
    fn default() -> Self {
        let state = |source| Mutex::new(State::new(source));
        Self { armed: Armed::default(), sources: Source::ALL.map(state) }
    }
}

impl Traces {
    /// Whether any source has to hear of what happens.
    #[inline]
    pub(crate) fn any(&self) -> bool {
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

/// Something that has happened.
struct Said {
    source: Source,
    event: Event,
    level: Level,
    at: &'static Location<'static>,
}

/// How it is told.
#[derive(Clone, Copy, Debug)]
struct Style {
    verbosity: Verbosity,
    anon: Anon,
}

/// Takes what has happened to its source, and writes its line if that one wants it.
fn tell(worker: &Worker, said: &Said, place: &Place, write: impl FnOnce(Style, &mut String)) {
    let traces = &worker.shared.traces;
    if traces.armed.0.load(Relaxed) & said.source.bit() == 0 {
        return;
    }
    let heard = |state: &mut State| {
        let wanted = state.hear(said.event, said.level, place);
        let style = Style { verbosity: state.verbosity, anon: state.anon };
        (style, state.sink.clone().filter(|_| wanted))
    };
    let (style, Some(sink)) = traces.with(said.source, heard) else { return };
    let mut line = String::new();
    let file = said.at.file();
    let file = file.rsplit_once('/').map_or(file, |(_, name)| name);
    // Writing to a string cannot fail.
    let _ = write!(
        line,
        "[{:02}|{}|{}|{file}:{}] ",
        worker.thread.index,
        said.source.name(),
        said.level as u8,
        said.at.line()
    );
    write(style, &mut line);
    if !log::tell(worker, &sink, line.as_bytes()) {
        traces.with(said.source, |state| state.dropped += 1);
    }
}
