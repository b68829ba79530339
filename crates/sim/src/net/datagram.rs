//! Datagram sockets of the machine and of actors: opening, reading, closing, a client's new address.
//!
//! The way of a datagram from one to another is in [`super::path`].

use super::actor::{ActorId, Signal};
use super::conn::Owner;
use super::dial::os;
use super::handles::Object;
use super::{Net, errno};
use crate::trace::RecordKind;
use reactor::{Arrived, Handle, UdpBatch};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use stdx::Key;

/// Datagrams that a socket holds unread; later ones are dropped.
pub(super) const MAX_UNREAD: usize = 256;

/// Identifies the datagram socket of an actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct DatagramId(pub(super) Key);

/// A datagram in flight, or received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpDatagram {
    /// The sender's address, as the receiver sees it.
    pub from: SocketAddr,
    /// The address that it was sent to.
    pub to: SocketAddr,
    /// Its two bits of explicit congestion notification (RFC 3168).
    pub ecn: u8,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// A datagram socket.
#[derive(Debug)]
pub(super) struct DatagramSocket {
    pub(super) owner: Owner,
    pub(super) local: SocketAddr,
    /// Further handles of it, in other processes of the machine.
    pub(super) copies: Vec<i32>,
    /// The only address that it exchanges datagrams with, if it is connected.
    pub(super) peer: Option<SocketAddr>,
    pub(super) unread: VecDeque<UdpDatagram>,
    /// The pending error.
    pub(super) error: Option<i32>,
}

impl DatagramSocket {
    fn new(owner: Owner, local: SocketAddr, peer: Option<SocketAddr>) -> Self {
        let (copies, unread) = Default::default();
        Self { owner, local, copies, peer, unread, error: None }
    }
}

impl Net {
    /// Opens a datagram socket for an actor; [`Signal::Datagram`] reports each arrival.
    ///
    /// # Errors
    /// The address is in use.
    pub fn bind_datagrams(&mut self, actor: ActorId, at: SocketAddr) -> io::Result<DatagramId> {
        self.open_datagrams(DatagramSocket::new(Owner::Actor(actor), at, None)).map(DatagramId)
    }

    /// Opens a datagram socket of the machine, as if inherited. Sockets of the machine may share an
    /// address (`SO_REUSEPORT`): the addresses of a datagram select one of them.
    ///
    /// # Errors
    /// An actor has the address, or no handle is left.
    pub fn listen_datagrams(&mut self, at: SocketAddr) -> io::Result<Handle> {
        self.open_datagrams_of_machine(at, None).map(Handle)
    }

    /// Opens a datagram socket of the machine that is connected to one address.
    pub(crate) fn connect_datagrams(&mut self, with: SocketAddr) -> io::Result<i32> {
        let local = self.local_for(self.here, with);
        self.open_datagrams_of_machine(local, Some(with))
    }

    fn open_datagrams_of_machine(
        &mut self,
        local: SocketAddr,
        peer: Option<SocketAddr>,
    ) -> io::Result<i32> {
        if self.handles.is_full() {
            self.note(RecordKind::Exhausted, 0, 0);
            return Err(os(errno::MFILE));
        }
        let key = self.open_datagrams(DatagramSocket::new(Owner::Nobody, local, peer))?;
        let handle = self.handles.insert(Object::Datagrams(key));
        if let Some(socket) = self.datagram_sockets.get_mut(key) {
            socket.owner = Owner::Handle(handle);
        }
        Ok(handle)
    }

    fn open_datagrams(&mut self, socket: DatagramSocket) -> io::Result<Key> {
        let shares = |key: &Key| {
            let other = self.datagram_sockets.get(*key);
            other.is_some_and(|it| !matches!(it.owner, Owner::Actor(_)) && it.peer.is_none())
        };
        let group = self.datagram_addresses.get(&socket.local).map_or(&[][..], Vec::as_slice);
        let alone = matches!(socket.owner, Owner::Actor(_)) || socket.peer.is_some();
        if !group.is_empty() && (alone || !group.iter().all(shares)) {
            return Err(os(errno::ADDRINUSE));
        }
        let local = socket.local;
        let key = self.datagram_sockets.insert(socket);
        self.datagram_addresses.entry(local).or_default().push(key);
        Ok(key)
    }

    /// Moves an actor's socket to another port, as a NAT does that has forgotten its client:
    /// datagrams to the old address are lost. Returns the new address.
    pub fn rebind_datagrams(&mut self, id: DatagramId) -> Option<SocketAddr> {
        let before = self.datagram_address(id.0)?;
        let local = self.local_for(before.ip(), before);
        self.leave_address(before, id.0);
        self.datagram_sockets.get_mut(id.0)?.local = local;
        self.datagram_addresses.entry(local).or_default().push(id.0);
        self.note(RecordKind::Rebind, id.0.to_bits(), local.port().into());
        Some(local)
    }

    pub(super) fn datagrams_changed(&mut self, key: Key) {
        let Some(socket) = self.datagram_sockets.get(key) else { return };
        let copies = socket.copies.clone();
        match socket.owner {
            Owner::Handle(handle) => self.handle_changed(handle),
            Owner::Actor(id) => {
                self.roused.push_back((id, Signal::Datagram(DatagramId(key))));
            }
            _ => {}
        }
        copies.into_iter().for_each(|handle| self.handle_changed(handle));
    }

    /// Takes the next datagram of an actor's socket.
    ///
    /// # Errors
    /// `WouldBlock` when there is none.
    pub fn recv_datagram(&mut self, id: DatagramId) -> io::Result<UdpDatagram> {
        let socket = self.datagram_sockets.get_mut(id.0).ok_or_else(|| os(errno::BADF))?;
        if let Some(error) = socket.error.take() {
            return Err(os(error));
        }
        socket.unread.pop_front().ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// Reads one datagram; bytes that do not fit into `buffer` are lost.
    pub(crate) fn recv_into(&mut self, key: Key, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.recv_datagram(DatagramId(key))?.bytes;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.note(RecordKind::Recv, key.to_bits(), count as u64);
        Ok(count)
    }

    /// Reads up to a batch of datagrams; more may remain after a short batch.
    pub(crate) fn recv_batch(&mut self, key: Key, batch: &mut UdpBatch) -> io::Result<usize> {
        batch.fill(std::iter::empty());
        let first = self.recv_datagram(DatagramId(key))?;
        let plan = self.datagram_plan(first.to, first.from);
        let short = self.chance(plan.short_read);
        let most = if short { self.up_to(3) as usize } else { UdpBatch::CAPACITY - 1 };
        let Some(socket) = self.datagram_sockets.get_mut(key) else { return Ok(0) };
        let most = most.min(socket.unread.len());
        let all: Vec<_> = std::iter::once(first).chain(socket.unread.drain(..most)).collect();
        batch.fill(all.iter().map(|it| Arrived {
            from: it.from,
            to: Some(it.to.ip()),
            ecn: it.ecn,
            bytes: &it.bytes,
        }));
        self.note(RecordKind::Recv, key.to_bits(), all.len() as u64);
        Ok(all.len())
    }

    /// The datagram socket of a handle of the machine, if it is one.
    pub(crate) fn datagram_socket(&self, handle: i32) -> Option<Key> {
        match self.handles.get(handle)?.object {
            Object::Datagrams(key) => Some(key),
            _ => None,
        }
    }

    /// As [`Net::datagram_socket`], for calls that need one.
    pub(crate) fn expect_datagram_socket(&mut self, handle: i32) -> io::Result<Key> {
        self.datagram_socket(handle).ok_or_else(|| {
            self.misuse(handle as u64);
            os(errno::BADF)
        })
    }

    /// Whether a datagram or an error can be read.
    pub(super) fn has_datagram(&self, key: Key) -> bool {
        let socket = self.datagram_sockets.get(key);
        socket.is_some_and(|it| it.error.is_some() || !it.unread.is_empty())
    }

    pub(super) fn datagram_address(&self, key: Key) -> Option<SocketAddr> {
        self.datagram_sockets.get(key).map(|socket| socket.local)
    }

    /// Closes an actor's datagram socket.
    pub fn close_datagram_socket(&mut self, id: DatagramId) {
        self.close_datagrams(id.0);
    }

    /// Closes one handle of a socket of the machine; the last one closes the socket.
    pub(super) fn close_copy(&mut self, key: Key, handle: i32) {
        let Some(socket) = self.datagram_sockets.get_mut(key) else { return };
        socket.copies.retain(|copy| *copy != handle);
        if socket.owner == Owner::Handle(handle) {
            match socket.copies.pop() {
                Some(copy) => socket.owner = Owner::Handle(copy),
                None => self.close_datagrams(key),
            }
        }
    }

    pub(super) fn close_datagrams(&mut self, key: Key) {
        if let Some(socket) = self.datagram_sockets.remove(key) {
            self.leave_address(socket.local, key);
        }
    }

    /// Takes a socket out of the group of its address. As in Linux, the last socket takes its slot.
    fn leave_address(&mut self, address: SocketAddr, key: Key) {
        let Some(group) = self.datagram_addresses.get_mut(&address) else { return };
        if let Some(place) = group.iter().position(|one| *one == key) {
            group.swap_remove(place);
        }
        if group.is_empty() {
            self.datagram_addresses.remove(&address);
        }
    }
}
