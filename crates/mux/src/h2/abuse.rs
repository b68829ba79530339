//! How much nonsense a peer may send, counted in points and in glitches.
//!
//! A frame that costs us more than it costs the peer, or serves nothing, costs points: PING,
//! SETTINGS, empty frames, windows of a few bytes, errors of streams. Points come back with time
//! and with every exchange that is completed. A peer that has none left gets GOAWAY with
//! ENHANCE_YOUR_CALM and loses the connection. So a peer can be as odd as it likes for a while, but
//! no peer lives on nonsense.
//!
//! Requests that are cancelled are no nonsense: browsers cancel them by the dozen when a page
//! scrolls. They have an account of their own, which is large enough for that. Only a reset that
//! comes with its request, before anybody has looked at it, costs points (rapid reset).
//!
//! What belongs to payload goes free with it: some measure the way with a PING as often as DATA
//! comes, and return a window at once however little has come.
//!
//! Glitches are what breaks rules or is of no use to anybody. They are counted for expressions and
//! stick tables; with a threshold (`tune.h2.fe.glitches-threshold`) their number ends the
//! connection, and they cost no points.

/// Points of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The most that it can have, which is what it begins with.
    pub points: u32,
    /// How many come back in a second.
    pub per_second: u32,
    /// How many come back with an exchange.
    pub per_exchange: u32,
    /// Requests under way that it may cancel at once.
    pub cancels: u32,
    /// How many more it may cancel with each second.
    pub cancels_per_second: u32,
}

impl Default for Patience {
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

/// What costs how many points.
pub mod price {
    /// A request reset before anybody has looked at it (rapid reset).
    pub const EARLY_RESET: u32 = 2;
    /// An error that ends a stream, or a stream beyond the limit.
    pub const STREAM_ERROR: u32 = 10;
    /// SETTINGS: each may change every stream.
    pub const SETTINGS: u32 = 10;
    /// PING: each has to be answered. With payload, one is free.
    pub const PING: u32 = 4;
    /// DATA without data that ends nothing, and CONTINUATION without a field.
    pub const EMPTY: u32 = 10;
    /// CONTINUATION: no list that we accept needs many.
    pub const CONTINUATION: u32 = 4;
    /// A block that stands for more than is kept of one. One that stands for far more (a
    /// compression bomb) ends the connection.
    pub const LIST: u32 = 10;
    /// A request whose list is too large: its sender can know after the first, and each is decoded,
    /// answered and logged.
    pub const LIST_TOO_LARGE: u32 = 200;
    /// A frame of a few bytes because the window is that small, or an update of as few. With
    /// payload, an update of a stream and one of the connection are free.
    pub const TINY: u32 = 1;
    /// PRIORITY, unknown frames, what is said of streams that are gone, answers to nothing.
    pub const IGNORED: u32 = 1;
    /// What comes free with a frame of payload, either way.
    pub(in crate::h2) const FREE: u32 = PING + 2 * TINY;
}

/// Frames of payload whose free points are kept until they are used: as many as may be on their way
/// before the peer says anything.
const FRAMES: u32 = 100;

/// Points that are spent, and come back with time.
#[derive(Clone, Copy, Debug)]
struct Account {
    left: u32,
    most: u32,
    per_second: u32,
    /// Milliseconds; what of the refill was not a whole point is left for the next time.
    refilled: u64,
}

impl Account {
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

/// What is left of a connection's points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    points: Account,
    cancels: Account,
    per_exchange: u32,
    /// Those that have come with payload, for what goes with it.
    free: u32,
}

impl Budget {
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            points: Account::new(patience.points, patience.per_second),
            cancels: Account::new(patience.cancels, patience.cancels_per_second),
            per_exchange: patience.per_exchange,
            free: 0,
        }
    }

    /// Gives back what time brings.
    pub(super) fn refill(&mut self, now_ms: u64) {
        self.points.refill(now_ms);
        self.cancels.refill(now_ms);
    }

    /// Gives back what an exchange brings.
    pub(super) fn reward(&mut self) {
        self.points.add(self.per_exchange);
    }

    /// Takes note of a frame of payload, either way.
    pub(super) fn note_payload(&mut self) {
        self.free = (self.free + price::FREE).min(FRAMES * price::FREE);
    }

    /// Takes points that came free with payload; `false` when there are not as many.
    pub(super) fn spend_free(&mut self, points: u32) -> bool {
        let enough = points <= self.free;
        self.free -= if enough { points } else { 0 };
        enough
    }

    /// Takes points; `false` when there are not as many.
    pub(super) fn spend(&mut self, points: u32) -> bool {
        self.points.spend(points)
    }

    /// Takes note of a request that was cancelled under way; `false` when there were too many.
    pub(super) fn spend_cancel(&mut self) -> bool {
        self.cancels.spend(1)
    }
}

/// How many frames are taken in one turn (`tune.h2.fe.max-frames-at-once`, `max-rst-at-once`);
/// 0: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtOnce {
    /// Frames of any kind.
    pub frames: u32,
    /// RST_STREAM frames.
    pub resets: u32,
}

/// The part of these limits that the present turn has used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnUse {
    frames: u32,
    resets: u32,
}

impl TurnUse {
    /// Takes note of a frame.
    pub(super) fn note(&mut self, is_reset: bool) {
        self.frames = self.frames.saturating_add(1);
        self.resets = self.resets.saturating_add(u32::from(is_reset));
    }

    /// Whether the turn is over.
    pub(super) fn exceeds(self, limits: AtOnce) -> bool {
        let reached = |count, limit| limit > 0 && count >= limit;
        reached(self.frames, limits.frames) || reached(self.resets, limits.resets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_back_with_time_and_work() {
        let mut budget = Budget::new(Patience {
            points: 10,
            per_second: 10,
            per_exchange: 3,
            ..Patience::default()
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
    fn what_goes_with_payload_is_free_so_often_and_no_more() {
        let mut budget = Budget::new(Patience { points: 0, per_second: 0, ..Patience::default() });
        assert!(!budget.spend_free(1));
        budget.note_payload();
        assert!(budget.spend_free(price::PING) && budget.spend_free(price::TINY));
        assert!(budget.spend_free(price::TINY) && !budget.spend_free(price::TINY));
        (0..1_000).for_each(|_| budget.note_payload());
        assert_eq!((0..).take_while(|_| budget.spend_free(price::FREE)).count(), 100);
    }
}
