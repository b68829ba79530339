//! The channel of a message: a connection of its own, a stream that shares one, or none.
//!
//! A transaction has one channel per side. Reading, writing, waiting and closing have the same
//! interface on both kinds.

use crate::socket::Transport;
use crate::streams::{Stream, StreamCarrier};
use mux::Ready;
use reactor::{Handle, Socket, TaskId, TcpInfo, Thread};
use std::cell::Ref;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;

/// The channel to the peer of one side. A drop closes it.
#[derive(Debug)]
pub enum Link {
    /// A connection of its own.
    Socket(Transport),
    /// A stream of a connection that carries many.
    Stream(Stream),
}

impl Link {
    /// No peer: the transaction begins inside the process.
    pub fn internal(thread: &Rc<Thread>) -> Self {
        Self::Stream(Stream::internal(thread))
    }

    /// The connection of the stream, for a stream.
    pub fn carrier_of_stream(&self) -> Option<&Rc<dyn StreamCarrier>> {
        match self {
            Self::Socket(_) => None,
            Self::Stream(stream) => Some(stream.carrier()).filter(|_| !stream.is_internal()),
        }
    }

    /// Whether the channel is a stream of a shared connection.
    pub fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(stream) if !stream.is_internal())
    }

    /// Whether there is no peer, because the transaction begins inside the process.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Stream(stream) if stream.is_internal())
    }

    /// Whether the transaction begins inside the process, with a peer or without one.
    pub fn begins_inside(&self) -> bool {
        matches!(self, Self::Stream(stream) if stream.is_internal() || stream.is_call())
    }

    /// The socket, for a connection of its own.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Socket(transport) => Some(transport.socket()),
            Self::Stream(_) => None,
        }
    }

    /// The socket of the connection, also of the one that carries the stream.
    fn carrier(&self) -> Option<&Socket> {
        self.transport().map(Transport::socket)
    }

    /// The socket of the connection with its TLS session.
    pub fn transport(&self) -> Option<&Transport> {
        match self {
            Self::Socket(transport) => Some(transport),
            Self::Stream(stream) => stream.transport(),
        }
    }

    /// The TLS session of the connection, if it is encrypted.
    pub fn tls(&self) -> Option<Ref<'_, tls::Conn>> {
        match self {
            Self::Socket(transport) => transport.session(),
            Self::Stream(stream) => stream.carrier().tls(),
        }
    }

    /// The socket of a clear connection of its own, whose bytes may go through a pipe.
    pub fn bare(&self) -> Option<&Socket> {
        // Streams carry frames, which cannot be spliced.
        let Self::Socket(transport) = self else { return None };
        transport.session().is_none().then(|| transport.socket())
    }

    /// The thread of the connection.
    pub fn thread(&self) -> &Rc<Thread> {
        match self {
            Self::Socket(socket) => socket.thread(),
            Self::Stream(stream) => stream.session().thread(),
        }
    }

    /// Makes the running task the owner, which readiness wakes.
    pub fn own(&self) {
        match self {
            Self::Socket(socket) => socket.own(),
            Self::Stream(_) => {}
        }
    }

    /// Makes another task the owner, which wakes when bytes arrive or the peer closes.
    pub fn watch_for(&self, owner: TaskId) {
        match self {
            Self::Socket(socket) => socket.watch_for(owner),
            Self::Stream(_) => {}
        }
    }

    /// Releases a connection of its own; see [`Transport::release`].
    pub fn release(&mut self) -> Option<(Handle, Option<tls::Conn>)> {
        match self {
            Self::Socket(socket) => Some(socket.release()),
            Self::Stream(_) => None,
        }
    }

    /// Reads the available bytes; 0 at the end.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.recv(buffer),
            Self::Stream(stream) => stream.recv(buffer),
        }
    }

    /// Writes the bytes that fit. `more`: the next write follows at once.
    pub fn send(&self, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.send(parts, more),
            Self::Stream(stream) if stream.is_internal() => Err(io::ErrorKind::BrokenPipe.into()),
            Self::Stream(stream) => stream.send(parts),
        }
    }

    /// Sends the next bytes at once, without coalescing, so that a lost peer is detected.
    pub fn send_next_at_once(&self) {
        match self {
            Self::Socket(socket) => socket.socket().disable_coalescing(),
            Self::Stream(_) => {}
        }
    }

    /// Whether the system has taken all sent bytes and reported no error.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.socket().is_flushed(),
            Self::Stream(_) => true,
        }
    }

    /// The last bytes written that never left, as far as is known.
    pub fn unsent(&self) -> Vec<u8> {
        match self {
            Self::Socket(socket) => socket.unsent(<[u8]>::to_vec),
            Self::Stream(_) => Vec::new(),
        }
    }

    /// Wakes the owner when reading becomes possible.
    pub fn want_read(&self) {
        match self {
            Self::Socket(socket) => socket.want_read(),
            Self::Stream(stream) => stream.want(Ready::READ),
        }
    }

    /// Wakes the owner when writing becomes possible.
    pub fn want_write(&self) {
        match self {
            Self::Socket(socket) => socket.want_write(),
            Self::Stream(stream) => stream.want(Ready::WRITE),
        }
    }

    /// Whether the peer reads enough for another head: heads of streams are always queued.
    pub fn has_room(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Stream(stream) => stream.has_room(),
        }
    }

    /// Wakes the owner when there is room for another head.
    pub fn want_room(&self) {
        match self {
            Self::Socket(socket) => socket.want_write(),
            Self::Stream(stream) => stream.want(Ready::ROOM),
        }
    }

    /// Wakes the owner when the peer resets the stream; a plain connection has no such signal.
    pub fn want_reset(&self) {
        match self {
            Self::Socket(_) => {}
            Self::Stream(stream) => stream.want(Ready::RESET),
        }
    }

    /// Wakes the owner when the peer closes its side, even while bytes are left to read. Without
    /// it, the end of a connection may never be reported.
    pub fn want_close(&self) {
        match self {
            Self::Socket(socket) => socket.want_close(),
            // The end of the connection wakes a task that waits for any event.
            Self::Stream(stream) => stream.want(Ready::RESET),
        }
    }

    /// Whether the peer has reset the stream.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Socket(_) => false,
            Self::Stream(stream) => stream.is_reset(),
        }
    }

    /// Wakes the owner for no event any more.
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

    /// Whether the peer has sent unexpected bytes, or has closed.
    pub fn is_spoilt(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_spoilt(),
            Self::Stream(stream) => stream.is_readable(),
        }
    }

    /// Whether the connection is open and has nothing to read, by a query of the system at this
    /// moment.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_quiet(),
            Self::Stream(stream) => !stream.is_readable(),
        }
    }

    /// Whether the peer has closed its side, or the connection is broken, as far as reported.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Socket(socket) => socket.is_closed(),
            Self::Stream(stream) => stream.is_closed(),
        }
    }

    /// Closes the write side, which the peer sees as the end.
    pub fn shutdown_write(&self) -> io::Result<()> {
        match self {
            Self::Socket(socket) => socket.shutdown_write(),
            Self::Stream(stream) => {
                stream.shutdown();
                Ok(())
            }
        }
    }

    /// Rejects the peer: a stream takes its whole connection down.
    pub fn reject_connection(&self) {
        if let Self::Stream(stream) = self {
            stream.reject_connection();
        }
    }

    /// Makes the drop send a reset.
    pub fn reset_on_close(&self) {
        match self {
            Self::Socket(socket) => socket.reset_on_close(),
            Self::Stream(stream) => stream.reset(),
        }
    }

    /// Makes the drop silent towards the peer, as far as possible (`silent-drop`).
    pub fn close_silently(&self) {
        match self {
            Self::Socket(socket) => socket.vanish_on_close(),
            Self::Stream(stream) => stream.session().close_silently(),
        }
    }

    /// Our address of the connection.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Socket(transport) => transport.socket().local_address(),
            Self::Stream(stream) => stream.local_address(),
        }
    }

    /// The system's `TCP_INFO` of the connection.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.carrier()?.tcp_info()
    }

    /// Sets the type of service of the packets to the peer.
    pub fn set_tos(&self, tos: u8) -> io::Result<()> {
        self.carrier().map_or(Ok(()), |socket| socket.set_tos(tos))
    }

    /// Acknowledges received bytes at once, and the next bytes too, on a connection of its own.
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
