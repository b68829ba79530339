//! User weights, their scale, and the slow-start factor.

/// The unit of effective weights: a server of user weight `w` at full speed weighs
/// `w * WEIGHT_SCALE`, so slow start has sixteen steps (configuration manual, `slowstart`).
pub const WEIGHT_SCALE: u32 = 16;

/// The largest user weight (configuration manual, `weight`).
pub const MAX_WEIGHT: u32 = 256;

/// The effective weight of a server that came up `up_for_ms` ago.
///
/// The weight grows linearly over `slowstart_ms` in sixteenths, never starting below one sixteenth;
/// a slow start of 0 means full speed at once.
pub(crate) fn effective(user: u32, up_for_ms: u64, slowstart_ms: u64) -> u32 {
    user * sixteenths(up_for_ms, slowstart_ms)
}

/// Whether a slow start is over.
pub(crate) fn warm(up_for_ms: u64, slowstart_ms: u64) -> bool {
    up_for_ms >= slowstart_ms
}

/// A weight as statistics show it: rounded up to a whole user weight.
pub(crate) fn shown(effective: u32) -> u32 {
    effective.div_ceil(WEIGHT_SCALE)
}

/// The `throttle` percentage of statistics: what part of its user weight a server gets.
pub(crate) fn throttle_percent(effective: u32, user: u32) -> u32 {
    if user == 0 { 100 } else { effective * 100 / (user * WEIGHT_SCALE) }
}

fn sixteenths(up_for_ms: u64, slowstart_ms: u64) -> u32 {
    if warm(up_for_ms, slowstart_ms) {
        return WEIGHT_SCALE;
    }
    let scale = u64::from(WEIGHT_SCALE);
    ((u128::from(scale) * u128::from(up_for_ms) / u128::from(slowstart_ms)) as u64 + 1).min(scale)
        as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_grows_from_one_sixteenth_to_all() {
        // Values measured with HAProxy: weight 100, `slowstart 2s`, right after the start and one
        // second later.
        assert_eq!((shown(effective(100, 0, 2000)), shown(effective(100, 1000, 2000))), (7, 57));
        assert_eq!(throttle_percent(effective(100, 0, 2000), 100), 6);
        assert_eq!(throttle_percent(effective(100, 1000, 2000), 100), 56);
        assert_eq!(effective(100, 2000, 2000), 1600);
        assert_eq!(effective(100, 0, 0), 1600);
    }

    #[test]
    fn slow_start_never_shrinks() {
        let steps: Vec<_> = (0..=3000).map(|ms| effective(10, ms, 3000)).collect();
        assert!(steps.is_sorted());
        assert_eq!((steps[0], steps[3000]), (10, 160));
    }
}
