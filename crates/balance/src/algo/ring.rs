//! `hash-type consistent`: a ring with sixteen points per unit of weight.
//!
//! A point lies at the avalanche of `id * 4096 + n`; a key belongs to the nearest point (ties to
//! the one before it). Requests without a key walk around the ring, point by point. Shared: a table
//! read by all; a pick writes the line of the table's lock and, without a key, that of the
//! position.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use stdx::RwLock;

use super::{Bound, Chooser, Member, NoServer, PickRequest, first_with_room};
use crate::hash::avalanche;

/// Points of successive servers start this far apart: 256 units of weight, sixteen points each.
const POINTS_PER_ID: u32 = 4096;

#[derive(Debug, Default)]
struct Points {
    members: Vec<Member>,
    /// Position on the ring and place in `members`, ordered.
    ring: Vec<(u32, u32)>,
    weight: u64,
}

impl Points {
    fn new(members: &[Member]) -> Self {
        let points = |(place, member): (usize, &Member)| {
            let base = member.id.wrapping_mul(POINTS_PER_ID);
            (0..member.weight).map(move |n| (avalanche(base.wrapping_add(n)), place as u32))
        };
        let mut ring: Vec<_> = members.iter().enumerate().flat_map(points).collect();
        ring.sort_unstable();
        let weight = members.iter().map(|m| u64::from(m.weight)).sum();
        Self { ring, weight, members: members.to_vec() }
    }

    /// The servers from the point nearest to `key` on, once around.
    fn from(&self, key: u32) -> impl Iterator<Item = &Member> {
        self.around_from(self.nearest(key))
    }

    /// The servers from a point on, once around; points are counted on beyond the last.
    fn around_from(&self, point: usize) -> impl Iterator<Item = &Member> {
        let (before, after) = self.ring.split_at(point % self.ring.len().max(1));
        after.iter().chain(before).map(|(_, place)| &self.members[*place as usize])
    }

    fn nearest(&self, key: u32) -> usize {
        let count = self.ring.len();
        if count == 0 {
            return 0;
        }
        let at = self.ring.partition_point(|(point, _)| *point < key);
        let (next, before) = (at % count, (at + count - 1) % count);
        let ahead = self.ring[next].0.wrapping_sub(key);
        let behind = key.wrapping_sub(self.ring[before].0);
        if ahead < behind { next } else { before }
    }
}

/// The algorithm with its ring, and the position of requests without a key.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    points: RwLock<Points>,
    position: AtomicUsize,
    balance_factor: u32,
}

impl Ring {
    pub(crate) fn new(balance_factor: u32) -> Self {
        Self { balance_factor, ..Self::default() }
    }
}

impl Chooser for Ring {
    fn members(&self, members: &[Member]) {
        *self.points.write() = Points::new(members);
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        let points = self.points.read();
        let Some(key) = wish.key else {
            let point = self.position.fetch_add(1, Relaxed);
            let member = first_with_room(points.around_from(point), wish.avoid)?;
            member.load.reserve();
            return Ok(member.slot);
        };
        let bound = Bound::new(self.balance_factor, &points.members, points.weight);
        let fits = |m: &&Member| bound.admits(m);
        let first = points.from(key).next().ok_or(NoServer::Unusable)?;
        let member =
            points.from(key).filter(fits).find(|m| wish.avoid != Some(m.slot)).unwrap_or(first);
        member.load.reserve();
        Ok(member.slot)
    }
}
