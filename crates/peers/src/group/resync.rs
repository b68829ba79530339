//! Resynchronization: a new process learns the tables of the others (peers-v2.0.txt, "Initial full
//! resync process").
//!
//! A new process first waits for the old process on the same machine, if there may be one. Then it
//! asks one remote peer after the other, until a peer that is up to date has taught everything. If
//! no peer can teach it, the group continues with the entries that it has.

use super::{Action, Event, Group, LOCAL};
use crate::message::{Control, WireError};
use crate::roles::Owner;
use crate::session::{Session, State};
use std::collections::HashMap;
use table::{Precedence, Table};

/// Milliseconds to wait for a teacher.
const PATIENCE: u64 = 5_000;
/// Milliseconds of a session in which a peer may send again what it has changed before.
const SETTLE: u64 = 1_000;
/// The most keys whose teacher is remembered until this process is up to date.
const MAX_FIRST_HAND: usize = 65_536;

/// The peer that has taught an entry as a change of its own, by table and key.
pub(super) type FirstHand = HashMap<(usize, Box<[u8]>), usize>;

/// How an update is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// The update is older.
    Older,
    /// The update replaces the entry, except for values that take precedence.
    Merged(Precedence),
}

/// The state of learning everything.
#[derive(Debug)]
pub(super) enum Resync {
    /// The old process may come until then.
    Local(u64),
    /// A remote peer is to be found until then.
    Remote(u64),
    /// This remote peer teaches.
    Learning(usize),
    /// This process is up to date.
    Done,
}

impl Resync {
    pub(super) fn new(replaces: bool, now: u64) -> Resync {
        let until = now + PATIENCE;
        if replaces { Resync::Local(until) } else { Resync::Remote(until) }
    }

    /// The place of the peer that teaches.
    pub(super) fn teacher(&self) -> Option<usize> {
        match self {
            Resync::Learning(peer) => Some(*peer),
            Resync::Local(_) | Resync::Remote(_) | Resync::Done => None,
        }
    }

    pub(super) fn deadline(&self) -> Option<u64> {
        match self {
            Resync::Local(until) | Resync::Remote(until) => Some(*until),
            Resync::Learning(_) | Resync::Done => None,
        }
    }
}

impl Group {
    /// Whether this process is up to date.
    pub fn is_up_to_date(&self) -> bool {
        matches!(self.resync, Resync::Done)
    }

    /// Asks a peer whose session has just opened for a lesson, if this process waits for one.
    pub(super) fn ask_if_needed(&mut self, peer: usize, session: &mut Session, now: u64) {
        let wanted = matches!(self.resync, Resync::Remote(_)) && !self.peers[peer].is_partial;
        if !wanted || self.stopping.is_some() {
            return;
        }
        match Group::say(session, Control::ResyncRequest) {
            Ok(()) => self.resync = Resync::Learning(peer),
            Err(_) => self.resync = Resync::Remote(now + PATIENCE),
        }
    }

    /// Asks one of the peers that are connected, chosen at random.
    fn find_teacher(&mut self, now: u64) {
        let able = |peer: &usize| {
            let known = &self.peers[*peer];
            let session = known.session.and_then(|id| self.sessions.get(&id));
            !known.is_partial && session.is_some_and(|session| session.state == State::Open)
        };
        let able: Vec<usize> = (LOCAL + 1..self.peers.len()).filter(able).collect();
        let chosen = self.random.below(able.len() as u32) as usize;
        let Some(peer) = able.get(chosen).copied() else { return };
        let Some(id) = self.peers[peer].session else { return };
        if let Some(mut session) = self.sessions.remove(&id) {
            self.ask_if_needed(peer, &mut session, now);
            self.sessions.insert(id, session);
        }
    }

    /// Notes that a peer has taught all its tables.
    pub(super) fn finish_lecture(
        &mut self,
        peer: usize,
        session: &mut Session,
        partial: bool,
        now: u64,
    ) -> Result<(), WireError> {
        let awaited = match self.resync {
            Resync::Learning(teacher) => teacher == peer || peer == LOCAL,
            _ => peer == LOCAL,
        };
        if !awaited {
            return Ok(());
        }
        Group::say(session, Control::ResyncConfirmed)?;
        match (&self.resync, partial) {
            (Resync::Done, _) => {}
            (_, false) => self.be_up_to_date(),
            (Resync::Local(_), true) => self.resync = Resync::Local(now + PATIENCE),
            (_, true) if peer != LOCAL => {
                self.peers[peer].is_partial = true;
                self.resync = Resync::Remote(now + PATIENCE);
                self.find_teacher(now);
            }
            (_, true) => {}
        }
        Ok(())
    }

    fn be_up_to_date(&mut self) {
        self.resync = Resync::Done;
        self.first_hand = FirstHand::new();
        self.actions.push_back(Action::Report(Event::UpToDate));
    }

    /// Takes note that the session with a peer has ended.
    pub(super) fn lose_teacher(&mut self, peer: usize, now: u64) {
        match self.resync {
            Resync::Learning(teacher) if teacher == peer => {
                self.resync = Resync::Remote(now + PATIENCE);
                self.find_teacher(now);
            }
            Resync::Local(_) if peer == LOCAL => self.resync = Resync::Local(now + PATIENCE),
            _ => {}
        }
    }

    /// Continues the resynchronization when no peer has begun to teach.
    pub(super) fn tick_resync(&mut self, now: u64) {
        match self.resync {
            Resync::Local(until) if until <= now => {
                self.resync = Resync::Remote(now + PATIENCE);
                self.find_teacher(now);
            }
            Resync::Remote(until) if until <= now => self.be_up_to_date(),
            _ => {}
        }
    }

    /// How an update of a peer is to be taken. In a lesson a peer also says what it has from
    /// others, which may be older than what is known here: what others have said of themselves
    /// since this process began is newer, of counts and rates the greater one is, and of what was
    /// changed here and the teacher has not confirmed, both count. Lessons contain the remaining
    /// time of entries; changes contain it only if they are old.
    pub(super) fn weigh(
        &mut self,
        (peer, table): (usize, usize),
        key: &[u8],
        timed: bool,
        now: u64,
    ) -> News {
        match self.roles[table].owner {
            Owner::All => {}
            owner => return self.weigh_of_one(owner, (peer, table), key, timed, now),
        }
        let teaches = match self.resync {
            Resync::Done => return self.weigh_change(peer, table, now),
            Resync::Learning(teacher) => teacher == peer || peer == LOCAL,
            Resync::Local(_) | Resync::Remote(_) => peer == LOCAL,
        };
        if !teaches || !timed {
            if self.first_hand.len() < MAX_FIRST_HAND {
                self.first_hand.insert((table, key.into()), peer);
            }
            return self.weigh_change(peer, table, now);
        }
        let said_by = match self.first_hand.is_empty() {
            true => None,
            false => self.first_hand.get(&(table, key.into())),
        };
        match said_by {
            Some(other) if *other != peer => News::Older,
            _ => {
                let progress = self.peers[peer].progress.get(table);
                let confirmed = progress.map_or(0, |progress| progress.confirmed);
                News::Merged(Precedence::OwnAfter(confirmed))
            }
        }
    }

    /// How an update of a table is to be taken that one process alone changes. Updates about
    /// another process: those that this process sends itself hold, and those that other peers relay
    /// hold only while it has sent none. Updates about this process that other peers relay date
    /// from before its restart.
    fn weigh_of_one(
        &self,
        owner: Owner,
        (peer, table): (usize, usize),
        key: &[u8],
        timed: bool,
        now: u64,
    ) -> News {
        let teaches = peer == LOCAL || self.resync.teacher() == Some(peer);
        match owner {
            Owner::Peer(owner) if owner == peer => News::Merged(Precedence::Learned),
            Owner::This if teaches && timed => News::Merged(Precedence::OwnBefore),
            Owner::Peer(_) if !self.table(table).contains(key, now) => {
                News::Merged(Precedence::OfAbsentNode)
            }
            Owner::All | Owner::This | Owner::Peer(_) => News::Older,
        }
    }

    /// How a change by a peer is to be taken. When a session opens, each side sends its unconfirmed
    /// updates again, which may be older than changes made here meanwhile. If both sides have
    /// changed an entry independently, the greater value holds. Later ones hold in the order in
    /// which they come, as with HAProxy.
    fn weigh_change(&self, peer: usize, table: usize, now: u64) -> News {
        let known = &self.peers[peer];
        let Some(progress) = known.progress.get(table).filter(|it| it.reader.is_some()) else {
            return News::Merged(Precedence::Learned);
        };
        let is_settled = known.established_at.is_some_and(|opened| opened + SETTLE <= now);
        let upto = if is_settled { progress.begun } else { u64::MAX };
        News::Merged(Precedence::GreaterBetween(progress.confirmed, upto))
    }

    /// The table that updates of a peer go to.
    pub(super) fn table(&self, at: usize) -> &Table {
        &self.tables[at].table
    }
}
