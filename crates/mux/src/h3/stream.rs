//! State of one request, and the table of a connection's requests.

use crate::stream_response::ResponseTo;
use crate::stream_table::{Identified, StreamTable};
use crate::{BodyKind, MessageError};
use htx::{Fields, Head};
use stdx::Key;
use wire::h3::H3ErrorCode;
use wire::websocket;

/// Phase of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum H3RecvPhase {
    /// The head has not arrived.
    Head,
    Body,
    /// The trailers have arrived; no frame of the message may follow.
    Trailers,
    Ended,
}

/// Phase of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum H3SendPhase {
    /// The final head was not sent.
    Head,
    Body,
    Ended,
}

/// The next element of the stream's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FramePhase {
    Header,
    /// Payload of a DATA frame.
    Data(u64),
    /// Payload of a HEADERS frame, which is kept until it is whole.
    Section(u64),
    /// Payload of a frame that is ignored.
    Skip(u64),
}

/// Why a stream ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct H3Reset {
    pub(super) code: H3ErrorCode,
    pub(super) by_peer: bool,
}

#[derive(Debug)]
pub(super) struct RequestStream {
    pub(super) id: u64,
    /// Token to wake, and the events waited for.
    pub(super) token: u64,
    pub(super) wants: u8,

    pub(super) recv: H3RecvPhase,
    pub(super) frame: FramePhase,
    /// Received bytes that were not handled: an incomplete frame, or bytes behind a blocked
    /// section.
    pub(super) held: Vec<u8>,
    /// The field section in `held` waits for the peer's encoder stream.
    pub(super) is_blocked: bool,
    /// The transport has delivered the end of the stream.
    pub(super) has_end: bool,
    /// The peer was asked to send no more.
    pub(super) is_stopped: bool,
    /// A request whose head is complete, and its body.
    pub(super) head: Option<(Box<Head>, BodyKind)>,
    /// The error with which the request is answered.
    pub(super) refusal: Option<MessageError>,
    /// Payload still to come, if a length was announced.
    pub(super) length: Option<u64>,
    /// Received payload; unread from `taken` on.
    pub(super) inbox: Vec<u8>,
    pub(super) taken: usize,
    pub(super) trailers: Option<Box<Fields>>,
    /// Payload of the message received so far.
    pub(super) received: u64,
    /// The transport reads no further because there is no room.
    pub(super) is_paused: bool,

    pub(super) send: H3SendPhase,
    /// Bytes for the transport; taken up to `sent`.
    pub(super) out: Vec<u8>,
    pub(super) sent: usize,
    /// The stream ends once `out` is taken.
    pub(super) ends: bool,
    /// The stream is among those that the transport is to write.
    pub(super) is_dirty: bool,
    /// Payload announced with `encode_data` and not sent.
    pub(super) owed: u64,
    /// The message ends when `owed` is 0, with these trailers.
    pub(super) ending: bool,
    pub(super) last_trailers: Option<Box<Fields>>,

    pub(super) reset: Option<H3Reset>,
    /// The stream was cut off by the loss of its connection.
    pub(super) is_lost: bool,
    /// The request was released; the rest of the response goes out without it.
    pub(super) is_released: bool,
    /// The request is HEAD, CONNECT, or an upgrade as extended CONNECT.
    pub(super) head_only: bool,
    pub(super) connect: bool,
    pub(super) extended: bool,
    /// CONNECT was accepted.
    pub(super) is_tunnel: bool,
    /// The value that accepts a websocket request with a key of our making.
    pub(super) accept: Option<Box<websocket::Accept>>,
}

impl RequestStream {
    pub(super) fn new(id: u64) -> Self {
        Self {
            id,
            token: 0,
            wants: 0,
            recv: H3RecvPhase::Head,
            frame: FramePhase::Header,
            held: Vec::new(),
            is_blocked: false,
            has_end: false,
            is_stopped: false,
            head: None,
            refusal: None,
            length: None,
            inbox: Vec::new(),
            taken: 0,
            trailers: None,
            received: 0,
            is_paused: false,
            send: H3SendPhase::Head,
            out: Vec::new(),
            sent: 0,
            ends: false,
            is_dirty: false,
            owed: 0,
            ending: false,
            last_trailers: None,
            reset: None,
            is_lost: false,
            is_released: false,
            head_only: false,
            connect: false,
            extended: false,
            is_tunnel: false,
            accept: None,
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

    /// Bytes that the transport has not taken.
    pub(super) fn pending(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Whether a read would return bytes or the end.
    pub(super) fn is_readable(&self) -> bool {
        self.reset.is_some()
            || self.refusal.is_some()
            || self.head.is_some()
            || self.taken < self.inbox.len()
            || self.recv == H3RecvPhase::Ended
    }
}

impl Identified for RequestStream {
    type Id = u64;

    fn id(&self) -> u64 {
        self.id
    }
}

/// The requests of a connection.
#[derive(Debug, Default)]
pub(super) struct Requests {
    table: StreamTable<RequestStream>,
    /// Requests that were not released.
    pub(super) in_use: usize,
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    pub(super) fn get(&self, key: Key) -> Option<&RequestStream> {
        self.table.get(key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut RequestStream> {
        self.table.get_mut(key)
    }

    /// The request with an identifier.
    pub(super) fn find(&self, id: u64) -> Option<Key> {
        self.table.find(id)
    }

    /// Adds a request.
    pub(super) fn insert(&mut self, stream: RequestStream) -> Key {
        self.in_use += 1;
        self.table.insert(stream)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<RequestStream> {
        let stream = self.table.remove(key)?;
        self.in_use -= usize::from(!stream.is_released);
        Some(stream)
    }

    /// Keys of the requests for which `holds` is true, in the order of identifiers.
    pub(super) fn keys_where(&self, holds: impl Fn(&RequestStream) -> bool) -> Vec<Key> {
        self.table.keys_where(holds)
    }
}
