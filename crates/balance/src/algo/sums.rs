//! Servers drawn at random, exactly in proportion to their weights.
//!
//! A table of sums, not a ring, whose gaps would bias the draws.

use stdx::Prng;

use super::{Member, NoServer, PickRequest, first_with_room};

#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) members: Vec<Member>,
    /// Sum of the weights up to and including each member.
    upto: Vec<u32>,
}

impl Sums {
    pub(super) fn new(members: &[Member]) -> Self {
        let mut sum = 0u32;
        let upto = members.iter().map(|m| {
            sum = sum.saturating_add(m.weight);
            sum
        });
        Self { upto: upto.collect(), members: members.to_vec() }
    }

    /// The sum of all weights.
    pub(super) fn weight(&self) -> u32 {
        self.upto.last().copied().unwrap_or(0)
    }

    /// A server by weighted chance; `None` if no server is usable.
    pub(super) fn draw(&self, random: &Prng) -> Option<&Member> {
        self.at(random.below(*self.upto.last()?))
    }

    /// A second server by weighted chance, other than `first`.
    pub(super) fn draw_other(&self, first: &Member, random: &Prng) -> Option<&Member> {
        let rest = self.weight().checked_sub(first.weight).filter(|rest| *rest > 0)?;
        let at = random.below(rest);
        let place = self.members.iter().position(|member| member.slot == first.slot)?;
        let before = self.upto[place] - first.weight;
        self.at(if at < before { at } else { at + first.weight })
    }

    fn at(&self, at: u32) -> Option<&Member> {
        self.members.get(self.upto.partition_point(|upto| *upto <= at))
    }

    /// The servers from a random one on, once around.
    pub(super) fn once_around(&self, random: &Prng) -> impl Iterator<Item = &Member> {
        let start = random.below(self.members.len() as u32) as usize;
        let (before, after) = self.members.split_at(start);
        after.iter().chain(before)
    }

    /// A server with room, the avoided server last.
    pub(super) fn any_with_room(&self, wish: &PickRequest<'_>) -> Result<&Member, NoServer> {
        first_with_room(self.once_around(wish.random), wish.avoid)
    }
}
