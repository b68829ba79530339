//! Flood detection on HTTP/2 connections, by points and by glitches.
//!
//! A frame that costs this side more than the peer, or has no effect, costs points: PING, SETTINGS,
//! empty frames, windows of a few bytes, stream errors. Points are earned back with time and with
//! each completed exchange. A peer without points gets GOAWAY with ENHANCE_YOUR_CALM and loses the
//! connection. So peers may behave oddly for a while, but not permanently.
//!
//! Cancelled requests cost no points: browsers cancel them by the dozen when a page scrolls. They
//! have a large account of their own. Only a reset that arrives before its request was taken costs
//! points (rapid reset).
//!
//! Frames that go with payload are free: some peers measure the round trip with a PING for each
//! DATA frame, and some return window for every few bytes.
//!
//! Glitches are protocol errors and useless frames. They are counted for sample fetches and stick
//! tables. With a threshold (`tune.h2.fe.glitches-threshold`), their number ends the connection and
//! they cost no points.

/// Point limits of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodLimits {
    /// Most points of a connection; it begins with all of them.
    pub points: u32,
    /// Points earned back per second.
    pub per_second: u32,
    /// Points earned back per completed exchange.
    pub per_exchange: u32,
    /// Requests in progress that may be cancelled in a burst.
    pub cancels: u32,
    /// Further cancellations earned per second.
    pub cancels_per_second: u32,
}

impl Default for FloodLimits {
    fn default() -> Self {
        Self {
            points: 2_000,
            per_second: 100,
            per_exchange: 10,
            cancels: 10_000,
            cancels_per_second: 1_000,
        }
    }
}

/// Points by kind of frame.
pub mod cost {
    /// A request that is reset before it was taken (rapid reset).
    pub const EARLY_RESET: u32 = 2;
    /// A stream error, or a stream beyond the limit.
    pub const STREAM_ERROR: u32 = 10;
    /// SETTINGS: each may change all streams.
    pub const SETTINGS: u32 = 10;
    /// PING: each has to be answered. One PING is free with each piece of payload.
    pub const PING: u32 = 4;
    /// DATA without payload and END_STREAM, and CONTINUATION without a field.
    pub const EMPTY: u32 = 10;
    /// CONTINUATION: acceptable header lists do not need many.
    pub const CONTINUATION: u32 = 4;
    /// A header block that decodes to more than one list may hold. A block that decodes to far more
    /// (a compression bomb) ends the connection.
    pub const LIST: u32 = 10;
    /// A request whose header list is too large: its sender knows the limit after the first one,
    /// and each has to be decoded, answered and logged.
    pub const LIST_TOO_LARGE: u32 = 200;
    /// A DATA frame of a few bytes because of a tiny window, or a WINDOW_UPDATE of a few bytes. One
    /// per stream and one per connection are free with payload.
    pub const TINY: u32 = 1;
    /// PRIORITY, unknown frames, frames of closed streams, unexpected acknowledgements.
    pub const IGNORED: u32 = 1;
    /// Points that are free per frame of payload, in either direction.
    pub(in crate::h2) const FREE: u32 = PING + 2 * TINY;
}

/// Frames of payload whose free points are kept: as many as may be in flight before the peer
/// reacts.
const FRAMES: u32 = 100;

/// Points that are spent and earned back with time.
#[derive(Clone, Copy, Debug)]
struct PointAccount {
    left: u32,
    most: u32,
    per_second: u32,
    /// Time of the last refill in milliseconds; a fraction of a point stays for the next one.
    refilled: u64,
}

impl PointAccount {
    fn new(most: u32, per_second: u32) -> Self {
        Self { left: most, most, per_second, refilled: 0 }
    }

    fn refill(&mut self, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.refilled).min(3_600_000);
        let earned = passed * u64::from(self.per_second) / 1_000;
        if earned > 0 {
            self.refilled = now_ms;
            self.add(u32::try_from(earned).unwrap_or(u32::MAX));
        }
    }

    fn add(&mut self, points: u32) {
        self.left = self.left.saturating_add(points).min(self.most);
    }

    fn spend(&mut self, points: u32) -> bool {
        let enough = points <= self.left;
        self.left = self.left.saturating_sub(points);
        enough
    }
}

/// The points left to a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloodBudget {
    points: PointAccount,
    cancels: PointAccount,
    per_exchange: u32,
    /// Free points earned by payload.
    free: u32,
}

impl FloodBudget {
    pub(super) fn new(patience: FloodLimits) -> Self {
        Self {
            points: PointAccount::new(patience.points, patience.per_second),
            cancels: PointAccount::new(patience.cancels, patience.cancels_per_second),
            per_exchange: patience.per_exchange,
            free: 0,
        }
    }

    /// Adds the points earned by time.
    pub(super) fn refill(&mut self, now_ms: u64) {
        self.points.refill(now_ms);
        self.cancels.refill(now_ms);
    }

    /// Adds the points earned by an exchange.
    pub(super) fn reward(&mut self) {
        self.points.add(self.per_exchange);
    }

    /// Counts a frame of payload, in either direction.
    pub(super) fn note_payload(&mut self) {
        self.free = (self.free + cost::FREE).min(FRAMES * cost::FREE);
    }

    /// Spends free points; `false` if there are too few.
    pub(super) fn spend_free(&mut self, points: u32) -> bool {
        let enough = points <= self.free;
        self.free -= if enough { points } else { 0 };
        enough
    }

    /// Spends points; `false` if there are too few.
    pub(super) fn spend(&mut self, points: u32) -> bool {
        self.points.spend(points)
    }

    /// Counts a request cancelled in progress; `false` if there were too many.
    pub(super) fn spend_cancel(&mut self) -> bool {
        self.cancels.spend(1)
    }
}

/// Most frames handled in one turn (`tune.h2.fe.max-frames-at-once`, `max-rst-at-once`); 0: no
/// limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnLimits {
    /// Frames of any kind.
    pub frames: u32,
    /// RST_STREAM frames.
    pub resets: u32,
}

/// Frames and resets handled in the present turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnUse {
    frames: u32,
    resets: u32,
}

impl TurnUse {
    /// Counts a frame.
    pub(super) fn note(&mut self, is_reset: bool) {
        self.frames = self.frames.saturating_add(1);
        self.resets = self.resets.saturating_add(u32::from(is_reset));
    }

    /// Whether the turn is over.
    pub(super) fn exceeds(self, limits: TurnLimits) -> bool {
        let reached = |count, limit| limit > 0 && count >= limit;
        reached(self.frames, limits.frames) || reached(self.resets, limits.resets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_back_with_time_and_work() {
        let mut budget = FloodBudget::new(FloodLimits {
            points: 10,
            per_second: 10,
            per_exchange: 3,
            ..FloodLimits::default()
        });
        budget.refill(1_000);
        assert!(budget.spend(10) && !budget.spend(1));
        budget.refill(1_050);
        assert!(!budget.spend(1), "half a point is none");
        budget.refill(1_100);
        assert!(budget.spend(1) && !budget.spend(1), "both halves are one");
        budget.reward();
        assert!(budget.spend(3) && !budget.spend(1));
        budget.refill(u64::MAX);
        assert!(budget.spend(10) && !budget.spend(1), "never more than at the beginning");
    }

    #[test]
    fn frames_with_payload_are_free_up_to_a_limit() {
        let mut budget =
            FloodBudget::new(FloodLimits { points: 0, per_second: 0, ..FloodLimits::default() });
        assert!(!budget.spend_free(1));
        budget.note_payload();
        assert!(budget.spend_free(cost::PING) && budget.spend_free(cost::TINY));
        assert!(budget.spend_free(cost::TINY) && !budget.spend_free(cost::TINY));
        (0..1_000).for_each(|_| budget.note_payload());
        assert_eq!((0..).take_while(|_| budget.spend_free(cost::FREE)).count(), 100);
    }
}
