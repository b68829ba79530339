//! A client connection.

use crate::state::backend::private_pool::PrivatePool;
use crate::state::backend::server_connection::ServerConn;
use crate::state::runtime::{BackendRef, Frontend, FrontendRef};
use crate::state::session::client_cold_state::ColdStateBox;
use crate::state::session::client_h2;
use crate::state::session::client_h2::ClientMux;
use crate::state::session::client_quic::QuicCarrier;
use crate::state::thread_handle::ServerRef;
use crate::state::worker::Worker;
use buf::Buf;
use mux::Side;
use mux::h1;
use mux::h2::Key;
use reactor::{Socket, Tick};
use sample::VarStore;
use settings::{Mode, Protocol};
use std::cell::{OnceCell, Ref};
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use table::{DataType, Trackers};
use transport::channel::Link;
use transport::codec::Machine;
use transport::stats::counters::{Block, Gauge};
use transport::streams::Stream;

/// Requests of a connection that are served before other tasks run, if more have arrived: requests
/// that are answered without a server do not wait in between.
const SHARE: u32 = 16;

/// A client's connection, and its state between requests.
pub struct Client {
    /// The thread that serves the client.
    pub worker: Rc<Worker>,
    /// The frontend.
    pub proxy: FrontendRef,
    /// The mode of its proxy, unless a TCP session was switched to HTTP.
    pub mode: Mode,
    /// Tells it from the other clients of the thread; the same for all streams of a connection.
    pub id: u64,
    /// The transport.
    pub socket: Link,
    /// The protocol machine, server side.
    pub mux: Machine,
    /// Bytes received and not yet parsed; no memory while idle.
    pub input: Buf,
    /// The client's address, or the one of a PROXY protocol header.
    pub peer: Option<SocketAddr>,
    /// Monotonic nanoseconds: the connection was accepted, or the last request ended.
    pub since: u64,
    /// Idle server connections that only this client may use (`http-reuse never`). Connections of a
    /// client with streams are in [`ClientMux::own`].
    pub own: PrivatePool,
    /// Backend and slot of the server that served the last request, if the next one should go
    /// there.
    pub last: Option<Last>,
    /// Number of the bind line, from 0.
    pub bind: u32,
    /// Requests so far.
    pub requests: u32,
    /// The `sess` variables.
    pub variables: VarStore,
    /// The entries of stick tables that the session tracks, once there are any.
    pub trackers: OnceCell<Rc<Trackers>>,
    /// State that few clients have.
    pub rare: ColdStateBox,
    /// Microseconds from the accept to the end of the preamble.
    handshake: u32,
    /// The client's protocol; if it is to be chosen, the handshake or the first bytes decide.
    pub protocol: Protocol,
    /// The connection ends with a reset.
    pub reset: bool,
    /// The connection ends without a packet to the client (`silent-drop`).
    pub vanishes: bool,
    /// The local address, once it was needed.
    local: OnceCell<Box<Option<SocketAddr>>>,
}

impl Client {
    /// A client whose connection was accepted just now.
    pub fn new(
        worker: &Rc<Worker>,
        proxy: &FrontendRef,
        bind: usize,
        socket: Socket,
        peer: Option<SocketAddr>,
    ) -> Self {
        enter(worker, &proxy.front, bind, worker.thread.index);
        Self::entered(worker, proxy, bind, socket, peer)
    }

    /// As [`Client::new`], of one that has been counted already ([`enter`]).
    pub fn entered(
        worker: &Rc<Worker>,
        proxy: &FrontendRef,
        bind: usize,
        socket: Socket,
        peer: Option<SocketAddr>,
    ) -> Self {
        worker.clients.set(worker.clients.get() + 1);
        Self::over(worker, proxy, bind, Link::Socket(socket.into()), peer)
    }

    /// A client at the start of its QUIC connection.
    pub fn of_quic(
        worker: &Rc<Worker>,
        proxy: &FrontendRef,
        bind: usize,
        carrier: &Rc<QuicCarrier>,
        peer: SocketAddr,
    ) -> Self {
        enter(worker, &proxy.front, bind, worker.thread.index);
        worker.clients.set(worker.clients.get() + 1);
        let mut client = Self::over(worker, proxy, bind, carrier.link(), Some(peer));
        client.protocol = Protocol::H3;
        client
    }

    /// A client that is not counted yet.
    fn over(
        worker: &Rc<Worker>,
        proxy: &FrontendRef,
        bind: usize,
        socket: Link,
        peer: Option<SocketAddr>,
    ) -> Self {
        let settings = worker.mux_settings(proxy, Side::Client);
        Self {
            worker: worker.clone(),
            mux: Machine::H1(h1::H1Conn::new(Side::Client, settings)),
            mode: proxy.settings.mode,
            proxy: proxy.clone(),
            id: worker.next_client(),
            socket,
            input: Buf::empty(),
            peer,
            since: worker.thread.nanos(),
            own: PrivatePool::default(),
            last: None,
            bind: bind as u32,
            requests: 0,
            variables: VarStore::default(),
            trackers: OnceCell::new(),
            rare: ColdStateBox::default(),
            handshake: 0,
            protocol: Protocol::Chosen,
            reset: false,
            vanishes: false,
            local: OnceCell::new(),
        }
    }
}

impl Client {
    /// A client for the `number`th stream, from 0, of an accepted connection: it shares the
    /// connection's data, and is not counted as a connection.
    pub fn of_stream(front: &Rc<ClientMux>, key: Key, number: u32) -> Self {
        let connection = front.client();
        let (last, variables) = front.stream_context();
        let stream = Stream::new(front.clone(), key);
        Self {
            worker: connection.worker.clone(),
            mux: Machine::Stream(stream.half()),
            proxy: connection.proxy.clone(),
            mode: Mode::Http,
            id: connection.id,
            socket: Link::Stream(stream),
            input: Buf::empty(),
            peer: connection.peer,
            since: connection.worker.thread.nanos(),
            own: PrivatePool::default(),
            last,
            bind: connection.bind,
            requests: number,
            variables,
            trackers: connection.trackers.clone(),
            rare: connection.rare.clone(),
            handshake: if number == 0 { connection.handshake } else { 0 },
            protocol: if front.is_h3() { Protocol::H3 } else { Protocol::H2 },
            reset: false,
            vanishes: false,
            local: OnceCell::new(),
        }
    }
}

impl Client {
    /// The client side of a transaction that begins inside the process, for a backend. The client
    /// is not counted as a connection.
    pub fn internal(worker: &Rc<Worker>, backend: &BackendRef) -> Self {
        Self::inside(worker, backend, Link::internal(&worker.thread))
    }

    /// The client side of a request of the process itself, for a backend. The client is not counted
    /// as a connection.
    pub fn of_call(worker: &Rc<Worker>, backend: &BackendRef, stream: Stream) -> Self {
        let mux = Machine::Stream(stream.half());
        let mut client = Self::inside(worker, backend, Link::Stream(stream));
        (client.mux, client.protocol) = (mux, Protocol::H1);
        client
    }

    /// The client side of a request of the process itself that continues in place of one of this
    /// client: rules see the same frontend, addresses and session variables.
    pub fn of_validation(of: &Self, variables: &VarStore, stream: Stream) -> Self {
        let mux = Machine::Stream(stream.half());
        let link = Link::Stream(stream);
        let mut client = Self::over(&of.worker, &of.proxy, of.bind as usize, link, of.peer);
        (client.mux, client.mode, client.protocol) = (mux, Mode::Http, of.protocol);
        client.rare = of.rare.clone();
        client.variables = VarStore::shared(variables);
        if let Some(address) = of.local() {
            client.set_local(address);
        }
        client
    }

    /// The frontend is that of the backend's section, or one that no page shows.
    fn inside(worker: &Rc<Worker>, backend: &BackendRef, link: Link) -> Self {
        let own = worker.proxies.get(backend.index).and_then(|section| section.front.as_ref());
        let front = own.unwrap_or_else(|| backend.internal_frontend());
        Self::over(worker, front, 0, link, None)
    }
}

/// The server of a client's last request. Two words of 32 bits, since every idle client has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Last {
    /// Number of the backend.
    pub backend: u32,
    /// The slot, from 1, above a bit for a client that was challenged.
    server: NonZeroU32,
}

impl Last {
    /// `None` for a slot that no server can have.
    ///
    /// `challenged`: the server has asked for credentials, so it may identify the client by the
    /// connection.
    pub fn new(backend: usize, slot: usize, challenged: bool) -> Option<Self> {
        let slot = u32::try_from(slot).ok()?.checked_add(1)?.checked_mul(2)?;
        let server = NonZeroU32::new(slot | u32::from(challenged))?;
        Some(Self { backend: u32::try_from(backend).ok()?, server })
    }

    /// Slot of the server in its backend.
    pub fn slot(self) -> usize {
        (self.server.get() / 2 - 1) as usize
    }

    /// Whether the server has asked for credentials on this connection.
    pub fn was_challenged(self) -> bool {
        self.server.get() % 2 == 1
    }
}

impl Client {
    /// The address that accepted the connection; the system is asked once.
    pub fn local(&self) -> Option<SocketAddr> {
        **self.local.get_or_init(|| Box::new(self.socket.local_address()))
    }

    /// Nanoseconds from the accept to the end of the preamble; 0 after the first request.
    pub fn handshake(&self) -> u64 {
        if self.requests == 0 { u64::from(self.handshake) * 1_000 } else { 0 }
    }

    /// When the soft stop ends the connection, if there is one.
    pub fn last_moment(&self) -> Option<Tick> {
        self.last_moment_of(self.socket.socket()?.handle().0 as u32)
    }

    /// When the soft stop ends a connection; `lot` spreads the moments of connections.
    pub(crate) fn last_moment_of(&self, lot: u32) -> Option<Tick> {
        if !self.worker.shared.is_stopping() {
            return None;
        }
        let moment = self.worker.shared.last_moment(lot)?;
        Some(Tick::from_nanos(moment * 1_000_000))
    }

    /// When the soft stop ends the connection while it waits for a request.
    pub fn last_idle_moment(&self) -> Option<Tick> {
        self.last_moment().filter(|_| !self.stays_idle())
    }

    /// Whether the soft stop leaves connections open that wait for a request (`option
    /// idle-close-on-response`).
    pub(crate) fn stays_idle(&self) -> bool {
        self.proxy.front.settings.idle_close_on_response
    }

    /// Whether the client has to end now, because of the soft stop or a frontend that was shut
    /// down.
    pub fn must_end(&self) -> bool {
        self.is_frontend_shut()
            || self.last_moment().is_some_and(|last| last.is_due(self.worker.thread.tick()))
    }

    /// Whether an operator has shut its frontend down (`shutdown frontend`): its connections end
    /// with the next request, as with HAProxy.
    pub fn is_frontend_shut(&self) -> bool {
        self.proxy.front.is_shut()
    }

    /// The TLS session, if the connection is encrypted.
    pub fn session(&self) -> Option<Ref<'_, tls::Conn>> {
        self.socket.tls()
    }

    /// Whether the client speaks TLS, or the one for which the process itself makes a request does.
    pub fn is_encrypted(&self) -> bool {
        let stands_in =
            || self.socket.begins_inside() && is_encrypted(&self.proxy.front, self.bind as usize);
        self.session().is_some() || stands_in()
    }

    /// The protocol that the client and the bind line have chosen.
    pub fn negotiated(&self) -> Option<Ref<'_, [u8]>> {
        Ref::filter_map(self.session()?, |session| session.protocol()).ok()
    }

    /// Replaces the local address.
    pub fn set_local(&mut self, address: SocketAddr) {
        self.local = OnceCell::from(Box::new(Some(address)));
    }

    /// Records the end of the preamble.
    pub fn handshake_over(&mut self) {
        let micros = self.worker.thread.nanos().saturating_sub(self.since) / 1_000;
        self.handshake = micros.try_into().unwrap_or(u32::MAX);
        if self.input.is_empty() {
            self.worker.release(std::mem::replace(&mut self.input, Buf::empty()));
        }
    }

    /// Reads more into the buffer that it holds; 0 at the end of the stream, and when the buffer is
    /// full. Returns the buffer to the pool if it is empty.
    pub fn read(&mut self) -> io::Result<usize> {
        let result = self.socket.recv(self.input.space());
        if let Ok(count) = &result {
            self.input.filled(*count);
        }
        if self.input.is_empty() {
            self.worker.release(std::mem::replace(&mut self.input, Buf::empty()));
        }
        result
    }

    /// The counters of its frontend and, with `option socket-stats`, of its listener.
    pub fn counted(&self) -> impl Iterator<Item = &Block> {
        let listener = self.proxy.front.listeners.get(self.bind as usize);
        let own = listener.and_then(|listener| listener.counters.as_ref());
        let own = own.map(|counters| counters.of(self.worker.thread.index));
        std::iter::once(self.proxy.block()).chain(own)
    }

    /// Takes a connection to a server that only this client may use, on any of its streams.
    pub fn take_own(&mut self, server: &ServerRef, key: u64) -> Option<Box<ServerConn>> {
        match client_h2::front_of(&self.socket) {
            Some(front) => front.own().take(server, key),
            None => self.own.take(server, key),
        }
    }

    /// Keeps such a connection, with at most `limit` of them.
    pub fn put_own(&mut self, connection: Box<ServerConn>, limit: u32) {
        match client_h2::front_of(&self.socket) {
            Some(front) => front.own().put(connection, limit),
            None => self.own.put(connection, limit),
        }
    }

    /// Counts an event on all that the session tracks.
    pub fn count(&self, events: &[DataType]) {
        self.count_many(events, 1);
    }

    /// The same for so many events.
    pub(crate) fn count_many(&self, events: &[DataType], amount: u64) {
        if let Some(trackers) = self.trackers.get() {
            trackers.count(events, amount, self.worker.millis());
        }
    }
}

/// Counts a client of a thread.
pub fn enter(worker: &Worker, front: &Frontend, bind: usize, thread: usize) {
    worker.shared.loads.enter(thread);
    gauges(worker, front, bind).for_each(|gauge| {
        gauge.enter();
    });
    if is_encrypted(front, bind) {
        worker.shared.tls.total.fetch_add(1, Relaxed);
    }
}

/// Whether clients of this line speak TLS.
fn is_encrypted(front: &Frontend, bind: usize) -> bool {
    front.settings.binds.get(bind).is_some_and(|bind| bind.preamble.tls.is_some())
}

fn gauges<'a>(
    worker: &'a Worker,
    front: &'a Frontend,
    bind: usize,
) -> impl Iterator<Item = &'a Gauge> {
    let listener = front.listeners.get(bind);
    [
        Some(&worker.shared.connections),
        Some(&front.connections),
        listener.map(|listener| &listener.connections),
        is_encrypted(front, bind).then_some(&worker.shared.tls.current),
    ]
    .into_iter()
    .flatten()
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(front) = client_h2::front_of(&self.socket) {
            front.take_back(self);
            return self.end_link();
        }
        if self.socket.begins_inside() {
            return self.end_link();
        }
        (self.worker.hooks.session_ended)(self);
        let worker = &self.worker;
        worker.clients.set(worker.clients.get() - 1);
        worker.shared.loads.leave(worker.thread.index);
        gauges(worker, &self.proxy.front, self.bind as usize).for_each(Gauge::leave);
        let millis = worker.millis();
        if let Some(trackers) = self.trackers.get_mut().and_then(Rc::get_mut) {
            trackers.release(millis);
        }
        self.end_link();
        let worker = &self.worker;
        if worker.shared.is_stopping() && worker.shared.connections.current() == 0 {
            worker.shared.wake_threads();
        }
    }
}

impl Client {
    /// Whether the client yields to other tasks before its next request, which has arrived already.
    pub fn has_had_its_share(&self) -> bool {
        let more = !self.input.is_empty() || self.socket.is_readable();
        more && self.requests.is_multiple_of(SHARE)
    }

    /// Ends the connection: silently, with a reset or in order.
    fn end_link(&mut self) {
        if self.vanishes {
            self.socket.close_silently();
        } else if self.reset {
            self.socket.reset_on_close();
        }
        self.worker.release(std::mem::replace(&mut self.input, Buf::empty()));
    }
}

/// The deadline at which an idle client is closed.
pub fn idle_deadline(client: &Client) -> Option<Tick> {
    let timeouts = &client.proxy.settings.timeouts;
    let first = client.requests == 0;
    let keep_alive = client.rare.keep_alive.or(timeouts.http_keep_alive).filter(|_| !first);
    let span = keep_alive.or(timeouts.http_request).or(timeouts.client)?;
    Some(Tick::from_nanos(client.since).plus_ms(span))
}
