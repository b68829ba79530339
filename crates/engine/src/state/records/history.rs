//! Figures of the last minutes for the charts of the dashboard.
use crate::state::runtime::ProxySection;
use std::collections::VecDeque;
use stdx::Mutex;

/// The number of proxies with a history.
pub const PROXIES: usize = 32;

/// Servers whose times percentiles are computed from; backends beyond have none.
const SERVERS: usize = 1_024;

/// Points of some figures, oldest first. A missing figure is NaN.
#[derive(Debug)]
pub struct Series<const N: usize> {
    most: usize,
    points: Mutex<VecDeque<[f32; N]>>,
}

impl<const N: usize> Series<N> {
    fn new(most: usize) -> Self {
        Self { most, points: Mutex::default() }
    }

    /// The points so far.
    pub fn points(&self) -> Vec<[f32; N]> {
        let points = self.points.lock();
        points.iter().copied().collect()
    }

    /// Adds a point, after empty points for the `missed` seconds.
    pub fn add(&self, missed: usize, point: [f32; N]) {
        let mut points = self.points.lock();
        let gap = std::iter::repeat_n([f32::NAN; N], missed.min(self.most));
        for point in gap.chain([point]) {
            if points.len() >= self.most {
                points.pop_front();
            }
            points.push_back(point);
        }
    }
}

/// Figures of the process: requests a second, connections, bytes a second from clients and to them,
/// answers with 4xx and with 5xx a second.
pub type OfProcess = Series<6>;

/// Figures of a proxy: requests (in TCP mode sessions) a second, the median, 90 % and 99 % of the
/// total time in the last seconds in microseconds, queued requests, sessions, and a second: answers
/// with 4xx and with 5xx, failed attempts to connect, failed responses.
pub type OfProxy = Series<10>;

/// A proxy that is sampled.
#[derive(Debug)]
pub struct Track {
    /// Position of the proxy.
    pub proxy: usize,
    /// Whether percentiles are computed.
    pub timed: bool,
    /// Its points.
    pub series: OfProxy,
}

/// The history of a process.
#[derive(Debug)]
pub struct History {
    /// How many seconds are kept; 0: there is no history.
    pub seconds: usize,
    /// Points of the whole process.
    pub process: OfProcess,
    /// The proxies that are sampled, by position.
    pub tracks: Vec<Track>,
}

impl History {
    /// Room for the history, if a proxy has a page to show it on.
    pub(crate) fn new(settings: &settings::Process, proxies: &[ProxySection]) -> Self {
        let shown = proxies.iter().any(|proxy| proxy.settings.stats.is_some());
        let seconds = if shown { settings.history as usize } else { 0 };
        let sampled = proxies.iter().filter(|proxy| seconds > 0 && is_drawn(proxy));
        let mut servers = 0;
        let track = |proxy: &ProxySection| {
            servers += proxy.back.as_ref().map_or(0, |back| back.servers.slots());
            let timed = settings.histograms && servers <= SERVERS;
            Track { proxy: proxy.index, timed, series: Series::new(seconds) }
        };
        let tracks = sampled.take(PROXIES).map(track).collect();
        Self { seconds, process: Series::new(seconds), tracks }
    }
}

/// Whether the proxy has charts: a proxy that only holds a stick table has none.
fn is_drawn(proxy: &ProxySection) -> bool {
    let serves = proxy.back.as_ref().is_some_and(|back| back.servers.slots() > 0);
    !proxy.settings.disabled && (proxy.front.is_some() || serves)
}
