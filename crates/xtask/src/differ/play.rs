//! Plays one exchange with one proxy, being client and origin at once, and records both.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::exchange::{Answer, Exchange};
use super::message::{self, MessageKind, ReceivedMessage};
use super::setup::Lane;
use crate::clock;
use crate::failure::{self, Outcome};

/// Between two pieces.
const PAUSE: Duration = Duration::from_millis(25);
/// The time between two polls of all sockets.
const LOOK: Duration = Duration::from_micros(300);
/// The time that bytes may need after the client's connection has ended.
const SETTLE: Duration = Duration::from_millis(20);

/// The outcome of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlayResult {
    /// The bytes that the client received.
    pub(super) answers: Vec<ReceivedMessage>,
    /// Whether the client's connection was closed.
    pub(super) closed: bool,
    /// The bytes that the origin received, over all its connections in order.
    pub(super) requests: Vec<ReceivedMessage>,
}

/// Plays the exchange, which is over when no byte has moved for `quiet`.
pub(super) fn play(lane: &Lane, exchange: &Exchange, quiet: Duration) -> Outcome<PlayResult> {
    // Leftovers of the previous exchange do not belong to this one.
    while lane.origin.accept().is_ok() {}
    let client = lane
        .connect(exchange.variant)
        .map_err(|error| failure::machine(format!("{} does not accept: {error}", lane.name)))?;
    let mut scene = Scene {
        client: End::new(client),
        origins: Vec::new(),
        next: 0,
        exchange,
        moved: clock::now(),
    };
    scene.client.say(&exchange.client, exchange.half_close);
    loop {
        let moved = scene.turn(lane);
        let now = clock::now();
        if moved {
            scene.moved = now;
            continue;
        }
        let patience = if scene.client.ended { SETTLE.min(quiet) } else { quiet };
        if now.duration_since(scene.moved) >= patience && !scene.has_more_to_say(now) {
            return Ok(scene.seen());
        }
        clock::pause(LOOK);
    }
}

struct Scene<'a> {
    client: End,
    origins: Vec<OriginConnection>,
    /// The next answer.
    next: usize,
    exchange: &'a Exchange,
    moved: Instant,
}

/// A connection to the origin.
struct OriginConnection {
    end: End,
    /// Bytes of requests that have been answered.
    answered: usize,
    /// No further request is expected: the connection closes, or carries other bytes.
    over: bool,
}

/// One end of a stream that never waits.
struct End {
    stream: UnixStream,
    received: Vec<u8>,
    /// The peer has ended its side, or all of it.
    ended: bool,
    pieces: Vec<Vec<u8>>,
    written: usize,
    due: Instant,
    /// After the last piece, our side ends.
    ends: bool,
}

impl Scene<'_> {
    /// Does all steps that are possible now; returns whether there was one.
    fn turn(&mut self, lane: &Lane) -> bool {
        let mut moved = self.client.turn();
        while let Ok((stream, _)) = lane.origin.accept() {
            moved = true;
            if stream.set_nonblocking(true).is_ok() {
                let end = End::new(stream);
                self.origins.push(OriginConnection { end, answered: 0, over: false });
            }
        }
        for origin in &mut self.origins {
            moved |= origin.end.turn();
            moved |= origin.answer(self.exchange, &mut self.next);
        }
        moved
    }

    fn has_more_to_say(&self, now: Instant) -> bool {
        let speaks = |end: &End| !end.pieces.is_empty() && end.due > now;
        speaks(&self.client) || self.origins.iter().any(|origin| speaks(&origin.end))
    }

    fn seen(self) -> PlayResult {
        let methods = &self.exchange.methods;
        let client = self.client;
        let requests = self.origins.iter();
        PlayResult {
            answers: message::read(MessageKind::Answers, &client.received, methods, client.ended),
            closed: client.ended,
            requests: requests
                .flat_map(|it| message::read(MessageKind::Requests, &it.end.received, &[], false))
                .collect(),
        }
    }
}

impl OriginConnection {
    /// Answers the next request, if it is there.
    fn answer(&mut self, exchange: &Exchange, next: &mut usize) -> bool {
        if self.over || !self.end.pieces.is_empty() {
            return false;
        }
        let rest = &self.end.received[self.answered..];
        let Some(meant) = message::number(rest) else { return false };
        let index = meant.unwrap_or(*next).min(exchange.answers.len() - 1);
        let answer: &Answer = &exchange.answers[index];
        let Some(length) = message::request_end(rest, answer.early) else { return false };
        self.answered += length;
        self.over = answer.close || answer.early;
        self.end.say(&answer.pieces, answer.close);
        *next = index + 1;
        true
    }
}

impl End {
    fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
            ended: false,
            pieces: Vec::new(),
            written: 0,
            due: clock::now(),
            ends: false,
        }
    }

    fn say(&mut self, pieces: &[Vec<u8>], ends: bool) {
        self.pieces = pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect();
        (self.written, self.due, self.ends) = (0, clock::now(), ends);
        self.end_if_said();
    }

    fn end_if_said(&mut self) {
        if self.pieces.is_empty() && self.ends {
            // The peer may have closed the connection.
            let _ = self.stream.shutdown(std::net::Shutdown::Write);
        }
    }

    fn turn(&mut self) -> bool {
        let wrote = self.write();
        self.read() || wrote
    }

    fn write(&mut self) -> bool {
        let Some(piece) = self.pieces.first() else { return false };
        if clock::now() < self.due {
            return false;
        }
        match self.stream.write(&piece[self.written..]) {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            // The receiver has closed the connection.
            Err(_) => self.pieces.clear(),
        }
        if self.pieces.first().is_some_and(|piece| piece.len() == self.written) {
            self.pieces.remove(0);
            (self.written, self.due) = (0, clock::now() + PAUSE);
        }
        self.end_if_said();
        true
    }

    fn read(&mut self) -> bool {
        if self.ended {
            return false;
        }
        let mut buffer = [0; 16_384];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(count) => self.received.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(_) => self.ended = true,
        }
        true
    }
}
