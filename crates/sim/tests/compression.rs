//! Compression of requests and responses in virtual time: over random segmentations of source and
//! sink, each body decodes to the original.

mod support;

use balance::Algorithm::RoundRobin;
use reactor::Address;
use settings::{Compression, CompressionDirection, RequestCompression, Reuse};
use sim::faults::MS;
use sim::net::{EndId, Net};
use sim::{Actor, ActorId, Faults, Signal};
use std::cell::Cell;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;
use support::{Lab, Listen, front, listen};

/// Requests of a client, one after another on one connection.
const REQUESTS: u32 = 6;
const CLIENTS: u8 = 6;
/// The largest body.
const BODY: u64 = 60_000;

/// Messages of one connection: a peer that sends in random pieces with pauses.
struct Wire {
    end: EndId,
    input: Vec<u8>,
    out: Vec<u8>,
}

impl Wire {
    fn new(end: EndId) -> Self {
        Self { end, input: Vec::new(), out: Vec::new() }
    }

    /// Receives what has come; `false` at the end of the connection.
    fn receive(&mut self, net: &mut Net) -> bool {
        let mut buffer = vec![0; 1 + net.up_to(8_000) as usize];
        loop {
            match net.recv(self.end, &mut buffer) {
                Ok(count @ 1..) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                _ => return false,
            }
        }
    }

    /// Sends a piece, and sets a timer for the next one.
    fn send(&mut self, net: &mut Net, me: ActorId) {
        if self.out.is_empty() {
            return;
        }
        let most = self.out.len().min(1 + net.up_to(9_000) as usize);
        if let Ok(count) = net.send(self.end, &self.out[..most]) {
            self.out.drain(..count);
        }
        let pause = net.up_to(3 * MS);
        net.set_timer(me, net.now() + pause, 0);
    }

    /// The next complete message: its head and its payload.
    fn message(&mut self) -> Option<(String, Vec<u8>)> {
        let head = self.input.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
        let text = String::from_utf8(self.input[..head].to_vec()).expect("text");
        let (mut body, mut at) = (Vec::new(), head);
        if let Some(length) = field(&text, "content-length") {
            at += length.parse::<usize>().expect("a length");
            body.extend_from_slice(self.input.get(head..at)?);
        } else {
            assert_eq!(field(&text, "transfer-encoding"), Some("chunked"), "{text}");
            loop {
                let line = self.input.get(at..)?.windows(2).position(|it| it == b"\r\n")?;
                let size = std::str::from_utf8(&self.input[at..at + line]).expect("a size");
                let size = usize::from_str_radix(size, 16).expect("a size");
                let (begin, end) = (at + line + 2, at + line + 2 + size);
                body.extend_from_slice(self.input.get(begin..end)?);
                at = end + 2;
                if size == 0 {
                    break;
                }
            }
        }
        if self.input.len() < at {
            return None;
        }
        self.input.drain(..at);
        Some((text, body))
    }

    /// Adds a message of this head; its body has a length or random chunks.
    fn say(&mut self, net: &Net, head: &str, body: &[u8]) {
        self.out.extend_from_slice(head.as_bytes());
        if net.chance(400) {
            self.out
                .extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
            return self.out.extend_from_slice(body);
        }
        self.out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
        let mut rest = body;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.len().min(1 + net.up_to(7_000) as usize));
            self.out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            self.out.extend_from_slice(piece);
            self.out.extend_from_slice(b"\r\n");
            rest = more;
        }
        self.out.extend_from_slice(b"0\r\n\r\n");
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
}

/// The body of a message that has to be compressed.
fn decoded(head: &str, body: &[u8]) -> Vec<u8> {
    assert_eq!(field(head, "content-encoding"), Some("gzip"), "{head}");
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(body).read_to_end(&mut text).expect("a gzip stream");
    text
}

/// Words in random order: they compress, and repeat at random distances.
fn text(net: &Net) -> Vec<u8> {
    let length = 1 + net.up_to(BODY);
    let mut text = Vec::new();
    while (text.len() as u64) < length {
        let word = ["server ", "client ", "buffer ", "stream ", "\0\u{1}\u{2}", "a"];
        text.extend_from_slice(word[net.up_to(5) as usize].as_bytes());
    }
    text
}

/// Answers each request with its body, decoded.
struct EchoOrigin;

impl Actor for EchoOrigin {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => {
                net.listen_as(me, Address::Inet(support::origin(0))).expect("the port is free");
            }
            Signal::Accepted(end) => {
                let service = net.spawn(Box::new(EchoConnection(Wire::new(end))));
                net.hand_over(end, service);
            }
            Signal::Ready(_) | Signal::Timer(_) | Signal::Datagram(_) => {}
        }
    }
}

struct EchoConnection(Wire);

impl Actor for EchoConnection {
    fn act(&mut self, net: &mut Net, me: ActorId, _: Signal) {
        if !self.0.receive(net) {
            net.close_end(self.0.end, false);
            return net.retire(me);
        }
        while let Some((head, body)) = self.0.message() {
            let body = decoded(&head, &body);
            self.0.say(net, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n", &body);
        }
        self.0.send(net, me);
    }
}

/// A client that compares each response with its request.
struct EchoClient {
    wire: Option<Wire>,
    sent: Vec<u8>,
    left: u32,
    finished: Rc<Cell<u64>>,
}

impl EchoClient {
    fn ask(&mut self, net: &Net) {
        self.sent = text(net);
        let head =
            "POST / HTTP/1.1\r\nhost: t\r\naccept-encoding: gzip\r\ncontent-type: text/plain\r\n";
        let Some(wire) = &mut self.wire else { return };
        wire.say(net, head, &self.sent);
    }
}

impl Actor for EchoClient {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        if signal == Signal::Start {
            let from = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
            let end = net.dial(me, from, &Address::Inet(front(0))).expect("a connection");
            self.wire = Some(Wire::new(end));
            self.ask(net);
        }
        let Some(wire) = &mut self.wire else { return };
        assert!(wire.receive(net), "the connection ends early");
        if let Some((head, body)) = wire.message() {
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            assert!(decoded(&head, &body) == self.sent, "another body");
            self.left -= 1;
            self.finished.set(self.finished.get() + 1);
            if self.left == 0 {
                net.close_end(wire.end, false);
                return net.retire(me);
            }
            self.ask(net);
        }
        let Some(wire) = &mut self.wire else { return };
        wire.send(net, me);
    }
}

/// Both directions are compressed, towards a server of HTTP/1 or of HTTP/2.
#[test]
fn requests_and_responses_decode_to_the_original_over_random_segmentations() {
    let compression = Compression {
        algorithms: vec![compression::Algorithm::Gzip],
        request: RequestCompression {
            algorithm: Some(compression::Algorithm::Gzip),
            ..RequestCompression::default()
        },
        direction: CompressionDirection::Both,
        ..Compression::default()
    };
    for seed in 0..8 {
        let h2_back = seed % 2 == 1;
        let compressing = Listen {
            h2_back,
            compression: Some(compression.clone()),
            ..listen(RoundRobin, Reuse::Safe, 1)
        };
        let mut listens = vec![compressing];
        if h2_back {
            listens.push(Listen { h2_front: true, ..listen(RoundRobin, Reuse::Safe, 1) });
        }
        let faults = if seed < 2 { Faults::NONE } else { Faults::BUMPY };
        let mut lab = Lab::new(seed, 2, faults, listens);
        lab.machine.net().spawn(Box::new(EchoOrigin));
        let finished = Rc::new(Cell::new(0));
        for _ in 0..CLIENTS {
            let (sent, left, finished) = (Vec::new(), REQUESTS, finished.clone());
            lab.machine.net().spawn(Box::new(EchoClient { wire: None, sent, left, finished }));
        }
        let all = u64::from(CLIENTS) * u64::from(REQUESTS);
        lab.until("bodies pass", Duration::from_secs(600), |_| finished.get() == all);
        lab.until_quiet();
        lab.assert_at_rest();
        lab.stop();
    }
}
