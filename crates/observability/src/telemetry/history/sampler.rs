//! Samples the history, once a second and a few objects at a time, so that thousands of proxies or
//! servers do not occupy a thread.

use engine::state::records::history::{History, Track};
use engine::state::runtime::{Backend, Frontend, Proxy, ProxySection, Shared};
use settings::Mode;
use std::collections::VecDeque;
use stdx::Summary;
use transport::stats::counters::{Counters, Metric};
use transport::stats::latency::Span;

/// Milliseconds between two points.
const PERIOD: u64 = 1_000;
/// Proxies and servers sampled in one step.
pub const BUDGET: usize = 64;
/// Points over which percentiles are computed.
const WINDOW: usize = 5;
/// Shares that are kept.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

/// Counts of one object at the last sample.
#[derive(Debug)]
struct Past<const N: usize> {
    counts: [u64; N],
    at: u64,
}

impl<const N: usize> Past<N> {
    /// Growth of each count per second. A count that shrank was cleared.
    fn rates(&mut self, counts: [u64; N], now: u64) -> [f32; N] {
        let span = now.saturating_sub(self.at).max(1) as f64 / 1_000.0;
        let before = std::mem::replace(self, Self { counts, at: now }).counts;
        std::array::from_fn(|at| {
            let grown = counts[at].saturating_sub(before[at]);
            (grown as f64 / span * 10.0).round() as f32 / 10.0
        })
    }
}

/// State of a proxy kept between points.
#[derive(Debug)]
struct Memory {
    counts: Past<5>,
    /// Its latencies at earlier points, the oldest first.
    times: VecDeque<Summary>,
}

/// The job that samples the points.
#[derive(Debug)]
pub struct Sampler {
    /// Due time of the current round, in milliseconds.
    due: u64,
    /// Seconds that passed before the current round.
    missed: Option<usize>,
    /// The next proxy of the round.
    proxy: usize,
    /// Index of the next proxy among the sampled ones.
    track: usize,
    /// The next server of the proxy, and the latencies of the servers before it.
    servers: (usize, Summary),
    /// Bytes from and to clients, and 4xx and 5xx responses, of the frontends so far.
    fronts: [u64; 4],
    process: Past<5>,
    memories: Vec<Memory>,
}

impl Sampler {
    /// Begins at the start of the process.
    pub fn new(shared: &Shared) -> Self {
        let at = shared.started / 1_000_000;
        let memory = |_: &Track| Memory {
            counts: Past { counts: [0; 5], at },
            times: VecDeque::from([Summary::default()]),
        };
        Self {
            due: at + PERIOD,
            missed: None,
            proxy: 0,
            track: 0,
            servers: Default::default(),
            fronts: [0; 4],
            process: Past { counts: [0; 5], at },
            memories: shared.history.tracks.iter().map(memory).collect(),
        }
    }

    /// Due time of the next round, in milliseconds.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Continues a round. Returns when to call again, if at all.
    pub fn step(&mut self, shared: &Shared, now: u64) -> Option<u64> {
        if shared.is_stopping() {
            return None;
        }
        let late = now.saturating_sub(self.due);
        let missed = *self.missed.get_or_insert((late / PERIOD) as usize);
        let mut budget = BUDGET;
        while let Some(proxy) = shared.proxies.get(self.proxy) {
            if budget == 0 || !self.sample(&shared.history, proxy, (now, missed), &mut budget) {
                return Some(now);
            }
            budget = budget.saturating_sub(1);
            if let Some(front) = &proxy.front {
                let metrics =
                    [Metric::BytesIn, Metric::BytesOut, Metric::Status4xx, Metric::Status5xx];
                let sums = metrics.map(|metric| front.counters.sum(metric));
                self.fronts.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
            }
            self.proxy += 1;
        }
        let [bytes_in, bytes_out, errors, faults] = std::mem::take(&mut self.fronts);
        let requests = shared.totals.sum(Metric::Requests);
        let counts = [requests, bytes_in, bytes_out, errors, faults];
        let [requests, rest @ ..] = self.process.rates(counts, now);
        let [bytes_in, bytes_out, errors, faults] = rest;
        let connections = shared.connections.current() as f32;
        let point = [requests, connections, bytes_in, bytes_out, errors, faults];
        shared.history.process.add(missed, point);
        (self.proxy, self.track, self.missed) = (0, 0, None);
        self.due += (missed as u64 + 1) * PERIOD;
        Some(self.due)
    }

    /// Samples a proxy, if it is among the sampled ones; `false`: servers of it are left.
    fn sample(
        &mut self,
        history: &History,
        proxy: &ProxySection,
        (now, missed): (u64, usize),
        budget: &mut usize,
    ) -> bool {
        let track = history.tracks.get(self.track).filter(|track| track.proxy == proxy.index);
        let Some(track) = track else { return true };
        let Some(side) = Side::of(proxy) else { return true };
        if track.timed && !side.times(&mut self.servers, budget) {
            return false;
        }
        let (_, times) = std::mem::take(&mut self.servers);
        let memory = &mut self.memories[self.track];
        let quantiles = if track.timed { memory.quantiles(times) } else { [f32::NAN; 3] };
        let [p50, p90, p99] = quantiles;
        let [rate, errors, faults, connect, response] =
            memory.counts.rates(side.counts(proxy), now);
        let (queued, sessions) = side.load();
        let point = [rate, p50, p90, p99, queued, sessions, errors, faults, connect, response];
        track.series.add(missed, point);
        self.track += 1;
        true
    }
}

impl Memory {
    /// Percentiles of the latencies since the oldest point kept.
    fn quantiles(&mut self, times: Summary) -> [f32; 3] {
        let grown = self.times.front().map(|before| times.since(before)).unwrap_or_default();
        self.times.push_back(times);
        if self.times.len() > WINDOW {
            self.times.pop_front();
        }
        SHARES.map(|share| grown.quantile(share).map_or(f32::NAN, |micros| micros as f32))
    }
}

/// The side of a proxy that the charts show: that of its servers if it has any.
enum Side<'a> {
    Front(&'a Frontend),
    Back(&'a Backend),
}

impl<'a> Side<'a> {
    fn of(proxy: &'a ProxySection) -> Option<Self> {
        let back = proxy.back.as_deref();
        let serves = back.filter(|back| back.servers.slots() > 0 || proxy.front.is_none());
        serves.map(Self::Back).or_else(|| proxy.front.as_deref().map(Self::Front))
    }

    /// Adds up the total times, from a server on; `false`: some servers are left.
    fn times(&self, (slot, times): &mut (usize, Summary), budget: &mut usize) -> bool {
        match self {
            Self::Front(front) => {
                *times = front.counters.latencies.summary(Span::Total);
                true
            }
            Self::Back(back) => {
                let end = *slot + *budget;
                back.add_latencies(*slot..end, Span::Total, times);
                let slots = back.servers.slots();
                *budget = end.saturating_sub(slots);
                *slot = end;
                end >= slots
            }
        }
    }

    /// Requests or sessions, 4xx and 5xx responses, failed connection attempts, failed responses.
    fn counts(&self, proxy: &Proxy) -> [u64; 5] {
        let counters: &Counters = match self {
            Self::Front(front) => &front.counters,
            Self::Back(back) => &back.counters,
        };
        let rate = match proxy.settings.mode {
            Mode::Http => Metric::Requests,
            Mode::Tcp => Metric::Sessions,
        };
        let errors = [Metric::Status4xx, Metric::Status5xx];
        let failures = [Metric::FailedConnections, Metric::FailedResponses];
        let [connect, response] = failures.map(|metric| counters.sum(metric));
        let [errors, faults] = errors.map(|metric| counters.sum(metric));
        [counters.sum(rate), errors, faults, connect, response]
    }

    /// Queued requests, and sessions; a client side has no queue.
    fn load(&self) -> (f32, f32) {
        match self {
            Self::Front(_) => (f32::NAN, f32::NAN),
            Self::Back(back) => (back.queue.len() as f32, back.sessions.current() as f32),
        }
    }
}
