//! Pacing: passes payload over time, so that a limit per period holds.
//!
//! After a period without traffic, a whole allowance passes at once. From then on a [`Pacer`] gives
//! turns: each stream reserves its next piece, worth a fifth of a second of the limit or more, and
//! passes it when the pieces reserved before it are paid for. So a stream is woken at most five
//! times per second, streams of one limit take turns in the order in which they ask, and the rate
//! is exact over time.

/// The least time between two turns of a stream that has to wait, in nanoseconds.
const TURN: u64 = 200_000_000;

/// Time of a thread per turn of one of its streams, in nanoseconds, as far as [`MOST_TURN`] allows:
/// with more than 2,000 streams, turns are rarer and pieces larger.
const TURN_OF_THREAD: u64 = 100_000;

/// The most time between two turns because of other streams, in nanoseconds.
const MOST_TURN: u64 = 1_000_000_000;

/// A clock that goes back by more than this was set; a smaller step is disagreement of threads.
const SET_BACK: u64 = 1_000_000_000;

/// The most bytes that a stream catches up with after a late wake, beyond those of [`TURN`].
const MOST_LATE: u64 = 16 << 10;

/// Turns in a row that a stream loses because others have used the limit elsewhere.
const MOST_POSTPONED: u8 = 5;

/// A limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaceLimit {
    /// Bytes per period; at least 1.
    pub bytes: u64,
    /// The period in milliseconds; at least 1.
    pub period_ms: u32,
    /// The smallest piece that passes while more bytes follow.
    pub min_size: u64,
}

/// State of a shared limit at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaceUse {
    /// Streams that share the limit, this one included; at least 1.
    pub streams: u32,
    /// Bytes that all of them, and other processes, have passed in the last period.
    pub recent: u64,
    /// The least piece that a stream reserves, because its thread has many.
    pub piece: u64,
}

impl PaceUse {
    /// The use of a limit by a single stream.
    pub const ALONE: Self = Self { streams: 1, recent: 0, piece: 0 };
}

/// The payload that a stream offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaceOffer {
    /// Bytes; at least 1.
    pub bytes: u64,
    /// Whether no payload follows these bytes.
    pub last: bool,
}

/// The answer to an offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// The number of bytes that pass; at least 1.
    Bytes(u64),
    /// The moment of the next turn, in nanoseconds; none pass before it.
    Until(u64),
}

/// The reservation of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PaceTurn {
    reserved: Option<Reservation>,
    postponed: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reservation {
    made: u64,
    at: u64,
    bytes: u64,
    /// Moment at which the reserved bytes expire, once the turn has come.
    until: Option<u64>,
}

/// The bytes of a limit, of one stream or of several. Moments are nanoseconds of one clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    /// Moment by which passed and reserved bytes are paid for.
    paid: u64,
    /// Bytes that may pass at once.
    burst: u64,
    burst_ends: u64,
    /// Moment at which bytes passed last.
    passed: Option<u64>,
    seen: u64,
    /// Nanoseconds by which the last turn came late, because its thread had other work.
    late: u64,
}

impl PaceLimit {
    fn period(&self) -> u64 {
        u64::from(self.period_ms.max(1)) * 1_000_000
    }

    /// Nanoseconds in which so many bytes may pass.
    fn span_of(&self, bytes: u64) -> u64 {
        let span = u128::from(bytes) * u128::from(self.period()) / u128::from(self.bytes.max(1));
        u64::try_from(span).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
    }

    /// Bytes that may pass in so many nanoseconds.
    fn bytes_in(&self, span: u64) -> u64 {
        let bytes = u128::from(span) * u128::from(self.bytes) / u128::from(self.period());
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The piece that a stream reserves.
    fn piece(&self, used: PaceUse) -> u64 {
        let share = self.bytes_in(TURN) / u64::from(used.streams.max(1));
        share.max(self.min_size).max(used.piece).max(1)
    }

    /// The least piece of one of so many streams of a thread: with few there is none. The piece is
    /// `most` bytes at most.
    pub fn crowd_piece(&self, streams: u32, most: u64) -> u64 {
        let turn = (u64::from(streams) * TURN_OF_THREAD).min(MOST_TURN);
        if turn > TURN { self.bytes_in(turn).min(most) } else { 0 }
    }
}

impl Pacer {
    /// Passes bytes of an offer, or reserves the stream's next turn.
    pub fn pass(
        &mut self,
        limit: &PaceLimit,
        used: PaceUse,
        turn: &mut PaceTurn,
        offer: PaceOffer,
        now: u64,
    ) -> Pace {
        let now = self.clock(now, turn);
        if let Some(pace) = self.reserved(limit, used, turn, offer, now) {
            return pace;
        }
        if let Some(bytes) = self.burst_bytes(limit, used, offer, now) {
            return Pace::Bytes(bytes);
        }
        // An allowance that was not used before that is lost.
        let late = std::mem::take(&mut self.late);
        self.paid = self.paid.max(now.saturating_sub(TURN + late));
        let piece = limit.piece(used);
        let wanted = offer.bytes.min(piece);
        let is_over = is_over(limit, used) && turn.postponed < MOST_POSTPONED;
        if self.paid.saturating_add(limit.span_of(wanted)) <= now && !is_over {
            turn.postponed = 0;
            let bytes = limit.bytes_in(now - self.paid).clamp(wanted, offer.bytes.max(wanted));
            self.pay(limit, bytes, now);
            return Pace::Bytes(bytes);
        }
        self.reserve(limit, piece, turn, offer, now)
    }

    /// Returns the reservation of a stream that ends.
    pub fn cancel(&mut self, limit: &PaceLimit, turn: &mut PaceTurn) {
        let Some(reserved) = turn.reserved.take() else { return };
        if reserved.until.is_none() {
            self.paid = self.paid.saturating_sub(limit.span_of(reserved.bytes));
        }
    }

    /// The current moment; shifts the state if the clock was set back.
    fn clock(&mut self, now: u64, turn: &mut PaceTurn) -> u64 {
        let back = self.seen.saturating_sub(now);
        if back > SET_BACK {
            self.paid = self.paid.saturating_sub(back);
            self.burst_ends = self.burst_ends.saturating_sub(back);
            self.passed = self.passed.map(|passed| passed.saturating_sub(back));
            self.seen = now;
        }
        if turn.reserved.is_some_and(|it| it.made.saturating_sub(now) > SET_BACK) {
            turn.reserved = None;
        }
        self.seen = self.seen.max(now);
        self.seen
    }

    /// The bytes of a reserved turn that pass, or its moment; nothing without a turn or after its
    /// end.
    fn reserved(
        &mut self,
        limit: &PaceLimit,
        used: PaceUse,
        turn: &mut PaceTurn,
        offer: PaceOffer,
        now: u64,
    ) -> Option<Pace> {
        let reserved = turn.reserved.as_mut()?;
        if now < reserved.at {
            return Some(Pace::Until(reserved.at));
        }
        if is_over(limit, used) && reserved.until.is_none() && turn.postponed < MOST_POSTPONED {
            turn.postponed += 1;
            reserved.at = now + TURN;
            return Some(Pace::Until(reserved.at));
        }
        turn.postponed = 0;
        if reserved.until.is_none() {
            self.late = (now - reserved.at).min(limit.span_of(MOST_LATE));
        }
        let until = *reserved.until.get_or_insert(now + TURN);
        let bytes = reserved.bytes.min(offer.bytes);
        reserved.bytes -= bytes;
        if reserved.bytes == 0 || now >= until {
            turn.reserved = None;
        }
        if bytes == 0 || now >= until {
            return None;
        }
        self.passed = Some(now);
        Some(Pace::Bytes(bytes))
    }

    /// The bytes that pass of the allowance of a new period.
    fn burst_bytes(
        &mut self,
        limit: &PaceLimit,
        used: PaceUse,
        offer: PaceOffer,
        now: u64,
    ) -> Option<u64> {
        let idle = |passed: u64| now >= passed.saturating_add(limit.period());
        if self.paid <= now && self.passed.is_none_or(idle) {
            self.burst = limit.bytes.saturating_sub(used.recent);
            self.burst_ends = now + limit.period();
            // There is no allowance for the time before.
            self.paid = now;
        } else if now >= self.burst_ends {
            self.burst = 0;
        }
        let bytes = self.burst.min(offer.bytes);
        if bytes < offer.bytes.min(limit.min_size).max(1) {
            self.burst = 0;
            return None;
        }
        self.burst -= bytes;
        self.paid = self.paid.max(now);
        self.pay(limit, bytes, now);
        Some(bytes)
    }

    fn pay(&mut self, limit: &PaceLimit, bytes: u64, now: u64) {
        self.paid = self.paid.saturating_add(limit.span_of(bytes));
        self.passed = Some(now);
    }

    fn reserve(
        &mut self,
        limit: &PaceLimit,
        piece: u64,
        turn: &mut PaceTurn,
        offer: PaceOffer,
        now: u64,
    ) -> Pace {
        let (bytes, at) = if offer.last && offer.bytes <= piece {
            let at = self.paid.saturating_add(limit.span_of(offer.bytes));
            (offer.bytes, at.max(now + 1))
        } else {
            let due = self.paid.saturating_add(limit.span_of(piece));
            // A stream that would be woken too early waits for more.
            let at = due.max(now + TURN);
            (piece + limit.bytes_in(at - due).min(limit.bytes_in(TURN)), at)
        };
        self.paid = self.paid.saturating_add(limit.span_of(bytes));
        turn.reserved = Some(Reservation { made: now, at, bytes, until: None });
        Pace::Until(at)
    }
}

/// Whether others have used more of a shared limit than the turns here account for.
fn is_over(limit: &PaceLimit, used: PaceUse) -> bool {
    used.recent > limit.bytes + limit.bytes / 20 + limit.bytes_in(TURN).max(limit.min_size)
}

#[cfg(test)]
mod tests;
