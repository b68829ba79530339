//! The endpoint of one socket, which assigns datagrams to connections.

use crate::connection::QuicConnection;
use crate::connection_id::{self, ConnectionOwner, Steering, ThreadIds};
use crate::datagram::moment;
use crate::server::{ServerCrypto, VERSION_1};
use crate::settings::QuicSettings;
use crate::token::SecretKey;
use bytes::BytesMut;
use mux::h3::H3Conn;
use quinn_proto::{
    DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, EndpointEvent, Incoming, ServerConfig,
};
use std::sync::Arc;
use std::time::Instant;
use tls::Acceptor;

pub use crate::datagram::{ConnectionKey, ConnectionMessage, Datagram, Outgoing};

/// The consequence of a datagram.
#[derive(Debug)]
pub enum Arrival {
    /// None.
    Ignored,
    /// An answer without a connection, in the buffer.
    Answer(Outgoing),
    /// The datagram is for this connection.
    Known(ConnectionKey, ConnectionMessage),
    /// A connection begins.
    New(ConnectionKey, Box<QuicConnection>),
}

/// The decision on a connection that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialVerdict {
    /// The connection may begin.
    Accept,
    /// The client has to prove its address first (Retry), unless it has done so.
    Retry,
    /// The client gets a CONNECTION_CLOSE.
    Refuse,
    /// The client gets no answer.
    Ignore,
}

/// Counts of datagrams outside of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounters {
    /// Datagrams that are no packets of QUIC, or of no connection.
    pub dropped: u64,
    /// Datagrams that begin a connection and are shorter than 1,200 bytes.
    pub too_short: u64,
    /// Retry packets sent.
    pub retries: u64,
    /// Clients that have proved their address with the token of a Retry.
    pub retries_validated: u64,
    /// Clients with a token of a Retry that is not valid.
    pub retry_errors: u64,
    /// Stateless resets sent.
    pub resets: u64,
    /// Version Negotiation packets sent.
    pub negotiations: u64,
    /// Connections refused.
    pub refused: u64,
}

/// Bytes of the shortest datagram that may begin a connection (RFC 9000 section 14.1).
const MIN_INITIAL: usize = 1_200;

/// The endpoint of a listener on one thread.
pub struct QuicEndpoint {
    inner: Endpoint,
    settings: QuicSettings,
    /// The moment of the clock's zero.
    origin: Instant,
    /// Connections before the end of their handshakes.
    handshakes: u32,
    counters: EndpointCounters,
}

impl std::fmt::Debug for QuicEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuicEndpoint").field("handshakes", &self.handshakes).finish_non_exhaustive()
    }
}

impl QuicEndpoint {
    /// The endpoint of a thread of a process that has no others. `seed` is for connection IDs and
    /// the transport's random numbers.
    pub fn new(
        settings: QuicSettings,
        acceptor: Arc<Acceptor>,
        thread: u8,
        seed: [u8; 32],
    ) -> Self {
        let steering = Steering::new(&settings.secret);
        let owner = ConnectionOwner { process: 0, thread: thread.into() };
        Self::of_owner(settings, acceptor, (steering, owner), seed)
    }

    /// The endpoint of a thread, whose connections have IDs that name their owner.
    pub fn of_owner(
        settings: QuicSettings,
        acceptor: Arc<Acceptor>,
        (steering, owner): (Steering, ConnectionOwner),
        seed: [u8; 32],
    ) -> Self {
        let reset = SecretKey::derive(&settings.secret, "reset");
        let mut config = EndpointConfig::new(Arc::new(reset));
        let word = |at: usize| seed[at..at + 8].iter().fold(0, |all, it| all << 8 | u64::from(*it));
        let key = [word(0), word(8)];
        config
            .supported_versions(vec![VERSION_1])
            .cid_generator(move || Box::new(ThreadIds::new(steering, owner, key)))
            .rng_seed(Some(seed));
        let crypto = Arc::new(ServerCrypto { acceptor });
        let token = Arc::new(SecretKey::derive(&settings.secret, "token"));
        let mut server = ServerConfig::new(crypto, token);
        server.transport_config(Arc::new(settings.transport()));
        let inner = Endpoint::new(Arc::new(config), Some(Arc::new(server)), true, None);
        #[expect(clippy::disallowed_methods, reason = "any moment may stand for the clock's zero")]
        let origin = Instant::now();
        Self { inner, settings, origin, handshakes: 0, counters: EndpointCounters::default() }
    }

    /// Handles a datagram. `admits` says whether a connection may begin. Answers without a
    /// connection are put into `out`, which is empty.
    pub fn receive(
        &mut self,
        nanos: u64,
        datagram: Datagram<'_>,
        admits: impl FnOnce() -> bool,
        out: &mut Vec<u8>,
    ) -> Arrival {
        let verdict = || if admits() { InitialVerdict::Accept } else { InitialVerdict::Refuse };
        self.receive_with(nanos, datagram, verdict, out)
    }

    /// As [`QuicEndpoint::receive`], with more choices for a connection that is about to begin.
    pub fn receive_with(
        &mut self,
        nanos: u64,
        datagram: Datagram<'_>,
        verdict: impl FnOnce() -> InitialVerdict,
        out: &mut Vec<u8>,
    ) -> Arrival {
        let now = moment(self.origin, nanos);
        let ecn = EcnCodepoint::from_bits(datagram.ecn);
        let Datagram { from, to, bytes, .. } = datagram;
        match self.inner.handle(now, from, to, ecn, BytesMut::from(bytes), out) {
            None => {
                self.count_dropped(bytes);
                Arrival::Ignored
            }
            Some(DatagramEvent::Response(transmit)) => {
                self.count_answer(out);
                Arrival::Answer(Outgoing::of(&transmit))
            }
            Some(DatagramEvent::ConnectionEvent(key, event)) => {
                Arrival::Known(ConnectionKey(key), ConnectionMessage(event))
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.begin(now, incoming, verdict, out),
        }
    }

    fn count_dropped(&mut self, bytes: &[u8]) {
        self.counters.dropped += 1;
        let is_initial = bytes.first().is_some_and(|first| first & 0xb0 == 0x80);
        self.counters.too_short += u64::from(is_initial && bytes.len() < MIN_INITIAL);
    }

    /// Counts an answer to a datagram that begins no connection.
    fn count_answer(&mut self, answer: &[u8]) {
        let counter = match answer {
            [first, ..] if first & 0x80 == 0 => &mut self.counters.resets,
            [_, 0, 0, 0, 0, ..] => &mut self.counters.negotiations,
            // The only connections that are refused without a decision have a bad token.
            _ => &mut self.counters.retry_errors,
        };
        *counter += 1;
    }

    /// Accepts, refuses or puts off a connection.
    fn begin(
        &mut self,
        now: Instant,
        incoming: Incoming,
        verdict: impl FnOnce() -> InitialVerdict,
        out: &mut Vec<u8>,
    ) -> Arrival {
        let verdict = verdict();
        if verdict == InitialVerdict::Ignore {
            self.inner.ignore(incoming);
            self.counters.dropped += 1;
            return Arrival::Ignored;
        }
        if verdict == InitialVerdict::Refuse {
            self.counters.refused += 1;
            return Arrival::Answer(Outgoing::of(&self.inner.refuse(incoming, out)));
        }
        let crowded = self.handshakes >= self.settings.retry_threshold;
        let retries = crowded || self.settings.always_retries || verdict == InitialVerdict::Retry;
        if incoming.may_retry() && retries {
            self.counters.retries += 1;
            return match self.inner.retry(incoming, out) {
                Ok(transmit) => Arrival::Answer(Outgoing::of(&transmit)),
                Err(_) => Arrival::Ignored,
            };
        }
        self.counters.retries_validated += u64::from(!incoming.may_retry());
        match self.inner.accept(incoming, now, out, None) {
            Ok((key, connection)) => {
                self.handshakes += 1;
                let key = ConnectionKey(key);
                let connection = QuicConnection::new(key, connection, self.origin);
                Arrival::New(key, Box::new(connection))
            }
            Err(error) => {
                let answer = error.response.as_ref().map(Outgoing::of);
                answer.map_or(Arrival::Ignored, Arrival::Answer)
            }
        }
    }

    /// Moves bytes and events between a connection and its HTTP/3 machine, as far as they go.
    pub fn exchange(&mut self, nanos: u64, conn: &mut QuicConnection, machine: &mut H3Conn) {
        let key = conn.key();
        let inner = &mut self.inner;
        conn.exchange(nanos, machine, |event| inner.handle_event(key.0, event));
        self.handshakes -= u32::from(conn.ends_handshake());
    }

    /// Forgets a connection without a packet to its client.
    pub fn discard(&mut self, conn: &mut QuicConnection) {
        if !conn.is_over() {
            self.inner.handle_event(conn.key().0, EndpointEvent::drained());
        }
        self.handshakes -= u32::from(conn.gives_up_handshake());
    }

    /// Connections whose handshakes are under way.
    pub fn handshakes(&self) -> u32 {
        self.handshakes
    }

    /// Counts of datagrams outside of connections, since the last call.
    pub fn take_counters(&mut self) -> EndpointCounters {
        std::mem::take(&mut self.counters)
    }

    /// Connections that have not ended.
    pub fn connections(&self) -> usize {
        self.inner.open_connections()
    }

    /// Bytes of the connection IDs that it makes.
    pub fn id_len() -> usize {
        connection_id::LEN
    }
}
