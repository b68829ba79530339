//! Memory budget of the process: measures its use, and returns or refuses memory when it runs
//! short. Allocations themselves are never refused.
//!
//! The allocator counts the use; one task reads it every [`PERIOD_MS`]. Between two measurements,
//! threads add up the cost of the clients and streams that they admit and settle it at the next
//! measurement, so that requests touch no counter shared by threads. The memory that peers can
//! claim in between is bounded: buffers by a limit from the budget, connections by the cost of one,
//! HTTP/2 payload by the windows of its connections.

use settings::memory::Budget;
use std::cell::Cell;
use std::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use stdx::Tick;

/// How often memory is measured, in milliseconds.
pub const PERIOD_MS: u32 = 20;
/// Period of measurements while there is no client and memory is plentiful, in milliseconds.
const QUIET_MS: u32 = 200;

/// Measurements after which threads return the memory that they keep, while memory is short.
const GIVE_BACK: u32 = 16;

/// Share of the budget that clients may take between two measurements although it is reserved for
/// buffers.
const FEW: u64 = 32;

/// Bytes that a new client may cost until the next measurement: the state of a connection and of a
/// request, buffers aside. A handshake costs more.
const CONNECTION: u64 = 8 << 10;
const HANDSHAKE: u64 = 96 << 10;
/// Bytes that a new HTTP/2 stream may cost: its head and the state of a request.
const STREAM: u64 = 20 << 10;

/// Bytes of payload that a task may keep although memory is short, as a request with a small body.
pub const SMALL: usize = 16 << 10;

/// The time for which a client may be idle while memory is short, in milliseconds. A client that
/// sends one request after another keeps its connection: a new one costs it round trips, and a
/// handshake costs more memory than the idle connection holds.
pub const SHORT_IDLE_MS: u32 = 100;

/// Whether a task may keep more payload in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The task may.
    Now,
    /// The stream tries again after the next measurement.
    Later,
    /// The stream ends, because others need its memory.
    Refused,
}

/// Shortage of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Memory is plentiful.
    Plenty,
    /// Idle memory is returned, tables and maps stop growing, and nothing grows for speed alone.
    Tight,
    /// Requests that hold much memory end or are refused, so that small requests of new clients
    /// continue.
    Short,
}

/// Counters of work that was refused or given up because memory was short.
#[derive(Debug, Default)]
pub struct Refused {
    /// Times at which a listener accepted no client.
    pub accepts: AtomicU64,
    /// Requests ended while they held buffers and waited.
    pub requests: AtomicU64,
    /// HTTP/2 streams.
    pub streams: AtomicU64,
    /// Connections closed between two requests.
    pub idle: AtomicU64,
}

/// The memory budget of a process and its use.
#[derive(Debug)]
pub struct Memory {
    budget: Option<Budget>,
    used: AtomicU64,
    level: AtomicU8,
    /// Measurements so far.
    looks: AtomicU32,
    /// Bytes for new clients, and for new streams, of each thread until the next measurement.
    client_share: AtomicU64,
    stream_share: AtomicU64,
    /// Refused work so far.
    pub refused: Refused,
}

impl Memory {
    /// A gauge for this budget; without a budget nothing is refused.
    pub fn new(budget: Option<Budget>) -> Self {
        let share = budget.map_or(u64::MAX, |budget| budget.room() / 8);
        Self {
            budget,
            used: AtomicU64::new(budget.map_or(0, |budget| budget.base)),
            level: AtomicU8::new(0),
            looks: AtomicU32::new(0),
            client_share: AtomicU64::new(share),
            stream_share: AtomicU64::new(share),
            refused: Refused::default(),
        }
    }

    /// The limit in bytes; 0 without one.
    pub fn limit(&self) -> u64 {
        self.budget.map_or(0, |budget| budget.limit)
    }

    /// Bytes in use at the last measurement; 0 without a limit.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Counts a request that was ended because others need its buffers.
    pub fn count_request(&self) {
        self.refused.requests.fetch_add(1, Relaxed);
    }

    /// The budget, if the memory is limited.
    pub fn budget(&self) -> Option<Budget> {
        self.budget
    }

    /// Resets the share of a thread after a new measurement.
    fn reset_share(&self, own: &Share) {
        let look = self.looks.load(Acquire);
        if own.look.replace(look) != look {
            own.clients.set(0);
            own.streams.set(0);
            own.payload.set(0);
        }
    }

    /// Whether a thread may accept another client. A refusal is counted, and the caller asks again
    /// later.
    pub fn admits_client(&self, own: &Share) -> bool {
        self.reset_share(own);
        let admits = self.budget.is_none() || own.clients.get() < self.client_share.load(Relaxed);
        if !admits {
            self.refused.accepts.fetch_add(1, Relaxed);
        }
        admits
    }

    /// Whether a thread refuses streams of HTTP/2; `None` without a budget.
    pub fn refuses_streams(&self, own: &Share) -> Option<bool> {
        self.budget?;
        self.reset_share(own);
        let taken = own.streams.get().saturating_add(own.payload.get());
        Some(taken >= self.stream_share.load(Relaxed))
    }

    /// Whether a task that keeps `held` bytes of payload may allocate `more` bytes. A refusal is
    /// counted.
    pub fn admits_payload(&self, own: &Share, held: usize, more: usize) -> Admission {
        if self.budget.is_none() {
            return Admission::Now;
        }
        if self.ends_payload(held) {
            return Admission::Refused;
        }
        self.reset_share(own);
        let small = held + more <= SMALL;
        let (others, share) = match small {
            true => (&own.clients, &self.client_share),
            false => (&own.streams, &self.stream_share),
        };
        let (others, payload) = (others.get(), own.payload.get());
        let taken = others.saturating_add(payload).saturating_add(more as u64);
        if taken <= share.load(Relaxed) {
            own.payload.set(payload.saturating_add(more as u64));
            return Admission::Now;
        }
        // With the whole share of a measurement it would not be enough.
        if !small && others == 0 && payload == 0 {
            self.count_request();
            return Admission::Refused;
        }
        Admission::Later
    }

    /// Whether a task that keeps `held` bytes of payload must end, which is counted.
    pub fn ends_payload(&self, held: usize) -> bool {
        let ends = held > SMALL && self.level() == Level::Short;
        if ends {
            self.count_request();
        }
        ends
    }

    /// The moment at which a client that is idle since `since` closes; `None` unless memory is
    /// short.
    pub fn idle_limit(&self, since: Tick) -> Option<Tick> {
        (self.level() == Level::Short).then(|| since.plus_ms(SHORT_IDLE_MS))
    }

    /// Whether a client that is idle since `since` must close now, which is counted.
    pub fn closes_idle(&self, since: Tick, now: Tick) -> bool {
        let closes = self.idle_limit(since).is_some_and(|limit| limit.is_due(now));
        if closes {
            self.refused.idle.fetch_add(1, Relaxed);
        }
        closes
    }

    /// Whether threads return kept memory again since the last time.
    pub fn gives_back(&self) -> bool {
        self.level() > Level::Plenty && self.looks.load(Relaxed).is_multiple_of(GIVE_BACK)
    }

    /// How short memory is.
    pub fn level(&self) -> Level {
        match self.level.load(Relaxed) {
            0 => Level::Plenty,
            1 => Level::Tight,
            _ => Level::Short,
        }
    }

    /// Milliseconds until the next measurement. While memory is short, measurements go on without
    /// clients, because new ones may wait at the listeners for the next measurement.
    pub fn period(&self, clients: bool) -> u32 {
        if clients || self.level() > Level::Plenty { PERIOD_MS } else { QUIET_MS }
    }

    /// Applies a measurement; whether the level has changed. `buffers`: bytes of existing buffers;
    /// those still allowed are set aside.
    pub fn look(&self, budget: Budget, (used, buffers): (u64, u64), threads: u64) -> bool {
        self.used.store(used, Relaxed);
        let (room, grown) = (budget.room().max(1), used.saturating_sub(budget.base));
        let before = self.level();
        let next = level(before, grown.saturating_mul(100) / room);
        let aside = (room / 2).saturating_sub(buffers);
        // A few clients are accepted even where tables and maps fill the memory reserved for
        // buffers.
        let share = |until: u64| {
            let left = (room / 100 * until).saturating_sub(grown);
            left.saturating_sub(aside).max(left.min(room / FEW)) / threads.max(1)
        };
        let streams = if next == Level::Short { 0 } else { share(SHORT.0) };
        self.client_share.store(share(FULL), Relaxed);
        self.stream_share.store(streams, Relaxed);
        self.looks.fetch_add(1, Release);
        self.level.store(next as u8, Relaxed);
        next != before
    }
}

/// Percent of the room at which a level begins and ends.
const TIGHT: (u64, u64) = (60, 50);
const SHORT: (u64, u64) = (75, 65);
/// Percent of the room beyond which listeners accept no client. Requests with much memory end
/// before that, so that clients with small requests seldom wait.
const FULL: u64 = 90;

/// The level for a use of the room in percent.
fn level(before: Level, percent: u64) -> Level {
    let reached =
        |at: Level, (begins, ends): (u64, u64)| percent >= if before >= at { ends } else { begins };
    match (reached(Level::Short, SHORT), reached(Level::Tight, TIGHT)) {
        (true, _) => Level::Short,
        (false, true) => Level::Tight,
        (false, false) => Level::Plenty,
    }
}

/// Memory that the new clients and streams of a thread may use, since the last measurement.
#[derive(Debug, Default)]
pub struct Share {
    look: Cell<u32>,
    clients: Cell<u64>,
    streams: Cell<u64>,
    payload: Cell<u64>,
}

impl Share {
    /// Adds the cost of a new client.
    pub fn add_client(&self, encrypted: bool) {
        let cost = if encrypted { HANDSHAKE } else { CONNECTION };
        self.clients.set(self.clients.get().saturating_add(cost));
    }

    /// Adds the cost of a new stream.
    pub fn add_stream(&self) {
        self.streams.set(self.streams.get().saturating_add(STREAM));
    }

    /// Removes the cost of a stream that ended.
    pub fn remove_stream(&self) {
        self.streams.set(self.streams.get().saturating_sub(STREAM));
    }
}

#[cfg(test)]
mod tests {
    use super::Level::{Plenty, Short, Tight};
    use super::*;

    #[test]
    fn levels_end_later_than_they_begin() {
        let mut now = Plenty;
        let mut step = |percent| {
            now = level(now, percent);
            now
        };
        let levels = [59, 60, 55, 74, 75, 70, 64, 50, 49].map(&mut step);
        assert_eq!(levels, [Plenty, Tight, Tight, Tight, Short, Short, Tight, Tight, Plenty]);
        assert_eq!(level(Plenty, 1_000), Short);
    }

    #[test]
    fn short_memory_is_measured_often_without_clients_too() {
        let budget = Budget { limit: 2_000, base: 1_000, measure: || 0 };
        let memory = Memory::new(Some(budget));
        assert_eq!((memory.period(true), memory.period(false)), (PERIOD_MS, QUIET_MS));
        memory.look(budget, (1_950, 0), 1);
        assert_eq!(memory.period(false), PERIOD_MS);
        memory.look(budget, (1_100, 0), 1);
        assert_eq!(memory.period(false), QUIET_MS);
    }

    #[test]
    fn clients_that_send_their_next_request_soon_stay_while_memory_is_short() {
        let budget = Budget { limit: 2_000, base: 1_000, measure: || 0 };
        let (memory, since) = (Memory::new(Some(budget)), Tick::from_nanos(1_000_000_000));
        let late = since.plus_ms(10 * SHORT_IDLE_MS);
        assert_eq!(memory.idle_limit(since), None);
        assert!(!memory.closes_idle(since, late), "memory is plentiful");
        memory.look(budget, (1_950, 0), 1);
        assert_eq!(memory.idle_limit(since), Some(since.plus_ms(SHORT_IDLE_MS)));
        assert!(!memory.closes_idle(since, since.plus_ms(SHORT_IDLE_MS - 1)));
        assert!(memory.closes_idle(since, since.plus_ms(SHORT_IDLE_MS)));
        assert_eq!(memory.refused.idle.load(Relaxed), 1);
    }

    #[test]
    fn clients_are_admitted_longer_than_streams() {
        let budget = Budget { limit: 2_000, base: 1_000, measure: || 0 };
        let memory = Memory::new(Some(budget));
        let shares = || [&memory.client_share, &memory.stream_share].map(|it| it.load(Relaxed));
        assert!(!memory.look(budget, (1_100, 300), 2));
        assert_eq!((shares(), memory.level()), ([300, 225], Plenty));
        assert!(memory.look(budget, (1_800, 0), 2));
        assert_eq!((shares(), memory.level()), ([15, 0], Short));
        assert!(!memory.look(budget, (1_900, 0), 2));
        assert_eq!((shares(), memory.level()), ([0, 0], Short));
        assert_eq!((budget.buffers(100), memory.used()), (5, 1_900));
    }

    #[test]
    fn streams_do_not_use_the_share_of_clients() {
        let budget = Budget { limit: 200 << 20, base: 100 << 20, measure: || 0 };
        let (memory, own) = (Memory::new(Some(budget)), Share::default());
        memory.look(budget, (150 << 20, 50 << 20), 1);
        assert_eq!(memory.refuses_streams(&own), Some(false));
        for _ in 0..2_000 {
            own.add_stream();
        }
        assert_eq!(memory.refuses_streams(&own), Some(true));
        assert!(memory.admits_client(&own));
    }
}
