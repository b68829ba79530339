//! The one exchange that a connection has before it rests.

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

pub(crate) type Error = Box<dyn std::error::Error>;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A kind of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    content: Content,
    encrypted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    H1,
    H2,
    Tcp,
    WebSocket,
}

impl Kind {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let (content, encrypted) = match word {
            "h1" => (Content::H1, false),
            "tls" => (Content::H1, true),
            "h2" => (Content::H2, false),
            "h2tls" => (Content::H2, true),
            "tcp" => (Content::Tcp, false),
            "ws" => (Content::WebSocket, false),
            "wstls" => (Content::WebSocket, true),
            _ => return None,
        };
        Some(Self { content, encrypted })
    }

    /// The protocol that clients offer.
    pub(crate) fn alpn(self) -> &'static [u8] {
        if self.content == Content::H2 { b"h2" } else { b"http/1.1" }
    }
}

/// A connection at rest.
pub(crate) enum Held {
    Clear(#[allow(dead_code, reason = "it is held")] TcpStream),
    Encrypted(
        #[allow(dead_code, reason = "it is held")] Box<StreamOwned<ClientConnection, TcpStream>>,
    ),
}

/// Opens a connection and has its exchange.
pub(crate) fn open(kind: Kind, port: u16, tls: &Arc<ClientConfig>) -> Result<Held, Error> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    if !kind.encrypted {
        talk(kind, &mut stream)?;
        return Ok(Held::Clear(stream));
    }
    let session = ClientConnection::new(tls.clone(), "localhost".try_into()?)?;
    let mut stream = Box::new(StreamOwned::new(session, stream));
    talk(kind, &mut stream)?;
    Ok(Held::Encrypted(stream))
}

fn talk(kind: Kind, stream: &mut (impl Read + Write)) -> Result<(), Error> {
    match kind.content {
        Content::H1 => ask(stream, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n\r\nok"),
        Content::H2 => ask(stream, &h2_request(kind.encrypted), b"ok"),
        Content::Tcp => ask(stream, b"ping", b"pong"),
        Content::WebSocket => ask(stream, UPGRADE, b"\r\n\r\n"),
    }
}

const UPGRADE: &[u8] =
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

/// The preface, empty settings, and a GET without a body on the first stream (RFC 9113 sections 3.4
/// and 6.2; the fields are of the static table of RFC 7541).
fn h2_request(encrypted: bool) -> Vec<u8> {
    let scheme = if encrypted { 0x87 } else { 0x86 };
    let fields = [0x82, scheme, 0x84, 0x41, 1, b'x'];
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&[0, 0, fields.len() as u8, 1, 5, 0, 0, 0, 1]);
    bytes.extend_from_slice(&fields);
    bytes
}

/// Sends bytes, and reads until the answer ends with these.
fn ask(stream: &mut (impl Read + Write), request: &[u8], end: &[u8]) -> Result<(), Error> {
    stream.write_all(request)?;
    stream.flush()?;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    while !answer.ends_with(end) {
        match stream.read(&mut part)? {
            0 => return Err("the connection was closed".into()),
            count => answer.extend_from_slice(&part[..count]),
        }
    }
    Ok(())
}
