//! A group as it looks from outside, for `show peers` and metrics.

use super::{Group, LOCAL};
use crate::hello::Version;
use crate::peer::{PeerCounters, PeerStatus};
use crate::session::{Session, TaughtTable};
use std::sync::Arc;

/// A peer as listings show it.
#[derive(Debug, Clone)]
pub struct PeerView {
    /// Its name.
    pub name: Arc<str>,
    /// It is this process.
    pub is_local: bool,
    /// How the last attempt to speak with it has ended, or what goes on.
    pub status: PeerStatus,
    /// The version of the session that is open.
    pub version: Option<Version>,
    /// When the last handshake succeeded.
    pub established_at: Option<u64>,
    /// When the next connection is due.
    pub reconnect_at: Option<u64>,
    /// Its process; 0 if it is not known.
    pub pid: u64,
    /// Counts since the start.
    pub counters: PeerCounters,
    /// The tables that are shared with it.
    pub tables: Vec<TableView>,
}

/// One table as a peer and this process have told each other of it.
#[derive(Debug, Clone)]
pub struct TableView {
    /// The name of the table in messages.
    pub name: Arc<str>,
    /// Its number in our messages.
    pub local_id: u64,
    /// Its number in the peer's messages; 0 as long as none has come.
    pub remote_id: u64,
    /// The last update that we have sent.
    pub last_sent: u32,
    /// The last of our updates that the peer has acknowledged.
    pub last_acked: u32,
    /// The last update that the peer has sent.
    pub last_received: u32,
}

impl Group {
    /// All peers, the local one first.
    pub fn view(&self) -> impl Iterator<Item = PeerView> {
        (LOCAL..self.peers.len()).map(|at| self.view_peer(at))
    }

    fn view_peer(&self, at: usize) -> PeerView {
        let peer = &self.peers[at];
        let session = peer.session.and_then(|id| self.sessions.get(&id));
        PeerView {
            name: peer.name.clone(),
            is_local: at == LOCAL,
            status: peer.status,
            version: session.map(|session| session.version),
            established_at: peer.established_at,
            reconnect_at: peer.reconnect_at,
            pid: peer.pid,
            counters: peer.counters,
            tables: (0..self.tables.len())
                .map(|table| self.view_table(at, table, session))
                .collect(),
        }
    }

    fn view_table(&self, peer: usize, table: usize, session: Option<&Session>) -> TableView {
        let progress = self.peers[peer].progress.get(table);
        let is_it = |taught: &&TaughtTable| taught.local == Some(table);
        let taught = session.and_then(|session| session.incoming.tables.iter().find(is_it));
        TableView {
            name: self.tables[table].name.clone(),
            local_id: table as u64 + 1,
            remote_id: taught.map_or(0, |taught| taught.definition.id),
            last_sent: progress.map_or(0, |progress| progress.sent),
            last_acked: progress.map_or(0, |progress| progress.acked),
            last_received: taught.map_or(0, |taught| taught.last),
        }
    }
}
