//! Servers that speak HTTP/2 in every way that they should not, and in the odd ones that they may:
//! the classes of h2spec (generic, http2, hpack) turned round.
//!
//! A server gets the errors that a client would get. The client of the request gets 502, or its
//! answer over another connection if the server has not processed the request.

use crate::support::{Client, LogReceiver, Origin, Running, Setup};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

mod framing;
mod hpack;
mod messages;
mod states;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// A frame: its type, its flags, its stream, its payload.
#[derive(Clone, Copy)]
struct Frame(u8, u8, u32, &'static [u8]);

/// A whole answer, of a head only.
const ANSWER: Frame = Frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\x88");
/// The head of an answer with a body.
const HEAD: Frame = Frame(HEADERS, END_HEADERS, 1, b"\x88");
/// The end of its body.
const END: Frame = Frame(DATA, END_STREAM, 1, b"ab");
const GREETING: Frame = Frame(SETTINGS, 0, 0, b"");

const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

/// The code that the server receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    /// The connection ends with this code.
    GoAway(u32),
    /// The stream ends with this code, and the connection continues.
    Reset(u32),
    /// The connection ended before the client had received all of the server's bytes.
    Farewell,
    /// Either status, depending on whether the stream had already been closed.
    Either(u32),
}

/// The outcome of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    /// The request is answered with 200 on this connection.
    Answered,
    /// The client gets a 502.
    Failed,
    /// The client gets a 502, or a response that is cut off.
    Cut,
    /// The request is sent again on another connection, and answered there.
    Retried,
}

/// Frames that a server sends in answer to a request on stream 1.
struct Case {
    /// The section of h2spec, or of the RFC behind it.
    class: &'static str,
    what: &'static str,
    /// Whether the server's SETTINGS come first.
    greets: bool,
    says: &'static [Frame],
    told: Told,
    got: Got,
}

const fn case(
    class: &'static str,
    what: &'static str,
    says: &'static [Frame],
    told: Told,
    got: Got,
) -> Case {
    Case { class, what, greets: true, says, told, got }
}

/// A case whose response is valid.
const fn fine(class: &'static str, what: &'static str, says: &'static [Frame]) -> Case {
    case(class, what, says, Told::Nothing, Got::Answered)
}

/// The frames end the connection, and the request on it fails.
const fn fatal(class: &'static str, what: &'static str, says: &'static [Frame], code: u32) -> Case {
    case(class, what, says, Told::GoAway(code), Got::Failed)
}

impl Case {
    /// The answer has begun: it is cut off, if not replaced.
    const fn cut(mut self) -> Self {
        self.got = Got::Cut;
        self
    }
}

const ALL: [&[Case]; 4] = [framing::CASES, states::CASES, messages::CASES, hpack::CASES];

fn numbered() -> impl Iterator<Item = &'static Case> {
    ALL.into_iter().flatten()
}

impl Frame {
    fn bytes(&self) -> Vec<u8> {
        let Self(kind, flags, stream, payload) = self;
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[*kind, *flags], &stream.to_be_bytes(), payload].concat()
    }
}

/// The payload of a PING behind the server's frames: its answer proves that they were all read.
const MARK: &[u8] = b"the mark";

/// A connection of the proxy, taken as HTTP/2.
struct Server(Client);

impl Server {
    fn frame(&mut self) -> (u8, u8, u32, Vec<u8>) {
        self.try_frame().expect("the connection goes on")
    }

    /// The next frame; nothing when the connection ends before it.
    fn try_frame(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        let header = self.0.try_take(9)?;
        let payload = self.0.try_take(number(&header[..3]) as usize)?;
        Some((header[3], header[4], number(&header[5..]), payload))
    }

    fn say(&mut self, frames: &[Frame]) {
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
        // The peer may have closed the connection.
        let _ = self.0.try_send(bytes);
    }

    /// Waits for a request; returns its header block.
    fn request(&mut self) -> Vec<u8> {
        loop {
            if let (HEADERS, _, _, block) = self.frame() {
                return block;
            }
        }
    }

    /// The frames that it receives before its PING is answered.
    fn told(&mut self) -> Told {
        let mut told = Told::Nothing;
        while let Some((kind, flags, _, payload)) = self.try_frame() {
            let code = payload.iter().rev().take(4).rev();
            let code = code.fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            match kind {
                GOAWAY => return Told::GoAway(code),
                RST_STREAM => told = Told::Reset(code),
                PING if flags & ACK != 0 && payload == MARK => return told,
                _ => {}
            }
        }
        Told::Farewell
    }
}

/// The codes that servers received, by number of the case.
type Reports = Mutex<Vec<Option<Told>>>;

fn serve(mut server: Server, attempts: &[AtomicUsize], reports: &Reports) {
    server.0.take(24);
    let block = server.request();
    let text = String::from_utf8_lossy(&block).into_owned();
    let number = text.split("/case").nth(1).and_then(|rest| rest.get(..3));
    let number: usize = number.and_then(|digits| digits.parse().ok()).expect("a case");
    let case = numbered().nth(number).expect("a case");
    if attempts[number].fetch_add(1, Ordering::Relaxed) > 0 {
        server.say(&[GREETING, ANSWER]);
    } else {
        // In one piece: a connection that has no more use is closed as soon as it has none.
        let greeting = if case.greets { &[GREETING][..] } else { &[] };
        server.say(&[greeting, case.says, &[Frame(PING, 0, 0, MARK)]].concat());
        let told = server.told();
        reports.lock().expect("no server panicked")[number] = Some(told);
    }
    server.0.rest();
}

/// Asks for a case: the status of the answer, and whether all of it came.
fn ask(weir: &Running, number: usize) -> (u16, bool) {
    let mut client = weir.web();
    client.send(format!("GET /case{number:03} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    let mut head = client.head();
    while head.status() < 200 {
        head = client.head();
    }
    let rest = client.rest();
    let text = String::from_utf8_lossy(&rest);
    let length = head.header("content-length").map(|it| it.parse().expect("a length"));
    let whole = match (head.header("transfer-encoding"), length) {
        (Some(_), _) => {
            let last = text.rfind("0\r\n").filter(|at| *at == 0 || text[..*at].ends_with('\n'));
            last.is_some() && text.ends_with("\r\n\r\n")
        }
        (None, Some(length)) => rest.len() == length,
        (None, None) => true,
    };
    (head.status(), whole)
}

#[test]
fn every_class_has_its_answer() {
    static REPORTS: Reports = Mutex::new(Vec::new());
    let count = numbered().count();
    REPORTS.lock().expect("nobody else").resize(count, None);
    let attempts: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    let attempts: &'static [AtomicUsize] = attempts.leak();
    let origin = Origin::new(|peer| serve(Server(peer.client), attempts, &REPORTS));
    let log = LogReceiver::new();
    let back = "    http-reuse never\n    server s <origin> proto h2";
    let weir = Setup::http("", back).between(&origin, &log);
    let mut wrong = Vec::new();
    for (number, case) in numbered().enumerate() {
        let (status, whole) = ask(&weir, number);
        let told = crate::support::eventually("a report", || {
            REPORTS.lock().expect("no server panicked")[number]
        });
        let tries = attempts[number].load(Ordering::Relaxed);
        let got = match (status, tries) {
            (200, 1) if whole => Got::Answered,
            (200, 2) if whole => Got::Retried,
            (502, _) => Got::Failed,
            _ => Got::Cut,
        };
        let agrees = match case.told {
            Told::Either(code) => [Told::GoAway(code), Told::Reset(code)].contains(&told),
            // A server that still sends much is reset while it reads.
            exact => exact == told || (case.class == "abuse" && told == Told::Farewell),
        };
        let fits = got == case.got || (case.got == Got::Cut && got == Got::Failed);
        if !agrees || !fits {
            let Case { class, what, told: due, got: expected, .. } = case;
            wrong.push(format!("{class} {what}: {told:?} {got:?}, not {due:?} {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn windows_of_servers_are_kept() {
    let origin = Origin::new(|peer| {
        let mut server = Server(peer.client);
        server.0.take(24);
        server.request();
        // From now on a stream may have three bytes on its way.
        server.say(&[Frame(SETTINGS, 0, 0, b"\x00\x04\x00\x00\x00\x03"), ANSWER]);
        let (mut heard, mut left) = (Vec::new(), 3);
        server.request();
        loop {
            let (kind, flags, _, payload) = server.frame();
            if kind != DATA {
                continue;
            }
            assert!(payload.len() <= left, "{} bytes through a window of {left}", payload.len());
            left -= payload.len();
            heard.extend_from_slice(&payload);
            if flags & END_STREAM != 0 {
                break;
            }
            if left == 0 {
                left = 2;
                server.say(&[Frame(WINDOW_UPDATE, 0, 3, b"\x00\x00\x00\x02")]);
            }
        }
        assert_eq!(heard, b"abcdefgh");
        server.say(&[Frame(HEADERS, END_STREAM | END_HEADERS, 3, b"\x88")]);
        server.0.rest();
    });
    let back = "    http-reuse always\n    server s <origin> proto h2";
    let weir = Setup::http("", back).between(&origin, &LogReceiver::new());
    assert_eq!(weir.web().get("/").status(), 200);
    // The answer and the settings before it have been taken.
    let post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\nabcdefgh";
    assert_eq!(weir.web().ask(post).status(), 200);
    assert_eq!(origin.connections(), 1);
}

#[test]
fn no_more_streams_than_a_server_takes() {
    let origin = Origin::new(|peer| {
        let mut server = Server(peer.client);
        server.0.take(24);
        // One stream at a time; each connection is kept busy by its first request.
        server.say(&[Frame(SETTINGS, 0, 0, b"\x00\x03\x00\x00\x00\x01")]);
        let block = server.request();
        if !String::from_utf8_lossy(&block).contains("/hold") {
            server.say(&[ANSWER]);
        }
        server.0.rest();
    });
    let back = "    http-reuse always\n    server s <origin> proto h2";
    let weir = Setup::http("", back).between(&origin, &LogReceiver::new());
    assert_eq!(weir.web().get("/warm").status(), 200);
    let mut held = weir.web();
    held.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    crate::support::eventually("it is under way", || {
        (weir.stat("app", "s", "scur") == "1").then_some(())
    });
    assert_eq!(weir.web().get("/other").status(), 200);
    assert_eq!(origin.connections(), 2, "the first one is taken");
}

/// The server restarts: it has answered, and closes while the next request is on its way.
#[test]
fn requests_that_a_closing_server_has_not_processed_are_sent_again() {
    static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);
    let origin = Origin::new(|peer| {
        let mut server = Server(peer.client);
        server.0.take(24);
        server.request();
        if CONNECTIONS.fetch_add(1, Ordering::Relaxed) == 0 {
            server.say(&[GREETING, ANSWER]);
            server.request();
            // The last stream that the server handles is the first one.
            server.say(&[Frame(GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\0")]);
            server.0.rest();
            return;
        }
        let mut heard = Vec::new();
        loop {
            let (kind, flags, _, payload) = server.frame();
            heard.extend_from_slice(if kind == DATA { &payload } else { b"" });
            if kind == DATA && flags & END_STREAM != 0 {
                break;
            }
        }
        assert_eq!(heard, b"abcdefgh");
        server.say(&[GREETING, ANSWER]);
        server.0.rest();
    });
    let back = "    http-reuse always\n    server s <origin> proto h2";
    let weir = Setup::http("", back).between(&origin, &LogReceiver::new());
    let mut client = weir.web();
    assert_eq!(client.get("/").status(), 200);
    let post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\nabcdefgh";
    assert_eq!(client.ask(post).status(), 200);
    assert_eq!(weir.stat("app", "s", "wretr"), "1");
}
