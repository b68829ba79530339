//! Whether the client of a QUIC connection is still there while its process stops: a client that
//! has gone without a packet would keep the process until a timeout.

use quic::QuicConnection;
use reactor::Tick;

/// Silence after which a client is asked for a sign of life, in milliseconds.
const PROBE_MS: u32 = 1_000;

/// Silence after which a client on a fast path is gone, in milliseconds.
const GONE_MS: u32 = 10_000;

/// Round-trip times that three probe timeouts take, each twice as long as the one before (RFC 9002
/// section 6.2).
const GONE_ROUND_TRIPS: u32 = 21;

/// The last sign of life of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presence {
    /// Acknowledgements at that time.
    acknowledgements: u64,
    since: Tick,
    is_asked: bool,
}

impl Presence {
    /// A client that is there now.
    pub(crate) fn new(now: Tick, conn: &QuicConnection) -> Self {
        let acknowledgements = conn.acknowledgements();
        Self { acknowledgements, since: now, is_asked: false }
    }

    /// Asks a silent client for an acknowledgement. Returns the moment of the next call; `None`:
    /// the client is gone.
    pub(crate) fn check(&mut self, now: Tick, conn: &mut QuicConnection) -> Option<Tick> {
        if conn.acknowledgements() != self.acknowledgements {
            *self = Self::new(now, conn);
        }
        let asks = self.since.plus_ms(PROBE_MS);
        if !self.is_asked && !asks.is_due(now) {
            return Some(asks);
        }
        if !std::mem::replace(&mut self.is_asked, true) {
            conn.ping();
        }
        let rtt = u32::try_from(conn.path().rtt.as_millis()).unwrap_or(u32::MAX);
        let patience = rtt.saturating_mul(GONE_ROUND_TRIPS).clamp(GONE_MS, Tick::MAX_SPAN_MS);
        let gone = self.since.plus_ms(patience);
        (!gone.is_due(now)).then_some(gone)
    }
}
