//! Dynamic connection limits of servers: between `minconn` and `maxconn` with the load of the
//! backend, and upwards during a slow start (manual section 5.2).
use crate::state::runtime::{Backend, Frontend, ProxySection, Server};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The connection limit of a server as configured, or as a command has set it.
#[derive(Debug)]
pub struct Limit {
    /// The highest limit, 0 for none.
    most: AtomicU32,
    /// The lowest limit (`minconn`), 0 if the limit does not follow the load.
    least: u32,
    starts_slowly: bool,
}

impl Limit {
    pub(crate) fn new(settings: &settings::Server) -> Self {
        Self {
            most: AtomicU32::new(settings.balance.maxconn),
            least: settings.minconn,
            starts_slowly: settings.balance.slowstart_ms > 0,
        }
    }

    /// Resets the limit to the configured one.
    pub(crate) fn reset(&self, settings: &settings::Server) {
        self.most.store(settings.balance.maxconn, Relaxed);
    }

    /// The highest limit, 0 for none.
    pub fn most(&self) -> u32 {
        self.most.load(Relaxed)
    }

    /// Whether the limit depends on the load or on a slow start.
    pub fn moves(&self) -> bool {
        self.least > 0 || (self.starts_slowly && self.most.load(Relaxed) > 0)
    }

    /// The limit with this many streams on the backend, where `full` streams mean full load, and
    /// with the server at `percent` of its slow start.
    fn at(&self, streams: u32, full: u32, percent: Option<u32>) -> u32 {
        let most = u64::from(self.most.load(Relaxed));
        let ramp = most * u64::from(streams.min(full)) / u64::from(full.max(1));
        let usual = match self.least {
            0 => most,
            least => ramp.max(u64::from(least)).min(most),
        };
        let throttled = usual * u64::from(percent.unwrap_or(100)) / 100;
        u32::try_from(throttled.max(u64::from(usual > 0))).unwrap_or(u32::MAX)
    }
}

impl Backend {
    /// Sets the highest connection limit of a server, 0 for none.
    pub fn set_maxconn(&self, slot: usize, limit: u32) {
        let Some(server) = self.servers.get(slot) else { return };
        let limit = if limit == 0 { 0 } else { limit.max(server.limit.least) };
        server.limit.most.store(limit, Relaxed);
        self.limit_to(server, limit);
    }

    /// Applies a limit, and wakes the queued requests that it has room for.
    fn limit_to(&self, server: &Server, limit: u32) {
        if limit == server.state.load().maxconn() {
            return;
        }
        server.state.set_maxconn(limit);
        self.let_in(server.state.slot());
    }
}

/// Adjusts the limits of a backend's servers to its load.
pub fn adjust(back: &Backend) {
    let (streams, full) = (back.sessions.current(), back.full.load(Relaxed));
    for server in back.servers.iter().filter(|server| server.limit.moves()) {
        back.limit_to(server, server.limit.at(streams, full, server.state.throttle_percent()));
    }
}

/// Gives each backend its `fullconn`: a tenth of the limits of all frontends that route to it,
/// rounded up, unless it is configured.
pub(crate) fn set_fullconn(proxies: &[ProxySection], process: u32) {
    let frontends = || proxies.iter().filter_map(|proxy| proxy.front.as_ref());
    for back in proxies.iter().filter_map(|proxy| proxy.back.as_ref()) {
        let leads = |from: &&Arc<Frontend>| leads_to(from, back);
        let limit = |from: &Arc<Frontend>| u64::from(from.settings.maxconn.unwrap_or(process));
        let sum: u64 = frontends().filter(leads).map(limit).sum();
        let tenth = u32::try_from(sum.div_ceil(10)).unwrap_or(u32::MAX);
        back.full.store(back.settings.full_connections.unwrap_or(tenth), Relaxed);
    }
}

/// Whether a frontend may send requests to a backend.
fn leads_to(from: &Frontend, backend: &Backend) -> bool {
    let (own, index) = (&from.proxy, backend.proxy.index);
    let mut rules = own.settings.rule_sections().flat_map(|rules| &rules.switching);
    from.settings.default_backend == Some(index)
        || own.index == index
        || rules.any(|line| line.backend == Some(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_follows_the_load_between_its_ends() {
        let limit =
            |most: u32, least, starts_slowly| Limit { most: most.into(), least, starts_slowly };
        let moving = limit(100, 10, false);
        let at = |streams| moving.at(streams, 200, None);
        assert_eq!([at(0), at(20), at(50), at(199), at(200), at(900)], [10, 10, 25, 99, 100, 100]);
        assert!(moving.moves() && !limit(100, 0, false).moves());
        let slow = limit(40, 0, true);
        assert_eq!([0, 50, 99].map(|percent| slow.at(5, 200, Some(percent))), [1, 20, 39]);
        assert_eq!(slow.at(5, 200, None), 40);
        assert!(slow.moves() && !limit(0, 0, true).moves(), "no limit needs no start");
        assert_eq!(limit(0, 0, true).at(5, 0, Some(50)), 0);
    }
}
