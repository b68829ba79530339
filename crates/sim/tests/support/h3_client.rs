//! An HTTP/3 client in the virtual network: `quinn-proto` with rustls. The client shares no code of
//! the transport with the product.

use super::h3_exchange::Exchange;
use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint,
    Endpoint, EndpointConfig, Event, MtuDiscoveryConfig, RandomConnectionIdGenerator, ReadError,
    StreamId, TransportConfig, TransportErrorCode, VarInt,
};
use sim::peers::{PeerFault, Tally};
use sim::{Actor, ActorId, DatagramId, Net, Signal};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use testkit::quic_client::{self, AnyCertificate, NoResets};
use wire::h3::{H3ErrorCode, H3FrameType, H3Settings, StreamType, encode, varint};

/// The moment that is zero on the virtual clock; any will do.
#[expect(clippy::disallowed_methods, reason = "any moment may stand for the clock's zero")]
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Behaviour of a client. Chances are in 1000.
#[derive(Clone, Debug)]
pub(crate) struct H3Plan {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// Number of its first request.
    pub(crate) first_id: u64,
    pub(crate) requests: u32,
    /// Most requests at the same time.
    pub(crate) streams: usize,
    /// Chance of a POST request; bodies have up to `body` bytes.
    pub(crate) post: u16,
    pub(crate) body: u64,
    /// Chance that a request is abandoned.
    pub(crate) abandon: u16,
    /// Chance that the client leaves without a packet to the server soon after a request.
    pub(crate) vanish: u16,
    /// Bytes of the connection IDs that it asks the server to use.
    pub(crate) id_len: usize,
    /// Chance of a new port before a transmission after the handshake: a client whose address
    /// changes before that has to begin again (RFC 9000 section 9).
    pub(crate) rebind: u16,
    /// The largest datagram that it tries.
    pub(crate) mtu: u16,
}

fn crypto() -> QuicClientConfig {
    let settings = quic_client::settings(Arc::new(AnyCertificate::default()), &[], &[b"h3"]);
    QuicClientConfig::try_from(settings).unwrap()
}

/// A connection of a client.
struct H3Connection {
    socket: DatagramId,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    conn: Connection,
    is_connected: bool,
    /// Streams opened by the server, with the bytes received on them.
    from_server: BTreeMap<StreamId, Vec<u8>>,
    /// The server handles no requests from this stream on.
    last: Option<u64>,
    is_closed: bool,
    /// The client has left without a packet.
    is_gone: bool,
    lost: Option<ConnectionError>,
}

/// A client at work; see [`H3Plan`].
pub(crate) struct H3Client {
    plan: H3Plan,
    tally: Rc<RefCell<Tally>>,
    connection: Option<H3Connection>,
    open: BTreeMap<StreamId, Exchange>,
    begun: u32,
    /// Requests to be made once more.
    again: VecDeque<u64>,
    /// The next time at which the client is called.
    timer: u64,
}

/// Timer numbers; others are streams to be abandoned.
const GO_ON: u64 = u64::MAX;
const VANISH: u64 = u64::MAX - 1;
/// The longest time without a packet of a client.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// The longest time until something is given up.
const SOON: u64 = 40_000_000;

impl H3Client {
    /// A client that counts in `tally`.
    pub(crate) fn new(plan: H3Plan, tally: Rc<RefCell<Tally>>) -> Box<Self> {
        let (connection, open, again) = Default::default();
        Box::new(Self { plan, tally, connection, open, begun: 0, again, timer: u64::MAX })
    }

    fn has_more(&self) -> bool {
        self.begun < self.plan.requests || !self.again.is_empty()
    }

    fn connect(&mut self, net: &mut Net, me: ActorId) {
        if !self.has_more() {
            self.tally.borrow_mut().finished += 1;
            return net.retire(me);
        }
        let mut seed = [0; 32];
        seed.fill_with(|| net.prng().next_u32() as u8);
        let mut config = EndpointConfig::new(Arc::new(NoResets));
        let id_len = self.plan.id_len;
        config.cid_generator(move || Box::new(RandomConnectionIdGenerator::new(id_len)));
        config.max_udp_payload_size(self.plan.mtu).unwrap();
        let mut endpoint = Endpoint::new(Arc::new(config), None, true, Some(seed));
        let mut transport = TransportConfig::default();
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(self.plan.mtu).interval(Duration::from_secs(1));
        transport.mtu_discovery_config(Some(discovery));
        // A server cannot reach a client with a new address before that says something.
        transport.keep_alive_interval(Some(KEEP_ALIVE));
        let mut config = ClientConfig::new(Arc::new(crypto()));
        config.transport_config(Arc::new(transport));
        let (now, name) = (moment(net), super::material::NAME);
        let (handle, conn) = endpoint.connect(now, config, self.plan.to, name).unwrap();
        let socket = net.bind_datagrams(me, self.plan.from).expect("clients have own addresses");
        self.tally.borrow_mut().connections += 1;
        self.connection = Some(H3Connection {
            socket,
            endpoint,
            handle,
            conn,
            is_connected: false,
            from_server: BTreeMap::new(),
            last: None,
            is_closed: false,
            is_gone: false,
            lost: None,
        });
        self.timer = u64::MAX;
        self.step(net, me);
    }

    fn wrong(&self, net: &Net, what: String) {
        let mut tally = self.tally.borrow_mut();
        if tally.wrong.len() < 10 {
            tally.wrong.push(format!("at {}: {what}", net.now()));
        }
    }

    /// Handles received datagrams and sends queued ones.
    fn step(&mut self, net: &mut Net, me: ActorId) {
        let Some(connection) = &mut self.connection else { return };
        if connection.is_gone {
            return self.ended(net, me);
        }
        connection.receive(net);
        connection.handle_time(net);
        connection.poll();
        if connection.is_connected && connection.lost.is_none() && !connection.is_closed {
            connection.read_control();
            self.read(net);
            self.begin_requests(net, me);
            self.write();
            self.close_if_done(net);
        }
        let Some(connection) = &mut self.connection else { return };
        connection.transmit(net, self.plan.rebind);
        connection.poll();
        if connection.conn.is_drained() {
            return self.ended(net, me);
        }
        if let Some(at) = connection.next_time().filter(|at| *at < self.timer) {
            self.timer = at;
            net.set_timer(me, at, GO_ON);
        }
    }

    fn read(&mut self, net: &mut Net) {
        let streams: Vec<StreamId> = self.open.keys().copied().collect();
        for id in streams {
            let (Some(connection), Some(exchange)) = (&mut self.connection, self.open.get_mut(&id))
            else {
                return;
            };
            match connection.read(id, |bytes| exchange.receive(bytes)) {
                Ok(false) => {}
                Ok(true) => self.answered(net, id),
                Err(StreamFailure::Reset(code)) => self.reset(id, code),
                Err(StreamFailure::Wrong(what)) => {
                    self.open.remove(&id);
                    self.wrong(net, what);
                }
            }
        }
    }

    /// Handles a complete response.
    fn answered(&mut self, net: &Net, id: StreamId) {
        let Some(exchange) = self.open.remove(&id) else { return };
        if let Some(connection) = self.connection.as_mut().filter(|_| !exchange.is_sent) {
            // The rest of the request is of no use.
            let _ = connection.conn.send_stream(id).reset(number(H3ErrorCode::NO_ERROR));
        }
        let status = match exchange.finish() {
            Ok(status) => status,
            Err(what) => return self.wrong(net, what),
        };
        let mut tally = self.tally.borrow_mut();
        tally.bytes += exchange.length;
        let twice = tally.answers.insert(exchange.id, status).is_some();
        match exchange.is_own {
            true => tally.answered += 1,
            false => tally.foreign[usize::from(status / 100)] += 1,
        }
        drop(tally);
        if twice {
            self.wrong(net, format!("{} was answered twice", exchange.id));
        }
    }

    fn reset(&mut self, id: StreamId, code: H3ErrorCode) {
        let Some(exchange) = self.open.remove(&id) else { return };
        match code {
            H3ErrorCode::REQUEST_REJECTED => self.repeat(exchange.id),
            _ => self.failed(&exchange),
        }
    }

    fn repeat(&mut self, id: u64) {
        let mut tally = self.tally.borrow_mut();
        (tally.sent, tally.repeated) = (tally.sent - 1, tally.repeated + 1);
        self.again.push_back(id);
    }

    /// Counts a request whose response will not be complete.
    fn failed(&self, exchange: &Exchange) {
        let mut tally = self.tally.borrow_mut();
        match exchange.status {
            Some(_) => tally.truncated += 1,
            None => tally.unanswered += 1,
        }
    }

    fn begin_requests(&mut self, net: &mut Net, me: ActorId) {
        while self.has_more() && self.open.len() < self.plan.streams {
            let Some(connection) = &mut self.connection else { return };
            if connection.last.is_some() {
                return;
            }
            let Some(stream) = connection.conn.streams().open(Dir::Bi) else { return };
            let id = self.again.pop_front().unwrap_or_else(|| {
                self.begun += 1;
                self.plan.first_id + u64::from(self.begun) - 1
            });
            let exchange = Exchange::new(net, id, (self.plan.post, self.plan.body));
            self.open.insert(stream, exchange);
            self.tally.borrow_mut().sent += 1;
            if net.chance(self.plan.abandon) {
                let at = net.now() + net.up_to(SOON);
                net.set_timer(me, at, stream.into());
            }
            if net.chance(self.plan.vanish) {
                let at = net.now() + net.up_to(SOON);
                net.set_timer(me, at, VANISH);
            }
        }
    }

    fn write(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        for (id, exchange) in self.open.iter_mut().filter(|(_, it)| !it.is_sent) {
            let mut stream = connection.conn.send_stream(*id);
            while !exchange.rest().is_empty() {
                match stream.write(exchange.rest()) {
                    Ok(count) => exchange.advance(count),
                    Err(_) => break,
                }
            }
            exchange.is_sent = exchange.rest().is_empty() && stream.finish().is_ok();
        }
    }

    /// Abandons a request, if it is still under way.
    fn abandon(&mut self, id: StreamId) {
        let (Some(connection), Some(exchange)) = (&mut self.connection, self.open.remove(&id))
        else {
            return;
        };
        let code = number(H3ErrorCode::REQUEST_CANCELLED);
        let _ = connection.conn.send_stream(id).reset(code);
        let _ = connection.conn.recv_stream(id).stop(code);
        let mut tally = self.tally.borrow_mut();
        tally.abandoned += 1;
        tally.given_up.insert(exchange.id, PeerFault::Left);
    }

    /// Closes the connection when no requests follow.
    fn close_if_done(&mut self, net: &mut Net) {
        let done = self.open.is_empty();
        let more = self.has_more();
        let Some(connection) = &mut self.connection else { return };
        if done && (!more || connection.last.is_some()) {
            connection.is_closed = true;
            connection.conn.close(moment(net), number(H3ErrorCode::NO_ERROR), Bytes::new());
        }
    }

    /// Leaves without a packet to the server.
    fn vanish(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        connection.is_gone = true;
        let mut tally = self.tally.borrow_mut();
        for (_, exchange) in std::mem::take(&mut self.open) {
            tally.abandoned += 1;
            tally.given_up.insert(exchange.id, PeerFault::Left);
        }
    }

    /// Handles the end of the connection.
    fn ended(&mut self, net: &mut Net, me: ActorId) {
        let Some(connection) = self.connection.take() else { return };
        net.close_datagram_socket(connection.socket);
        match &connection.lost {
            None | Some(ConnectionError::LocallyClosed) => {}
            // The server may have forgotten the connection before its last packets come.
            Some(ConnectionError::Reset) if connection.is_closed => {}
            Some(ConnectionError::ApplicationClosed(close))
                if close.error_code == number(H3ErrorCode::NO_ERROR) => {}
            // A server whose last packets were lost answers later ones with a reset.
            Some(ConnectionError::TimedOut | ConnectionError::Reset) => {
                self.tally.borrow_mut().timeouts += 1;
            }
            // The server ends a handshake that takes longer than `timeout client`.
            Some(ConnectionError::ConnectionClosed(close))
                if !connection.is_connected
                    && close.error_code == TransportErrorCode::APPLICATION_ERROR =>
            {
                self.tally.borrow_mut().timeouts += 1;
            }
            Some(error) => self.wrong(net, format!("a connection ends: {error}")),
        }
        for (stream, exchange) in std::mem::take(&mut self.open) {
            match connection.last {
                Some(last) if u64::from(stream) >= last => self.repeat(exchange.id),
                _ => self.failed(&exchange),
            }
        }
        self.connect(net, me);
    }
}

/// Why a response ended early.
enum StreamFailure {
    Reset(H3ErrorCode),
    Wrong(String),
}

impl H3Connection {
    fn receive(&mut self, net: &mut Net) {
        let (now, mut out) = (moment(net), Vec::new());
        while let Ok(datagram) = net.recv_datagram(self.socket) {
            let ecn = EcnCodepoint::from_bits(datagram.ecn);
            let (from, bytes) = (datagram.from, BytesMut::from(&*datagram.bytes));
            let event = self.endpoint.handle(now, from, None, ecn, bytes, &mut out);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                self.conn.handle_event(event);
            }
        }
    }

    fn handle_time(&mut self, net: &Net) {
        let now = moment(net);
        if self.conn.poll_timeout().is_some_and(|at| at <= now) {
            self.conn.handle_timeout(now);
        }
    }

    fn poll(&mut self) {
        while let Some(event) = self.conn.poll_endpoint_events() {
            if let Some(reply) = self.endpoint.handle_event(self.handle, event) {
                self.conn.handle_event(reply);
            }
        }
        while let Some(event) = self.conn.poll() {
            match event {
                Event::Connected => self.greet(),
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                _ => {}
            }
        }
    }

    /// Opens the control stream, and one of a type that has no meaning.
    fn greet(&mut self) {
        self.is_connected = true;
        let mut hello = Vec::new();
        encode::stream_type(StreamType::CONTROL, &mut hello);
        encode::settings(&H3Settings::default(), &mut hello);
        for bytes in [&hello[..], &[0x21, 1, 2, 3]] {
            let id = self.conn.streams().open(Dir::Uni).expect("a server allows three");
            let count = self.conn.send_stream(id).write(bytes);
            assert_eq!(count, Ok(bytes.len()), "a window is not that small");
        }
    }

    /// Reads the streams of the server, for GOAWAY.
    fn read_control(&mut self) {
        while let Some(id) = self.conn.streams().accept(Dir::Uni) {
            self.from_server.insert(id, Vec::new());
        }
        let ids: Vec<StreamId> = self.from_server.keys().copied().collect();
        for id in ids {
            let mut got = Vec::new();
            let _ = self.read(id, |bytes| {
                got.extend_from_slice(bytes);
                Ok(())
            });
            let Some(all) = self.from_server.get_mut(&id) else { continue };
            all.extend_from_slice(&got);
            if let Some(last) = goaway(all) {
                self.last = Some(last);
            }
        }
    }

    /// Reads the available bytes of a stream; `true`: the stream has ended.
    fn read(
        &mut self,
        id: StreamId,
        mut take: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<bool, StreamFailure> {
        let mut stream = self.conn.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Ok(false) };
        let result = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    if let Err(what) = take(&chunk.bytes) {
                        break Err(StreamFailure::Wrong(what));
                    }
                }
                Ok(None) => break Ok(true),
                Err(ReadError::Blocked) => break Ok(false),
                Err(ReadError::Reset(code)) => {
                    break Err(StreamFailure::Reset(H3ErrorCode(code.into_inner())));
                }
            }
        };
        let _ = chunks.finalize();
        result
    }

    fn transmit(&mut self, net: &mut Net, rebind: u16) {
        let mut buffer = Vec::new();
        let confirmed = self.conn.stats().frame_rx.handshake_done > 0;
        while let Some(transmit) = self.conn.poll_transmit(moment(net), 4, &mut buffer) {
            if confirmed && net.chance(rebind) {
                net.rebind_datagrams(self.socket);
            }
            let ecn = transmit.ecn.map_or(0, |ecn| ecn as u8);
            let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
            for bytes in buffer[..transmit.size].chunks(segment) {
                // A datagram that is too large is lost.
                let _ = net.send_marked(self.socket, transmit.destination, ecn, bytes);
            }
            buffer.clear();
        }
    }

    fn next_time(&mut self) -> Option<u64> {
        let at = self.conn.poll_timeout()?;
        Some(at.saturating_duration_since(*ORIGIN).as_nanos() as u64)
    }
}

/// The stream that a GOAWAY frame of a control stream names.
fn goaway(bytes: &[u8]) -> Option<u64> {
    let (kind, mut at) = varint::decode(bytes)?;
    let mut last = None;
    if kind != StreamType::CONTROL.0 {
        return None;
    }
    while let Some((header, size)) = wire::h3::H3FrameHeader::decode(&bytes[at..]) {
        let payload = bytes.get(at + size..at + size + header.len as usize)?;
        if header.kind == H3FrameType::GOAWAY {
            last = varint::decode(payload).map(|(last, _)| last);
        }
        at += size + payload.len();
    }
    last
}

fn moment(net: &Net) -> Instant {
    *ORIGIN + Duration::from_nanos(net.now())
}

fn number(code: H3ErrorCode) -> VarInt {
    VarInt::from_u64(code.0).unwrap()
}

impl Actor for H3Client {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => self.connect(net, me),
            Signal::Datagram(_) => self.step(net, me),
            Signal::Timer(GO_ON) if net.now() < self.timer => {}
            Signal::Timer(GO_ON) => {
                self.timer = u64::MAX;
                self.step(net, me);
            }
            Signal::Timer(VANISH) => {
                self.vanish();
                self.step(net, me);
            }
            Signal::Timer(stream) => {
                if let Ok(number) = VarInt::from_u64(stream) {
                    self.abandon(StreamId::from(number));
                    self.step(net, me);
                }
            }
            Signal::Ready(_) | Signal::Accepted(_) => {}
        }
    }
}
