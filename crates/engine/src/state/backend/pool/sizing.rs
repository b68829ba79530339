//! The number of idle connections to a server that a thread keeps.

/// Connections kept beyond the estimate: as many as a client with many requests leaves for others
/// at most; otherwise each of its requests would open a connection that is closed after it.
pub const SLACK: u32 = 4;

/// Connections that requests use at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The highest number since the last purge.
    pub(super) peak: u32,
    /// The highest number that is expected: no less than `peak`.
    pub(super) need: u32,
}

impl Demand {
    /// Notes the connections in use now; `true` if they are more than `peak`.
    pub(super) fn note(&mut self, used: u32) -> bool {
        if used <= self.peak {
            return false;
        }
        self.peak = used;
        self.need = self.need.max(used);
        true
    }

    /// Whether a thread with `open` connections, idle ones included, may keep them all. A quarter
    /// more than needed is kept because the threads' shares of the load vary.
    pub(super) fn allows(&self, open: u32, slack: u32) -> bool {
        open <= self.need.saturating_add(slack.max(self.need / 4))
    }

    /// Ends a period with `used` connections in use: the estimate falls half of the way to the
    /// period's peak.
    pub(super) fn fade(&mut self, used: u32) {
        let need = u64::midpoint(self.need.into(), self.peak.into()) as u32;
        *self = Self { peak: used, need: need.max(used) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_the_most_that_was_used() {
        let mut demand = Demand::default();
        assert!(demand.note(1) && !demand.note(1) && demand.note(20) && !demand.note(3));
        assert!(demand.allows(25, SLACK) && !demand.allows(26, SLACK));
        assert!(demand.allows(30, 10) && !demand.allows(31, 10));
        demand.fade(3);
        assert_eq!(demand, Demand { peak: 3, need: 20 }, "that was in the period before");
        let mut faded = Vec::new();
        for _ in 0..6 {
            demand.fade(3);
            faded.push(demand.need);
        }
        assert_eq!(faded, [11, 7, 5, 4, 3, 3]);
        demand.fade(0);
        demand.fade(0);
        assert_eq!(demand.need, 1);
        demand.fade(0);
        assert_eq!(demand, Demand::default());
    }
}
