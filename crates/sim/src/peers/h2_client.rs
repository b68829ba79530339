//! An HTTP/2 client: one connection at a time, streams beside each other, every response checked.

use super::channel::Channel;
use super::client::ClientPlan;
use super::h2_frames::{FieldList, H2Event, H2Frames};
use super::{Flow, PeerFault, Tally, body_matches};
use crate::net::Net;
use crate::net::actor::{Actor, ActorId, Signal};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use wire::h2::ErrorCode;

/// Timer numbers; others are streams to be abandoned.
const GO_ON: u64 = 0;
const LOOK: u64 = u64::MAX;

/// A request under way.
#[derive(Debug)]
struct Asked {
    id: u64,
    head: bool,
    /// The status of its response, once that has begun.
    status: Option<u16>,
    /// Whether the response has the request's own number.
    own: bool,
    expected: Option<u64>,
    length: u64,
}

/// A client at work; see [`ClientPlan`]. Faults that HTTP/2 lacks are ignored.
#[derive(Debug)]
pub struct H2Client {
    plan: ClientPlan,
    tally: Rc<RefCell<Tally>>,
    connection: Option<(Channel, H2Frames)>,
    open: BTreeMap<u32, Asked>,
    next_stream: u32,
    begun: u32,
    /// Requests to be made once more.
    again: VecDeque<u64>,
    /// Whether no request follows on this connection.
    closing: bool,
    /// Streams above this one were not handled.
    last: u32,
    /// Whether a request was begun on this connection.
    asked: bool,
    paused: bool,
    progress_at: u64,
}

impl H2Client {
    /// A client that counts in `tally`.
    pub fn new(plan: ClientPlan, tally: Rc<RefCell<Tally>>) -> Box<Self> {
        Box::new(Self {
            plan,
            tally,
            connection: None,
            open: BTreeMap::new(),
            next_stream: 1,
            begun: 0,
            again: VecDeque::new(),
            closing: false,
            last: u32::MAX,
            asked: false,
            paused: false,
            progress_at: 0,
        })
    }

    fn pause(&mut self, net: &mut Net, me: ActorId) {
        self.paused = true;
        let at = net.now() + net.up_to(self.plan.think);
        net.set_timer(me, at, GO_ON);
    }

    fn has_more(&self) -> bool {
        self.begun < self.plan.requests || !self.again.is_empty()
    }

    fn dial(&mut self, net: &mut Net, me: ActorId) {
        if !self.has_more() {
            self.tally.borrow_mut().finished += 1;
            return net.retire(me);
        }
        (self.closing, self.asked, self.last) = (false, false, u32::MAX);
        self.next_stream = 1;
        self.progress_at = net.now();
        self.tally.borrow_mut().connections += 1;
        let dialled = net.dial(me, self.plan.from, &self.plan.to).ok();
        let tls = self.plan.tls.as_ref();
        match dialled.and_then(|end| Channel::client(end, tls, b"\x02h2").ok()) {
            Some(channel) => self.connection = Some((channel, H2Frames::new(net, true))),
            None => {
                self.refused();
                self.pause(net, me);
            }
        }
    }

    /// Counts the next request as made without a connection, so that the client ends some time.
    fn refused(&mut self) {
        if self.again.pop_front().is_none() {
            self.begun += 1;
        }
        self.tally.borrow_mut().refused += 1;
    }

    /// Closes the connection. Requests that were not handled are made again.
    fn leave(&mut self, net: &mut Net, me: ActorId, reset: bool) {
        if let Some((channel, _)) = self.connection.take() {
            channel.close(net, reset);
        }
        self.pause(net, me);
    }

    /// Handles the end of the connection by the other side.
    fn ended(&mut self, net: &mut Net, me: ActorId, flow: Flow) {
        self.tally.borrow_mut().broken += u64::from(flow == Flow::Broken && !self.open.is_empty());
        for (stream, asked) in std::mem::take(&mut self.open) {
            if stream > self.last {
                self.repeat(asked.id);
            } else {
                self.failed(&asked);
            }
        }
        if !self.asked {
            self.refused();
        }
        self.leave(net, me, false);
    }

    fn repeat(&mut self, id: u64) {
        let mut tally = self.tally.borrow_mut();
        (tally.sent, tally.repeated) = (tally.sent - 1, tally.repeated + 1);
        self.again.push_back(id);
    }

    /// Counts a request whose response will not be complete.
    fn failed(&self, asked: &Asked) {
        let mut tally = self.tally.borrow_mut();
        match asked.status {
            Some(_) => tally.truncated += 1,
            None => tally.unanswered += 1,
        }
    }

    fn wrong(&self, net: &Net, what: impl FnOnce() -> String) {
        self.tally.borrow_mut().record_error(net, what);
    }

    /// Reads responses; `false` if the connection has ended.
    fn read(&mut self, net: &mut Net, me: ActorId) -> bool {
        let Some((channel, frames)) = &mut self.connection else { return false };
        let (now, mut progress_at) = (net.now(), self.progress_at);
        let flow = channel.drain(net, |bytes| {
            progress_at = now;
            frames.feed(bytes);
        });
        self.progress_at = progress_at;
        loop {
            let Some((_, frames)) = &mut self.connection else { return false };
            match frames.next_event(net) {
                Ok(Some(event)) => self.handle(net, event),
                Ok(None) => break,
                Err(what) => {
                    self.wrong(net, || format!("frame: {what}"));
                    self.ended(net, me, Flow::Open);
                    return false;
                }
            }
        }
        if flow != Flow::Open {
            self.ended(net, me, flow);
            return false;
        }
        if self.open.is_empty() && (self.closing || !self.has_more()) && self.asked {
            if let Some((channel, frames)) = &mut self.connection {
                frames.go_away(0);
                frames.flush(net, channel, usize::MAX);
            }
            self.leave(net, me, false);
            return false;
        }
        true
    }

    fn handle(&mut self, net: &mut Net, event: H2Event) {
        match event {
            H2Event::Head { stream, fields, end } => self.head(net, stream, &fields, end),
            H2Event::Data { stream, bytes, end } => {
                let Some(asked) = self.open.get_mut(&stream) else { return };
                let right = !asked.own || body_matches(asked.id, asked.length, &bytes);
                let early = asked.status.is_none();
                asked.length += bytes.len() as u64;
                let id = asked.id;
                if !right || early {
                    self.wrong(net, || format!("body of {id}, before its head: {early}"));
                }
                if end {
                    self.answered(net, stream);
                }
            }
            H2Event::Reset { stream, code } => {
                let Some(asked) = self.open.remove(&stream) else { return };
                match code {
                    ErrorCode::REFUSED_STREAM => self.repeat(asked.id),
                    _ => self.failed(&asked),
                }
            }
            H2Event::GoAway { last, code } => {
                if code != ErrorCode::NO_ERROR {
                    self.wrong(net, || format!("GOAWAY: {}", code.name()));
                }
                self.closing = true;
                self.last = last;
            }
        }
    }

    fn head(&mut self, net: &mut Net, stream: u32, fields: &FieldList, end: bool) {
        let Some(asked) = self.open.get_mut(&stream) else { return };
        let field = |name: &str| {
            let found = fields.iter().find(|(found, _)| found == name.as_bytes());
            found.and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse::<u64>().ok())
        };
        let (id, status) = (asked.id, field(":status"));
        match status {
            Some(100..200) if !end => return,
            Some(200..600) if asked.status.is_none() => {
                asked.status = status.map(|status| status as u16);
                asked.expected = field("content-length");
                asked.own = field("x-id").is_some();
                if field("x-id").is_some_and(|got| got != id) {
                    self.wrong(net, || format!("asked {id}, got {fields:?}"));
                }
            }
            None if asked.status.is_some() && end => {}
            _ => self.wrong(net, || format!("head of {id}: {fields:?}")),
        }
        if end {
            self.answered(net, stream);
        }
    }

    /// Handles a complete response.
    fn answered(&mut self, net: &mut Net, stream: u32) {
        let Some(asked) = self.open.remove(&stream) else { return };
        if let Some((_, frames)) = &mut self.connection {
            if frames.is_sending(stream) {
                // The rest of the request is of no use.
                frames.reset(stream, ErrorCode::NO_ERROR);
            }
            frames.forget(stream);
        }
        let short = !asked.head && asked.expected.is_some_and(|length| length != asked.length);
        let mut tally = self.tally.borrow_mut();
        if short || asked.status.is_none() || (asked.head && asked.length > 0) {
            return tally.record_error(net, || format!("length of {asked:?}"));
        }
        let status = asked.status.unwrap_or_default();
        tally.bytes += asked.length;
        tally.answers.insert(asked.id, status);
        match asked.own {
            true => tally.answered += 1,
            false => tally.foreign[usize::from(status / 100)] += 1,
        }
    }

    /// Begins requests as the plan and the server allow.
    fn begin_requests(&mut self, net: &mut Net, me: ActorId) {
        while !self.closing && self.has_more() {
            let Some((_, frames)) = &self.connection else { return };
            let limit = self.plan.pipeline.min(frames.allowed_streams() as usize);
            if self.open.len() >= limit {
                return;
            }
            let id = self.again.pop_front().unwrap_or_else(|| {
                self.begun += 1;
                self.plan.first_id + u64::from(self.begun) - 1
            });
            self.request(net, me, id);
        }
    }

    fn request(&mut self, net: &mut Net, me: ActorId, id: u64) {
        let Some((_, frames)) = &mut self.connection else { return };
        let stream = self.next_stream;
        self.next_stream += 2;
        (self.asked, self.progress_at) = (true, net.now());
        let post = net.chance(self.plan.post);
        let head = !post && net.chance(self.plan.head);
        let length = if post { net.up_to(self.plan.body) } else { 0 };
        let method = match (post, head) {
            (true, _) => "POST",
            (_, true) => "HEAD",
            _ => "GET",
        };
        let (path, number, size) = (format!("/r/{id}"), id.to_string(), length.to_string());
        let scheme = if self.plan.tls.is_some() { "https" } else { "http" };
        let mut fields = vec![
            (":method", method),
            (":scheme", scheme),
            (":authority", &*self.plan.host),
            (":path", &*path),
            ("x-id", &*number),
        ];
        let unsized_body = net.chance(self.plan.chunked);
        if post && !unsized_body {
            fields.push(("content-length", &*size));
        }
        frames.open(stream);
        let ends = !post || (length == 0 && net.chance(500));
        frames.head(net, stream, &fields, ends);
        if !ends {
            frames.body(stream, id, length, unsized_body && net.chance(100));
        }
        self.tally.borrow_mut().sent += 1;
        let asked = Asked { id, head, status: None, own: false, expected: None, length: 0 };
        self.open.insert(stream, asked);
        self.closing |= net.chance(self.plan.close);
        if net.chance(self.plan.abandon) {
            let at = net.now() + net.up_to(self.plan.think * 8);
            net.set_timer(me, at, stream.into());
        }
    }

    /// Resets a stream, if it is still open.
    fn abandon(&mut self, net: &mut Net, stream: u32) {
        let (Some((_, frames)), Some(asked)) = (&mut self.connection, self.open.remove(&stream))
        else {
            return;
        };
        let code = if net.chance(500) { ErrorCode::CANCEL } else { ErrorCode::INTERNAL_ERROR };
        frames.reset(stream, code);
        let mut tally = self.tally.borrow_mut();
        tally.abandoned += 1;
        tally.given_up.insert(asked.id, PeerFault::Left);
    }

    fn write(&mut self, net: &mut Net, me: ActorId) {
        let Some((channel, frames)) = &mut self.connection else { return };
        if self.paused {
            return;
        }
        let dribbles = net.chance(self.plan.dribble);
        let most = if dribbles { 1 + net.up_to(200) as usize } else { usize::MAX };
        let before = frames.left();
        let flow = frames.flush(net, channel, most);
        if frames.left() != before {
            self.progress_at = net.now();
        }
        if dribbles && flow == Flow::Open && !frames.is_flushed() {
            self.pause(net, me);
        }
    }

    fn go_on(&mut self, net: &mut Net, me: ActorId) {
        if self.read(net, me) {
            self.begin_requests(net, me);
            self.write(net, me);
        }
    }

    fn check_progress(&mut self, net: &mut Net, me: ActorId) {
        let late = net.now() >= self.progress_at.saturating_add(self.plan.patience);
        if self.connection.is_some() && late {
            self.tally.borrow_mut().timeouts += self.open.len() as u64;
            self.open.clear();
            if !self.asked {
                self.refused();
            }
            self.leave(net, me, true);
            self.progress_at = net.now();
        }
        net.set_timer(me, self.progress_at.saturating_add(self.plan.patience), LOOK);
    }
}

impl Actor for H2Client {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => {
                self.progress_at = net.now();
                self.check_progress(net, me);
                self.pause(net, me);
            }
            Signal::Ready(end) => {
                if self.connection.as_ref().is_some_and(|(channel, _)| channel.end() == end) {
                    self.go_on(net, me);
                }
            }
            Signal::Accepted(_) | Signal::Datagram(_) => {}
            Signal::Timer(LOOK) => self.check_progress(net, me),
            Signal::Timer(GO_ON) => {
                self.paused = false;
                match self.connection {
                    Some(_) => self.go_on(net, me),
                    None => self.dial(net, me),
                }
            }
            Signal::Timer(stream) => {
                self.abandon(net, stream as u32);
                self.go_on(net, me);
            }
        }
    }
}
