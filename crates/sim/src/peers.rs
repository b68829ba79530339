//! Scripted HTTP/1 clients and origins that check what they get. Never share code with the product.
//!
//! Every request has a number, sent as `x-id`, which the origin gives back; the bytes of every body
//! follow from the number. So an answer that got lost, cut, mixed up or doubled is noticed.

pub mod client;
pub mod message;
pub mod origin;

pub use client::{Client, ClientPlan};
pub use origin::{Origin, OriginPlan};

use crate::net::{EndId, Net};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::LazyLock;

/// Length of the table that bodies are cut from, less a power of two.
const PERIOD: usize = 1 << 16;

static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let prng = stdx::Prng::new(1);
    let once: Vec<u8> = (0..PERIOD).map(|_| prng.next_u32() as u8).collect();
    [&once[..], &once[..]].concat()
});

/// Up to 64 KiB of the body with this number, from an offset on.
fn body(id: u64, offset: u64, length: usize) -> &'static [u8] {
    let start = (id.wrapping_mul(7919).wrapping_add(offset) % PERIOD as u64) as usize;
    &TABLE[start..start + length.min(PERIOD)]
}

/// Whether these bytes stand in the body with this number at an offset.
fn body_matches(id: u64, mut offset: u64, bytes: &[u8]) -> bool {
    bytes.chunks(PERIOD).all(|piece| {
        let matches = body(id, offset, piece.len()) == piece;
        offset += piece.len() as u64;
        matches
    })
}

fn push_body(out: &mut Vec<u8>, id: u64, mut offset: u64, length: u64) {
    let end = offset + length;
    while offset < end {
        let piece = body(id, offset, (end - offset).min(PERIOD as u64) as usize);
        out.extend_from_slice(piece);
        offset += piece.len() as u64;
    }
}

/// What a peer did to one request on purpose; what the log says of it must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mischief {
    /// The origin closed or reset instead of an answer.
    Silent,
    /// The origin closed or reset in the midst of an answer.
    Cut,
    /// The origin stopped before or within its answer and kept the connection.
    Hung,
    /// The origin's answer was malformed.
    Garbage,
    /// The client left, before or within its request or before the answer was complete.
    Left,
    /// The client stopped within its request and kept the connection.
    Stalled,
}

/// What clients and origins saw, all together; shared by those of one test.
#[derive(Debug, Default)]
pub struct Tally {
    /// Clients that have done all their requests.
    pub finished: u64,
    /// Requests begun.
    pub sent: u64,
    /// Answers with the request's own number, complete and right.
    pub answered: u64,
    /// Answers without a number, such as a proxy's own, by hundreds of their status.
    pub foreign: [u64; 6],
    /// Statuses of complete answers, own and foreign ones, by the request's number. Those that end
    /// with the stream are not among them: nobody can tell whether they are complete.
    pub answers: BTreeMap<u64, u16>,
    /// Answers that no request asked for: a proxy says why it closes.
    pub farewells: u64,
    /// Requests whose connection ended before an answer began.
    pub unanswered: u64,
    /// Answers that ended too early.
    pub truncated: u64,
    /// Connections that failed with an error.
    pub broken: u64,
    /// Connections that were not established.
    pub refused: u64,
    /// Requests that the client lost patience with.
    pub timeouts: u64,
    /// Requests or answers that the client itself left on purpose.
    pub abandoned: u64,
    /// Connections that clients made.
    pub connections: u64,
    /// Connections that origins accepted.
    pub accepted: u64,
    /// Requests that origins read to the end.
    pub served: u64,
    /// Requests of a method that must not be repeated and that an origin has read twice.
    pub doubled: u64,
    /// Requests that origins have read and not answered yet.
    pub under_way: u64,
    /// The most that there were at a time.
    pub busiest: u64,
    /// Requests that an origin has spoilt, by number.
    pub spoilt: BTreeMap<u64, Mischief>,
    /// Requests that their client has spoilt, by number.
    pub given_up: BTreeMap<u64, Mischief>,
    /// Requests that had an answer before all of them had come: their client may leave then.
    pub early: BTreeSet<u64>,
    /// Bytes of bodies that clients have checked.
    pub bytes: u64,
    /// What is wrong in any case, first ones only: bytes or numbers mixed up, malformed messages.
    pub wrong: Vec<String>,
    posts: BTreeSet<u64>,
}

/// The most complaints that are kept.
const COMPLAINTS: usize = 10;

impl Tally {
    fn complain(&mut self, net: &Net, what: impl FnOnce() -> String) {
        if self.wrong.len() < COMPLAINTS {
            self.wrong.push(format!("at {}: {}", net.now(), what()));
        }
    }
}

/// How a read or write of all there is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// It would wait.
    Open,
    /// The stream ended.
    Ended,
    /// The connection failed.
    Broken,
}

/// Reads all there is.
fn drain(net: &mut Net, end: EndId, mut take: impl FnMut(&[u8])) -> Flow {
    let mut buffer = [0; 16 << 10];
    loop {
        match net.recv(end, &mut buffer) {
            Ok(0) => return Flow::Ended,
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Flow::Open,
            Err(_) => return Flow::Broken,
        }
    }
}

/// Bytes to send, and how far that is.
#[derive(Debug, Default)]
struct Outgoing {
    bytes: Vec<u8>,
    done: usize,
}

impl Outgoing {
    fn left(&self) -> usize {
        self.bytes.len() - self.done
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.done = 0;
    }

    /// Sends up to `most` bytes.
    fn flush(&mut self, net: &mut Net, end: EndId, most: usize) -> Flow {
        let stop = self.done + self.left().min(most);
        while self.done < stop {
            match net.send(end, &self.bytes[self.done..stop]) {
                Ok(count) => self.done += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Flow::Open,
                Err(_) => return Flow::Broken,
            }
        }
        if self.left() == 0 {
            self.clear();
        }
        Flow::Open
    }
}
