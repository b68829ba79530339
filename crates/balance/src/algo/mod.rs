//! The balancing algorithms, one file each, behind one trait.
//!
//! Every file has the same skeleton: a structure, `members` (rebuild after a change of state or
//! weight, rare) and `choose` (per request, which reserves on the server that it returns).

mod bound;
mod first;
mod leastconn;
mod map;
mod peak_ewma;
mod random;
mod ring;
mod roundrobin;
mod static_rr;
mod sums;

use std::sync::Arc;

use stdx::Prng;

use bound::Bound;
use sums::Sums;

use crate::{
    Load, NoServer,
    index::{LoadIndex, LoadOrder},
    latency::Latency,
};

/// `hash-type <method>`: how a hash finds its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HashMethod {
    /// A table of all servers in proportion to their weights, indexed by the hash.
    #[default]
    MapBased,
    /// A ring with many points per server; a change moves only the keys of that server.
    Consistent,
}

/// The `balance` algorithm of a backend (configuration manual, `balance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// In turns by weight, weights may change at run time.
    #[default]
    RoundRobin,
    /// In turns by weight, from a table computed when servers come and go.
    StaticRr,
    /// The least loaded by weight, in turns among equals.
    LeastConn,
    /// The first by identifier that has room.
    First,
    /// The least loaded of `draws` servers drawn at random by weight.
    Random {
        /// Draws per request; 0 counts as 1.
        draws: u32,
        /// As that of [`Algorithm::Hash`].
        balance_factor: u32,
    },
    /// The faster of two servers drawn at random by weight. Needs response times:
    /// [`crate::Balancer::observe`].
    PeakEwma,
    /// By a hash that the caller computes (`source`, `uri`, `hdr`, `hash`...).
    Hash {
        /// How the hash finds its server.
        method: HashMethod,
        /// `hash-balance-factor`: most load of a server in percent of its fair share; 0 for no
        /// bound.
        balance_factor: u32,
    },
}

impl Algorithm {
    /// Whether weights other than none and the configured one would need a new table of servers:
    /// `static-rr` and hashes by map (management manual, `set weight`).
    pub fn is_static(self) -> bool {
        matches!(self, Self::StaticRr | Self::Hash { method: HashMethod::MapBased, .. })
    }
}

/// The input of one choice.
#[derive(Clone, Copy, Debug)]
pub struct PickRequest<'a> {
    /// The hash to balance by; without one, hash algorithms have servers take turns.
    pub key: Option<u32>,
    /// The server to leave out while there is another (the one that just failed).
    pub avoid: Option<usize>,
    /// The thread's generator.
    pub random: &'a Prng,
    /// The caller's monotonic time in nanoseconds.
    pub now_ns: u64,
}

/// One server that takes part in balancing now.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) slot: usize,
    pub(crate) id: u32,
    /// Effective weight, above 0.
    pub(crate) weight: u32,
    /// User weight, above 0.
    pub(crate) user_weight: u32,
    pub(crate) load: Arc<Load>,
    pub(crate) latency: Arc<Latency>,
}

/// An algorithm at work.
pub(crate) trait Chooser: Send + Sync + std::fmt::Debug {
    /// Takes the servers that take part from now on.
    fn members(&self, members: &[Member]);

    /// Chooses a server for one request and reserves a place on it.
    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer>;
}

/// An algorithm, and the index that gets every change of load, if it needs one.
pub(crate) struct Built {
    pub(crate) chooser: Box<dyn Chooser>,
    pub(crate) index: Option<Arc<dyn LoadIndex>>,
}

/// Builds the chooser of an algorithm for servers with these loads, by slot.
pub(crate) fn build(algorithm: Algorithm, order: LoadOrder, loads: Box<[Arc<Load>]>) -> Built {
    let chooser: Box<dyn Chooser> = match algorithm {
        Algorithm::RoundRobin => Box::new(roundrobin::RoundRobin::default()),
        Algorithm::StaticRr => Box::new(static_rr::StaticRr::default()),
        Algorithm::First => Box::new(first::First::default()),
        Algorithm::Random { draws, balance_factor } => {
            Box::new(random::Random::new(draws, balance_factor))
        }
        Algorithm::PeakEwma => Box::new(peak_ewma::PeakEwma::default()),
        Algorithm::Hash { method: HashMethod::MapBased, .. } => Box::new(map::Map::default()),
        Algorithm::Hash { method: HashMethod::Consistent, balance_factor } => {
            Box::new(ring::Ring::new(balance_factor))
        }
        Algorithm::LeastConn => {
            let index = order.build(loads);
            let chooser = Box::new(leastconn::LeastConn(Arc::clone(&index)));
            return Built { chooser, index: Some(index) };
        }
    };
    Built { chooser, index: None }
}

/// Walks candidates in order of preference: takes the first with room, the avoided one only when no
/// other has room.
pub(crate) fn first_with_room<'a>(
    candidates: impl Iterator<Item = &'a Member>,
    avoid: Option<usize>,
) -> Result<&'a Member, NoServer> {
    let mut fallback = None;
    let mut any = false;
    for member in candidates {
        any = true;
        if !member.load.has_room() {
            continue;
        }
        if avoid == Some(member.slot) {
            fallback = Some(member);
        } else {
            return Ok(member);
        }
    }
    fallback.ok_or(if any { NoServer::Full } else { NoServer::Unusable })
}
