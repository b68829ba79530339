//! The flight recorder: what became of the last transactions of a thread, for `show why`. Never
//! decides anything, and never waits for anybody.
//!
//! Each thread writes into its own two rings: one of all transactions, one of those that failed, so
//! that failures stay while others pass. Records have a fixed size; texts are cut.

use crate::state::transaction_log::{Cause, Journal, Phase};
use crate::state::worker::Worker;
use crate::transaction::run::Transaction;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Transactions that a thread remembers.
const KEPT: usize = 512;
/// Failed ones that a thread remembers besides.
const FAILED: usize = 128;
/// Bytes of a request line and of a unique id that are remembered.
const TEXT: usize = 64;

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
    /// What fits of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether the end may be missing.
    pub fn is_full(&self) -> bool {
        usize::from(self.len) == TEXT
    }

    fn set(&mut self, parts: &[&[u8]]) {
        let mut at = 0;
        for part in parts {
            let fits = part.len().min(TEXT - at);
            self.bytes[at..at + fits].copy_from_slice(&part[..fits]);
            at += fits;
        }
        self.len = at as u8;
    }
}

/// Who chose the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Chooser {
    /// The balancing algorithm, or the connection that was there already.
    #[default]
    Algorithm,
    /// `use-server`.
    Rule,
    /// The client's persistence cookie.
    Cookie,
    /// A `stick` rule.
    Table,
    /// The proxy names one address (`dispatch`, `option transparent`).
    Address,
}

/// One transaction. Moments are nanoseconds on one clock, 0 for those not reached.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Its number among those of its thread, from 1.
    pub number: u64,
    /// When its first byte came, in nanoseconds since 1970.
    pub wall: u64,
    /// The client; none over a unix socket.
    pub peer: Option<SocketAddr>,
    /// Method and URI, as they came; empty in TCP mode and where none was understood.
    pub line: Text,
    /// The unique id, if one was made.
    pub unique_id: Text,
    /// The frontend, by index.
    pub frontend: usize,
    /// The backend, by index.
    pub backend: Option<usize>,
    /// The server used last, by slot.
    pub server: Option<usize>,
    /// Who chose it.
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
    /// Who ended it.
    pub cause: Cause,
    /// When.
    pub phase: Phase,
    /// The request was not understood.
    pub bad_request: bool,
    /// File and line of the rule that ended a rule set.
    pub rule: Option<(Arc<str>, u32)>,
}

impl Flight {
    /// Whether it went wrong, in a way that is not only the client's doing.
    pub fn has_failed(&self) -> bool {
        let ended = !matches!(self.cause, Cause::Normal | Cause::Local);
        self.status >= 500 || self.bad_request || ended
    }

    /// Nanoseconds from one of the moments to another; `None` if one was not reached.
    pub fn span(&self, from: usize, to: usize) -> Option<u64> {
        let (from, to) = (self.moments[from], self.moments[to]);
        (from != 0 && to != 0).then(|| to.saturating_sub(from))
    }
}

/// The last ones of something, oldest first.
#[derive(Debug)]
struct Ring<const N: usize> {
    kept: Vec<Flight>,
    next: usize,
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Self { kept: Vec::new(), next: 0 }
    }
}

impl<const N: usize> Ring<N> {
    fn push(&mut self, flight: Flight) {
        match self.kept.get_mut(self.next) {
            Some(place) => *place = flight,
            None => self.kept.push(flight),
        }
        self.next = (self.next + 1) % N;
    }

    fn iter(&self) -> impl Iterator<Item = &Flight> {
        let (new, old) = self.kept.split_at(self.next.min(self.kept.len()));
        old.iter().chain(new)
    }
}

#[derive(Debug, Default)]
struct Rings {
    count: u64,
    all: Ring<KEPT>,
    failed: Ring<FAILED>,
}

/// What one thread remembers.
#[derive(Debug, Default)]
pub(crate) struct Recorder(RefCell<Rings>);

/// Remembers how a request began; its head may be gone when it ends.
#[inline]
pub(crate) fn begin(tx: &mut Transaction) {
    if tx.worker.shared.records.load(Relaxed) {
        let request = &tx.space.request;
        tx.notes.line.set(&[request.method(), b" ", request.uri()]);
    }
}

/// Remembers a transaction that has ended; its journal is read for the last time.
#[inline]
pub(crate) fn end(tx: &mut Transaction) {
    if !tx.worker.shared.records.load(Relaxed) || tx.notes.journal.is_empty() {
        return;
    }
    let mut unique_id = Text::default();
    if let Some(id) = tx.notes.unique_id.get() {
        unique_id.set(&[id]);
    }
    let rule = tx.notes.journal.last_rule.take();
    let (journal, worker) = (&tx.notes.journal, &tx.worker);
    let mut rings = worker.recorder.0.borrow_mut();
    rings.count += 1;
    let flight = Flight {
        number: rings.count,
        wall: journal.began_wall + journal.first_byte.saturating_sub(journal.began),
        peer: tx.client.peer,
        line: tx.notes.line,
        unique_id,
        frontend: tx.client.proxy.index,
        backend: tx.backend.as_ref().map(|backend| backend.index),
        server: tx.claim.as_ref().map(|claim| claim.slot()),
        chooser: journal.chooser,
        moments: [
            journal.first_byte,
            journal.request,
            journal.queued,
            journal.connected,
            journal.response,
            journal.ended,
        ],
        fresh: journal.fresh,
        retries: journal.retries,
        redispatched: journal.redispatched,
        queue_positions: journal.queue_positions,
        status: journal.status,
        bytes: (journal.bytes_in, journal.bytes_out),
        cause: journal.cause,
        phase: journal.phase,
        bad_request: journal.bad_request,
        rule,
    };
    if flight.has_failed() {
        rings.failed.push(flight.clone());
    }
    rings.all.push(flight);
}

impl Journal {
    /// Whether the client left without having said anything.
    fn is_empty(&self) -> bool {
        self.status == 0 && self.bytes_in == 0 && self.request == 0
    }
}

impl Worker {
    /// What this thread remembers of transactions: the last ones, or the last ones that failed,
    /// oldest first.
    pub fn flights(&self, failed: bool) -> Vec<Flight> {
        let rings = self.recorder.0.borrow();
        match failed {
            true => rings.failed.iter().cloned().collect(),
            false => rings.all.iter().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Mode;
    use crate::testing;
    use crate::testing::{Origin, World};
    use std::io::{Read, Write};

    #[test]
    fn texts_are_cut() {
        let mut text = Text::default();
        text.set(&[b"GET", b" ", b"/x"]);
        assert_eq!((text.bytes(), text.is_full()), (&b"GET /x"[..], false));
        text.set(&[b"GET", b" ", &[b'y'; 100]]);
        assert_eq!((text.bytes().len(), text.is_full()), (TEXT, true));
    }

    #[test]
    fn transactions_are_remembered_and_failures_longer() {
        let origin = Origin::new(|mut stream, _| {
            let mut head = [0; 1024];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        });
        let server = testing::server(1, origin.address);
        let (good, address) = testing::listen("good", Mode::Http, vec![server]);
        let (bad, refused) = testing::listen("bad", Mode::Http, Vec::new());
        let world = World::new(vec![good, bad]);
        let get = |address, uri: String| {
            world.play(move || {
                let mut stream = testing::client(address);
                let request = format!("GET {uri} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
                stream.write_all(request.as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                answer
            })
        };
        assert!(get(refused, "/first".into()).starts_with("HTTP/1.1 503 "));
        assert!(get(address, "/second".into()).starts_with("HTTP/1.1 200 "));
        let worker = &world.workers[0];
        world.until("both have ended", || worker.flights(false).len() == 2);
        let flights = worker.flights(false);
        assert_eq!(flights[0].line.bytes(), b"GET /first");
        assert_eq!((flights[0].status, flights[0].server), (503, None));
        assert_eq!((flights[1].number, flights[1].server), (2, Some(0)));
        assert_eq!((flights[1].chooser, flights[1].fresh), (Chooser::Algorithm, true));
        assert!(flights[1].span(0, 5) >= flights[1].span(3, 4));
        let failed = worker.flights(true);
        assert_eq!((failed.len(), failed[0].number), (1, 1));
        worker.shared.records.store(false, Relaxed);
        assert!(get(address, "/third".into()).starts_with("HTTP/1.1 200 "));
        assert_eq!(worker.flights(false).len(), 2);
        worker.shared.records.store(true, Relaxed);
        for n in 0..KEPT {
            let mut flight = flights[1].clone();
            flight.number = n as u64;
            worker.recorder.0.borrow_mut().all.push(flight);
        }
        let kept = worker.flights(false);
        assert_eq!((kept.len(), kept[0].number, kept[KEPT - 1].number), (KEPT, 0, 511));
        assert_eq!(worker.flights(true).len(), 1);
    }
}
