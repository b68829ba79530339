//! Establishing connections: listen, connect, accept.

use super::conn::{Conn, EndId, Owner};
use super::handles::Object;
use super::{DrawnFault, DueEvent, Net, errno};
use crate::faults::{Faults, SEC};
use crate::net::actor::{ActorId, Signal};
use crate::trace::RecordKind;
use reactor::Address;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use stdx::Key;

/// Time until an unanswered connection attempt fails: as in Linux with its six retries.
const GIVE_UP: u64 = 127 * SEC;
/// Time until a request that found a full backlog is repeated.
const ASK_AGAIN: u64 = SEC;

/// A listening address.
#[derive(Debug)]
pub(super) struct Listening {
    address: Address,
    /// Handle of the machine; `None` if an actor listens.
    pub(super) handle: Option<i32>,
    actor: Option<ActorId>,
    limit: usize,
    pub(super) backlog: VecDeque<EndId>,
}

/// An error of the system by its number.
pub(super) fn os(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Net {
    /// Opens a listener of the machine, as if inherited.
    ///
    /// # Errors
    /// The address is in use, or no handle is left.
    pub fn listen(&mut self, address: Address, backlog: usize) -> io::Result<reactor::Handle> {
        if self.handles.is_full() {
            return Err(os(errno::MFILE));
        }
        let key = self.bind(address, None, backlog)?;
        let handle = self.handles.insert(Object::Listener(key));
        self.listeners.get_mut(key).expect("it was bound just now").handle = Some(handle);
        Ok(reactor::Handle(handle))
    }

    /// Makes an actor listen on an address.
    ///
    /// # Errors
    /// The address is in use.
    pub fn listen_as(&mut self, actor: ActorId, address: Address) -> io::Result<()> {
        self.bind(address, Some(actor), usize::MAX).map(drop)
    }

    fn bind(
        &mut self,
        address: Address,
        actor: Option<ActorId>,
        backlog: usize,
    ) -> io::Result<Key> {
        if self.bound.contains_key(&address) {
            return Err(os(errno::ADDRINUSE));
        }
        let listening = Listening {
            address: address.clone(),
            handle: None,
            actor,
            limit: backlog.max(1),
            backlog: VecDeque::new(),
        };
        let key = self.listeners.insert(listening);
        self.bound.insert(address, key);
        self.note(RecordKind::Listen, key.to_bits(), u64::from(actor.is_some()));
        Ok(key)
    }

    /// Frees an address, as when its host goes down: new clients are refused, and those in the
    /// backlog are reset. Established connections stay. A handle of the machine stays open, but no
    /// client comes any more.
    pub fn unlisten(&mut self, address: &Address) {
        if let Some(key) = self.bound.remove(address)
            && let Some(listening) = self.listeners.remove(key)
        {
            for end in listening.backlog {
                self.close_end(end, true);
            }
        }
    }

    pub(super) fn close_listener(&mut self, key: Key) {
        if let Some(address) = self.listeners.get(key).map(|one| one.address.clone()) {
            self.unlisten(&address);
        }
    }

    pub(super) fn listener_address(&self, key: Key) -> Option<SocketAddr> {
        self.listeners.get(key)?.address.inet()
    }

    /// The listener for an address: its own, or the wildcard listener of its port.
    fn listener_at(&self, to: &Address) -> Option<Key> {
        if let Some(key) = self.bound.get(to) {
            return Some(*key);
        }
        let to = to.inet()?;
        let any = [
            to.is_ipv4().then_some(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            Some(IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        ];
        any.into_iter()
            .flatten()
            .find_map(|ip| self.bound.get(&Address::Inet(SocketAddr::new(ip, to.port()))).copied())
    }

    fn faults_of(&self, to: &Address) -> Faults {
        self.faults.get(to).copied().unwrap_or(self.default_faults)
    }

    /// Starts a connection of the machine.
    pub(crate) fn connect(&mut self, to: &Address) -> io::Result<i32> {
        if self.handles.is_full() {
            self.note(RecordKind::Exhausted, 0, 0);
            return Err(os(errno::MFILE));
        }
        let here = self.here;
        let end = self.start(here, to)?;
        let handle = self.handles.insert(Object::Stream(end));
        self.set_owner(end, Owner::Handle(handle));
        Ok(handle)
    }

    /// Starts a connection of an actor; [`Signal::Ready`] reports that it is established or has
    /// failed.
    ///
    /// # Errors
    /// The connection was refused at once.
    pub fn dial(&mut self, actor: ActorId, from: IpAddr, to: &Address) -> io::Result<EndId> {
        let end = self.start(from, to)?;
        self.set_owner(end, Owner::Actor(actor));
        Ok(end)
    }

    fn start(&mut self, from: IpAddr, to: &Address) -> io::Result<EndId> {
        let faults = self.faults_of(to);
        if matches!(to, Address::Unix(_)) && self.listener_at(to).is_none() {
            return Err(os(errno::NOENT));
        }
        let refused = self.chance(faults.refuse);
        if refused && self.chance(250) {
            self.note(RecordKind::Refuse, 0, 0);
            return Err(os(errno::CONNREFUSED));
        }
        let local = to.inet().map(|to| self.local_for(from, to));
        let conn = Conn::new(Owner::Nobody, local, to.inet(), faults);
        let conn = self.conns.insert(conn);
        let end = EndId { conn, side: 0 };
        self.note(RecordKind::Connect, end.bits(), u64::from(refused));
        let there = self.now + self.travel(&faults);
        if self.chance(faults.never) {
            self.schedule(self.now + GIVE_UP, DueEvent::Failed(end, errno::TIMEDOUT));
        } else if refused {
            let back = there + self.travel(&faults);
            self.schedule(back, DueEvent::Failed(end, errno::CONNREFUSED));
        } else {
            self.targets.insert(conn, to.clone());
            self.schedule(there, DueEvent::Syn(conn));
        }
        self.draw_fate(conn, &faults);
        Ok(end)
    }

    pub(super) fn local_for(&mut self, from: IpAddr, to: SocketAddr) -> SocketAddr {
        self.next_port = if self.next_port >= 60_999 { 32_768 } else { self.next_port + 1 };
        let ip =
            if to.is_ipv6() && from.is_ipv4() { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { from };
        SocketAddr::new(ip, self.next_port)
    }

    fn draw_fate(&mut self, conn: Key, faults: &Faults) {
        for (chance, fate) in [(faults.reset, DrawnFault::Reset), (faults.stall, DrawnFault::Stall)]
        {
            if self.chance(chance) {
                let at = self.now + self.up_to(faults.within);
                self.schedule(at, DueEvent::Fate(conn, fate));
            }
        }
    }

    /// Travel time of a segment.
    pub(super) fn travel(&self, faults: &Faults) -> u64 {
        faults.latency.max(1) + self.up_to(faults.jitter)
    }

    fn set_owner(&mut self, end: EndId, owner: Owner) {
        if let Some(conn) = self.conns.get_mut(end.conn) {
            conn.end(end.side).owner = owner;
        }
    }

    /// Gives an actor's end to another actor, which gets its signals from now on.
    pub fn hand_over(&mut self, end: EndId, to: ActorId) {
        self.set_owner(end, Owner::Actor(to));
    }

    pub(super) fn syn(&mut self, conn: Key) {
        let Some(to) = self.targets.get(&conn).cloned() else { return };
        if self.conns.get(conn).is_none() {
            // The client closed before the request arrived.
            self.targets.remove(&conn);
            return;
        }
        let dialler = EndId { conn, side: 0 };
        let server = dialler.other();
        let Some(listener) = self.listener_at(&to) else {
            self.targets.remove(&conn);
            let at = self.arrival(dialler);
            return self.schedule(at, DueEvent::Failed(dialler, errno::CONNREFUSED));
        };
        let listening = self.listeners.get_mut(listener).expect("a bound key names a listener");
        if listening.backlog.len() >= listening.limit {
            return self.schedule(self.now + ASK_AGAIN, DueEvent::Syn(conn));
        }
        self.targets.remove(&conn);
        let owner = match listening.actor {
            Some(actor) => Owner::Actor(actor),
            None => {
                listening.backlog.push_back(server);
                Owner::Backlog(listener)
            }
        };
        self.set_owner(server, owner);
        self.note(RecordKind::Syn, server.bits(), listener.to_bits());
        let at = self.arrival(dialler);
        self.schedule(at, DueEvent::Established(dialler));
        match owner {
            Owner::Actor(actor) => self.roused.push_back((actor, Signal::Accepted(server))),
            _ => self.client_waits(listener),
        }
    }

    pub(super) fn established(&mut self, end: EndId) {
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        conn.end(end.side).connecting = false;
        self.note(RecordKind::Established, end.bits(), 0);
        self.changed(end);
    }

    pub(super) fn failed(&mut self, end: EndId, error: i32) {
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        let here = conn.end(end.side);
        if !here.connecting || here.dead {
            return;
        }
        here.connecting = false;
        here.dead = true;
        here.error = Some(error);
        self.note(RecordKind::Refuse, end.bits(), error as u64);
        self.changed(end);
    }

    /// Accepts a client on a listener of the machine.
    pub(crate) fn accept(&mut self, handle: i32) -> io::Result<(i32, Option<SocketAddr>)> {
        let Some(Object::Listener(key)) = self.handles.get(handle).map(|slot| slot.object) else {
            self.misuse(handle as u64);
            return Err(os(errno::BADF));
        };
        let full = self.handles.is_full();
        let waiting = self.listeners.get_mut(key).filter(|one| !one.backlog.is_empty());
        let Some(listening) = waiting else { return Err(io::ErrorKind::WouldBlock.into()) };
        if full {
            self.note(RecordKind::Exhausted, handle as u64, 0);
            return Err(os(errno::MFILE));
        }
        let end = listening.backlog.pop_front().expect("it is not empty");
        let abort = self.conns.get(end.conn).map_or(0, |conn| conn.faults.abort);
        if self.chance(abort) {
            self.close_end(end, true);
            return Err(os(errno::CONNABORTED));
        }
        let taken = self.handles.insert(Object::Stream(end));
        self.set_owner(end, Owner::Handle(taken));
        self.note(RecordKind::Accept, end.bits(), taken as u64);
        Ok((taken, self.peer_of(end)))
    }

    /// The address of the other end.
    pub fn peer_of(&self, end: EndId) -> Option<SocketAddr> {
        self.address_of(end.other())
    }

    /// The address of an end.
    pub fn address_of(&self, end: EndId) -> Option<SocketAddr> {
        self.conns.get(end.conn)?.ends[end.side as usize].address
    }
}
