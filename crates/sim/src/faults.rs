//! Fault plans: faults of connections to one address, with their chances.

/// One microsecond of virtual time.
pub const US: u64 = 1_000;
/// One millisecond of virtual time.
pub const MS: u64 = 1_000_000;
/// One second of virtual time.
pub const SEC: u64 = 1_000_000_000;

/// Fault plan for connections to one address. Chances are in 1000; times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Least latency in one direction.
    pub latency: u64,
    /// Most additional latency, drawn per segment; the order is kept.
    pub jitter: u64,
    /// Bytes in one direction, in flight and unread together.
    pub buffer: usize,
    /// Chance that a write travels as several segments.
    pub split: u16,
    /// Chance that a read returns only some of the bytes; the others "arrive" a little later.
    pub short_read: u16,
    /// Chance that a write takes only some of the bytes; room comes a little later.
    pub short_write: u16,
    /// Chance that a connection is refused, at once or after a round trip.
    pub refuse: u16,
    /// Chance that a connection is never answered; it fails after two minutes.
    pub never: u16,
    /// Chance that a connection is reset for both sides at some time [`Faults::within`].
    pub reset: u16,
    /// Chance that a connection stops carrying data from some time on, [`Faults::within`].
    pub stall: u16,
    /// Latest time of a reset or stall, from the start of the connection.
    pub within: u64,
    /// Chance that `accept` returns a client that has disconnected.
    pub abort: u16,
    /// Chance that a datagram is lost.
    pub loss: u16,
    /// Chance that a datagram arrives twice.
    pub duplicate: u16,
    /// Chance that a datagram takes up to nine times as long, so that others overtake it.
    pub reorder: u16,
    /// Largest datagram that the sender's link carries, in bytes; larger ones are refused.
    pub mtu: usize,
    /// Largest datagram that arrives, in bytes; larger ones are lost on the way.
    pub path_mtu: usize,
    /// Chance that the ECN bits of a datagram are cleared on the way.
    pub bleach: u16,
    /// Chance that a datagram with ECN bits is marked as having met congestion.
    pub congested: u16,
    /// Chance that an actor's socket gets a new port before it sends a datagram, as behind a NAT.
    pub rebind: u16,
    /// Chance that a closed or released handle is reported once more, with its old token.
    pub stale: u16,
    /// Chance that a wait reports readiness that does not exist. Used from the default plan only.
    pub spurious: u16,
    /// Most delay of a wait's return. Used from the default plan only.
    pub oversleep: u64,
}

impl Faults {
    /// A short fixed latency, large buffers, no faults.
    pub const NONE: Self = Self {
        latency: 50 * US,
        jitter: 0,
        buffer: 256 << 10,
        split: 0,
        short_read: 0,
        short_write: 0,
        refuse: 0,
        never: 0,
        reset: 0,
        stall: 0,
        within: SEC,
        abort: 0,
        loss: 0,
        duplicate: 0,
        reorder: 0,
        mtu: 65_507,
        path_mtu: 65_507,
        bleach: 0,
        congested: 0,
        rebind: 0,
        stale: 0,
        spurious: 0,
        oversleep: 0,
    };

    /// Faults that a correct program hides: jitter, small buffers, partial reads and writes, stale
    /// and spurious events. No connection is lost.
    pub const BUMPY: Self = Self {
        latency: 100 * US,
        jitter: 5 * MS,
        buffer: 6_000,
        split: 300,
        short_read: 300,
        short_write: 300,
        duplicate: 50,
        reorder: 50,
        bleach: 50,
        congested: 20,
        stale: 300,
        spurious: 20,
        ..Self::NONE
    };

    /// [`Faults::BUMPY`], and connections that are refused, unanswered, reset, stalled or aborted.
    pub const ROUGH: Self = Self {
        refuse: 50,
        never: 10,
        reset: 100,
        stall: 20,
        abort: 30,
        loss: 50,
        oversleep: 2 * MS,
        ..Self::BUMPY
    };
}

impl Default for Faults {
    fn default() -> Self {
        Self::NONE
    }
}
