//! HTTP/3 over QUIC: clients of `bind quic4@` reach servers through the ordinary rules.

use crate::support::{Identity, LogReceiver, Origin, Running, Setup, reply, run};
use bytes::BytesMut;
use openssl::x509::X509;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ReadError, StreamId,
};
use rustls::pki_types::CertificateDer;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wire::h3::qpack::{self, QpackDecoder};
use wire::h3::{H3FrameHeader, H3FrameType, H3Settings, StreamType, encode};

/// A client with one connection over a socket.
struct H3Client {
    socket: UdpSocket,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    conn: Connection,
    /// How the connection has ended.
    lost: Option<ConnectionError>,
}

/// A client sends no stateless resets that matter.
struct NoResets;

impl quinn_proto::crypto::HmacKey for NoResets {
    fn sign(&self, _: &[u8], signature_out: &mut [u8]) {
        signature_out.fill(1);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), quinn_proto::crypto::CryptoError> {
        Err(quinn_proto::crypto::CryptoError)
    }
}

#[expect(clippy::disallowed_methods, reason = "the transport of the client takes the time")]
fn now() -> Instant {
    Instant::now()
}

impl H3Client {
    /// A client whose handshake has not begun.
    fn new(server: SocketAddr, authority: &[u8]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(server).expect("a route");
        socket.set_read_timeout(Some(Duration::from_millis(10))).expect("an open socket");
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from(authority.to_vec())).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h3".to_vec()];
        let crypto = QuicClientConfig::try_from(config).expect("the initial suite");
        let config = EndpointConfig::new(Arc::new(NoResets));
        let mut endpoint = Endpoint::new(Arc::new(config), None, true, None);
        let config = ClientConfig::new(Arc::new(crypto));
        let (handle, conn) = endpoint.connect(now(), config, server, "a.test").expect("a name");
        Self { socket, endpoint, handle, conn, lost: None }
    }

    fn connect(server: SocketAddr, authority: &[u8]) -> Self {
        let mut client = Self::new(server, authority);
        client.run(|client| !client.conn.is_handshaking());
        let mut hello = Vec::new();
        encode::stream_type(StreamType::CONTROL, &mut hello);
        encode::settings(&H3Settings::default(), &mut hello);
        client.send(Dir::Uni, &hello);
        client
    }

    /// Sends and receives until something holds.
    fn run(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let end = now() + crate::support::PATIENCE;
        let mut buffer = [0; 2_048];
        while !done(self) {
            assert!(now() < end, "in time");
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
            let mut out = Vec::new();
            while let Some(transmit) = self.conn.poll_transmit(now(), 1, &mut out) {
                self.socket.send(&out[..transmit.size]).expect("an open socket");
                out.clear();
            }
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
    }

    /// Waits for the end of the connection: the code with which the server has closed it.
    fn end(&mut self) -> u64 {
        self.run(|client| client.lost.is_some());
        match &self.lost {
            Some(ConnectionError::ApplicationClosed(close)) => close.error_code.into_inner(),
            Some(ConnectionError::ConnectionClosed(close)) => close.error_code.into(),
            other => panic!("{other:?}"),
        }
    }

    /// Sends bytes on a new stream; a bidirectional one ends with them.
    fn send(&mut self, dir: Dir, mut bytes: &[u8]) -> StreamId {
        let mut id = None;
        self.run(|client| {
            id = id.or_else(|| client.conn.streams().open(dir));
            let Some(id) = id else { return false };
            bytes = &bytes[client.conn.send_stream(id).write(bytes).unwrap_or(0)..];
            bytes.is_empty()
        });
        let id = id.expect("the stream is open");
        if dir == Dir::Bi {
            self.conn.send_stream(id).finish().expect("an open stream");
        }
        id
    }

    /// The status and the body of the answer to a request.
    fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> (String, Vec<u8>) {
        let id = self.request(method, path, body);
        self.answer(id)
    }

    /// Sends a request.
    fn request(&mut self, method: &str, path: &str, body: &[u8]) -> StreamId {
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
        encode::header(H3FrameType::DATA, body.len(), &mut bytes);
        bytes.extend_from_slice(body);
        self.send(Dir::Bi, &bytes)
    }

    /// The status and the body of an answer.
    fn answer(&mut self, id: StreamId) -> (String, Vec<u8>) {
        let mut got = Vec::new();
        self.run(|client| {
            let mut stream = client.conn.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return false };
            let ended = loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => got.extend_from_slice(&chunk.bytes),
                    Ok(None) => break true,
                    Err(ReadError::Blocked) => break false,
                    Err(error) => panic!("{error}"),
                }
            };
            let _ = chunks.finalize();
            ended
        });
        message(&got)
    }
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
fn free_address() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("a bound socket")
}

#[test]
fn requests_of_http3_reach_servers_through_the_rules() {
    let (log, address) = (LogReceiver::new(), free_address());
    let authority = Identity::new("authority", None);
    let identity = Identity::new("a.test", Some(&authority));
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            let body = request.text().replace("hello", "world");
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            peer.send(text);
        }
    });
    let _weir = Setup::new(&format!(
        "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n    cluster-secret s3cret\n    tune.quic.frontend.max-idle-timeout 20s\n    \
         tune.quic.frontend.max-streams-bidi 50\n    tune.quic.frontend.conn-tx-buffers.limit 20\n    \
         tune.quic.retry-threshold 50\ndefaults\n    mode http\n    timeout connect 5s\n    \
         timeout client 20s\n    timeout server 20s\nfrontend web\n    \
         bind quic4@<quic> ssl crt <dir>/a.pem alpn h3 quic-force-retry quic-cc-algo newreno\n    \
         log <log> format raw local0\n    log-format \"%HV %ST %sslv %[fc_http_major] %[ssl_fc_alpn] %[src]\"\n    \
         http-request return status 200 content-type text/plain lf-string %[req.ver],%[ssl_fc_sni],%[dst] if {{ path /facts }}\n    \
         default_backend app\nbackend app\n    server s {}\n",
        origin.address()
    ))
    .file("a.pem", &identity.pem())
    .with("log", log.address())
    .with("quic", address)
    .start();
    let certificate = X509::from_pem(authority.certificate().as_bytes()).expect("a certificate");
    let certificate = certificate.to_der().expect("a certificate");
    let mut client = H3Client::connect(address, &certificate);
    let facts = client.ask("GET", "/facts", b"");
    assert_eq!(facts, ("200".to_owned(), b"3.0,a.test,127.0.0.1".to_vec()));
    assert_eq!(log.line(), "HTTP/3.0 200 TLSv1.3 3 h3 127.0.0.1");
    assert_eq!(client.ask("POST", "/", b"hello").1, b"world");
    let large = vec![b'x'; 300_000];
    assert!(client.ask("POST", "/", &large).1 == large);
}

/// A program with a frontend of HTTP/3, and a client's trust in it.
fn started(global: &str, front: &str) -> (Running, SocketAddr, Vec<u8>) {
    let address = free_address();
    let authority = Identity::new("authority", None);
    let identity = Identity::new("a.test", Some(&authority));
    let weir = Setup::new(&format!(
        "global\n    stats socket <dir>/cli level admin\n{global}defaults\n    mode http\n    \
         timeout connect 5s\n    timeout client 20s\n    timeout server 20s\nfrontend web\n    \
         bind quic4@<quic> ssl crt <dir>/a.pem alpn h3\n{front}"
    ))
    .file("a.pem", &identity.pem())
    .with("quic", address)
    .start();
    weir.cli("show info");
    let certificate = X509::from_pem(authority.certificate().as_bytes()).expect("a certificate");
    (weir, address, certificate.to_der().expect("a certificate"))
}

const RETURN: &str = "    http-request return status 200 content-type text/plain string hello\n";

#[test]
fn clients_that_rules_refuse_are_told_and_hold_no_handshake() {
    let global = "    tune.quic.retry-threshold 1\n";
    for (rule, code) in [("connection", 0x0c), ("session", 0x10b)] {
        let front = format!("    tcp-request {rule} reject\n{RETURN}");
        let (_weir, address, trust) = started(global, &front);
        for _ in 0..3 {
            let mut client = H3Client::new(address, &trust);
            assert_eq!(client.end(), code);
            assert_eq!(client.conn.stats().frame_rx.connection_close, 1);
        }
    }
}

#[test]
fn answers_to_head_have_a_length_and_end_without_a_body() {
    let origin = Origin::new(|mut peer| {
        while peer.request().is_some() {
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        }
    });
    let front = format!(
        "    http-request return status 200 content-type text/plain string hello if {{ path /own }}\n    \
         default_backend app\nbackend app\n    server s {}\n",
        origin.address()
    );
    let (_weir, address, trust) = started("", &front);
    let mut client = H3Client::connect(address, &trust);
    for path in ["/", "/own", "/"] {
        assert_eq!(client.ask("HEAD", path, b""), ("200".to_owned(), Vec::new()));
    }
    assert!(client.lost.is_none());
}

#[test]
fn a_soft_stop_closes_idle_connections_and_ends_the_process() {
    let (mut weir, address, trust) = started("", RETURN);
    let mut client = H3Client::connect(address, &trust);
    let mut silent = H3Client::connect(address, &trust);
    silent.run(|client| client.conn.stats().frame_rx.handshake_done > 0);
    assert_eq!(client.ask("GET", "/", b"").1, b"hello");
    weir.signal(sys::signal::USR1);
    assert_eq!((client.end(), silent.end()), (0x100, 0x100));
    assert_eq!(weir.wait().code(), Some(0));
}

/// An origin that answers when the test says so, and the part of a configuration that leads to it.
fn held_origin() -> (Origin, Sender<()>, String) {
    let (tell, told) = channel();
    let told = Mutex::new(told);
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            let _ = told.lock().expect("nothing panics with it").recv();
            peer.send(reply("200 OK", "late"));
        }
    });
    let server = origin.address();
    let front = format!("    default_backend app\nbackend app\n    server s {server}\n");
    (origin, tell, front)
}

#[test]
fn a_soft_stop_waits_for_requests_that_are_under_way() {
    let (origin, tell, front) = held_origin();
    let (mut weir, address, trust) = started("", &front);
    let mut client = H3Client::connect(address, &trust);
    let id = client.request("GET", "/", b"");
    client.run(|_| !origin.requests().is_empty());
    weir.signal(sys::signal::USR1);
    weir.expect_error("Proxy web stopped");
    tell.send(()).expect("the origin waits");
    assert_eq!(client.answer(id), ("200".to_owned(), b"late".to_vec()));
    assert_eq!(client.end(), 0x100);
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn hard_stop_after_ends_a_process_with_requests_under_way() {
    let (origin, _tell, front) = held_origin();
    let (mut weir, address, trust) = started("    hard-stop-after 300ms\n", &front);
    let mut client = H3Client::connect(address, &trust);
    client.request("GET", "/", b"");
    client.run(|_| !origin.requests().is_empty());
    weir.signal(sys::signal::USR1);
    weir.wait();
}

#[test]
fn idle_connections_end_with_the_timeouts_of_the_frontend() {
    let front = format!("    timeout http-keep-alive 200ms\n    timeout client 300ms\n{RETURN}");
    let (_weir, address, trust) = started("", &front);
    let mut client = H3Client::connect(address, &trust);
    assert_eq!(client.ask("GET", "/", b"").1, b"hello");
    assert_eq!(client.end(), 0x100);
    assert_eq!(H3Client::connect(address, &trust).end(), 0x100);
}

#[test]
fn frontends_of_mode_tcp_have_no_quic_listeners() {
    let identity = Identity::new("a.test", None);
    for (mode, code) in [("tcp", 1), ("http", 0)] {
        let setup = Setup::new("").file("a.pem", &identity.pem());
        let (pem, path) = (setup.path("a.pem"), setup.path("quic.cfg"));
        let text = format!(
            "listen l\n    mode {mode}\n    bind quic4@:1 ssl crt {} alpn h3\n    timeout client 1s\n    \
             timeout server 1s\n    timeout connect 1s\n    server s 127.0.0.1:1\n",
            pem.display()
        );
        std::fs::write(&path, text).expect("a directory of the test");
        let output = run(&["-c", "-f", &path.display().to_string()]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{errors}");
        let place = format!("at [{}:3].", path.display());
        let message = "proxy 'l' : MUX protocol 'quic' is not usable for 'bind quic4@:1' ";
        assert_eq!(errors.contains(&format!("{message}{place}")), code == 1, "{errors}");
    }
}
