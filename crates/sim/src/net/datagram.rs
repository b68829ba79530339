//! Datagram sockets: delivery with delay, reordering, loss, duplication and a size limit.
//!
//! Each datagram travels by itself, so those with jitter overtake each other.

use super::actor::{ActorId, Signal};
use super::conn::Owner;
use super::dial::os;
use super::handles::Object;
use super::{DueEvent, Net, errno};
use crate::faults::Faults;
use crate::trace::{What, digest};
use reactor::Address;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use stdx::Key;

/// Datagrams that a socket holds unread; later ones are dropped.
const MAX_UNREAD: usize = 256;

/// Identifies the datagram socket of an actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct DatagramId(Key);

/// A datagram socket.
#[derive(Debug)]
pub(super) struct DatagramSocket {
    owner: Owner,
    local: SocketAddr,
    /// The only address that it exchanges datagrams with, if it is connected.
    peer: Option<SocketAddr>,
    unread: VecDeque<(SocketAddr, Vec<u8>)>,
    /// The pending error.
    error: Option<i32>,
}

/// A datagram in flight.
#[derive(Debug)]
pub(super) struct Flight {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

impl Net {
    /// Opens a datagram socket for an actor; [`Signal::Datagram`] reports each arrival.
    ///
    /// # Errors
    /// The address is in use.
    pub fn bind_datagrams(&mut self, actor: ActorId, at: SocketAddr) -> io::Result<DatagramId> {
        self.open_datagrams(Owner::Actor(actor), at, None).map(DatagramId)
    }

    fn open_datagrams(
        &mut self,
        owner: Owner,
        local: SocketAddr,
        peer: Option<SocketAddr>,
    ) -> io::Result<Key> {
        if self.datagram_addresses.contains_key(&local) {
            return Err(os(errno::ADDRINUSE));
        }
        let (unread, error) = (VecDeque::new(), None);
        let socket = DatagramSocket { owner, local, peer, unread, error };
        let key = self.datagram_sockets.insert(socket);
        self.datagram_addresses.insert(local, key);
        Ok(key)
    }

    /// Opens a datagram socket of the machine that is connected to one address.
    pub(crate) fn connect_datagrams(&mut self, with: SocketAddr) -> io::Result<i32> {
        if self.handles.is_full() {
            self.note(What::Exhausted, 0, 0);
            return Err(os(errno::MFILE));
        }
        let local = self.local_for(self.here, with);
        let key = self.open_datagrams(Owner::Nobody, local, Some(with))?;
        let handle = self.handles.insert(Object::Datagrams(key));
        if let Some(socket) = self.datagram_sockets.get_mut(key) {
            socket.owner = Owner::Handle(handle);
        }
        Ok(handle)
    }

    /// Sends one datagram of an actor.
    ///
    /// # Errors
    /// It is larger than the path allows.
    pub fn send_datagram(
        &mut self,
        id: DatagramId,
        to: SocketAddr,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.send_from(id.0, Some(to), bytes)
    }

    pub(crate) fn send_from(
        &mut self,
        key: Key,
        to: Option<SocketAddr>,
        bytes: &[u8],
    ) -> io::Result<()> {
        let socket = self.datagram_sockets.get(key).ok_or_else(|| os(errno::BADF))?;
        let (from, peer) = (socket.local, socket.peer);
        let to = to.or(peer).ok_or_else(|| os(errno::DESTADDRREQ))?;
        let plan = self.datagram_plan(from, to);
        if bytes.len() > plan.mtu {
            return Err(os(errno::MSGSIZE));
        }
        self.note(What::Datagram, bytes.len() as u64, digest(bytes));
        let copies = match self.chance(plan.loss) {
            true => 0,
            false => 1 + u32::from(self.chance(plan.duplicate)),
        };
        for _ in 0..copies {
            let at = self.now + self.travel(&plan);
            let flight = self.flights.insert(Flight { from, to, bytes: bytes.to_vec() });
            self.schedule(at, DueEvent::Datagram(flight));
        }
        Ok(())
    }

    /// The plan of either address, for both directions of a path.
    fn datagram_plan(&self, from: SocketAddr, to: SocketAddr) -> Faults {
        let of = |address| self.faults.get(&Address::Inet(address)).copied();
        of(to).or_else(|| of(from)).unwrap_or(self.default_faults)
    }

    pub(super) fn datagram_arrives(&mut self, flight: Key) {
        let Some(Flight { from, to, bytes }) = self.flights.remove(flight) else { return };
        let Some(key) = self.datagram_addresses.get(&to).copied() else {
            return self.port_unreachable(from, to);
        };
        let Some(socket) = self.datagram_sockets.get_mut(key) else { return };
        let foreign = socket.peer.is_some_and(|peer| peer != from);
        if !foreign && socket.unread.len() < MAX_UNREAD {
            socket.unread.push_back((from, bytes));
            self.note(What::Arrive, key.to_bits(), 1);
            self.datagrams_changed(key);
        }
    }

    /// No socket has the address: a connected sender gets an error, as by ICMP.
    fn port_unreachable(&mut self, from: SocketAddr, to: SocketAddr) {
        let Some(key) = self.datagram_addresses.get(&from).copied() else { return };
        if let Some(socket) = self.datagram_sockets.get_mut(key).filter(|it| it.peer == Some(to)) {
            socket.error = Some(errno::CONNREFUSED);
            self.datagrams_changed(key);
        }
    }

    fn datagrams_changed(&mut self, key: Key) {
        match self.datagram_sockets.get(key).map(|socket| socket.owner) {
            Some(Owner::Handle(handle)) => self.handle_changed(handle),
            Some(Owner::Actor(id)) => {
                self.roused.push_back((id, Signal::Datagram(DatagramId(key))));
            }
            _ => {}
        }
    }

    /// Takes the next datagram of an actor's socket, with its sender.
    ///
    /// # Errors
    /// `WouldBlock` when there is none.
    pub fn recv_datagram(&mut self, id: DatagramId) -> io::Result<(SocketAddr, Vec<u8>)> {
        let socket = self.datagram_sockets.get_mut(id.0).ok_or_else(|| os(errno::BADF))?;
        if let Some(error) = socket.error.take() {
            return Err(os(error));
        }
        socket.unread.pop_front().ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// Reads one datagram; bytes that do not fit into `buffer` are lost.
    pub(crate) fn recv_into(&mut self, key: Key, buffer: &mut [u8]) -> io::Result<usize> {
        let (_, bytes) = self.recv_datagram(DatagramId(key))?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.note(What::Recv, key.to_bits(), count as u64);
        Ok(count)
    }

    /// The datagram socket of a handle of the machine, if it is one.
    pub(crate) fn datagram_socket(&self, handle: i32) -> Option<Key> {
        match self.handles.get(handle)?.object {
            Object::Datagrams(key) => Some(key),
            _ => None,
        }
    }

    /// Whether a datagram or an error can be read.
    pub(super) fn has_datagram(&self, key: Key) -> bool {
        let socket = self.datagram_sockets.get(key);
        socket.is_some_and(|it| it.error.is_some() || !it.unread.is_empty())
    }

    pub(super) fn datagram_address(&self, key: Key) -> Option<SocketAddr> {
        self.datagram_sockets.get(key).map(|socket| socket.local)
    }

    pub(super) fn close_datagrams(&mut self, key: Key) {
        if let Some(socket) = self.datagram_sockets.remove(key) {
            self.datagram_addresses.remove(&socket.local);
        }
    }
}
