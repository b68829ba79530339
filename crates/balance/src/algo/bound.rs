//! `hash-balance-factor`: the most that a server may carry beside the others.

use super::Member;

/// The bound at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// Percent of the fair share; 0 for no bound.
    factor: u32,
    /// The load of all servers together.
    total: u64,
    /// The sum of their weights.
    weight: u64,
}

impl Bound {
    /// Adds up what the members carry, unless there is no bound.
    pub(super) fn new(factor: u32, members: &[Member], weight: u64) -> Self {
        let total = match factor {
            0 => 0,
            _ => members.iter().map(|m| m.load.total()).sum(),
        };
        Self { factor, total, weight }
    }

    /// Whether one more request keeps the server within `factor` percent of its fair share.
    pub(super) fn admits(&self, member: &Member) -> bool {
        if self.factor == 0 {
            return true;
        }
        let share = (self.total + 1) * u64::from(member.weight) * u64::from(self.factor);
        member.load.total() < share.div_ceil((self.weight * 100).max(1))
    }
}
