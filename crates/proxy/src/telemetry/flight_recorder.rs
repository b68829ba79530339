//! The flight recorder: what became of the last transactions of a thread, for `show why`.
//!
//! Each thread writes into its own two rings: one of all transactions, one of those that failed, so
//! that failures stay while others pass. Records have a fixed size; texts are cut.

use crate::state::records::flight_recorder::{Flight, Text};
use crate::state::session::transaction::Transaction;
use crate::state::worker::Worker;
use crate::stats::transaction_log::Journal;
use std::sync::atomic::Ordering::Relaxed;

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
    use crate::state::records::flight_recorder::{KEPT, TEXT};
    use crate::stats::transaction_log::Chooser;
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
