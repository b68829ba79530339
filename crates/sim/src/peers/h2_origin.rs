//! An HTTP/2 origin: answers each request with its number and a body derived from it.

use super::accepting::{Origin, OriginContext};
use super::channel::Channel;
use super::h2_frames::{FieldList, H2Event, H2Frames};
use super::origin::OriginPlan;
use super::{Flow, PeerFault, Tally, body_matches};
use crate::faults::{MS, SEC};
use crate::net::Net;
use crate::net::actor::{Actor, ActorId, Signal};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use wire::h2::ErrorCode;

impl Origin {
    /// An origin of HTTP/2 that counts in `tally`.
    pub fn h2(plan: OriginPlan, tally: Rc<RefCell<Tally>>) -> Box<Self> {
        Self::new(plan, tally, |OriginContext { plan, tally }, channel, net| {
            Box::new(H2OriginConnection {
                plan,
                tally,
                connection: Some((channel, H2Frames::new(net, false))),
                requests: BTreeMap::new(),
                highest: 0,
                quits: false,
                lingers: false,
            })
        })
    }
}

/// Timer numbers; others are streams to be answered.
const IDLE: u64 = u64::MAX;
const GONE: u64 = u64::MAX - 1;
/// Time for which a connection without streams stays open.
const LINGER: u64 = 5 * SEC;

/// A request.
#[derive(Debug, Default)]
struct H2Request {
    id: Option<u64>,
    post: bool,
    head: bool,
    expected: Option<u64>,
    length: u64,
    right: bool,
    /// The request is complete.
    ended: bool,
    /// The response was begun.
    answered: bool,
    /// The response never ends.
    endless: bool,
}

/// One connection of an origin.
struct H2OriginConnection {
    plan: Rc<OriginPlan>,
    tally: Rc<RefCell<Tally>>,
    connection: Option<(Channel, H2Frames)>,
    requests: BTreeMap<u32, H2Request>,
    highest: u32,
    /// GOAWAY was sent: the connection ends after its last stream.
    quits: bool,
    /// Our side was ended; further input is read and dropped.
    lingers: bool,
}

impl H2OriginConnection {
    fn leave(&mut self, net: &mut Net, me: ActorId, reset: bool) {
        let waiting = self.requests.values().filter(|it| it.ended && !it.answered).count();
        self.tally.borrow_mut().under_way -= waiting as u64;
        if let Some((channel, _)) = self.connection.take() {
            channel.close(net, reset);
        }
        net.retire(me);
    }

    fn go_on(&mut self, net: &mut Net, me: ActorId) {
        let Some((channel, frames)) = &mut self.connection else { return };
        let flow = channel.drain(net, |bytes| frames.feed(bytes));
        if self.lingers {
            return if flow != Flow::Open {
                self.leave(net, me, false)
            };
        }
        loop {
            let Some((_, frames)) = &mut self.connection else { return };
            match frames.next_event(net) {
                Ok(Some(event)) => self.handle(net, me, event),
                Ok(None) => break,
                Err(what) => {
                    self.tally.borrow_mut().record_error(net, || format!("frame: {what}"));
                    return self.leave(net, me, true);
                }
            }
        }
        if flow != Flow::Open || self.flush(net) != Flow::Open {
            return self.leave(net, me, false);
        }
        self.end_if_done(net, me);
    }

    fn flush(&mut self, net: &mut Net) -> Flow {
        let Some((channel, frames)) = &mut self.connection else { return Flow::Broken };
        let flow = frames.flush(net, channel, usize::MAX);
        self.requests.retain(|stream, request| {
            let sent = request.answered && !request.endless && !frames.is_sending(*stream);
            if sent && !request.ended {
                // The rest of the request is of no use.
                frames.reset(*stream, ErrorCode::NO_ERROR);
            }
            if sent {
                frames.forget(*stream);
            }
            !sent
        });
        if flow == Flow::Open { frames.flush(net, channel, usize::MAX) } else { flow }
    }

    /// Ends a connection that has quit when nothing is left to send.
    fn end_if_done(&mut self, net: &mut Net, me: ActorId) {
        let Some((channel, frames)) = &mut self.connection else { return };
        if self.quits && self.requests.is_empty() && frames.is_flushed() {
            if !channel.shutdown(net) {
                return self.leave(net, me, false);
            }
            self.lingers = true;
            let at = net.now() + LINGER;
            net.set_timer(me, at, GONE);
        }
    }

    fn handle(&mut self, net: &mut Net, me: ActorId, event: H2Event) {
        match event {
            H2Event::Head { stream, fields, end } => {
                if self.requests.contains_key(&stream) {
                    // Trailers.
                    return self.part(net, me, stream, &[], end);
                }
                self.begin(stream, &fields);
                self.part(net, me, stream, &[], end);
            }
            H2Event::Data { stream, bytes, end } => self.part(net, me, stream, &bytes, end),
            H2Event::Reset { stream, .. } => {
                if let Some(request) = self.requests.remove(&stream) {
                    let waiting = request.ended && !request.answered;
                    self.tally.borrow_mut().under_way -= u64::from(waiting);
                }
            }
            H2Event::GoAway { code, .. } => {
                if code != ErrorCode::NO_ERROR {
                    let what = || format!("GOAWAY of the proxy: {}", code.name());
                    self.tally.borrow_mut().record_error(net, what);
                }
            }
        }
    }

    fn begin(&mut self, stream: u32, fields: &FieldList) {
        let Some((_, frames)) = &mut self.connection else { return };
        // Trailers of a stream that was reset meanwhile, or a request behind GOAWAY.
        if stream <= self.highest || self.quits {
            return;
        }
        self.highest = stream;
        frames.open(stream);
        let text = |name: &str| {
            let found = fields.iter().find(|(found, _)| found == name.as_bytes());
            found.and_then(|(_, value)| std::str::from_utf8(value).ok())
        };
        let number = |name: &str| text(name).and_then(|value| value.parse().ok());
        let request = H2Request {
            id: number("x-id"),
            post: text(":method") == Some("POST"),
            head: text(":method") == Some("HEAD"),
            expected: number("content-length"),
            right: true,
            ..H2Request::default()
        };
        self.requests.insert(stream, request);
    }

    /// Handles a part of a request.
    fn part(&mut self, net: &mut Net, me: ActorId, stream: u32, bytes: &[u8], end: bool) {
        let Some(request) = self.requests.get_mut(&stream) else { return };
        request.right &= request.id.is_some_and(|id| body_matches(id, request.length, bytes));
        request.length += bytes.len() as u64;
        request.ended |= end;
        if end {
            self.requested(net, me, stream);
        } else if bytes.is_empty() && net.chance(self.plan.early) {
            let id = request.id;
            self.tally.borrow_mut().early.extend(id);
            self.answer(net, me, stream);
        }
    }

    /// Handles a complete request.
    fn requested(&mut self, net: &mut Net, me: ActorId, stream: u32) {
        let Some(request) = self.requests.get(&stream) else { return };
        let fits = request.expected.is_none_or(|length| length == request.length);
        let mut tally = self.tally.borrow_mut();
        let is = (request.id, request.post, request.right && fits);
        tally.record_request(net, is, || format!("{request:?}"));
        if request.answered {
            return;
        }
        tally.begin_response();
        let at = net.now() + net.up_to(self.plan.delay);
        net.set_timer(me, at, stream.into());
    }

    fn answer(&mut self, net: &mut Net, me: ActorId, stream: u32) {
        let plan = self.plan.clone();
        let (Some((_, frames)), Some(request)) =
            (&mut self.connection, self.requests.get_mut(&stream))
        else {
            return;
        };
        if std::mem::replace(&mut request.answered, true) {
            return;
        }
        let id = request.id.unwrap_or(0);
        let mut tally = self.tally.borrow_mut();
        tally.under_way -= u64::from(request.ended);
        if net.chance(plan.silent) {
            tally.spoilt.insert(id, PeerFault::Silent);
            self.requests.remove(&stream);
            return frames.reset(stream, ErrorCode::INTERNAL_ERROR);
        }
        if net.chance(plan.garbage) {
            tally.spoilt.insert(id, PeerFault::Garbage);
            return frames.head(net, stream, &[(":status", "2x0")], true);
        }
        let length = net.up_to(plan.body);
        let status = if net.chance(plan.error) { "500" } else { "200" };
        let (number, size) = (id.to_string(), length.to_string());
        let mut fields = vec![(":status", status), ("x-id", &*number), ("x-origin", &*plan.name)];
        let unsized_body = net.chance(plan.chunked);
        if !unsized_body {
            fields.push(("content-length", &*size));
        }
        let ends = request.head || (length == 0 && net.chance(500));
        frames.head(net, stream, &fields, ends);
        if ends {
            // As for the same GET, without the body.
        } else if net.chance(plan.cut) {
            tally.spoilt.insert(id, PeerFault::Cut);
            self.requests.remove(&stream);
            frames.reset(stream, ErrorCode::CANCEL);
        } else if net.chance(plan.hang) {
            tally.spoilt.insert(id, PeerFault::Hung);
            request.endless = true;
            frames.endless_body(stream, id, net.up_to(length));
        } else {
            frames.body(stream, id, length, unsized_body && net.chance(200));
        }
        drop(tally);
        if net.chance(plan.close) && !self.quits {
            self.quits = true;
            frames.go_away(self.highest);
        } else if net.chance(plan.idle_close) {
            let at = net.now() + net.up_to(20 * MS);
            net.set_timer(me, at, IDLE);
        }
    }
}

impl Actor for H2OriginConnection {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Timer(GONE) => self.leave(net, me, false),
            Signal::Timer(IDLE) => {
                let flushed = self.connection.as_ref().is_some_and(|it| it.1.is_flushed());
                if self.requests.is_empty() && flushed && !self.lingers {
                    self.leave(net, me, false);
                }
            }
            Signal::Timer(stream) => {
                self.answer(net, me, stream as u32);
                self.go_on(net, me);
            }
            Signal::Start | Signal::Ready(_) => self.go_on(net, me),
            Signal::Accepted(_) | Signal::Datagram(_) => {}
        }
    }
}
