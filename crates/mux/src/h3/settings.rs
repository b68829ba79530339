//! Settings of an HTTP/3 connection.

use wire::h2::request::{ListLimits, Tolerance};
use wire::h3::H3Settings;

/// Settings of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H3ConnSettings {
    /// Settings announced to the peer.
    pub announced: H3Settings,
    /// Limits of header lists.
    pub list: ListLimits,
    /// Requests accepted in violation of RFC 9114.
    pub tolerance: Tolerance,
    /// Requests after which the connection shuts down gracefully; 0: no limit.
    pub max_total_streams: u32,
    /// Frames of the peer that do nothing, after which the connection ends; a complete
    /// request gives back ten of them.
    pub max_idle_frames: u32,
    /// Seed for the keys of websocket requests.
    pub seed: u64,
}

impl Default for H3ConnSettings {
    fn default() -> Self {
        Self {
            announced: H3Settings {
                qpack_max_table_capacity: 4_096,
                qpack_blocked_streams: 16,
                max_field_section_size: Some(16_384),
                enable_connect_protocol: true,
            },
            list: ListLimits { bytes: 16_384, fields: 101 },
            tolerance: Tolerance::default(),
            max_total_streams: 0,
            max_idle_frames: 1_000,
            seed: 1,
        }
    }
}
