//! A client of a runtime socket as bytes in and out, and the listener that accepts clients.

use reactor::{Handle, Socket, Thread};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use stdx::Tick;
use transport::acceptor;
use transport::socket::Transport;

/// How long what a client still sends is read after the last answer, so that the answer arrives.
const LINGER_MS: u32 = 1_000;
/// Most bytes of a line, and of a payload.
pub(crate) const LONGEST: usize = 1 << 20;
/// The last message to a client whose payload is longer.
pub(crate) const PAYLOAD_TOO_LONG: &[u8] = b"The payload is too long.\n\n";

/// A client.
pub(crate) struct Channel {
    pub(crate) thread: Rc<Thread>,
    pub(crate) socket: Transport,
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
}

impl Channel {
    /// A client of the running task, of which something may have been received.
    pub(crate) fn new(thread: &Rc<Thread>, socket: Transport, input: Vec<u8>) -> Self {
        socket.own();
        Self { thread: thread.clone(), socket, input, output: Vec::new() }
    }

    /// Reads the bytes that have arrived, or waits for some. `false`: the client has closed its
    /// side.
    pub(crate) async fn read(&mut self, patience: Option<u32>) -> io::Result<bool> {
        let deadline = self.deadline(patience);
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

    fn deadline(&self, patience: Option<u32>) -> Option<Tick> {
        patience.map(|span| self.thread.tick().plus_ms(span))
    }

    async fn wait(&self, deadline: Option<Tick>) -> io::Result<()> {
        if deadline.is_some_and(|deadline| deadline.is_due(self.thread.tick())) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.thread.scheduler().wait(deadline).await;
        Ok(())
    }

    /// Sends all answers.
    pub(crate) async fn flush(&mut self, patience: Option<u32>) -> io::Result<()> {
        let deadline = self.deadline(patience);
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

    /// Sends bytes, at least one, with copies of descriptors.
    pub(crate) async fn hand_over(&self, bytes: &[u8], copied: &[Handle]) -> io::Result<()> {
        let deadline = self.deadline(Some(LINGER_MS));
        loop {
            match self.socket.hand_over(bytes, copied) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {
                    self.socket.want_write();
                    self.wait(deadline).await?;
                }
            }
        }
    }

    /// Closes without losing answers: a connection that is closed over unread input is reset.
    pub(crate) async fn part(&mut self) {
        let _ = self.socket.shutdown_write();
        let deadline = self.deadline(Some(LINGER_MS));
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

/// The limit of sessions on one or several sockets, and their number.
#[derive(Clone)]
pub(crate) struct Room {
    most: usize,
    sessions: Rc<Cell<usize>>,
}

impl Room {
    /// Room for `most` sessions, at least for one.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), sessions: Rc::default() }
    }

    /// Room for what a socket's own `maxconn` allows; 0 is no limit.
    pub(crate) fn of_socket(maxconn: u32) -> Self {
        let limit = usize::try_from(maxconn).ok().filter(|limit| *limit > 0);
        Self::new(limit.unwrap_or(usize::MAX))
    }

    fn is_full(&self) -> bool {
        self.sessions.get() >= self.most
    }
}

/// A session's place in all rooms of its socket.
pub(crate) struct Place(Rc<[Room]>);

impl Place {
    fn take(rooms: &Rc<[Room]>) -> Self {
        rooms.iter().for_each(|room| room.sessions.set(room.sessions.get() + 1));
        Self(rooms.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.iter().for_each(|room| room.sessions.set(room.sessions.get() - 1));
    }
}

/// A runtime socket: its limits, and the start of its sessions.
pub(crate) struct CliListener<E, B> {
    pub(crate) thread: Rc<Thread>,
    pub(crate) rooms: Rc<[Room]>,
    /// Whether the socket accepts nothing any more.
    pub(crate) is_over: E,
    /// Starts a session.
    pub(crate) begin: B,
}

impl<E: Fn() -> bool, B: Fn(Socket, Place)> CliListener<E, B> {
    /// Accepts clients until `is_over`, or, where the socket is one end of a pair, until
    /// the other end is gone. Then the socket is closed.
    pub(crate) async fn run(self, handle: Handle) {
        acceptor::run(&self.thread, handle, &self).await;
        self.thread.kernel().close(handle, false);
    }
}

impl<E: Fn() -> bool, B: Fn(Socket, Place)> acceptor::Host for CliListener<E, B> {
    fn is_over(&self) -> bool {
        (self.is_over)()
    }

    fn limit_ms(&self) -> Option<u32> {
        self.rooms.iter().any(Room::is_full).then_some(acceptor::RETRY_MS)
    }

    fn serve(&self, handle: Handle, _: Option<SocketAddr>) {
        (self.begin)(Socket::adopt(&self.thread, handle), Place::take(&self.rooms));
    }
}
