//! One stream: where its two messages are, what has come and was not taken, what may be sent. Never
//! writes a frame.

use crate::{BodyKind, Error};
use htx::{Fields, Head};
use std::collections::VecDeque;
use stdx::Key;
use stdx::slab::Slab;
use wire::h2::Code;
use wire::websocket;

/// Where the incoming message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recv {
    /// Its final head is to come.
    Head,
    Body,
    Ended,
}

/// Where the outgoing message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Send {
    /// Its final head is to come.
    Head,
    Body,
    Ended,
}

/// Why a stream ended before its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reset {
    pub(super) code: Code,
    pub(super) by_peer: bool,
}

/// An upgrade that was asked for in HTTP/1: what HTTP/2 does not say in its answer.
#[derive(Clone, Debug)]
pub(super) struct Upgrade {
    pub(super) protocol: Vec<u8>,
    /// The answer to the key of a websocket request.
    pub(super) accept: Option<websocket::Accept>,
}

/// A head that has come, and what follows it; `None` after an interim one.
pub(super) type Arrived = (Box<Head>, Option<BodyKind>);

/// Heads that nobody has taken yet: nearly always one, which needs no list.
#[derive(Debug, Default)]
pub(super) struct Heads {
    first: Option<Arrived>,
    more: VecDeque<Arrived>,
}

impl Heads {
    pub(super) fn push(&mut self, arrived: Arrived) {
        match &self.first {
            None => self.first = Some(arrived),
            Some(_) => self.more.push_back(arrived),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Arrived> {
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
    /// Who uses it, and what it waits for.
    pub(super) token: u64,
    pub(super) wants: u8,

    pub(super) recv: Recv,
    pub(super) heads: Heads,
    /// The request cannot be accepted, but can be answered.
    pub(super) refusal: Option<Error>,
    /// Payload to come, where a length was announced.
    pub(super) length: Option<u64>,
    /// Payload that has come, from `taken` on not read yet.
    pub(super) inbox: Vec<u8>,
    pub(super) taken: usize,
    pub(super) trailers: Option<Box<Fields>>,
    /// Bytes of payload that the peer may still send.
    pub(super) recv_window: i64,
    /// Payload of the message so far.
    pub(super) received: u64,

    pub(super) send: Send,
    pub(super) send_window: i64,
    /// Payload announced with `encode_data` and not sent.
    pub(super) owed: u64,
    /// The message ends when nothing is owed, with these trailers.
    pub(super) ending: bool,
    pub(super) last: Option<Box<Fields>>,
    /// It stands in the line of those that wait for their turn.
    pub(super) queued: bool,
    /// It is its turn, and it has not sent anything since.
    pub(super) called: bool,
    /// It has sent a frame since its last turn.
    pub(super) served: bool,

    pub(super) reset: Option<Reset>,
    /// It was reset because its connection was closed under it.
    pub(super) lost: bool,
    /// The request is HEAD, CONNECT, or an upgrade as extended CONNECT.
    pub(super) head_only: bool,
    pub(super) connect: bool,
    pub(super) extended: bool,
    /// CONNECT was accepted.
    pub(super) tunnel: bool,
    /// What the request asks a server to switch to, as an extended CONNECT.
    pub(super) upgrade: Option<Box<Upgrade>>,
    /// What accepts a websocket request whose key we have made.
    pub(super) accept: Option<Box<websocket::Accept>>,
    /// Where in all output the request begins that was sent on it.
    pub(super) head_at: Option<u64>,
    /// It counts against the limit of concurrent streams.
    pub(super) counted: bool,
}

impl Stream {
    pub(super) fn new(id: u32, recv_window: u32, send_window: u32) -> Self {
        Self {
            id,
            token: 0,
            wants: 0,
            recv: Recv::Head,
            heads: Heads::default(),
            refusal: None,
            length: None,
            inbox: Vec::new(),
            taken: 0,
            trailers: None,
            recv_window: i64::from(recv_window),
            received: 0,
            send: Send::Head,
            send_window: i64::from(send_window),
            owed: 0,
            ending: false,
            last: None,
            queued: false,
            called: false,
            served: false,
            reset: None,
            lost: false,
            head_only: false,
            connect: false,
            extended: false,
            tunnel: false,
            upgrade: None,
            accept: None,
            head_at: None,
            counted: true,
        }
    }

    /// Payload that has come and was not read.
    pub(super) fn unread(&self) -> &[u8] {
        &self.inbox[self.taken..]
    }

    /// Whether a read would say something.
    pub(super) fn is_readable(&self) -> bool {
        self.reset.is_some()
            || self.refusal.is_some()
            || !self.heads.is_empty()
            || self.taken < self.inbox.len()
            || self.recv == Recv::Ended
    }

    /// Whether both messages are complete, or the stream was reset.
    pub(super) fn is_closed(&self) -> bool {
        self.reset.is_some() || (self.recv == Recv::Ended && self.send == Send::Ended)
    }
}

/// How many closed streams are remembered, to tell what comes late from what is wrong.
const REMEMBERED: usize = 128;

/// The streams of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    slab: Slab<Stream>,
    /// By identifier, in order.
    index: Vec<(u32, Key)>,
    /// Those that count against the limit.
    pub(super) open: u32,
    /// The last ones that are gone, and whether we have reset them.
    gone: VecDeque<(u32, bool)>,
    /// The highest one that is not remembered any more.
    forgotten: u32,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn get(&self, key: Key) -> Option<&Stream> {
        self.slab.get(key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Stream> {
        self.slab.get_mut(key)
    }

    /// The stream with an identifier.
    pub(super) fn find(&self, id: u32) -> Option<Key> {
        let at = self.index.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.index[at].1)
    }

    /// Identifiers grow: a new one is the last.
    pub(super) fn insert(&mut self, stream: Stream) -> Key {
        let id = stream.id;
        let key = self.slab.insert(stream);
        let at = self.index.partition_point(|(other, _)| *other < id);
        self.index.insert(at, (id, key));
        self.open += 1;
        key
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Stream> {
        self.discount(key);
        let stream = self.slab.remove(key)?;
        if let Ok(at) = self.index.binary_search_by_key(&stream.id, |(id, _)| *id) {
            self.index.remove(at);
        }
        let ours = stream.reset.is_some_and(|reset| !reset.by_peer);
        self.remember(stream.id, ours);
        Some(stream)
    }

    /// Takes note of a stream that is gone.
    pub(super) fn remember(&mut self, id: u32, reset_by_us: bool) {
        if self.gone.len() == REMEMBERED
            && let Some((oldest, _)) = self.gone.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.gone.push_back((id, reset_by_us));
    }

    /// Whether a stream that is gone was reset by us, as may be the case with all that are too old
    /// to be remembered; `None` if there was none.
    pub(super) fn was_reset(&self, id: u32) -> Option<bool> {
        let found = self.gone.iter().rev().find(|(gone, _)| *gone == id).map(|(_, ours)| *ours);
        found.or((id <= self.forgotten).then_some(true))
    }

    /// A stream that is closed counts no more.
    pub(super) fn discount(&mut self, key: Key) {
        if let Some(stream) = self.slab.get_mut(key)
            && std::mem::take(&mut stream.counted)
        {
            self.open -= 1;
        }
    }

    /// Shows each to `see`, in the order of their identifiers.
    pub(super) fn each(&self, see: impl FnMut(&Stream)) {
        self.index.iter().filter_map(|(_, key)| self.slab.get(*key)).for_each(see);
    }

    /// Those of which something holds, in the order of their identifiers.
    pub(super) fn keys_where(&self, holds: impl Fn(&Stream) -> bool) -> Vec<Key> {
        let keys = self.index.iter().map(|(_, key)| *key);
        keys.filter(|key| self.slab.get(*key).is_some_and(&holds)).collect()
    }
}
