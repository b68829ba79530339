//! Bandwidth limits that streams of several threads share.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};
use stdx::Mutex;
use transport::filters::pacer::Pacer;

/// The streams that share a limit: by the number of the stick table, the direction and the key.
pub type ShareKey = (usize, bool, Box<[u8]>);

/// The pace of the streams with one key.
#[derive(Debug, Default)]
pub struct SharedPace {
    /// Turns of all streams.
    pub pacer: Pacer,
    /// Streams that pass payload now.
    pub streams: u32,
}

/// The shared limits that are in use.
#[derive(Debug, Default)]
pub struct BandwidthShares {
    shares: Mutex<HashMap<ShareKey, Weak<Mutex<SharedPace>>>>,
}

/// One stream's hold on a shared limit. The limit is forgotten with the last one.
#[derive(Debug)]
pub struct BandwidthShare {
    pace: Arc<Mutex<SharedPace>>,
}

impl BandwidthShares {
    /// Joins the streams with this key.
    pub fn join(&self, key: ShareKey) -> BandwidthShare {
        let mut shares = self.shares.lock();
        if shares.len() == shares.capacity() {
            // The map grows only by limits that are in use.
            shares.retain(|_, pace| pace.strong_count() > 0);
        }
        let known = shares.get(&key).and_then(Weak::upgrade);
        let pace = known.unwrap_or_else(|| {
            let fresh = Arc::new(Mutex::new(SharedPace::default()));
            shares.insert(key, Arc::downgrade(&fresh));
            fresh
        });
        drop(shares);
        pace.lock().streams += 1;
        BandwidthShare { pace }
    }

    /// Shared limits that the map holds.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.shares.lock().len()
    }
}

impl Deref for BandwidthShare {
    type Target = Mutex<SharedPace>;

    fn deref(&self) -> &Self::Target {
        &self.pace
    }
}

impl Drop for BandwidthShare {
    fn drop(&mut self) {
        let mut pace = self.pace.lock();
        pace.streams = pace.streams.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> ShareKey {
        (1, true, number.to_be_bytes().into())
    }

    #[test]
    fn streams_with_one_key_share_a_pace_and_others_do_not() {
        let shares = BandwidthShares::default();
        let (one, two, other) = (shares.join(key(1)), shares.join(key(1)), shares.join(key(2)));
        let counted = |share: &BandwidthShare| share.lock().streams;
        assert_eq!([counted(&one), counted(&two), counted(&other)], [2, 2, 1]);
        drop(one);
        assert_eq!(counted(&two), 1);
    }

    #[test]
    fn unused_shares_take_no_memory_for_long() {
        let shares = BandwidthShares::default();
        for number in 0..10_000 {
            drop(shares.join(key(number)));
        }
        assert!(shares.held() < 100, "{}", shares.held());
    }
}
