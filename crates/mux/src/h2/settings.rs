//! Settings of an HTTP/2 connection.

use wire::h2::MAX_WINDOW;
use wire::h2::request::{ListLimits, Tolerance};

/// Largest connection window if its streams do not need more.
const LEAST: u32 = 1 << 20;
/// Upper bound of it, unless a single stream would fill half of it.
const MOST: u32 = 16 << 20;

/// The largest window of a connection with this many streams of `each` bytes of window: the sum, so
/// that no stream blocks another. Unread payload is held in memory, so there is a bound.
pub fn window_of(streams: u32, each: u32) -> u32 {
    let most = MOST.max(each.saturating_mul(2)).min(MAX_WINDOW);
    streams.saturating_mul(each).clamp(LEAST, most)
}

/// Settings of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H2ConnSettings {
    /// Settings announced to the peer (`tune.h2.*`).
    pub announced: wire::h2::Settings,
    /// Largest receive window of the connection, in bytes; at least 65,535. If it is smaller than
    /// the sum of the stream windows, unread streams may block others.
    pub window: u32,
    /// Initial receive window of the connection; at least 65,535 bytes take effect.
    pub first_window: u32,
    /// The maximum of streams that we open, whatever the peer allows.
    pub max_opened: u32,
    /// Streams of the peer after which the connection shuts down gracefully
    /// (`tune.h2.fe.max-total-streams`); 0: no limit.
    pub max_total_streams: u32,
    /// Limits of header lists.
    pub list: ListLimits,
    /// Requests accepted in violation of RFC 9113.
    pub tolerance: Tolerance,
    /// Seed for the keys of websocket requests.
    pub seed: u64,
    /// Point limits of flood detection.
    pub flood_limits: super::flood::FloodLimits,
    /// Glitches that end the connection; 0: none; `None`: glitches cost points.
    pub glitches_threshold: Option<u32>,
    /// Most frames and resets handled in one turn.
    pub turn_limits: super::flood::TurnLimits,
}

impl Default for H2ConnSettings {
    fn default() -> Self {
        Self {
            announced: wire::h2::Settings::default(),
            window: LEAST,
            first_window: LEAST,
            max_opened: u32::MAX,
            max_total_streams: 0,
            list: ListLimits { bytes: 16_384, fields: 101 },
            tolerance: Tolerance::default(),
            seed: 1,
            flood_limits: super::flood::FloodLimits::default(),
            glitches_threshold: None,
            turn_limits: super::flood::TurnLimits::default(),
        }
    }
}
