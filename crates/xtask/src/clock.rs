//! Real time for tools that measure real processes. The only file of the repository that sleeps.

use std::time::{Duration, Instant};

/// The present moment.
#[expect(clippy::disallowed_methods, reason = "benchmarks measure wall-clock time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits for a length of time that is part of a measurement's definition.
#[expect(clippy::disallowed_methods, reason = "benchmarks let other processes run for a while")]
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// Calls `ready` every `step` until it returns true or `limit` has passed; returns the last result.
pub(crate) fn wait_until(limit: Duration, step: Duration, mut ready: impl FnMut() -> bool) -> bool {
    let start = now();
    loop {
        if ready() {
            return true;
        }
        if start.elapsed() >= limit {
            return false;
        }
        pause(step);
    }
}

/// The date, in minutes since 1970-01-01 UTC: a number that is another one each time.
#[expect(clippy::disallowed_methods, reason = "runs that search shall not repeat each other")]
pub(crate) fn minutes_since_1970() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| (since.as_secs() / 60) as u32)
}
