//! An agent of SPOE: returns the number that a message carries, in a variable. The agent shares no
//! code with the product.

use super::channel::Channel;
use super::{Flow, Outgoing};
use crate::faults::MS;
use crate::net::Net;
use crate::net::actor::{Actor, ActorId, Signal};
use reactor::Address;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Frame types (SPOE.txt, section 3.2).
const UNSET: u8 = 0;
const HELLO: u8 = 1;
const DISCONNECT: u8 = 2;
const NOTIFY: u8 = 3;
const AGENT_HELLO: u8 = 101;
const AGENT_DISCONNECT: u8 = 102;
const ACK: u8 = 103;

/// Flags.
const FIN: u32 = 1;
const ABORT: u32 = 2;

/// Behaviour of an agent. Chances are in 1000, per payload; times in virtual nanoseconds.
#[derive(Clone, Debug)]
pub struct AgentPlan {
    /// Listening address.
    pub at: Address,
    /// Longest delay before an answer.
    pub delay: u64,
    /// Whether it takes several payloads at a time.
    pub pipelining: bool,
    /// Whether it takes payloads in fragments.
    pub fragmentation: bool,
    /// The largest frame that it takes.
    pub max_frame_size: u32,
    /// Chance that a payload is never answered.
    pub silent: u16,
    /// Chance that it is answered twice.
    pub twice: u16,
    /// Chance of an answer for an unknown payload before the real one.
    pub stray: u16,
    /// Chance that the agent aborts the payload.
    pub abort: u16,
    /// Chance that the answer is malformed.
    pub garbage: u16,
    /// Chance that the connection is closed or reset, within a frame or before it.
    pub cut: u16,
    /// Chance that the agent disconnects.
    pub disconnect: u16,
}

impl AgentPlan {
    /// An agent that answers everything.
    pub fn new(at: Address) -> Self {
        Self {
            at,
            delay: 5 * MS,
            pipelining: true,
            fragmentation: true,
            max_frame_size: 16_380,
            silent: 0,
            twice: 0,
            stray: 0,
            abort: 0,
            garbage: 0,
            cut: 0,
            disconnect: 0,
        }
    }

    /// The plan with every fault.
    #[must_use]
    pub fn faulty(self) -> Self {
        Self {
            silent: 50,
            twice: 50,
            stray: 50,
            abort: 30,
            garbage: 20,
            cut: 30,
            disconnect: 30,
            ..self
        }
    }
}

/// Observations of an agent.
#[derive(Debug, Default)]
pub struct AgentTally {
    /// Connections with a handshake.
    pub connections: u64,
    /// Complete payloads.
    pub payloads: u64,
    /// Payloads that came in fragments.
    pub fragmented: u64,
    /// Payloads that were answered once and well.
    pub answered: u64,
    /// Errors of the proxy.
    pub wrong: Vec<String>,
}

/// An agent that accepts connections; see [`AgentPlan`].
#[derive(Debug)]
pub struct SpoeAgent {
    plan: Rc<AgentPlan>,
    tally: Rc<RefCell<AgentTally>>,
}

impl SpoeAgent {
    /// An agent that counts in `tally`.
    pub fn new(plan: AgentPlan, tally: Rc<RefCell<AgentTally>>) -> Box<Self> {
        Box::new(Self { plan: Rc::new(plan), tally })
    }
}

impl Actor for SpoeAgent {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => {
                net.listen_as(me, self.plan.at.clone()).expect("no two agents share an address");
            }
            Signal::Accepted(end) => {
                let Ok(channel) = Channel::server(end, None) else { return };
                let service = AgentConnection {
                    plan: self.plan.clone(),
                    tally: self.tally.clone(),
                    channel: Some(channel),
                    input: Vec::new(),
                    out: Outgoing::default(),
                    agreed: None,
                    parts: BTreeMap::new(),
                    waiting: BTreeMap::new(),
                    seen: BTreeSet::new(),
                    count: 0,
                    leaves: false,
                };
                let service = net.spawn(Box::new(service));
                net.hand_over(end, service);
            }
            Signal::Ready(_) | Signal::Timer(_) | Signal::Datagram(_) => {}
        }
    }
}

/// The stream and the frame of a payload.
type PayloadId = (u64, u64);

/// One connection of an agent.
struct AgentConnection {
    plan: Rc<AgentPlan>,
    tally: Rc<RefCell<AgentTally>>,
    channel: Option<Channel>,
    input: Vec<u8>,
    out: Outgoing,
    /// The largest frame, and whether payloads overlap, once the handshake is over.
    agreed: Option<(u32, bool)>,
    /// Payloads with missing fragments.
    parts: BTreeMap<PayloadId, Vec<u8>>,
    /// Payloads to be answered, by number, with the value of the answer.
    waiting: BTreeMap<u64, (PayloadId, Vec<u8>)>,
    /// All payloads so far: a number is used once.
    seen: BTreeSet<PayloadId>,
    count: u64,
    /// The connection ends when everything is written.
    leaves: bool,
}

impl AgentConnection {
    fn leave(&mut self, net: &mut Net, me: ActorId, reset: bool) {
        if let Some(channel) = self.channel.take() {
            channel.close(net, reset);
        }
        net.retire(me);
    }

    fn go_on(&mut self, net: &mut Net, me: ActorId) {
        let Some(channel) = &mut self.channel else { return };
        let input = &mut self.input;
        let flow = channel.drain(net, |bytes| input.extend_from_slice(bytes));
        while let Some((length, rest)) = self.input.split_first_chunk::<4>()
            && let length = u32::from_be_bytes(*length) as usize
            && rest.len() >= length
            && !self.leaves
        {
            let frame: Vec<u8> = self.input.drain(..4 + length).skip(4).collect();
            if self.frame(net, me, &frame).is_none() {
                self.wrong(net, format!("frame {frame:?}"));
                return self.leave(net, me, true);
            }
        }
        let Some(channel) = &mut self.channel else { return };
        if flow != Flow::Open || self.out.flush(net, channel, usize::MAX) != Flow::Open {
            return self.leave(net, me, false);
        }
        if self.leaves && self.out.left() == 0 {
            self.leave(net, me, false);
        }
    }

    fn wrong(&self, net: &Net, what: String) {
        let mut tally = self.tally.borrow_mut();
        if tally.wrong.len() < 10 {
            tally.wrong.push(format!("at {}: {what}", net.now()));
        }
    }

    /// Handles a frame; `None`: it is malformed, or comes at a wrong time.
    fn frame(&mut self, net: &mut Net, me: ActorId, frame: &[u8]) -> Option<()> {
        let (kind, rest) = frame.split_first()?;
        let (flags, mut rest) = rest.split_first_chunk::<4>()?;
        let flags = u32::from_be_bytes(*flags);
        let id = (take_number(&mut rest)?, take_number(&mut rest)?);
        match (*kind, self.agreed) {
            (HELLO, None) => self.hello(net, rest),
            (NOTIFY | UNSET, Some((size, _))) if frame.len() <= size as usize => {
                self.payload(net, me, (*kind, flags), id, rest)
            }
            (DISCONNECT, _) => {
                self.say_goodbye();
                Some(())
            }
            _ => None,
        }
    }

    fn hello(&mut self, net: &Net, mut rest: &[u8]) -> Option<()> {
        let (mut size, mut overlaps) = (0, false);
        while !rest.is_empty() {
            match (take_string(&mut rest)?, take_data(&mut rest)?) {
                (b"max-frame-size", Data::Number(number)) => size = number as u32,
                (b"capabilities", Data::Text(text)) => {
                    overlaps = text.windows(10).any(|part| part == b"pipelining");
                }
                _ => {}
            }
        }
        let size = size.min(self.plan.max_frame_size);
        let overlaps = overlaps && self.plan.pipelining;
        let abilities = [("pipelining", overlaps), ("fragmentation", self.plan.fragmentation)];
        let abilities = abilities.iter().filter(|it| it.1).map(|it| it.0).collect::<Vec<_>>();
        let mut payload = Vec::new();
        put_string(b"version", &mut payload);
        put_text(b"2.0", &mut payload);
        put_string(b"max-frame-size", &mut payload);
        payload.push(3);
        put_number(size.into(), &mut payload);
        put_string(b"capabilities", &mut payload);
        put_text(abilities.join(if net.chance(500) { "," } else { ", " }).as_bytes(), &mut payload);
        self.put(AGENT_HELLO, FIN, (0, 0), &payload);
        self.agreed = Some((size, overlaps));
        self.tally.borrow_mut().connections += 1;
        Some(())
    }

    /// Handles a payload, or a fragment of one.
    fn payload(
        &mut self,
        net: &mut Net,
        me: ActorId,
        (kind, flags): (u8, u32),
        id: PayloadId,
        bytes: &[u8],
    ) -> Option<()> {
        if (kind == NOTIFY) == self.parts.contains_key(&id) {
            return None;
        }
        if flags & ABORT != 0 {
            self.parts.remove(&id);
            return Some(());
        }
        let (_, overlaps) = self.agreed?;
        let alone = self.waiting.is_empty() && self.parts.keys().all(|other| *other == id);
        if !overlaps && !alone {
            return None;
        }
        let part = self.parts.entry(id).or_default();
        part.extend_from_slice(bytes);
        if flags & FIN == 0 {
            return self.plan.fragmentation.then_some(());
        }
        let whole = self.parts.remove(&id)?;
        if !self.seen.insert(id) {
            return None;
        }
        let mut tally = self.tally.borrow_mut();
        tally.payloads += 1;
        tally.fragmented += u64::from(kind == UNSET);
        drop(tally);
        let value = argument(&whole)?;
        self.waiting.insert(self.count, (id, value.to_vec()));
        let at = net.now() + net.up_to(self.plan.delay);
        net.set_timer(me, at, self.count);
        self.count += 1;
        Some(())
    }

    /// Answers a payload, or misbehaves.
    fn answer(&mut self, net: &mut Net, me: ActorId, number: u64) {
        let plan = self.plan.clone();
        // Nothing follows a frame that is cut off.
        if self.leaves || net.chance(plan.silent) {
            return;
        }
        let Some((id, value)) = self.waiting.remove(&number) else { return };
        let mut payload = vec![1, 3, 2];
        put_string(b"id", &mut payload);
        put_text(&value, &mut payload);
        if net.chance(plan.stray) {
            self.put(ACK, FIN, (id.0 + 1_000_000, 1), &payload);
        }
        if net.chance(plan.abort) {
            return self.put(ACK, FIN | ABORT, id, &[]);
        }
        if net.chance(plan.garbage) {
            let kinds: [&[u8]; 4] = [
                &[0xff; 40],
                &[0, 0, 0, 3, ACK, 0, 0],
                &[0; 4],
                &[0, 0, 0, 7, 9, 0, 0, 0, 1, 0, 0],
            ];
            self.out.bytes.extend_from_slice(kinds[net.up_to(3) as usize]);
            return;
        }
        if net.chance(plan.disconnect) {
            return self.say_goodbye();
        }
        let start = self.out.bytes.len();
        self.put(ACK, FIN, id, &payload);
        if net.chance(plan.cut) {
            let whole = self.out.bytes.len() - start;
            self.out.bytes.truncate(start + net.up_to(whole as u64 - 1) as usize);
            if net.chance(300) {
                return self.leave(net, me, true);
            }
            self.leaves = true;
            return;
        }
        if net.chance(plan.twice) {
            self.put(ACK, FIN, id, &payload);
        }
        self.tally.borrow_mut().answered += 1;
    }

    fn say_goodbye(&mut self) {
        let mut payload = Vec::new();
        put_string(b"status-code", &mut payload);
        payload.extend_from_slice(&[3, 0]);
        put_string(b"message", &mut payload);
        put_text(b"normal", &mut payload);
        self.put(AGENT_DISCONNECT, FIN, (0, 0), &payload);
        self.leaves = true;
    }

    /// Appends a frame.
    fn put(&mut self, kind: u8, flags: u32, id: PayloadId, payload: &[u8]) {
        let mut frame = vec![kind];
        frame.extend_from_slice(&flags.to_be_bytes());
        put_number(id.0, &mut frame);
        put_number(id.1, &mut frame);
        frame.extend_from_slice(payload);
        self.out.bytes.extend_from_slice(&(frame.len() as u32).to_be_bytes());
        self.out.bytes.extend_from_slice(&frame);
    }
}

/// The value of the argument `id` of the only message of a payload.
fn argument(mut rest: &[u8]) -> Option<&[u8]> {
    take_string(&mut rest)?;
    let (count, after) = rest.split_first()?;
    rest = after;
    let mut found = None;
    for _ in 0..*count {
        match (take_string(&mut rest)?, take_data(&mut rest)?) {
            (b"id", Data::Text(text)) => found = Some(text),
            (b"id", _) => return None,
            _ => {}
        }
    }
    found.filter(|_| rest.is_empty())
}

/// A typed value, as far as the agent cares.
enum Data<'a> {
    Number(u64),
    Text(&'a [u8]),
    Other,
}

fn take_data<'a>(bytes: &mut &'a [u8]) -> Option<Data<'a>> {
    let (kind, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(match kind & 0xf {
        0 | 1 => Data::Other,
        2..=5 => Data::Number(take_number(bytes)?),
        8 | 9 => Data::Text(take_string(bytes)?),
        _ => return None,
    })
}

fn take_string<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take_number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(text)
}

/// Takes a number of variable length (SPOE.txt, section 3.1).
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (first, mut rest) = bytes.split_first()?;
    let mut value = u64::from(*first);
    let mut shift = 4;
    while shift < 60 && (shift > 4 || *first >= 240) {
        let (next, after) = rest.split_first()?;
        rest = after;
        value += u64::from(*next) << shift;
        shift += 7;
        if *next < 128 {
            break;
        }
    }
    *bytes = rest;
    Some(value)
}

fn put_number(mut value: u64, out: &mut Vec<u8>) {
    if value < 240 {
        return out.push(value as u8);
    }
    out.push(value as u8 | 0xf0);
    value = (value - 240) >> 4;
    while value >= 128 {
        out.push(value as u8 | 0x80);
        value = (value - 128) >> 7;
    }
    out.push(value as u8);
}

fn put_string(text: &[u8], out: &mut Vec<u8>) {
    put_number(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// A value that is a string.
fn put_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(8);
    put_string(text, out);
}

impl Actor for AgentConnection {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Timer(number) => {
                self.answer(net, me, number);
                self.go_on(net, me);
            }
            Signal::Start | Signal::Ready(_) => self.go_on(net, me),
            Signal::Accepted(_) | Signal::Datagram(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for value in [0, 1, 239, 240, 241, 2_287, 2_288, 65_535, 1 << 20, 1 << 40] {
            let mut out = Vec::new();
            put_number(value, &mut out);
            let mut rest = &out[..];
            assert_eq!((take_number(&mut rest), rest), (Some(value), &[][..]));
        }
    }
}
