//! The soft stop: announced, then begun, then each client connection's moment to end.

use settings::soft_stop::CloseSpread;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How far the process is with stopping; read by every thread.
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    announced: AtomicBool,
    begun: AtomicBool,
    /// When it began, in milliseconds of the monotonic clock.
    since: AtomicU64,
}

impl Stopping {
    /// Announces a stop (`grace`).
    pub(crate) fn announce(&self) {
        self.announced.store(true, Relaxed);
    }

    /// Begins it at `now`, in milliseconds; the first time counts.
    pub(crate) fn begin(&self, now: u64) {
        self.announce();
        if !self.begun.load(Relaxed) {
            self.since.store(now, Relaxed);
            self.begun.store(true, Relaxed);
        }
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.announced.load(Relaxed)
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Relaxed)
    }

    /// How long ago it began, in milliseconds; `None` before it.
    pub(crate) fn age(&self, now: u64) -> Option<u64> {
        self.has_begun().then(|| now.saturating_sub(self.since.load(Relaxed)))
    }

    /// When a connection has to end, in milliseconds; `None` while it may stay. `lot` is a number
    /// of the connection's own that spreads it among the others.
    pub(crate) fn moment(&self, spread: CloseSpread, lot: u32) -> Option<u64> {
        if !self.has_begun() {
            return None;
        }
        let since = self.since.load(Relaxed);
        match spread {
            CloseSpread::AtOnce => Some(since),
            CloseSpread::Over(span) => {
                Some(since + u64::from(stdx::hash::avalanche(lot)) % span.max(1))
            }
            CloseSpread::Never => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_spread_over_the_window() {
        let stopping = Stopping::default();
        stopping.announce();
        assert!(stopping.is_announced() && !stopping.has_begun());
        assert_eq!(stopping.moment(CloseSpread::AtOnce, 1), None);
        assert_eq!(stopping.age(4_000), None);
        stopping.begin(5_000);
        stopping.begin(9_000);
        assert_eq!(stopping.moment(CloseSpread::AtOnce, 1), Some(5_000));
        assert_eq!((stopping.age(5_700), stopping.age(4_999)), (Some(700), Some(0)));
        assert_eq!(stopping.moment(CloseSpread::Never, 1), None);
        let mut quarters = [0; 4];
        for lot in 0..4_000 {
            let moment = stopping.moment(CloseSpread::Over(1_000), lot).unwrap();
            quarters[((moment - 5_000) / 250) as usize] += 1;
        }
        assert!(quarters.iter().all(|count| (900..1_100).contains(count)), "{quarters:?}");
    }
}
