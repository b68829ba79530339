//! Messages that go: acknowledgements, lessons, changes.

use super::{Group, LOCAL, Loss};
use crate::definition::Definition;
use crate::hello::Version;
use crate::message::{self, Ack, Control};
use crate::roles::Owner;
use crate::session::{Outgoing, Session, SessionId, State};
use crate::settings::SharedTable;
use crate::update::Heading;
use table::{Progress as Reading, Walk};

/// An entry whose span has begun less than this many milliseconds ago needs no remaining time.
const JUST_TOUCHED: u64 = 1_000;

impl Group {
    /// Appends what is to be sent on a connection, so that `out` has up to `room` bytes in all.
    /// `true`: there is more to send.
    pub fn transmit(&mut self, id: SessionId, out: &mut Vec<u8>, room: usize, now: u64) -> bool {
        let Some(mut session) = self.sessions.remove(&id) else { return false };
        let before = out.len();
        // The rest of an unfinished update is sent first.
        let mut more = !flush(&mut session.outgoing.held, out, room)
            || !flush(&mut session.pending, out, room);
        if !more && session.state == State::Open {
            more = !self.teach(&mut session, out, room, now);
        }
        if out.len() > before {
            session.sent_at = now;
        }
        let is_over = matches!(session.state, State::Closing(_)) || self.is_taught;
        self.sessions.insert(id, session);
        if is_over && !more {
            self.end(id, Loss::Stop, now);
        }
        more
    }

    /// `false`: there is more than was sent.
    fn teach(&mut self, session: &mut Session, out: &mut Vec<u8>, room: usize, now: u64) -> bool {
        let Some(peer) = session.peer else { return true };
        write_acks(session);
        if !flush(&mut session.pending, out, room) {
            return false;
        }
        let outgoing = &mut session.outgoing;
        outgoing.continues = false;
        let mut budget = Budget { room, updates: self.settings.max_updates.max(1) };
        if outgoing.lesson.is_none() && session.hold.is_some() {
            return true;
        }
        if outgoing.lesson.is_none() {
            return self.teach_changes(peer, session, out, &mut budget, now);
        }
        while self.next_of_lesson(peer, &mut session.outgoing, now) {
            if !self.send_batch(peer, session, out, &mut budget, now) {
                return false;
            }
        }
        session.outgoing.lesson = None;
        let control = match self.is_up_to_date() {
            true => Control::ResyncFinished,
            false => Control::ResyncPartial,
        };
        control.write(&mut session.pending);
        // The next call sends the name, and then the changes.
        false
    }

    /// Reads the next entries of a lesson; `false` behind the last one.
    fn next_of_lesson(&self, peer: usize, outgoing: &mut Outgoing, now: u64) -> bool {
        let Some(lesson) = &mut outgoing.lesson else { return false };
        while outgoing.batch.is_empty() {
            let Some(shared) = self.tables.get(lesson.table) else { return false };
            outgoing.table = lesson.table;
            let is_withheld = peer != LOCAL && self.withholds(lesson.table);
            match shared.table.walk(&mut lesson.walk, now).filter(|_| !is_withheld) {
                Some(found) => outgoing.batch = found,
                None => {
                    lesson.table += 1;
                    lesson.walk = Walk::default();
                }
            }
        }
        true
    }

    /// Whether a table is not taught yet: this process alone changes it, and other nodes may still
    /// teach the values from before its restart.
    fn withholds(&self, table: usize) -> bool {
        self.roles[table].owner == Owner::This && !self.is_up_to_date()
    }

    /// Sends the changes of each table. `false`: there is more than was sent.
    fn teach_changes(
        &mut self,
        peer: usize,
        session: &mut Session,
        out: &mut Vec<u8>,
        budget: &mut Budget,
        now: u64,
    ) -> bool {
        if !self.send_batch(peer, session, out, budget, now) {
            return false;
        }
        for at in 0..self.peers[peer].progress.len() {
            if self.withholds(at) {
                continue;
            }
            let table = self.tables[at].table.clone();
            // Before reading, so that a change that is not read wakes the caller.
            table.arm();
            loop {
                let progress = &mut self.peers[peer].progress[at];
                let Some(reader) = &mut progress.reader else { break };
                session.outgoing.table = at;
                let read = table.changes(reader, now, &mut session.outgoing.batch);
                // The batch is sent from its end.
                session.outgoing.batch.reverse();
                if let Reading::Read(change) = read {
                    progress.finish_round(change);
                    break;
                }
                if !self.send_batch(peer, session, out, budget, now) {
                    return false;
                }
            }
        }
        true
    }

    /// Sends the entries of the batch. `false`: there is no room, or the budget is used up.
    fn send_batch(
        &mut self,
        peer: usize,
        session: &mut Session,
        out: &mut Vec<u8>,
        budget: &mut Budget,
        now: u64,
    ) -> bool {
        let outgoing = &mut session.outgoing;
        while let Some(entry) = outgoing.batch.pop() {
            if budget.updates == 0 {
                outgoing.batch.push(entry);
                return false;
            }
            if !entry.is_alive(now) {
                continue;
            }
            budget.updates -= 1;
            let known = &mut self.peers[peer];
            let shard = known.shard;
            if shard.is_some_and(|shard| shard != self.settings.shards.of_key(entry.key())) {
                continue;
            }
            let last = match known.progress.get_mut(outgoing.table) {
                Some(progress) => &mut progress.sent,
                None => &mut outgoing.last_of_local,
            };
            *last = last.wrapping_add(1);
            let number = *last;
            known.counters.taught += 1;
            let shared = &self.tables[outgoing.table];
            let max = self.settings.max_message;
            entry.export(now, &mut outgoing.exported);
            encode(shared, outgoing, entry.key(), number, session.version, max);
            if !flush(&mut outgoing.held, out, budget.room) {
                return false;
            }
        }
        true
    }
}

/// The most that one call may send.
struct Budget {
    /// The size of the buffer, including the bytes in it.
    room: usize,
    updates: usize,
}

/// Moves as many bytes as there is room for; returns `true` if all were moved.
fn flush(from: &mut Vec<u8>, out: &mut Vec<u8>, room: usize) -> bool {
    let len = from.len().min(room.saturating_sub(out.len()));
    out.extend(from.drain(..len));
    from.is_empty()
}

/// Queues the acknowledgements of updates learned since the last ones.
fn write_acks(session: &mut Session) {
    for table in session.incoming.tables.iter_mut().filter(|table| table.owes_ack) {
        table.owes_ack = false;
        let ack = Ack { table: table.definition.id, update: table.last };
        ack.write(&mut session.pending);
    }
}

/// Encodes the exported values of an entry, behind the definition of its table if updates were
/// about another one. An entry that is longer than a buffer is left out.
fn encode(
    shared: &SharedTable,
    outgoing: &mut Outgoing,
    key: &[u8],
    number: u32,
    version: Version,
    max: usize,
) {
    let settings = shared.table.settings();
    let at = outgoing.table;
    outgoing.body.clear();
    if outgoing.described != Some(at) {
        Definition::of(at as u64 + 1, &shared.name, settings).write(&mut outgoing.body);
        message::put_definition(&mut outgoing.held, &outgoing.body);
        outgoing.described = Some(at);
        outgoing.continues = false;
        outgoing.body.clear();
    }
    let left = outgoing.exported.expires_in;
    let is_old = settings.expire.is_some_and(|span| left + JUST_TOUCHED < span.into());
    let timed = version == Version::V21 && (outgoing.lesson.is_some() || is_old);
    let heading = Heading {
        number: (!outgoing.continues).then_some(number),
        expires_in: timed.then_some(left),
        key,
        key_kind: settings.kind,
    };
    heading.write(&outgoing.exported, &mut outgoing.texts, &mut outgoing.body);
    outgoing.continues = outgoing.body.len() <= max;
    if outgoing.continues {
        message::put_update(&mut outgoing.held, heading.kind(), &outgoing.body);
    } else {
        // The peer has not got the texts of this one.
        outgoing.texts.clear();
    }
}
