//! Tests of fairness between a large response and small ones on streams of one connection, with
//! scripted peers; and of requests that need no server.

mod support;

use balance::Algorithm::RoundRobin;
use reactor::Address;
use settings::Reuse;
use sim::Faults;
use sim::net::{EndId, Net};
use sim::peers::ClientPlan;
use sim::{Actor, ActorId, Signal};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use support::{Lab, Listen, front, listen};

/// Small requests beside the large one.
const SMALL: u32 = 100;
/// Payload of each.
const SMALL_BODY: usize = 1_000;
/// Stream of the large one.
const LARGE: u32 = 1;
/// Bytes in one direction of a connection.
const PIPE: usize = 64 << 10;
/// Most bytes of the large response between a small request and the end of its response: those in
/// flight and in the proxy's output, twice, for the request and for the response. Each further hop
/// has buffers of its own.
const BETWEEN: u64 = 256 << 10;

/// Observations of the client.
#[derive(Debug, Default)]
struct StreamCounts {
    /// Payload of the large response so far.
    large: u64,
    large_ended: bool,
    /// Small requests without a response, with the payload of the large response when each was
    /// sent.
    asked: HashMap<u32, u64>,
    /// Payload of the large response between each small request and the end of its response.
    between: Vec<u64>,
}

/// An HTTP/2 client with one connection.
struct StreamClient {
    /// Small requests in progress at a time.
    at_once: usize,
    seen: Rc<RefCell<StreamCounts>>,
    end: Option<EndId>,
    out: Vec<u8>,
    input: Vec<u8>,
    begun: u32,
}

impl StreamClient {
    fn new(at_once: usize, seen: &Rc<RefCell<StreamCounts>>) -> Box<Self> {
        let (out, input) = (hello(), Vec::new());
        Box::new(Self { at_once, seen: seen.clone(), end: None, out, input, begun: 0 })
    }

    fn ask(&mut self, stream: u32, path: &[u8]) {
        let block = [&[0x82, 0x86, 0x04, path.len() as u8], path, b"\x41\x01a"].concat();
        self.out.extend(frame(1, 5, stream, &block));
    }

    /// Sends small requests once the large response has begun.
    fn ask_small(&mut self) {
        let seen = self.seen.clone();
        let mut seen = seen.borrow_mut();
        while seen.large > 0 && seen.asked.len() < self.at_once && self.begun < SMALL {
            self.begun += 1;
            let (stream, large) = (LARGE + 2 * self.begun, seen.large);
            seen.asked.insert(stream, large);
            self.ask(stream, b"/small");
        }
    }

    /// Handles received frames; an incomplete one stays in the buffer.
    fn read(&mut self) {
        let mut at = 0;
        while let Some(header) = self.input.get(at..at + 9) {
            let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, it| sum << 8 | u32::from(*it));
            let (length, stream) = (number(&header[..3]), number(&header[5..]));
            let (kind, ends) = (header[3], header[4] & 1 != 0);
            if self.input.len() < at + 9 + length as usize {
                break;
            }
            at += 9 + length as usize;
            assert!(kind != 3 && kind != 7, "streams are not reset: {kind} on {stream}");
            self.seen.borrow_mut().take(stream, u64::from(length), kind == 0, kind <= 1 && ends);
        }
        self.input.drain(..at);
    }

    fn go_on(&mut self, net: &mut Net) {
        let Some(end) = self.end else { return };
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = net.recv(end, &mut buffer) {
            self.input.extend_from_slice(&buffer[..count]);
            self.read();
        }
        self.ask_small();
        send(net, end, &mut self.out);
    }
}

impl StreamCounts {
    fn take(&mut self, stream: u32, length: u64, data: bool, ends: bool) {
        if stream == LARGE && data {
            self.large += length;
            self.large_ended |= ends;
        } else if ends && let Some(before) = self.asked.remove(&stream) {
            assert!(!self.large_ended, "the large one is still under way");
            self.between.push(self.large - before);
        }
    }
}

impl Actor for StreamClient {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        if signal == Signal::Start {
            let from = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
            self.end = net.dial(me, from, &Address::Inet(front(0))).ok();
            self.ask(LARGE, b"/large");
        }
        self.go_on(net);
    }
}

/// The preface, the largest windows, and the acknowledgement of SETTINGS in advance.
fn hello() -> Vec<u8> {
    let most = (i32::MAX as u32).to_be_bytes();
    let settings = frame(4, 0, 0, &[&[0, 4][..], &most].concat());
    let window = frame(8, 0, 0, &(i32::MAX as u32 - 65_535).to_be_bytes());
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &window].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Sends as much as there is room for.
fn send(net: &mut Net, end: EndId, out: &mut Vec<u8>) {
    while !out.is_empty() {
        match net.send(end, out) {
            Ok(count) => drop(out.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) => panic!("the proxy has gone: {error}"),
        }
    }
}

/// Answers `/large` with the given length, everything else with a small body.
struct SizedOrigin {
    large: u64,
}

impl Actor for SizedOrigin {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => {
                let at = Address::Inet(support::origin(0));
                net.listen_as(me, at).expect("nobody else listens there");
            }
            Signal::Accepted(end) => {
                let (large, input, out, left) = (self.large, Vec::new(), Vec::new(), 0);
                let service = net.spawn(Box::new(SizedConnection { large, end, input, out, left }));
                net.hand_over(end, service);
            }
            Signal::Ready(_) | Signal::Timer(_) | Signal::Datagram(_) => {}
        }
    }
}

/// One connection of an origin.
struct SizedConnection {
    large: u64,
    end: EndId,
    input: Vec<u8>,
    out: Vec<u8>,
    /// Payload that follows the bytes in `out`.
    left: u64,
}

impl SizedConnection {
    /// Reads requests. `false`: the connection has ended.
    fn read(&mut self, net: &mut Net) -> bool {
        let mut buffer = [0; 4_096];
        loop {
            match net.recv(self.end, &mut buffer) {
                Ok(count @ 1..) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                _ => return false,
            }
        }
    }

    fn answer(&mut self) {
        while let Some(head) = self.input.windows(4).position(|it| it == b"\r\n\r\n") {
            let large = self.input.starts_with(b"GET /large ");
            let length = if large { self.large } else { SMALL_BODY as u64 };
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            self.out.extend_from_slice(answer.as_bytes());
            self.left += length;
            self.input.drain(..head + 4);
        }
    }

    fn write(&mut self, net: &mut Net) {
        loop {
            send(net, self.end, &mut self.out);
            let more = self.left.min(PIPE as u64);
            if !self.out.is_empty() || more == 0 {
                return;
            }
            self.out.resize(more as usize, b'x');
            self.left -= more;
        }
    }
}

impl Actor for SizedConnection {
    fn act(&mut self, net: &mut Net, me: ActorId, _: Signal) {
        if !self.read(net) {
            net.close_end(self.end, false);
            return net.retire(me);
        }
        self.answer();
        self.write(net);
    }
}

/// Runs a client with a large response and small ones beside it; returns its observations.
fn play(large: u64, at_once: usize, faults: Faults, listens: Vec<Listen>) -> StreamCounts {
    let mut lab = Lab::new(1, 1, faults, listens);
    lab.machine.net().spawn(Box::new(SizedOrigin { large }));
    let seen = Rc::<RefCell<StreamCounts>>::default();
    lab.machine.net().spawn(StreamClient::new(at_once, &seen));
    let watched = seen.clone();
    lab.until("the large answer ends", support::LONG, |_| watched.borrow().large_ended);
    let seen = seen.take();
    assert_eq!((seen.large, seen.asked.len()), (large, 0), "{at_once} at once");
    assert_eq!(seen.between.len(), SMALL as usize, "{at_once} at once");
    seen
}

/// One listener, and two in a row with an HTTP/2 connection between them.
fn ways() -> [Vec<Listen>; 2] {
    let link = |h2_back| Listen { h2_front: true, h2_back, ..listen(RoundRobin, Reuse::Safe, 1) };
    [vec![link(false)], vec![link(true), link(false)]]
}

#[test]
fn heavy_streams_cannot_starve_small_ones() {
    let smooth = Faults { buffer: PIPE, ..Faults::NONE };
    let cases: [(_, _, &[usize]); 2] =
        [(1 << 25, smooth, &[1, 10, 99]), (1 << 23, Faults::BUMPY, &[10, 99])];
    for (large, faults, numbers) in cases {
        for at_once in numbers {
            for listens in ways() {
                let hops = listens.len();
                let between = BETWEEN + (hops as u64 - 1) * PIPE as u64;
                let seen = play(large, *at_once, faults, listens);
                let most = seen.between.iter().max().copied();
                assert!(most <= Some(between), "{hops} hops, {at_once} at once: {most:?}");
            }
        }
    }
}

/// Requests that one client sends at once.
const EAGER: u32 = 300;
/// Clients that send one request.
const OTHERS: u64 = 6;

/// Where no server is needed, the requests of a connection have nothing to wait for.
#[test]
fn locally_answered_requests_do_not_delay_others() {
    for seed in 0..8 {
        let mut lab = Lab::new(seed, 1, Faults::NONE, vec![listen(RoundRobin, Reuse::Safe, 0)]);
        let plan = |pipeline| move |base| ClientPlan { pipeline, think: 0, post: 0, ..base };
        // All come at the same moment, in random order.
        lab.clients(1, EAGER, plan(EAGER as usize));
        lab.clients(OTHERS, 1, plan(1));
        lab.until_finished();
        let lines = lab.lines();
        assert_eq!(lines.len() as u64, u64::from(EAGER) + OTHERS);
        assert!(lines.iter().all(|line| line.status == 503));
        let last = lines.iter().rposition(|line| line.id >= Some(support::IDS)).unwrap();
        assert!(last <= 40, "seed {seed}: {last} were answered before the last of the others");
    }
}
