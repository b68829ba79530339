//! Deadlines of a group: connections that are due, heartbeats, silence.

use super::{Action, Group, LOCAL, Loss, Stopping};
use crate::hello::Version;
use crate::message::Control;
use crate::peer::PeerStatus;
use crate::session::{Session, SessionId, State};

/// Milliseconds without a message of ours after which a heartbeat is sent.
const HEARTBEAT: u64 = 3_000;
/// Milliseconds without a message of the peer after which it is taken for dead.
const SILENCE: u64 = 5_000;
/// Milliseconds between attempts to connect to a peer that does not answer.
const RECONNECT: u64 = 5_000;
/// The shortest time before the next connection, and what is added to it at random.
const JITTER: (u64, u32) = (50, 2_000);
/// Failed connections to a successor after which a stopping process assumes that it has none: a
/// successor listens before it tells this process to stop.
const MAX_FAILURES: u32 = 10;

impl Group {
    /// Runs the timers that have expired.
    pub fn tick(&mut self, now: u64) {
        let sessions = self.sessions.iter_mut();
        let due = |(id, session): (&SessionId, &mut Session)| Some((*id, due(session, now)?));
        let due: Vec<(SessionId, Loss)> = sessions.filter_map(due).collect();
        for (id, loss) in due {
            self.end(id, loss, now);
        }
        for session in self.sessions.values_mut() {
            session.hold = session.hold.filter(|until| *until > now);
        }
        self.beat(now);
        self.tick_resync(now);
        self.tick_stop(now);
        self.connect(now);
    }

    /// Requests the connections that are due.
    fn connect(&mut self, now: u64) {
        for (at, peer) in self.peers.iter_mut().enumerate() {
            if peer.reconnect_at.is_some_and(|due| due <= now) {
                (peer.reconnect_at, peer.connecting) = (None, true);
                peer.status = PeerStatus::Connecting;
                self.actions.push_back(Action::Connect(at));
            }
        }
    }

    fn beat(&mut self, now: u64) {
        for session in self.sessions.values_mut().filter(|session| needs_beat(session)) {
            if session.sent_at + HEARTBEAT <= now {
                Control::Heartbeat.write(&mut session.pending);
                // The caller sends the message now; if it cannot, it tries again at the next
                // deadline.
                session.sent_at = now;
                if let Some(peer) = session.peer {
                    self.peers[peer].counters.sent_heartbeats += 1;
                }
            }
        }
    }

    /// A process that stops and finds no successor has nothing to do.
    fn tick_stop(&mut self, now: u64) {
        let local = &self.peers[LOCAL];
        let is_over = |it: &Stopping| it.until <= now || it.failures >= MAX_FAILURES;
        if self.stopping.as_ref().is_some_and(is_over) && local.session.is_none() {
            self.is_taught = true;
            self.peers[LOCAL].reconnect_at = None;
        }
    }

    /// When [`Group::tick`] is to be called next.
    pub fn next_deadline(&self) -> Option<u64> {
        let sessions = self.sessions.values().flat_map(deadlines);
        let reconnects = self.peers.iter().filter_map(|peer| peer.reconnect_at);
        let seeks = !self.is_taught && self.peers[LOCAL].session.is_none();
        let stop = self.stopping.as_ref().filter(|_| seeks).map(|stopping| stopping.until);
        sessions.chain(reconnects).chain(self.resync.deadline()).chain(stop).min()
    }

    /// Connects again after a short random time: both sides may have lost their connections at the
    /// same time.
    pub(super) fn retry_soon(&mut self, peer: usize, now: u64) {
        let wait = JITTER.0 + u64::from(self.random.below(JITTER.1 + 1));
        self.retry_at(peer, now + wait);
    }

    /// Connects again to a peer that did not answer as it should.
    pub(super) fn retry_later(&mut self, peer: usize, now: u64) {
        if self.stopping.is_some() {
            return self.retry_at(peer, now + JITTER.0);
        }
        self.retry_at(peer, now + RECONNECT);
    }

    fn retry_at(&mut self, peer: usize, at: u64) {
        // Only a process that stops connects to its own name.
        if (peer == LOCAL) == self.stopping.is_some() && !self.is_taught {
            self.peers[peer].reconnect_at = Some(at);
        }
    }
}

fn needs_beat(session: &Session) -> bool {
    session.state == State::Open && session.version == Version::V21
}

/// The reason why a session ends now.
fn due(session: &Session, now: u64) -> Option<Loss> {
    let (until, loss) = match session.state {
        State::AwaitHello(until) | State::AwaitStatus(until) => (until, Loss::Silence),
        State::Closing(until) => (until, Loss::Closed),
        State::Open if session.version == Version::V21 => {
            (session.received_at + SILENCE, Loss::Silence)
        }
        State::Open => return None,
    };
    (until <= now).then_some(loss)
}

/// When the next heartbeat is due.
pub(super) fn heartbeat_due(session: &Session) -> Option<u64> {
    needs_beat(session).then_some(session.sent_at + HEARTBEAT)
}

fn deadlines(session: &Session) -> impl Iterator<Item = u64> {
    let (end, beat) = match session.state {
        State::AwaitHello(until) | State::AwaitStatus(until) | State::Closing(until) => {
            (Some(until), None)
        }
        State::Open if needs_beat(session) => {
            (Some(session.received_at + SILENCE), heartbeat_due(session))
        }
        State::Open => (None, None),
    };
    end.into_iter().chain(beat).chain(session.hold)
}
