//! A connection to a server: data that moves between the pool and transactions.

use crate::state::backend::pool::Parked;
use crate::state::backend::trunk::Trunk;
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
use transport::socket::Transport;
use transport::streams::Stream;

/// One end of a direction.
pub(crate) type End<'a> = (&'a Link, &'a mut Machine);

/// A connection to a server, in use or idle.
pub struct ServerConn {
    socket: Link,
    /// The protocol machine, client side.
    pub mux: Machine,
    /// Bytes received and not yet parsed; no memory while idle.
    input: Buf,
    /// `None` for a service inside the process.
    server: Option<Using>,
    requests: u32,
    private: bool,
    local: OnceCell<Option<SocketAddr>>,
    target: Target,
}

/// Counts a connection for its server until dropped.
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
            server: Some(Using::of(server)),
            requests: 0,
            private: false,
            local: OnceCell::new(),
            target,
        }
    }

    /// A stream of a connection that carries many.
    pub fn of_stream(trunk: &Rc<Trunk>, stream: Key) -> Self {
        let stream = Stream::new(trunk.clone(), stream);
        let machine = Machine::Stream(stream.half());
        let mut this = Self::new(Link::Stream(stream), machine, trunk.server(), trunk.target);
        this.requests = trunk.count_request();
        this
    }

    /// An exchange with a service inside the process.
    pub fn of_service(stream: Stream) -> Self {
        let machine = Machine::Stream(stream.half());
        Self {
            socket: Link::Stream(stream),
            mux: machine,
            input: Buf::empty(),
            server: None,
            requests: 0,
            private: true,
            local: OnceCell::new(),
            target: Target::default(),
        }
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

    /// Detaches an idle connection from its thread; `None` if the server has closed the connection.
    pub(crate) fn park(mut self) -> Option<Parked> {
        if self.is_spoilt() || !self.socket.is_settled() {
            return None;
        }
        let Machine::H1(mux) = self.mux else { return None };
        let (handle, session) = self.socket.release()?;
        Some(Parked::new(handle, session, mux, self.requests, self.target))
    }

    /// The transport of the connection.
    pub fn socket(&self) -> &Link {
        &self.socket
    }

    /// Whether it is a stream of a connection that carries many.
    pub fn is_stream(&self) -> bool {
        self.socket.is_stream()
    }

    /// The transport, for another protocol machine.
    pub fn into_link(self) -> Link {
        self.socket
    }

    /// As [`ServerConn::socket`], for bytes sent before the first request.
    pub fn socket_mut(&mut self) -> &mut Link {
        &mut self.socket
    }

    /// The local address, once the connection is established; the system is asked once.
    pub fn local(&self) -> Option<SocketAddr> {
        *self.local.get_or_init(|| self.socket.local_address())
    }

    /// The connection as the destination of a direction.
    pub fn ends(&mut self) -> End<'_> {
        (&self.socket, &mut self.mux)
    }

    /// The connection as the source of a direction, with its received bytes.
    pub fn input_and_ends(&mut self) -> (&mut Buf, End<'_>) {
        (&mut self.input, (&self.socket, &mut self.mux))
    }

    /// The received bytes.
    pub fn received(&self) -> &[u8] {
        self.input.data()
    }

    /// Takes the received bytes that were not parsed.
    pub fn take_input(&mut self) -> Buf {
        std::mem::replace(&mut self.input, Buf::empty())
    }

    /// Whether the connection has a buffer for its input; takes one if it lacks one.
    pub fn has_buffer(&mut self, worker: &Worker) -> bool {
        if !self.lacks_buffer() {
            return true;
        }
        let fresh = worker.buffers.try_take(Urgency::Urgent);
        fresh.map(|fresh| self.input = fresh).is_some()
    }

    /// Whether the socket is readable and the connection has no buffer.
    pub fn lacks_buffer(&self) -> bool {
        self.input.capacity() == 0 && self.socket.is_readable()
    }

    /// Whether no byte of a response has arrived.
    pub fn has_nothing(&self) -> bool {
        self.input.capacity() == 0 && !self.socket.is_readable()
    }

    /// Sets the input buffer; returns the one before.
    pub fn give_input(&mut self, buffer: Buf) -> Buf {
        std::mem::replace(&mut self.input, buffer)
    }

    /// Reads more, into the buffer that [`ServerConn::has_buffer`] has taken; 0 at the end of the
    /// stream, and also when a head does not fit the buffer.
    ///
    ///
    /// Without input the connection holds no buffer: many connections wait for a response at a
    /// time, and the few buffers in use stay in the CPU's cache.
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

    /// Decides how the connection is closed if this was the last exchange. A connection that waits
    /// for more requests, or whose response is not awaited any more, is reset: an orderly close
    /// would hold a local port for a minute, and at some hundred a second to one server no port
    /// would be left. A server gets an orderly close if either side has announced it, in a tunnel,
    /// and before the first request.
    pub fn choose_end(&self) {
        let (Machine::H1(mux), Link::Socket(transport)) = (&self.mux, &self.socket) else { return };
        let told = mux.is_complete() && mux.must_close();
        match told || mux.is_tunnel() || self.requests == 0 {
            true => transport.socket().end_on_close(),
            false => transport.socket().reset_on_close(),
        }
    }

    /// The server at the other end; `None` for a service inside the process.
    pub fn server(&self) -> Option<&ServerRef> {
        self.server.as_ref().map(|using| &using.0)
    }

    /// Requests sent so far.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether the connection was kept from an earlier request, so that the server may have closed
    /// it as idle. Streams that begin together on a new connection are all first.
    pub fn is_kept(&self) -> bool {
        match &self.mux {
            Machine::H1(_) => self.requests > 1,
            Machine::Stream(half) => half.has_answered(),
        }
    }

    /// Counts a request that begins on this connection.
    pub fn count_request(&mut self) {
        self.requests = self.requests.saturating_add(1);
    }

    /// Whether its present request is the last that `max-reuse` allows.
    pub fn has_max_requests(&self) -> bool {
        let limit = self.server().and_then(|server| server.settings.max_reuse);
        limit.is_some_and(|limit| self.requests > limit)
    }

    /// The key of its kind among the connections to one server.
    pub(crate) fn key(&self) -> u64 {
        self.target.key
    }

    /// The address that the connection was made to.
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

    /// Whether an idle connection must not be used: the server has closed it or sent bytes without
    /// a request, or it leads to an earlier address of the server (manual section 4.2,
    /// `http-reuse`: destinations have to match).
    pub(crate) fn is_spoilt(&self) -> bool {
        let moves = self.server().map(|server| server.location.moves());
        moves != Some(self.target.moves) || self.socket.is_spoilt()
    }

    /// As [`ServerConn::is_spoilt`], for a connection that is about to be used. A server that
    /// closes after each response without announcing it does so right after the first: after one
    /// request Weir asks the system, which knows of the close before the poller reports it. A
    /// connection that was used again is not of that kind.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_spoilt() || (self.requests == 1 && !self.socket.is_quiet())
    }
}

/// Destination and kind of a connection, which decide whether a request can use it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target {
    /// [`ConnectPlan::key`]
    pub key: u64,
    /// The number of its server's address ([`AddressSnapshot::moves`]).
    pub moves: u32,
    /// The address, unless it is a path.
    pub address: Option<SocketAddr>,
}
