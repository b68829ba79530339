//! Wrapping millisecond ticks, computed from a given time.

use std::time::Duration;

/// A point in time in milliseconds, modulo 2^32 (it wraps after 49.7 days).
///
/// Two ticks compare correctly while they lie within 24.8 days of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Tick(pub u32);

impl Tick {
    /// Longest span between now and a deadline: half the circle, less a margin.
    pub const MAX_SPAN_MS: u32 = (1 << 31) - 1_000;

    /// The tick that a monotonic time in nanoseconds falls into.
    pub fn from_nanos(nanos: u64) -> Self {
        Self((nanos / 1_000_000) as u32)
    }

    /// This tick plus `ms` milliseconds, clamped to [`Tick::MAX_SPAN_MS`].
    #[must_use]
    pub fn plus_ms(self, ms: u32) -> Self {
        Self(self.0.wrapping_add(ms.min(Self::MAX_SPAN_MS)))
    }

    /// This tick plus a duration, rounded up to a millisecond, clamped as [`Tick::plus_ms`].
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        let ms = span.as_nanos().div_ceil(1_000_000).min(u128::from(Self::MAX_SPAN_MS));
        self.plus_ms(ms as u32)
    }

    /// The later of two ticks.
    #[must_use]
    pub fn or_later(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }

    /// Whether this tick lies strictly before `other`.
    pub fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether a deadline at this tick has been reached at `now`.
    pub fn is_due(self, now: Self) -> bool {
        !now.is_before(self)
    }

    /// Milliseconds from `now` to this tick, 0 when it is past.
    pub fn ms_after(self, now: Self) -> u32 {
        if self.is_before(now) { 0 } else { self.0.wrapping_sub(now.0) }
    }

    /// The earlier of two optional deadlines.
    pub fn earlier(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b.is_before(a) { b } else { a }),
            (one, None) | (None, one) => one,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_holds_around_the_wrap() {
        let old = Tick(u32::MAX - 5);
        let new = old.plus_ms(10);
        assert_eq!(new, Tick(4));
        assert!(old.is_before(new) && !new.is_before(old));
        assert_eq!(new.ms_after(old), 10);
        assert_eq!(old.ms_after(new), 0);
        assert!(old.is_due(new) && !new.is_due(old) && old.is_due(old));
    }

    #[test]
    fn durations_round_up() {
        assert_eq!(Tick(0).plus(Duration::from_micros(1)), Tick(1));
        assert_eq!(Tick(0).plus(Duration::MAX), Tick(Tick::MAX_SPAN_MS));
    }

    #[test]
    fn earlier_of_two() {
        assert_eq!(Tick::earlier(Some(Tick(3)), Some(Tick(2))), Some(Tick(2)));
        assert_eq!(Tick::earlier(None, Some(Tick(2))), Some(Tick(2)));
        assert_eq!(Tick::earlier(None, None), None);
    }
}
