//! Scripted clients and origins of HTTP/1 and HTTP/2 that check what they receive. They share no code
//! with the product, but for TLS and for the compression of HTTP/2 headers.
//!
//! Every request has a number, sent as `x-id`, which the origin returns; the bytes of every body
//! are derived from the number. So a lost, truncated, mixed up or duplicated response is detected.

mod accepting;
pub mod channel;
pub mod client;
mod fcgi_origin;
pub mod h2_client;
mod h2_frames;
mod h2_origin;
pub mod message;
pub mod origin;
pub mod spoe_agent;

pub use accepting::Origin;
pub use channel::ClientTls;
pub use client::{Client, ClientPlan};
pub use h2_client::H2Client;
pub use origin::OriginPlan;
pub use spoe_agent::{AgentPlan, AgentTally, SpoeAgent};

use crate::net::Net;
use channel::Channel;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::LazyLock;

/// Length of the table of which bodies are slices.
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

/// Whether these bytes are in the body with this number at an offset.
pub fn body_matches(id: u64, mut offset: u64, bytes: &[u8]) -> bool {
    bytes.chunks(PERIOD).all(|piece| {
        let matches = body(id, offset, piece.len()) == piece;
        offset += piece.len() as u64;
        matches
    })
}

/// Appends a part of the body with this number.
pub fn push_body(out: &mut Vec<u8>, id: u64, mut offset: u64, length: u64) {
    let end = offset + length;
    while offset < end {
        let piece = body(id, offset, (end - offset).min(PERIOD as u64) as usize);
        out.extend_from_slice(piece);
        offset += piece.len() as u64;
    }
}

/// Deliberate fault of a peer with one request; the log line must agree with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerFault {
    /// The origin closed or reset the connection instead of responding.
    Silent,
    /// The origin closed or reset the connection within a response.
    Cut,
    /// The origin stopped before or within its response and kept the connection.
    Hung,
    /// The origin's response was malformed.
    Garbage,
    /// The client closed, before or within its request or before the response was complete.
    Left,
    /// The client stopped within its request and kept the connection.
    Stalled,
}

/// Observations of all clients and origins of one test.
#[derive(Debug, Default)]
pub struct Tally {
    /// Clients that have made all their requests.
    pub finished: u64,
    /// Requests begun.
    pub sent: u64,
    /// Responses with the request's own number, complete and correct.
    pub answered: u64,
    /// Responses without a number, such as the proxy's own, by status class.
    pub foreign: [u64; 6],
    /// Statuses of complete responses by the request's number. Responses that end with the stream
    /// are left out, because it is unknown whether they are complete.
    pub answers: BTreeMap<u64, u16>,
    /// Responses without a request, with which a proxy explains why it closes.
    pub farewells: u64,
    /// Requests whose connection ended before a response began.
    pub unanswered: u64,
    /// Responses that ended too early.
    pub truncated: u64,
    /// Connections that failed with an error.
    pub broken: u64,
    /// Connections that were not established.
    pub refused: u64,
    /// Requests that clients have repeated because their server had refused or not seen them.
    pub repeated: u64,
    /// Requests that timed out in the client.
    pub timeouts: u64,
    /// Requests or responses that the client abandoned deliberately.
    pub abandoned: u64,
    /// Connections opened by clients.
    pub connections: u64,
    /// Connections that origins accepted.
    pub accepted: u64,
    /// Requests that origins have read completely.
    pub served: u64,
    /// Requests with a method that must not be repeated that an origin has read twice.
    pub doubled: u64,
    /// Requests that origins have read and not answered yet.
    pub under_way: u64,
    /// Requests of FastCGI whose numbers were in use when their connections ended.
    pub numbers_in_use: u64,
    /// The greatest number of requests under way at a time.
    pub busiest: u64,
    /// Requests with a fault of their origin, by number.
    pub spoilt: BTreeMap<u64, PeerFault>,
    /// Requests with a fault of their client, by number.
    pub given_up: BTreeMap<u64, PeerFault>,
    /// Requests answered before they were complete: their client may close then.
    pub early: BTreeSet<u64>,
    /// Bytes of bodies that clients have checked.
    pub bytes: u64,
    /// Errors in any case, the first ones only: mixed up bytes or numbers, malformed messages.
    pub wrong: Vec<String>,
    posts: BTreeSet<u64>,
}

/// Most errors kept.
const COMPLAINTS: usize = 10;

impl Tally {
    /// Counts a complete request, and a POST that arrives twice. `right`: head and body are those
    /// of the request's number; `shown` describes it otherwise.
    fn record_request(
        &mut self,
        net: &Net,
        (id, post, right): (Option<u64>, bool, bool),
        shown: impl FnOnce() -> String,
    ) {
        self.served += 1;
        match id.filter(|_| right) {
            Some(id) => {
                if post && !self.posts.insert(id) {
                    self.doubled += 1;
                }
            }
            None => self.record_error(net, || format!("request {} came mixed up", shown())),
        }
    }

    /// Counts a request that waits for its response.
    fn begin_response(&mut self) {
        self.under_way += 1;
        self.busiest = self.busiest.max(self.under_way);
    }

    fn record_error(&mut self, net: &Net, what: impl FnOnce() -> String) {
        if self.wrong.len() < COMPLAINTS {
            self.wrong.push(format!("at {}: {}", net.now(), what()));
        }
    }
}

/// Result of reading or writing as much as possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// The call would block.
    Open,
    /// The stream ended.
    Ended,
    /// The connection failed.
    Broken,
}

/// Bytes to send, with the progress of sending.
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
    fn flush(&mut self, net: &mut Net, channel: &mut Channel, most: usize) -> Flow {
        let stop = self.done + self.left().min(most);
        while self.done < stop {
            match channel.send(net, &self.bytes[self.done..stop]) {
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
