//! Facts about QUIC connections, for `show quic`.

use std::net::SocketAddr;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicState {
    /// The handshake is under way.
    Handshake,
    /// The connection serves requests.
    Established,
    /// A side has closed the connection, and packets may still be under way.
    Closing,
}

/// A connection.
#[derive(Clone, Debug)]
pub struct QuicConnectionView {
    /// Its number among those of its listener on its thread.
    pub number: usize,
    /// Its thread, from 0.
    pub thread: usize,
    /// The name of its frontend.
    pub frontend: String,
    /// Its state.
    pub state: QuicState,
    /// The client's address now.
    pub from: SocketAddr,
    /// Our address, if the system says it.
    pub to: Option<SocketAddr>,
    /// Milliseconds since the handshake began.
    pub age_ms: u32,
    /// The round-trip time in microseconds.
    pub rtt_us: u64,
    /// Bytes that may be under way.
    pub window: u64,
    /// The largest datagram that is sent.
    pub mtu: u16,
    /// Packets sent.
    pub sent: u64,
    /// Sent packets that were lost.
    pub lost: u64,
    /// Changes of the client's address.
    pub migrations: u64,
    /// Requests under way.
    pub streams: usize,
    /// Requests so far.
    pub requests: u32,
}

/// The connections of a listener on one thread.
pub trait QuicListing {
    /// Appends the connections.
    fn list(&self, out: &mut Vec<QuicConnectionView>);
}
