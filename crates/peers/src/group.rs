//! All peers of a section: their connections, the tables that are taught to them and learned from them.
//!
//! Contract. The caller owns sockets, buffers and the clock; the group says what to do.
//! - After every call, take all actions ([`Group::next_action`]).
//! - [`Action::Connect`]: connect to the peer; answer with [`Group::connected`] or
//!   [`Group::connect_failed`].
//! - A connection from outside: [`Group::accept`].
//! - Bytes that have come: [`Group::receive`]; what it does not use stays at the front of the
//!   caller's buffer, which has room for `max_message` and 16 bytes.
//! - Whenever a connection can be written: [`Group::transmit`], again as long as it returns `true`,
//!   with other work in between; after [`Group::receive`], [`Group::tick`] and a wake-up by the
//!   callback of a table, for every session. It arms the callbacks before it returns `false`.
//! - The end of a connection: [`Group::closed`], but for those that [`Action::Close`] names.
//! - At [`Group::next_deadline`]: [`Group::tick`].
//!
//! Bounds. A session keeps a few hundred bytes, one encoded update, 64 entries and 256 texts; a
//! peer that does not read is sent nothing and pins nothing else. One `receive` works through the
//! bytes that it is given; one `transmit` sends `max_updates` updates at most.

mod deadlines;
mod handshake;
mod learn;
mod resync;
mod teach;
#[cfg(test)]
mod tests;
mod view;

use crate::hello::Version;
use crate::message::{Control, WireError};
use crate::peer::{Peer, PeerStatus};
use crate::roles::{self, LOCAL, Owner, Role};
use crate::session::{Incoming, Outgoing, Session, SessionId, State};
use crate::settings::{Settings, SharedTable};
use resync::{FirstHand, Resync};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::Prng;
use table::Table;

pub use view::{GroupView, PeerView, SessionView, TableView};

/// Time for hello and status, and for what is left to send, in milliseconds.
const HANDSHAKE: u64 = 5_000;
/// Connections without a hello that are accepted beyond one per peer.
const STRANGERS: usize = 32;
/// Bytes of control messages that a peer may have us owe it.
const MAX_PENDING: usize = 512;

/// A task of the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Connect to a peer, by its place.
    Connect(usize),
    /// Close a connection; its session is over.
    Close(SessionId),
    /// Report something to the operator.
    Report(Event),
}

/// An event that is reported to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A session with a peer is open.
    Established(Arc<str>),
    /// A session with a peer has ended.
    Lost(Arc<str>, Loss),
    /// A connection was refused with this status.
    Refused(u16),
    /// A peer has refused us with this status.
    RefusedBy(Arc<str>, u16),
    /// A peer describes the keys of a table otherwise than this process: its updates are of no use.
    Mismatch(Arc<str>, Arc<str>),
    /// A table is full, so that an entry of a peer was left out.
    Full(Arc<str>, Arc<str>),
    /// This process has learned all entries of the others, or stops waiting.
    UpToDate,
}

/// The reason why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The connection has ended.
    Closed,
    /// The peer has sent nothing for five seconds.
    Silence,
    /// The peer has violated the protocol.
    ProtocolError,
    /// The peer says that we have violated the protocol.
    Complaint,
    /// A later connection takes its place.
    Collision,
    /// This process stops.
    Stop,
}

/// The search of a process that stops for its successor.
#[derive(Debug)]
struct Stopping {
    /// The end of the search.
    until: u64,
    /// Connections that failed.
    failures: u32,
}

/// The peers of a section.
#[derive(Debug)]
pub struct Group {
    settings: Settings,
    tables: Vec<SharedTable>,
    /// Of each table.
    roles: Vec<Role>,
    peers: Vec<Peer>,
    sessions: BTreeMap<SessionId, Session>,
    next_session: u64,
    actions: VecDeque<Action>,
    resync: Resync,
    first_hand: FirstHand,
    /// This process only teaches its successor.
    stopping: Option<Stopping>,
    is_taught: bool,
    began_at: u64,
    random: Prng,
}

impl Group {
    /// The peers of a section with their tables. Connections to the remote ones are due at once.
    /// Subscribes to the changes of the tables.
    pub fn new(settings: Settings, tables: Vec<SharedTable>, seed: u64, now: u64) -> Group {
        let local = std::iter::once(&settings.local);
        let names: Vec<Arc<str>> = local.chain(&settings.remotes).cloned().collect();
        let (tables, roles) = roles::assign(tables, &names);
        let numbered = names.into_iter().enumerate();
        let peer = |(at, name)| Peer {
            shard: usize::checked_sub(at, LOCAL + 1).and_then(|at| settings.shards.of_remote(at)),
            ..Peer::new(name, at != LOCAL, &tables, now)
        };
        let peers = numbered.map(peer).collect();
        let mut group = Group {
            resync: Resync::new(settings.replaces, now),
            first_hand: FirstHand::new(),
            settings,
            tables,
            roles,
            peers,
            sessions: BTreeMap::new(),
            next_session: 0,
            actions: VecDeque::new(),
            stopping: None,
            is_taught: false,
            began_at: now,
            random: Prng::new(seed),
        };
        group.tick(now);
        group
    }

    /// The tables that are shared.
    pub fn tables(&self) -> &[SharedTable] {
        &self.tables
    }

    /// The name of a peer.
    pub fn peer_name(&self, peer: usize) -> Option<&str> {
        self.peers.get(peer).map(|peer| &*peer.name)
    }

    /// Open connections.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.keys().copied()
    }

    /// The copies of tables that a peer alone changes.
    fn copies_of(&self, peer: usize) -> impl Iterator<Item = &Table> {
        let all = self.tables.iter().zip(&self.roles);
        let own = all.filter(move |(_, role)| role.owner == Owner::Peer(peer));
        own.map(|(shared, _)| &*shared.table)
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Takes an incoming connection; `None` if it is to be closed at once.
    pub fn accept(&mut self, now: u64) -> Option<SessionId> {
        let is_stranger = |session: &&Session| matches!(session.state, State::AwaitHello(_));
        let strangers = self.sessions.values().filter(is_stranger).count();
        if self.stopping.is_some() || strangers >= self.peers.len() + STRANGERS {
            return None;
        }
        let state = State::AwaitHello(now + HANDSHAKE);
        Some(self.add(Session::new(state, None, Version::V21, now)))
    }

    /// Takes a connection that [`Action::Connect`] has opened; `None` if it is to be closed at
    /// once, because the peer has connected meanwhile.
    pub fn connected(&mut self, peer: usize, now: u64) -> Option<SessionId> {
        let known = self.peers.get_mut(peer)?;
        known.connecting = false;
        if known.session.is_some() || (self.stopping.is_some() && peer != LOCAL) {
            return None;
        }
        known.status = PeerStatus::Handshake;
        known.counters.new_connections += 1;
        let state = State::AwaitStatus(now + HANDSHAKE);
        let mut session = Session::new(state, Some(peer), known.version, now);
        self.greet(&mut session, peer);
        let id = self.add(session);
        self.peers[peer].session = Some(id);
        Some(id)
    }

    /// Reports that a connection attempt failed.
    pub fn connect_failed(&mut self, peer: usize, now: u64) {
        if let Some(known) = self.peers.get_mut(peer) {
            known.connecting = false;
            if known.session.is_none() {
                known.status = PeerStatus::Closed;
                self.retry_later(peer, now);
            }
            if let Some(stopping) = &mut self.stopping {
                stopping.failures += 1;
            }
        }
    }

    fn add(&mut self, session: Session) -> SessionId {
        let id = SessionId(self.next_session);
        self.next_session += 1;
        self.sessions.insert(id, session);
        id
    }

    /// Works through bytes that have come and returns how many were used. A session that is over
    /// uses all.
    pub fn receive(&mut self, id: SessionId, bytes: &[u8], now: u64) -> usize {
        let Some(mut session) = self.sessions.remove(&id) else { return bytes.len() };
        session.received_at = now;
        let mut used = 0;
        loop {
            let step = match session.state {
                State::AwaitHello(_) => self.receive_hello(id, &mut session, &bytes[used..], now),
                State::AwaitStatus(_) => self.receive_status(id, &mut session, &bytes[used..], now),
                State::Open => self.receive_message(&mut session, &bytes[used..], now),
                State::Closing(_) => {
                    used = bytes.len();
                    break;
                }
            };
            match step {
                Step::Used(len) => used += len,
                Step::Wait => break,
                Step::End(loss) => {
                    self.part(id, &mut session, loss, now);
                    used = bytes.len();
                    break;
                }
            }
        }
        self.sessions.insert(id, session);
        used
    }

    /// Takes note that a connection has ended.
    pub fn closed(&mut self, id: SessionId, now: u64) {
        if let Some(mut session) = self.sessions.remove(&id) {
            self.part(id, &mut session, Loss::Closed, now);
        }
    }

    /// Ends a session for its peer. Unsent output is still sent.
    fn part(&mut self, id: SessionId, session: &mut Session, loss: Loss, now: u64) {
        session.state = State::Closing(now + HANDSHAKE);
        // An update that was begun is completed, so that what follows is understood.
        let held = std::mem::take(&mut session.outgoing.held);
        session.outgoing = Outgoing { held, ..Outgoing::default() };
        session.incoming = Incoming::default();
        let Some(peer) = session.peer.take() else { return };
        let known = &mut self.peers[peer];
        match loss {
            Loss::ProtocolError => known.counters.protocol_errors += 1,
            Loss::Silence => known.counters.missing_heartbeats += 1,
            Loss::Collision => known.counters.collisions += 1,
            Loss::Closed | Loss::Complaint | Loss::Stop => {}
        }
        if known.session != Some(id) {
            return;
        }
        known.session = None;
        let was_open = known.status == PeerStatus::Established;
        if !matches!(known.status, PeerStatus::Refused(_)) {
            known.status = PeerStatus::Closed;
        }
        if was_open {
            self.actions.push_back(Action::Report(Event::Lost(known.name.clone(), loss)));
            self.copies_of(peer).for_each(|table| table.node_lost(now));
            self.retry_soon(peer, now);
        } else {
            self.retry_later(peer, now);
        }
        self.lose_teacher(peer, now);
    }

    /// Ends a session that is not being worked on.
    fn end(&mut self, id: SessionId, loss: Loss, now: u64) {
        if let Some(mut session) = self.sessions.remove(&id) {
            self.part(id, &mut session, loss, now);
            self.actions.push_back(Action::Close(id));
        }
    }

    /// Queues a control message; `Err`: the peer has us owe it too many.
    fn say(session: &mut Session, control: Control) -> Result<(), WireError> {
        if session.pending.len() > MAX_PENDING {
            return Err(WireError::Protocol);
        }
        control.write(&mut session.pending);
        Ok(())
    }
}

impl Drop for Group {
    /// Ends the readers of the tables, which may outlive the group.
    fn drop(&mut self) {
        for peer in &mut self.peers {
            for (progress, shared) in peer.progress.iter_mut().zip(&self.tables) {
                if let Some(reader) = progress.reader.take() {
                    shared.table.unsubscribe(reader);
                }
            }
        }
    }
}

/// The result of working through bytes.
enum Step {
    /// The number of bytes used.
    Used(usize),
    /// More are needed.
    Wait,
    /// The session is over.
    End(Loss),
}
