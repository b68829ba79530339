//! The rate of events over a period, in two buckets.
//!
//! Events are counted in the current bucket; when its period is over it becomes the past one, and a
//! new one begins where it ended, or now if a whole period passed without an event. A read returns
//! the current bucket and the share of the past one that the sliding period still covers, cut to a
//! whole number; a single event of the past counts until its bucket is gone, so that it does not
//! flap to zero. HAProxy behaves the same in measurements.

/// One rate, as two words of an entry. Moments are milliseconds on any clock that does not go back;
/// a moment slightly before the last one counts as the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// When the current bucket began, in milliseconds.
    since: u64,
    current: u32,
    past: u32,
}

/// A rate apart from any clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateValue {
    /// Milliseconds since the current period began.
    pub age: u64,
    /// Events in the current period.
    pub current: u32,
    /// Events in the period before.
    pub past: u32,
}

/// Words that a rate takes.
pub(crate) const WORDS: usize = 2;

impl Rate {
    pub(crate) fn load(words: &[u64]) -> Rate {
        Rate { since: words[0], current: words[1] as u32, past: (words[1] >> 32) as u32 }
    }

    pub(crate) fn save(self, words: &mut [u64]) {
        words[0] = self.since;
        words[1] = u64::from(self.past) << 32 | u64::from(self.current);
    }

    /// A rate that reads `value` for a whole period from now on (`set table`).
    pub(crate) fn set(value: u32, now: u64) -> Rate {
        Rate { since: now, current: value, past: 0 }
    }

    /// The rate in the form that other processes merge. A rate without events in the last two
    /// periods is empty, with an age of two periods.
    pub(crate) fn export(self, now: u64, period: u32) -> RateValue {
        let age = now.saturating_sub(self.since);
        let over = 2 * u64::from(period);
        if age >= over {
            return RateValue { age: over, ..RateValue::default() };
        }
        RateValue { age, current: self.current, past: self.past }
    }

    /// A rate that another process has counted. A rate older than two periods is empty.
    pub(crate) fn import(value: RateValue, now: u64, period: u32) -> Rate {
        if value.age >= 2 * u64::from(period) {
            return Rate { since: now, current: 0, past: 0 };
        }
        let since = now.saturating_sub(value.age);
        Rate { since, current: value.current, past: value.past }
    }

    /// The buckets as they are at `now`.
    fn turned(self, now: u64, period: u32) -> Rate {
        let period = u64::from(period);
        let age = now.saturating_sub(self.since);
        if age < period {
            self
        } else if age < 2 * period {
            Rate { since: self.since + period, current: 0, past: self.current }
        } else {
            Rate { since: now, current: 0, past: 0 }
        }
    }

    /// Counts `events` more.
    #[must_use]
    pub fn add(self, events: u32, now: u64, period: u32) -> Rate {
        let turned = self.turned(now, period);
        Rate { current: turned.current.saturating_add(events), ..turned }
    }

    /// Events in the period that has begun last.
    pub fn current(self) -> u32 {
        self.current
    }

    /// Events within the period that ends now.
    pub fn read(self, now: u64, period: u32) -> u32 {
        let Rate { since, current, past } = self.turned(now, period);
        if current == 0 && past <= 1 {
            return past;
        }
        let period = u64::from(period);
        let left = period.saturating_sub(now.saturating_sub(since));
        let covered = u64::from(past) * left / period.max(1);
        u32::try_from(u64::from(current) + covered).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Replays events; returns the rates read at `moments`.
    fn replay(events: &[u64], moments: &[u64], period: u32) -> Vec<u32> {
        let mut rate = Rate::load(&[0, 0]);
        let mut events = events.iter().copied().peekable();
        let read = |moment: &u64| {
            while let Some(event) = events.next_if(|event| event <= moment) {
                rate = rate.add(1, event, period);
            }
            rate.read(*moment, period)
        };
        moments.iter().map(read).collect()
    }

    // Moments at which HAProxy 2.6 was seen to change its mind, a few milliseconds around each.
    #[test]
    fn rates_are_those_of_haproxy() {
        let t = 1_000_000;
        let at = |moments: &[u64]| moments.iter().map(|ms| t + ms).collect::<Vec<_>>();
        let check = |events: &[u64], expected: &[(u64, u32)]| {
            let moments: Vec<u64> = expected.iter().map(|(ms, _)| *ms).collect();
            let values: Vec<u32> = expected.iter().map(|(_, value)| *value).collect();
            assert_eq!(replay(&at(events), &at(&moments), 1000), values, "{events:?}");
        };
        check(&[0], &[(0, 1), (999, 1), (1500, 1), (1999, 1), (2001, 0)]);
        check(&[0, 11], &[(11, 2), (999, 2), (1003, 1), (1499, 1), (1503, 0)]);
        check(
            &[0, 11, 22, 31, 42],
            &[(42, 5), (1001, 4), (1199, 4), (1201, 3), (1402, 2), (1603, 1), (1802, 0)],
        );
        check(&[0, 1202], &[(1201, 1), (1202, 1), (2999, 1), (3001, 0)]);
        check(&[0, 502, 1201], &[(1001, 1), (1201, 2), (1501, 1), (2999, 1), (3001, 0)]);
        check(
            &[0, 902, 1102, 1300],
            &[(902, 2), (1002, 1), (1102, 2), (1300, 3), (1501, 2), (2001, 1), (2501, 0)],
        );
        check(&[0, 1902], &[(1999, 1), (2999, 1), (3001, 0)]);
        check(&[0, 2101], &[(2001, 0), (2101, 1), (4100, 1), (4102, 0)]);
    }

    proptest! {
        /// Against a model that keeps every event and cuts time into periods.
        #[test]
        fn rates_agree_with_a_naive_model(
            mut gaps in proptest::collection::vec(0u64..3_000, 1..60),
            period in 1u32..2_000,
            wait in 0u64..5_000,
        ) {
            gaps.insert(0, 10_000);
            let events: Vec<u64> =
                gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let now = events.last().expect("not empty") + wait;
            let read = replay(&events, &[now], period)[0];
            prop_assert_eq!(u64::from(read), naive(&events, now, period.into()));
        }
    }

    fn naive(events: &[u64], now: u64, period: u64) -> u64 {
        // Periods are laid end to end from the first event, anew after a whole empty one.
        let mut start = events[0];
        for event in events {
            if *event >= start + period {
                let passed = (event - start) / period;
                start = if passed >= 2 { *event } else { start + period };
            }
        }
        let count =
            |from: u64| events.iter().filter(|e| **e >= from && **e < from + period).count();
        let passed = now.saturating_sub(start) / period;
        let (current, past, left) = match passed {
            0 => {
                let before = count(start.saturating_sub(period)) as u64;
                // The period before belongs to this chain only if it followed directly.
                let chained = follows(events, start, period);
                (count(start) as u64, if chained { before } else { 0 }, start + period - now)
            }
            1 => (0, count(start) as u64, start + 2 * period - now),
            _ => (0, 0, 0),
        };
        if current == 0 && past <= 1 { past } else { current + past * left / period }
    }

    /// Whether the period that begins at `start` follows another one directly.
    fn follows(events: &[u64], start: u64, period: u64) -> bool {
        let mut at = events[0];
        let mut direct = false;
        for event in events {
            if *event >= at + period {
                let passed = (event - at) / period;
                (at, direct) = if passed >= 2 { (*event, false) } else { (at + period, true) };
            }
        }
        at == start && direct
    }

    #[test]
    fn a_rate_that_was_set_stays_for_a_period() {
        let rate = Rate::set(100, 50_000);
        assert_eq!([rate.read(50_000, 10_000), rate.read(59_999, 10_000)], [100, 100]);
        assert_eq!(rate.read(61_016, 10_000), 89);
        assert_eq!(rate.read(70_000, 10_000), 0);
        assert_eq!(Rate::set(5, 0).read(0, 0), 0);
    }
}
