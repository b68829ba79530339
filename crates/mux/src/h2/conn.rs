//! The state of one HTTP/2 connection and what can be asked of it. Never touches a frame: see
//! `recv` and `send`.

use super::abuse::{Budget, TurnUse};
use super::counters::Counters;
use super::credit::Credit;
use super::settings::Settings;
use super::shutdown::Shutdown;
use super::spares::Spares;
use super::squeeze::Squeeze;
use super::stream::{Recv as StreamRecv, Reset, Send, Stream, Streams};
use crate::{BodyKind, Side};
use htx::{Head, HeaderId};
use std::collections::VecDeque;
use std::fmt;
use stdx::Key;
use wire::h2::hpack::Decoder;
use wire::h2::{Code, DEFAULT_WINDOW, FrameHeader, MAX_STREAM_ID, PREFACE, encode, request};

/// Bytes for the peer beyond which streams wait for their turn.
pub const OUTPUT: usize = 64 * 1024;

/// Bytes for the peer beyond which nothing more is read from it: who does not listen has to wait.
const CONGESTED: usize = OUTPUT + 64 * 1024;

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What the peer is told.
    pub code: Code,
    /// A short text for logs.
    pub reason: &'static str,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.reason)
    }
}

impl std::error::Error for Broken {}

/// What a stream waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready(pub(super) u8);

impl Ready {
    /// A head, payload, or the end.
    pub const READ: Self = Self(1);
    /// Room for payload.
    pub const WRITE: Self = Self(2);
    /// The peer's word that it wants nothing more.
    pub const RESET: Self = Self(4);
    /// Room for a head that others may follow: an interim response.
    pub const ROOM: Self = Self(8);
    /// Any of these.
    pub(super) const ANY: Self = Self(15);
}

/// What comes next from the peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recv {
    /// The rest of the preface, from this byte on.
    Preface(u8),
    Frame,
    /// The payload of a frame that is not DATA; what has come of it is in `partial`.
    Payload(FrameHeader),
    /// Payload of DATA, then its padding.
    Data {
        key: Key,
        left: u32,
        padding: u32,
        end: bool,
    },
    /// Nothing is read any more.
    Closed,
}

/// A header block that goes on in CONTINUATION frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) end: bool,
}

/// The protocol machine of one connection, on either side.
///
/// Bounds on its memory: what has come and was not read, the window (see `credit`); what was
/// not sent, 128 KiB and the heads of its streams; heads, one list per stream; the tables of header
/// compression, twice what was announced; a header block, twice the largest list.
#[derive(Debug)]
pub struct Conn {
    pub(super) side: Side,
    pub(super) settings: Settings,
    /// What the peer has told.
    pub(super) peer: wire::h2::Settings,
    /// The first SETTINGS have come.
    pub(super) greeted: bool,
    pub(super) recv: Recv,
    pub(super) partial: Vec<u8>,
    pub(super) block: Option<Block>,
    pub(super) block_bytes: Vec<u8>,
    pub(super) decoder: Decoder,
    pub(super) reader: request::Reader,
    pub(super) streams: Streams,
    /// The highest stream that the peer has opened and we have looked at.
    pub(super) last_peer: u32,
    /// The highest one that it has opened: those that come after our word that we leave are
    /// ignored.
    pub(super) highest_peer: u32,
    /// The next stream that we open.
    pub(super) next_own: u32,
    /// Streams that the peer has opened and nobody has taken yet.
    pub(super) opened: VecDeque<Key>,
    /// The payload that the peer may send on all streams together.
    pub(super) credit: Credit,
    /// What the peer takes for the window of a new stream, as far as we know.
    pub(super) stream_window: u32,
    /// Whether new streams may send payload before they are read.
    pub(super) squeeze: Squeeze,
    /// SETTINGS of ours that the peer has not acknowledged.
    pub(super) unacknowledged: u32,
    pub(super) send_window: i64,
    pub(super) out: Vec<u8>,
    pub(super) sent: usize,
    /// Bytes that have left the output so far.
    pub(super) written: u64,
    /// As much may have left at most: what carries it takes more than it says.
    pub(super) offered: u64,
    /// What our encoder has to say of its table before the next block.
    pub(super) table_size: u32,
    pub(super) says_table_size: bool,
    /// Streams that wait for their turn, in order.
    pub(super) line: VecDeque<Key>,
    /// Streams that wait for room whatever their windows are.
    pub(super) cramped: Vec<Key>,
    /// How many have been called and have not sent yet.
    pub(super) called: usize,
    /// Whose wait is over.
    pub(super) woken: Vec<u64>,
    /// Who waits for the peer's first SETTINGS, by token.
    pub(super) greeters: Vec<u64>,
    pub(super) budget: Budget,
    /// Glitches so far.
    pub(super) glitches: u32,
    /// Nonsense does not end the connection now.
    pub(super) tolerant: bool,
    /// The frames and resets that the present turn has handled.
    pub(super) turn: TurnUse,
    pub(super) counters: Counters,
    pub(super) shutdown: Shutdown,
    /// Streams that the peer has opened and that count against [`Settings::max_total_streams`].
    pub(super) accepted: u32,
    /// The peer opens no more, or answers no more, than up to this stream.
    pub(super) peer_leaves: Option<u32>,
    /// The peer has refused a stream that we opened: what comes next had better go elsewhere.
    pub(super) refuses: bool,
    /// The peer has answered a request of ours.
    pub(super) answers: bool,
    pub(super) broken: Option<Broken>,
    pub(super) spares: Spares,
    pub(super) seed: u64,
}

impl Conn {
    /// A connection before its first byte. What it says first is its output already.
    pub fn new(side: Side, settings: Settings) -> Self {
        let mut out = Vec::with_capacity(128);
        if side == Side::Server {
            out.extend_from_slice(PREFACE);
        }
        encode::settings(&settings.announced, &mut out);
        Self {
            side,
            settings,
            peer: wire::h2::Settings::default(),
            greeted: false,
            recv: if side == Side::Client { Recv::Preface(0) } else { Recv::Frame },
            partial: Vec::new(),
            block: None,
            block_bytes: Vec::new(),
            decoder: Decoder::new(settings.announced.header_table_size),
            reader: request::Reader::new(settings.tolerance),
            streams: Streams::default(),
            last_peer: 0,
            highest_peer: 0,
            next_own: 1,
            opened: VecDeque::new(),
            credit: Credit::new(DEFAULT_WINDOW, settings.first_window, settings.window),
            // It may know of a larger one before we hear that it does.
            stream_window: settings.announced.initial_window_size.max(DEFAULT_WINDOW),
            squeeze: Squeeze::Open,
            unacknowledged: 1,
            refuses: false,
            answers: false,
            send_window: i64::from(DEFAULT_WINDOW),
            out,
            sent: 0,
            written: 0,
            offered: 0,
            table_size: wire::h2::Settings::default().header_table_size,
            says_table_size: false,
            line: VecDeque::new(),
            cramped: Vec::new(),
            called: 0,
            woken: Vec::new(),
            greeters: Vec::new(),
            budget: Budget::new(settings.patience),
            glitches: 0,
            tolerant: false,
            turn: TurnUse::default(),
            counters: Counters::default(),
            shutdown: Shutdown::default(),
            accepted: 0,
            peer_leaves: None,
            broken: None,
            spares: Spares::default(),
            seed: settings.seed | 1,
        }
    }

    /// The same connection with the memory that others of its thread have left.
    #[must_use]
    pub fn sharing(mut self, spares: &Spares) -> Self {
        self.credit.count_in(spares);
        self.spares = spares.clone();
        self
    }

    // ---- the connection

    /// Streams that are in use.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The next stream that the peer has opened.
    pub fn poll_opened(&mut self) -> Option<Key> {
        self.opened.pop_front()
    }

    /// Whether another stream can be opened by us. Not after the peer has refused one: it would as
    /// likely refuse the next.
    pub fn can_open(&self) -> bool {
        let limit = self.peer.max_concurrent_streams.unwrap_or(u32::MAX);
        self.is_open()
            && !self.refuses
            && self.streams.open < limit.min(self.settings.max_opened)
            && self.next_own <= MAX_STREAM_ID
    }

    /// Whether the peer has said what it can do; otherwise `token` is woken once it has.
    pub fn is_greeted(&mut self, token: u64) -> bool {
        let known = self.greeted || matches!(self.recv, Recv::Closed);
        if !known && !self.greeters.contains(&token) {
            self.greeters.push(token);
        }
        known
    }

    /// Whether the peer has said that it takes upgrades (RFC 8441 section 3).
    pub fn takes_upgrades(&self) -> bool {
        self.peer.enable_connect_protocol
    }

    /// Whether new streams may be opened at all, by us or by the peer. They may until a graceful
    /// shutdown has named the last one.
    pub fn is_open(&self) -> bool {
        let last = self.shutdown.last_stream();
        self.broken.is_none() && last.is_none() && self.peer_leaves.is_none()
    }

    /// Opens a stream for a request.
    pub fn open(&mut self) -> Option<Key> {
        if !self.can_open() {
            return None;
        }
        let id = self.next_own;
        self.next_own += 2;
        Some(self.insert(id))
    }

    pub(super) fn insert(&mut self, id: u32) -> Key {
        self.streams.insert(Stream::new(id, self.stream_window, self.peer.initial_window_size))
    }

    /// Ends a connection that cannot do what it was made for. As with HAProxy, the stream that it
    /// was for is reset without having begun: what a peer makes of that harms nobody else.
    pub fn forgo(&mut self) {
        self.send_reset(self.next_own.min(MAX_STREAM_ID), Code::INTERNAL_ERROR);
        self.begin_shutdown();
    }

    /// Whether nothing is left to do but to close.
    pub fn is_over(&self) -> bool {
        let drained = self.streams.len() == 0 && !self.is_open();
        (drained || self.broken.is_some()) && self.output().is_empty()
    }

    /// Why it ends, if it broke.
    pub fn broken(&self) -> Option<Broken> {
        self.broken
    }

    /// The peer's stream has ended, or the connection is gone: no stream can go on. Requests that
    /// have not left us were certainly not looked at.
    pub fn handle_eof(&mut self) {
        self.recv = Recv::Closed;
        if self.broken.is_none() {
            let reason = "the connection was closed";
            self.broken = Some(Broken { code: Code::NO_ERROR, reason });
        }
        self.refuse_unsent();
        self.out.clear();
        self.sent = 0;
        for key in self.streams.keys_where(|stream| stream.reset.is_none()) {
            self.streams.get_mut(key).into_iter().for_each(|stream| stream.lost = true);
        }
        self.end_streams(Code::CANCEL);
    }

    /// Requests of which nothing has left us were not looked at, and never will be: they are taken
    /// out of the output, with all that comes behind the first of them.
    fn refuse_unsent(&mut self) {
        let written = self.written.max(self.offered);
        let unsent = |stream: &Stream| stream.head_at.filter(|at| *at >= written);
        let keys = self.streams.keys_where(|stream| unsent(stream).is_some());
        let first = keys.iter().filter_map(|key| self.streams.get(*key).and_then(unsent)).min();
        if let Some(first) = first {
            self.out.truncate(self.sent + (first - self.written) as usize);
        }
        let reset = Reset { code: Code::REFUSED_STREAM, by_peer: true };
        keys.into_iter().for_each(|key| self.mark_reset(key, reset));
    }

    /// The peer's side of the connection has ended, in good order: requests that are complete are
    /// answered as far as the peer has left us room to, and nothing else can come. What a tunnel
    /// carries ends with the connection, as it does without streams.
    pub fn end_input(&mut self) {
        self.recv = Recv::Closed;
        self.shutdown.close_at(self.last_peer);
        for key in self.streams.keys_where(|it| it.tunnel && it.recv == StreamRecv::Body) {
            self.end_tunnel(key);
        }
        for key in self.streams.keys_where(|stream| stream.recv != StreamRecv::Ended) {
            self.mark_reset(key, Reset { code: Code::CANCEL, by_peer: true });
        }
        // Who waits for a window waits in vain, and some had rather know that nobody may be there.
        for key in self.streams.keys_where(|stream| stream.wants != 0) {
            self.wake(key, Ready::ANY);
        }
        self.call_next();
        self.woken.append(&mut self.greeters);
    }

    fn end_tunnel(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.reset.is_none() {
            stream.recv = StreamRecv::Ended;
            if stream.is_closed() {
                self.streams.discount(key);
            }
            self.wake(key, Ready::READ);
        }
    }

    /// Whether the peer's side of the connection has ended.
    pub fn has_input_ended(&self) -> bool {
        matches!(self.recv, Recv::Closed)
    }

    /// Ends the connection for a fault of the peer.
    pub(super) fn fail(&mut self, code: Code, reason: &'static str) -> Broken {
        if self.broken.is_none() {
            self.counters.connection_errors += 1;
            self.count_glitch();
            self.counters.go_aways_sent += 1;
        }
        self.end(code, reason)
    }

    /// Ends the connection, whoever's fault it is.
    fn end(&mut self, code: Code, reason: &'static str) -> Broken {
        let broken = Broken { code, reason };
        if self.broken.is_none() {
            self.broken = Some(broken);
            self.refuse_unsent();
            encode::go_away(self.last_peer, code, &mut self.out);
            self.end_streams(Code::CANCEL);
        }
        self.recv = Recv::Closed;
        broken
    }

    /// Ends the connection for what a stream has asked for, that stream first.
    pub fn expel(&mut self, key: Key) {
        self.reset(key, Code::ENHANCE_YOUR_CALM);
        self.end(Code::ENHANCE_YOUR_CALM, "a rule has rejected a request");
    }

    fn end_streams(&mut self, code: Code) {
        for key in self.streams.keys_where(|_| true) {
            self.mark_reset(key, Reset { code, by_peer: true });
        }
        self.woken.append(&mut self.greeters);
    }

    /// What has happened since this was asked before.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }

    /// Glitches of the peer so far (`fc_glitches`, `bc_glitches`).
    pub fn glitches(&self) -> u32 {
        self.glitches
    }

    /// Says whether nonsense ends the connection; it does at first
    /// (`tune.glitches.kill.cpu-usage`).
    pub fn set_tolerant(&mut self, tolerant: bool) {
        self.tolerant = tolerant;
    }

    /// Begins a turn, in which no more frames are taken than the settings allow.
    pub fn begin_turn(&mut self) {
        self.turn = TurnUse::default();
    }

    /// Whether the turn has taken all that it may: what is left has to wait for the next.
    pub fn turn_is_over(&self) -> bool {
        self.turn.exceeds(self.settings.at_once)
    }

    /// Those whose wait is over, by token.
    pub fn take_woken(&mut self) -> Option<u64> {
        self.woken.pop()
    }

    /// Whether input is of use now. While it is not, the peer has to wait: streams of its making
    /// are not released yet, or it does not take what we have for it.
    pub fn takes_input(&self) -> bool {
        !matches!(self.recv, Recv::Closed) && self.pending() <= CONGESTED && !self.is_crowded()
    }

    /// Streams are released later than they are closed; of those that linger there are no more
    /// than may be open.
    pub(super) fn is_crowded(&self) -> bool {
        let limit = self.settings.announced.max_concurrent_streams.unwrap_or(u32::MAX / 2);
        self.side == Side::Client && self.streams.len() >= 2 * limit as usize
    }

    // ---- its streams

    /// The identifier of a stream; 0 if it is gone.
    pub fn id(&self, key: Key) -> u32 {
        self.streams.get(key).map_or(0, |stream| stream.id)
    }

    /// Whether the peer takes what there is for it, so that more may be said to it.
    pub fn has_room(&self) -> bool {
        self.pending() < OUTPUT
    }

    /// Asks that `token` be woken once a stream is ready. `true`: it is ready already.
    pub fn want(&mut self, key: Key, ready: Ready, token: u64) -> bool {
        let has_room = self.has_room();
        let room = has_room && self.send_window > 0;
        let Some(stream) = self.streams.get_mut(key) else { return true };
        let ready_now = stream.reset.is_some()
            || match ready {
                Ready::READ => stream.is_readable(),
                Ready::WRITE => !stream.queued && room && stream.send_window > 0,
                Ready::ROOM => has_room,
                _ => false,
            };
        if ready_now {
            return true;
        }
        stream.token = token;
        stream.wants |= ready.0;
        if ready == Ready::ROOM && !self.cramped.contains(&key) {
            self.cramped.push(key);
        }
        if self.is_short() {
            self.relieve(key);
        }
        false
    }

    /// Asks that nobody be woken any more.
    pub fn want_nothing(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(key) {
            stream.wants = 0;
        }
    }

    pub(super) fn wake(&mut self, key: Key, ready: Ready) {
        if let Some(stream) = self.streams.get_mut(key)
            && stream.wants & ready.0 != 0
        {
            stream.wants = 0;
            self.woken.push(stream.token);
        }
    }

    /// Whether reading a stream would say something.
    pub fn is_readable(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(Stream::is_readable)
    }

    /// Whether a stream was reset, by either side, or its connection is gone.
    pub fn is_reset(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|stream| stream.reset.is_some())
    }

    /// Whether a reset says that the request was not looked at: it may be sent again elsewhere.
    pub fn is_refused(&self, key: Key) -> bool {
        let reset = self.streams.get(key).and_then(|stream| stream.reset);
        reset.is_some_and(|reset| reset.code == Code::REFUSED_STREAM)
    }

    /// Whether a stream was reset here because the peer has broken the rules on it.
    pub fn is_malformed(&self, key: Key) -> bool {
        let reset = self.streams.get(key).and_then(|stream| stream.reset);
        reset.is_some_and(|reset| !reset.by_peer && reset.code == Code::PROTOCOL_ERROR)
    }

    /// Whether a stream had not ended when its connection was closed: nothing says what the peer
    /// has made of it.
    pub fn is_lost(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.lost)
    }

    /// Whether the peer has answered any request that we have sent.
    pub fn has_answered(&self) -> bool {
        self.answers
    }

    /// Whether the incoming message is complete and was read.
    pub fn has_received_all(&self, key: Key) -> bool {
        self.streams
            .get(key)
            .is_none_or(|it| it.recv == StreamRecv::Ended && it.unread().is_empty())
    }

    /// Whether the outgoing message is complete.
    pub fn has_sent_all(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.send == Send::Ended)
    }

    /// Whether the final head of the outgoing message was encoded.
    pub fn has_sent_head(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|stream| stream.send != Send::Head)
    }

    /// Whether an answer accepts the upgrade that a request asks for in the way that its key
    /// demands, where the key is one that we have made (RFC 6455 section 4.1).
    pub fn is_accepted_by(&self, key: Key, head: &Head) -> bool {
        let expected = self.streams.get(key).and_then(|stream| stream.accept.as_deref());
        let said = || head.first(HeaderId::SecWebSocketAccept).map(|field| field.value);
        head.status() != 101 || expected.is_none_or(|expected| said() == Some(&expected[..]))
    }

    /// Whether the stream carries opaque bytes.
    pub fn is_tunnel(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.tunnel)
    }

    /// Payload bytes received of the current message.
    pub fn payload_received(&self, key: Key) -> u64 {
        self.streams.get(key).map_or(0, |stream| stream.received)
    }

    /// Payload that is still to come; `u64::MAX` where nothing announces how much.
    pub fn payload_left(&self, key: Key) -> u64 {
        self.streams.get(key).map_or(0, |stream| match (stream.recv, stream.length) {
            (StreamRecv::Ended, _) => stream.unread().len() as u64,
            (_, Some(left)) => left + stream.unread().len() as u64,
            (_, None) => u64::MAX,
        })
    }

    /// Ends the use of a stream. What is not complete is reset.
    pub fn release(&mut self, key: Key) {
        let Some(stream) = self.streams.get(key) else { return };
        if !stream.is_closed() && self.broken.is_none() {
            let code = match (self.side, stream.send) {
                // The answer is complete: the rest of the request is not needed (section 8.1).
                (Side::Client, Send::Ended) => Code::NO_ERROR,
                (Side::Client, Send::Head) => Code::INTERNAL_ERROR,
                _ => Code::CANCEL,
            };
            self.reset(key, code);
        } else if stream.reset.is_none() {
            self.budget.reward();
        }
        self.answer_call(key);
        let Some(mut stream) = self.streams.remove(key) else { return };
        self.credit.drop_held(stream.unread().len());
        while let Some((head, _)) = stream.heads.pop() {
            self.spares.give_head(head);
        }
        self.spares.give_inbox(stream.inbox);
        self.relax();
        self.return_window();
        self.call_next();
    }

    /// Resets a stream.
    pub fn reset(&mut self, key: Key, code: Code) {
        let Some(stream) = self.streams.get(key) else { return };
        if stream.reset.is_none() && self.broken.is_none() {
            let (id, silent) = (stream.id, self.side == Side::Server && stream.head_at.is_none());
            // Of a request that was never sent the peer knows nothing.
            if !silent {
                self.send_reset(id, code);
            }
            self.mark_reset(key, Reset { code, by_peer: false });
        }
    }

    pub(super) fn send_reset(&mut self, id: u32, code: Code) {
        self.counters.resets_sent += 1;
        encode::rst_stream(id, code, &mut self.out);
    }

    /// Takes note of a reset.
    pub(super) fn mark_reset(&mut self, key: Key, reset: Reset) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.reset.is_none() {
            stream.reset = Some(reset);
            self.refuses |= reset.by_peer && reset.code == Code::REFUSED_STREAM;
            self.streams.discount(key);
            self.wake(key, Ready::ANY);
        }
    }

    /// What a body of unknown or known length is called.
    pub(super) fn body_kind(length: Option<u64>) -> BodyKind {
        length.map_or(BodyKind::Chunked, BodyKind::Length)
    }
}
