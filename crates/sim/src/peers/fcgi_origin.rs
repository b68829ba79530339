//! A FastCGI application: answers each request with its number and a body derived from it. The
//! origin shares no code with the product.

use super::accepting::{Origin, OriginContext};
use super::channel::Channel;
use super::origin::OriginPlan;
use super::{Flow, Outgoing, PeerFault, Tally, body_matches, push_body};
use crate::faults::MS;
use crate::net::Net;
use crate::net::actor::{Actor, ActorId, Signal};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Record types (FastCGI specification, section 8).
const BEGIN: u8 = 1;
const ABORT: u8 = 2;
const END: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const GET_VALUES: u8 = 9;
const GET_VALUES_RESULT: u8 = 10;

/// Statuses of END_REQUEST.
const COMPLETE: u8 = 0;
const OVERLOADED: u8 = 2;

/// Bytes of a record's header.
const HEADER: usize = 8;
/// Longest content of a record that is sent.
const CONTENT: u64 = 8_000;
/// Requests at the same time on a connection.
const MULTIPLEXED: &[u8] = b"20";

impl Origin {
    /// A FastCGI application that counts in `tally`. Faults of the plan that FastCGI lacks are
    /// ignored.
    pub fn fcgi(plan: OriginPlan, tally: Rc<RefCell<Tally>>) -> Box<Self> {
        Self::new(plan, tally, |OriginContext { plan, tally }, channel, _| {
            Box::new(FcgiConnection {
                plan,
                tally,
                channel: Some(channel),
                input: Vec::new(),
                out: Outgoing::default(),
                requests: BTreeMap::new(),
                keeps: true,
                count: 0,
            })
        })
    }
}

/// Timer numbers; others are requests to be answered: their serial numbers and their numbers.
const IDLE: u64 = u64::MAX;

/// A request.
#[derive(Debug, Default)]
struct FcgiRequest {
    /// Its number among all of its connection.
    serial: u64,
    params: Vec<u8>,
    id: Option<u64>,
    post: bool,
    head: bool,
    expected: Option<u64>,
    length: u64,
    right: bool,
    /// The request is complete.
    ended: bool,
    answered: bool,
    /// Bytes of the response that are left: records of them mix with those of other requests.
    body: Option<FcgiBody>,
}

/// The part of a response that is not sent yet.
#[derive(Clone, Copy, Debug)]
struct FcgiBody {
    offset: u64,
    end: u64,
    /// No END_REQUEST follows.
    hangs: bool,
}

/// One connection of an application.
struct FcgiConnection {
    plan: Rc<OriginPlan>,
    tally: Rc<RefCell<Tally>>,
    channel: Option<Channel>,
    input: Vec<u8>,
    out: Outgoing,
    requests: BTreeMap<u16, FcgiRequest>,
    /// The connection stays after a request.
    keeps: bool,
    /// Requests so far.
    count: u64,
}

impl FcgiConnection {
    fn leave(&mut self, net: &mut Net, me: ActorId, reset: bool) {
        let waiting = self.requests.values().filter(|it| it.ended && !it.answered).count();
        let mut tally = self.tally.borrow_mut();
        tally.under_way -= waiting as u64;
        tally.numbers_in_use += self.requests.len() as u64;
        drop(tally);
        if let Some(channel) = self.channel.take() {
            channel.close(net, reset);
        }
        net.retire(me);
    }

    fn go_on(&mut self, net: &mut Net, me: ActorId) {
        let Some(channel) = &mut self.channel else { return };
        let input = &mut self.input;
        let flow = channel.drain(net, |bytes| input.extend_from_slice(bytes));
        while self.input.len() >= HEADER {
            let [version, kind, high, low, length, length_low, padding, _] =
                *self.input.first_chunk().expect("a whole header");
            let request = u16::from_be_bytes([high, low]);
            let len = usize::from(u16::from_be_bytes([length, length_low]));
            let end = HEADER + len + usize::from(padding);
            if self.input.len() < end {
                break;
            }
            let record: Vec<u8> = self.input.drain(..end).collect();
            let content = &record[HEADER..HEADER + len];
            if let Err(what) = self.handle(net, me, (version, kind, request), content) {
                self.tally.borrow_mut().record_error(net, || format!("record: {what}"));
                return self.leave(net, me, true);
            }
        }
        if flow != Flow::Open || self.flush(net) != Flow::Open {
            return self.leave(net, me, false);
        }
        if !self.keeps && self.requests.is_empty() && self.out.left() == 0 {
            self.leave(net, me, false);
        }
    }

    fn handle(
        &mut self,
        net: &mut Net,
        me: ActorId,
        (version, kind, number): (u8, u8, u16),
        content: &[u8],
    ) -> Result<(), String> {
        if version != 1 {
            return Err(format!("version {version}"));
        }
        match kind {
            GET_VALUES if number == 0 => self.values(content),
            BEGIN => {
                let [_, role, flags, ..] = *content else { return Err("begin".into()) };
                self.count += 1;
                let serial = self.count;
                let request = FcgiRequest { serial, right: true, ..FcgiRequest::default() };
                if role != 1 || self.requests.insert(number, request).is_some() {
                    return Err(format!("request {number} of role {role} is under way"));
                }
                self.keeps &= flags & 1 == 1;
            }
            ABORT => self.aborted(number),
            PARAMS => {
                let Some(request) = self.requests.get_mut(&number) else { return Ok(()) };
                match content {
                    [] => request.parse()?,
                    content => request.params.extend_from_slice(content),
                }
                let has_body = request.expected.is_none_or(|length| length > 0);
                if content.is_empty() && has_body && net.chance(self.plan.early) {
                    self.tally.borrow_mut().early.extend(request.id);
                    self.answer(net, number);
                }
            }
            STDIN => {
                let Some(request) = self.requests.get_mut(&number) else { return Ok(()) };
                request.right &=
                    request.id.is_some_and(|id| body_matches(id, request.length, content));
                request.length += content.len() as u64;
                if content.is_empty() {
                    request.ended = true;
                    self.requested(net, me, number);
                }
            }
            kind => return Err(format!("type {kind}")),
        }
        Ok(())
    }

    fn values(&mut self, content: &[u8]) {
        let mut result = Vec::new();
        for name in [&b"FCGI_MAX_REQS"[..], b"FCGI_MPXS_CONNS"] {
            if content.windows(name.len()).any(|part| part == name) {
                let value: &[u8] = if name == b"FCGI_MPXS_CONNS" { b"1" } else { MULTIPLEXED };
                result.extend_from_slice(&[name.len() as u8, value.len() as u8]);
                result.extend_from_slice(name);
                result.extend_from_slice(value);
            }
        }
        self.record(GET_VALUES_RESULT, 0, &result, 0);
    }

    /// The proxy gives up a request: the application ends it.
    fn aborted(&mut self, number: u16) {
        let Some(request) = self.requests.remove(&number) else { return };
        let waiting = request.ended && !request.answered;
        self.tally.borrow_mut().under_way -= u64::from(waiting);
        self.end(number, COMPLETE);
    }

    /// Handles a complete request.
    fn requested(&mut self, net: &mut Net, me: ActorId, number: u16) {
        let Some(request) = self.requests.get(&number) else { return };
        let fits = request.expected.is_none_or(|length| length == request.length);
        let mut tally = self.tally.borrow_mut();
        let is = (request.id, request.post, request.right && fits);
        tally.record_request(net, is, || format!("{request:?}"));
        if request.answered {
            return;
        }
        tally.begin_response();
        let at = net.now() + net.up_to(self.plan.delay);
        net.set_timer(me, at, request.serial << 16 | u64::from(number));
    }

    fn answer(&mut self, net: &mut Net, number: u16) {
        use std::io::Write;
        let plan = self.plan.clone();
        let Some(request) = self.requests.get_mut(&number) else { return };
        if std::mem::replace(&mut request.answered, true) {
            return;
        }
        let (id, head) = (request.id.unwrap_or(0), request.head);
        let mut tally = self.tally.borrow_mut();
        tally.under_way -= u64::from(request.ended);
        if net.chance(plan.silent) {
            tally.spoilt.insert(id, PeerFault::Silent);
            drop(tally);
            self.requests.remove(&number);
            let status = if net.chance(500) { COMPLETE } else { OVERLOADED };
            if status == OVERLOADED {
                // The application has not processed it: it may be sent once more.
                self.tally.borrow_mut().posts.remove(&id);
            }
            return self.end(number, status);
        }
        if net.chance(plan.garbage) {
            tally.spoilt.insert(id, PeerFault::Garbage);
            drop(tally);
            self.requests.remove(&number);
            self.record(STDOUT, number, b"x y: \0\r\n\r\n", 0);
            return self.end(number, COMPLETE);
        }
        let length = net.up_to(plan.body);
        let mut text = Vec::new();
        if net.chance(plan.error) {
            text.extend_from_slice(b"Status: 500 Oops\r\n");
        } else if net.chance(500) {
            text.extend_from_slice(b"Status: 200 OK\r\n");
        }
        let _ =
            write!(text, "Content-Type: text/plain\r\nX-Id: {id}\r\nX-Origin: {}\r\n", plan.name);
        let with_length = !net.chance(plan.chunked);
        if with_length {
            let _ = write!(text, "Content-Length: {length}\r\n");
        }
        text.extend_from_slice(b"\r\n");
        let mut body = FcgiBody { offset: 0, end: if head { 0 } else { length }, hangs: false };
        // Without a length, the bytes before a cut are a whole response.
        let fails = body.end > 0 && with_length;
        if fails && net.chance(plan.cut) {
            tally.spoilt.insert(id, PeerFault::Cut);
            body.end = net.up_to(length - 1);
        } else if body.end > 0 && net.chance(plan.hang) {
            tally.spoilt.insert(id, PeerFault::Hung);
            (body.end, body.hangs) = (net.up_to(length - 1), true);
        }
        drop(tally);
        request.body = Some(body);
        let cut = if net.chance(200) { net.up_to(text.len() as u64) as usize } else { text.len() };
        let parts = [&text[..cut], &text[cut..]];
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            self.record(STDOUT, number, part, padding(net));
        }
    }

    /// Appends a record.
    fn record(&mut self, kind: u8, number: u16, content: &[u8], padding: u8) {
        let ([a, b], [c, d]) = (number.to_be_bytes(), (content.len() as u16).to_be_bytes());
        self.out.bytes.extend_from_slice(&[1, kind, a, b, c, d, padding, 0]);
        self.out.bytes.extend_from_slice(content);
        self.out.bytes.resize(self.out.bytes.len() + usize::from(padding), 0);
    }

    fn end(&mut self, number: u16, status: u8) {
        self.record(END, number, &[0, 0, 0, 0, status, 0, 0, 0], 0);
    }

    /// Sends records of responses, of random requests, and then bytes.
    fn flush(&mut self, net: &mut Net) -> Flow {
        while self.out.left() < 32 << 10 {
            let has_body = |request: &FcgiRequest| {
                request.body.is_some_and(|body| body.offset < body.end || !body.hangs)
            };
            let ready: Vec<u16> =
                self.requests.iter().filter(|(_, it)| has_body(it)).map(|(key, _)| *key).collect();
            if ready.is_empty() {
                break;
            }
            self.piece(net, ready[net.up_to(ready.len() as u64 - 1) as usize]);
        }
        let Some(channel) = &mut self.channel else { return Flow::Broken };
        self.out.flush(net, channel, usize::MAX)
    }

    /// Sends the next record of a response, or its end.
    fn piece(&mut self, net: &mut Net, number: u16) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let (Some(body), id) = (&mut request.body, request.id.unwrap_or(0)) else { return };
        if body.offset < body.end {
            let most = CONTENT.min(body.end - body.offset);
            let len = if net.chance(300) { 1 + net.up_to(most - 1) } else { most };
            let mut content = Vec::new();
            push_body(&mut content, id, body.offset, len);
            body.offset += len;
            self.record(STDOUT, number, &content, padding(net));
            if net.chance(20) {
                self.record(STDERR, number, b"a line of the error output\n", padding(net));
            }
            return;
        }
        // Further records of a request that has ended are dropped.
        self.requests.remove(&number);
        if net.chance(500) {
            self.record(STDOUT, number, b"", 0);
        }
        self.end(number, COMPLETE);
    }
}

fn padding(net: &Net) -> u8 {
    if net.chance(300) { net.up_to(255) as u8 } else { 0 }
}

impl FcgiRequest {
    /// Reads the parameters, which are complete.
    fn parse(&mut self) -> Result<(), String> {
        let params = std::mem::take(&mut self.params);
        let mut rest = &params[..];
        while !rest.is_empty() {
            let (name_len, value_len) = (take_len(&mut rest)?, take_len(&mut rest)?);
            let (name, after) = rest.split_at_checked(name_len).ok_or("a name")?;
            let (value, after) = after.split_at_checked(value_len).ok_or("a value")?;
            rest = after;
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            match name {
                b"HTTP_X_ID" => self.id = number,
                b"CONTENT_LENGTH" => self.expected = number,
                b"REQUEST_METHOD" => {
                    (self.post, self.head) = (value == b"POST", value == b"HEAD");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Takes a length of one byte or four.
fn take_len(bytes: &mut &[u8]) -> Result<usize, String> {
    let (first, rest) = bytes.split_first().ok_or("a length")?;
    if *first < 0x80 {
        *bytes = rest;
        return Ok(usize::from(*first));
    }
    let (four, rest) = bytes.split_first_chunk::<4>().ok_or("a long length")?;
    *bytes = rest;
    Ok((u32::from_be_bytes(*four) & 0x7fff_ffff) as usize)
}

impl Actor for FcgiConnection {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Timer(IDLE) => {
                if self.requests.is_empty() && self.out.left() == 0 {
                    self.leave(net, me, false);
                }
            }
            Signal::Timer(number) => {
                let (serial, number) = (number >> 16, number as u16);
                if self.requests.get(&number).is_some_and(|it| it.serial == serial) {
                    self.answer(net, number);
                }
                if net.chance(self.plan.idle_close) {
                    let at = net.now() + net.up_to(20 * MS);
                    net.set_timer(me, at, IDLE);
                }
                self.go_on(net, me);
            }
            Signal::Start | Signal::Ready(_) => self.go_on(net, me),
            Signal::Accepted(_) | Signal::Datagram(_) => {}
        }
    }
}
