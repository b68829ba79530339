//! The state of one HTTP/2 connection, with its queries. `recv` and `send` handle the frames.

use super::counters::Counters;
use super::credit::Credit;
use super::flood::{FloodBudget, TurnUse};
use super::free_list::FreeList;
use super::settings::H2ConnSettings;
use super::shutdown::Shutdown;
use super::squeeze::Squeeze;
use super::stream::{RecvPhase as StreamRecv, Reset, SendPhase, Stream, Streams};
use crate::{BodyKind, Ready, Side};
use htx::{Head, HeaderId};
use std::collections::VecDeque;
use std::fmt;
use stdx::Key;
use wire::h2::hpack::Decoder;
use wire::h2::{DEFAULT_WINDOW, ErrorCode, FrameHeader, MAX_STREAM_ID, PREFACE, encode, request};

/// Bytes of output beyond which streams wait for their turn.
pub const OUTPUT: usize = 64 * 1024;

/// Bytes of output beyond which input is not read any more: a peer that does not read has to wait.
const MAX_OUTPUT: usize = OUTPUT + 64 * 1024;

/// Why a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// Error code sent to the peer.
    pub code: ErrorCode,
    /// A short text for logs.
    pub reason: &'static str,
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.reason)
    }
}

impl std::error::Error for ConnectionError {}

/// The next element of the input.
#[derive(Clone, Copy, Debug)]
pub(super) enum InputState {
    /// The connection preface, from this byte on.
    Preface(u8),
    Frame,
    /// The payload of a frame other than DATA; its received part is in `partial`.
    Payload(FrameHeader),
    /// The payload of a DATA frame, then its padding.
    Data {
        key: Key,
        left: u32,
        padding: u32,
        end: bool,
    },
    /// Input is not read any more.
    Closed,
}

/// A header block that continues in CONTINUATION frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) end: bool,
}

/// The protocol machine of one HTTP/2 connection, on either side.
///
/// Bounds on its memory: received and unread payload, by the window (see `credit`); unsent output,
/// 128 KiB plus the heads of its streams; header lists, one per stream; header compression tables,
/// twice the announced size; a header block, twice the largest list.
#[derive(Debug)]
pub struct H2Conn {
    pub(super) side: Side,
    pub(super) settings: H2ConnSettings,
    /// Settings of the peer.
    pub(super) peer: wire::h2::Settings,
    /// Whether the peer's first SETTINGS have arrived.
    pub(super) has_peer_settings: bool,
    pub(super) recv: InputState,
    pub(super) partial: Vec<u8>,
    pub(super) block: Option<Block>,
    pub(super) block_bytes: Vec<u8>,
    pub(super) decoder: Decoder,
    pub(super) reader: request::RequestReader,
    pub(super) streams: Streams,
    /// The highest stream of the peer that was processed.
    pub(super) last_peer: u32,
    /// The highest stream that the peer has opened, including those ignored after our GOAWAY.
    pub(super) highest_peer: u32,
    /// The next stream of ours.
    pub(super) next_own: u32,
    /// Streams of the peer that the caller has not taken yet.
    pub(super) unaccepted: VecDeque<Key>,
    /// The connection's receive window.
    pub(super) credit: Credit,
    /// The initial stream window that the peer knows, as far as acknowledged.
    pub(super) stream_window: u32,
    /// Whether new streams may send payload before they are read.
    pub(super) squeeze: Squeeze,
    /// SETTINGS frames that the peer has not acknowledged.
    pub(super) unacknowledged: u32,
    pub(super) send_window: i64,
    pub(super) out: Vec<u8>,
    pub(super) sent: usize,
    /// Bytes of output written so far.
    pub(super) written: u64,
    /// Upper bound of the bytes that may have been written: TLS records may leave before the write
    /// is reported.
    pub(super) offered: u64,
    /// Table size that our encoder has to announce before its next block.
    pub(super) table_size: u32,
    pub(super) announces_table_size: bool,
    /// Streams that wait for their turn, in order.
    pub(super) send_queue: VecDeque<Key>,
    /// Streams that wait for room in the output, whatever their windows.
    pub(super) awaiting_room: Vec<Key>,
    /// Streams that were selected to send and have not sent yet.
    pub(super) streams_called: usize,
    /// Tokens of streams to wake.
    pub(super) woken: Vec<u64>,
    /// Tokens of streams that wait for the peer's first SETTINGS.
    pub(super) awaiting_settings: Vec<u64>,
    pub(super) budget: FloodBudget,
    /// Glitches so far.
    pub(super) glitches: u32,
    /// Whether floods are tolerated for now.
    pub(super) tolerates_floods: bool,
    /// Frames and resets handled in the present turn.
    pub(super) turn: TurnUse,
    pub(super) counters: Counters,
    pub(super) shutdown: Shutdown,
    /// Streams of the peer, counted for [`H2ConnSettings::max_total_streams`].
    pub(super) accepted: u32,
    /// The last stream of the GOAWAY that the peer has sent.
    pub(super) peer_last_stream: Option<u32>,
    /// The peer has refused a stream of ours: further requests should use another connection.
    pub(super) peer_refuses: bool,
    /// Whether the peer has answered a request of ours.
    pub(super) peer_answers: bool,
    pub(super) broken: Option<ConnectionError>,
    pub(super) spares: FreeList,
    pub(super) seed: u64,
}

impl H2Conn {
    /// A connection before its first byte. Its output already has the preface and SETTINGS.
    pub fn new(side: Side, settings: H2ConnSettings) -> Self {
        let mut out = Vec::with_capacity(128);
        if side == Side::Server {
            out.extend_from_slice(PREFACE);
        }
        encode::settings(&settings.announced, &mut out);
        Self {
            side,
            settings,
            peer: wire::h2::Settings::default(),
            has_peer_settings: false,
            recv: if side == Side::Client { InputState::Preface(0) } else { InputState::Frame },
            partial: Vec::new(),
            block: None,
            block_bytes: Vec::new(),
            decoder: Decoder::new(settings.announced.header_table_size),
            reader: request::RequestReader::new(settings.tolerance),
            streams: Streams::default(),
            last_peer: 0,
            highest_peer: 0,
            next_own: 1,
            unaccepted: VecDeque::new(),
            credit: Credit::new(DEFAULT_WINDOW, settings.first_window, settings.window),
            // The peer may know a larger window before its acknowledgement arrives.
            stream_window: settings.announced.initial_window_size.max(DEFAULT_WINDOW),
            squeeze: Squeeze::Open,
            unacknowledged: 1,
            peer_refuses: false,
            peer_answers: false,
            send_window: i64::from(DEFAULT_WINDOW),
            out,
            sent: 0,
            written: 0,
            offered: 0,
            table_size: wire::h2::Settings::default().header_table_size,
            announces_table_size: false,
            send_queue: VecDeque::new(),
            awaiting_room: Vec::new(),
            streams_called: 0,
            woken: Vec::new(),
            awaiting_settings: Vec::new(),
            budget: FloodBudget::new(settings.flood_limits),
            glitches: 0,
            tolerates_floods: false,
            turn: TurnUse::default(),
            counters: Counters::default(),
            shutdown: Shutdown::default(),
            accepted: 0,
            peer_last_stream: None,
            broken: None,
            spares: FreeList::default(),
            seed: settings.seed | 1,
        }
    }

    /// Makes the connection share spare memory with others of its thread.
    #[must_use]
    pub fn with_free_list(mut self, spares: &FreeList) -> Self {
        self.credit.count_in(spares);
        self.spares = spares.clone();
        self
    }

    // ---- the connection

    /// Streams that are in use.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Takes the next stream that the peer has opened.
    pub fn poll_opened(&mut self) -> Option<Key> {
        self.unaccepted.pop_front()
    }

    /// Whether another stream can be opened by us. Not after the peer has refused one, because it
    /// would probably refuse the next one too.
    pub fn can_open(&self) -> bool {
        let limit = self.peer.max_concurrent_streams.unwrap_or(u32::MAX);
        self.is_open()
            && !self.peer_refuses
            && self.streams.open < limit.min(self.settings.max_opened)
            && self.next_own <= MAX_STREAM_ID
    }

    /// Whether the peer's first SETTINGS have arrived; if not, `token` is woken when they do.
    pub fn has_peer_settings(&mut self, token: u64) -> bool {
        let known = self.has_peer_settings || matches!(self.recv, InputState::Closed);
        if !known && !self.awaiting_settings.contains(&token) {
            self.awaiting_settings.push(token);
        }
        known
    }

    /// Whether the peer accepts extended CONNECT (RFC 8441 section 3).
    pub fn accepts_extended_connect(&self) -> bool {
        self.peer.enable_connect_protocol
    }

    /// Whether new streams may be opened, by us or by the peer: until a GOAWAY has named the last
    /// one.
    pub fn is_open(&self) -> bool {
        let last = self.shutdown.last_stream();
        self.broken.is_none() && last.is_none() && self.peer_last_stream.is_none()
    }

    /// Opens a stream for a request; `None` if none can be opened.
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

    /// Ends a connection that cannot serve its purpose. As in HAProxy, the stream that it was
    /// opened for is reset while idle; how the peer reacts affects no other stream.
    pub fn abandon(&mut self) {
        self.send_reset(self.next_own.min(MAX_STREAM_ID), ErrorCode::INTERNAL_ERROR);
        self.begin_shutdown();
    }

    /// Whether the connection has nothing left to do and can be closed.
    pub fn is_over(&self) -> bool {
        let drained = self.streams.len() == 0 && !self.is_open();
        (drained || self.broken.is_some()) && self.output().is_empty()
    }

    /// The error that ended the connection, if any.
    pub fn broken(&self) -> Option<ConnectionError> {
        self.broken
    }

    /// Handles the loss of the connection: all streams end. Requests that were not written were
    /// certainly not processed.
    pub fn handle_eof(&mut self) {
        self.recv = InputState::Closed;
        if self.broken.is_none() {
            let reason = "the connection was closed";
            self.broken = Some(ConnectionError { code: ErrorCode::NO_ERROR, reason });
        }
        self.refuse_unsent();
        self.out.clear();
        self.sent = 0;
        for key in self.streams.keys_where(|stream| stream.reset.is_none()) {
            self.streams.get_mut(key).into_iter().for_each(|stream| stream.is_lost = true);
        }
        self.end_streams(ErrorCode::CANCEL);
    }

    /// Marks requests that were not written at all as refused, and removes them from the output
    /// with everything after the first of them.
    fn refuse_unsent(&mut self) {
        let written = self.written.max(self.offered);
        let unsent = |stream: &Stream| stream.head_at.filter(|at| *at >= written);
        let keys = self.streams.keys_where(|stream| unsent(stream).is_some());
        let first = keys.iter().filter_map(|key| self.streams.get(*key).and_then(unsent)).min();
        if let Some(first) = first {
            self.out.truncate(self.sent + (first - self.written) as usize);
        }
        let reset = Reset { code: ErrorCode::REFUSED_STREAM, by_peer: true };
        keys.into_iter().for_each(|key| self.mark_reset(key, reset));
    }

    /// Handles a half-close by the peer: complete requests are answered as far as the windows last,
    /// and no more input comes. A tunnel ends, as it does in HTTP/1.
    pub fn end_input(&mut self) {
        self.recv = InputState::Closed;
        self.shutdown.close_at(self.last_peer);
        for key in self.streams.keys_where(|it| it.is_tunnel && it.recv == StreamRecv::Body) {
            self.end_tunnel(key);
        }
        for key in self.streams.keys_where(|stream| stream.recv != StreamRecv::Ended) {
            self.mark_reset(key, Reset { code: ErrorCode::CANCEL, by_peer: true });
        }
        // No window update can arrive any more: all waiting streams are woken to check the peer.
        for key in self.streams.keys_where(|stream| stream.wants != 0) {
            self.wake(key, Ready::ANY);
        }
        self.call_waiting_streams();
        self.woken.append(&mut self.awaiting_settings);
    }

    fn end_tunnel(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.reset.is_none() {
            stream.recv = StreamRecv::Ended;
            if stream.is_closed() {
                self.streams.uncount(key);
            }
            self.wake(key, Ready::READ);
        }
    }

    /// Whether the peer's side of the connection has ended.
    pub fn has_input_ended(&self) -> bool {
        matches!(self.recv, InputState::Closed)
    }

    /// Ends the connection for a protocol error of the peer.
    pub(super) fn fail(&mut self, code: ErrorCode, reason: &'static str) -> ConnectionError {
        if self.broken.is_none() {
            self.counters.connection_errors += 1;
            self.count_glitch();
            self.counters.go_aways_sent += 1;
        }
        self.end(code, reason)
    }

    /// Ends the connection, for any reason.
    fn end(&mut self, code: ErrorCode, reason: &'static str) -> ConnectionError {
        let broken = ConnectionError { code, reason };
        if self.broken.is_none() {
            self.broken = Some(broken);
            self.refuse_unsent();
            encode::go_away(self.last_peer, code, &mut self.out);
            self.end_streams(ErrorCode::CANCEL);
        }
        self.recv = InputState::Closed;
        broken
    }

    /// Ends the connection because a rule has rejected a request, that stream first.
    pub fn reject_connection(&mut self, key: Key) {
        self.reset(key, ErrorCode::ENHANCE_YOUR_CALM);
        self.end(ErrorCode::ENHANCE_YOUR_CALM, "a rule has rejected a request");
    }

    fn end_streams(&mut self, code: ErrorCode) {
        for key in self.streams.keys_where(|_| true) {
            self.mark_reset(key, Reset { code, by_peer: true });
        }
        self.woken.append(&mut self.awaiting_settings);
    }

    /// Takes the counts since the last call.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }

    /// Glitches of the peer so far (`fc_glitches`, `bc_glitches`).
    pub fn glitches(&self) -> u32 {
        self.glitches
    }

    /// Sets whether floods are tolerated; initially they end the connection
    /// (`tune.glitches.kill.cpu-usage`).
    pub fn set_flood_tolerance(&mut self, tolerant: bool) {
        self.tolerates_floods = tolerant;
    }

    /// Begins a turn, in which frames are handled up to the limits of the settings.
    pub fn begin_turn(&mut self) {
        self.turn = TurnUse::default();
    }

    /// Whether the turn has reached its limits; the rest of the input waits for the next turn.
    pub fn turn_limit_reached(&self) -> bool {
        self.turn.exceeds(self.settings.turn_limits)
    }

    /// Takes the token of a stream to wake.
    pub fn take_woken(&mut self) -> Option<u64> {
        self.woken.pop()
    }

    /// Whether input can be handled now. Otherwise the peer has to wait: its closed streams are not
    /// released yet, or it does not read our output.
    pub fn takes_input(&self) -> bool {
        !matches!(self.recv, InputState::Closed)
            && self.pending() <= MAX_OUTPUT
            && !self.is_crowded()
    }

    /// Whether closed but unreleased streams have reached their limit, the number of streams that
    /// may be open.
    pub(super) fn is_crowded(&self) -> bool {
        let limit = self.settings.announced.max_concurrent_streams.unwrap_or(u32::MAX / 2);
        self.side == Side::Client && self.streams.len() >= 2 * limit as usize
    }

    // ---- its streams

    /// The identifier of a stream; 0 if it was released.
    pub fn id(&self, key: Key) -> u32 {
        self.streams.get(key).map_or(0, |stream| stream.id)
    }

    /// Whether the output has room, because the peer reads it.
    pub fn has_room(&self) -> bool {
        self.pending() < OUTPUT
    }

    /// Registers `token` to be woken once a stream is ready. `true`: it is ready already.
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
        if ready == Ready::ROOM && !self.awaiting_room.contains(&key) {
            self.awaiting_room.push(key);
        }
        if self.is_short() {
            self.give_window_if_starved(key);
        }
        false
    }

    /// Cancels the wake-up of a stream.
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

    /// Whether a read of the stream would return bytes or its end.
    pub fn is_readable(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(Stream::is_readable)
    }

    /// Whether a stream was reset, by either side, or its connection is gone.
    pub fn is_reset(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|stream| stream.reset.is_some())
    }

    /// Whether the peer has reset the stream unprocessed, so that the request may be sent again
    /// elsewhere.
    pub fn is_refused(&self, key: Key) -> bool {
        let reset = self.streams.get(key).and_then(|stream| stream.reset);
        reset.is_some_and(|reset| reset.code == ErrorCode::REFUSED_STREAM)
    }

    /// Whether a stream was reset by us for a protocol error of the peer.
    pub fn is_malformed(&self, key: Key) -> bool {
        let reset = self.streams.get(key).and_then(|stream| stream.reset);
        reset.is_some_and(|reset| !reset.by_peer && reset.code == ErrorCode::PROTOCOL_ERROR)
    }

    /// Whether a stream was cut off by the loss of its connection, so that it is unknown whether
    /// the peer has processed it.
    pub fn is_lost(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.is_lost)
    }

    /// Whether the peer has answered any request of ours.
    pub fn has_answered(&self) -> bool {
        self.peer_answers
    }

    /// Whether the incoming message is complete and was read.
    pub fn has_received_all(&self, key: Key) -> bool {
        self.streams
            .get(key)
            .is_none_or(|it| it.recv == StreamRecv::Ended && it.unread().is_empty())
    }

    /// Whether the outgoing message is complete.
    pub fn has_sent_all(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.send == SendPhase::Ended)
    }

    /// Whether the final head of the outgoing message was encoded.
    pub fn has_sent_head(&self, key: Key) -> bool {
        self.streams.get(key).is_none_or(|stream| stream.send != SendPhase::Head)
    }

    /// Whether a response accepts the upgrade that was asked for with a key of our making, with the
    /// right value (RFC 6455 section 4.1).
    pub fn is_accepted_by(&self, key: Key, head: &Head) -> bool {
        let expected = self.streams.get(key).and_then(|stream| stream.accept.as_deref());
        let said = || head.first(HeaderId::SecWebSocketAccept).map(|field| field.value);
        head.status() != 101 || expected.is_none_or(|expected| said() == Some(&expected[..]))
    }

    /// Whether the stream carries opaque bytes.
    pub fn is_tunnel(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.is_tunnel)
    }

    /// Payload bytes received of the current message.
    pub fn payload_received(&self, key: Key) -> u64 {
        self.streams.get(key).map_or(0, |stream| stream.received)
    }

    /// Payload that has not arrived; `u64::MAX` if no length was announced.
    pub fn payload_left(&self, key: Key) -> u64 {
        self.streams.get(key).map_or(0, |stream| match (stream.recv, stream.length) {
            (StreamRecv::Ended, _) => stream.unread().len() as u64,
            (_, Some(left)) => left + stream.unread().len() as u64,
            (_, None) => u64::MAX,
        })
    }

    /// Releases a stream. An incomplete one is reset.
    pub fn release(&mut self, key: Key) {
        let Some(stream) = self.streams.get(key) else { return };
        if !stream.is_closed() && self.broken.is_none() {
            let code = match (self.side, stream.send) {
                // The response is complete: the rest of the request is not needed (RFC 9113 section
                // 8.1).
                (Side::Client, SendPhase::Ended) => ErrorCode::NO_ERROR,
                (Side::Client, SendPhase::Head) => ErrorCode::INTERNAL_ERROR,
                _ => ErrorCode::CANCEL,
            };
            self.reset(key, code);
        } else if stream.reset.is_none() {
            self.budget.reward();
        }
        self.end_turn(key);
        let Some(mut stream) = self.streams.remove(key) else { return };
        self.credit.drop_held(stream.unread().len());
        while let Some((head, _)) = stream.heads.pop() {
            self.spares.give_head(head);
        }
        self.spares.give_inbox(stream.inbox);
        self.end_squeeze();
        self.return_window();
        self.call_waiting_streams();
    }

    /// Resets a stream.
    pub fn reset(&mut self, key: Key, code: ErrorCode) {
        let Some(stream) = self.streams.get(key) else { return };
        if stream.reset.is_none() && self.broken.is_none() {
            let (id, silent) = (stream.id, self.side == Side::Server && stream.head_at.is_none());
            // A request that was not sent is unknown to the peer.
            if !silent {
                self.send_reset(id, code);
            }
            self.mark_reset(key, Reset { code, by_peer: false });
        }
    }

    pub(super) fn send_reset(&mut self, id: u32, code: ErrorCode) {
        self.counters.resets_sent += 1;
        encode::rst_stream(id, code, &mut self.out);
    }

    /// Records a reset.
    pub(super) fn mark_reset(&mut self, key: Key, reset: Reset) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.reset.is_none() {
            stream.reset = Some(reset);
            self.peer_refuses |= reset.by_peer && reset.code == ErrorCode::REFUSED_STREAM;
            self.streams.uncount(key);
            self.wake(key, Ready::ANY);
        }
    }

    /// The kind of body for an announced length, if any.
    pub(super) fn body_kind(length: Option<u64>) -> BodyKind {
        length.map_or(BodyKind::Chunked, BodyKind::Length)
    }
}
