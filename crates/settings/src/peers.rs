//! `peers` sections (configuration manual, section 3.5). Data only.

use super::{Announce, Encryption, Logs, Preamble};
use std::sync::Arc;
use stdx::socket::Address;

/// A section of processes that share stick tables.
#[derive(Debug)]
pub struct PeersSection {
    /// Its name.
    pub name: String,
    /// The name of this process among the peers.
    pub local: Arc<str>,
    /// The way to the process of the same name that takes over from this one.
    pub successor: Option<PeerServer>,
    /// The bytes that go before the protocol on connections of others.
    pub preamble: Preamble,
    /// The other peers, each name once.
    pub remotes: Vec<PeerServer>,
    /// The parts of the keys that peers may get (`shards`); 0 if each gets all.
    pub shards: u32,
    /// The tables: the name in messages, and the index of the table in the process.
    pub tables: Vec<(Arc<str>, usize)>,
    /// Updates that are sent at once (`tune.peers.max-updates-at-once`).
    pub max_updates: Option<usize>,
    /// Targets of log lines.
    pub logs: Arc<Logs>,
    /// This process replaces another one, which may teach it its tables.
    pub replaces: bool,
    /// The seed of random times between connections.
    pub seed: u64,
}

/// A peer, and the way to it.
#[derive(Debug, Clone)]
pub struct PeerServer {
    /// Its name.
    pub name: Arc<str>,
    /// Its address; without one, only the peer can connect.
    pub address: Option<Address>,
    /// The shard of keys that the peer gets (`shard`); without it the peer gets all keys.
    pub shard: Option<u32>,
    /// The encryption of connections to it.
    pub encryption: Option<Encryption>,
    /// The PROXY protocol header that connections to it begin with (`send-proxy`).
    pub announce: Option<Announce>,
}
