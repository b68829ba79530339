//! Percentiles of the last seconds of a row, from histograms that only grow.

use stdx::Summary;

/// Milliseconds between two summaries that are kept: percentiles are over one to two of these.
const HALF: u64 = 2_500;
/// A summary that is older begins no window: nobody has looked meanwhile.
const OLDEST: u64 = 4 * HALF;

/// Two earlier summaries, with their times in milliseconds.
#[derive(Debug, Default)]
pub(super) struct LatencyWindow {
    older: Option<(u64, Summary)>,
    newer: Option<(u64, Summary)>,
}

impl LatencyWindow {
    /// Median and 99 % in microseconds since the older summary; `None` before there is one, or
    /// without values.
    pub(super) fn advance(&mut self, now: u64, times: Summary) -> Option<[u64; 2]> {
        let first = self.older.take().filter(|(at, _)| now.saturating_sub(*at) <= OLDEST);
        let Some((began, before)) = first else {
            (self.older, self.newer) = (Some((now, times)), None);
            return None;
        };
        let grown = times.since(&before);
        let latest = self.newer.as_ref().map_or(began, |(at, _)| *at);
        self.older = Some((began, before));
        if now.saturating_sub(latest) >= HALF {
            if let Some(newer) = self.newer.take() {
                self.older = Some(newer);
            }
            self.newer = Some((now, times));
        }
        Some([grown.quantile(0.5)?, grown.quantile(0.99)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::Histogram;

    fn summary(histogram: &Histogram) -> Summary {
        let mut summary = Summary::default();
        summary.add(histogram);
        summary
    }

    #[test]
    fn percentiles_are_those_of_the_last_seconds() {
        let (histogram, mut window) = (Histogram::default(), LatencyWindow::default());
        histogram.record(60);
        assert_eq!(window.advance(1_000, summary(&histogram)), None, "nothing is known before");
        histogram.record(10);
        assert_eq!(window.advance(2_000, summary(&histogram)), Some([10, 10]));
        for second in 3..9 {
            let _ = window.advance(second * 1_000, summary(&histogram));
        }
        assert_eq!(window.advance(9_000, summary(&histogram)), None, "the value is too old");
        histogram.record(30);
        assert_eq!(window.advance(10_000, summary(&histogram)), Some([30, 30]));
    }

    #[test]
    fn a_window_that_nobody_has_looked_at_begins_anew() {
        let (histogram, mut window) = (Histogram::default(), LatencyWindow::default());
        let _ = window.advance(1_000, summary(&histogram));
        histogram.record(30);
        assert_eq!(window.advance(60_000, summary(&histogram)), None);
    }
}
