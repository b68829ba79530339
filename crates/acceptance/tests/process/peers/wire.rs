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

    /// The next message that is neither a heartbeat nor a question.
    pub(super) fn next_of_class(&mut self, class: u8) -> Said {
        loop {
            let said = self.next();
            if said.class == class {
                return said;
            }
        }
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

/// A number as the protocol writes it.
pub(super) fn number(mut number: u64) -> Vec<u8> {
    if number < 240 {
        return vec![number as u8];
    }
    let mut out = vec![number as u8 | 240];
    number = (number - 240) >> 4;
    while number >= 128 {
        out.push(number as u8 | 128);
        number = (number - 128) >> 7;
    }
    out.push(number as u8);
    out
}

/// A message of the class of tables with its length.
pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[10, kind][..], &number(body.len() as u64), body].concat()
}

/// The definition of a table, number 1, with keys of a type and length and with data types as bits.
pub(super) fn definition(name: &str, keys: (u64, u64), data: u64, more: &[u64]) -> Vec<u8> {
    let mut body = [&[1, name.len() as u8][..], name.as_bytes()].concat();
    let numbers = [keys.0, keys.1, data, 3_600_000];
    body.extend(numbers.iter().chain(more).flat_map(|it| number(*it)));
    message(0x82, &body)
}

/// An update with this number.
pub(super) fn update(count: u32, key: &[u8], values: &[u64]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|it| number(*it)).collect();
    message(0x80, &[&count.to_be_bytes()[..], key, &values].concat())
}

/// A key of a table of strings.
pub(super) fn text(key: &str) -> Vec<u8> {
    [&[key.len() as u8][..], key.as_bytes()].concat()
}
