//! `balance random(draws)`: the least loaded of a few servers drawn by weight. Never keeps a position.
//!
//! Draws are exact in proportion to weights (a table of sums, not a ring, whose gaps would bias
//! them). Shared: a table read by all; a pick writes the line of the table's lock.

use std::sync::RwLock;

use super::{Chooser, Member, NoServer, Wish, first_with_room, read, write};

#[derive(Debug, Default)]
struct Sums {
    members: Vec<Member>,
    /// Sum of the weights up to and including each member.
    upto: Vec<u32>,
}

/// The algorithm with its table.
#[derive(Debug)]
pub(crate) struct Random {
    sums: RwLock<Sums>,
    draws: u32,
}

impl Random {
    pub(crate) fn new(draws: u32) -> Self {
        Self { sums: RwLock::default(), draws: draws.max(1) }
    }
}

impl Sums {
    fn draw(&self, wish: &Wish<'_>) -> Option<&Member> {
        let at = wish.random.below(*self.upto.last()?);
        self.members.get(self.upto.partition_point(|upto| *upto <= at))
    }

    /// The least loaded of the draws that may be used.
    fn best(&self, draws: u32, wish: &Wish<'_>) -> Option<&Member> {
        let usable = |m: &&Member| wish.avoid != Some(m.slot) && m.load.has_room();
        (0..draws)
            .filter_map(|_| self.draw(wish).filter(usable))
            .reduce(|best, other| if other.load.lighter_than(&best.load) { other } else { best })
    }
}

impl Chooser for Random {
    fn members(&self, members: &[Member]) {
        let mut sum = 0u32;
        let upto = members.iter().map(|m| {
            sum = sum.saturating_add(m.weight);
            sum
        });
        *write(&self.sums) = Sums { upto: upto.collect(), members: members.to_vec() };
    }

    fn choose(&self, wish: &Wish<'_>) -> Result<usize, NoServer> {
        let sums = read(&self.sums);
        let member = match sums.best(self.draws, wish) {
            Some(member) => member,
            None => {
                let count = sums.members.len();
                let start = wish.random.below(count as u32) as usize;
                let (before, after) = sums.members.split_at(start);
                first_with_room(after.iter().chain(before), wish.avoid)?
            }
        };
        member.load.reserve();
        Ok(member.slot)
    }
}
