//! A client of HTTP/3 with one connection, and programs that have a listener for it.

use super::{Identity, PATIENCE, Running, Setup};
use bytes::BytesMut;
use openssl::x509::X509;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ReadError, StreamId, TransportConfig, WriteError,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::quic_client::NoResets;
use wire::h3::qpack::{self, QpackDecoder};
use wire::h3::{H3FrameHeader, H3FrameType, H3Settings, StreamType, encode, varint};

/// A client with one connection over a socket.
pub(crate) struct H3Client {
    pub(crate) socket: UdpSocket,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub(crate) conn: Connection,
    /// How the connection has ended.
    pub(crate) lost: Option<ConnectionError>,
    /// The datagrams that are sent for one.
    pub(crate) mangle: Mangle,
    /// Bytes of the server's unidirectional streams.
    own: HashMap<StreamId, Vec<u8>>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestLoss {
    /// The server has surely not handled it: it may be sent again (RFC 9114 section 5.2).
    Unprocessed,
    /// The server may have handled it.
    Failed(String),
}

/// The patience with a server under load: longer than its timeouts.
const LONG: Duration = Duration::from_secs(40);

/// The code with which a server rejects a request that it has not handled.
const REQUEST_REJECTED: u64 = 0x10b;

/// Maps a datagram to the datagrams that are sent in its place.
pub(crate) type Mangle = fn(&[u8]) -> Vec<Vec<u8>>;

/// Options of a client.
#[derive(Default)]
pub(crate) struct H3Options {
    /// Bytes that the server may send before they are read.
    pub(crate) window: Option<u32>,
    /// A certificate and its key in PKCS #8, both in DER.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Where the secrets of the session go.
    pub(crate) key_log: Option<Arc<dyn rustls::KeyLog>>,
}

#[expect(clippy::disallowed_methods, reason = "the transport of the client takes the time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl H3Client {
    /// A client whose handshake has not begun.
    pub(crate) fn new(server: SocketAddr, authority: &[u8]) -> Self {
        Self::with(server, authority, H3Options::default())
    }

    /// The same, with options.
    pub(crate) fn with(server: SocketAddr, authority: &[u8], options: H3Options) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(server).expect("a route");
        socket.set_read_timeout(Some(Duration::from_millis(10))).expect("an open socket");
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from(authority.to_vec())).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("a version")
            .with_root_certificates(roots);
        let mut config = match options.identity {
            Some((certificate, key)) => config
                .with_client_auth_cert(
                    vec![certificate.into()],
                    PrivatePkcs8KeyDer::from(key).into(),
                )
                .expect("a key"),
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h3".to_vec()];
        if let Some(log) = options.key_log {
            config.key_log = log;
        }
        let crypto = QuicClientConfig::try_from(config).expect("the initial suite");
        let config = EndpointConfig::new(Arc::new(NoResets));
        let mut endpoint = Endpoint::new(Arc::new(config), None, true, None);
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        if let Some(window) = options.window {
            transport.receive_window(window.into()).stream_receive_window(window.into());
        }
        config.transport_config(Arc::new(transport));
        let (handle, conn) = endpoint.connect(now(), config, server, "a.test").expect("a name");
        let mangle = |bytes: &[u8]| vec![bytes.to_vec()];
        Self { socket, endpoint, handle, conn, lost: None, mangle, own: HashMap::new() }
    }

    pub(crate) fn connect(server: SocketAddr, authority: &[u8]) -> Self {
        let mut client = Self::new(server, authority);
        client.greet();
        client
    }

    /// The same, for a server that may fail.
    pub(crate) fn try_connect(server: SocketAddr, authority: &[u8]) -> Result<Self, RequestLoss> {
        let mut client = Self::new(server, authority);
        let connected = |it: &mut Self| it.lost.is_some() || !it.conn.is_handshaking();
        match client.try_run(LONG, connected) && client.lost.is_none() {
            true => client.greet(),
            false => return Err(RequestLoss::Failed(format!("handshake: {:?}", client.lost))),
        }
        Ok(client)
    }

    /// Completes the handshake, and opens the control stream.
    pub(crate) fn greet(&mut self) {
        self.run(|client| {
            assert!(client.lost.is_none(), "{:?}", client.lost);
            !client.conn.is_handshaking()
        });
        let mut hello = Vec::new();
        encode::stream_type(StreamType::CONTROL, &mut hello);
        encode::settings(&H3Settings::default(), &mut hello);
        self.send(Dir::Uni, &hello);
    }

    /// Sends the pending packets, and receives nothing.
    pub(crate) fn knock(&mut self) {
        let mut out = Vec::new();
        while let Some(transmit) = self.conn.poll_transmit(now(), 1, &mut out) {
            for bytes in (self.mangle)(&out[..transmit.size]) {
                self.socket.send(&bytes).expect("an open socket");
            }
            out.clear();
        }
    }

    /// Sends a malformed request; `false`: the connection has ended.
    pub(crate) fn break_stream(&mut self) -> bool {
        let Some(id) = self.conn.streams().open(Dir::Bi) else {
            self.rest();
            return self.lost.is_none();
        };
        let bytes = fields(&[(":method", "GET"), (":scheme", "https")]);
        let _ = self.conn.send_stream(id).write(&bytes);
        let _ = self.conn.send_stream(id).finish();
        self.rest();
        // The server allows another stream when this one is over.
        let mut stream = self.conn.recv_stream(id);
        if let Ok(mut chunks) = stream.read(true) {
            let _ = chunks.next(usize::MAX);
            let _ = chunks.finalize();
        }
        self.lost.is_none()
    }

    /// Sends and receives until something holds.
    pub(crate) fn run(&mut self, done: impl FnMut(&mut Self) -> bool) {
        assert!(self.try_run(PATIENCE, done), "in time");
    }

    /// The same; `false`: it did not hold in time.
    fn try_run(&mut self, patience: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = now() + patience;
        let mut buffer = [0; 2_048];
        while !done(self) {
            if now() >= end {
                return false;
            }
            while let Some(event) = self.conn.poll_endpoint_events() {
                if let Some(reply) = self.endpoint.handle_event(self.handle, event) {
                    self.conn.handle_event(reply);
                }
            }
            while let Some(event) = self.conn.poll() {
                if let Event::ConnectionLost { reason } = event {
                    self.lost = Some(reason);
                }
            }
            self.knock();
            let mut out = Vec::new();
            if let Ok(count) = self.socket.recv(&mut buffer) {
                let (from, bytes) = (self.conn.remote_address(), BytesMut::from(&buffer[..count]));
                let event = self.endpoint.handle(now(), from, None, None, bytes, &mut out);
                if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                    self.conn.handle_event(event);
                }
            }
            if self.conn.poll_timeout().is_some_and(|at| at <= now()) {
                self.conn.handle_timeout(now());
            }
        }
        true
    }

    /// Whether the server has announced that it takes no more requests on this connection.
    pub(crate) fn is_going_away(&mut self) -> bool {
        self.goaway().is_some()
    }

    /// The first request that the server does not handle, as its last GOAWAY says.
    pub(crate) fn goaway(&mut self) -> Option<u64> {
        while let Some(id) = self.conn.streams().accept(Dir::Uni) {
            self.own.insert(id, Vec::new());
        }
        for (id, bytes) in &mut self.own {
            let mut stream = self.conn.recv_stream(*id);
            let Ok(mut chunks) = stream.read(true) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                bytes.extend_from_slice(&chunk.bytes);
            }
            let _ = chunks.finalize();
        }
        self.own.values().find_map(|bytes| last_goaway(bytes))
    }

    /// Waits for the end of the connection: the code with which the server has closed it.
    pub(crate) fn end(&mut self) -> u64 {
        self.run(|client| client.lost.is_some());
        match &self.lost {
            Some(ConnectionError::ApplicationClosed(close)) => close.error_code.into_inner(),
            Some(ConnectionError::ConnectionClosed(close)) => close.error_code.into(),
            other => panic!("{other:?}"),
        }
    }

    /// Sends bytes on a new stream; a bidirectional one ends with them.
    pub(crate) fn send(&mut self, dir: Dir, mut bytes: &[u8]) -> StreamId {
        let mut id = None;
        self.run(|client| {
            id = id.or_else(|| client.conn.streams().open(dir));
            let Some(id) = id else { return false };
            bytes = &bytes[client.write(id, bytes)..];
            bytes.is_empty()
        });
        let id = id.expect("the stream is open");
        if dir == Dir::Bi {
            // A stream that the server has stopped has no end.
            let _ = self.conn.send_stream(id).finish();
        }
        id
    }

    /// The status and the body of the answer to a request.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> (String, Vec<u8>) {
        let id = self.request(method, path, body);
        self.answer(id)
    }

    /// Writes what the windows allow; a stream that the server has stopped accepts and drops all
    /// bytes.
    pub(crate) fn write(&mut self, id: StreamId, bytes: &[u8]) -> usize {
        match self.conn.send_stream(id).write(bytes) {
            Ok(count) => count,
            Err(WriteError::Blocked) => 0,
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => bytes.len(),
        }
    }

    /// Sends a request.
    pub(crate) fn request(&mut self, method: &str, path: &str, body: &[u8]) -> StreamId {
        let mut bytes = head(method, path);
        encode::header(H3FrameType::DATA, body.len(), &mut bytes);
        bytes.extend_from_slice(body);
        self.send(Dir::Bi, &bytes)
    }

    /// Begins a request whose body has `len` bytes, to be sent with [`H3Client::append`].
    pub(crate) fn begin(&mut self, method: &str, path: &str, len: usize) -> StreamId {
        let (id, bytes) = self.open(method, path, len);
        self.append(id, &bytes);
        id
    }

    /// Opens a stream for a request whose body has `len` bytes; the bytes of its head.
    pub(crate) fn open(&mut self, method: &str, path: &str, len: usize) -> (StreamId, Vec<u8>) {
        let mut bytes = head(method, path);
        encode::header(H3FrameType::DATA, len, &mut bytes);
        (self.conn.streams().open(Dir::Bi).expect("the server allows a stream"), bytes)
    }

    /// Sends bytes on an open stream.
    pub(crate) fn append(&mut self, id: StreamId, mut bytes: &[u8]) {
        self.run(|client| {
            assert!(client.lost.is_none(), "{:?}", client.lost);
            bytes = &bytes[client.write(id, bytes)..];
            bytes.is_empty()
        });
    }

    /// Ends a request.
    pub(crate) fn finish(&mut self, id: StreamId) {
        self.conn.send_stream(id).finish().expect("an open stream");
    }

    /// Closes the connection with a code of HTTP/3.
    pub(crate) fn close(&mut self, code: u32) {
        self.conn.close(now(), code.into(), bytes::Bytes::new());
        self.rest();
    }

    /// Runs the connection for a while.
    pub(crate) fn rest(&mut self) {
        let mut turns = 0;
        self.run(|_| {
            turns += 1;
            turns > 2
        });
    }

    /// The status and the body of an answer.
    pub(crate) fn answer(&mut self, id: StreamId) -> (String, Vec<u8>) {
        self.answers(&[id]).remove(0)
    }

    /// The statuses and the bodies of answers, which are read as they come.
    pub(crate) fn answers(&mut self, ids: &[StreamId]) -> Vec<(String, Vec<u8>)> {
        self.raw_answers(ids).iter().map(|bytes| message(bytes)).collect()
    }

    /// The frames of an answer.
    pub(crate) fn raw_answer(&mut self, id: StreamId) -> Vec<u8> {
        self.raw_answers(&[id]).remove(0)
    }

    fn raw_answers(&mut self, ids: &[StreamId]) -> Vec<Vec<u8>> {
        let mut got = vec![(Vec::new(), false); ids.len()];
        self.run(|client| {
            assert!(client.lost.is_none(), "{:?}", client.lost);
            for (id, (bytes, ended)) in ids.iter().zip(&mut got) {
                *ended = *ended || client.read(*id, bytes);
            }
            got.iter().all(|(_, ended)| *ended)
        });
        got.into_iter().map(|(bytes, _)| bytes).collect()
    }

    /// The status and the body of the answer to a request, which ends with `rest`.
    pub(crate) fn try_finish(
        &mut self,
        id: StreamId,
        mut rest: &[u8],
    ) -> Result<(String, Vec<u8>), RequestLoss> {
        let (mut got, mut failure, mut is_sent) = (Vec::new(), None, false);
        let ended = self.try_run(LONG, |client| {
            if !rest.is_empty() {
                rest = &rest[client.write(id, rest)..];
            }
            if rest.is_empty() && !std::mem::replace(&mut is_sent, true) {
                // A stream that the server has stopped has no end.
                let _ = client.conn.send_stream(id).finish();
            }
            match client.try_read(id, &mut got) {
                Ok(true) => true,
                Ok(false) => client.lost.is_some(),
                Err(error) => {
                    failure = Some(error);
                    true
                }
            }
        });
        let lost = self.lost.clone();
        match (failure, lost) {
            (Some(ReadError::Reset(code)), _) if code.into_inner() == REQUEST_REJECTED => {
                Err(RequestLoss::Unprocessed)
            }
            (Some(error), _) => Err(RequestLoss::Failed(format!("{error} after {}", got.len()))),
            (None, _) if !ended => Err(RequestLoss::Failed("no answer in time".to_owned())),
            (None, Some(_)) if self.goaway().is_some_and(|first| u64::from(id) >= first) => {
                Err(RequestLoss::Unprocessed)
            }
            (None, Some(error)) => {
                let (sent, bytes, goaway) = (rest.is_empty(), got.len(), self.goaway());
                let text = format!("{error}: stream {id}, sent {sent}, {bytes} bytes, {goaway:?}");
                Err(RequestLoss::Failed(text))
            }
            (None, None) => Ok(message(&got)),
        }
    }

    /// Reads the bytes that have arrived on a stream; `true`: it has ended.
    fn try_read(&mut self, id: StreamId, bytes: &mut Vec<u8>) -> Result<bool, ReadError> {
        let mut stream = self.conn.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Ok(false) };
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => break Ok(true),
                Err(ReadError::Blocked) => break Ok(false),
                Err(error) => break Err(error),
            }
        };
        let _ = chunks.finalize();
        ended
    }

    /// Reads the bytes that have arrived on a stream; `true`: it has ended.
    fn read(&mut self, id: StreamId, bytes: &mut Vec<u8>) -> bool {
        self.try_read(id, bytes).expect("a stream that is not reset")
    }
}

/// The frame with the head of a request.
fn head(method: &str, path: &str) -> Vec<u8> {
    fields(&[(":method", method), (":scheme", "https"), (":authority", "a.test"), (":path", path)])
}

/// The frame with these fields.
pub(crate) fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    qpack::prefix(&mut section);
    for (name, value) in fields {
        let id = htx::HeaderId::from_lower(name.as_bytes());
        qpack::field(id, name.as_bytes(), value.as_bytes(), &mut section);
    }
    let mut bytes = Vec::new();
    encode::header(H3FrameType::HEADERS, section.len(), &mut bytes);
    bytes.extend_from_slice(&section);
    bytes
}

/// The number in the last GOAWAY frame of a stream of the server, if it is its control stream.
fn last_goaway(bytes: &[u8]) -> Option<u64> {
    let (0, mut rest) = bytes.split_first()? else { return None };
    let mut last = None;
    while let Some((header, size)) = H3FrameHeader::decode(rest) {
        let Some((payload, next)) = rest[size..].split_at_checked(header.len as usize) else {
            return last;
        };
        if header.kind == H3FrameType::GOAWAY {
            last = varint::decode(payload).map(|(number, _)| number);
        }
        rest = next;
    }
    last
}

fn message(mut rest: &[u8]) -> (String, Vec<u8>) {
    let (mut status, mut body) = (String::new(), Vec::new());
    while let Some((header, size)) = H3FrameHeader::decode(rest) {
        let payload = &rest[size..size + header.len as usize];
        match header.kind {
            H3FrameType::HEADERS => {
                let note = |name: &[u8], value: &[u8]| {
                    if name == b":status" {
                        status = String::from_utf8_lossy(value).into_owned();
                    }
                };
                QpackDecoder::new(0).decode_within(payload, usize::MAX, note).expect("a section");
            }
            H3FrameType::DATA => body.extend_from_slice(payload),
            _ => {}
        }
        rest = &rest[size + header.len as usize..];
    }
    (status, body)
}

/// An address for the listener, which the system has given and nothing else uses.
pub(crate) fn free_address() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("a bound socket")
}

/// A program with a frontend of HTTP/3, and a client's trust in it.
pub(crate) fn started(global: &str, front: &str) -> (Running, SocketAddr, Vec<u8>) {
    started_with("", global, front)
}

/// The same, with further words on the `bind` line.
pub(crate) fn started_with(
    words: &str,
    global: &str,
    front: &str,
) -> (Running, SocketAddr, Vec<u8>) {
    let address = free_address();
    let authority = Identity::new("authority", None);
    let identity = Identity::new("a.test", Some(&authority));
    let weir = Setup::new(&format!(
        "global\n    stats socket <dir>/cli level admin\n{global}defaults\n    mode http\n    \
         timeout connect 5s\n    timeout client 20s\n    timeout server 20s\nfrontend web\n    \
         bind quic4@<quic> ssl crt <dir>/a.pem alpn h3{words}\n{front}"
    ))
    .file("a.pem", &identity.pem())
    .with("quic", address)
    .start();
    weir.cli("show info");
    let certificate = X509::from_pem(authority.certificate().as_bytes()).expect("a certificate");
    (weir, address, certificate.to_der().expect("a certificate"))
}

/// A rule that answers each request.
pub(crate) const RETURN: &str =
    "    http-request return status 200 content-type text/plain string hello\n";
