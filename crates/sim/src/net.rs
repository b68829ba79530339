//! The virtual network: addresses, connections, and the events due on them.
//!
//! Everything that takes time is a `DueEvent` in one heap, ordered by time and insertion. All
//! random choices are drawn from one generator, so a seed determines a run.

pub mod actor;
mod conn;
pub mod datagram;
mod dial;
mod handles;
mod link;
mod path;
mod poll;
mod stream;

use crate::faults::Faults;
use crate::net::actor::{Actor, ActorId, Signal};
use crate::trace::{Record, RecordKind, Trace};
use conn::Conn;
pub use conn::EndId;
use datagram::{DatagramSocket, UdpDatagram};
use dial::Listening;
use handles::Handles;
use link::Link;
use poll::Poller;
use reactor::Address;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use stdx::{Key, Prng, Slab};

/// Error numbers of Linux.
pub(crate) mod errno {
    pub(crate) const NOENT: i32 = 2;
    pub(crate) const BADF: i32 = 9;
    pub(crate) const EXIST: i32 = 17;
    pub(crate) const MFILE: i32 = 24;
    pub(crate) const PIPE: i32 = 32;
    pub(crate) const DESTADDRREQ: i32 = 89;
    pub(crate) const MSGSIZE: i32 = 90;
    pub(crate) const ADDRINUSE: i32 = 98;
    pub(crate) const CONNABORTED: i32 = 103;
    pub(crate) const CONNRESET: i32 = 104;
    pub(crate) const TIMEDOUT: i32 = 110;
    pub(crate) const CONNREFUSED: i32 = 111;
}

/// An event that is due at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DueEvent {
    /// Bytes become readable.
    Arrive(EndId, u32),
    /// The peer's FIN arrives.
    Fin(EndId),
    /// The connection breaks.
    Reset(EndId),
    /// The sender learns that there is room.
    Room(EndId),
    /// A pretended lack of room is over.
    Unclog(EndId),
    /// A connection request arrives at its address.
    Syn(Key),
    /// The connecting side learns that the connection is established.
    Established(EndId),
    /// The connecting side learns that the connection has failed, with the error.
    Failed(EndId, i32),
    /// A drawn reset or stall of a connection takes effect.
    Fate(Key, DrawnFault),
    /// A datagram arrives.
    Datagram(Key),
    /// The timer of an actor.
    Timer(ActorId, u64),
}

/// Fault drawn for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DrawnFault {
    Reset,
    Stall,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ScheduledEvent {
    at: u64,
    sequence: u64,
    due: DueEvent,
}

impl Ord for ScheduledEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl PartialOrd for ScheduledEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A datagram that was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Virtual nanoseconds.
    pub at: u64,
    /// Destination.
    pub to: Address,
    /// Payload.
    pub bytes: Vec<u8>,
}

/// The network, the table of handles, and the pollers of the machine's threads.
pub struct Net {
    now: u64,
    wall_offset: u64,
    prng: Prng,
    trace: Trace,
    default_faults: Faults,
    faults: HashMap<Address, Faults>,
    here: IpAddr,
    next_port: u16,
    conns: Slab<Conn>,
    listeners: Slab<Listening>,
    bound: HashMap<Address, Key>,
    /// Destinations of connection requests that have not arrived.
    targets: HashMap<Key, Address>,
    queue: BinaryHeap<Reverse<ScheduledEvent>>,
    sequence: u64,
    handles: Handles,
    pollers: Vec<Poller>,
    actors: Slab<Option<Box<dyn Actor>>>,
    roused: VecDeque<(ActorId, Signal)>,
    datagrams: Vec<Datagram>,
    datagram_sockets: Slab<DatagramSocket>,
    /// The sockets of each address; several if they share it.
    datagram_addresses: HashMap<SocketAddr, Vec<Key>>,
    flights: Slab<UdpDatagram>,
    /// Pairs of sockets between processes of the machine.
    links: Slab<Link>,
    written: BTreeMap<i32, Vec<u8>>,
    misuses: u64,
}

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Net");
        out.field("now", &self.now).field("connections", &self.conns.len());
        out.field("handles", &self.handles.open()).finish_non_exhaustive()
    }
}

/// 2026-01-01 UTC, in nanoseconds.
const EPOCH: u64 = 1_767_225_600_000_000_000;
/// Time at which millisecond ticks of 32 bits wrap.
const TICK_WRAP: u64 = (1 << 32) * 1_000_000;

impl Net {
    /// An empty network. One seed in four starts shortly before the reactor's ticks wrap.
    pub(crate) fn new(seed: u64) -> Self {
        let prng = Prng::new(seed);
        let offset = prng.next_u64() % 20_000_000_000;
        let now = if prng.below(4) == 0 { TICK_WRAP - offset } else { offset };
        Self {
            now,
            wall_offset: EPOCH,
            prng,
            trace: Trace::new(64),
            default_faults: Faults::NONE,
            faults: HashMap::new(),
            here: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            next_port: 32_768,
            conns: Slab::new(),
            listeners: Slab::new(),
            bound: HashMap::new(),
            targets: HashMap::new(),
            queue: BinaryHeap::new(),
            sequence: 0,
            handles: Handles::default(),
            pollers: Vec::new(),
            actors: Slab::new(),
            roused: VecDeque::new(),
            datagrams: Vec::new(),
            datagram_sockets: Slab::new(),
            datagram_addresses: HashMap::new(),
            flights: Slab::new(),
            links: Slab::new(),
            written: BTreeMap::new(),
            misuses: 0,
        }
    }

    /// Virtual nanoseconds of the monotonic clock.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Virtual nanoseconds since 1970-01-01 UTC.
    pub fn wall(&self) -> u64 {
        self.wall_offset.wrapping_add(self.now)
    }

    /// Steps the wall clock forward or back, as an operator or NTP may.
    pub fn step_wall(&mut self, nanos: i64) {
        self.wall_offset = self.wall_offset.wrapping_add_signed(nanos);
    }

    /// The generator of all random choices.
    pub fn prng(&self) -> &Prng {
        &self.prng
    }

    /// Draws whether an event with this chance in 1000 happens.
    pub fn chance(&self, in_1000: u16) -> bool {
        in_1000 > 0 && self.prng.below(1000) < u32::from(in_1000)
    }

    /// Draws a value from 0 to `most`, both included.
    pub fn up_to(&self, most: u64) -> u64 {
        if most == 0 { 0 } else { self.prng.next_u64() % most.saturating_add(1) }
    }

    /// The trace of the run.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The trace of the run, to change how many records it keeps.
    pub fn trace_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Sets the fault plan of addresses without one of their own, and of the machine itself.
    pub fn set_faults(&mut self, faults: Faults) {
        self.default_faults = faults;
    }

    /// Sets the fault plan of new connections to one address.
    pub fn set_faults_of(&mut self, address: Address, faults: Faults) {
        self.faults.insert(address, faults);
    }

    /// Sets how many handles may be open at once.
    pub fn set_handle_limit(&mut self, limit: usize) {
        self.handles.limit = limit;
    }

    /// Handles open, listeners included.
    pub fn open_handles(&self) -> usize {
        self.handles.open()
    }

    /// Connections of which at least one end is open.
    pub fn connections(&self) -> usize {
        self.conns.len()
    }

    /// Calls on handles that are closed or of the wrong kind: always a bug of the caller.
    pub fn misuses(&self) -> u64 {
        self.misuses
    }

    /// Takes the datagrams sent since the last call.
    pub fn take_datagrams(&mut self) -> Vec<Datagram> {
        std::mem::take(&mut self.datagrams)
    }

    /// Takes the bytes written to an inherited descriptor since the last call.
    pub fn take_written(&mut self, descriptor: i32) -> Vec<u8> {
        self.written.remove(&descriptor).unwrap_or_default()
    }

    pub(crate) fn log_datagram(&mut self, to: &Address, bytes: &[u8]) {
        self.note(RecordKind::Datagram, bytes.len() as u64, crate::trace::digest(bytes));
        self.datagrams.push(Datagram { at: self.now, to: to.clone(), bytes: bytes.to_vec() });
    }

    pub(crate) fn log_write(&mut self, descriptor: i32, bytes: &[u8]) {
        self.note(RecordKind::Write, descriptor as u64, crate::trace::digest(bytes));
        self.written.entry(descriptor).or_default().extend_from_slice(bytes);
    }

    /// Adds an actor, which gets [`Signal::Start`] as soon as the network is stepped.
    pub fn spawn(&mut self, actor: Box<dyn Actor>) -> ActorId {
        let id = ActorId(self.actors.insert(Some(actor)));
        self.roused.push_back((id, Signal::Start));
        id
    }

    /// Removes an actor. Its ends stay open, so the actor should close them before.
    pub fn retire(&mut self, id: ActorId) {
        self.actors.remove(id.0);
    }

    /// Actors alive.
    pub fn actors(&self) -> usize {
        self.actors.len()
    }

    /// Calls an actor with [`Signal::Timer`] at a time, or at once if that is past.
    pub fn set_timer(&mut self, id: ActorId, at: u64, number: u64) {
        self.schedule(at.max(self.now), DueEvent::Timer(id, number));
    }

    fn note(&mut self, what: RecordKind, subject: u64, detail: u64) {
        self.trace.note(Record { at: self.now, what, subject, detail });
    }

    pub(crate) fn note_turn(&mut self, thread: usize) {
        self.note(RecordKind::Turn, thread as u64, 0);
    }

    fn misuse(&mut self, subject: u64) {
        self.misuses += 1;
        self.note(RecordKind::Misuse, subject, 0);
    }

    fn schedule(&mut self, at: u64, due: DueEvent) {
        self.sequence += 1;
        self.queue.push(Reverse(ScheduledEvent { at, sequence: self.sequence, due }));
    }

    /// Time of the next event of the network.
    pub(crate) fn next_due(&self) -> Option<u64> {
        if !self.roused.is_empty() {
            return Some(self.now);
        }
        self.queue.peek().map(|Reverse(timed)| timed.at)
    }

    pub(crate) fn advance_to(&mut self, at: u64) {
        self.now = self.now.max(at);
    }

    /// Handles all events that are due, with the actors' reactions.
    pub(crate) fn settle(&mut self) {
        loop {
            if let Some((id, signal)) = self.roused.pop_front() {
                self.call(id, signal);
            } else {
                match self.queue.peek() {
                    Some(Reverse(timed)) if timed.at <= self.now => {
                        let due = timed.due;
                        self.queue.pop();
                        self.happen(due);
                    }
                    _ => return,
                }
            }
        }
    }

    fn call(&mut self, id: ActorId, signal: Signal) {
        let Some(mut actor) = self.actors.get_mut(id.0).and_then(Option::take) else { return };
        actor.act(self, id, signal);
        // The actor may have removed itself meanwhile.
        if let Some(place) = self.actors.get_mut(id.0) {
            *place = Some(actor);
        }
    }

    fn happen(&mut self, due: DueEvent) {
        match due {
            DueEvent::Arrive(end, count) => self.arrive(end, count as usize),
            DueEvent::Fin(end) => self.fin(end),
            DueEvent::Reset(end) => self.broken(end, errno::CONNRESET),
            DueEvent::Room(end) => self.room(end),
            DueEvent::Unclog(end) => self.unclog(end),
            DueEvent::Syn(conn) => self.syn(conn),
            DueEvent::Established(end) => self.established(end),
            DueEvent::Failed(end, error) => self.failed(end, error),
            DueEvent::Fate(conn, fate) => self.apply_fault(conn, fate),
            DueEvent::Datagram(flight) => self.datagram_arrives(flight),
            DueEvent::Timer(id, number) => {
                self.note(RecordKind::Timer, id.0.to_bits(), number);
                self.roused.push_back((id, Signal::Timer(number)));
            }
        }
    }
}
