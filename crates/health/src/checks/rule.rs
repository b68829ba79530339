//! The rules of the checker as pure functions: when a check is due, and when it moves.

use engine::state::runtime::Proxy;

/// The most checks that run as one batch.
pub(super) const BATCH: usize = 8;

/// Whether a check moves to another thread, drawn at random: it does if that thread has less than
/// half as much to do, unless the check has `moved` since it woke up.
pub fn moves(moved: bool, own_load: u32, other_load: u32) -> bool {
    !moved && u64::from(other_load) * 2 < u64::from(own_load)
}

/// How much earlier than asked a check may run to share a wake-up: so many percent of its interval.
pub(super) fn slack(interval: u32, percent: u32) -> u64 {
    u64::from(interval) * u64::from(percent) / 100
}

/// When a check that is due at `due` runs, given the checks due before and after it on the same
/// thread: it moves to the one before, but by no more than `slack`, if that is the nearer one. So
/// checks of a thread become batches within some intervals, each interval shortened by no more than
/// the slack.
pub fn drawn(due: u64, before: u64, after: Option<u64>, slack: u64) -> u64 {
    let gap = due.saturating_sub(before);
    let nearer = gap <= slack || after.is_some_and(|after| gap < after.saturating_sub(due));
    if nearer { due - gap.min(slack) } else { due }
}

/// Delay of the first check of the server at `place` of `count`: they are spread over the shortest
/// interval, or over `limit` (`max-spread-checks`) if that is less.
pub fn first_delay(shortest: u32, limit: Option<u32>, place: u64, count: u64) -> u64 {
    let span = u64::from(limit.map_or(shortest, |limit| limit.min(shortest)));
    (span * place).checked_div(count).unwrap_or(0)
}

/// An interval moved by up to `percent` of itself to either side (`spread-checks`, 0 to 50), where
/// `random` says how far; at least a millisecond.
pub fn jitter(interval: u32, percent: u32, random: u32) -> u32 {
    let reach = i64::from(interval) * i64::from(percent.min(50)) / 100;
    let offset = (((2 * reach + 1) * i64::from(random)) >> 32) - reach;
    u32::try_from(i64::from(interval) + offset).unwrap_or(u32::MAX).max(1)
}

/// The limits of a check every `inter` milliseconds: [`limits`] with the timeouts of its proxy.
pub(super) fn limits_of(proxy: &Proxy, inter: u32) -> (u32, Option<u32>) {
    limits(inter, proxy.settings.timeouts.connect, proxy.settings.timeouts.check)
}

/// Time for the connection, and for the answer after it: without `timeout check` the interval holds
/// for both together. As measured with HAProxy, `timeout check` ends no check before the time for
/// its connection is over.
pub fn limits(inter: u32, connect: Option<u32>, check: Option<u32>) -> (u32, Option<u32>) {
    match check {
        None => (inter, None),
        Some(check) => (connect.map_or(inter, |connect| connect.min(inter)), Some(check)),
    }
}
