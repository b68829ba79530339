//! The channel of a message: a connection of its own, or a stream that shares one.
//!
//! A transaction has one on either side. Whatever it is, reading and writing it, waiting for it and
//! closing it look the same.

use crate::h2::{Stream, StreamCarrier};
use crate::socket::Transport;
use mux::h2::Ready;
use reactor::{Handle, Socket, TaskId, TcpInfo, Thread};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;

/// One side's way to its peer. Dropping it closes it.
#[derive(Debug)]
pub enum Link {
    /// A connection of its own.
    Socket(Transport),
    /// A stream of an HTTP/2 connection.
    Stream(Stream),
}

impl Link {
    /// The connection that it is a stream of, if it is one.
    pub fn carrier_of_stream(&self) -> Option<&Rc<dyn StreamCarrier>> {
        match self {
            Self::Socket(_) => None,
            Self::Stream(stream) => Some(stream.carrier()),
        }
    }

    /// Whether it is one of several on its connection.
    pub fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }

    /// The connection, where it is one of its own.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Socket(transport) => Some(transport.socket()),
            Self::Stream(_) => None,
        }
    }

    /// The connection that it is, or that it is a stream of.
    fn carrier(&self) -> Option<&Socket> {
        self.transport().map(Transport::socket)
    }

    /// The same with what it is encrypted with.
    pub fn transport(&self) -> Option<&Transport> {
        match self {
            Self::Socket(transport) => Some(transport),
            Self::Stream(stream) => stream.transport(),
        }
    }

    /// The connection, where its bytes are what travels: they may go through a pipe.
    pub fn bare(&self) -> Option<&Socket> {
        // What travels on a stream are frames.
        let Self::Socket(transport) = self else { return None };
        transport.session().is_none().then(|| transport.socket())
    }

    /// The thread that it belongs to.
    pub fn thread(&self) -> &Rc<Thread> {
        match self {
            Self::Socket(socket) => socket.thread(),
            Self::Stream(stream) => stream.session().thread(),
        }
    }

    /// Makes the running task the one that readiness wakes.
    pub fn own(&self) {
        match self {
            Self::Socket(socket) => socket.own(),
            Self::Stream(_) => {}
        }
    }

    /// Makes another task the owner, to be woken when something arrives or the peer closes.
    pub fn watch_for(&self, owner: TaskId) {
        match self {
            Self::Socket(socket) => socket.watch_for(owner),
            Self::Stream(_) => {}
        }
    }

    /// Lets go of a connection of its own; see [`Transport::let_go`].
    pub fn let_go(&mut self) -> Option<(Handle, Option<tls::Conn>)> {
        match self {
            Self::Socket(socket) => Some(socket.let_go()),
            Self::Stream(_) => None,
        }
    }

    /// Reads what is there; 0 at the end.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.recv(buffer),
            Self::Stream(stream) => stream.recv(buffer),
        }
    }

    /// Writes what fits. `more`: the next write follows at once.
    pub fn send(&self, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.send(parts, more),
            Self::Stream(stream) => stream.send(parts),
        }
    }

    /// Has what is sent next go at once, where that tells whether the peer is still there.
    pub fn doubt(&self) {
        match self {
            Self::Socket(socket) => socket.socket().disable_coalescing(),
            Self::Stream(_) => {}
        }
    }

    /// Whether all that was sent is with the system, which has not complained.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.socket().is_flushed(),
            Self::Stream(_) => true,
        }
    }

    /// The last of the bytes that were said to be sent, if they have never left, as far as is
    /// known.
    pub fn unsent(&self) -> Vec<u8> {
        match self {
            Self::Socket(socket) => socket.unsent(<[u8]>::to_vec),
            Self::Stream(_) => Vec::new(),
        }
    }

    /// Asks to be woken when reading becomes possible.
    pub fn want_read(&self) {
        match self {
            Self::Socket(socket) => socket.want_read(),
            Self::Stream(stream) => stream.want(Ready::READ),
        }
    }

    /// Asks to be woken when writing becomes possible.
    pub fn want_write(&self) {
        match self {
            Self::Socket(socket) => socket.want_write(),
            Self::Stream(stream) => stream.want(Ready::WRITE),
        }
    }

    /// Whether a head that was sent does not lie about: those of streams are taken whatever room
    /// there is.
    pub fn has_room(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Stream(stream) => stream.has_room(),
        }
    }

    /// Asks to be woken when there is room for another head.
    pub fn want_room(&self) {
        match self {
            Self::Socket(socket) => socket.want_write(),
            Self::Stream(stream) => stream.want(Ready::ROOM),
        }
    }

    /// Asks to be woken when the peer wants nothing more, where it can say so.
    pub fn want_reset(&self) {
        match self {
            Self::Socket(_) => {}
            Self::Stream(stream) => stream.want(Ready::RESET),
        }
    }

    /// Asks to be woken when the peer closes its side, whatever there is to read; without it, the
    /// end of a connection may never be reported.
    pub fn want_close(&self) {
        match self {
            Self::Socket(socket) => socket.want_close(),
            // The end of the connection is told whoever waits for anything.
            Self::Stream(stream) => stream.want(Ready::RESET),
        }
    }

    /// Whether the peer has said that it wants nothing more.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Socket(_) => false,
            Self::Stream(stream) => stream.is_reset(),
        }
    }

    /// Asks not to be woken any more.
    pub fn want_nothing(&self) {
        match self {
            Self::Socket(socket) => socket.want_nothing(),
            Self::Stream(stream) => stream.want_nothing(),
        }
    }

    /// Whether a read may find something.
    pub fn is_readable(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_readable(),
            Self::Stream(stream) => stream.is_readable(),
        }
    }

    /// Whether the peer has said something that nobody asked for, or has closed.
    pub fn is_spoilt(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_spoilt(),
            Self::Stream(stream) => stream.is_readable(),
        }
    }

    /// Whether it is open and has nothing to read, as the system knows at this moment.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_quiet(),
            Self::Stream(stream) => !stream.is_readable(),
        }
    }

    /// Whether the peer has closed its side, or the way is broken, as far as reported.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_closed(),
            Self::Stream(stream) => stream.is_closed(),
        }
    }

    /// Tells the peer that nothing more will be written.
    pub fn shutdown_write(&self) -> io::Result<()> {
        match self {
            Self::Socket(socket) => socket.shutdown_write(),
            Self::Stream(stream) => {
                stream.shutdown();
                Ok(())
            }
        }
    }

    /// Rejects who is at the other end: with one stream, the connection goes.
    pub fn expel(&self) {
        if let Self::Stream(stream) = self {
            stream.expel();
        }
    }

    /// Makes the coming drop a reset.
    pub fn reset_on_close(&self) {
        match self {
            Self::Socket(socket) => socket.reset_on_close(),
            Self::Stream(stream) => stream.reset(),
        }
    }

    /// Makes the coming drop one that the peer is not told of, as far as possible.
    pub fn vanish_on_close(&self) {
        match self {
            Self::Socket(socket) => socket.vanish_on_close(),
            Self::Stream(stream) => stream.session().vanish(),
        }
    }

    /// Our address of the connection.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Socket(transport) => transport.socket().local_address(),
            Self::Stream(stream) => stream.local_address(),
        }
    }

    /// What the system knows about the TCP connection.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.carrier()?.tcp_info()
    }

    /// Sets the type of service of the packets to the peer.
    pub fn set_tos(&self, tos: u8) -> io::Result<()> {
        self.carrier().map_or(Ok(()), |socket| socket.set_tos(tos))
    }

    /// Acknowledges at once what has been received, and what comes next, on a connection of its
    /// own.
    pub fn acknowledge(&self) {
        if !self.is_stream()
            && let Some(socket) = self.carrier()
        {
            socket.acknowledge();
        }
    }

    /// Sets the mark of the packets to the peer; needs a privilege.
    pub fn set_mark(&self, mark: u32) -> io::Result<()> {
        self.carrier().map_or(Ok(()), |socket| socket.set_mark(mark))
    }
}
