//! An HTTP/1 client: one connection at a time, generated requests, every response checked.

use super::channel::{Channel, ClientTls};
use super::message::{Progress, Reader};
use super::{Flow, Outgoing, PeerFault, Tally, push_body};
use crate::faults::{MS, SEC, US};
use crate::net::Net;
use crate::net::actor::{Actor, ActorId, Signal};
use reactor::Address;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

/// Behaviour of a client. Chances are in 1000; times in virtual nanoseconds.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    /// Its own address.
    pub from: IpAddr,
    /// Address that it connects to.
    pub to: Address,
    /// Number of its first request; ranges of clients must not overlap.
    pub first_id: u64,
    /// Requests to make, failed ones included.
    pub requests: u32,
    /// Value of `host`.
    pub host: String,
    /// Further lines of each head, each with its end.
    pub extra: String,
    /// Most pipelined requests on the connection.
    pub pipeline: usize,
    /// Chance of `connection: close`.
    pub close: u16,
    /// Chance of a POST request; bodies have up to `body` bytes.
    pub post: u16,
    /// The largest body of a request.
    pub body: u64,
    /// Chance that a POST body is sent in chunks.
    pub chunked: u16,
    /// Chance of a HEAD request.
    pub head: u16,
    /// Chance that a write is cut, and continued after a pause.
    pub dribble: u16,
    /// Chance that a request is abandoned: the connection is closed or reset at once, or after a
    /// part of it.
    pub abandon: u16,
    /// Chance that only a part of a request is sent, on a connection that stays open until the
    /// other side ends it.
    pub stall: u16,
    /// Chance that the client half-closes after its last request.
    pub half_close: u16,
    /// Longest time before a new connection and within a pause.
    pub think: u64,
    /// Time without progress after which the connection is given up.
    pub patience: u64,
    /// TLS, if its connections have it.
    pub tls: Option<ClientTls>,
}

impl ClientPlan {
    /// A plain client: keep-alive, one request at a time, one in five with a body.
    pub fn new(to: Address, first_id: u64, requests: u32) -> Self {
        Self {
            from: IpAddr::V4(Ipv4Addr::new(192, 0, 2, (first_id % 251) as u8 + 1)),
            to,
            first_id,
            requests,
            host: "sim.example".into(),
            extra: String::new(),
            pipeline: 1,
            close: 0,
            post: 200,
            body: 2_000,
            chunked: 300,
            head: 0,
            dribble: 0,
            abandon: 0,
            stall: 0,
            half_close: 0,
            think: 100 * US,
            patience: 300 * SEC,
            tls: None,
        }
    }

    /// The same with all that a client may do: pipelining, closing, HEAD, slow writes, abandoning.
    #[must_use]
    pub fn wild(self) -> Self {
        Self {
            pipeline: 4,
            close: 100,
            head: 50,
            dribble: 200,
            abandon: 30,
            half_close: 300,
            think: 3 * MS,
            ..self
        }
    }
}

/// A request that waits for its response.
#[derive(Clone, Copy, Debug)]
struct Expected {
    id: u64,
    head: bool,
    /// Whether the request is the last one on its connection.
    last: bool,
}

/// Timer numbers.
const GO_ON: u64 = 0;
const LOOK: u64 = 1;

/// A client at work; see [`ClientPlan`].
#[derive(Debug)]
pub struct Client {
    plan: ClientPlan,
    tally: Rc<RefCell<Tally>>,
    channel: Option<Channel>,
    reader: Reader,
    out: Outgoing,
    expected: VecDeque<Expected>,
    begun: u32,
    /// Whether a request was begun on this connection.
    asked: bool,
    /// Whether no request follows on this connection.
    closing: bool,
    /// Bytes left to send before the connection is abandoned.
    leaves_after: Option<usize>,
    /// Whether the connection then stays open without further bytes.
    stalls: bool,
    /// Whether the client waits for [`GO_ON`].
    paused: bool,
    progress_at: u64,
}

impl Client {
    /// A client that counts in `tally`.
    pub fn new(plan: ClientPlan, tally: Rc<RefCell<Tally>>) -> Box<Self> {
        Box::new(Self {
            plan,
            tally,
            channel: None,
            reader: Reader::new(true),
            out: Outgoing::default(),
            expected: VecDeque::new(),
            begun: 0,
            asked: false,
            closing: false,
            leaves_after: None,
            stalls: false,
            paused: false,
            progress_at: 0,
        })
    }

    fn pause(&mut self, net: &mut Net, me: ActorId) {
        self.paused = true;
        let at = net.now() + net.up_to(self.plan.think);
        net.set_timer(me, at, GO_ON);
    }

    fn look_later(&mut self, net: &mut Net, me: ActorId) {
        net.set_timer(me, self.progress_at.saturating_add(self.plan.patience), LOOK);
    }

    fn dial(&mut self, net: &mut Net, me: ActorId) {
        if self.begun == self.plan.requests {
            self.tally.borrow_mut().finished += 1;
            return net.retire(me);
        }
        self.closing = false;
        self.asked = false;
        self.progress_at = net.now();
        self.tally.borrow_mut().connections += 1;
        let dialled = net.dial(me, self.plan.from, &self.plan.to).ok();
        let tls = self.plan.tls.as_ref();
        match dialled.and_then(|end| Channel::client(end, tls, b"\x08http/1.1").ok()) {
            Some(channel) => self.channel = Some(channel),
            None => {
                self.refused();
                self.pause(net, me);
            }
        }
    }

    /// Counts the next request as made without a connection, so that the client ends some time.
    fn refused(&mut self) {
        self.begun += 1;
        self.tally.borrow_mut().refused += 1;
    }

    /// Closes the connection; unanswered requests stay unanswered.
    fn leave(&mut self, net: &mut Net, me: ActorId, reset: bool) {
        if let Some(channel) = self.channel.take() {
            channel.close(net, reset);
        }
        if self.out.left() > 0 {
            // The last request was not sent completely.
            self.given_up(self.begun - 1, PeerFault::Left);
        }
        for expected in std::mem::take(&mut self.expected) {
            self.tally.borrow_mut().given_up.entry(expected.id).or_insert(PeerFault::Left);
        }
        self.stalls = false;
        self.out.clear();
        self.reader.clear();
        self.leaves_after = None;
        self.pause(net, me);
    }

    fn given_up(&self, number: u32, mischief: PeerFault) {
        let id = self.plan.first_id + u64::from(number);
        self.tally.borrow_mut().given_up.entry(id).or_insert(mischief);
    }

    /// Handles the end of the connection, regular or not.
    fn ended(&mut self, net: &mut Net, me: ActorId, flow: Flow) {
        {
            let mut tally = self.tally.borrow_mut();
            tally.broken += u64::from(flow == Flow::Broken);
            let inside = self.reader.is_inside() && !self.expected.is_empty();
            tally.truncated += u64::from(inside);
            tally.unanswered += self.expected.len() as u64 - u64::from(inside);
        }
        let asked = self.asked;
        // The other side ended the connection, so the client has abandoned no request.
        self.expected.clear();
        self.leave(net, me, false);
        if !asked {
            self.refused();
        }
    }

    /// Reads responses; `false` if the connection has ended.
    fn read(&mut self, net: &mut Net, me: ActorId) -> bool {
        let Some(channel) = &mut self.channel else { return false };
        let (reader, before) = (&mut self.reader, self.progress_at);
        let now = net.now();
        let mut progress_at = before;
        let flow = channel.drain(net, |bytes| {
            progress_at = now;
            reader.feed(bytes);
        });
        self.progress_at = progress_at;
        while let Some(expected) = self.expected.front().copied() {
            match self.reader.advance(expected.head) {
                Ok(Progress::More) => break,
                Ok(Progress::Head) => {}
                Ok(Progress::Done) if self.reader.head.status < 200 => {}
                Ok(Progress::Done) => {
                    if self.answered(net, me, expected) {
                        return false;
                    }
                }
                Err(what) => {
                    let id = expected.id;
                    self.tally.borrow_mut().record_error(net, || format!("answer {id}: {what}"));
                    self.leave(net, me, false);
                    return false;
                }
            }
        }
        if self.expected.is_empty() && !self.reader.is_between() {
            self.stray(net);
        }
        if flow == Flow::Ended && self.reader.ends_with_stream() && !self.expected.is_empty() {
            let expected = self.expected[0];
            self.answered(net, me, Expected { last: true, ..expected });
            return false;
        }
        if flow != Flow::Open {
            self.ended(net, me, flow);
            return false;
        }
        true
    }

    /// Handles bytes that belong to no request. A proxy may explain why it closes (408, 400, 503).
    fn stray(&mut self, net: &Net) {
        if let Ok(Progress::Head) = self.reader.advance(false) {
            let head = &self.reader.head;
            let farewell = matches!(head.status, 400 | 408 | 503) && head.id.is_none();
            self.tally.borrow_mut().farewells += 1;
            if !farewell {
                let head = String::from_utf8_lossy(&head.bytes).into_owned();
                self.tally.borrow_mut().record_error(net, || format!("unasked: {head:?}"));
            }
        }
    }

    /// Handles a complete response. Returns whether the connection was closed.
    fn answered(&mut self, net: &mut Net, me: ActorId, expected: Expected) -> bool {
        self.expected.pop_front();
        let head = &self.reader.head;
        let (status, length) = (head.status, self.reader.length);
        {
            let mut tally = self.tally.borrow_mut();
            tally.bytes += length;
            if !self.reader.ends_with_stream() {
                tally.answers.insert(expected.id, status);
            }
            match head.id {
                None => tally.foreign[usize::from(status / 100)] += 1,
                Some(id) if id == expected.id && self.reader.right => tally.answered += 1,
                Some(id) => {
                    let (asked, right) = (expected.id, self.reader.right);
                    tally.record_error(net, || {
                        format!("asked {asked}, got {id}, body right: {right}")
                    });
                }
            }
        }
        if self.reader.head.close || expected.last {
            self.tally.borrow_mut().unanswered += self.expected.len() as u64;
            self.leave(net, me, false);
            return true;
        }
        if self.begun == self.plan.requests && self.expected.is_empty() {
            self.leave(net, me, false);
            return true;
        }
        false
    }

    /// Queues requests as the plan allows.
    fn queue_requests(&mut self, net: &mut Net) {
        while !self.closing
            && self.leaves_after.is_none()
            && self.begun < self.plan.requests
            && self.expected.len() < self.plan.pipeline
        {
            let start = self.out.bytes.len();
            let id = self.plan.first_id + u64::from(self.begun);
            self.begun += 1;
            self.asked = true;
            self.progress_at = net.now();
            self.write_request(net, id);
            self.tally.borrow_mut().sent += 1;
            let whole = self.out.bytes.len() - start;
            if net.chance(self.plan.abandon) {
                let part = net.up_to(whole as u64) as usize;
                self.leaves_after = Some(start - self.out.done + part);
            } else if net.chance(self.plan.stall) {
                self.leaves_after =
                    Some(start - self.out.done + net.up_to(whole as u64 - 1) as usize);
                self.stalls = true;
                self.given_up(self.begun - 1, PeerFault::Stalled);
            }
        }
    }

    fn write_request(&mut self, net: &mut Net, id: u64) {
        use std::io::Write;
        let post = net.chance(self.plan.post);
        let head = !post && net.chance(self.plan.head);
        let last = net.chance(self.plan.close);
        self.closing = last;
        let method = if post {
            "POST"
        } else if head {
            "HEAD"
        } else {
            "GET"
        };
        let ClientPlan { host, extra, .. } = &self.plan;
        let out = &mut self.out.bytes;
        let _ = write!(out, "{method} /r/{id} HTTP/1.1\r\nhost: {host}\r\nx-id: {id}\r\n{extra}");
        if last {
            out.extend_from_slice(b"connection: close\r\n");
        }
        let length = if post { net.up_to(self.plan.body) } else { 0 };
        if post && net.chance(self.plan.chunked) {
            out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
            push_chunks(out, net, id, length);
        } else {
            if post {
                let _ = write!(out, "content-length: {length}\r\n");
            }
            out.extend_from_slice(b"\r\n");
            push_body(out, id, 0, length);
        }
        self.expected.push_back(Expected { id, head, last });
    }

    fn write(&mut self, net: &mut Net, me: ActorId) {
        if self.paused || self.out.left() == 0 {
            return;
        }
        let Some(channel) = &mut self.channel else { return };
        let before = self.out.left();
        let dribbles = net.chance(self.plan.dribble);
        let most = if dribbles { 1 + net.up_to(before as u64 - 1) as usize } else { before };
        let most = most.min(self.leaves_after.unwrap_or(usize::MAX));
        let flow = self.out.flush(net, channel, most);
        let wrote = before - self.out.left();
        if wrote > 0 {
            self.progress_at = net.now();
        }
        if let Some(left) = &mut self.leaves_after {
            *left = left.saturating_sub(wrote);
            if *left == 0 && self.stalls {
                return;
            }
            if *left == 0 {
                self.tally.borrow_mut().abandoned += self.expected.len() as u64;
                let reset = net.chance(500);
                return self.leave(net, me, reset);
            }
        }
        // A failure to write is handled on reading, because a response may still be on its way.
        if dribbles && self.out.left() > 0 && flow == Flow::Open {
            self.pause(net, me);
        }
        if self.out.left() == 0
            && self.begun == self.plan.requests
            && net.chance(self.plan.half_close)
            && let Some(channel) = &mut self.channel
        {
            channel.shutdown(net);
        }
    }

    fn go_on(&mut self, net: &mut Net, me: ActorId) {
        if self.read(net, me) {
            self.queue_requests(net);
            self.write(net, me);
        }
    }

    fn check_progress(&mut self, net: &mut Net, me: ActorId) {
        if self.channel.is_some()
            && net.now() >= self.progress_at.saturating_add(self.plan.patience)
        {
            self.tally.borrow_mut().timeouts += self.expected.len() as u64;
            if !self.asked {
                self.refused();
            }
            self.leave(net, me, true);
            self.progress_at = net.now();
        }
        self.look_later(net, me);
    }
}

/// Appends a body in chunks of random sizes.
pub(super) fn push_chunks(out: &mut Vec<u8>, net: &Net, id: u64, length: u64) {
    use std::io::Write;
    let mut offset = 0;
    while offset < length {
        let size = 1 + net.up_to(length - offset - 1);
        let _ = write!(out, "{size:x}\r\n");
        push_body(out, id, offset, size);
        out.extend_from_slice(b"\r\n");
        offset += size;
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

impl Actor for Client {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => {
                self.progress_at = net.now();
                self.look_later(net, me);
                self.pause(net, me);
            }
            Signal::Ready(end) if self.channel.as_ref().is_some_and(|own| own.end() == end) => {
                self.go_on(net, me);
            }
            Signal::Ready(_) | Signal::Accepted(_) | Signal::Datagram(_) => {}
            Signal::Timer(LOOK) => self.check_progress(net, me),
            Signal::Timer(_) => {
                self.paused = false;
                match self.channel {
                    Some(_) => self.go_on(net, me),
                    None => self.dial(net, me),
                }
            }
        }
    }
}
