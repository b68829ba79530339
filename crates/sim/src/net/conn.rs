//! A connection: two ends, and the bytes on their way to each.

use crate::faults::Faults;
use crate::net::actor::ActorId;
use std::collections::VecDeque;
use std::net::SocketAddr;
use stdx::Key;

/// Identifies one end of a connection while the connection lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct EndId {
    pub(super) conn: Key,
    /// 0: the connecting side; 1: the accepting side.
    pub(super) side: u8,
}

impl EndId {
    pub(super) fn other(self) -> Self {
        Self { side: 1 - self.side, ..self }
    }

    /// The end as one word, for traces.
    pub(super) fn bits(self) -> u64 {
        self.conn.to_bits() << 1 | u64::from(self.side)
    }
}

/// Owner of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// The connection request has not arrived yet.
    Nobody,
    /// The end waits in this listener's backlog.
    Backlog(Key),
    Handle(i32),
    Actor(ActorId),
    /// The end was closed.
    Closed,
}

/// Readiness of an end as `epoll` would report it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Readiness {
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) closed: bool,
}

impl Readiness {
    pub(super) fn is_empty(self) -> bool {
        !(self.readable || self.writable || self.closed)
    }
}

/// One end. `bytes` are on their way to it: the first `arrived` can be read, the rest is in flight.
#[derive(Debug)]
pub(super) struct End {
    pub(super) owner: Owner,
    pub(super) address: Option<SocketAddr>,
    pub(super) bytes: VecDeque<u8>,
    pub(super) arrived: usize,
    /// Arrival of the last segment, which later ones do not overtake.
    pub(super) last_arrival: u64,
    pub(super) connecting: bool,
    /// The peer's FIN has arrived.
    pub(super) fin: bool,
    /// We have sent a FIN.
    pub(super) fin_sent: bool,
    /// The connection is broken in both directions.
    pub(super) dead: bool,
    /// The pending error.
    pub(super) error: Option<i32>,
    /// A write was cut short or refused for lack of room; new room causes an event.
    pub(super) starved: bool,
    /// A pretended lack of room, for a moment.
    pub(super) clogged: bool,
}

impl End {
    fn new(owner: Owner, address: Option<SocketAddr>, connecting: bool) -> Self {
        Self {
            owner,
            address,
            bytes: VecDeque::new(),
            arrived: 0,
            last_arrival: 0,
            connecting,
            fin: false,
            fin_sent: false,
            dead: false,
            error: None,
            starved: false,
            clogged: false,
        }
    }
}

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) ends: [End; 2],
    pub(super) faults: Faults,
    /// Data sent from now on is lost.
    pub(super) stalled: bool,
}

impl Conn {
    pub(super) fn new(
        owner: Owner,
        from: Option<SocketAddr>,
        to: Option<SocketAddr>,
        faults: Faults,
    ) -> Self {
        let ends = [End::new(owner, from, true), End::new(Owner::Nobody, to, false)];
        Self { ends, faults, stalled: false }
    }

    pub(super) fn end(&mut self, side: u8) -> &mut End {
        &mut self.ends[side as usize]
    }

    /// Bytes that the end on `side` can send.
    pub(super) fn space(&self, side: u8) -> usize {
        self.faults.buffer.saturating_sub(self.ends[1 - side as usize].bytes.len())
    }

    /// As in Linux, room is reported from a third of the buffer on.
    pub(super) fn roomy(&self, side: u8) -> bool {
        self.space(side).max(1) * 3 > self.faults.buffer
    }

    /// As `tcp_poll` of Linux.
    pub(super) fn mask(&self, side: u8) -> Readiness {
        let end = &self.ends[side as usize];
        let hung_up = end.dead || (end.fin && end.fin_sent);
        let broken = end.error.is_some() || hung_up;
        let closed = broken || end.fin;
        let room = !end.connecting && (end.fin_sent || (!end.clogged && self.roomy(side)));
        Readiness { readable: closed || end.arrived > 0, writable: broken || room, closed }
    }
}
