//! The way of a datagram: loss, duplication, reordering, delay, size limits and ECN bits.
//!
//! Each datagram travels by itself, so those with jitter overtake each other.

use super::datagram::{DatagramId, MAX_UNREAD, UdpDatagram};
use super::dial::os;
use super::{DueEvent, Net, errno};
use crate::faults::Faults;
use crate::trace::{RecordKind, digest};
use reactor::{Address, UdpTrain};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use stdx::Key;

/// A datagram that others overtake takes at most so many times as long.
const HELD_UP: u64 = 8;
/// The ECN bits of a packet that has met congestion; a sender with ECN sets one of the two.
const CONGESTION: u8 = 3;

impl Net {
    /// Sends one datagram of an actor.
    ///
    /// # Errors
    /// The datagram is larger than the sender's link allows.
    pub fn send_datagram(
        &mut self,
        id: DatagramId,
        to: SocketAddr,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.send_marked(id, to, 0, bytes)
    }

    /// As [`Net::send_datagram`], with ECN bits.
    ///
    /// # Errors
    /// The same.
    pub fn send_marked(
        &mut self,
        id: DatagramId,
        to: SocketAddr,
        ecn: u8,
        bytes: &[u8],
    ) -> io::Result<()> {
        let plan = match self.datagram_address(id.0) {
            Some(from) => self.datagram_plan(from, to),
            None => return Err(os(errno::BADF)),
        };
        if self.chance(plan.rebind) {
            self.rebind_datagrams(id);
        }
        self.send_from(id.0, Some(to), ecn, bytes)
    }

    pub(crate) fn send_from(
        &mut self,
        key: Key,
        to: Option<SocketAddr>,
        ecn: u8,
        bytes: &[u8],
    ) -> io::Result<()> {
        let socket = self.datagram_sockets.get(key).ok_or_else(|| os(errno::BADF))?;
        let (from, peer) = (socket.local, socket.peer);
        let to = to.or(peer).ok_or_else(|| os(errno::DESTADDRREQ))?;
        self.launch(UdpDatagram { from, to, ecn, bytes: bytes.to_vec() })
    }

    /// Sends the datagrams of a train, up to the first that fails.
    pub(crate) fn send_train(&mut self, key: Key, train: &UdpTrain<'_>) -> io::Result<()> {
        let local = self.datagram_address(key).ok_or_else(|| os(errno::BADF))?;
        let own = if local.ip().is_unspecified() { self.here } else { local.ip() };
        let from = SocketAddr::new(train.from.unwrap_or(own), local.port());
        let (to, ecn) = (train.to, train.ecn);
        let mut pieces = train.bytes.chunks(train.segment.max(1));
        pieces
            .try_for_each(|piece| self.launch(UdpDatagram { from, to, ecn, bytes: piece.to_vec() }))
    }

    /// Puts a datagram on its way, or loses it.
    fn launch(&mut self, mut datagram: UdpDatagram) -> io::Result<()> {
        let plan = self.datagram_plan(datagram.from, datagram.to);
        let len = datagram.bytes.len();
        if len > plan.mtu {
            return Err(os(errno::MSGSIZE));
        }
        self.note(RecordKind::Datagram, len as u64, digest(&datagram.bytes));
        if self.chance(plan.bleach) {
            datagram.ecn = 0;
        }
        if datagram.ecn != 0 && self.chance(plan.congested) {
            datagram.ecn = CONGESTION;
        }
        let lost = self.chance(plan.loss) || len > plan.path_mtu;
        if lost {
            return Ok(());
        }
        if self.chance(plan.duplicate) {
            self.fly(&plan, datagram.clone());
        }
        self.fly(&plan, datagram);
        Ok(())
    }

    fn fly(&mut self, plan: &Faults, datagram: UdpDatagram) {
        let mut span = self.travel(plan);
        if self.chance(plan.reorder) {
            span += self.up_to(span.saturating_mul(HELD_UP));
        }
        let flight = self.flights.insert(datagram);
        self.schedule(self.now + span, DueEvent::Datagram(flight));
    }

    /// The plan of either address, for both directions of a path.
    pub(super) fn datagram_plan(&self, from: SocketAddr, to: SocketAddr) -> Faults {
        let of = |address| self.faults.get(&Address::Inet(address)).copied();
        of(to).or_else(|| of(from)).unwrap_or(self.default_faults)
    }

    pub(super) fn datagram_arrives(&mut self, flight: Key) {
        let Some(datagram) = self.flights.remove(flight) else { return };
        let Some(key) = self.datagram_receiver(&datagram) else {
            return self.port_unreachable(datagram.from, datagram.to);
        };
        let Some(socket) = self.datagram_sockets.get_mut(key) else { return };
        let foreign = socket.peer.is_some_and(|peer| peer != datagram.from);
        if !foreign && socket.unread.len() < MAX_UNREAD {
            socket.unread.push_back(datagram);
            self.note(RecordKind::Arrive, key.to_bits(), 1);
            self.datagrams_changed(key);
        }
    }

    /// The socket that gets a datagram: one of its address, or of all addresses with its port.
    fn datagram_receiver(&self, datagram: &UdpDatagram) -> Option<Key> {
        let to = datagram.to;
        let any = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let of = |at: SocketAddr| self.datagram_addresses.get(&at);
        let group = of(to).or_else(|| of(SocketAddr::new(any, to.port())))?;
        let place = match group.len() {
            0 | 1 => 0,
            count => digest(datagram.from.to_string().as_bytes()) as usize % count,
        };
        group.get(place).copied()
    }

    /// No socket has the address: a connected sender gets an error, as by ICMP.
    fn port_unreachable(&mut self, from: SocketAddr, to: SocketAddr) {
        let group = self.datagram_addresses.get(&from).map_or(&[][..], Vec::as_slice);
        let Some(key) = group.first().copied() else { return };
        if let Some(socket) = self.datagram_sockets.get_mut(key)
            && socket.peer == Some(to)
        {
            socket.error = Some(errno::CONNREFUSED);
            self.datagrams_changed(key);
        }
    }
}
