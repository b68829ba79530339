//! The endpoint of one socket: it tells datagrams apart by their connections.

use crate::connection::QuicConnection;
use crate::connection_id::{self, ThreadIds};
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

pub use crate::connection_id::Steering;
pub use crate::datagram::{ConnectionKey, ConnectionMessage, Datagram, Outgoing};

/// The consequence of a datagram.
#[derive(Debug)]
pub enum Arrival {
    /// None.
    Ignored,
    /// An answer without a connection, in the buffer.
    Answer(Outgoing),
    /// It is for this connection.
    Known(ConnectionKey, ConnectionMessage),
    /// A connection begins.
    New(ConnectionKey, Box<QuicConnection>),
}

/// The endpoint of a listener on one thread.
pub struct QuicEndpoint {
    inner: Endpoint,
    settings: QuicSettings,
    /// The moment that the clock's zero stands for.
    origin: Instant,
    /// Connections whose handshakes are under way.
    handshakes: u32,
}

impl std::fmt::Debug for QuicEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuicEndpoint").field("handshakes", &self.handshakes).finish_non_exhaustive()
    }
}

impl QuicEndpoint {
    /// The endpoint of a thread. `seed` is for connection IDs and the transport's random numbers.
    pub fn new(
        settings: QuicSettings,
        acceptor: Arc<Acceptor>,
        thread: u8,
        seed: [u8; 32],
    ) -> Self {
        let secret = settings.secret.clone();
        let mut config = EndpointConfig::new(Arc::new(SecretKey::derive(&secret, "reset")));
        let mut word = [0; 8];
        word.copy_from_slice(&seed[..8]);
        let start = u64::from_le_bytes(word);
        config
            .supported_versions(vec![VERSION_1])
            .cid_generator(move || Box::new(ThreadIds::new(&secret, thread, start)))
            .rng_seed(Some(seed));
        let crypto = Arc::new(ServerCrypto { acceptor });
        let token = Arc::new(SecretKey::derive(&settings.secret, "token"));
        let mut server = ServerConfig::new(crypto, token);
        server.transport_config(Arc::new(settings.transport()));
        let inner = Endpoint::new(Arc::new(config), Some(Arc::new(server)), true, None);
        #[expect(clippy::disallowed_methods, reason = "any moment may stand for the clock's zero")]
        let origin = Instant::now();
        Self { inner, settings, origin, handshakes: 0 }
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
        let now = moment(self.origin, nanos);
        let ecn = EcnCodepoint::from_bits(datagram.ecn);
        let Datagram { from, to, bytes, .. } = datagram;
        match self.inner.handle(now, from, to, ecn, BytesMut::from(bytes), out) {
            None => Arrival::Ignored,
            Some(DatagramEvent::Response(transmit)) => Arrival::Answer(Outgoing::of(&transmit)),
            Some(DatagramEvent::ConnectionEvent(key, event)) => {
                Arrival::Known(ConnectionKey(key), ConnectionMessage(event))
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.begin(now, incoming, admits, out),
        }
    }

    /// Accepts, refuses or puts off a connection.
    fn begin(
        &mut self,
        now: Instant,
        incoming: Incoming,
        admits: impl FnOnce() -> bool,
        out: &mut Vec<u8>,
    ) -> Arrival {
        let crowded = self.handshakes >= self.settings.retry_threshold;
        if incoming.may_retry() && (crowded || self.settings.always_retries) {
            return match self.inner.retry(incoming, out) {
                Ok(transmit) => Arrival::Answer(Outgoing::of(&transmit)),
                Err(_) => Arrival::Ignored,
            };
        }
        if !admits() {
            return Arrival::Answer(Outgoing::of(&self.inner.refuse(incoming, out)));
        }
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

    /// Connections that have not ended.
    pub fn connections(&self) -> usize {
        self.inner.open_connections()
    }

    /// Bytes of the connection IDs that it makes.
    pub fn id_len() -> usize {
        connection_id::LEN
    }
}
