//! State of one stream, and the table of a connection's streams.

use crate::stream_response::ResponseTo;
use crate::stream_table::{Identified, StreamTable};
use crate::{BodyKind, MessageError};
use htx::{Fields, Head};
use std::collections::VecDeque;
use stdx::Key;
use wire::h2::ErrorCode;
use wire::websocket;

/// Phase of the incoming message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecvPhase {
    /// The final head has not arrived.
    Head,
    Body,
    Ended,
}

/// Phase of the outgoing message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendPhase {
    /// The final head was not sent.
    Head,
    Body,
    Ended,
}

/// Why a stream ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reset {
    pub(super) code: ErrorCode,
    pub(super) by_peer: bool,
}

/// An upgrade requested in HTTP/1, with the response's fields that HTTP/2 lacks.
#[derive(Clone, Debug)]
pub(super) struct PendingUpgrade {
    pub(super) protocol: Vec<u8>,
    /// The `Sec-WebSocket-Accept` value of a websocket request.
    pub(super) accept: Option<websocket::Accept>,
}

/// A received head with its body; `None` for an interim one.
pub(super) type ReceivedHead = (Box<Head>, Option<BodyKind>);

/// Received heads that were not taken yet: nearly always one, which needs no list.
#[derive(Debug, Default)]
pub(super) struct Heads {
    first: Option<ReceivedHead>,
    more: VecDeque<ReceivedHead>,
}

impl Heads {
    pub(super) fn push(&mut self, arrived: ReceivedHead) {
        match &self.first {
            None => self.first = Some(arrived),
            Some(_) => self.more.push_back(arrived),
        }
    }

    pub(super) fn pop(&mut self) -> Option<ReceivedHead> {
        let next = self.more.pop_front();
        std::mem::replace(&mut self.first, next)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    /// Token to wake, and the events waited for.
    pub(super) token: u64,
    pub(super) wants: u8,

    pub(super) recv: RecvPhase,
    pub(super) heads: Heads,
    /// The error with which the request is answered.
    pub(super) refusal: Option<MessageError>,
    /// Payload still to come, if a length was announced.
    pub(super) length: Option<u64>,
    /// Received payload; unread from `taken` on.
    pub(super) inbox: Vec<u8>,
    pub(super) taken: usize,
    pub(super) trailers: Option<Box<Fields>>,
    /// Bytes of payload that the peer may still send.
    pub(super) recv_window: i64,
    /// Payload of the message received so far.
    pub(super) received: u64,

    pub(super) send: SendPhase,
    pub(super) send_window: i64,
    /// Payload announced with `encode_data` and not sent.
    pub(super) owed: u64,
    /// The message ends when `owed` is 0, with these trailers.
    pub(super) ending: bool,
    pub(super) last_trailers: Option<Box<Fields>>,
    /// The stream waits in the line for its turn.
    pub(super) queued: bool,
    /// Whether the stream has the turn to send, and has not used it.
    pub(super) called: bool,
    /// The stream has sent a frame since its last turn.
    pub(super) served: bool,

    pub(super) reset: Option<Reset>,
    /// The stream was cut off by the loss of its connection.
    pub(super) is_lost: bool,
    /// The request is HEAD, CONNECT, or an upgrade as extended CONNECT.
    pub(super) head_only: bool,
    pub(super) connect: bool,
    pub(super) extended: bool,
    /// CONNECT was accepted.
    pub(super) is_tunnel: bool,
    /// The upgrade of an extended CONNECT to a server.
    pub(super) upgrade: Option<Box<PendingUpgrade>>,
    /// The value that accepts a websocket request with a key of our making.
    pub(super) accept: Option<Box<websocket::Accept>>,
    /// Offset of the request's head in all output.
    pub(super) head_at: Option<u64>,
    /// The stream counts against the limit of concurrent streams.
    pub(super) counted: bool,
}

impl Stream {
    pub(super) fn new(id: u32, recv_window: u32, send_window: u32) -> Self {
        Self {
            id,
            token: 0,
            wants: 0,
            recv: RecvPhase::Head,
            heads: Heads::default(),
            refusal: None,
            length: None,
            inbox: Vec::new(),
            taken: 0,
            trailers: None,
            recv_window: i64::from(recv_window),
            received: 0,
            send: SendPhase::Head,
            send_window: i64::from(send_window),
            owed: 0,
            ending: false,
            last_trailers: None,
            queued: false,
            called: false,
            served: false,
            reset: None,
            is_lost: false,
            head_only: false,
            connect: false,
            extended: false,
            is_tunnel: false,
            upgrade: None,
            accept: None,
            head_at: None,
            counted: true,
        }
    }

    /// The request, for the response to it.
    pub(super) fn response_to(&self) -> ResponseTo {
        let Self { head_only, connect, extended, .. } = *self;
        ResponseTo { head_only, connect, extended }
    }

    /// Received payload that was not read.
    pub(super) fn unread(&self) -> &[u8] {
        &self.inbox[self.taken..]
    }

    /// Whether a read would return bytes or the end.
    pub(super) fn is_readable(&self) -> bool {
        self.reset.is_some()
            || self.refusal.is_some()
            || !self.heads.is_empty()
            || self.taken < self.inbox.len()
            || self.recv == RecvPhase::Ended
    }

    /// Whether both messages are complete, or the stream was reset.
    pub(super) fn is_closed(&self) -> bool {
        self.reset.is_some() || (self.recv == RecvPhase::Ended && self.send == SendPhase::Ended)
    }
}

impl Identified for Stream {
    type Id = u32;

    fn id(&self) -> u32 {
        self.id
    }
}

/// Closed streams that are remembered, to distinguish late frames from errors.
const REMEMBERED: usize = 128;

/// The streams of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    table: StreamTable<Stream>,
    /// Number of streams that count against the limit.
    pub(super) open: u32,
    /// The last closed streams, and whether we have reset them.
    gone: VecDeque<(u32, bool)>,
    /// The highest closed stream that is no longer remembered.
    forgotten: u32,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&Stream> {
        self.table.get(key)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Stream> {
        self.table.get_mut(key)
    }

    /// The stream with an identifier.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<Key> {
        self.table.find(id)
    }

    /// Adds a stream, which counts against the limit.
    pub(super) fn insert(&mut self, stream: Stream) -> Key {
        self.open += 1;
        self.table.insert(stream)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Stream> {
        self.uncount(key);
        let stream = self.table.remove(key)?;
        let ours = stream.reset.is_some_and(|reset| !reset.by_peer);
        self.remember(stream.id, ours);
        Some(stream)
    }

    /// Remembers a closed stream.
    pub(super) fn remember(&mut self, id: u32, reset_by_us: bool) {
        if self.gone.len() == REMEMBERED
            && let Some((oldest, _)) = self.gone.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.gone.push_back((id, reset_by_us));
    }

    /// Whether we have reset a closed stream; assumed of all that are no longer remembered. `None`
    /// if there was none.
    pub(super) fn was_reset(&self, id: u32) -> Option<bool> {
        let found = self.gone.iter().rev().find(|(gone, _)| *gone == id).map(|(_, ours)| *ours);
        found.or((id <= self.forgotten).then_some(true))
    }

    /// Takes a closed stream off the count.
    pub(super) fn uncount(&mut self, key: Key) {
        if let Some(stream) = self.table.get_mut(key)
            && std::mem::take(&mut stream.counted)
        {
            self.open -= 1;
        }
    }

    /// Calls `see` for each stream, in the order of identifiers.
    pub(super) fn each(&self, see: impl FnMut(&Stream)) {
        self.table.each(see);
    }

    /// Keys of the streams for which `holds` is true, in the order of identifiers.
    pub(super) fn keys_where(&self, holds: impl Fn(&Stream) -> bool) -> Vec<Key> {
        self.table.keys_where(holds)
    }
}
