//! One connection to an agent: handshake, payloads out, answers in, its end.

use buf::Buf;
use engine::state::spoe::{Opening, SpoeAgentPool, SpoeConnection};
use engine::state::worker::Worker;
use reactor::{Tick, Urgency};
use spop::{Received, SpopConn, Status};
use std::io;
use std::rc::Rc;
use transaction::call::Call;
use transport::socket::is_transient;
use transport::stats::transaction_log::Cause;

/// Reads in a row, after which other tasks have their turn.
const READS: u32 = 16;
/// Reads of an agent that continues sending on a connection that has ended.
const LAST_READS: u32 = 64;
/// The longest wait for the agent's end of a connection that has ended, in milliseconds.
const FAREWELL_MS: u32 = 1_000;

/// Opens a connection and serves it to its end.
pub(super) async fn run(worker: Rc<Worker>, agent: Rc<SpoeAgentPool>, mut opening: Opening) {
    let Some(backend) = worker.backend_at(agent.filter.backend).cloned() else { return };
    let call = Call::new(&worker, &backend);
    let mut session = Session {
        worker,
        agent,
        call,
        input: Buf::empty(),
        seen: Tick::from_nanos(0),
        waited: false,
    };
    let mut machine = session.agent.machine();
    match session.greet(&mut machine).await {
        Ok(()) => {
            let connection = opening.succeed(machine);
            let status = session.serve(&connection).await;
            session.agent.closed(&connection, status);
            session.part(&mut connection.machine.borrow_mut());
            session.linger().await;
        }
        Err(status) => {
            opening.status = status;
            drop(opening);
            machine.disconnect(status);
            session.part(&mut machine);
            session.linger().await;
        }
    }
}

struct Session {
    worker: Rc<Worker>,
    agent: Rc<SpoeAgentPool>,
    call: Call,
    /// A partial frame; no memory while there is none.
    input: Buf,
    /// When bytes were last sent or received.
    seen: Tick,
    /// Output has waited for one run of the task.
    waited: bool,
}

/// The next event that a task waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// All available bytes are handled.
    Done,
    /// More bytes are available; other tasks run first.
    More,
}

impl Session {
    /// Connects, and runs the handshake.
    async fn greet(&mut self, machine: &mut SpopConn) -> Result<(), Status> {
        let sent = self.call.connect(machine.output()).await.map_err(|_| Status::Io)?;
        machine.advance_output(sent);
        let thread = self.worker.thread.clone();
        self.seen = thread.tick();
        let deadline = self.agent.filter.engine.agent.hello.map(|it| self.seen.plus_ms(it));
        loop {
            self.flush(machine)?;
            self.call.go_on().map_err(|_| Status::Normal)?;
            let ended = self.read()?;
            match machine.receive(self.input.data())? {
                Some((Received::Hello(_), len)) => {
                    self.consume(len);
                    return Ok(());
                }
                Some((Received::Disconnect(disconnect), _)) => return Err(disconnect.status),
                Some(_) => return Err(Status::Invalid),
                None if ended => return Err(Status::Io),
                None => {}
            }
            self.release();
            if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                return Err(Status::Timeout);
            }
            self.want(machine);
            thread.scheduler().wait(deadline).await;
        }
    }

    /// Sends payloads and receives answers until the connection ends.
    async fn serve(&mut self, connection: &Rc<SpoeConnection>) -> Status {
        let thread = self.worker.thread.clone();
        loop {
            let flow = match self.step(connection) {
                Ok(flow) => flow,
                Err(status) => {
                    connection.machine.borrow_mut().disconnect(status);
                    return status;
                }
            };
            if flow == Flow::More {
                thread.scheduler().yield_as(reactor::Class::Normal).await;
                continue;
            }
            self.release();
            let deadline = self.deadline(connection);
            if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                connection.machine.borrow_mut().disconnect(Status::Timeout);
                return Status::Timeout;
            }
            self.want(&connection.machine.borrow());
            thread.scheduler().wait(deadline).await;
        }
    }

    /// Receives available bytes, else sends queued ones. After input, the streams that are woken by
    /// it and others submit payloads before this task runs again, and one call sends all of them:
    /// each call may wake the agent, which costs more than the rest of an exchange.
    fn step(&mut self, connection: &Rc<SpoeConnection>) -> Result<Flow, Status> {
        self.call.go_on().map_err(|_| Status::Normal)?;
        let (mut received, mut reads) = (false, 0);
        while reads < READS {
            let (before, ended) = (self.input.len(), self.read()?);
            let progress = self.input.len() > before;
            self.receive(connection)?;
            if ended {
                connection.machine.borrow_mut().handle_eof();
                return Err(Status::Io);
            }
            if !progress {
                break;
            }
            (received, reads) = (true, reads + 1);
        }
        self.agent.dispatch(connection);
        // Input that continues without a pause must not hold the output back.
        let waits = received && !std::mem::replace(&mut self.waited, received);
        if waits {
            return Ok(Flow::More);
        }
        self.flush(&mut connection.machine.borrow_mut())?;
        self.waited = false;
        Ok(if reads == READS { Flow::More } else { Flow::Done })
    }

    /// Handles all complete frames.
    fn receive(&mut self, connection: &Rc<SpoeConnection>) -> Result<(), Status> {
        loop {
            let received = connection.machine.borrow_mut().receive(self.input.data())?;
            let Some((received, len)) = received else { return Ok(()) };
            match received {
                Received::Ack(id, actions) | Received::Stray(id, actions) => {
                    self.agent.answered(connection, id, actions.bytes());
                }
                Received::Aborted(id) => self.agent.aborted(id),
                Received::Disconnect(disconnect) => return Err(disconnect.status),
                Received::Hello(_) => return Err(Status::Invalid),
                Received::Unknown => {}
            }
            self.consume(len);
        }
    }

    /// Reads once; `true`: the agent has ended its stream.
    fn read(&mut self) -> Result<bool, Status> {
        let Some(link) = self.call.link() else { return Err(Status::Io) };
        if !link.is_readable() {
            return Ok(false);
        }
        if self.input.capacity() == 0 {
            let fresh = self.worker.buffers.try_take(Urgency::Urgent);
            self.input = fresh.unwrap_or_else(|| self.worker.buffers.take_anyway());
        }
        if self.input.room() == 0 {
            self.input.compact();
        }
        if self.input.room() == 0 {
            return Err(Status::TooBig);
        }
        match self.call.recv(self.input.space()) {
            Ok(0) => Ok(true),
            Ok(count) => {
                self.input.filled(count);
                self.seen = self.worker.thread.tick();
                Ok(false)
            }
            Err(error) if is_transient(&error) => Ok(false),
            Err(_) => Err(Status::Io),
        }
    }

    /// Sends as much output as the socket accepts.
    fn flush(&mut self, machine: &mut SpopConn) -> Result<(), Status> {
        while !machine.output().is_empty() || self.call.owes_greeting() {
            match self.call.send(machine.output()) {
                Ok(count) => {
                    machine.advance_output(count);
                    self.seen = self.worker.thread.tick();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_transient(&error) => return Ok(()),
                Err(_) => return Err(Status::Io),
            }
        }
        Ok(())
    }

    /// Has the task woken when there is something to read, or room for the output.
    fn want(&self, machine: &SpopConn) {
        let Some(link) = self.call.link() else { return };
        link.want_read();
        if !machine.output().is_empty() || self.call.owes_greeting() {
            link.want_write();
        }
    }

    /// `timeout idle` while no stream waits for an answer, else `timeout server` of the backend.
    fn deadline(&self, connection: &SpoeConnection) -> Option<Tick> {
        let span = match self.agent.is_awaited(connection) {
            true => self.call.server_timeout(),
            false => self.agent.filter.engine.agent.idle,
        };
        span.map(|span| self.seen.plus_ms(span))
    }

    fn consume(&mut self, len: usize) {
        self.input.consume(len);
    }

    /// Gives an empty buffer back.
    fn release(&mut self) {
        if self.input.is_empty() {
            self.worker.release(std::mem::replace(&mut self.input, Buf::empty()));
        }
    }

    /// Sends the last frame, if there is room for it.
    fn part(&mut self, machine: &mut SpopConn) {
        let _ = self.flush(machine);
        self.call.end(Cause::Normal);
    }

    /// Waits for the agent's end of the connection, as the agent may have bytes to read still.
    async fn linger(&mut self) {
        let thread = self.worker.thread.clone();
        let until = thread.tick().plus_ms(FAREWELL_MS);
        for _ in 0..LAST_READS {
            self.input.clear();
            if until.is_due(thread.tick()) || !matches!(self.read(), Ok(false)) {
                return;
            }
            if !self.input.is_empty() {
                continue;
            }
            self.release();
            let Some(link) = self.call.link() else { return };
            link.want_read();
            thread.scheduler().wait(Some(until)).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.worker.release(std::mem::replace(&mut self.input, Buf::empty()));
    }
}
