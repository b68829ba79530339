//! A connection to a server: data that moves between the pool and transactions.

use crate::state::backend::pool::Parked;
use crate::state::backend::server_h2::Trunk;
use crate::state::thread_handle::ServerRef;
use crate::state::worker::Worker;
use buf::Buf;
use mux::h2::Key;
use reactor::{Socket, Urgency};
use std::cell::OnceCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use transport::channel::Link;
use transport::codec::Machine;
use transport::h2::Stream;
use transport::socket::Transport;

/// One end of a direction.
pub(crate) type End<'a> = (&'a Link, &'a mut Machine);

/// A connection to a server, in use or idle.
pub struct ServerConn {
    socket: Link,
    /// The protocol machine, client side.
    pub mux: Machine,
    /// Received and not yet understood; no memory while idle.
    input: Buf,
    server: Using,
    requests: u32,
    private: bool,
    local: OnceCell<Option<SocketAddr>>,
    target: Target,
}

/// A server that a connection counts as used of, until it is dropped.
struct Using(ServerRef);

impl Using {
    fn of(server: &ServerRef) -> Self {
        server.used.enter();
        server.count_open();
        Self(server.clone())
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        self.0.used.leave();
        self.0.count_closed();
    }
}

impl ServerConn {
    /// A new connection to a server.
    pub fn new(socket: Link, mux: Machine, server: &ServerRef, target: Target) -> Self {
        Self {
            socket,
            mux,
            input: Buf::empty(),
            server: Using::of(server),
            requests: 0,
            private: false,
            local: OnceCell::new(),
            target,
        }
    }

    /// A stream of a connection that carries others too.
    pub fn of_stream(trunk: &Rc<Trunk>, stream: Key) -> Self {
        let stream = Stream::new(trunk.clone(), stream);
        let machine = Machine::H2(stream.half());
        let mut this = Self::new(Link::Stream(stream), machine, trunk.server(), trunk.target);
        this.requests = trunk.count_request();
        this
    }

    /// A connection that another thread has parked.
    pub(crate) fn unpark(
        worker: &Worker,
        socket: Socket,
        parked: Parked,
        server: &ServerRef,
    ) -> Self {
        let mut transport = Transport::from(socket);
        if let Some(session) = parked.session {
            transport.secure(*session, &worker.tls);
        }
        let (link, mux) = (Link::Socket(transport), Machine::H1(parked.mux));
        let mut this = Self::new(link, mux, server, parked.target);
        this.requests = parked.requests;
        this
    }

    /// Makes an idle connection one of no thread; `None` if its server has closed it.
    pub(crate) fn park(mut self) -> Option<Parked> {
        if self.is_spoilt() || !self.socket.is_settled() {
            return None;
        }
        let Machine::H1(mux) = self.mux else { return None };
        let (handle, session) = self.socket.let_go()?;
        Some(Parked::new(handle, session, mux, self.requests, self.target))
    }

    /// The transport of the connection.
    pub fn socket(&self) -> &Link {
        &self.socket
    }

    /// Whether it is a stream of a connection that carries others too.
    pub fn is_stream(&self) -> bool {
        self.socket.is_stream()
    }

    /// What it travels on, for another machine.
    pub fn into_link(self) -> Link {
        self.socket
    }

    /// As [`ServerConn::socket`], for what is said before the first request.
    pub fn socket_mut(&mut self) -> &mut Link {
        &mut self.socket
    }

    /// Its address on our side, once it stands; the system is asked once.
    pub fn local(&self) -> Option<SocketAddr> {
        *self.local.get_or_init(|| self.socket.local_address())
    }

    /// The connection as the destination of a direction.
    pub fn ends(&mut self) -> End<'_> {
        (&self.socket, &mut self.mux)
    }

    /// The connection as the source of a direction, with what it received.
    pub fn input_and_ends(&mut self) -> (&mut Buf, End<'_>) {
        (&mut self.input, (&self.socket, &mut self.mux))
    }

    /// What it received, to be looked at.
    pub fn received(&self) -> &[u8] {
        self.input.data()
    }

    /// What it received and nobody has understood.
    pub fn take_input(&mut self) -> Buf {
        std::mem::replace(&mut self.input, Buf::empty())
    }

    /// Whether there is a buffer for what can be read; takes one if there is not.
    pub fn has_buffer(&mut self, worker: &Worker) -> bool {
        if !self.lacks_buffer() {
            return true;
        }
        let fresh = worker.buffers.try_take(Urgency::Urgent);
        fresh.map(|fresh| self.input = fresh).is_some()
    }

    /// Whether there is something to read, and nothing to read it into.
    pub fn lacks_buffer(&self) -> bool {
        self.input.capacity() == 0 && self.socket.is_readable()
    }

    /// Whether nothing of an answer has come: nor can anything be read.
    pub fn has_nothing(&self) -> bool {
        self.input.capacity() == 0 && !self.socket.is_readable()
    }

    /// Gives it a buffer to read into; returns the one that it had.
    pub fn give_input(&mut self, buffer: Buf) -> Buf {
        std::mem::replace(&mut self.input, buffer)
    }

    /// Reads more, into the buffer that [`ServerConn::has_buffer`] has taken; 0 at the end of the
    /// stream, and also when a head does not fit the buffer.
    ///
    ///
    /// Without anything to read no buffer is held: those who wait for an answer are many, and the
    /// few buffers in use stay in the cache.
    pub fn read(&mut self, worker: &Worker) -> io::Result<usize> {
        if !self.socket.is_readable() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.input.room() == 0 {
            self.input.compact();
        }
        let result = self.socket.recv(self.input.space());
        if let Ok(count) = &result {
            self.input.filled(*count);
        } else if self.input.is_empty() {
            worker.release(self.take_input());
        }
        result
    }

    /// Decides how the server will hear of the end if this was the last exchange. One that waits
    /// for more requests, or whose answer nobody waits for any more, is reset: ended in good order
    /// it would hold a port of ours for a minute, and at some hundred a second to one server none
    /// would be left. Who has been told that the connection closes, or has said so, gets an end.
    pub fn choose_end(&self) {
        let (Machine::H1(mux), Link::Socket(transport)) = (&self.mux, &self.socket) else { return };
        let told = mux.is_complete() && mux.must_close();
        match told || mux.is_tunnel() || self.requests == 0 {
            true => transport.socket().end_on_close(),
            false => transport.socket().reset_on_close(),
        }
    }

    /// The server at the other end.
    pub fn server(&self) -> &ServerRef {
        &self.server.0
    }

    /// Requests sent so far.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether it was kept from an earlier request: it stood, and may have been closed for want of
    /// use. Streams that begin together on a new connection are all first.
    pub fn is_kept(&self) -> bool {
        match &self.mux {
            Machine::H1(_) => self.requests > 1,
            Machine::H2(half) => half.has_answered(),
        }
    }

    /// Counts a request that begins on this connection.
    pub fn count_request(&mut self) {
        self.requests = self.requests.saturating_add(1);
    }

    /// Whether its present request is the last that `max-reuse` allows.
    pub fn is_worn_out(&self) -> bool {
        self.server().settings.max_reuse.is_some_and(|limit| self.requests > limit)
    }

    /// What tells it from connections of another kind to the same server.
    pub(crate) fn key(&self) -> u64 {
        self.target.key
    }

    /// The address that it was made to.
    pub fn destination(&self) -> Option<SocketAddr> {
        self.target.address
    }

    /// Whether only the client that opened it may use it.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Keeps the connection for its present client.
    pub fn make_private(&mut self) {
        self.private = true;
    }

    /// Whether an idle connection must not be used: closed by the server, or it has sent something
    /// that nobody asked for, or it goes where the server was once (manual section 4.2,
    /// `http-reuse`: destinations have to match).
    pub(crate) fn is_spoilt(&self) -> bool {
        self.target.moves != self.server().location.moves() || self.socket.is_spoilt()
    }

    /// As [`ServerConn::is_spoilt`], for one that is about to be used. A server that closes after
    /// each answer without saying so does it right after the first: then the system is asked, which
    /// knows before the poller has told. A connection that has been used again has shown better.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_spoilt() || (self.requests == 1 && !self.socket.is_quiet())
    }
}

/// What a connection was made to, and how. Whether a request can use it depends on that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target {
    /// [`Way::key`]
    pub key: u64,
    /// The number of its server's place ([`Place::moves`]).
    pub moves: u32,
    /// The address, unless it is a path.
    pub address: Option<SocketAddr>,
}
