//! Observed traffic as a source of health (configuration manual section 5.2, `observe`, `on-error`,
//! `error-limit`).
//!
//! Written per sign: nothing while a server answers well; one line of the server when it fails, or
//! answers well for the first time after that.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Which signs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Whether connections are established (`observe layer4`).
    Four,
    /// Established connections and the statuses of responses (`observe layer7`).
    Seven,
}

/// The consequence of too many errors. Each of them also brings the next check forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnError {
    /// Nothing else.
    FastInter,
    /// As if a check had failed.
    #[default]
    FailCheck,
    /// Raises the failure count so far that one more failure marks the server down.
    SuddenDeath,
    /// The server is marked down.
    MarkDown,
}

/// How a server is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The layer whose errors count.
    pub layer: Layer,
    /// Errors in a row that are too many, from 1.
    pub limit: u32,
    /// The consequence.
    pub then: OnError,
}

/// One observation of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A connection is established.
    Connected,
    /// A connection could not be made.
    Unconnected,
    /// A response with this status.
    Status(u16),
    /// A response that makes no sense.
    Invalid,
    /// The server closed before it answered.
    Closed,
    /// The server did not answer in time.
    Silent,
}

impl Sign {
    /// Whether the sign is a success at a layer; `None` if the sign does not count in this layer.
    pub(crate) fn is_good(self, layer: Layer) -> Option<bool> {
        match (self, layer) {
            (Self::Unconnected, _) => Some(false),
            (Self::Connected, Layer::Four) => Some(true),
            (Self::Connected, Layer::Seven) | (_, Layer::Four) => None,
            (Self::Status(status), Layer::Seven) => Some(matches!(status, 100..=499 | 501 | 505)),
            (Self::Invalid | Self::Closed | Self::Silent, Layer::Seven) => Some(false),
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Connected => "L4 successful connection",
            Self::Unconnected => "L4 unsuccessful connection",
            Self::Status(_) => "Wrong http response",
            Self::Invalid => "Invalid http response (headers)",
            Self::Closed => "Close from server (http)",
            Self::Silent => "Read timeout (http)",
        }
    }
}

/// The error counts of a server.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Seen {
    /// Errors in a row.
    pub(crate) errors: AtomicU32,
    /// How often the limit was reached.
    pub(crate) triggered: AtomicU64,
}

impl Seen {
    /// The server is well.
    pub(crate) fn clear(&self) {
        if self.errors.load(Relaxed) != 0 {
            self.errors.store(0, Relaxed);
        }
    }
}
