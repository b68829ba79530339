//! Updates that peers send: which of them this process merges.

use super::resync::News;
use super::{Action, Event, Group, LOCAL, Loss, Step};
use crate::definition::{Definition, KeyType};
use crate::message::{Ack, Control, Message, UpdateKind, WireError};
use crate::roles;
use crate::session::{Current, Session, TaughtTable, Teaching};
use crate::update::Update;
use crate::varint;
use std::sync::Arc;
use table::{Key, KeyKind, Learned};

impl Group {
    pub(super) fn receive_message(
        &mut self,
        session: &mut Session,
        bytes: &[u8],
        now: u64,
    ) -> Step {
        let read = Message::read(bytes, self.settings.max_message);
        let done = match read {
            Ok(None) => return Step::Wait,
            Ok(Some((Message::Error, _))) => return Step::End(Loss::Complaint),
            Ok(Some((message, used))) => {
                session.hold = None;
                self.obey(session, message, now).map(|()| used)
            }
            Err(error) => Err(error),
        };
        match done {
            Ok(used) => Step::Used(used),
            Err(error) => {
                error.write(&mut session.pending);
                Step::End(Loss::ProtocolError)
            }
        }
    }

    fn obey(
        &mut self,
        session: &mut Session,
        message: Message<'_>,
        now: u64,
    ) -> Result<(), WireError> {
        let Some(peer) = session.peer else { return Ok(()) };
        match message {
            Message::Control(control) => self.obey_control(peer, session, control, now),
            Message::Definition(body) => {
                if let Some(table) = self.describe(peer, session, Definition::read(body)?) {
                    self.report_table(peer, session, table, Event::Mismatch);
                }
                Ok(())
            }
            Message::Switch(mut body) => {
                let id = varint::take(&mut body)?;
                switch(session, id);
                Ok(())
            }
            Message::Update(kind, body) => self.learn(peer, session, kind, body, now),
            Message::Ack(body) => {
                let Ack { table, update } = Ack::read(body)?;
                let at = usize::try_from(table).ok().and_then(|table| table.checked_sub(1));
                let progress = at.and_then(|at| self.peers[peer].progress.get_mut(at));
                if let Some(progress) = progress {
                    progress.acknowledge(update);
                }
                Ok(())
            }
            Message::Error | Message::Unknown => Ok(()),
        }
    }

    fn obey_control(
        &mut self,
        peer: usize,
        session: &mut Session,
        control: Control,
        now: u64,
    ) -> Result<(), WireError> {
        match control {
            Control::Heartbeat => self.peers[peer].counters.received_heartbeats += 1,
            Control::ResyncRequest => {
                if session.outgoing.lesson.is_none() {
                    self.begin_lesson(peer, session);
                }
            }
            Control::ResyncFinished => self.finish_lecture(peer, session, false, now)?,
            Control::ResyncPartial => self.finish_lecture(peer, session, true, now)?,
            Control::ResyncConfirmed => {
                if peer == LOCAL && self.stopping.is_some() {
                    self.is_taught = true;
                }
            }
        }
        Ok(())
    }

    /// Begins to teach a peer all entries. The lesson contains the changes so far, so that only
    /// later ones follow it. As long as this process is not up to date, the peer asks others as
    /// well, so the changes of this process are marked as its own.
    fn begin_lesson(&mut self, peer: usize, session: &mut Session) {
        session.outgoing.batch.clear();
        session.outgoing.lesson = Some(Teaching::default());
        if !self.is_up_to_date() {
            return;
        }
        for (progress, shared) in self.peers[peer].progress.iter_mut().zip(&self.tables) {
            if let Some(reader) = &mut progress.reader {
                shared.table.skip_changes(reader);
            }
        }
    }

    fn learn(
        &mut self,
        peer: usize,
        session: &mut Session,
        kind: UpdateKind,
        body: &[u8],
        now: u64,
    ) -> Result<(), WireError> {
        let incoming = &mut session.incoming;
        let mut values = std::mem::take(&mut incoming.values);
        values.clear();
        let mut texts = std::mem::take(&mut incoming.texts);
        let Some(taught) = incoming.current() else {
            (incoming.values, incoming.texts) = (values, texts);
            return Ok(());
        };
        let (taught_table, mut full) = (taught.local, false);
        let read = match taught.definition.key {
            Some(key) => {
                let definition = &taught.definition;
                Update::read(kind, body, definition, key, &mut texts, &mut values).map(Some)
            }
            None => Ok(None),
        };
        if let (Ok(Some(update)), Some(local)) = (&read, taught.local) {
            taught.last = update.number.unwrap_or(taught.last.wrapping_add(1));
            taught.owes_ack = true;
            let key = fitting_key(self.tables[local].table.kind(), update.key);
            let news = self.weigh((peer, local), &key, kind.timed, now);
            if let News::Merged(precedence) = news {
                let learned = Learned {
                    key: &key,
                    expires_in: update.expires_in,
                    values: &values,
                    precedence,
                };
                let merged = self.table(local).merge(&learned, now);
                let counters = &mut self.peers[peer].counters;
                counters.learned += 1;
                counters.full += u64::from(!merged);
                full = !merged;
            }
        }
        (incoming.values, incoming.texts) = (values, texts);
        let (read, local) = (read.map(|_| ()), taught_table);
        if let Some(local) = local.filter(|_| full) {
            self.report_table(peer, session, local, Event::Full);
        }
        read
    }

    /// Reports a fault of a table, once per session and table.
    fn report_table(
        &mut self,
        peer: usize,
        session: &mut Session,
        table: usize,
        event: fn(Arc<str>, Arc<str>) -> Event,
    ) {
        if !session.incoming.reported.contains(&table) {
            session.incoming.reported.push(table);
            let (peer, table) = (self.peers[peer].name.clone(), self.tables[table].name.clone());
            self.actions.push_back(Action::Report(event(peer, table)));
        }
    }
}

impl Group {
    /// Takes over how the peer describes a table; updates are about it from now on. Values of a
    /// table that we do not share, or whose keys differ from ours, are skipped; the latter table is
    /// returned.
    fn describe(
        &self,
        peer: usize,
        session: &mut Session,
        definition: Definition,
    ) -> Option<usize> {
        let named = roles::find(&self.tables, &self.roles, &definition.name, peer);
        let fits = |at: &usize| {
            let (key, len) = KeyType::of(self.tables[*at].table.kind());
            definition.key == Some(key) && definition.key_len == len
        };
        let local = named.filter(fits);
        note_description(session, definition, local, named)
    }
}

/// A key as the table keeps it: texts are cut.
fn fitting_key(kind: KeyKind, key: &[u8]) -> Key<'_> {
    match kind {
        KeyKind::Text(len) => Key::text(key, len),
        _ => Key::binary(key, key.len()),
    }
}

/// Notes how the peer describes a table; `local` is ours if its updates are of use, `named` ours by
/// its name, which is returned if its updates are of no use.
fn note_description(
    session: &mut Session,
    definition: Definition,
    local: Option<usize>,
    named: Option<usize>,
) -> Option<usize> {
    let incoming = &mut session.incoming;
    let mut taught = TaughtTable { definition, local, last: 0, owes_ack: false };
    if local.is_none() {
        incoming.stray = Some(taught);
        incoming.current = Current::Stray;
        return named;
    }
    let at = match incoming.tables.iter().position(|other| other.local == local) {
        Some(at) => {
            let before = &incoming.tables[at];
            if before.definition.id == taught.definition.id {
                (taught.last, taught.owes_ack) = (before.last, before.owes_ack);
            }
            incoming.tables[at] = taught;
            at
        }
        None => {
            incoming.tables.push(taught);
            incoming.tables.len() - 1
        }
    };
    incoming.current = Current::Shared(at);
    None
}

/// Updates are about another table from now on; those of one that was not described are passed
/// over.
fn switch(session: &mut Session, id: u64) {
    let incoming = &mut session.incoming;
    let shared = incoming.tables.iter().position(|table| table.definition.id == id);
    let is_stray = incoming.stray.as_ref().is_some_and(|table| table.definition.id == id);
    incoming.current = match shared {
        Some(at) => Current::Shared(at),
        None if is_stray => Current::Stray,
        None => Current::None,
    };
}
