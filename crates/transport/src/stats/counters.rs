//! Traffic counters: one block per thread, which that thread alone writes; readers sum the blocks.

use crate::stats::latency::Latencies;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, OnceLock};

/// Counted events per proxy, listener or server. The names are those of the manual's statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Metric {
    /// Connections accepted, or made to a server.
    Connections,
    /// Sessions (frontend) or streams (backend, server).
    Sessions,
    /// HTTP requests.
    Requests,
    /// Requests that the balancing algorithm sent here.
    Balanced,
    /// Bytes received from clients.
    BytesIn,
    /// Bytes sent to clients.
    BytesOut,
    /// Requests denied by a rule.
    DeniedRequests,
    /// Responses denied by a rule.
    DeniedResponses,
    /// Connections denied by a `tcp-request connection` rule.
    DeniedConnections,
    /// Sessions denied by a `tcp-request session` rule.
    DeniedSessions,
    /// Invalid or incomplete requests.
    FailedRequests,
    /// Failed attempts to connect to a server.
    FailedConnections,
    /// Invalid or incomplete responses.
    FailedResponses,
    /// Repeated attempts to connect.
    Retries,
    /// Requests sent to another server than the one first chosen.
    Redispatches,
    /// Requests answered by the proxy itself.
    Intercepted,
    /// Transfers aborted by the client.
    ClientAborts,
    /// Transfers aborted by the server.
    ServerAborts,
    /// Rewrites that did not fit.
    FailedRewrites,
    /// Our own faults.
    InternalErrors,
    /// Server connections opened for requests.
    Connects,
    /// Server connections used again.
    Reuses,
    /// Counted requests over HTTP/1 that have ended.
    Ended,
    /// Requests over HTTP/2, among all requests; for a server, those that were sent to it over
    /// HTTP/2.
    StreamRequests,
    /// Requests over HTTP/2 that have ended.
    StreamsEnded,
    /// Bytes received from clients over HTTP/2, among all bytes; for a server, those sent to it
    /// over HTTP/2.
    StreamBytesIn,
    /// Bytes sent to clients over HTTP/2; for a server, those received from it over HTTP/2.
    StreamBytesOut,
    /// Bytes that went through pipes of the system from clients to servers.
    SplicedUp,
    /// Bytes that went through pipes of the system from servers to clients.
    SplicedDown,
    /// Requests that were looked up in a cache.
    CacheLookups,
    /// Requests that a cache has answered.
    CacheHits,
    /// Bytes that compression consumed.
    CompressedIn,
    /// Bytes that compression produced.
    CompressedOut,
    /// Bytes of responses that a limit kept from compression.
    CompressionBypassed,
    /// Responses that were compressed.
    CompressedResponses,
    /// TLS handshakes that have succeeded and made a session.
    TlsSessions,
    /// Handshakes that resumed a session.
    TlsReuses,
    /// TLS handshakes that have failed.
    TlsFailures,
    /// Responses with status 1xx; the five that follow are 2xx to 5xx and all others.
    Status1xx,
    /// Responses with status 2xx.
    Status2xx,
    /// Responses with status 3xx.
    Status3xx,
    /// Responses with status 4xx.
    Status4xx,
    /// Responses with status 5xx.
    Status5xx,
    /// Responses with another status.
    StatusOther,
}

const METRICS: usize = Metric::StatusOther as usize + 1;

impl Metric {
    /// The metric that counts responses with a status.
    pub fn of_status(status: u16) -> Self {
        match status / 100 {
            1 => Self::Status1xx,
            2 => Self::Status2xx,
            3 => Self::Status3xx,
            4 => Self::Status4xx,
            5 => Self::Status5xx,
            _ => Self::StatusOther,
        }
    }
}

/// Times averaged over the last 1024 requests, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Timing {
    /// In queues.
    Queue,
    /// To connect.
    Connect,
    /// From the connection to the response's head.
    Response,
    /// In all.
    Total,
}

const TIMINGS: usize = 4;
/// Requests that an average covers.
const WINDOW: u64 = 1024;

/// Which events per second are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Event {
    /// Connections.
    Connection,
    /// Sessions.
    Session,
    /// HTTP requests.
    Request,
}

/// One thread's block. Only the owning thread writes, so that plain stores do.
#[derive(Debug)]
#[repr(align(64))]
pub struct Block {
    metrics: [AtomicU64; METRICS],
    /// Sums over the window, as the sliding average keeps them, and the samples seen (up to it).
    timings: [AtomicU64; TIMINGS],
    maxima: [AtomicU32; TIMINGS],
    samples: AtomicU64,
    rates: [EventRate; 3],
    // Servers only: idle connections of the thread for one request at a time, those among them that
    // were reused, and idle multiplexed connections; then the peak use since the last purge, and
    // the estimate of the need.
    idle: AtomicU32,
    proven: AtomicU32,
    idle_trunks: AtomicU32,
    peak: AtomicU32,
    need: AtomicU32,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            metrics: std::array::from_fn(|_| AtomicU64::new(0)),
            timings: Default::default(),
            maxima: Default::default(),
            samples: AtomicU64::new(0),
            rates: Default::default(),
            idle: AtomicU32::new(0),
            proven: AtomicU32::new(0),
            idle_trunks: AtomicU32::new(0),
            peak: AtomicU32::new(0),
            need: AtomicU32::new(0),
        }
    }
}

impl Block {
    /// How many idle connections the thread holds now, and how many of them are proven.
    pub fn set_idle(&self, count: usize, proven: usize) {
        self.idle.store(u32::try_from(count).unwrap_or(u32::MAX), Relaxed);
        self.proven.store(u32::try_from(proven).unwrap_or(u32::MAX), Relaxed);
    }

    /// Counts another idle connection with streams.
    pub fn trunk_rests(&self) {
        self.idle_trunks.store(self.idle_trunks.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Counts the use or the end of an idle connection with streams.
    pub fn trunk_stirs(&self) {
        self.idle_trunks.store(self.idle_trunks.load(Relaxed).wrapping_sub(1), Relaxed);
    }

    /// The most connections in use since the last purge, and the estimate of that.
    pub fn set_demand(&self, peak: u32, need: u32) {
        self.peak.store(peak, Relaxed);
        self.need.store(need, Relaxed);
    }

    /// Counts `amount` more.
    pub fn add(&self, metric: Metric, amount: u64) {
        let cell = &self.metrics[metric as usize];
        cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// Counts a TLS handshake, as HAProxy does: a resumed handshake is no session.
    pub fn count_handshake(&self, stands: bool, resumed: bool) {
        self.count(match (stands, resumed) {
            (false, _) => Metric::TlsFailures,
            (true, false) => Metric::TlsSessions,
            (true, true) => Metric::TlsReuses,
        });
    }

    /// Counts one more.
    pub fn count(&self, metric: Metric) {
        self.add(metric, 1);
    }

    /// Takes the times of one finished request into the averages, in milliseconds.
    pub fn time(&self, times: [u32; TIMINGS]) {
        let samples = self.samples.load(Relaxed);
        let full = samples >= WINDOW;
        if !full {
            self.samples.store(samples + 1, Relaxed);
        }
        for ((sum, max), time) in self.timings.iter().zip(&self.maxima).zip(times) {
            let old = sum.load(Relaxed);
            if old == 0 && time == 0 {
                continue;
            }
            let decay = if full { old.div_ceil(WINDOW) } else { 0 };
            sum.store(old.saturating_sub(decay) + u64::from(time), Relaxed);
            if time > max.load(Relaxed) {
                max.store(time, Relaxed);
            }
        }
    }
}

/// Events per second: of the current second and the previous one.
#[derive(Debug, Default)]
pub struct EventRate {
    second: AtomicU32,
    current: AtomicU32,
    previous: AtomicU32,
}

impl EventRate {
    /// Whether the events counted are those of `second`.
    fn is_of(&self, second: u32) -> bool {
        self.second.load(Relaxed) == second
    }

    fn count(&self) {
        self.current.store(self.current.load(Relaxed) + 1, Relaxed);
    }

    /// Begins another second.
    fn turn(&self, second: u32) {
        let follows = self.second.load(Relaxed).wrapping_add(1) == second;
        self.previous.store(if follows { self.current.load(Relaxed) } else { 0 }, Relaxed);
        self.current.store(0, Relaxed);
        self.second.store(second, Relaxed);
    }

    /// Events of `second` so far, and of the whole second before it.
    fn read(&self, second: u32) -> (u32, u32) {
        let (current, previous) = (self.current.load(Relaxed), self.previous.load(Relaxed));
        match second.wrapping_sub(self.second.load(Relaxed)) {
            0 => (current, previous),
            1 => (0, current),
            _ => (0, 0),
        }
    }

    /// Events of one second, if it is the current or the previous one.
    fn of(&self, second: u32) -> u32 {
        match self.second.load(Relaxed).wrapping_sub(second) {
            0 => self.current.load(Relaxed),
            1 => self.previous.load(Relaxed),
            _ => 0,
        }
    }
}

/// Counters of one object, over all threads. A thread's block is made at its first touch.
#[derive(Debug)]
pub struct Counters {
    blocks: Box<[OnceLock<Arc<Block>>]>,
    /// Peak events per second, over past seconds and those that were queried.
    peaks: [AtomicU32; 3],
    /// Second in which the peaks were cleared last; its own events are excluded.
    peaks_cleared: AtomicU32,
    /// Second in which everything was cleared last.
    all_cleared: AtomicU32,
    /// Sums at the last clearing of the counters: readers subtract them, so that blocks keep a
    /// single writer.
    cleared: OnceLock<Box<[AtomicU64; METRICS]>>,
    /// Histograms of latencies.
    pub latencies: Latencies,
}

impl Counters {
    /// Counters for this many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            blocks: (0..threads).map(|_| OnceLock::new()).collect(),
            peaks: Default::default(),
            peaks_cleared: AtomicU32::new(0),
            all_cleared: AtomicU32::new(0),
            cleared: OnceLock::new(),
            latencies: Latencies::new(threads),
        }
    }

    /// The block of a thread, for that thread.
    pub fn of(&self, thread: usize) -> &Block {
        self.blocks[thread].get_or_init(Arc::default)
    }

    /// The same, to be kept.
    pub fn share(&self, thread: usize) -> Arc<Block> {
        self.blocks[thread].get_or_init(Arc::default).clone()
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter_map(|block| block.get().map(|block| &**block))
    }

    /// The sum over all threads since the start, or since it was cleared.
    pub fn sum(&self, metric: Metric) -> u64 {
        let cleared = self.cleared.get().map_or(0, |at| at[metric as usize].load(Relaxed));
        self.raw(metric as usize).wrapping_sub(cleared)
    }

    /// The sum over all threads since the start, clearings aside.
    pub fn since_start(&self, metric: Metric) -> u64 {
        self.raw(metric as usize)
    }

    /// The count of one thread since the start.
    pub fn of_thread(&self, thread: usize, metric: Metric) -> u64 {
        let block = self.blocks.get(thread).and_then(OnceLock::get);
        block.map_or(0, |block| block.metrics[metric as usize].load(Relaxed))
    }

    /// Idle connections that threads hold and that carry many requests at a time.
    pub fn idle_trunks(&self) -> u32 {
        self.blocks().map(|block| block.idle_trunks.load(Relaxed)).sum()
    }

    /// Idle connections that threads hold, each for one request at a time.
    pub fn idle(&self) -> u32 {
        self.blocks().map(|block| block.idle.load(Relaxed)).sum()
    }

    /// Idle connections that have been used more than once.
    pub fn proven(&self) -> u32 {
        self.blocks().map(|block| block.proven.load(Relaxed)).sum()
    }

    /// The most connections that threads have used at the same time since the last purge, and the
    /// estimate of that.
    pub fn demand(&self) -> (u32, u32) {
        let demands = self.blocks().map(|it| (it.peak.load(Relaxed), it.need.load(Relaxed)));
        demands.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }

    /// The thread that holds the most idle connections, if any holds one, besides `thread`.
    pub fn richest_besides(&self, thread: usize) -> Option<usize> {
        let others = self.blocks.iter().enumerate().filter(|(index, _)| *index != thread);
        let idle =
            others.filter_map(|(index, block)| Some((block.get()?.idle.load(Relaxed), index)));
        idle.filter(|(count, _)| *count > 0).max().map(|(_, index)| index)
    }

    fn raw(&self, metric: usize) -> u64 {
        self.blocks().map(|block| block.metrics[metric].load(Relaxed)).sum()
    }

    /// The longest time so far, in milliseconds.
    pub fn maximum(&self, timing: Timing) -> u32 {
        let maxima = self.blocks().map(|block| block.maxima[timing as usize].load(Relaxed));
        maxima.max().unwrap_or(0)
    }

    /// Forgets peaks (`clear counters`). A request that ends meanwhile may bring a time back.
    pub fn clear_peaks(&self) {
        let events = [Event::Connection, Event::Session, Event::Request];
        let last = events.map(|event| self.latest(event)).into_iter().max();
        self.peaks_cleared.store(last.unwrap_or(0), Relaxed);
        self.peaks.iter().for_each(|peak| peak.store(0, Relaxed));
        self.blocks().flat_map(|block| &block.maxima).for_each(|max| max.store(0, Relaxed));
    }

    /// Starts everything from zero (`clear counters all`). Sums are exact; averages may keep the
    /// share of a request that ends meanwhile.
    pub fn clear(&self) {
        self.clear_peaks();
        let cleared = self.cleared.get_or_init(|| Box::new(std::array::from_fn(|_| 0.into())));
        for (metric, at) in cleared.iter().enumerate() {
            at.store(self.raw(metric), Relaxed);
        }
        self.all_cleared.store(self.latest_session(), Relaxed);
        self.latencies.clear();
        for block in self.blocks() {
            block.samples.store(0, Relaxed);
            block.timings.iter().for_each(|sum| sum.store(0, Relaxed));
        }
    }

    /// The average over the last requests, in milliseconds.
    pub fn average(&self, timing: Timing) -> u64 {
        let sum: u64 =
            self.blocks().map(|block| block.timings[timing as usize].load(Relaxed)).sum();
        let samples: u64 = self.blocks().map(|block| block.samples.load(Relaxed)).sum();
        sum.checked_div(samples).unwrap_or(0)
    }

    /// Events per second, by the share of this second that has passed (`0..1000` ms). The rate
    /// slides, so it can exceed that of any whole second: readers that saw it find no lower peak.
    pub fn rate(&self, event: Event, second: u32, ms: u32) -> u32 {
        let (current, previous) = self.lately(event, second);
        let left = u64::from(1000 - ms.min(1000));
        // With a single event of the past, rounding up would show it for a second too long.
        let past = if current == 0 && previous <= 1 { 0 } else { (previous * left).div_ceil(1000) };
        let rate = u32::try_from(current + past).unwrap_or(u32::MAX);
        let seen = &self.peaks[event as usize];
        if rate > seen.load(Relaxed) {
            seen.fetch_max(rate, Relaxed);
        }
        rate
    }

    /// Events of this second so far, and of the whole second before it.
    pub fn lately(&self, event: Event, second: u32) -> (u64, u64) {
        let parts = self.blocks().map(|block| block.rates[event as usize].read(second));
        parts.fold((0, 0), |sum, part| (sum.0 + u64::from(part.0), sum.1 + u64::from(part.1)))
    }

    /// Counts an event on a thread.
    #[inline]
    pub fn tick(&self, thread: usize, event: Event, second: u32) {
        self.tick_in(self.of(thread), event, second);
    }

    /// The same, on a thread's block that is at hand.
    #[inline]
    pub fn tick_in(&self, block: &Block, event: Event, second: u32) {
        let rate = &block.rates[event as usize];
        if !rate.is_of(second) {
            self.end_second(rate, event, second);
        }
        rate.count();
    }

    /// Keeps the peak when a thread's second is over: the last thread to notice sees all of it.
    #[cold]
    fn end_second(&self, rate: &EventRate, event: Event, second: u32) {
        let ended = rate.second.load(Relaxed);
        if ended != self.peaks_cleared.load(Relaxed) {
            self.peaks[event as usize].fetch_max(self.total(event, ended), Relaxed);
        }
        rate.turn(second);
    }

    /// Events of one second on all threads.
    fn total(&self, event: Event, second: u32) -> u32 {
        self.blocks().map(|block| block.rates[event as usize].of(second)).sum()
    }

    /// The second of the last event, 0 for never.
    fn latest(&self, event: Event) -> u32 {
        let seconds = self.blocks().map(|block| block.rates[event as usize].second.load(Relaxed));
        seconds.max().unwrap_or(0)
    }

    /// The highest rate so far.
    pub fn peak(&self, event: Event) -> u32 {
        let (past, second) = (self.peaks[event as usize].load(Relaxed), self.latest(event));
        let now = (second != self.peaks_cleared.load(Relaxed)).then(|| self.total(event, second));
        past.max(now.unwrap_or(0))
    }

    fn latest_session(&self) -> u32 {
        self.latest(Event::Session).max(self.latest(Event::Request))
    }

    /// Second of the last session or request; `None` before the first.
    pub fn last_session(&self) -> Option<u32> {
        Some(self.latest_session()).filter(|second| *second > self.all_cleared.load(Relaxed))
    }
}

/// A number that rises and falls, with its maximum. Shared by threads, because limits and peaks
/// need the total; one line written per change.
#[derive(Debug, Default)]
pub struct Gauge {
    current: AtomicU32,
    peak: AtomicU32,
}

impl Gauge {
    /// Counts one more; returns the new number.
    pub fn enter(&self) -> u32 {
        let current = self.current.fetch_add(1, Relaxed) + 1;
        if current > self.peak.load(Relaxed) {
            self.peak.fetch_max(current, Relaxed);
        }
        current
    }

    /// A place in it, if there is one below `limit`; 0 is no limit.
    pub(crate) fn enter_below(self: Arc<Self>, limit: u32) -> Option<Presence<Arc<Self>>> {
        let presence = Presence::enter(self);
        let fits = limit == 0 || presence.0.current() <= limit;
        fits.then_some(presence)
    }

    /// One fewer.
    pub fn leave(&self) {
        self.current.fetch_sub(1, Relaxed);
    }

    /// The number now.
    pub fn current(&self) -> u32 {
        self.current.load(Relaxed)
    }

    /// The number after all that this thread has done in sequentially consistent order.
    pub fn settled(&self) -> u32 {
        self.current.load(SeqCst)
    }

    /// The highest number so far.
    pub fn peak(&self) -> u32 {
        self.peak.load(Relaxed)
    }

    /// Forgets the peak.
    pub fn clear_peak(&self) {
        self.peak.store(self.current(), Relaxed);
    }
}

/// A place in a gauge, given up when dropped.
#[derive(Debug)]
pub struct Presence<G: AsRef<Gauge>>(G);

impl<G: AsRef<Gauge>> Presence<G> {
    /// Enters the gauge.
    pub fn enter(gauge: G) -> Self {
        gauge.as_ref().enter();
        Self(gauge)
    }
}

impl<G: AsRef<Gauge>> Drop for Presence<G> {
    fn drop(&mut self) {
        self.0.as_ref().leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_add_up() {
        let counters = Counters::new(3);
        counters.of(0).add(Metric::BytesIn, 5);
        counters.of(2).add(Metric::BytesIn, 7);
        counters.of(2).count(Metric::of_status(404));
        assert_eq!(counters.sum(Metric::BytesIn), 12);
        assert_eq!(counters.sum(Metric::Status4xx), 1);
        assert_eq!(counters.sum(Metric::Status2xx), 0);
    }

    #[test]
    fn a_resumed_session_is_not_a_new_one() {
        let counters = Counters::new(1);
        let handshakes = [(true, false), (true, true), (true, true), (false, false), (false, true)];
        handshakes.into_iter().for_each(|(stands, resumed)| {
            counters.of(0).count_handshake(stands, resumed);
        });
        let sums = [Metric::TlsSessions, Metric::TlsReuses, Metric::TlsFailures];
        assert_eq!(sums.map(|metric| counters.sum(metric)), [1, 2, 2]);
    }

    #[test]
    fn cleared_counters_start_from_zero() {
        let counters = Counters::new(2);
        counters.of(0).add(Metric::Requests, 5);
        counters.of(0).time([0, 1, 2, 3]);
        counters.tick(0, Event::Session, 9);
        assert_eq!((counters.maximum(Timing::Total), counters.peak(Event::Session)), (3, 1));
        counters.clear_peaks();
        assert_eq!((counters.maximum(Timing::Total), counters.peak(Event::Session)), (0, 0));
        assert_eq!((counters.sum(Metric::Requests), counters.average(Timing::Total)), (5, 3));
        counters.clear();
        counters.of(1).count(Metric::Requests);
        assert_eq!((counters.sum(Metric::Requests), counters.average(Timing::Total)), (1, 0));
        assert_eq!(counters.last_session(), None);
    }

    #[test]
    fn rates_slide_over_two_seconds() {
        let counters = Counters::new(1);
        (0..10).for_each(|_| counters.tick(0, Event::Request, 100));
        assert_eq!(counters.rate(Event::Request, 100, 900), 10);
        assert_eq!(counters.rate(Event::Request, 101, 0), 10);
        assert_eq!(counters.rate(Event::Request, 101, 500), 5);
        assert_eq!(counters.rate(Event::Request, 102, 0), 0);
        assert_eq!((counters.peak(Event::Request), counters.last_session()), (10, Some(100)));
    }

    #[test]
    fn a_maximum_is_never_below_a_rate_that_was_seen() {
        let counters = Counters::new(1);
        (0..10).for_each(|_| counters.tick(0, Event::Request, 100));
        (0..8).for_each(|_| counters.tick(0, Event::Request, 101));
        assert_eq!(counters.peak(Event::Request), 10, "no second has had more");
        assert_eq!(counters.rate(Event::Request, 101, 500), 13);
        assert_eq!(counters.peak(Event::Request), 13);
        counters.clear_peaks();
        assert_eq!(counters.peak(Event::Request), 0);
        assert_eq!(counters.rate(Event::Request, 101, 600), 12);
        assert_eq!(counters.peak(Event::Request), 12);
    }

    #[test]
    fn averages_follow_a_change() {
        let counters = Counters::new(2);
        (0..10).for_each(|_| counters.of(0).time([0, 2, 4, 6]));
        assert_eq!(counters.average(Timing::Response), 4);
        (0..10_000).for_each(|_| counters.of(0).time([0, 0, 100, 0]));
        assert!((99..=101).contains(&counters.average(Timing::Response)));
        assert_eq!(counters.average(Timing::Connect), 0);
    }

    #[test]
    fn a_presence_leaves_when_dropped() {
        let gauge = Arc::new(Gauge::default());
        struct Whole(Arc<Gauge>);
        impl AsRef<Gauge> for Whole {
            fn as_ref(&self) -> &Gauge {
                &self.0
            }
        }
        let presence = Presence::enter(Whole(gauge.clone()));
        assert_eq!((gauge.current(), gauge.peak()), (1, 1));
        drop(presence);
        assert_eq!((gauge.current(), gauge.peak()), (0, 1));
    }
}
