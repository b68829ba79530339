//! The numbers of messages of sampled log targets (`log ... sample`).

use settings::LogSample;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Messages of each sampled target so far. Threads share the counters, as sampling goes by the
/// order of messages.
#[derive(Debug, Default)]
pub struct LogSamples(Box<[AtomicU32]>);

impl LogSamples {
    /// Counters of this many targets.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU32::new(0)).collect())
    }

    /// Counts a message of a target; returns whether the target gets it.
    pub fn takes_next(&self, sample: &LogSample) -> bool {
        let seen = self.0.get(sample.number);
        seen.is_none_or(|seen| sample.takes(seen.fetch_add(1, Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_count_their_messages_apart() {
        let samples = LogSamples::new(2);
        let sample = |number| LogSample { ranges: vec![(1, 1), (3, 3)], size: 3, number };
        let taken = |number| samples.takes_next(&sample(number));
        assert_eq!([taken(0), taken(0)], [true, false]);
        assert_eq!([taken(1), taken(1), taken(1), taken(1)], [true, false, true, true]);
        assert_eq!([taken(0), taken(0)], [true, true]);
    }
}
