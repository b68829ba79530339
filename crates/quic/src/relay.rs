//! Messages between processes that serve the same address: a process that replaces another one
//! gives it the datagrams of its connections.
//!
//! A message is one byte for its kind; for a datagram, the ECN bits, the sender's address and port
//! (17 and 2 bytes), the address that the datagram was sent to (17 bytes) and the payload follow.
//! An address is a byte for its version (0: unknown) and 16 bytes.

use crate::datagram::Datagram;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of a message beside the payload.
const HEADER: usize = 2 + ADDRESS + 2 + ADDRESS;

const ADDRESS: usize = 17;

/// Most bytes of a message.
pub const MAX_RELAYED: usize = HEADER + 65_535;

const SERVES: u8 = 1;
const DATAGRAM: u8 = 2;
const RETURNED: u8 = 3;

/// A message from one process to another.
#[derive(Clone, Copy, Debug)]
pub enum RelayMessage<'a> {
    /// The sender receives what is sent to the address.
    Serves,
    /// A datagram of a connection of the receiver.
    Datagram(Datagram<'a>),
    /// A datagram that begins a connection, which the sender does not serve any more.
    Returned(Datagram<'a>),
}

impl<'a> RelayMessage<'a> {
    /// The bytes before the payload.
    pub fn header(&self) -> ([u8; HEADER], usize) {
        let mut header = [0; HEADER];
        let (kind, datagram) = match self {
            Self::Serves => {
                header[0] = SERVES;
                return (header, 1);
            }
            Self::Datagram(datagram) => (DATAGRAM, datagram),
            Self::Returned(datagram) => (RETURNED, datagram),
        };
        (header[0], header[1]) = (kind, datagram.ecn);
        header[2..2 + ADDRESS].copy_from_slice(&address(Some(datagram.from.ip())));
        let rest = &mut header[2 + ADDRESS..];
        rest[..2].copy_from_slice(&datagram.from.port().to_be_bytes());
        rest[2..].copy_from_slice(&address(datagram.to));
        (header, HEADER)
    }

    /// Whether a message that begins with this byte is one of these.
    pub fn is_known(kind: u8) -> bool {
        (SERVES..=RETURNED).contains(&kind)
    }

    /// The payload.
    pub fn payload(&self) -> &'a [u8] {
        match self {
            Self::Serves => &[],
            Self::Datagram(datagram) | Self::Returned(datagram) => datagram.bytes,
        }
    }

    /// Reads a message.
    pub fn decode(message: &'a [u8]) -> Option<Self> {
        let kind = *message.first()?;
        if kind == SERVES {
            return Some(Self::Serves);
        }
        let (header, bytes) = message.split_at_checked(HEADER)?;
        let (ip, rest) = header[2..].split_at(ADDRESS);
        let port = u16::from_be_bytes([rest[0], rest[1]]);
        let datagram = Datagram {
            from: SocketAddr::new(read(ip)?, port),
            to: read(&rest[2..]),
            ecn: header[1],
            bytes,
        };
        match kind {
            DATAGRAM => Some(Self::Datagram(datagram)),
            RETURNED => Some(Self::Returned(datagram)),
            _ => None,
        }
    }
}

fn address(ip: Option<IpAddr>) -> [u8; ADDRESS] {
    let mut out = [0; ADDRESS];
    match ip {
        None => {}
        Some(IpAddr::V4(v4)) => {
            out[0] = 4;
            out[1..5].copy_from_slice(&v4.octets());
        }
        Some(IpAddr::V6(v6)) => {
            out[0] = 6;
            out[1..].copy_from_slice(&v6.octets());
        }
    }
    out
}

fn read(bytes: &[u8]) -> Option<IpAddr> {
    let (version, bytes) = bytes.split_first()?;
    match version {
        4 => Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()),
        6 => Some(Ipv6Addr::from(*bytes.first_chunk::<16>()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(message: &RelayMessage<'_>) -> Vec<u8> {
        let (header, len) = message.header();
        [&header[..len], message.payload()].concat()
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let serves = wire(&RelayMessage::Serves);
        assert!(matches!(RelayMessage::decode(&serves), Some(RelayMessage::Serves)));
        for (from, to) in [
            ("192.0.2.1:5", Some("192.0.2.9")),
            ("[2001:db8::1]:443", Some("::1")),
            ("192.0.2.1:5", None),
        ] {
            let from = from.parse().unwrap();
            let to = to.map(|to| to.parse().unwrap());
            let sent = Datagram { from, to, ecn: 2, bytes: b"payload" };
            let same = |got: Datagram<'_>| {
                (got.from, got.to, got.ecn, got.bytes) == (from, to, 2, &b"payload"[..])
            };
            match RelayMessage::decode(&wire(&RelayMessage::Datagram(sent))) {
                Some(RelayMessage::Datagram(got)) => assert!(same(got)),
                other => panic!("{other:?}"),
            }
            match RelayMessage::decode(&wire(&RelayMessage::Returned(sent))) {
                Some(RelayMessage::Returned(got)) => assert!(same(got)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn broken_messages_are_refused() {
        let from = "192.0.2.1:5".parse().unwrap();
        let sent = RelayMessage::Datagram(Datagram { from, to: None, ecn: 0, bytes: b"" });
        let whole = wire(&sent);
        assert!(RelayMessage::decode(&whole).is_some());
        assert!((0..whole.len()).all(|len| RelayMessage::decode(&whole[..len]).is_none()));
        assert!(RelayMessage::is_known(whole[0]) && !RelayMessage::is_known(0));
        for (at, value) in [(0, 0), (0, 9), (2, 5)] {
            let mut broken = whole.clone();
            broken[at] = value;
            assert!(RelayMessage::decode(&broken).is_none(), "{at}");
        }
    }
}
