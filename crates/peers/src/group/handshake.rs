//! Hello and status, collisions of connections.

use super::{Action, Event, Group, HANDSHAKE, LOCAL, Loss, Step, Stopping};
use crate::hello::{Hello, HelloError, Status, Version};
use crate::peer::PeerStatus;
use crate::session::{Session, SessionId, State, Teaching};

/// Changes that are sent at once when a session begins, even if the peer is about to ask for all
/// entries.
const MAX_HASTE: u64 = 1_000;
/// Milliseconds that a peer has to ask for all entries before more changes than that are sent.
const HOLD: u64 = 200;

impl Group {
    /// Queues our hello to a peer.
    pub(super) fn greet(&self, session: &mut Session, peer: usize) {
        let hello = Hello {
            version: session.version,
            remote: self.peers[peer].name.to_string(),
            local: self.settings.local.to_string(),
            pid: self.settings.pid.into(),
        };
        hello.write(&mut session.pending);
    }

    pub(super) fn receive_hello(
        &mut self,
        id: SessionId,
        session: &mut Session,
        bytes: &[u8],
        now: u64,
    ) -> Step {
        let (hello, used) = match Hello::read(bytes) {
            Ok(Some(read)) => read,
            Ok(None) => return Step::Wait,
            Err(HelloError::Version) => return self.refuse(session, Status::BadVersion),
            Err(HelloError::Malformed | HelloError::TooLong) => {
                return self.refuse(session, Status::Protocol);
            }
        };
        if *hello.remote != *self.settings.local {
            return self.refuse(session, Status::LocalMismatch);
        }
        let Some(peer) = self.peers.iter().position(|peer| *peer.name == *hello.local) else {
            return self.refuse(session, Status::RemoteMismatch);
        };
        if let Some(other) = self.peers[peer].session {
            if peer == LOCAL {
                return self.refuse(session, Status::TryAgain);
            }
            // The last connection wins. The other side may think the same of ours, so the next
            // attempt of each comes after a random time.
            self.end(other, Loss::Collision, now);
        }
        session.version = hello.version;
        Status::Succeeded.write(&mut session.pending);
        self.open(id, session, peer, hello.pid, now);
        Step::Used(used)
    }

    /// Answers a hello with an error; then the connection is closed.
    fn refuse(&mut self, session: &mut Session, status: Status) -> Step {
        status.write(&mut session.pending);
        self.actions.push_back(Action::Report(Event::Refused(status.code())));
        Step::End(Loss::ProtocolError)
    }

    pub(super) fn receive_status(
        &mut self,
        id: SessionId,
        session: &mut Session,
        bytes: &[u8],
        now: u64,
    ) -> Step {
        let Some(peer) = session.peer else { return Step::End(Loss::Closed) };
        let (status, used) = match Status::read(bytes) {
            Ok(Some(read)) => read,
            Ok(None) => return Step::Wait,
            Err(_) => return Step::End(Loss::ProtocolError),
        };
        if status == Status::Succeeded {
            self.open(id, session, peer, 0, now);
            return Step::Used(used);
        }
        let known = &mut self.peers[peer];
        known.status = PeerStatus::Refused(status.code());
        let event = Event::RefusedBy(known.name.clone(), status.code());
        self.actions.push_back(Action::Report(event));
        if status == Status::BadVersion {
            // Versions alternate, so that a peer is reached whatever its version.
            known.version = match known.version {
                Version::V21 => Version::V20,
                Version::V20 => Version::V21,
            };
        }
        Step::End(Loss::Closed)
    }

    /// Begins a session after the handshake.
    fn open(&mut self, id: SessionId, session: &mut Session, peer: usize, pid: u64, now: u64) {
        (session.state, session.peer) = (State::Open, Some(peer));
        let known = &mut self.peers[peer];
        known.session = Some(id);
        known.reconnect_at = None;
        known.status = PeerStatus::Established;
        known.established_at = Some(now);
        self.actions.push_back(Action::Report(Event::Established(known.name.clone())));
        known.restart(&self.tables, pid);
        let progress = known.progress.iter().zip(&self.tables);
        let backlog: u64 = progress.map(|(it, shared)| it.backlog(&shared.table)).sum();
        session.hold = (backlog > MAX_HASTE).then_some(now + HOLD);
        self.copies_of(peer).for_each(|table| table.node_connected(now));
        if peer == LOCAL {
            // The old process teaches the new one. As with HAProxy, each side does.
            session.outgoing.lesson = Some(Teaching::default());
        } else {
            self.ask_if_needed(peer, session, now);
        }
    }

    /// Closes what is open and teaches the process that takes the place of this one, over a
    /// connection to our own name. The caller has stopped listening before.
    pub fn stop(&mut self, now: u64) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = Some(Stopping { until: now + HANDSHAKE, failures: 0 });
        let open: Vec<SessionId> = self.sessions.keys().copied().collect();
        open.into_iter().for_each(|id| self.end(id, Loss::Stop, now));
        self.peers.iter_mut().for_each(|peer| peer.reconnect_at = None);
        self.peers[LOCAL].reconnect_at = Some(now);
        self.tick(now);
    }

    /// Whether a stopping process has finished: its successor has confirmed all updates, or it has
    /// no successor.
    pub fn is_taught(&self) -> bool {
        self.is_taught
    }
}
