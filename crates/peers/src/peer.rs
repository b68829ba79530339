//! One peer of a group, whether connected or not.

use crate::hello::Version;
use crate::progress::Progress;
use crate::session::SessionId;
use crate::settings::SharedTable;
use std::sync::Arc;

/// Counts that `show peers` lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeerCounters {
    /// Connections that this process has opened.
    pub new_connections: u32,
    /// Heartbeats sent.
    pub sent_heartbeats: u32,
    /// Heartbeats received.
    pub received_heartbeats: u32,
    /// Connections that were closed because the peer was silent.
    pub missing_heartbeats: u32,
    /// Breaches of the protocol by the peer.
    pub protocol_errors: u32,
    /// Connections that a later one has replaced.
    pub collisions: u32,
    /// Entries learned.
    pub learned: u64,
    /// Entries taught.
    pub taught: u64,
    /// Entries that were learned and dropped because the table was full.
    pub full: u64,
}

/// How the last attempt to speak with a peer has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeerStatus {
    /// There was none.
    #[default]
    None,
    /// A connection is being made.
    Connecting,
    /// Hello or status are under way.
    Handshake,
    /// The session is open.
    Established,
    /// The peer has answered with this status.
    Refused(u16),
    /// The connection has ended.
    Closed,
}

/// A peer.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: Arc<str>,
    /// The shard of keys that the peer gets; without it the peer gets all keys.
    pub(crate) shard: Option<u32>,
    pub(crate) session: Option<SessionId>,
    /// The caller was asked for a connection and has not answered yet.
    pub(crate) connecting: bool,
    /// When the next connection is to be made.
    pub(crate) reconnect_at: Option<u64>,
    /// The version to ask for.
    pub(crate) version: Version,
    /// The number of its process; 0 as long as it is not known.
    pub(crate) pid: u64,
    /// The peer has taught us, and was not up to date itself.
    pub(crate) is_partial: bool,
    /// Per table.
    pub(crate) progress: Vec<Progress>,
    pub(crate) status: PeerStatus,
    /// The last handshake that succeeded.
    pub(crate) established_at: Option<u64>,
    pub(crate) counters: PeerCounters,
}

impl Peer {
    /// A peer; the first connection to a remote one is due at once.
    pub(crate) fn new(name: Arc<str>, remote: bool, tables: &[SharedTable], now: u64) -> Peer {
        let progress =
            tables.iter().filter(|_| remote).map(|it| Progress::new(&it.table)).collect();
        Peer {
            name,
            shard: None,
            session: None,
            connecting: false,
            reconnect_at: remote.then_some(now),
            version: Version::V21,
            pid: 0,
            is_partial: false,
            progress,
            status: PeerStatus::None,
            established_at: None,
            counters: PeerCounters::default(),
        }
    }

    /// Begins to teach over a new connection. A process that has replaced the one that was taught
    /// is taught all changes again, and so is everyone of a table that this process alone changes:
    /// open connections of earlier sessions do not count.
    pub(crate) fn restart(&mut self, tables: &[SharedTable], pid: u64) {
        let replaced = self.pid != 0 && pid != 0 && self.pid != pid;
        self.pid = if pid == 0 { self.pid } else { pid };
        self.is_partial = false;
        for (progress, shared) in self.progress.iter_mut().zip(tables) {
            if replaced || shared.table.settings().aggregate.is_some() {
                progress.confirmed = 0;
            }
            progress.restart(&shared.table);
        }
    }
}
