//! The machine of one name: when it is asked for, when it is given up, and for how long an answer is kept
//! (configuration manual, section 5.3). Never sends anything.

use crate::message::{self, Answer, Failure, Kind, Record, Reply};

/// How long the last valid answer is kept when later ones fail in some way, in milliseconds
/// (`hold`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// While it is valid, who asks anew is answered from memory.
    pub valid: u64,
    /// The name is said not to exist.
    pub nx: u64,
    /// Any other error.
    pub other: u64,
    /// Name servers refuse to answer.
    pub refused: u64,
    /// They do not answer.
    pub timeout: u64,
    /// A record is missing in later answers.
    pub obsolete: u64,
}

impl Default for Hold {
    fn default() -> Self {
        let other = 30_000;
        Self { valid: 10_000, nx: other, other, refused: other, timeout: other, obsolete: 0 }
    }
}

impl Hold {
    fn of(&self, failure: Failure) -> u64 {
        match failure {
            Failure::NoSuchName => self.nx,
            Failure::Refused => self.refused,
            Failure::Timeout => self.timeout,
            Failure::Empty | Failure::Alias | Failure::Other => self.other,
        }
    }
}

/// What a `resolvers` section says about time and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// From the end of one resolution to the next, in milliseconds (`timeout resolve`).
    pub resolve: u64,
    /// How long an answer may take, in milliseconds (`timeout retry`).
    pub retry: u64,
    /// Questions before a name is given up, the other family not counted (`resolve_retries`).
    pub retries: u32,
    /// `hold`
    pub hold: Hold,
    /// The largest answer over datagrams, in bytes (`accepted_payload_size`).
    pub payload: u16,
    /// Whether an answer with a longer time to live puts the next resolution off until its end.
    pub honours_ttl: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let hold = Hold::default();
        Self { resolve: 1_000, retry: 1_000, retries: 3, hold, payload: 512, honours_ttl: false }
    }
}

/// What a step leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Nothing.
    Nothing,
    /// [`Resolution::question`] goes to every name server.
    Ask,
    /// There is a valid answer: the records are up to date.
    Answered,
    /// The name was given up for now.
    Failed(Failure),
}

/// Where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Between two resolutions.
    Idle,
    /// So many name servers have not answered yet.
    Asking(usize),
    /// All have failed: the question is repeated when its time is over.
    Waiting,
}

/// A record, and when an answer last had it.
#[derive(Clone, Debug)]
struct Known {
    record: Record,
    seen: u64,
}

/// The resolution of one name.
#[derive(Clone, Debug)]
pub struct Resolution {
    name: Box<str>,
    preferred: Kind,
    /// What is asked for now.
    kind: Kind,
    state: State,
    /// The number of the question.
    id: u16,
    /// Questions left.
    left: u32,
    /// The last error of this question.
    error: Option<Failure>,
    due: u64,
    /// When it began: what servers had by then, from a file or the system, is held as an answer is.
    begun: u64,
    known: Vec<Known>,
    /// When it was last valid.
    valid: Option<u64>,
    /// How the last resolution failed, if it did.
    failure: Option<Failure>,
}

impl Resolution {
    /// A name of which nothing is known; it is asked for at once.
    pub fn new(name: &str, preferred: Kind, now: u64) -> Self {
        Self {
            name: name.into(),
            preferred,
            kind: preferred,
            state: State::Idle,
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

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is asked for first.
    pub fn preferred(&self) -> Kind {
        self.preferred
    }

    /// When [`Resolution::on_time`] has to be called.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The number of the question under way, if there is one.
    pub fn asking(&self) -> Option<u16> {
        matches!(self.state, State::Asking(_)).then_some(self.id)
    }

    /// Whether no resolution is under way.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// The records that hold.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.known.iter().map(|known| &known.record)
    }

    /// Whether what is known may be told to whoever asks now.
    pub fn is_fresh(&self, now: u64, settings: &Settings) -> bool {
        now < self.fresh_until(settings)
    }

    /// Until when that is so.
    pub fn fresh_until(&self, settings: &Settings) -> u64 {
        let valid = self.valid.filter(|_| self.failure.is_none());
        valid.map_or(0, |valid| valid.saturating_add(settings.hold.valid))
    }

    /// Whether the last valid answer is still kept after a failure, or, before the first one, what
    /// there was when it began.
    pub fn holds(&self, failure: Failure, now: u64, settings: &Settings) -> bool {
        let since = self.valid.unwrap_or(self.begun);
        now < since.saturating_add(settings.hold.of(failure))
    }

    /// Asks at once, unless that is under way.
    pub fn hurry(&mut self, now: u64) {
        if self.is_idle() {
            self.due = self.due.min(now);
        }
    }

    /// The question of [`Event::Ask`]; `None` if the name is none.
    pub fn question(&self, settings: &Settings) -> Option<Vec<u8>> {
        message::encode(self.id, &self.name, self.kind, settings.payload)
    }

    /// What bytes say to the question under way.
    pub fn read(&self, bytes: &[u8]) -> Reply {
        message::decode(bytes, self.id, &self.name, self.kind)
    }

    /// Time has passed. `id` is the number of the next question, if there is one, and `servers` how
    /// many will get it.
    pub fn on_time(&mut self, now: u64, id: u16, servers: usize, settings: &Settings) -> Event {
        if now < self.due {
            return Event::Nothing;
        }
        match self.state {
            State::Idle => {
                self.left = settings.retries.max(1);
                self.ask(self.preferred, now, id, servers, settings)
            }
            State::Waiting => self.ask(self.preferred, now, id, servers, settings),
            State::Asking(_) => match self.error.take() {
                // Somebody has said no, the others nothing.
                Some(error) => self.fall_back(error, now, id, servers, settings),
                None => self.ask_again(now, id, servers, settings),
            },
        }
    }

    /// A name server has answered the question under way. Foreign replies change nothing.
    pub fn on_reply(
        &mut self,
        reply: Reply,
        now: u64,
        id: u16,
        servers: usize,
        settings: &Settings,
    ) -> Event {
        let State::Asking(waiting) = self.state else { return Event::Nothing };
        let error = match reply {
            Reply::Foreign | Reply::Truncated => return Event::Nothing,
            Reply::Answer(answer) => return self.answered(answer, now, settings),
            Reply::Malformed => Failure::Other,
            Reply::Failed(failure) => failure,
        };
        self.error = Some(error);
        self.state = State::Asking(waiting.saturating_sub(1));
        match waiting {
            0 | 1 => self.fall_back(error, now, id, servers, settings),
            _ => Event::Nothing,
        }
    }

    /// The family that was not asked for yet, or the same question later.
    fn fall_back(
        &mut self,
        error: Failure,
        now: u64,
        id: u16,
        servers: usize,
        settings: &Settings,
    ) -> Event {
        match self.kind.other().filter(|_| self.kind == self.preferred) {
            Some(other) => {
                let due = self.due;
                let event = self.ask(other, now, id, servers, settings);
                // Both questions share the time of one, unless it is over.
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
                (self.state, self.error) = (State::Waiting, None);
                self.due = self.due.max(now);
                Event::Nothing
            }
        }
    }

    /// Nothing was heard: the same question, if there is one left.
    fn ask_again(&mut self, now: u64, id: u16, servers: usize, settings: &Settings) -> Event {
        self.left = self.left.saturating_sub(1);
        match self.left {
            0 => self.give_up(Failure::Timeout, now, settings),
            _ => self.ask(self.kind, now, id, servers, settings),
        }
    }

    fn ask(&mut self, kind: Kind, now: u64, id: u16, servers: usize, settings: &Settings) -> Event {
        (self.kind, self.id, self.error) = (kind, id, None);
        self.state = State::Asking(servers);
        self.due = now.saturating_add(settings.retry.max(1));
        Event::Ask
    }

    fn answered(&mut self, answer: Answer, now: u64, settings: &Settings) -> Event {
        for record in answer.records {
            match self.known.iter_mut().find(|known| is_same(&known.record, &record)) {
                Some(known) => *known = Known { record, seen: now },
                None => self.known.push(Known { record, seen: now }),
            }
        }
        let obsolete = settings.hold.obsolete;
        self.known.retain(|known| known.seen == now || now < known.seen.saturating_add(obsolete));
        self.forget_beyond(message::MAX_RECORDS, now);
        (self.state, self.valid, self.failure) = (State::Idle, Some(now), None);
        let ttl = if settings.honours_ttl { u64::from(answer.ttl) * 1_000 } else { 0 };
        self.due = now.saturating_add(settings.resolve.max(ttl).max(1));
        Event::Answered
    }

    /// Answers may change for ever while nothing gets obsolete: beyond so many records, those that
    /// the answer of `now` lacks go.
    fn forget_beyond(&mut self, most: usize, now: u64) {
        let mut excess = self.known.len().saturating_sub(most);
        self.known.retain(|known| {
            let goes = excess > 0 && known.seen != now;
            excess -= usize::from(goes);
            !goes
        });
    }

    fn give_up(&mut self, failure: Failure, now: u64, settings: &Settings) -> Event {
        (self.state, self.error, self.failure) = (State::Idle, None, Some(failure));
        if !self.holds(failure, now, settings) {
            self.known.clear();
        }
        self.due = now.saturating_add(settings.resolve.max(1));
        Event::Failed(failure)
    }
}

/// Whether two records say the same, whatever their weights.
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
