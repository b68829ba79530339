//! A group as it looks from outside, for `show peers` and metrics.

use super::deadlines::heartbeat_due;
use super::{Group, LOCAL};
use crate::hello::Version;
use crate::peer::{PeerCounters, PeerStatus};
use crate::session::{Current, Session, SessionId, State, TaughtTable};
use std::sync::Arc;

/// A group as listings show it. Times are on the clock of the tables.
#[derive(Debug, Clone)]
pub struct GroupView {
    /// When it began.
    pub began_at: u64,
    /// The process is up to date, or waits for no further lesson.
    pub is_up_to_date: bool,
    /// The process teaches its successor.
    pub is_stopping: bool,
    /// When the process stops to wait for a teacher.
    pub resync_due: Option<u64>,
    /// The place of the peer that teaches.
    pub teacher: Option<usize>,
    /// All peers, the local one first.
    pub peers: Vec<PeerView>,
}

/// A peer as listings show it.
#[derive(Debug, Clone)]
pub struct PeerView {
    /// Its name.
    pub name: Arc<str>,
    /// Whether the peer is this process.
    pub is_local: bool,
    /// The state of the connection, or the result of the last attempt.
    pub status: PeerStatus,
    /// A connection is being made.
    pub is_connecting: bool,
    /// When the last handshake succeeded.
    pub established_at: Option<u64>,
    /// When the next connection is due.
    pub reconnect_at: Option<u64>,
    /// The id of the peer's process; 0 if it is unknown.
    pub pid: u64,
    /// The peer has taught this process, and was not up to date itself.
    pub is_partial: bool,
    /// Counts since the start.
    pub counters: PeerCounters,
    /// The connection.
    pub session: Option<SessionView>,
    /// The tables that are shared with it.
    pub tables: Vec<TableView>,
}

/// A connection as listings show it.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// Its name.
    pub id: SessionId,
    /// Whether the handshake is over.
    pub is_open: bool,
    /// The version that both sides speak.
    pub version: Version,
    /// The peer is being taught everything.
    pub is_lesson: bool,
    /// When the next heartbeat is due.
    pub heartbeat_at: Option<u64>,
    /// The table that the peer's updates are about.
    pub learned_table: Option<usize>,
    /// The table that our updates are about.
    pub taught_table: Option<usize>,
    /// The texts that the peer has numbered, by number from 0.
    pub received_texts: Vec<Option<Arc<str>>>,
    /// The texts that this side has numbered.
    pub sent_texts: Vec<Arc<str>>,
}

/// One table as a peer and this process have described it to each other.
#[derive(Debug, Clone)]
pub struct TableView {
    /// The name of the table in messages.
    pub name: Arc<str>,
    /// Its number in our messages.
    pub local_id: u64,
    /// The number of the table in the peer's messages; 0 until the peer has described it.
    pub remote_id: u64,
    /// The data types that the peer stores, as bits.
    pub remote_data: u64,
    /// The last update that we have sent.
    pub last_sent: u32,
    /// The last of our updates that the peer has acknowledged.
    pub last_acked: u32,
    /// The last update that the peer has sent.
    pub last_received: u32,
    /// The last update of the peer that this side has acknowledged.
    pub last_confirmed: u32,
    /// The last change of the table.
    pub changes: u64,
    /// The last change of the table that the peer has confirmed.
    pub confirmed: u64,
}

impl Group {
    /// All peers, the local one first.
    pub fn view(&self) -> GroupView {
        GroupView {
            began_at: self.began_at,
            is_up_to_date: self.is_up_to_date(),
            is_stopping: self.stopping.is_some(),
            resync_due: self.resync.deadline(),
            teacher: self.resync.teacher(),
            peers: (LOCAL..self.peers.len()).map(|at| self.view_peer(at)).collect(),
        }
    }

    /// Peers with a connection that is open or being opened, and those whose handshake is over.
    pub fn counts(&self) -> (usize, usize) {
        let is_active = self.peers.iter().filter(|it| it.connecting || it.session.is_some());
        let open = self.sessions.values().filter(|it| it.state == State::Open);
        (is_active.count(), open.count())
    }

    fn view_peer(&self, at: usize) -> PeerView {
        let peer = &self.peers[at];
        let session = peer.session.and_then(|id| Some((id, self.sessions.get(&id)?)));
        PeerView {
            name: peer.name.clone(),
            is_local: at == LOCAL,
            status: peer.status,
            is_connecting: peer.connecting,
            established_at: peer.established_at,
            reconnect_at: peer.reconnect_at,
            pid: peer.pid,
            is_partial: peer.is_partial,
            counters: peer.counters,
            session: session.map(|(id, session)| view_session(id, session)),
            tables: (0..self.tables.len())
                .map(|table| self.view_table(at, table, session.map(|(_, session)| session)))
                .collect(),
        }
    }

    fn view_table(&self, peer: usize, table: usize, session: Option<&Session>) -> TableView {
        let progress = self.peers[peer].progress.get(table);
        let is_it = |taught: &&TaughtTable| taught.local == Some(table);
        let taught = session.and_then(|session| session.incoming.tables.iter().find(is_it));
        let last = taught.map_or(0, |taught| taught.last);
        TableView {
            name: self.tables[table].name.clone(),
            local_id: table as u64 + 1,
            remote_id: taught.map_or(0, |taught| taught.definition.id),
            remote_data: taught.map_or(0, |taught| taught.definition.data_bits()),
            last_sent: progress.map_or(0, |progress| progress.sent),
            last_acked: progress.map_or(0, |progress| progress.acked),
            last_received: last,
            last_confirmed: taught.filter(|taught| !taught.owes_ack).map_or(0, |_| last),
            changes: self.tables[table].table.last_change(),
            confirmed: progress.map_or(0, |progress| progress.confirmed),
        }
    }
}

fn view_session(id: SessionId, session: &Session) -> SessionView {
    let learned_table = match session.incoming.current {
        Current::Shared(at) => session.incoming.tables.get(at).and_then(|taught| taught.local),
        Current::Stray | Current::None => None,
    };
    SessionView {
        id,
        is_open: session.state == State::Open,
        version: session.version,
        is_lesson: session.outgoing.lesson.is_some(),
        heartbeat_at: heartbeat_due(session),
        learned_table,
        taught_table: session.outgoing.described,
        received_texts: session.incoming.texts.all().to_vec(),
        sent_texts: session.outgoing.texts.all().cloned().collect(),
    }
}
