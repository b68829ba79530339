//! Datagrams and time, as they come in and go out.

use quinn_proto::{ConnectionEvent, ConnectionHandle, Transmit};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// A connection of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionKey(pub(crate) ConnectionHandle);

impl ConnectionKey {
    /// Its number: numbers of ended connections are reused.
    pub fn index(self) -> usize {
        self.0.0
    }
}

/// A datagram of a connection, to be handed to it.
#[derive(Debug)]
pub struct ConnectionMessage(pub(crate) ConnectionEvent);

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The sender.
    pub from: SocketAddr,
    /// The address that it was sent to, if the system reports it.
    pub to: Option<IpAddr>,
    /// The two bits of explicit congestion notification.
    pub ecn: u8,
    /// The payload.
    pub bytes: &'a [u8],
}

/// Datagrams to be sent: the bytes are in the buffer that the call has filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The receiver.
    pub to: SocketAddr,
    /// The address to send from; `None`: any.
    pub from: Option<IpAddr>,
    /// The two bits of explicit congestion notification.
    pub ecn: u8,
    /// Bytes of all datagrams.
    pub len: usize,
    /// Bytes of each datagram but the last one.
    pub segment: usize,
}

impl Outgoing {
    pub(crate) fn of(transmit: &Transmit) -> Self {
        Self {
            to: transmit.destination,
            from: transmit.src_ip,
            ecn: transmit.ecn.map_or(0, |ecn| ecn as u8),
            len: transmit.size,
            segment: transmit.segment_size.unwrap_or(transmit.size),
        }
    }
}

/// The transport's moment for a time in nanoseconds since any start.
pub(crate) fn moment(origin: Instant, nanos: u64) -> Instant {
    origin + Duration::from_nanos(nanos)
}
