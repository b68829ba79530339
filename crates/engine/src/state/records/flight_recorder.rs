//! The last transactions of a thread, and the last that failed, as records of fixed size.

use crate::state::worker::Worker;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use stdx::prefetch;
use transport::stats::transaction_log::{Cause, Chooser, Phase};

/// Transactions that a thread remembers.
pub const KEPT: usize = 512;

/// Failed transactions that a thread remembers besides.
const FAILED: usize = 128;

/// Bytes of a request line and of a unique id that are remembered.
pub const TEXT: usize = 64;

/// A short text without memory of its own.
#[derive(Clone, Copy)]
pub struct Text {
    len: u8,
    bytes: [u8; TEXT],
}

impl Default for Text {
    fn default() -> Self {
        Self { len: 0, bytes: [0; TEXT] }
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        String::from_utf8_lossy(self.bytes()).fmt(f)
    }
}

impl Text {
    /// The bytes that fitted.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether the end may be missing.
    pub fn is_full(&self) -> bool {
        usize::from(self.len) == TEXT
    }

    /// Replaces the text by these parts, cut to the space there is.
    pub fn set(&mut self, parts: &[&[u8]]) {
        let mut at = 0;
        for part in parts {
            let fits = part.len().min(TEXT - at);
            self.bytes[at..at + fits].copy_from_slice(&part[..fits]);
            at += fits;
        }
        self.len = at as u8;
    }
}

/// One transaction. Moments are nanoseconds of one clock, 0 for stages that were not reached.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Its number among those of its thread, from 1.
    pub number: u64,
    /// When its first byte came, in nanoseconds since 1970.
    pub wall: u64,
    /// The client; none over a unix socket.
    pub peer: Option<SocketAddr>,
    /// Method and URI, as they came; empty in TCP mode and for malformed requests.
    pub line: Text,
    /// The unique id, if one was made.
    pub unique_id: Text,
    /// The frontend, by index.
    pub frontend: usize,
    /// The backend, by index.
    pub backend: Option<usize>,
    /// The server used last, by slot.
    pub server: Option<usize>,
    /// How the server was chosen.
    pub chooser: Chooser,
    /// First byte, head of the request, end of the queue, connection, head of the response, end.
    pub moments: [u64; 6],
    /// The connection to the server was made for this request.
    pub fresh: bool,
    /// Repeated attempts to connect.
    pub retries: u32,
    /// Another server was chosen than at first.
    pub redispatched: bool,
    /// Requests served while this one was in the server's queue, and in the backend's, itself
    /// included.
    pub queue_positions: (u32, u32),
    /// Status sent to the client; 0 for none.
    pub status: u16,
    /// Bytes from the client and to it.
    pub bytes: (u64, u64),
    /// The cause of the end.
    pub cause: Cause,
    /// The phase of the end.
    pub phase: Phase,
    /// The request was malformed.
    pub bad_request: bool,
    /// File and line of the rule that ended a rule set.
    pub rule: Option<(Arc<str>, u32)>,
}

impl Flight {
    /// Whether the request was malformed, or the end was not a normal one.
    pub fn has_failed(&self) -> bool {
        let ended = !matches!(self.cause, Cause::Normal | Cause::Local);
        self.status >= 500 || self.bad_request || ended
    }

    /// Nanoseconds from one moment to another; `None` if one of them was not reached.
    pub fn span(&self, from: usize, to: usize) -> Option<u64> {
        let (from, to) = (self.moments[from], self.moments[to]);
        (from != 0 && to != 0).then(|| to.saturating_sub(from))
    }
}

/// The last `N` transactions, oldest first.
#[derive(Debug)]
pub struct FlightRing<const N: usize> {
    kept: Vec<Flight>,
    next: usize,
}

impl<const N: usize> Default for FlightRing<N> {
    fn default() -> Self {
        Self { kept: Vec::new(), next: 0 }
    }
}

impl<const N: usize> FlightRing<N> {
    /// Adds a record; the oldest gives way when the ring is full.
    pub fn push(&mut self, flight: Flight) {
        match self.kept.get_mut(self.next) {
            Some(place) => *place = flight,
            None => self.kept.push(flight),
        }
        self.next = (self.next + 1) % N;
        if let Some(oldest) = self.kept.get(self.next) {
            prefetch::prefetch(oldest);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flight> {
        let (new, old) = self.kept.split_at(self.next.min(self.kept.len()));
        old.iter().chain(new)
    }
}

/// The rings of a thread.
#[derive(Debug, Default)]
pub struct Rings {
    /// Transactions so far.
    pub count: u64,
    /// The last transactions.
    pub all: FlightRing<KEPT>,
    /// The last that failed.
    pub failed: FlightRing<FAILED>,
}

/// The recorder of one thread.
#[derive(Debug, Default)]
pub struct Recorder(pub RefCell<Rings>);

impl Worker {
    /// The last transactions of this thread, or the last that failed, oldest first.
    pub fn flights(&self, failed: bool) -> Vec<Flight> {
        let rings = self.recorder.0.borrow();
        match failed {
            true => rings.failed.iter().cloned().collect(),
            false => rings.all.iter().cloned().collect(),
        }
    }
}
