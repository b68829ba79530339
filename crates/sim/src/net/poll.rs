//! Pollers of the machine's threads, which report as epoll does.
//!
//! A watched handle enters its poller's list when something changes, and its state is read when the
//! poller waits: so an edge is reported once, with the state at that time.

use super::conn::Readiness;
use super::handles::{Object, Watching};
use super::{Net, errno};
use crate::net::actor::Signal;
use crate::net::conn::Owner;
use crate::trace::RecordKind;
use reactor::{Event, Watch};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stdx::Key;

/// Most events of one wait.
const BATCH: usize = 128;

/// One thread's poller.
#[derive(Debug, Default)]
pub(super) struct Poller {
    /// Events of closed handles, as if collected before.
    ready: Vec<(i32, u64)>,
    /// Reports of handles that are gone, as if harvested before.
    stale: Vec<Event>,
    bell: Arc<AtomicBool>,
    asleep: Option<Sleep>,
}

/// A wait that found nothing.
#[derive(Clone, Copy, Debug)]
struct Sleep {
    until: Option<u64>,
}

fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

impl Net {
    /// Adds a poller for one more thread; returns its number and its alarm.
    pub(crate) fn add_poller(&mut self) -> (usize, Arc<AtomicBool>) {
        let poller = Poller::default();
        let bell = poller.bell.clone();
        self.pollers.push(poller);
        (self.pollers.len() - 1, bell)
    }

    /// Whether a poller's wait would return now.
    pub(crate) fn is_awake(&self, poller: usize) -> bool {
        let poller = &self.pollers[poller];
        let Some(sleep) = poller.asleep else { return true };
        !poller.ready.is_empty()
            || !poller.stale.is_empty()
            || poller.bell.load(Ordering::Relaxed)
            || sleep.until.is_some_and(|until| until <= self.now)
    }

    /// Time at which the first sleeping poller, but for these, wakes by timeout.
    pub(crate) fn next_wake(&self, except: &[usize]) -> Option<u64> {
        let pollers = self.pollers.iter().enumerate();
        let counted = pollers.filter(|(place, _)| !except.contains(place));
        counted.filter_map(|(_, poller)| poller.asleep?.until).min()
    }

    /// One wait of a poller: reports events, and records until when it would sleep.
    pub(crate) fn wait(
        &mut self,
        poller: usize,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) {
        let first = events.len();
        self.collect(poller, events);
        let late = self.up_to(self.default_faults.oversleep);
        let now = self.now;
        let state = &mut self.pollers[poller];
        let rung = state.bell.swap(false, Ordering::Relaxed);
        let before = state.asleep.take();
        if events.len() == first && !rung && timeout != Some(Duration::ZERO) {
            let span = timeout.map(|span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
            let until = span.map(|span| now.saturating_add(span).saturating_add(late));
            // A thread that was woken spuriously continues its previous wait.
            let until = before.map_or(until, |before| earlier(before.until, until));
            if until.is_none_or(|until| until > now) {
                state.asleep = Some(Sleep { until });
            }
        }
        for event in &events[first..] {
            let bits = u64::from(event.readable)
                | u64::from(event.writable) << 1
                | u64::from(event.closed) << 2;
            self.note(RecordKind::Event, event.token, bits);
        }
    }

    fn collect(&mut self, poller: usize, events: &mut Vec<Event>) {
        let first = events.len();
        let mut ready = std::mem::take(&mut self.pollers[poller].ready);
        let mut kept = 0;
        for place in 0..ready.len() {
            let (handle, token) = ready[place];
            let stays = events.len() - first >= BATCH || self.report(poller, handle, token, events);
            if stays {
                ready[kept] = (handle, token);
                kept += 1;
            }
        }
        ready.truncate(kept);
        self.pollers[poller].ready = ready;
        events.append(&mut self.pollers[poller].stale);
        self.report_spurious(poller, events);
        for place in (first + 1..events.len()).rev() {
            let with = first + self.prng.below((place - first + 1) as u32) as usize;
            events.swap(place, with);
        }
    }

    /// Reads the state of one handle. Returns whether it stays in the list.
    fn report(&mut self, poller: usize, handle: i32, token: u64, events: &mut Vec<Event>) -> bool {
        let mask = self.mask(handle);
        if !mask.writable {
            self.note_lack_of_room(handle);
        }
        let Some(watching) = self.watching(poller, handle) else { return false };
        if watching.token != token {
            return false;
        }
        let level = !watching.is_edge();
        let both = watching.watch == Watch::Stream;
        let mask = if both { mask } else { Readiness { writable: false, ..mask } };
        watching.queued = level && !mask.is_empty();
        let stays = watching.queued;
        if !mask.is_empty() {
            let Readiness { readable, writable, closed } = mask;
            events.push(Event { token, readable, writable, closed });
        }
        stays
    }

    /// Reports a stream as ready without reason, if the plan says so.
    fn report_spurious(&mut self, poller: usize, events: &mut Vec<Event>) {
        if !self.chance(self.default_faults.spurious) {
            return;
        }
        let span = self.handles.span();
        let handle = span.start + self.prng.below(span.len() as u32) as i32;
        if let Some(watching) = self.watching(poller, handle)
            && watching.is_edge()
        {
            let (token, writable) = (watching.token, watching.watch == Watch::Stream);
            events.push(Event { token, readable: true, writable, closed: false });
        }
    }

    fn mask(&self, handle: i32) -> Readiness {
        match self.handles.get(handle).map_or(Object::Free, |slot| slot.object) {
            Object::Free => Readiness::default(),
            Object::Listener(key) => Readiness {
                readable: self.listeners.get(key).is_some_and(|one| !one.backlog.is_empty()),
                ..Readiness::default()
            },
            Object::Datagrams(key) => {
                let readable = self.has_datagram(key);
                Readiness { readable, writable: true, closed: false }
            }
            Object::Link(end) => {
                Readiness { readable: self.has_message(end), writable: true, closed: false }
            }
            Object::Stream(end) => {
                self.conns.get(end.conn).map_or(Readiness::default(), |conn| conn.mask(end.side))
            }
        }
    }

    /// A poller that saw no room gets an event when there is room, as from `tcp_poll` of Linux.
    fn note_lack_of_room(&mut self, handle: i32) {
        if let Some(Object::Stream(end)) = self.handles.get(handle).map(|slot| slot.object)
            && let Some(conn) = self.conns.get_mut(end.conn)
        {
            conn.end(end.side).starved = true;
        }
    }

    fn watching(&mut self, poller: usize, handle: i32) -> Option<&mut Watching> {
        let slot = self.handles.get_mut(handle)?;
        slot.watches.iter_mut().find(|watching| watching.poller == poller)
    }

    /// Registers a handle with a poller.
    pub(crate) fn watch(
        &mut self,
        poller: usize,
        handle: i32,
        token: u64,
        watch: Watch,
    ) -> io::Result<()> {
        self.note(RecordKind::Watch, token, handle as u64);
        if self.watching(poller, handle).is_some() {
            self.misuse(token);
            return Err(io::Error::from_raw_os_error(errno::EXIST));
        }
        let ready = !self.mask(handle).is_empty();
        let Some(slot) = self.handles.get_mut(handle) else {
            self.misuse(token);
            return Err(io::Error::from_raw_os_error(errno::BADF));
        };
        slot.watches.push(Watching { poller, token, watch, queued: ready });
        self.begin_with(ready, poller, (handle, token));
        Ok(())
    }

    /// Changes how a handle is watched; readiness that exists already is reported again.
    pub(crate) fn rewatch(
        &mut self,
        poller: usize,
        handle: i32,
        token: u64,
        watch: Watch,
    ) -> io::Result<()> {
        self.note(RecordKind::Watch, token, handle as u64);
        let ready = !self.mask(handle).is_empty();
        let Some(watching) = self.watching(poller, handle) else {
            self.misuse(token);
            return Err(io::Error::from_raw_os_error(errno::NOENT));
        };
        let before = *watching;
        *watching = Watching { poller, token, watch, queued: ready };
        self.forget_ready(handle, before);
        self.begin_with(ready, poller, (handle, token));
        Ok(())
    }

    /// Reports readiness that exists when a registration begins.
    fn begin_with(&mut self, ready: bool, poller: usize, watched: (i32, u64)) {
        if ready {
            self.pollers[poller].ready.push(watched);
        }
    }

    /// Removes a handle from a poller.
    pub(crate) fn unwatch(&mut self, poller: usize, handle: i32) -> io::Result<()> {
        self.note(RecordKind::Unwatch, poller as u64, handle as u64);
        let Some(watching) = self.watching(poller, handle) else {
            self.misuse(handle as u64);
            return Err(io::Error::from_raw_os_error(errno::NOENT));
        };
        let watching = *watching;
        self.report_stale(watching, self.default_faults.stale);
        if let Some(slot) = self.handles.get_mut(handle) {
            slot.watches.retain(|other| other.poller != poller);
        }
        self.forget_ready(handle, watching);
        Ok(())
    }

    /// Ends all registrations of a handle that is about to be closed.
    pub(super) fn unwatch_all(&mut self, handle: i32, stale: u16) {
        while let Some(watching) = self.handles.get_mut(handle).and_then(|one| one.watches.pop()) {
            self.report_stale(watching, stale);
            self.forget_ready(handle, watching);
        }
    }

    fn forget_ready(&mut self, handle: i32, watching: Watching) {
        if watching.queued {
            self.pollers[watching.poller].ready.retain(|one| *one != (handle, watching.token));
        }
    }

    /// Reports an ended registration, as if its event had been collected before.
    fn report_stale(&mut self, watching: Watching, stale: u16) {
        if watching.is_edge() && self.chance(stale) {
            self.note(RecordKind::Stale, watching.token, watching.poller as u64);
            let token = watching.token;
            let event = Event { token, readable: true, writable: true, closed: true };
            self.pollers[watching.poller].stale.push(event);
        }
    }

    /// Notifies the owner of an end about a change.
    pub(super) fn changed(&mut self, end: super::EndId) {
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        match conn.end(end.side).owner {
            Owner::Handle(handle) => self.handle_changed(handle),
            Owner::Actor(id) => self.roused.push_back((id, Signal::Ready(end))),
            Owner::Nobody | Owner::Backlog(_) | Owner::Closed => {}
        }
    }

    pub(super) fn handle_changed(&mut self, handle: i32) {
        let Some(slot) = self.handles.get_mut(handle) else { return };
        for watching in &mut slot.watches {
            if !watching.queued {
                watching.queued = true;
                self.pollers[watching.poller].ready.push((handle, watching.token));
            }
        }
    }

    /// A client waits at a listener: notifies its pollers in random order, up to and including the
    /// first one that sleeps, as EPOLLEXCLUSIVE does.
    pub(super) fn client_waits(&mut self, listener: Key) {
        let Some(handle) = self.listeners.get(listener).and_then(|one| one.handle) else { return };
        let start = self.prng.next_u32() as usize;
        let Some(slot) = self.handles.get_mut(handle) else { return };
        for turn in 0..slot.watches.len() {
            let place = (start + turn) % slot.watches.len();
            let watching = &mut slot.watches[place];
            let poller = &mut self.pollers[watching.poller];
            let sleeps = poller.asleep.is_some() && poller.ready.is_empty();
            if !watching.queued {
                watching.queued = true;
                poller.ready.push((handle, watching.token));
            }
            if sleeps && watching.watch == Watch::Listener {
                break;
            }
        }
    }
}
