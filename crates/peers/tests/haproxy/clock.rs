//! The clock of these tests, which wait for another process.

use std::time::{Duration, Instant};

/// The time.
#[expect(clippy::disallowed_methods, reason = "another process runs by the clock of the machine")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Lets the other process run before the next look at it.
pub(crate) fn pause() {
    std::thread::park_timeout(Duration::from_millis(2));
}
