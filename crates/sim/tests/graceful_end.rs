//! Tests of a soft stop with distant HTTP/2 clients: no request stays unanswered.

mod support;

use balance::Algorithm::RoundRobin;
use reactor::Address;
use settings::Reuse;
use settings::soft_stop::CloseSpread;
use sim::Faults;
use sim::faults::{MS, SEC};
use sim::net::{EndId, Net};
use sim::{Actor, ActorId, Signal};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;
use support::{Lab, Listen, front, listen};

/// Clients of a run.
const CLIENTS: u32 = 20;

/// Frame types (RFC 9113 section 6).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const GOAWAY: u8 = 7;

/// Responses and errors that the clients of a run have received.
#[derive(Debug, Default)]
struct AnswerCounts {
    sent: u32,
    answered: u32,
    /// Unanswered requests above the last stream of a GOAWAY, which their client may repeat.
    repeatable: u32,
    /// Requests with an unknown outcome.
    lost: u32,
    ended: u32,
}

/// A client with one connection that sends requests at random moments until it must not.
struct Asking {
    number: u32,
    /// The longest pause between two requests, in virtual nanoseconds.
    pause: u64,
    seen: Rc<RefCell<AnswerCounts>>,
    end: Option<EndId>,
    out: Vec<u8>,
    input: Vec<u8>,
    next: u32,
    open: BTreeSet<u32>,
    /// The last stream that is served, by the last GOAWAY.
    last: Option<u32>,
}

impl Asking {
    fn ask(&mut self) {
        let id = format!("{}", self.number * 100_000 + self.next);
        let field = [&[0, 4], &b"x-id"[..], &[id.len() as u8], id.as_bytes()].concat();
        let block = [b"\x82\x86\x84\x41\x01a", &field[..]].concat();
        self.out.extend(frame(HEADERS, 5, self.next, &block));
        self.open.insert(self.next);
        self.next += 2;
        self.seen.borrow_mut().sent += 1;
    }

    fn take_frames(&mut self) {
        while let Some(header) = self.input.get(..9) {
            let (kind, flags) = (header[3], header[4]);
            let stream = number(&header[5..]);
            let end = 9 + number(&header[..3]) as usize;
            if self.input.len() < end {
                return;
            }
            let frame: Vec<u8> = self.input.drain(..end).collect();
            self.take(kind, flags, stream, &frame[9..]);
        }
    }

    fn take(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        match kind {
            0 | HEADERS if flags & 1 != 0 => {
                assert!(self.open.remove(&stream), "an answer to nothing");
                self.seen.borrow_mut().answered += 1;
            }
            RST_STREAM => panic!("stream {stream} was reset: {payload:?}"),
            PING if flags & 1 == 0 => self.out.extend(frame(PING, 1, 0, payload)),
            GOAWAY => {
                let last = number(&payload[..4]);
                assert!(self.last.is_none_or(|before| last <= before), "last streams go down");
                self.last = Some(last);
            }
            _ => {}
        }
    }

    /// Counts the outcome of its requests after the connection has ended.
    fn end(&mut self) {
        let mut seen = self.seen.borrow_mut();
        let last = self.last.expect("a connection does not end without a word");
        let above = self.open.range(last + 1..).count() as u32;
        seen.repeatable += above;
        seen.lost += self.open.len() as u32 - above;
        seen.ended += 1;
    }

    fn read(&mut self, net: &mut Net, me: ActorId) {
        let (Some(end), mut buffer) = (self.end, [0; 4_096]) else { return };
        loop {
            match net.recv(end, &mut buffer) {
                Ok(count @ 1..) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                result => {
                    assert!(result.is_ok(), "the connection is not reset");
                    self.take_frames();
                    self.end();
                    net.close_end(end, false);
                    self.end = None;
                    return net.retire(me);
                }
            }
        }
        self.take_frames();
    }
}

impl Actor for Asking {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => {
                let from = IpAddr::V4(Ipv4Addr::new(192, 0, 2, self.number as u8 + 1));
                self.end = net.dial(me, from, &Address::Inet(front(0))).ok();
                net.set_timer(me, net.now() + net.up_to(self.pause), 0);
            }
            Signal::Timer(_) if self.last.is_none() && self.end.is_some() => {
                self.ask();
                net.set_timer(me, net.now() + net.up_to(self.pause), 0);
            }
            _ => self.read(net, me),
        }
        let Some(end) = self.end else { return };
        while let Ok(count @ 1..) = net.send(end, &self.out) {
            self.out.drain(..count);
        }
    }
}

/// The preface, and a window larger than all responses.
fn hello() -> Vec<u8> {
    let window = frame(8, 0, 0, &(1_u32 << 30).to_be_bytes());
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, b""), &window].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// Stops the proxy under clients with `latency` in one direction.
fn stop_under_load(seed: u64, latency: u64, pause: u64, spread: CloseSpread) -> AnswerCounts {
    let faults = Faults { latency, jitter: latency / 4, ..Faults::NONE };
    let settings = settings::Process { close_spread: spread, ..support::process(2) };
    let listens = vec![Listen { h2_front: true, ..listen(RoundRobin, Reuse::Always, 2) }];
    let mut lab = Lab::of(settings, seed, faults, listens);
    for index in 0..2 {
        let near = Faults { latency: 50_000, ..Faults::NONE };
        lab.machine.net().set_faults_of(Address::Inet(support::origin(index)), near);
    }
    lab.origins(2, |plan| plan);
    let seen = Rc::<RefCell<AnswerCounts>>::default();
    for number in 0..CLIENTS {
        lab.machine.net().spawn(Box::new(Asking {
            number,
            pause,
            seen: seen.clone(),
            end: None,
            out: hello(),
            input: Vec::new(),
            next: 1,
            open: BTreeSet::new(),
            last: None,
        }));
    }
    let moment = 3 * latency + lab.machine.net().up_to(SEC);
    lab.until_time(Duration::from_nanos(moment));
    lab.stop();
    assert_eq!(seen.borrow().ended, CLIENTS, "seed {seed}");
    seen.take()
}

#[test]
fn a_soft_stop_answers_every_request_of_clients_far_away() {
    let mut sent = 0;
    for seed in 0..24 {
        let spread = if seed % 3 == 0 { CloseSpread::Over(500) } else { CloseSpread::AtOnce };
        // Some send so rarely that most connections are idle when they end.
        let pause = if seed % 2 == 0 { 20 * MS } else { 900 * MS };
        let seen = stop_under_load(seed, 20 * MS, pause, spread);
        assert_eq!((seen.lost, seen.repeatable), (0, 0), "seed {seed}: {seen:?}");
        assert_eq!(seen.answered, seen.sent, "seed {seed}");
        sent += seen.sent;
    }
    assert!(sent > 10_000, "{sent} requests");
}

/// Clients that are more distant than the proxy's wait for the PING answer learn which requests to
/// repeat.
#[test]
fn distant_clients_know_which_requests_to_repeat() {
    let mut repeatable = 0;
    for seed in 100..108 {
        let seen = stop_under_load(seed, 800 * MS, 200 * MS, CloseSpread::AtOnce);
        assert_eq!(seen.lost, 0, "seed {seed}: {seen:?}");
        repeatable += seen.repeatable;
    }
    assert!(repeatable > 0);
}
