//! `balance peak-ewma`: of two servers drawn by weight, the one expected to answer first.
//!
//! The expectation is the server's peak-sensitive mean latency times the requests that it has under
//! way and this one, by weight (Finagle's peak EWMA, with the power of two choices). Shared: a
//! table read by all; a pick writes the line of the table's lock, an answer the line of its
//! server's [`Latency`](crate::latency::Latency).

use stdx::RwLock;

use super::{Chooser, Member, NoServer, PickRequest, Sums};

/// The algorithm with its table.
#[derive(Debug, Default)]
pub(crate) struct PeakEwma(RwLock<Sums>);

impl Chooser for PeakEwma {
    fn members(&self, members: &[Member]) {
        *self.0.write() = Sums::new(members);
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        let sums = self.0.read();
        let usable = |m: &&Member| wish.avoid != Some(m.slot) && m.load.has_room();
        let cost = |m: &Member| m.latency.cost(m.load.total(), wish.now_ns) / f64::from(m.weight);
        let first = sums.draw(wish.random);
        let second = first.and_then(|first| sums.draw_other(first, wish.random));
        let best = first.into_iter().chain(second).filter(usable);
        let best = best.reduce(|one, other| if cost(other) < cost(one) { other } else { one });
        let member = match best {
            Some(member) => member,
            None => sums.any_with_room(wish)?,
        };
        member.load.reserve();
        Ok(member.slot)
    }
}
