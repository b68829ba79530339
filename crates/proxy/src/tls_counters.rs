//! What is counted of TLS in the whole process. Never decides anything.

use crate::counters::{Gauge, Presence};
use crate::transport::Transport;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Counters of the process (`show info`, names that begin with `Ssl`).
#[derive(Debug, Default)]
pub struct TlsCounters {
    /// Connections now, those of clients and those to servers.
    pub current: Arc<Gauge>,
    /// Connections in all.
    pub total: AtomicU64,
    /// Connections of clients, counted when they are accepted.
    pub front: Rate,
    /// Those that have computed keys.
    pub front_keys: Rate,
    /// Those that went on with an earlier session.
    pub front_reuses: Rate,
    /// Handshakes with servers that have computed keys.
    pub back_keys: Rate,
}

/// How long a rate looks back, in milliseconds.
const PERIOD: u32 = 1_000;

/// How often something happens in a second. Seconds begin with the first event, and anew after one
/// without any, as with HAProxy: a burst shorter than a second is seen whole.
#[derive(Debug, Default)]
pub struct Rate {
    /// When the second at hand began, in milliseconds, in the upper half; what has happened in it
    /// in the lower.
    now: AtomicU64,
    before: AtomicU32,
    most: AtomicU32,
}

impl Rate {
    /// Counts one at this moment, in milliseconds since 1970.
    pub(crate) fn tick(&self, ms: u64) {
        let (ms, old) = (ms as u32, self.now.load(Relaxed));
        let (since, count) = ((old >> 32) as u32, old as u32);
        let age = if count == 0 { u32::MAX } else { ms.wrapping_sub(since) };
        let count = if age < PERIOD || age > u32::MAX / 2 && count != 0 {
            self.now.fetch_add(1, Relaxed) as u32 + 1
        } else {
            let chained = age < 2 * PERIOD;
            let begin = if chained { since.wrapping_add(PERIOD) } else { ms };
            let fresh = u64::from(begin) << 32 | 1;
            if self.now.compare_exchange(old, fresh, Relaxed, Relaxed).is_ok() {
                self.before.store(if chained { count } else { 0 }, Relaxed);
                1
            } else {
                self.now.fetch_add(1, Relaxed) as u32 + 1
            }
        };
        self.most.fetch_max(count, Relaxed);
    }

    /// How many in the second that ends at this moment.
    pub fn get(&self, ms: u64) -> u32 {
        let now = self.now.load(Relaxed);
        let (since, count) = ((now >> 32) as u32, now as u32);
        let share = |count: u32, age: u32| {
            (u64::from(count) * u64::from(PERIOD - age) / u64::from(PERIOD)) as u32
        };
        // Threads' moments differ by a turn: one a little before the beginning is the beginning.
        let age = (ms as u32).wrapping_sub(since);
        match if age > u32::MAX / 2 { 0 } else { age } {
            age if age < PERIOD => count + share(self.before.load(Relaxed), age),
            age if age < 2 * PERIOD => share(count, age - PERIOD),
            _ => 0,
        }
    }

    /// The most in one second so far.
    pub fn most(&self) -> u32 {
        self.most.load(Relaxed)
    }
}

impl TlsCounters {
    /// A connection that is not a client's, if it may be one more: at most `limit`, 0 for any
    /// number. Clients are counted when they are accepted.
    pub(crate) fn enter(&self, limit: u32) -> Option<Presence<Arc<Gauge>>> {
        let presence = self.current.clone().enter_below(limit)?;
        self.total.fetch_add(1, Relaxed);
        Some(presence)
    }

    /// Counts a handshake with a client.
    pub(crate) fn count_front(&self, worker: &Worker, transport: &Transport, stands: bool) {
        let now = worker.wall_millis();
        let resumed = transport.session().is_some_and(|session| session.is_resumed());
        match (stands, resumed) {
            (true, true) => self.front_reuses.tick(now),
            (true, false) => self.front_keys.tick(now),
            (false, _) => {}
        }
    }

    /// Counts a handshake with a server.
    pub(crate) fn count_back(&self, worker: &Worker, transport: &Transport, stands: bool) {
        let resumed = transport.session().is_some_and(|session| session.is_resumed());
        if stands && !resumed {
            self.back_keys.tick(worker.wall_millis());
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
        // Not where the clock's seconds begin.
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
    fn a_moment_of_a_thread_that_lags_is_no_age() {
        let rate = Rate::default();
        rate.tick(5_000);
        rate.tick(4_999);
        assert_eq!((rate.get(4_998), rate.get(5_000)), (2, 2));
    }
}
