//! What the configuration decides about an HTTP/2 connection. Plain data.

use wire::h2::MAX_WINDOW;
use wire::h2::request::{ListLimits, Tolerance};

/// The window of a connection, unless its streams need more.
const LEAST: u32 = 1 << 20;
/// The largest one, unless a single stream would fill half of it.
const MOST: u32 = 16 << 20;

/// The largest window of a connection on which so many streams each have a window of this many
/// bytes: as much as all of them, so that none stands in the way of another. Payload that waits for
/// its reader is held in memory, so it has a bound.
pub fn window_of(streams: u32, each: u32) -> u32 {
    let most = MOST.max(each.saturating_mul(2)).min(MAX_WINDOW);
    streams.saturating_mul(each).clamp(LEAST, most)
}

/// Settings of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the peer is told (`tune.h2.*`).
    pub announced: wire::h2::Settings,
    /// Payload that may be on its way to us on all streams together, in bytes; at least 65,535.
    /// Where it is less than the windows of all streams, those that nobody reads may block the
    /// others.
    pub window: u32,
    /// The part of `window` that the peer has before its payload is read; at least 65,535 take
    /// effect.
    pub first_window: u32,
    /// Streams that we open at most, whatever the peer allows.
    pub max_opened: u32,
    /// Streams of the peer after which the connection shuts down gracefully
    /// (`tune.h2.fe.max-total-streams`); 0: no limit.
    pub max_total_streams: u32,
    /// How large a header list may be.
    pub list: ListLimits,
    /// Requests that are accepted against RFC 9113.
    pub tolerance: Tolerance,
    /// Where keys of websocket requests come from.
    pub seed: u64,
    /// How much nonsense is put up with.
    pub patience: super::abuse::Patience,
    /// Glitches that end the connection; 0: none do; `None`: they cost points.
    pub glitches_threshold: Option<u32>,
    /// The frames and resets that one turn handles at most.
    pub at_once: super::abuse::AtOnce,
}

impl Default for Settings {
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
            patience: super::abuse::Patience::default(),
            glitches_threshold: None,
            at_once: super::abuse::AtOnce::default(),
        }
    }
}
