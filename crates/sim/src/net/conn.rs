//! A connection: two ends and the bytes towards each. Never schedules anything.

use crate::actor::ActorId;
use crate::faults::Faults;
use std::collections::VecDeque;
use std::net::SocketAddr;
use stdx::Key;

/// Names one end of a connection for as long as the connection lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct EndId {
    pub(super) conn: Key,
    /// 0: the one who connected; 1: the one who accepted.
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

/// Who holds an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// The request has not reached it yet.
    Nobody,
    /// It waits in this listener's backlog.
    Backlog(Key),
    Handle(i32),
    Actor(ActorId),
    /// It was closed.
    Closed,
}

/// What `epoll` would say of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Mask {
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) closed: bool,
}

impl Mask {
    pub(super) fn is_empty(self) -> bool {
        !(self.readable || self.writable || self.closed)
    }
}

/// One end. `bytes` holds what travels towards it: the first `arrived` can be read, the rest is in
/// flight.
#[derive(Debug)]
pub(super) struct End {
    pub(super) owner: Owner,
    pub(super) address: Option<SocketAddr>,
    pub(super) bytes: VecDeque<u8>,
    pub(super) arrived: usize,
    /// Nothing travels faster than what was sent before it.
    pub(super) last_arrival: u64,
    pub(super) connecting: bool,
    /// The peer's end of the stream has arrived.
    pub(super) fin: bool,
    /// We have ended our stream.
    pub(super) fin_sent: bool,
    /// Nothing goes either way any more.
    pub(super) dead: bool,
    /// The pending error.
    pub(super) error: Option<i32>,
    /// A write was cut short or refused for want of room; the next room is worth an event.
    pub(super) starved: bool,
    /// A pretended want of room, for a moment.
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
    /// Nothing that is sent from now on arrives.
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

    /// As Linux: room is reported from a third of the buffer on.
    pub(super) fn roomy(&self, side: u8) -> bool {
        self.space(side).max(1) * 3 > self.faults.buffer
    }

    /// As `tcp_poll` of Linux.
    pub(super) fn mask(&self, side: u8) -> Mask {
        let end = &self.ends[side as usize];
        let hung_up = end.dead || (end.fin && end.fin_sent);
        let broken = end.error.is_some() || hung_up;
        let closed = broken || end.fin;
        let room = !end.connecting && (end.fin_sent || (!end.clogged && self.roomy(side)));
        Mask { readable: closed || end.arrived > 0, writable: broken || room, closed }
    }
}
