//! The state of one trace source: stopped, waiting or running, and the events that change it.

use super::place::{Key, Place};
use super::words::{Criterion, Event, Level, Source, Verbosity};
use crate::state::records::anon::Anon;
use std::sync::Arc;

/// How far a trace is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// Until a command starts it.
    #[default]
    Stopped,
    /// Until an event starts it.
    Waiting,
    /// It tells what happens.
    Running,
}

/// The trace of one source.
#[derive(Debug)]
pub struct State {
    phase: Phase,
    /// The events that are told, as a set; without any, nothing starts or ends it either.
    pub report: u32,
    /// Those that start it while it waits.
    pub start: u32,
    /// Those that stop it.
    pub stop: u32,
    /// Those that have it wait.
    pub pause: u32,
    /// The least important that is told.
    pub level: Level,
    /// How much is told.
    pub verbosity: Verbosity,
    /// Where to; `None`: nowhere.
    pub sink: Option<Arc<str>>,
    /// How names are shown.
    pub anon: Anon,
    /// Lines that the sink had no room for.
    pub dropped: u64,
    criterion: Criterion,
    /// What it sticks to, once it has met one.
    held: Option<Key>,
}

impl State {
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

    /// How far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Takes it there. It sticks to nothing from then on, unless it was running and is.
    pub fn enter(&mut self, phase: Phase) {
        if phase != Phase::Running || self.phase != Phase::Running {
            self.held = None;
        }
        self.phase = phase;
    }

    /// What it may stick to.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// Has it stick to the first of this kind that it meets from now on.
    pub fn lock_on(&mut self, criterion: Criterion) {
        (self.criterion, self.held) = (criterion, None);
    }

    /// Whether it has to hear of what happens.
    pub(crate) fn hears(&self) -> bool {
        self.phase != Phase::Stopped && self.report != 0
    }

    /// Something has happened. `true`: it is to be told.
    ///
    /// The level decides on nothing but that: what is not told can start and end the trace. An
    /// event that has no place of the kind that the trace is to stick to, such as the server of a
    /// request that is being received, is told as long as the trace sticks to nothing.
    pub fn hear(&mut self, event: Event, level: Level, place: &Place) -> bool {
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
        // The event that ends a trace is the last that it tells.
        if is_in(self.stop) {
            self.enter(Phase::Stopped);
        } else if is_in(self.pause) {
            self.enter(Phase::Waiting);
        }
        is_in(self.report) && level <= self.level
    }
}
