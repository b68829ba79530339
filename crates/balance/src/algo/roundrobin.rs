//! `balance roundrobin`: smooth weighted turns, weights may change at any time.
//!
//! Each server has a *turn*, the number of the pick at which it is due again: `total / weight`
//! picks after its last turn, whether or not it was served late. The earliest turn that has come is
//! served; when none has, a fresh server (new, back, or re-weighted) is served, heaviest first;
//! when there is none either, time moves on to the earliest turn. Among turns of the same pick the
//! smaller remainder, less the weight, goes first. This gives HAProxy's order for any constant
//! weights (held by a table).
//!
//! A server that is full misses turns. Up to a round of them, as many picks as it takes until the
//! lightest server is served again, it catches up on when it has room; beyond that all are
//! forgotten, or it would get every request for as long as it has been full (HAProxy forgets nearly
//! all too).
//!
//! Shared: one lock, so one line written per pick plus the heap's own; position is inherently
//! shared.

use std::{cmp::Reverse, collections::BinaryHeap};
use stdx::Mutex;

use super::{Chooser, Member, NoServer, PickRequest};

/// A server in line. The order of the fields is the order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    turn: u64,
    /// Remainder of the turn in `1/weight` picks, less the weight.
    lead: i64,
    since: u64,
    place: usize,
}

/// A server that has had no turn since its weight last changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fresh {
    weight: Reverse<u32>,
    place: usize,
}

#[derive(Debug, Default)]
struct Line {
    members: Vec<Member>,
    due: BinaryHeap<Reverse<Due>>,
    fresh: BinaryHeap<Reverse<Fresh>>,
    total: u64,
    /// Picks until all have been served.
    round: u64,
    /// The number of the next pick: picks so far, plus turns that were skipped.
    now: u64,
}

/// The algorithm with its line of servers.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin(Mutex<Line>);

impl Chooser for RoundRobin {
    fn members(&self, members: &[Member]) {
        self.0.lock().replace(members);
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        self.0.lock().serve(wish.avoid)
    }
}

#[derive(Clone, Copy)]
enum Candidate {
    Due(Due),
    Fresh(Fresh),
}

impl Candidate {
    fn place(self) -> usize {
        match self {
            Self::Due(due) => due.place,
            Self::Fresh(fresh) => fresh.place,
        }
    }
}

impl Line {
    /// Servers that stay with the same weight keep their turn; all others are fresh.
    fn replace(&mut self, members: &[Member]) {
        let old = std::mem::replace(&mut self.members, members.to_vec());
        let turns = std::mem::take(&mut self.due);
        self.fresh.clear();
        self.total = members.iter().map(|m| u64::from(m.weight)).sum();
        let lightest = members.iter().map(|m| u64::from(m.weight)).min();
        self.round = self.total.div_ceil(lightest.unwrap_or(1).max(1));
        let slots = members.iter().map(|m| m.slot + 1).max().unwrap_or(0);
        let mut places = vec![None; slots];
        for (place, member) in members.iter().enumerate() {
            places[member.slot] = Some(place);
        }
        let mut kept = vec![false; members.len()];
        for Reverse(due) in turns {
            let was = &old[due.place];
            let place = places.get(was.slot).copied().flatten();
            if let Some(place) = place.filter(|p| members[*p].weight == was.weight) {
                kept[place] = true;
                self.due.push(Reverse(Due { place, ..due }));
            }
        }
        for (place, member) in members.iter().enumerate().filter(|(place, _)| !kept[*place]) {
            self.fresh.push(Reverse(Fresh { weight: Reverse(member.weight), place }));
        }
    }

    fn serve(&mut self, avoid: Option<usize>) -> Result<usize, NoServer> {
        let mut skipped = Vec::new();
        let mut avoided = None;
        let mut chosen = None;
        while let Some(candidate) = self.next() {
            let member = &self.members[candidate.place()];
            if !member.load.has_room() {
                skipped.push(candidate);
            } else if avoid == Some(member.slot) {
                avoided = Some(candidate);
            } else {
                chosen = Some(candidate);
                break;
            }
        }
        if chosen.is_none() {
            chosen = avoided.take();
        }
        skipped.into_iter().chain(avoided).for_each(|c| self.put_back(c));
        let none = if self.members.is_empty() { NoServer::Unusable } else { NoServer::Full };
        chosen.map(|candidate| self.take(candidate)).ok_or(none)
    }

    fn next(&mut self) -> Option<Candidate> {
        let come = self.due.peek().is_some_and(|Reverse(due)| due.turn <= self.now);
        if !come && let Some(Reverse(fresh)) = self.fresh.pop() {
            return Some(Candidate::Fresh(fresh));
        }
        self.due.pop().map(|Reverse(due)| Candidate::Due(due))
    }

    fn put_back(&mut self, candidate: Candidate) {
        match candidate {
            Candidate::Due(due) => self.due.push(Reverse(due)),
            Candidate::Fresh(fresh) => self.fresh.push(Reverse(fresh)),
        }
    }

    /// Serves the candidate and gives it its next turn.
    fn take(&mut self, candidate: Candidate) -> usize {
        let place = candidate.place();
        let member = &self.members[place];
        let weight = u64::from(member.weight);
        let (turn, remainder) = match candidate {
            Candidate::Due(due) if due.turn + self.round < self.now => (self.now, 0),
            Candidate::Due(due) => (due.turn, (due.lead + i64::from(member.weight)) as u64),
            Candidate::Fresh(_) => (self.now, 0),
        };
        let owed = remainder + self.total;
        let due = Due {
            turn: turn + owed / weight,
            lead: (owed % weight) as i64 - i64::from(member.weight),
            since: self.now,
            place,
        };
        member.load.reserve();
        let slot = member.slot;
        self.due.push(Reverse(due));
        self.now = self.now.max(turn) + 1;
        slot
    }
}
