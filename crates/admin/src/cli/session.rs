//! The conversation on a runtime socket: accepts clients, reads lines, sends answers. Never knows a
//! command.
//!
//! A client that is not interactive gets the answers to everything that has arrived, then the
//! connection closes. One that has closed its own side still gets all answers. Input without a
//! newline at its end is dropped.

use super::call::{Call, Pieces, Reply, State};
use super::collect;
use super::events::Follow;
use super::line::{Command, Line, Parser};
use super::sessions::Page;
use super::table;
use crate::settings::{CliSocket, Settings};
use proxy::Worker;
use proxy::ring::Framing;
use reactor::{Class, Handle, Listener, Socket, TaskId};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::sync::Arc;
use stdx::Tick;

/// How soon a listener that ran out of descriptors or sessions looks again, in milliseconds.
const RETRY_MS: u32 = 100;
/// How long what a client still sends is read after the last answer, so that the answer arrives.
const LINGER_MS: u32 = 1_000;
/// Bytes of answers that are sent before the next command runs.
const FULL: usize = 64 * 1024;
/// Bytes of a ring that are sent in one go.
const BATCH: usize = 16 * 1024;
/// Most bytes of a line with its payload.
const LONGEST: usize = 1 << 20;

/// Answers commands on a socket that is bound and listens; `socket` says what it allows. The task
/// ends with its thread.
pub fn serve(
    worker: &Rc<Worker>,
    handle: Handle,
    socket: &CliSocket,
    settings: &Arc<Settings>,
) -> TaskId {
    let task = accept_all(worker.clone(), handle, socket.clone(), settings.clone());
    worker.thread.scheduler().spawn(Class::Normal, task)
}

async fn accept_all(worker: Rc<Worker>, handle: Handle, offer: CliSocket, settings: Arc<Settings>) {
    let thread = &worker.thread;
    let mut listener = Listener::new(thread, handle);
    let sessions = Rc::new(Cell::new(0));
    loop {
        let resting = sessions.get() >= settings.max_sessions.max(1);
        let exhausted = !resting && !accept_some(&worker, &listener, &offer, &settings, &sessions);
        if resting || exhausted {
            listener.pause();
            thread.scheduler().pause(Some(thread.tick().plus_ms(RETRY_MS))).await;
        } else if sessions.get() < settings.max_sessions.max(1) {
            let deadline = listener.resume().is_err().then(|| thread.tick().plus_ms(RETRY_MS));
            thread.scheduler().pause(deadline).await;
        }
    }
}

/// Takes the clients that wait, as many as may be. `false`: the system refuses.
fn accept_some(
    worker: &Rc<Worker>,
    listener: &Listener,
    offer: &CliSocket,
    settings: &Arc<Settings>,
    sessions: &Rc<Cell<usize>>,
) -> bool {
    while sessions.get() < settings.max_sessions.max(1) {
        match listener.accept() {
            Ok((socket, _)) => {
                let place = Place::take(sessions);
                let state = State::new(offer, settings);
                let task = converse(worker.clone(), socket, state, settings.clone(), place);
                worker.thread.scheduler().spawn(Class::Normal, task);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => return false,
        }
    }
    true
}

/// A session's place among those allowed.
struct Place(Rc<Cell<usize>>);

impl Place {
    fn take(sessions: &Rc<Cell<usize>>) -> Self {
        sessions.set(sessions.get() + 1);
        Self(sessions.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

struct Session {
    worker: Rc<Worker>,
    settings: Arc<Settings>,
    socket: Socket,
    state: State,
    parser: Parser,
    input: Vec<u8>,
    output: Vec<u8>,
}

async fn converse(
    worker: Rc<Worker>,
    socket: Socket,
    state: State,
    settings: Arc<Settings>,
    _place: Place,
) {
    let (parser, input, output) = (Parser::default(), Vec::new(), Vec::new());
    let mut session = Session { worker, settings, socket, state, parser, input, output };
    session.socket.own();
    // A client that went away or kept silent for too long needs no answer.
    if session.talk().await.is_ok() {
        session.part().await;
    }
}

impl Session {
    async fn talk(&mut self) -> io::Result<()> {
        loop {
            let open = self.read().await?;
            let ran = self.run_lines().await?;
            self.flush().await?;
            let stays = self.state.interactive || !ran;
            if self.state.quitting || !open || !stays {
                return Ok(());
            }
            if self.input.len() > LONGEST {
                self.output.extend_from_slice(b"The line is too long.\n\n");
                return self.flush().await;
            }
        }
    }

    /// Reads what has arrived, or waits for it. `false`: the client has closed its side.
    async fn read(&mut self) -> io::Result<bool> {
        let deadline = self.deadline();
        let mut buffer = [0; 4096];
        let before = self.input.len();
        loop {
            match self.socket.recv(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.input.extend_from_slice(&buffer[..count]);
                    if count < buffer.len() || self.input.len() > LONGEST {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) if self.input.len() > before => return Ok(true),
                Err(_) => {
                    self.socket.want_read();
                    self.wait(deadline).await?;
                }
            }
        }
    }

    fn deadline(&self) -> Option<Tick> {
        self.state.timeout_ms.map(|span| self.worker.thread.tick().plus_ms(span))
    }

    async fn wait(&self, deadline: Option<Tick>) -> io::Result<()> {
        let thread = &self.worker.thread;
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread.scheduler().pause(deadline).await;
        Ok(())
    }

    /// Runs the complete lines; tells whether there was a command.
    async fn run_lines(&mut self) -> io::Result<bool> {
        let mut ran = false;
        let input = std::mem::take(&mut self.input);
        let complete = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in input[..complete].split_inclusive(|byte| *byte == b'\n') {
            match self.parser.line(&line[..line.len() - 1]) {
                Line::Unfinished if self.state.interactive => self.output.extend_from_slice(b"+ "),
                Line::Unfinished => {}
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
        self.input.extend_from_slice(&input[complete..]);
        Ok(ran)
    }

    /// Lets traffic pass between two commands, or two pieces of an answer, however many there are,
    /// and keeps answers from piling up.
    async fn give_way(&mut self) -> io::Result<()> {
        if self.output.len() > FULL {
            self.flush().await?;
        }
        self.worker.thread.scheduler().yield_as(Class::Bulk).await;
        Ok(())
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
            reply => reply,
        };
        if !self.state.quitting {
            reply.write(self.state.severity, &mut self.output);
            if self.state.interactive {
                self.output.extend_from_slice(b"> ");
            }
        }
        Ok(())
    }

    /// Sends a large answer; traffic passes between its pieces.
    async fn send_pieces(&mut self, mut pieces: Pieces) -> io::Result<()> {
        let mut text = String::new();
        loop {
            let more = pieces(&self.worker, &mut text);
            self.output.extend_from_slice(text.as_bytes());
            if !more {
                return Ok(());
            }
            text.clear();
            self.give_way().await?;
        }
    }

    /// Sends the streams of all threads, some at a time.
    async fn send_streams(&mut self, mut page: Page) -> io::Result<()> {
        let list = self.settings.streams;
        for thread in 0..self.worker.shared.settings.threads {
            let mut from = Some(0);
            while let Some(place) = from {
                let ask = move |asked: &Worker| list(asked, place);
                let part = collect::one(&self.worker, thread, ask).await;
                self.output.extend_from_slice(page.render(&part.streams).as_bytes());
                from = part.next;
                self.give_way().await?;
            }
        }
        self.output.extend_from_slice(page.end().as_bytes());
        Ok(())
    }

    /// Sends what is in a ring; if asked, also what comes, until the client says something.
    async fn follow(&mut self, follow: Follow) -> io::Result<()> {
        let mut tap = follow.ring.tap(&self.worker, follow.fresh, false);
        loop {
            while tap.read(Framing::Lines, self.output.len() + BATCH, &mut self.output) {
                tap.confirm();
                self.flush().await?;
                self.worker.thread.scheduler().yield_as(Class::Bulk).await;
            }
            if !follow.waits {
                return Ok(());
            }
            let mut key = [0; 256];
            match self.socket.recv(&mut key) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
            self.socket.want_read();
            self.worker.thread.scheduler().pause(None).await;
        }
    }

    /// Sends all answers.
    async fn flush(&mut self) -> io::Result<()> {
        let deadline = self.deadline();
        let mut sent = 0;
        while sent < self.output.len() {
            match self.socket.send(&[IoSlice::new(&self.output[sent..])], false) {
                Ok(count) => sent += count,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {
                    self.socket.want_write();
                    self.wait(deadline).await?;
                }
            }
        }
        self.output.clear();
        Ok(())
    }

    /// Closes without losing answers: a connection that is closed over unread input is reset.
    async fn part(&mut self) {
        let _ = self.socket.shutdown_write();
        let deadline = Some(self.worker.thread.tick().plus_ms(LINGER_MS));
        let mut buffer = [0; 4096];
        loop {
            match self.socket.recv(&mut buffer) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.socket.want_read();
                    if self.wait(deadline).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}
