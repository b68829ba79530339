//! Tests of the HTTP/2 machine: exchanges through both sides, single rules, floods, arbitrary
//! bytes.

mod abuse;
mod exchange;
mod lengths;
mod rules;
mod windows;

use super::{H2Conn, H2ConnSettings, Key};
use crate::{BodyKind, HeadStep, Side};
use htx::{Head, Version};
use wire::h2::frame::{FrameHeader, HEADER_LEN};
use wire::h2::{FrameType, PREFACE, encode};

/// The machines of a client and of a server, connected to each other.
struct Pair {
    /// Towards the server: our server side.
    client: H2Conn,
    /// Towards the client: our client side.
    server: H2Conn,
    now: u64,
}

impl Pair {
    fn new(client: H2ConnSettings, server: H2ConnSettings) -> Self {
        let (client, server) =
            (H2Conn::new(Side::Server, client), H2Conn::new(Side::Client, server));
        let mut pair = Self { client, server, now: 0 };
        pair.talk();
        pair
    }

    /// Exchanges output until both machines are silent.
    fn talk(&mut self) {
        for _ in 0..1_000 {
            let up = pass(&mut self.client, &mut self.server, self.now);
            let down = pass(&mut self.server, &mut self.client, self.now);
            if !up && !down {
                return;
            }
        }
        panic!("the two never come to an end");
    }

    /// A request that has arrived: the client's key and the server's key.
    fn request(&mut self, method: &[u8], body: BodyKind) -> (Key, Key, Head) {
        let key = self.client.open().unwrap();
        let mut head = Head::default();
        head.set_request(method, b"/path", Version::Http11);
        head.push(b"host", b"example.org");
        self.client.encode_head(key, &mut head, body, b"http");
        self.talk();
        let taken = self.server.poll_opened().unwrap();
        let mut arrived = Head::default();
        let step = self.server.handle_head(taken, &mut arrived).unwrap();
        assert!(matches!(step, HeadStep::Complete { .. }));
        (key, taken, arrived)
    }
}

fn pass(from: &mut H2Conn, to: &mut H2Conn, now: u64) -> bool {
    let bytes = from.output().to_vec();
    let taken = to.handle_input(&bytes, now).unwrap();
    from.advance_output(taken);
    taken > 0
}

/// Reads all received payload of a stream.
fn read_all(conn: &mut H2Conn, key: Key) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), [0; 1_000]);
    while let Ok(Some(count @ 1..)) = conn.read(key, &mut buffer) {
        all.extend_from_slice(&buffer[..count]);
    }
    all
}

/// A machine for a client whose SETTINGS and acknowledgement have arrived.
fn greeted(settings: H2ConnSettings) -> H2Conn {
    let mut conn = H2Conn::new(Side::Client, settings);
    let mut hello = PREFACE.to_vec();
    encode::settings(&wire::h2::Settings::default(), &mut hello);
    assert_eq!(conn.handle_input(&hello, 0), Ok(hello.len()));
    drain(&mut conn);
    conn
}

/// The frames that a machine has sent, with payloads.
fn drain(conn: &mut H2Conn) -> Vec<(FrameHeader, Vec<u8>)> {
    let bytes = conn.output().to_vec();
    conn.advance_output(bytes.len());
    let (mut rest, mut frames) = (bytes.strip_prefix(PREFACE).unwrap_or(&bytes), Vec::new());
    while let Some(header) = FrameHeader::parse(rest) {
        let end = HEADER_LEN + header.len as usize;
        frames.push((header, rest[HEADER_LEN..end].to_vec()));
        rest = &rest[end..];
    }
    frames
}

fn frame(kind: FrameType, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader { len: payload.len() as u32, kind, flags, stream };
    [&header.bytes(), payload].concat()
}

/// `GET http://a/` as a header block.
const GET: &[u8] = b"\x82\x86\x84\x41\x01a";
