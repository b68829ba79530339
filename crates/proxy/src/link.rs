//! What a message travels on: a connection of its own, or a stream that shares one. Never looks at
//! what travels.
//!
//! A transaction has one on either side. Whatever it is, reading and writing it, waiting for it and
//! closing it look the same.

use crate::transport::Transport;
use reactor::{Handle, Socket, TaskId, TcpInfo, Thread};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;

/// One side's way to its peer. Dropping it closes it.
#[derive(Debug)]
pub(crate) enum Link {
    /// A connection of its own.
    Socket(Transport),
}

impl Link {
    /// The connection, where it is one of its own.
    pub(crate) fn socket(&self) -> Option<&Socket> {
        self.transport().map(Transport::socket)
    }

    /// The connection and what it is encrypted with, where it is one of its own.
    pub(crate) fn transport(&self) -> Option<&Transport> {
        let Self::Socket(transport) = self;
        Some(transport)
    }

    /// The connection, where its bytes are what travels: they may go through a pipe.
    pub(crate) fn bare(&self) -> Option<&Socket> {
        let transport = self.transport()?;
        transport.session().is_none().then(|| transport.socket())
    }

    /// The thread that it belongs to.
    pub(crate) fn thread(&self) -> &Rc<Thread> {
        let Self::Socket(socket) = self;
        socket.thread()
    }

    /// Makes the running task the one that readiness wakes.
    pub(crate) fn own(&self) {
        let Self::Socket(socket) = self;
        socket.own();
    }

    /// Makes another task the owner, to be woken when something arrives or the peer closes.
    pub(crate) fn watch_for(&self, owner: TaskId) {
        let Self::Socket(socket) = self;
        socket.watch_for(owner);
    }

    /// Lets go of a connection of its own; see [`Transport::let_go`].
    pub(crate) fn let_go(&mut self) -> (Handle, Option<tls::Conn>) {
        let Self::Socket(socket) = self;
        socket.let_go()
    }

    /// Reads what is there; 0 at the end.
    pub(crate) fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self::Socket(socket) = self;
        socket.recv(buffer)
    }

    /// Writes what fits. `more`: the next write follows at once.
    pub(crate) fn send(&self, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let Self::Socket(socket) = self;
        socket.send(parts, more)
    }

    /// Asks to be woken when reading becomes possible.
    pub(crate) fn want_read(&self) {
        let Self::Socket(socket) = self;
        socket.want_read();
    }

    /// Asks to be woken when writing becomes possible.
    pub(crate) fn want_write(&self) {
        let Self::Socket(socket) = self;
        socket.want_write();
    }

    /// Asks not to be woken any more.
    pub(crate) fn want_nothing(&self) {
        let Self::Socket(socket) = self;
        socket.want_nothing();
    }

    /// Whether a read may find something.
    pub(crate) fn is_readable(&self) -> bool {
        let Self::Socket(socket) = self;
        socket.is_readable()
    }

    /// Whether the peer has said something that nobody asked for, or has closed.
    pub(crate) fn is_spoilt(&self) -> bool {
        let Self::Socket(socket) = self;
        socket.is_spoilt()
    }

    /// Whether it is open and has nothing to read, as the system knows at this moment.
    pub(crate) fn is_quiet(&self) -> bool {
        let Self::Socket(socket) = self;
        socket.is_quiet()
    }

    /// Whether the peer has closed its side, or the way is broken, as far as reported.
    pub(crate) fn is_closed(&self) -> bool {
        let Self::Socket(socket) = self;
        socket.is_closed()
    }

    /// Tells the peer that nothing more will be written.
    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        let Self::Socket(socket) = self;
        socket.shutdown_write()
    }

    /// Makes the coming drop a reset.
    pub(crate) fn reset_on_close(&self) {
        let Self::Socket(socket) = self;
        socket.reset_on_close();
    }

    /// Makes the coming drop one that the peer is not told of, as far as possible.
    pub(crate) fn vanish_on_close(&self) {
        let Self::Socket(socket) = self;
        socket.vanish_on_close();
    }

    /// Our address of the connection.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.socket()?.local_address()
    }

    /// What the system knows about the TCP connection.
    pub(crate) fn tcp_info(&self) -> Option<TcpInfo> {
        self.socket()?.tcp_info()
    }

    /// Sets the type of service of the packets to the peer.
    pub(crate) fn set_tos(&self, tos: u8) -> io::Result<()> {
        self.socket().map_or(Ok(()), |socket| socket.set_tos(tos))
    }

    /// Sets the mark of the packets to the peer; needs a privilege.
    pub(crate) fn set_mark(&self, mark: u32) -> io::Result<()> {
        self.socket().map_or(Ok(()), |socket| socket.set_mark(mark))
    }
}
