//! A connection that carries bytes in the clear or through TLS.
//!
//! Readers and writers use both alike. A clear connection costs one pointer test more than the
//! socket itself; the TLS state is in a separate allocation.

use reactor::{Handle, Socket, TaskId, Thread, Wake};
use std::any::Any;
use std::cell::{Ref, RefCell};
use std::io::{self, IoSlice};
use std::rc::Rc;
use tls::{Conn, HandshakeError, Reason, Scratch, Step, Wire};

/// A connection. Dropping it closes it.
#[derive(Debug)]
pub struct Transport {
    socket: Socket,
    secure: Option<Box<Secure>>,
}

/// TLS state beside the socket of an encrypted connection.
#[derive(Debug)]
struct Secure {
    session: RefCell<Conn>,
    scratch: Rc<Scratch>,
    /// Whether the session ends without a close alert.
    silent: std::cell::Cell<bool>,
}

impl From<Socket> for Transport {
    fn from(socket: Socket) -> Self {
        Self { socket, secure: None }
    }
}

impl Transport {
    /// Sends all further bytes through a session that has not begun, or one moved with the socket
    /// from another thread.
    pub fn secure(&mut self, session: Conn, scratch: &Rc<Scratch>) {
        let (session, scratch) = (RefCell::new(session), scratch.clone());
        self.secure = Some(Box::new(Secure { session, scratch, silent: false.into() }));
    }

    /// The socket itself, for system calls.
    #[inline]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The session, if the connection is encrypted.
    #[inline]
    pub fn session(&self) -> Option<Ref<'_, Conn>> {
        self.secure.as_ref().map(|secure| secure.session.borrow())
    }

    /// Keeps a value for as long as the session lives, if there is one.
    pub fn keep(&self, token: Box<dyn Any + Send>) {
        if let Some(secure) = &self.secure {
            secure.session.borrow_mut().keep(token);
        }
    }

    /// Takes a step of the handshake.
    ///
    /// # Errors
    /// The handshake has failed.
    pub fn handshake(&self) -> Result<Step, HandshakeError> {
        match &self.secure {
            Some(secure) => {
                let mut session = secure.session.borrow_mut();
                session.handshake(&mut Carrier(&self.socket), &secure.scratch)
            }
            None => Ok(Step::Done),
        }
    }

    /// Checks whether a client closed before the server's handshake response, which costs a hundred
    /// times as much to compute.
    ///
    /// # Errors
    /// The client has closed.
    pub fn find_client(&self) -> Result<(), HandshakeError> {
        let Some(secure) = &self.secure else { return Ok(()) };
        let mut session = secure.session.borrow_mut();
        match session.accepts() && !session.has_answered() && self.socket.has_ended() {
            true => Err(session.forsake(&mut Carrier(&self.socket))),
            false => Ok(()),
        }
    }

    /// Sends early data before the handshake, which must be allowed.
    ///
    /// # Errors
    /// The data could not be encrypted.
    pub fn say_early(&self, words: &[u8]) -> Result<(), HandshakeError> {
        let Some(secure) = &self.secure else { return Err(HandshakeError::new(Reason::Broken)) };
        let mut session = secure.session.borrow_mut();
        session.say_early(&mut Carrier(&self.socket), &secure.scratch, words)
    }

    /// Marks the next bytes as the start of a message.
    #[inline]
    pub fn begin_message(&self) {
        if let Some(secure) = &self.secure {
            secure.session.borrow_mut().begin_transfer();
        }
    }

    /// The thread that it belongs to.
    pub fn thread(&self) -> &Rc<Thread> {
        self.socket.thread()
    }

    /// Makes the running task the owner, which readiness wakes.
    #[inline]
    pub fn own(&self) {
        self.socket.assign_to_current_task();
    }

    /// Makes another task the owner, to be woken when something arrives or the peer closes.
    pub(crate) fn watch_for(&self, owner: TaskId) {
        self.socket.wake_task_on_input(owner);
    }

    /// Releases the connection with its session; see [`Socket::release`].
    pub fn release(&mut self) -> (Handle, Option<Conn>) {
        let session = self.secure.take().map(|secure| secure.session.into_inner());
        (self.socket.release(), session)
    }

    /// Reads the available bytes; 0 at the end.
    ///
    /// # Errors
    /// As [`Socket::recv`]; `InvalidData` where the peer breaks the protocol of a session.
    #[inline]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.secure {
            None => self.socket.recv(buffer),
            Some(secure) => {
                let mut session = secure.session.borrow_mut();
                session.recv(&mut Carrier(&self.socket), &secure.scratch, buffer)
            }
        }
    }

    /// Writes the bytes that fit. `more`: the next write follows at once.
    ///
    /// # Errors
    /// As [`Socket::send`]. After `WouldBlock` the caller has to offer the same bytes again.
    #[inline]
    pub fn send(&self, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        match &self.secure {
            None => match parts {
                [message] if !more => self.socket.send_coalesced(message),
                _ => self.socket.send(parts, more),
            },
            Some(secure) => {
                let mut session = secure.session.borrow_mut();
                if session.minds_pauses() {
                    session.note_time(self.socket.thread().nanos() / 1_000_000);
                }
                session.send(&mut Carrier(&self.socket), &secure.scratch, parts)
            }
        }
    }

    /// Passes the last bytes written that never left to `look`. Their content is unknown for TLS
    /// records: only the session sees the plain text.
    pub fn unsent<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        if self.secure.is_some() { look(&[]) } else { self.socket.with_lost_bytes(look) }
    }

    /// Wakes the owner when reading becomes possible.
    #[inline]
    pub fn want_read(&self) {
        self.socket.want_read();
        if let Some(secure) = &self.secure
            && secure.session.borrow().has_buffered()
        {
            // The system reports nothing for bytes that the session has buffered already.
            let scheduler = self.socket.thread().scheduler();
            scheduler.wake(scheduler.current(), Wake::IO);
        }
    }

    /// Wakes the owner when writing becomes possible.
    #[inline]
    pub fn want_write(&self) {
        self.socket.want_write();
    }

    /// Wakes the owner when the peer closes its side, even while bytes are left to read.
    pub(crate) fn want_close(&self) {
        self.socket.want_close();
    }

    /// Wakes the owner for no event any more.
    #[inline]
    pub fn want_nothing(&self) {
        self.socket.want_nothing();
    }

    /// Whether a read may find something.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.socket.is_readable()
            || self.secure.as_ref().is_some_and(|secure| secure.session.borrow().has_buffered())
    }

    /// Whether a write may find room.
    pub fn is_writable(&self) -> bool {
        self.socket.is_writable()
    }

    /// Whether the peer has sent unexpected bytes, or has closed, as far as reported.
    #[inline]
    pub(crate) fn is_spoilt(&self) -> bool {
        self.is_readable() && self.secure.as_ref().is_none_or(|secure| self.has_said(secure))
    }

    /// Whether the session has received payload or its end; records such as tickets do not count.
    #[cold]
    fn has_said(&self, secure: &Secure) -> bool {
        let mut session = secure.session.borrow_mut();
        !session.is_quiet(&mut Carrier(&self.socket), &secure.scratch)
    }

    /// Whether the connection is open and has nothing to read, by a query of the system at this
    /// moment.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.is_spoilt() && self.socket.is_quiet()
    }

    /// Whether the peer has closed its side, or the connection is broken, as far as reported.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.socket.is_closed()
    }

    /// Sends bytes, at least one, with copies of descriptors. Only clear connections carry
    /// descriptors.
    ///
    /// # Errors
    /// As [`Socket::hand_over`]; `Unsupported` where there is a session.
    pub fn hand_over(&self, bytes: &[u8], copied: &[Handle]) -> io::Result<usize> {
        match &self.secure {
            None => self.socket.send_with_descriptors(bytes, copied),
            Some(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Closes the write side, which the peer sees as the end.
    ///
    /// # Errors
    /// As [`Socket::shutdown_write`].
    pub fn shutdown_write(&self) -> io::Result<()> {
        self.take_leave();
        self.socket.shutdown_write()
    }

    /// Makes the drop send a reset.
    pub fn reset_on_close(&self) {
        self.keep_silent();
        self.socket.reset_on_close();
    }

    /// Makes the drop silent towards the peer, as far as possible.
    pub fn vanish_on_close(&self) {
        self.keep_silent();
        self.socket.silent_drop_on_close();
    }

    fn keep_silent(&self) {
        if let Some(secure) = &self.secure {
            secure.silent.set(true);
        }
    }

    /// Sends the close alert of the session, once.
    fn take_leave(&self) {
        if let Some(secure) = &self.secure
            && !secure.silent.replace(true)
        {
            secure.session.borrow_mut().close(&mut Carrier(&self.socket), &secure.scratch);
        }
    }
}

impl Secure {
    /// Frees the memory of records that will not be sent.
    fn clear(&mut self) {
        self.session.get_mut().release(&self.scratch);
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.take_leave();
        if let Some(secure) = &mut self.secure {
            secure.clear();
        }
    }
}

/// A socket as a session uses it.
struct Carrier<'a>(&'a Socket);

impl Wire for Carrier<'_> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_coalesced(bytes)
    }
}

/// Whether a read or write has to be repeated, at once or when the poller reports the socket.
pub fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
