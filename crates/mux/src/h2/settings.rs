//! What the configuration decides about an HTTP/2 connection. Plain data.

use wire::h2::request::ListLimits;

/// Settings of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the peer is told (`tune.h2.*`).
    pub announced: wire::h2::Settings,
    /// Payload that may be on its way to us on all streams together, in bytes; at least 65,535.
    pub window: u32,
    /// Streams that we open at most, whatever the peer allows.
    pub max_opened: u32,
    /// How large a header list may be.
    pub list: ListLimits,
    /// Targets may have a fragment.
    pub fragments: bool,
    /// Where keys of websocket requests come from.
    pub seed: u64,
    /// How much nonsense is put up with.
    pub patience: super::abuse::Patience,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            announced: wire::h2::Settings::default(),
            window: 1 << 20,
            max_opened: u32::MAX,
            list: ListLimits { bytes: 16_384, fields: 101 },
            fragments: false,
            seed: 1,
            patience: super::abuse::Patience::default(),
        }
    }
}
