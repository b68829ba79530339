//! The results of the last checks of a server.

use crate::check::CheckStatus;
use std::collections::VecDeque;

/// Checks that are remembered.
const KEPT: usize = 24;

/// One finished check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastCheck {
    /// When it ended, on the clock of the balancer.
    pub at_ms: u64,
    /// How it ended.
    pub status: CheckStatus,
    /// The duration of the check in milliseconds.
    pub duration_ms: u64,
}

/// The last checks, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<PastCheck>);

impl History {
    pub(crate) fn add(&mut self, past: PastCheck) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(past);
    }

    pub(crate) fn all(&self) -> Vec<PastCheck> {
        self.0.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut history = History::default();
        for at_ms in 0..30 {
            history.add(PastCheck { at_ms, status: CheckStatus::L4Ok, duration_ms: 1 });
        }
        let all = history.all();
        assert_eq!((all.len(), all[0].at_ms, all[23].at_ms), (24, 6, 29));
    }
}
