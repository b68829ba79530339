//! `balance static-rr`: turns through a table computed when servers come and go.
//!
//! Shared: a table read by all, and the position, whose line every pick writes once.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use stdx::RwLock;

use super::{Chooser, Member, NoServer, PickRequest, first_with_room};

/// Servers in the order of their turns over one round, in proportion to their user weights.
#[derive(Debug, Default)]
pub(super) struct Table {
    members: Vec<Member>,
    turns: Vec<u32>,
}

impl Table {
    /// Spreads each server over the round: every step gives each server its weight as credit, and
    /// takes a whole round from the one that is served. The server that is served is the first in
    /// list order with credit for a whole turn, else the first without a debt, else the first.
    pub(super) fn new(members: &[Member]) -> Self {
        let unit = members.iter().fold(0, |a, m| gcd(a, m.user_weight)).max(1);
        let weights: Vec<i64> =
            members.iter().map(|m| i64::from(m.user_weight / unit).max(1)).collect();
        let mut credits = Credits::new(&weights);
        let turns = (0..credits.round).map(|step| credits.serve(step));
        Self { turns: turns.collect(), members: members.to_vec() }
    }

    /// The servers from this turn on, over one whole round.
    pub(super) fn from(&self, turn: usize) -> impl Iterator<Item = &Member> {
        let (before, after) = self.turns.split_at(turn % self.turns.len().max(1));
        after.iter().chain(before).map(|place| &self.members[*place as usize])
    }
}

/// The servers of a round by their credits. Credits are not counted step by step: the structure
/// keeps the step from which on a credit suffices, so that a round costs its turns, not their
/// product with the servers.
struct Credits<'a> {
    weights: &'a [i64],
    round: i64,
    /// Turns that each server has had.
    served: Vec<i64>,
    /// Servers with credit for a whole turn.
    owed: BTreeSet<usize>,
    /// Servers that owe nothing and are owed less than a whole turn.
    even: BTreeSet<usize>,
    /// The step at which a server enters `due`, and its index.
    rising: BinaryHeap<Reverse<(i64, usize)>>,
    /// The present step of each server in `rising`; entries with another step are out of date.
    due: Vec<i64>,
}

impl<'a> Credits<'a> {
    fn new(weights: &'a [i64]) -> Self {
        Self {
            weights,
            round: weights.iter().sum(),
            served: vec![0; weights.len()],
            owed: BTreeSet::new(),
            even: BTreeSet::new(),
            // Servers get credit before their turn, so none has a debt at the start.
            rising: (0..weights.len()).map(|place| Reverse((0, place))).collect(),
            due: vec![0; weights.len()],
        }
    }

    /// Gives the turn of this step away.
    fn serve(&mut self, step: i64) -> u32 {
        while let Some(Reverse((due, place))) = self.rising.peek().copied()
            && due <= step
        {
            self.rising.pop();
            if self.due[place] == due {
                self.stand(place, step);
            }
        }
        let served = self.owed.first().or_else(|| self.even.first()).copied().unwrap_or(0);
        self.served[served] += 1;
        self.stand(served, step);
        served as u32
    }

    /// Puts a server where its credit at this step belongs.
    fn stand(&mut self, place: usize, step: i64) {
        let (weight, spent) = (self.weights[place], self.served[place] * self.round);
        let credit = weight * (step + 1) - spent;
        self.owed.remove(&place);
        self.even.remove(&place);
        let next = match credit {
            credit if credit >= self.round => {
                self.owed.insert(place);
                return;
            }
            credit if credit >= 0 => {
                self.even.insert(place);
                spent + self.round
            }
            _ => spent,
        };
        // The first step after which `weight` has been given often enough.
        let due = (next + weight - 1) / weight - 1;
        if self.due[place] != due {
            self.due[place] = due;
            self.rising.push(Reverse((due, place)));
        }
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
        // Built before the lock is taken, so that picks are not delayed.
        let made = Table::new(members);
        let mut table = self.table.write();
        *table = made;
        self.position.store(0, Relaxed);
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        let table = self.table.read();
        let turn = self.position.fetch_add(1, Relaxed);
        let member = first_with_room(table.from(turn), wish.avoid)?;
        member.load.reserve();
        Ok(member.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The turns by their definition, step by step.
    fn plain(weights: &[i64]) -> Vec<u32> {
        let round: i64 = weights.iter().sum();
        let mut credit = vec![0i64; weights.len()];
        let step = |_| {
            credit.iter_mut().zip(weights).for_each(|(credit, weight)| *credit += weight);
            let first = |least: i64| credit.iter().position(|c| *c >= least);
            let served = first(round).or_else(|| first(0)).unwrap_or(0);
            credit[served] -= round;
            served as u32
        };
        (0..round).map(step).collect()
    }

    fn turns(weights: &[i64]) -> Vec<u32> {
        let mut credits = Credits::new(weights);
        (0..credits.round).map(|step| credits.serve(step)).collect()
    }

    #[test]
    fn a_farm_of_many_weights_has_its_turns() {
        let weights: Vec<i64> = (0..300).map(|n| 1 + n * 7 % 256).collect();
        assert_eq!(turns(&weights), plain(&weights));
    }

    proptest! {
        #[test]
        fn turns_are_those_of_the_definition(weights in prop::collection::vec(1i64..257, 1..12)) {
            prop_assert_eq!(turns(&weights), plain(&weights));
        }
    }
}
