//! A peer that the test speaks for, byte by byte.

use crate::support::{Client, eventually};
use std::net::SocketAddr;
use std::net::TcpStream;

/// A message, or a line of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) class: u8,
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

/// A connection to a listener of a `peers` section.
pub(super) struct RawPeer(pub(super) Client);

impl RawPeer {
    /// Connects as soon as the process listens, and sends bytes.
    pub(super) fn connect(address: &str, bytes: &[u8]) -> Self {
        let address: SocketAddr = address.parse().expect("an address");
        let stream = eventually("the section listens", || TcpStream::connect(address).ok());
        let mut client = Client::of(stream);
        client.send(bytes);
        Self(client)
    }

    /// Opens a session as the peer `B` of `A`.
    pub(super) fn open(address: &str) -> Self {
        let mut peer = Self::connect(address, b"HAProxyS 2.1\nA\nB 7 1\n");
        assert_eq!(peer.0.take(4), b"200\n");
        peer
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Said {
        let [class, kind] = self.0.take(2)[..] else { panic!("two bytes") };
        let len = if kind < 128 { 0 } else { self.number() };
        Said { class, kind, body: self.0.take(len) }
    }

    /// A number of up to two bytes.
    fn number(&mut self) -> usize {
        let first = usize::from(self.0.take(1)[0]);
        if first < 240 { first } else { first + 16 * usize::from(self.0.take(1)[0]) }
    }

    /// The messages up to the end of a lesson.
    pub(super) fn lesson(&mut self) -> Vec<Said> {
        self.0.send([0, 0]);
        let is_end = |said: &Said| said.class == 0 && [1, 2].contains(&said.kind);
        let mut lesson = Vec::new();
        while !lesson.last().is_some_and(is_end) {
            lesson.push(self.next());
        }
        lesson
    }
}
