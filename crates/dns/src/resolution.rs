//! The state machine that resolves one name: retries, failures, and how long answers are kept
//! (configuration manual, section 5.3).

use crate::message::{self, Answer, Record, RecordType, Reply, ResolveError};

/// How long the last valid answer is kept after failures, in milliseconds (`hold`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// After a valid answer: queries are answered from it.
    pub valid: u64,
    /// After NXDOMAIN.
    pub nx: u64,
    /// After any other error.
    pub other: u64,
    /// After REFUSED.
    pub refused: u64,
    /// After a timeout.
    pub timeout: u64,
    /// After a record is missing in an answer.
    pub obsolete: u64,
}

impl Default for Hold {
    fn default() -> Self {
        let other = 30_000;
        Self { valid: 10_000, nx: other, other, refused: other, timeout: other, obsolete: 0 }
    }
}

impl Hold {
    fn of(&self, failure: ResolveError) -> u64 {
        match failure {
            ResolveError::NoSuchName => self.nx,
            ResolveError::Refused => self.refused,
            ResolveError::Timeout => self.timeout,
            ResolveError::Empty | ResolveError::Alias | ResolveError::Other => self.other,
        }
    }
}

/// Times and sizes of a `resolvers` section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// From the end of one resolution to the next, in milliseconds (`timeout resolve`).
    pub resolve: u64,
    /// Timeout of a query, in milliseconds (`timeout retry`).
    pub retry: u64,
    /// Queries before a resolution fails, not counting those for the other family
    /// (`resolve_retries`).
    pub retries: u32,
    /// `hold`
    pub hold: Hold,
    /// Largest UDP answer, in bytes (`accepted_payload_size`).
    pub payload: u16,
    /// Whether the next resolution waits for the end of the TTL if that is later.
    pub honours_ttl: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let hold = Hold::default();
        Self { resolve: 1_000, retry: 1_000, retries: 3, hold, payload: 512, honours_ttl: false }
    }
}

/// Outcome of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The resolution needs no action.
    Nothing,
    /// [`Resolution::question`] has to be sent to every name server.
    Ask,
    /// The name has a valid answer, and the records are up to date.
    Answered,
    /// The resolution has failed for now.
    Failed(ResolveError),
}

/// Phase of a resolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Between two resolutions.
    Idle,
    /// This number of name servers have not answered yet.
    Asking(usize),
    /// All name servers have failed; the query is repeated after its timeout.
    Waiting,
}

/// A record, and the time of the last answer that had it.
#[derive(Clone, Debug)]
struct KnownRecord {
    record: Record,
    seen: u64,
}

/// The resolution of one name.
#[derive(Clone, Debug)]
pub struct Resolution {
    name: Box<str>,
    preferred: RecordType,
    /// The record type of the current query.
    kind: RecordType,
    state: Phase,
    /// The id of the current query.
    id: u16,
    /// Queries left.
    left: u32,
    /// The last error of the current query.
    error: Option<ResolveError>,
    due: u64,
    /// Start of the resolution: addresses that servers had then, from a file or the system, are
    /// held like those of an answer.
    begun: u64,
    known: Vec<KnownRecord>,
    /// Time of the last valid answer.
    valid: Option<u64>,
    /// Failure of the last resolution, if it failed.
    failure: Option<ResolveError>,
}

impl Resolution {
    /// A name without known records; it is due at once.
    pub fn new(name: &str, preferred: RecordType, now: u64) -> Self {
        Self {
            name: name.into(),
            preferred,
            kind: preferred,
            state: Phase::Idle,
            id: 0,
            left: 0,
            error: None,
            due: now,
            begun: now,
            known: Vec::new(),
            valid: None,
            failure: None,
        }
    }

    /// The name that is resolved.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The record type of the first query.
    pub fn preferred(&self) -> RecordType {
        self.preferred
    }

    /// Time at which [`Resolution::on_timer`] has to be called.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The id of the query in progress, if any.
    pub fn asking(&self) -> Option<u16> {
        matches!(self.state, Phase::Asking(_)).then_some(self.id)
    }

    /// Whether no query is in progress and none is waiting.
    pub fn is_idle(&self) -> bool {
        self.state == Phase::Idle
    }

    /// The valid records.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.known.iter().map(|known| &known.record)
    }

    /// Whether the known records may answer a query now.
    pub fn is_fresh(&self, now: u64, settings: &Settings) -> bool {
        now < self.fresh_until(settings)
    }

    /// Time until which [`Resolution::is_fresh`] holds.
    pub fn fresh_until(&self, settings: &Settings) -> u64 {
        let valid = self.valid.filter(|_| self.failure.is_none());
        valid.map_or(0, |valid| valid.saturating_add(settings.hold.valid))
    }

    /// Whether the last valid answer is still kept after this failure; before the first answer,
    /// whether servers keep the addresses of the start.
    pub fn holds(&self, failure: ResolveError, now: u64, settings: &Settings) -> bool {
        let since = self.valid.unwrap_or(self.begun);
        now < since.saturating_add(settings.hold.of(failure))
    }

    /// Starts a resolution at once, unless one is in progress.
    pub fn resolve_now(&mut self, now: u64) {
        if self.is_idle() {
            self.due = self.due.min(now);
        }
    }

    /// The query of [`Event::Ask`]; `None` for an invalid name.
    pub fn question(&self, settings: &Settings) -> Option<Vec<u8>> {
        message::encode(self.id, &self.name, self.kind, settings.payload)
    }

    /// Decodes bytes as an answer to the query in progress.
    pub fn read(&self, bytes: &[u8]) -> Reply {
        message::decode(bytes, self.id, &self.name, self.kind)
    }

    /// Handles the passing of time. `id` is the id for the next query, `servers` the number of name
    /// servers that will get it.
    pub fn on_timer(&mut self, now: u64, id: u16, servers: usize, settings: &Settings) -> Event {
        if now < self.due {
            return Event::Nothing;
        }
        match self.state {
            Phase::Idle => {
                self.left = settings.retries.max(1);
                self.send_query(self.preferred, now, id, servers, settings)
            }
            Phase::Waiting => self.send_query(self.preferred, now, id, servers, settings),
            Phase::Asking(_) => match self.error.take() {
                // At least one name server has failed, the others have not answered.
                Some(error) => self.fall_back(error, now, id, servers, settings),
                None => self.ask_again(now, id, servers, settings),
            },
        }
    }

    /// Handles the answer of a name server to the current query. Foreign replies change nothing.
    pub fn on_reply(
        &mut self,
        reply: Reply,
        now: u64,
        id: u16,
        servers: usize,
        settings: &Settings,
    ) -> Event {
        let Phase::Asking(waiting) = self.state else { return Event::Nothing };
        let error = match reply {
            Reply::Foreign | Reply::Truncated => return Event::Nothing,
            Reply::Answer(answer) => return self.answered(answer, now, settings),
            Reply::Malformed => ResolveError::Other,
            Reply::Failed(failure) => failure,
        };
        self.error = Some(error);
        self.state = Phase::Asking(waiting.saturating_sub(1));
        match waiting {
            0 | 1 => self.fall_back(error, now, id, servers, settings),
            _ => Event::Nothing,
        }
    }

    /// Queries the other family if it was not tried yet, or waits to repeat the first query.
    fn fall_back(
        &mut self,
        error: ResolveError,
        now: u64,
        id: u16,
        servers: usize,
        settings: &Settings,
    ) -> Event {
        match self.kind.other().filter(|_| self.kind == self.preferred) {
            Some(other) => {
                let due = self.due;
                let event = self.send_query(other, now, id, servers, settings);
                // Both queries share the timeout of the first one, unless it is over.
                if due > now {
                    self.due = due;
                }
                event
            }
            None => {
                self.left = self.left.saturating_sub(1);
                if self.left == 0 {
                    return self.give_up(error, now, settings);
                }
                (self.state, self.error) = (Phase::Waiting, None);
                self.due = self.due.max(now);
                Event::Nothing
            }
        }
    }

    /// After a time-out, repeats the same query if retries are left.
    fn ask_again(&mut self, now: u64, id: u16, servers: usize, settings: &Settings) -> Event {
        self.left = self.left.saturating_sub(1);
        match self.left {
            0 => self.give_up(ResolveError::Timeout, now, settings),
            _ => self.send_query(self.kind, now, id, servers, settings),
        }
    }

    fn send_query(
        &mut self,
        kind: RecordType,
        now: u64,
        id: u16,
        servers: usize,
        settings: &Settings,
    ) -> Event {
        (self.kind, self.id, self.error) = (kind, id, None);
        self.state = Phase::Asking(servers);
        self.due = now.saturating_add(settings.retry.max(1));
        Event::Ask
    }

    fn answered(&mut self, answer: Answer, now: u64, settings: &Settings) -> Event {
        for record in answer.records {
            match self.known.iter_mut().find(|known| is_same(&known.record, &record)) {
                Some(known) => *known = KnownRecord { record, seen: now },
                None => self.known.push(KnownRecord { record, seen: now }),
            }
        }
        let obsolete = settings.hold.obsolete;
        self.known.retain(|known| known.seen == now || now < known.seen.saturating_add(obsolete));
        self.drop_beyond(message::MAX_RECORDS, now);
        (self.state, self.valid, self.failure) = (Phase::Idle, Some(now), None);
        let ttl = if settings.honours_ttl { u64::from(answer.ttl) * 1_000 } else { 0 };
        self.due = now.saturating_add(settings.resolve.max(ttl).max(1));
        Event::Answered
    }

    /// Bounds the records kept while none becomes obsolete: beyond `most`, records missing in the
    /// answer of `now` are dropped.
    fn drop_beyond(&mut self, most: usize, now: u64) {
        let mut excess = self.known.len().saturating_sub(most);
        self.known.retain(|known| {
            let goes = excess > 0 && known.seen != now;
            excess -= usize::from(goes);
            !goes
        });
    }

    fn give_up(&mut self, failure: ResolveError, now: u64, settings: &Settings) -> Event {
        (self.state, self.error, self.failure) = (Phase::Idle, None, Some(failure));
        if !self.holds(failure, now, settings) {
            self.known.clear();
        }
        self.due = now.saturating_add(settings.resolve.max(1));
        Event::Failed(failure)
    }
}

/// Whether two records differ in nothing but their weights.
fn is_same(one: &Record, other: &Record) -> bool {
    match (one, other) {
        (Record::Service(one), Record::Service(other)) => {
            (&one.target, one.port) == (&other.target, other.port)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests;
