//! `balance random(draws)`: the least loaded of a few servers drawn by weight.
//!
//! With `hash-balance-factor`, servers that carry too much are passed over. Shared: a table read by
//! all; a pick writes the line of the table's lock.

use stdx::RwLock;

use super::{Bound, Chooser, Member, NoServer, PickRequest, Sums};

/// The algorithm with its table.
#[derive(Debug)]
pub(crate) struct Random {
    sums: RwLock<Sums>,
    draws: u32,
    balance_factor: u32,
}

impl Random {
    pub(crate) fn new(draws: u32, balance_factor: u32) -> Self {
        Self { sums: RwLock::default(), draws: draws.max(1), balance_factor }
    }
}

impl Chooser for Random {
    fn members(&self, members: &[Member]) {
        *self.sums.write() = Sums::new(members);
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        let sums = self.sums.read();
        let bound = Bound::new(self.balance_factor, &sums.members, sums.weight().into());
        let usable =
            |m: &&Member| wish.avoid != Some(m.slot) && m.load.has_room() && bound.admits(m);
        let drawn = (0..self.draws).filter_map(|_| sums.draw(wish.random).filter(usable));
        let best = drawn
            .reduce(|best, other| if other.load.lighter_than(&best.load) { other } else { best });
        let member = match best.or_else(|| sums.once_around(wish.random).find(usable)) {
            Some(member) => member,
            None => sums.any_with_room(wish)?,
        };
        member.load.reserve();
        Ok(member.slot)
    }
}
