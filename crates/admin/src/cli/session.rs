//! The conversation on a runtime socket: reads lines, sends answers.
//!
//! A client that is not interactive gets the answers to everything that has arrived, then the
//! connection closes. A client that has closed its own side still gets all answers. Input without a
//! newline at its end is dropped.

use super::ask_workers;
use super::call::{Call, Reply, SessionState};
use super::events::Follow;
use super::handover;
use super::http_client;
use super::http_client::ResponseStream;
use super::line::{Command, Line, Parser};
use super::sessions::StreamPage;
use super::staples;
use super::table;
use crate::channel::{Channel, CliListener, LONGEST, PAYLOAD_TOO_LONG, Place, Room};
use crate::settings::{CliSocket, Settings};
use engine::state::ring::Framing;
use engine::state::services::Pieces;
use engine::state::worker::Worker;
use proxy::frontend::preamble;
use proxy::{HttpCall, HttpRequest};
use reactor::{Class, Handle, Pacer, Socket};
use settings::Preamble;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of answers that are sent before the next command runs.
const FULL: usize = 64 * 1024;
/// Bytes of a ring that are sent in one go.
const BATCH: usize = 16 * 1024;

/// Answers commands on sockets that are bound and listen, each with what it allows. Their tasks end
/// with the thread, or with the soft stop: then clients find a newer process, and only a master
/// still asks this one.
pub fn serve<'a>(
    worker: &Rc<Worker>,
    sockets: impl IntoIterator<Item = (Handle, &'a CliSocket)>,
    settings: &Arc<Settings>,
) {
    let all = Room::new(settings.max_sessions);
    for (handle, socket) in sockets {
        let rooms = match socket.of_master {
            // Sessions on the other sockets do not lock it out.
            true => [Room::new(settings.max_sessions)].into(),
            false => [all.clone(), Room::of_socket(socket.maxconn)].into(),
        };
        let task = accept_all(worker.clone(), handle, socket.clone(), settings.clone(), rooms);
        worker.thread.scheduler().spawn(Class::Normal, task);
    }
}

async fn accept_all(
    worker: Rc<Worker>,
    handle: Handle,
    offer: CliSocket,
    settings: Arc<Settings>,
    rooms: Rc<[Room]>,
) {
    let is_over = || !offer.of_master && worker.shared.is_stopping();
    let begin = |socket, place| {
        let state = SessionState::new(&offer, &settings);
        let client = (socket, offer.preamble.clone());
        let task = converse(worker.clone(), client, state, settings.clone(), place);
        worker.thread.scheduler().spawn(Class::Normal, task);
    };
    let thread = worker.thread.clone();
    CliListener { thread, rooms, is_over, begin }.run(handle).await;
}

struct Session {
    worker: Rc<Worker>,
    settings: Arc<Settings>,
    channel: Channel,
    state: SessionState,
    parser: Parser,
    pace: Pacer,
}

async fn converse(
    worker: Rc<Worker>,
    (socket, preamble): (Socket, Preamble),
    state: SessionState,
    settings: Arc<Settings>,
    _place: Place,
) {
    let opened = preamble::open(&worker, socket, &preamble, state.timeout_ms).await;
    let Some((transport, input)) = opened else { return };
    let channel = Channel::new(&worker.thread, transport, input);
    let (parser, pace) = (Parser::default(), Pacer::default());
    let mut session = Session { worker, settings, channel, state, parser, pace };
    // A client that has left or timed out needs no answer.
    if session.talk().await.is_ok() {
        session.channel.part().await;
    }
}

impl Session {
    async fn talk(&mut self) -> io::Result<()> {
        // Commands may have arrived together with the preceding header.
        let mut open = true;
        loop {
            let ran = self.run_lines().await?;
            self.flush().await?;
            let stays = self.state.interactive || !ran;
            if self.state.quitting || !open || !stays {
                return Ok(());
            }
            if self.channel.input.len() > LONGEST {
                self.channel.output.extend_from_slice(b"The line is too long.\n\n");
                return self.flush().await;
            }
            open = self.channel.read(self.state.timeout_ms).await?;
        }
    }

    /// Runs the complete lines; returns whether there was a command.
    async fn run_lines(&mut self) -> io::Result<bool> {
        let mut ran = false;
        let input = std::mem::take(&mut self.channel.input);
        let complete = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in input[..complete].split_inclusive(|byte| *byte == b'\n') {
            match self.parser.line(&line[..line.len() - 1]) {
                Line::Unfinished if self.state.interactive => {
                    self.channel.output.extend_from_slice(b"+ ")
                }
                Line::Unfinished => {}
                Line::TooLong => {
                    self.channel.output.extend_from_slice(PAYLOAD_TOO_LONG);
                    self.state.quitting = true;
                    return Ok(true);
                }
                Line::Commands(commands) => {
                    ran = true;
                    for command in commands {
                        self.run(&command).await?;
                        if self.state.quitting {
                            return Ok(true);
                        }
                        self.give_way().await?;
                    }
                }
            }
        }
        self.channel.input.extend_from_slice(&input[complete..]);
        Ok(ran)
    }

    /// Lets traffic pass between two commands, however many there are, and keeps answers from
    /// piling up.
    async fn give_way(&mut self) -> io::Result<()> {
        self.flush_full().await?;
        self.worker.thread.next_turn(Class::Bulk).await;
        Ok(())
    }

    /// The pause between two pieces of an answer, which also leaves the thread time to sleep.
    async fn rest(&mut self) -> io::Result<()> {
        self.flush_full().await?;
        self.pace.yield_turn(&self.worker.thread).await;
        Ok(())
    }

    async fn flush_full(&mut self) -> io::Result<()> {
        if self.channel.output.len() > FULL { self.flush().await } else { Ok(()) }
    }

    async fn run(&mut self, command: &Command) -> io::Result<()> {
        let mut call = Call {
            worker: &self.worker,
            settings: &self.settings,
            state: &mut self.state,
            words: &command.words,
            payload: command.payload.as_deref(),
        };
        let reply = match table::run(&mut call) {
            Reply::Later(later) => Reply::Dump(later.render(&self.worker, &self.settings).await),
            Reply::Pieces(pieces) => {
                self.send_pieces(pieces).await?;
                Reply::Done
            }
            Reply::Streams(page) => {
                self.send_streams(page).await?;
                Reply::Done
            }
            Reply::Follow(follow) => {
                self.follow(follow).await?;
                Reply::Done
            }
            Reply::Http(request) => self.send_response(*request).await?,
            Reply::Staple(query) => {
                let status = proxy::update_staple(&self.worker, &self.settings.tls, &query).await;
                staples::updated(&self.settings.tls, &query, status)
            }
            Reply::Script(command) => {
                let patience = self.state.timeout_ms;
                command.run(&self.worker, &mut self.channel, patience).await?;
                Reply::Done
            }
            Reply::HandOver => {
                self.flush().await?;
                handover::run(&self.worker, &self.settings, &self.channel).await?;
                self.state.quitting = true;
                Reply::Silence
            }
            reply => reply,
        };
        if !self.state.quitting {
            reply.write(self.state.severity, &mut self.channel.output);
            if self.state.interactive {
                self.channel.output.extend_from_slice(b"> ");
            }
        }
        Ok(())
    }

    /// Sends a large answer; traffic passes between its pieces.
    async fn send_pieces(&mut self, mut pieces: Pieces) -> io::Result<()> {
        let mut text = String::new();
        loop {
            let more = pieces(&self.worker, &mut text);
            self.channel.output.extend_from_slice(text.as_bytes());
            if !more {
                return Ok(());
            }
            text.clear();
            self.rest().await?;
        }
    }

    /// Sends the streams of all threads, some at a time.
    async fn send_streams(&mut self, mut page: StreamPage) -> io::Result<()> {
        let list = self.settings.streams;
        for thread in 0..self.worker.shared.settings.threads {
            let mut from = Some(0);
            while let Some(place) = from {
                let wanted = page.wanted;
                let ask = move |asked: &Worker| wanted.of(asked, list(asked, place));
                let told = ask_workers::one(&self.worker, thread, ask).await;
                self.channel.output.extend_from_slice(page.render(&told).as_bytes());
                from = told.next;
                self.rest().await?;
            }
        }
        self.channel.output.extend_from_slice(page.end().as_bytes());
        Ok(())
    }

    /// Makes a request, and sends the response as it comes. A server is waited for no longer than
    /// a client.
    async fn send_response(&mut self, request: HttpRequest) -> io::Result<Reply> {
        let Ok(call) = HttpCall::start(&self.worker, request) else {
            return Ok(http_client::failed());
        };
        let mut stream = ResponseStream::new(call);
        loop {
            let deadline = self.state.timeout_ms.map(|it| self.worker.thread.tick().plus_ms(it));
            if !stream.next(&mut self.channel.output, deadline).await? {
                return Ok(Reply::Done);
            }
            self.rest().await?;
        }
    }

    /// Sends the events of a ring; on request also later events, until the client sends something.
    async fn follow(&mut self, follow: Follow) -> io::Result<()> {
        let mut tap = follow.ring.tap(&self.worker, follow.fresh, false);
        loop {
            while tap.read(
                Framing::Shown,
                self.channel.output.len() + BATCH,
                &mut self.channel.output,
            ) {
                tap.confirm();
                self.flush().await?;
                self.pace.yield_turn(&self.worker.thread).await;
            }
            if !follow.waits {
                return Ok(());
            }
            let mut key = [0; 256];
            match self.channel.socket.recv(&mut key) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
            self.channel.socket.want_read();
            self.worker.thread.scheduler().wait(None).await;
        }
    }

    /// Sends all answers.
    async fn flush(&mut self) -> io::Result<()> {
        self.channel.flush(self.state.timeout_ms).await
    }
}
