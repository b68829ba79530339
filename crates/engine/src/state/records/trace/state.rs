//! The state of one trace source: stopped, waiting or running, and the events that change it.

use super::place::{Key, TracePlace};
use super::words::{Criterion, Event, Level, Source, Verbosity};
use crate::state::records::anon::Anon;
use std::sync::Arc;

/// The phase of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// The trace waits for a command.
    #[default]
    Stopped,
    /// The trace waits for an event.
    Waiting,
    /// The trace reports events.
    Running,
}

/// The trace of one source.
#[derive(Debug)]
pub struct TraceState {
    phase: Phase,
    /// The events that are reported, as a set; without any, no event starts or ends the trace
    /// either.
    pub report: u32,
    /// The events that start the trace while it waits.
    pub start: u32,
    /// The events that stop the trace.
    pub stop: u32,
    /// The events that pause the trace.
    pub pause: u32,
    /// The least important level that is reported.
    pub level: Level,
    /// The detail of the reports.
    pub verbosity: Verbosity,
    /// The sink of the reports; `None`: reports are dropped.
    pub sink: Option<Arc<str>>,
    /// How names are shown.
    pub anon: Anon,
    /// Lines that the sink had no room for.
    pub dropped: u64,
    criterion: Criterion,
    /// The place that the trace is locked on, once an event has named one.
    held: Option<Key>,
}

impl TraceState {
    /// A source that is not traced yet.
    pub fn new(source: Source) -> Self {
        Self {
            phase: Phase::Stopped,
            report: source.all_events(),
            start: 0,
            stop: 0,
            pause: 0,
            level: Level::default(),
            verbosity: Verbosity::default(),
            sink: None,
            anon: Anon::default(),
            dropped: 0,
            criterion: Criterion::Nothing,
            held: None,
        }
    }

    /// The phase of the trace.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Sets the phase. This unlocks the trace, unless it was running and still is.
    pub fn enter(&mut self, phase: Phase) {
        if phase != Phase::Running || self.phase != Phase::Running {
            self.held = None;
        }
        self.phase = phase;
    }

    /// The kind of place that the trace locks on.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// Locks the trace on the first place of this kind that an event names from now on.
    pub fn lock_on(&mut self, criterion: Criterion) {
        (self.criterion, self.held) = (criterion, None);
    }

    /// Whether the trace needs events.
    pub(crate) fn hears(&self) -> bool {
        self.phase != Phase::Stopped && self.report != 0
    }

    /// Handles an event. `true`: the event is reported.
    ///
    /// The level decides on the report alone: an event that is not reported can start and end the
    /// trace. An event without a place of the kind that the trace locks on, such as the server of a
    /// request that is being received, is reported as long as the trace is locked on nothing.
    pub fn on_event(&mut self, event: Event, level: Level, place: &TracePlace) -> bool {
        let is_in = |set: u32| set & event.bit() != 0;
        if !self.hears() || !is_in(self.report | self.start | self.stop | self.pause) {
            return false;
        }
        if self.phase == Phase::Waiting {
            if !is_in(self.start) {
                return false;
            }
            self.phase = Phase::Running;
        }
        let found = place.of(self.criterion);
        if self.held.is_some() && found != self.held {
            return false;
        }
        if is_in(self.report | self.start) {
            self.held = found;
        }
        // The event that ends a trace is the last that is reported.
        if is_in(self.stop) {
            self.enter(Phase::Stopped);
        } else if is_in(self.pause) {
            self.enter(Phase::Waiting);
        }
        is_in(self.report) && level <= self.level
    }
}
