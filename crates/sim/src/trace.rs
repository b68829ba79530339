//! A running hash of all events, and the last records.

use std::collections::VecDeque;

/// Kinds of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is named after the call or the event that it records")]
pub enum RecordKind {
    Listen,
    Connect,
    Refuse,
    Established,
    Syn,
    Accept,
    Exhausted,
    Send,
    Recv,
    Arrive,
    Fin,
    Reset,
    Stall,
    Room,
    Shutdown,
    Close,
    Watch,
    Unwatch,
    Event,
    Stale,
    Turn,
    Timer,
    Datagram,
    Rebind,
    Write,
    Misuse,
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Virtual nanoseconds.
    pub at: u64,
    /// Kind.
    pub what: RecordKind,
    /// The connection, listener, thread or token concerned.
    pub subject: u64,
    /// A count, a flag or a hash of bytes.
    pub detail: u64,
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, nanos) = (self.at / 1_000_000_000, self.at % 1_000_000_000);
        write!(f, "{seconds}.{nanos:09} {:?} {:#x} {}", self.what, self.subject, self.detail)
    }
}

/// The trace of a run so far.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    count: u64,
    last: VecDeque<Record>,
    keep: usize,
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// A hash of bytes, for the detail of a record.
pub fn digest(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let hash =
        words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

impl Trace {
    /// An empty trace that keeps the last `keep` records.
    pub fn new(keep: usize) -> Self {
        Self { hash: 0, count: 0, last: VecDeque::with_capacity(keep), keep }
    }

    /// Adds a record.
    pub fn note(&mut self, record: Record) {
        self.count += 1;
        let words = [record.at, record.what as u64, record.subject, record.detail];
        self.hash = words.into_iter().fold(self.hash, mix);
        if self.keep == 0 {
            return;
        }
        if self.last.len() == self.keep {
            self.last.pop_front();
        }
        self.last.push_back(record);
    }

    /// The hash; equal for equal runs.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Number of records so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last records, oldest first.
    pub fn last(&self) -> impl Iterator<Item = &Record> {
        self.last.iter()
    }

    /// Changes how many of the last records are kept.
    pub fn set_keep(&mut self, keep: usize) {
        self.keep = keep;
        while self.last.len() > keep {
            self.last.pop_front();
        }
    }
}
