//! What is counted of TLS in the whole process. Never decides anything.

use crate::counters::Gauge;
use crate::transport::Transport;
use crate::worker::Worker;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Counters of the process (`show info`, names that begin with `Ssl`).
#[derive(Debug, Default)]
pub struct TlsCounters {
    /// Connections of clients now.
    pub current: Gauge,
    /// Connections of clients in all.
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

/// How often something happens in a second.
#[derive(Debug, Default)]
pub struct Rate {
    /// The second in the upper half, what has happened in it in the lower.
    now: AtomicU64,
    before: AtomicU32,
    most: AtomicU32,
}

impl Rate {
    /// Counts one at `second`, since 1970.
    pub(crate) fn tick(&self, second: u32) {
        let old = self.now.load(Relaxed);
        let count = if (old >> 32) as u32 == second {
            self.now.fetch_add(1, Relaxed) as u32 + 1
        } else {
            let fresh = u64::from(second) << 32 | 1;
            if self.now.compare_exchange(old, fresh, Relaxed, Relaxed).is_ok() {
                let next = (old >> 32) as u32 + 1 == second;
                self.before.store(if next { old as u32 } else { 0 }, Relaxed);
                1
            } else {
                self.now.fetch_add(1, Relaxed) as u32 + 1
            }
        };
        self.most.fetch_max(count, Relaxed);
    }

    /// How many in the second that ends now; `ms` of the present one have passed.
    pub fn get(&self, second: u32, ms: u32) -> u32 {
        let now = self.now.load(Relaxed);
        let (at, count) = ((now >> 32) as u32, now as u32);
        let share =
            |count: u32| (u64::from(count) * u64::from(1_000 - ms.min(1_000)) / 1_000) as u32;
        match second.wrapping_sub(at) {
            0 => count + share(self.before.load(Relaxed)),
            1 => share(count),
            _ => 0,
        }
    }

    /// The most in one second so far.
    pub fn most(&self) -> u32 {
        self.most.load(Relaxed)
    }
}

impl TlsCounters {
    /// Counts a handshake with a client.
    pub(crate) fn count_front(&self, worker: &Worker, transport: &Transport, stands: bool) {
        let second = worker.second();
        self.total.fetch_add(1, Relaxed);
        let resumed = transport.session().is_some_and(|session| session.is_resumed());
        match (stands, resumed) {
            (true, true) => self.front_reuses.tick(second),
            (true, false) => self.front_keys.tick(second),
            (false, _) => {}
        }
    }

    /// Counts a handshake with a server.
    pub(crate) fn count_back(&self, worker: &Worker, transport: &Transport, stands: bool) {
        let resumed = transport.session().is_some_and(|session| session.is_resumed());
        if stands && !resumed {
            self.back_keys.tick(worker.second());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_looks_back_one_second() {
        let rate = Rate::default();
        (0..10).for_each(|_| rate.tick(100));
        assert_eq!(rate.get(100, 500), 10);
        assert_eq!(rate.get(101, 500), 5);
        rate.tick(101);
        assert_eq!(rate.get(101, 500), 6);
        assert_eq!((rate.get(103, 0), rate.most()), (0, 10));
    }
}
