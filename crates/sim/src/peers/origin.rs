//! An HTTP/1 origin: answers each request with its number and a body derived from it.

use super::accepting::{Origin, OriginContext};
use super::channel::Channel;
use super::client::push_chunks;
use super::message::{Progress, Reader};
use super::{Flow, Outgoing, PeerFault, Tally, push_body};
use crate::faults::{MS, SEC, US};
use crate::net::Net;
use crate::net::actor::{Actor, ActorId, Signal};
use reactor::Address;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Behaviour of an origin. Chances are in 1000; times in virtual nanoseconds.
#[derive(Clone, Debug)]
pub struct OriginPlan {
    /// Listening address.
    pub at: Address,
    /// Value of `x-origin` in its responses.
    pub name: String,
    /// Longest delay before a response.
    pub delay: u64,
    /// Largest body of a response.
    pub body: u64,
    /// Chance that a response is chunked.
    pub chunked: u16,
    /// Chance of `connection: close`.
    pub close: u16,
    /// Chance that the end of the connection ends a response, without a length.
    pub until_close: u16,
    /// Chance that the connection is closed or reset within a response.
    pub cut: u16,
    /// Chance that the connection is closed or reset instead of a response.
    pub silent: u16,
    /// Chance that the connection is closed some time after a response, unannounced, as by a
    /// keep-alive timeout.
    pub idle_close: u16,
    /// Chance of a response with status 500, with its number.
    pub error: u16,
    /// Chance that a response stops without end, on a connection that stays open.
    pub hang: u16,
    /// Chance of a malformed response.
    pub garbage: u16,
    /// Chance that a request with a body is answered before the body has come.
    pub early: u16,
    /// TLS, if its connections have it.
    pub tls: Option<Arc<tls::Acceptor>>,
}

impl OriginPlan {
    /// A plain origin: keep-alive, lengths and chunks, small delays.
    pub fn new(at: Address) -> Self {
        Self {
            at,
            name: "o".into(),
            delay: 200 * US,
            body: 4_000,
            chunked: 300,
            close: 0,
            until_close: 0,
            cut: 0,
            silent: 0,
            idle_close: 0,
            error: 0,
            hang: 0,
            garbage: 0,
            early: 0,
            tls: None,
        }
    }

    /// The same with all that an origin may do without losing a response.
    #[must_use]
    pub fn varied(self) -> Self {
        Self { delay: 5 * MS, close: 50, until_close: 50, error: 20, ..self }
    }

    /// [`OriginPlan::varied`] with every fault whose outcome is certain.
    #[must_use]
    pub fn faulty(self) -> Self {
        Self { cut: 20, silent: 20, hang: 10, garbage: 20, early: 300, ..self.varied() }
    }

    /// [`OriginPlan::varied`] with responses that are truncated, missing or never begun.
    #[must_use]
    pub fn wild(self) -> Self {
        Self { cut: 20, silent: 20, idle_close: 100, ..self.varied() }
    }
}

impl Origin {
    /// An origin of HTTP/1 that counts in `tally`.
    pub fn h1(plan: OriginPlan, tally: Rc<RefCell<Tally>>) -> Box<Self> {
        Self::new(plan, tally, |OriginContext { plan, tally }, channel, _| {
            Box::new(OriginConnection {
                plan,
                tally,
                channel: Some(channel),
                reader: Reader::new(false),
                out: Outgoing::default(),
                waits: false,
                early: false,
                input_ended: false,
                leaves: None,
                lingers: false,
            })
        })
    }
}

/// Timer numbers.
const ANSWER: u64 = 0;
const IDLE: u64 = 1;
const GONE: u64 = 2;
/// Time for which a half-closed connection is kept for further input.
const LINGER: u64 = 5 * SEC;

/// One connection of an origin.
struct OriginConnection {
    plan: Rc<OriginPlan>,
    tally: Rc<RefCell<Tally>>,
    channel: Option<Channel>,
    reader: Reader,
    out: Outgoing,
    /// Whether a request is complete and its response due at [`ANSWER`].
    waits: bool,
    /// Whether the current request was answered already.
    early: bool,
    /// Whether the client sends no more.
    input_ended: bool,
    /// Whether the connection is closed when everything is written; `true`: with a reset.
    leaves: Option<bool>,
    /// Whether everything is written and our side half-closed; further input is read and dropped,
    /// so that no reset overtakes the response.
    lingers: bool,
}

impl OriginConnection {
    fn leave(&mut self, net: &mut Net, me: ActorId, reset: bool) {
        self.tally.borrow_mut().under_way -= u64::from(self.waits);
        if let Some(channel) = self.channel.take() {
            channel.close(net, reset);
        }
        net.retire(me);
    }

    fn go_on(&mut self, net: &mut Net, me: ActorId) {
        let Some(channel) = &mut self.channel else { return };
        if self.lingers {
            let mut rest = 0;
            let flow = channel.drain(net, |bytes| rest += bytes.len());
            return if flow != Flow::Open {
                self.leave(net, me, false)
            };
        }
        let reader = &mut self.reader;
        match channel.drain(net, |bytes| reader.feed(bytes)) {
            Flow::Broken => return self.leave(net, me, false),
            Flow::Ended => self.input_ended = true,
            Flow::Open => {}
        }
        let mut flow = self.flush(net);
        while flow == Flow::Open && self.out.left() == 0 && !self.waits && self.leaves.is_none() {
            match self.reader.advance(false) {
                Ok(Progress::More) if self.input_ended => self.leaves = Some(false),
                Ok(Progress::More) => break,
                Ok(Progress::Head) => {
                    if self.reader.head.expects {
                        self.out.bytes.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                        flow = self.flush(net);
                    }
                    let has_body = self.reader.head.chunked || self.reader.head.length > Some(0);
                    if has_body && net.chance(self.plan.early) {
                        self.early = true;
                        self.tally.borrow_mut().early.extend(self.reader.head.id);
                        self.answer(net, me);
                        flow = self.flush(net);
                    }
                }
                Ok(Progress::Done) => self.requested(net, me),
                Err(what) => {
                    self.tally.borrow_mut().record_error(net, || format!("request: {what}"));
                    self.leaves = Some(true);
                }
            }
        }
        match self.leaves {
            _ if flow != Flow::Open => self.leave(net, me, false),
            Some(true) if self.out.left() == 0 && !self.waits => self.leave(net, me, true),
            Some(false) if self.out.left() == 0 && !self.waits => self.linger(net, me),
            _ => {}
        }
    }

    /// Sends the part of the response that is ready.
    fn flush(&mut self, net: &mut Net) -> Flow {
        match &mut self.channel {
            Some(channel) => self.out.flush(net, channel, usize::MAX),
            None => Flow::Broken,
        }
    }

    fn linger(&mut self, net: &mut Net, me: ActorId) {
        if self.input_ended || !self.channel.as_mut().is_some_and(|channel| channel.shutdown(net)) {
            return self.leave(net, me, false);
        }
        self.lingers = true;
        let at = net.now() + LINGER;
        net.set_timer(me, at, GONE);
    }

    /// Handles a complete request.
    fn requested(&mut self, net: &mut Net, me: ActorId) {
        {
            let mut tally = self.tally.borrow_mut();
            tally.served += 1;
            if !self.early {
                tally.under_way += 1;
                tally.busiest = tally.busiest.max(tally.under_way);
            }
            let id = self.reader.head.id;
            match id {
                Some(id) if self.reader.right => {
                    let post = self.reader.head.first_word() == b"POST";
                    if post && !tally.posts.insert(id) {
                        tally.doubled += 1;
                    }
                }
                other => tally.record_error(net, || format!("request {other:?} came mixed up")),
            }
        }
        if std::mem::take(&mut self.early) {
            return;
        }
        self.waits = true;
        let at = net.now() + net.up_to(self.plan.delay);
        net.set_timer(me, at, ANSWER);
    }

    fn spoilt(&self, id: u64, mischief: PeerFault) {
        self.tally.borrow_mut().spoilt.insert(id, mischief);
    }

    fn answer(&mut self, net: &mut Net, me: ActorId) {
        use std::io::Write;
        self.tally.borrow_mut().under_way -= u64::from(self.waits);
        self.waits = false;
        let plan = self.plan.clone();
        let head = self.reader.head.first_word() == b"HEAD";
        let id = self.reader.head.id.unwrap_or(0);
        if net.chance(plan.silent) {
            self.spoilt(id, PeerFault::Silent);
            self.leaves = Some(net.chance(500));
            return;
        }
        if net.chance(plan.garbage) {
            self.spoilt(id, PeerFault::Garbage);
            self.out.bytes.extend_from_slice(b"HTTP/1.1 2x0 What\r\n\r\n");
            self.leaves = Some(false);
            return;
        }
        let length = net.up_to(plan.body);
        let until_close = net.chance(plan.until_close);
        let close = until_close || self.reader.head.close || net.chance(plan.close);
        let status = if net.chance(plan.error) { "500 Oops" } else { "200 OK" };
        let out = &mut self.out.bytes;
        let name = &plan.name;
        let _ = write!(out, "HTTP/1.1 {status}\r\nx-id: {id}\r\nx-origin: {name}\r\n");
        if close {
            out.extend_from_slice(b"connection: close\r\n");
        }
        let chunked = !until_close && net.chance(plan.chunked);
        if chunked {
            out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
        } else if until_close {
            out.extend_from_slice(b"\r\n");
        } else {
            let _ = write!(out, "content-length: {length}\r\n\r\n");
        }
        if head {
            // As for the same GET, without the body.
        } else if chunked {
            push_chunks(out, net, id, length);
        } else {
            push_body(out, id, 0, length);
        }
        if net.chance(plan.cut) {
            let part = net.up_to(out.len() as u64 - 1) as usize;
            out.truncate(part);
            self.leaves = Some(net.chance(500));
            self.spoilt(id, PeerFault::Cut);
        } else if net.chance(plan.hang) {
            let part = net.up_to(out.len() as u64 - 1) as usize;
            out.truncate(part);
            self.spoilt(id, PeerFault::Hung);
        } else if close {
            self.leaves = Some(false);
        } else if net.chance(plan.idle_close) {
            let at = net.now() + net.up_to(20 * MS);
            net.set_timer(me, at, IDLE);
        }
    }
}

impl Actor for OriginConnection {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Timer(ANSWER) => {
                self.answer(net, me);
                self.go_on(net, me);
            }
            Signal::Timer(GONE) => self.leave(net, me, false),
            Signal::Timer(_) => {
                if !self.waits && self.out.left() == 0 && self.reader.is_between() {
                    self.leave(net, me, false);
                }
            }
            Signal::Start | Signal::Ready(_) => self.go_on(net, me),
            Signal::Accepted(_) | Signal::Datagram(_) => {}
        }
    }
}
