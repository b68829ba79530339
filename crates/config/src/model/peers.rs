//! `peers` sections (section 3.5).
use super::{Address, Bind, LogTarget, ServerOptions};
use crate::diag::Place;
use std::sync::Arc;

/// A `peers` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peers {
    /// Its name.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// `disabled`, or no peer has the name of this process: tables are not shared.
    pub disabled: bool,
    /// The name of this process among the peers.
    pub local: Arc<str>,
    /// The listener: a `bind` line, or the address of the local peer.
    pub bind: Option<Bind>,
    /// The parts of the keys that peers may get; 0 if each gets all.
    pub shards: u32,
    /// All peers, the local one included.
    pub peers: Vec<Peer>,
    /// `log` lines, those of `global` included.
    pub logs: Vec<LogTarget>,
}

/// A `peer` or `server` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: Arc<str>,
    /// Its address; the local peer needs none.
    pub address: Option<Address>,
    /// The shard of keys that the peer gets; without it the peer gets all keys.
    pub shard: Option<u32>,
    /// TLS options of its line (section 5.2).
    pub options: ServerOptions,
    /// Its side of TLS, if the connection is encrypted.
    pub tls: Option<Arc<tls::Connector>>,
    /// The place of its line.
    pub place: Place,
}

impl Peers {
    /// The line of this process.
    pub fn local_peer(&self) -> Option<&Peer> {
        self.peers.iter().find(|peer| peer.name == self.local)
    }
}
