//! Counters of TLS of the whole process.

use crate::stats::counters::{Gauge, Presence};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};
use stdx::Mutex;

/// Counters of the process (`show info`, names that begin with `Ssl`).
#[derive(Debug, Default)]
pub struct TlsCounters {
    /// Current connections, of clients and to servers.
    pub current: Arc<Gauge>,
    /// Clients before the end of their handshakes.
    pub handshakes: Arc<Gauge>,
    /// Connections in all.
    pub total: AtomicU64,
    /// Connections of clients, counted when they are accepted.
    pub front: Rate,
    /// Handshakes that computed keys.
    pub front_keys: Rate,
    /// Handshakes that resumed a session.
    pub front_reuses: Rate,
    /// Handshakes with servers that have computed keys.
    pub back_keys: Rate,
}

/// How long a rate looks back, in milliseconds.
const PERIOD: u32 = 1_000;

/// Events per second, on a monotonic clock. Seconds begin with the first event, and anew after one
/// without any, as with HAProxy: a burst shorter than a second counts as a whole.
#[derive(Debug, Default)]
pub struct Rate(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    rate: table::Rate,
    most: u32,
}

impl Rate {
    /// Counts one at this moment, in milliseconds; see [`Worker::millis`].
    pub fn tick(&self, ms: u64) {
        let mut seen = self.lock();
        seen.rate = seen.rate.add(1, ms, PERIOD);
        seen.most = seen.most.max(seen.rate.current());
    }

    /// How many in the second that ends at this moment.
    pub fn get(&self, ms: u64) -> u32 {
        let mut seen = self.lock();
        let rate = seen.rate.read(ms, PERIOD);
        // The rate slides over two periods: readers that saw it find no lower maximum.
        seen.most = seen.most.max(rate);
        rate
    }

    /// The maximum of one second so far.
    pub fn most(&self) -> u32 {
        self.lock().most
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock()
    }
}

impl TlsCounters {
    /// Counts a connection to a server, unless there are `limit` already; 0 means no limit. Clients
    /// are counted when they are accepted.
    pub fn enter(&self, limit: u32) -> Option<Presence<Arc<Gauge>>> {
        let presence = self.current.clone().enter_below(limit)?;
        self.total.fetch_add(1, Relaxed);
        Some(presence)
    }

    /// Counts a handshake with a client that succeeded, at `now` in milliseconds.
    pub fn count_front(&self, now: u64, resumed: bool) {
        match resumed {
            true => self.front_reuses.tick(now),
            false => self.front_keys.tick(now),
        }
    }

    /// Counts a handshake with a server that succeeded, at `now` in milliseconds.
    pub fn count_back(&self, now: u64, resumed: bool) {
        if !resumed {
            self.back_keys.tick(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_looks_back_one_second() {
        let rate = Rate::default();
        assert_eq!(rate.get(99_900), 0);
        // The test begins in the middle of a second of the clock.
        (0..10).for_each(|n| rate.tick(99_900 + 20 * n));
        assert_eq!(rate.get(100_899), 10);
        assert_eq!(rate.get(101_400), 5);
        rate.tick(101_400);
        assert_eq!(rate.get(101_400), 6);
        assert_eq!((rate.get(103_000), rate.most()), (0, 10));
        rate.tick(103_000);
        assert_eq!(rate.get(103_999), 1, "a new second begins with it");
    }

    #[test]
    fn a_maximum_is_never_below_a_rate_that_was_seen() {
        let rate = Rate::default();
        (0..10).for_each(|_| rate.tick(5_000));
        (0..8).for_each(|_| rate.tick(6_100));
        assert!(rate.get(6_200) > 10);
        assert_eq!(rate.most(), rate.get(6_200));
    }

    #[test]
    fn a_moment_of_a_thread_that_lags_is_no_age() {
        let rate = Rate::default();
        rate.tick(5_000);
        rate.tick(4_999);
        assert_eq!((rate.get(4_998), rate.get(5_000)), (2, 2));
    }
}
