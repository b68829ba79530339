//! The availability of a backend: whether it has a usable server, and the time without one.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Whether a backend has a usable server, with counts of its downtimes; written when the last
/// usable server leaves or the first one comes.
#[derive(Debug)]
pub struct Availability {
    /// No server is usable.
    pub down: AtomicBool,
    /// The number of times that the backend went down.
    pub went_down: AtomicU64,
    /// Milliseconds of finished downtimes.
    pub downtime_ms: AtomicU64,
}

impl Availability {
    pub(crate) fn new(usable: bool) -> Self {
        Self { down: AtomicBool::new(!usable), went_down: 0.into(), downtime_ms: 0.into() }
    }

    /// How often the last usable server left (`chkdown` of a backend).
    pub fn went_down(&self) -> u64 {
        self.went_down.load(Relaxed)
    }
}
