//! The client: `quinn-proto` with rustls, and HTTP/3 frames written by hand.

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, StreamId, TransportConfig, VarInt,
};
use rustls::SupportedCipherSuite;
use rustls::crypto::ring;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::quic_client::{self, AnyCertificate, NoResets};
use wire::h3::qpack::{self, QpackDecoder};
use wire::h3::{H3FrameHeader, H3FrameType, H3Settings, StreamType, encode};

/// State that clients share from one connection to the next.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) config: rustls::ClientConfig,
    pub(super) seen: Arc<AnyCertificate>,
    pub(super) tokens: Arc<quinn_proto::TokenMemoryCache>,
}

impl Identity {
    pub(super) fn new() -> Self {
        Self::with(&[], &[b"h3"])
    }

    /// An identity with these cipher suites (all, if there are none) and protocols.
    pub(super) fn with(suites: &[SupportedCipherSuite], protocols: &[&[u8]]) -> Self {
        let seen = Arc::new(AnyCertificate::default());
        let mut config = quic_client::settings(seen.clone(), suites, protocols);
        config.enable_early_data = true;
        Self { config, seen, tokens: Arc::default() }
    }
}

/// A client with one connection.
pub(super) struct Peer {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub(super) conn: Connection,
    origin: Instant,
    pub(super) connected: bool,
    pub(super) lost: Option<ConnectionError>,
    /// Received bytes of streams, and whether the stream has ended.
    pub(super) received: HashMap<StreamId, (Vec<u8>, bool)>,
    /// Bytes to send, as far as the windows allow, and whether the stream ends with them.
    waiting: HashMap<StreamId, (Vec<u8>, bool)>,
}

impl Peer {
    pub(super) fn new(identity: &Identity, server: SocketAddr, name: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "any moment may stand for the clock's zero")]
        let origin = Instant::now();
        let config = EndpointConfig::new(Arc::new(NoResets));
        let mut endpoint = Endpoint::new(Arc::new(config), None, true, Some([7; 32]));
        let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
        let suite = suite.tls13().unwrap().quic_suite().unwrap();
        let crypto = QuicClientConfig::with_initial(Arc::new(identity.config.clone()), suite);
        let mut config = ClientConfig::new(Arc::new(crypto.unwrap()));
        let mut transport = TransportConfig::default();
        transport.max_idle_timeout(Some(VarInt::from_u32(20_000).into()));
        config.transport_config(Arc::new(transport)).token_store(identity.tokens.clone());
        let (handle, conn) = endpoint.connect(origin, config, server, name).unwrap();
        Self {
            endpoint,
            handle,
            conn,
            origin,
            connected: false,
            lost: None,
            received: HashMap::new(),
            waiting: HashMap::new(),
        }
    }

    fn now(&self, nanos: u64) -> Instant {
        self.origin + Duration::from_nanos(nanos)
    }

    pub(super) fn receive(&mut self, nanos: u64, from: SocketAddr, bytes: &[u8]) {
        let (now, mut out) = (self.now(nanos), Vec::new());
        let event = self.endpoint.handle(now, from, None, None, BytesMut::from(bytes), &mut out);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.conn.handle_event(event);
        }
    }

    /// Runs the connection; returns the datagrams to send.
    pub(super) fn run(&mut self, nanos: u64) -> Vec<Vec<u8>> {
        let now = self.now(nanos);
        if self.conn.poll_timeout().is_some_and(|at| at <= now) {
            self.conn.handle_timeout(now);
        }
        while let Some(event) = self.conn.poll_endpoint_events() {
            if let Some(reply) = self.endpoint.handle_event(self.handle, event) {
                self.conn.handle_event(reply);
            }
        }
        while let Some(event) = self.conn.poll() {
            match event {
                Event::Connected => self.connected = true,
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                _ => {}
            }
        }
        while let Some(id) = self.conn.streams().accept(Dir::Uni) {
            self.received.entry(id).or_default();
        }
        self.read();
        self.write();
        let mut datagrams = Vec::new();
        let mut buffer = Vec::new();
        while let Some(transmit) = self.conn.poll_transmit(now, 1, &mut buffer) {
            datagrams.push(buffer[..transmit.size].to_vec());
            buffer.clear();
        }
        datagrams
    }

    fn read(&mut self) {
        for (id, (bytes, ended)) in &mut self.received {
            let mut stream = self.conn.recv_stream(*id);
            let Ok(mut chunks) = stream.read(true) else { continue };
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
                    Ok(None) => {
                        *ended = true;
                        break;
                    }
                    Err(_) => break,
                }
            }
            let _ = chunks.finalize();
        }
    }

    fn write(&mut self) {
        for (id, (bytes, ends)) in &mut self.waiting {
            while !bytes.is_empty() {
                match self.conn.send_stream(*id).write(bytes) {
                    Ok(count) => drop(bytes.drain(..count)),
                    Err(_) => break,
                }
            }
            if bytes.is_empty() && std::mem::take(ends) {
                let _ = self.conn.send_stream(*id).finish();
            }
        }
    }

    /// Closes the connection.
    pub(super) fn leave(&mut self, nanos: u64) {
        self.conn.close(self.now(nanos), VarInt::from_u32(0x100), bytes::Bytes::new());
    }

    pub(super) fn next_time(&mut self) -> Option<u64> {
        let at = self.conn.poll_timeout()?;
        Some(at.saturating_duration_since(self.origin).as_nanos() as u64)
    }

    /// Sends bytes on a new stream of a kind.
    pub(super) fn open(&mut self, dir: Dir, bytes: &[u8], ends: bool) -> StreamId {
        let id = self.conn.streams().open(dir).unwrap();
        self.waiting.insert(id, (bytes.to_vec(), ends));
        if dir == Dir::Bi {
            self.received.insert(id, Default::default());
        }
        id
    }

    /// Opens the control stream.
    pub(super) fn greet(&mut self) {
        let mut hello = Vec::new();
        encode::stream_type(StreamType::CONTROL, &mut hello);
        encode::settings(&H3Settings::default(), &mut hello);
        self.open(Dir::Uni, &hello, false);
    }

    /// Sends a request with a body.
    pub(super) fn request(&mut self, method: &str, path: &str, body: &[u8]) -> StreamId {
        let mut section = Vec::new();
        qpack::prefix(&mut section);
        let fields =
            [(":method", method), (":scheme", "https"), (":authority", "a.test"), (":path", path)];
        for (name, value) in fields {
            let id = htx::HeaderId::from_lower(name.as_bytes());
            qpack::field(id, name.as_bytes(), value.as_bytes(), &mut section);
        }
        let mut bytes = Vec::new();
        encode::header(H3FrameType::HEADERS, section.len(), &mut bytes);
        bytes.extend_from_slice(&section);
        if !body.is_empty() {
            encode::header(H3FrameType::DATA, body.len(), &mut bytes);
            bytes.extend_from_slice(body);
        }
        self.open(Dir::Bi, &bytes, true)
    }

    /// The status and body of a response that is complete.
    pub(super) fn response(&self, id: StreamId) -> Option<(String, Vec<u8>)> {
        let (bytes, ended) = &self.received[&id];
        if !ended {
            return None;
        }
        let (mut rest, mut status, mut body) = (&bytes[..], String::new(), Vec::new());
        while let Some((header, size)) = H3FrameHeader::decode(rest) {
            let payload = &rest[size..size + header.len as usize];
            match header.kind {
                H3FrameType::HEADERS => {
                    let note = |name: &[u8], value: &[u8]| {
                        if name == b":status" {
                            status = String::from_utf8(value.to_vec()).unwrap();
                        }
                    };
                    QpackDecoder::new(0).decode_within(payload, usize::MAX, note).unwrap();
                }
                H3FrameType::DATA => body.extend_from_slice(payload),
                _ => {}
            }
            rest = &rest[size + header.len as usize..];
        }
        Some((status, body))
    }
}
