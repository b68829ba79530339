//! Tests of uploads as streams of one client connection: how many bytes the proxy accepts while
//! they are not read, and their speed over a long path. The client is a script that respects its
//! windows.

mod support;

use balance::Algorithm::RoundRobin;
use reactor::Address;
use settings::{Reuse, Timeouts};
use sim::Faults;
use sim::faults::MS;
use sim::net::{EndId, Net};
use sim::{Actor, ActorId, Signal};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;
use support::{Lab, Listen, front, listen};

const FRAME: u64 = 16_384;
const DEFAULT_WINDOW: i64 = 65_535;

/// Bytes and frames that a client has sent and received.
#[derive(Debug, Default)]
struct UploadCounts {
    /// Payload sent.
    sent: u64,
    /// Uploads that were answered.
    answered: usize,
    /// Virtual times of the first connection and of the last answer, in nanoseconds.
    first: u64,
    last: u64,
}

/// An upload: bytes left, and the window of its stream.
struct Upload {
    left: u64,
    window: i64,
}

/// An HTTP/2 client that begins all of its uploads at once.
struct UploadClient {
    seen: Rc<RefCell<UploadCounts>>,
    uploads: BTreeMap<u32, Upload>,
    /// The window of the connection, and that of new streams.
    window: i64,
    initial: i64,
    end: Option<EndId>,
    out: Vec<u8>,
    input: Vec<u8>,
}

impl UploadClient {
    fn new(uploads: u32, bytes: u64, seen: &Rc<RefCell<UploadCounts>>) -> Box<Self> {
        let begin = |number| (2 * number + 1, Upload { left: bytes, window: DEFAULT_WINDOW });
        let mut client = Self {
            seen: seen.clone(),
            uploads: (0..uploads).map(begin).collect(),
            window: DEFAULT_WINDOW,
            initial: DEFAULT_WINDOW,
            end: None,
            out: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            input: Vec::new(),
        };
        client.out.extend(frame(4, 0, 0, b""));
        for stream in client.uploads.keys() {
            client.out.extend(frame(1, 4, *stream, b"\x83\x86\x84\x41\x01a"));
        }
        Box::new(client)
    }

    /// Handles received frames; an incomplete one stays in the buffer.
    fn read(&mut self, now: u64) {
        let mut at = 0;
        while let Some(header) = self.input.get(at..at + 9) {
            let (length, stream) = (number(&header[..3]) as usize, number(&header[5..]));
            let (kind, flags) = (header[3], header[4]);
            let Some(payload) = self.input.get(at + 9..at + 9 + length) else { break };
            at += 9 + length;
            match kind {
                4 if flags & 1 == 0 => {
                    let settings = payload.chunks(6).filter(|it| it[1] == 4);
                    let initial = settings.map(|it| i64::from(number(&it[2..]))).next();
                    let by = initial.map_or(0, |initial| initial - self.initial);
                    self.initial += by;
                    self.uploads.values_mut().for_each(|upload| upload.window += by);
                    self.out.extend(frame(4, 1, 0, b""));
                }
                8 if stream == 0 => self.window += i64::from(number(payload)),
                8 => {
                    let upload = self.uploads.get_mut(&stream);
                    upload.into_iter().for_each(|it| it.window += i64::from(number(payload)));
                }
                0 | 1 if flags & 1 != 0 => {
                    let whole = self.uploads.remove(&stream).is_some_and(|it| it.left == 0);
                    assert!(whole, "stream {stream} is answered before its end: {payload:?}");
                    let mut seen = self.seen.borrow_mut();
                    seen.answered += 1;
                    seen.last = now;
                }
                3 | 7 => panic!("{kind} of stream {stream}: {payload:?}"),
                _ => {}
            }
        }
        self.input.drain(..at);
    }

    /// Sends a frame of each upload in turn, as long as the windows allow it.
    fn upload(&mut self) {
        let mut more = self.out.is_empty();
        while std::mem::take(&mut more) {
            for (stream, upload) in &mut self.uploads {
                let room = upload.window.min(self.window).max(0) as u64;
                let count = upload.left.min(room).min(FRAME);
                if count > 0 {
                    (upload.left, upload.window) =
                        (upload.left - count, upload.window - count as i64);
                    self.window -= count as i64;
                    self.seen.borrow_mut().sent += count;
                    let end = u8::from(upload.left == 0);
                    self.out.extend(frame(0, end, *stream, &vec![b'x'; count as usize]));
                    more = self.out.len() < 1 << 20;
                }
            }
        }
    }
}

impl Actor for UploadClient {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        if signal == Signal::Start {
            let from = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
            self.seen.borrow_mut().first = net.now();
            self.end = net.dial(me, from, &Address::Inet(front(0))).ok();
        }
        let Some(end) = self.end else { return };
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = net.recv(end, &mut buffer) {
            self.input.extend_from_slice(&buffer[..count]);
            self.read(net.now());
        }
        loop {
            self.upload();
            if self.out.is_empty() || !send(net, end, &mut self.out) {
                return;
            }
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, it| sum << 8 | u32::from(*it))
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Sends as much as there is room for; `false` when there is no more room.
fn send(net: &mut Net, end: EndId, out: &mut Vec<u8>) -> bool {
    while !out.is_empty() {
        match net.send(end, out) {
            Ok(count) => drop(out.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) => panic!("the proxy has gone: {error}"),
        }
    }
    true
}

/// Reads all of each request. The origin answers the first request, and later ones if `answers`.
struct ReadingOrigin {
    answers: bool,
}

impl Actor for ReadingOrigin {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => {
                net.listen_as(me, Address::Inet(support::origin(0))).expect("the port is free");
            }
            Signal::Accepted(end) => {
                let answers = self.answers;
                let service =
                    ReadingConnection { end, input: Vec::new(), out: Vec::new(), answers };
                let service = net.spawn(Box::new(service));
                net.hand_over(end, service);
            }
            Signal::Ready(_) | Signal::Timer(_) | Signal::Datagram(_) => {}
        }
    }
}

/// One connection of an origin.
struct ReadingConnection {
    end: EndId,
    input: Vec<u8>,
    out: Vec<u8>,
    answers: bool,
}

impl Actor for ReadingConnection {
    fn act(&mut self, net: &mut Net, me: ActorId, _: Signal) {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match net.recv(self.end, &mut buffer) {
                Ok(count @ 1..) => {
                    // The head and the end of the message without any payload.
                    self.input.extend(buffer[..count].iter().filter(|it| **it != b'x'));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                _ => {
                    net.close_end(self.end, false);
                    return net.retire(me);
                }
            }
        }
        let last = |input: &[u8]| input.windows(7).position(|it| it == b"\r\n0\r\n\r\n");
        while let Some(at) = last(&self.input).filter(|_| self.answers) {
            self.input.drain(..at + 7);
            self.out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
        send(net, self.end, &mut self.out);
    }
}

/// A path of 50 ms to the listener with large buffers, a short one to the server.
fn lab(listen: Listen, answers: bool) -> Lab {
    let lab = Lab::new(1, 1, Faults { buffer: 1 << 20, ..Faults::NONE }, vec![listen]);
    let far = Faults { latency: 25 * MS, buffer: 32 << 20, ..Faults::NONE };
    lab.machine.net().set_faults_of(Address::Inet(front(0)), far);
    lab.machine.net().spawn(Box::new(ReadingOrigin { answers }));
    lab
}

fn proxy() -> Listen {
    let listen = listen(RoundRobin, Reuse::Safe, 1);
    let most = Some(100_000);
    let timeouts = Timeouts { client: most, server: most, queue: most, ..listen.timeouts };
    Listen { h2_front: true, timeouts, ..listen }
}

/// Duration of uploads in milliseconds.
fn play(uploads: u32, bytes: u64, listen: Listen) -> u64 {
    let mut lab = lab(listen, true);
    let seen = Rc::<RefCell<UploadCounts>>::default();
    lab.machine.net().spawn(UploadClient::new(uploads, bytes, &seen));
    let watched = seen.clone();
    lab.until("all are answered", support::LONG, |_| watched.borrow().answered == uploads as usize);
    let seen = seen.borrow();
    (seen.last - seen.first) / MS
}

#[test]
fn uploads_over_a_long_path_are_as_fast_as_their_streams_allow() {
    // One stream has 64 KiB in each round trip; all streams together need a window that grows to
    // 6.25 MiB within seven round trips. A window of all from the beginning takes 30 trips for
    // them.
    for (uploads, bytes, trips) in [(1, 8 << 20, 133), (4, 8 << 20, 133), (100, 1 << 20, 31)] {
        let took = play(uploads, bytes, proxy());
        assert!(took <= trips * 50, "{uploads} uploads of {bytes} bytes: {took} ms");
    }
}

#[test]
fn queued_uploads_are_not_accepted() {
    let mut lab = lab(Listen { maxconn: 1, ..proxy() }, false);
    let seen = Rc::<RefCell<UploadCounts>>::default();
    lab.machine.net().spawn(UploadClient::new(100, 1 << 20, &seen));
    let _ = lab.machine.run_for(Duration::from_secs(3));
    // The first upload goes to its server.
    let sent = seen.borrow().sent;
    assert!(sent <= (1 << 20) + 200_000, "{sent} bytes of payload");
}

#[test]
fn uploads_come_out_of_the_queue_one_after_the_other() {
    let took = play(20, 1 << 18, Listen { maxconn: 1, ..proxy() });
    // Each upload takes some round trips: it gets window when it is read.
    assert!(took <= 20 * 8 * 50, "{took} ms");
}
