//! `balance static-rr`: turns through a table computed when servers come and go. Never looks at load.
//!
//! Shared: a table read by all, and the position, whose line every pick writes once.

use std::sync::{
    RwLock,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::{Chooser, Member, NoServer, Wish, first_with_room, read, write};

/// Servers in the order of their turns over one round, in proportion to their user weights.
#[derive(Debug, Default)]
pub(super) struct Table {
    members: Vec<Member>,
    turns: Vec<u32>,
}

impl Table {
    /// Spreads each server over the round: every step gives each server its weight as credit, and
    /// takes a whole round from the one that is served. That is the first in list order that is
    /// owed a whole turn, or else the first that owes nothing, or else the first.
    pub(super) fn new(members: &[Member]) -> Self {
        let unit = members.iter().fold(0, |a, m| gcd(a, m.user_weight)).max(1);
        let weights: Vec<i64> = members.iter().map(|m| i64::from(m.user_weight / unit)).collect();
        let round: i64 = weights.iter().sum();
        let mut credit = vec![0i64; members.len()];
        let turns = (0..round).map(|_| {
            for (credit, weight) in credit.iter_mut().zip(&weights) {
                *credit += weight;
            }
            let first = |least: i64| credit.iter().position(|c| *c >= least);
            let served = first(round).or_else(|| first(0)).unwrap_or(0);
            credit[served] -= round;
            served as u32
        });
        Self { turns: turns.collect(), members: members.to_vec() }
    }

    /// The servers from this turn on, over one whole round.
    pub(super) fn from(&self, turn: usize) -> impl Iterator<Item = &Member> {
        let (before, after) = self.turns.split_at(turn % self.turns.len().max(1));
        after.iter().chain(before).map(|place| &self.members[*place as usize])
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The algorithm with its table.
#[derive(Debug, Default)]
pub(crate) struct StaticRr {
    table: RwLock<Table>,
    position: AtomicUsize,
}

impl Chooser for StaticRr {
    fn members(&self, members: &[Member]) {
        let mut table = write(&self.table);
        *table = Table::new(members);
        self.position.store(0, Relaxed);
    }

    fn choose(&self, wish: &Wish<'_>) -> Result<usize, NoServer> {
        let table = read(&self.table);
        let turn = self.position.fetch_add(1, Relaxed);
        let member = first_with_room(table.from(turn), wish.avoid)?;
        member.load.reserve();
        Ok(member.slot)
    }
}
