//! The state of one HTTP/3 connection, with its queries. `recv`, `control` and `send` handle the
//! frames.

use super::control::PeerStream;
use super::counters::H3Counters;
use super::send::{Abort, Outgoing, Target};
use super::settings::H3ConnSettings;
use super::shutdown::GoAway;
use super::stream::{H3RecvPhase, H3Reset, H3SendPhase, RequestStream, Requests};
use crate::Ready;
use htx::{Head, HeaderId, Version};
use std::collections::VecDeque;
use std::fmt;
use stdx::Key;
use wire::h2::request::RequestReader;
use wire::h3::qpack::QpackDecoder;
use wire::h3::{H3ErrorCode, H3Settings, StreamType, encode};

/// Why a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H3Error {
    /// Error code for the peer.
    pub code: H3ErrorCode,
    /// A short text for logs.
    pub reason: &'static str,
}

impl fmt::Display for H3Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.reason)
    }
}

impl std::error::Error for H3Error {}

/// The protocol machine of one HTTP/3 connection to a client.
///
/// Bounds on its memory: per stream, unread payload of 32 KiB, unsent output of 32 KiB plus heads,
/// and a field section of twice the largest list; per connection, the compression table (twice the
/// announced size). The transport bounds the number of streams.
#[derive(Debug)]
pub struct H3Conn {
    pub(super) settings: H3ConnSettings,
    /// Settings of the peer, once they have arrived.
    pub(super) peer: Option<H3Settings>,
    pub(super) requests: Requests,
    /// Unidirectional streams of the peer.
    pub(super) peer_streams: Vec<PeerStream>,
    pub(super) decoder: QpackDecoder,
    pub(super) reader: RequestReader,
    /// Requests that the caller has not taken yet.
    pub(super) unaccepted: VecDeque<Key>,
    /// The stream above the highest one that the peer has opened.
    pub(super) next_request: u64,
    /// Requests so far.
    pub(super) accepted: u32,
    /// Our own unidirectional streams.
    pub(super) control: Outgoing,
    pub(super) decoder_stream: Outgoing,
    /// Streams with output that the transport has not been shown.
    pub(super) dirty: VecDeque<Target>,
    pub(super) aborts: VecDeque<Abort>,
    /// Streams that the transport reads on.
    pub(super) resumed: VecDeque<u64>,
    /// Requests whose field section waits for the encoder stream.
    pub(super) blocked: u64,
    /// The push ID limit that the peer has set, and the ID of its GOAWAY.
    pub(super) max_push_id: Option<u64>,
    pub(super) peer_go_away: Option<u64>,
    pub(super) go_away: GoAway,
    /// Tokens of streams to wake.
    pub(super) woken: Vec<u64>,
    /// Frames without effect, minus those that requests have compensated.
    pub(super) idle_frames: u32,
    pub(super) glitches: u32,
    pub(super) counters: H3Counters,
    /// Bytes of output of all streams that the transport has not taken.
    pub(super) pending: usize,
    pub(super) broken: Option<H3Error>,
    /// Memory for field sections, and spare heads.
    pub(super) scratch: Vec<u8>,
    #[expect(clippy::vec_box, reason = "a head moves between here and its stream by pointer")]
    pub(super) spares: Vec<Box<Head>>,
    pub(super) seed: u64,
}

/// Most spare heads of a connection.
const SPARES: usize = 4;

/// Unsent output of all streams beyond which a stream waits before it sends another head.
const TOTAL_OUTPUT: usize = 256 * 1024;

impl H3Conn {
    /// A connection before its first byte. Its control stream already has SETTINGS.
    pub fn new(settings: H3ConnSettings) -> Self {
        let capacity = settings.announced.qpack_max_table_capacity;
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        let mut conn = Self {
            settings,
            peer: None,
            requests: Requests::default(),
            peer_streams: Vec::new(),
            decoder: QpackDecoder::new(capacity),
            reader: RequestReader::of_version(settings.tolerance, Version::Http3),
            unaccepted: VecDeque::new(),
            next_request: 0,
            accepted: 0,
            control: Outgoing::default(),
            decoder_stream: Outgoing::default(),
            dirty: VecDeque::new(),
            aborts: VecDeque::new(),
            resumed: VecDeque::new(),
            blocked: 0,
            max_push_id: None,
            peer_go_away: None,
            go_away: GoAway::default(),
            woken: Vec::new(),
            idle_frames: 0,
            glitches: 0,
            counters: H3Counters::default(),
            pending: 0,
            broken: None,
            scratch: Vec::new(),
            spares: Vec::new(),
            seed: settings.seed | 1,
        };
        conn.write_own(Target::Control, |out| {
            encode::stream_type(StreamType::CONTROL, out);
            encode::settings(&settings.announced, out);
        });
        conn.write_own(Target::Decoder, |out| {
            encode::stream_type(StreamType::QPACK_DECODER, out);
        });
        conn
    }

    // ---- the connection

    /// Requests that are in use.
    pub fn streams(&self) -> usize {
        self.requests.in_use
    }

    /// Takes the next request.
    pub fn poll_opened(&mut self) -> Option<Key> {
        self.unaccepted.pop_front()
    }

    /// Whether new requests are accepted.
    pub fn is_open(&self) -> bool {
        self.broken.is_none() && self.go_away.last_stream().is_none()
    }

    /// Whether the connection has nothing left to do and can be closed.
    pub fn is_over(&self) -> bool {
        let drained = self.requests.is_empty() && !self.is_open() && self.pending == 0;
        drained || self.broken.is_some()
    }

    /// The error that ended the connection, if any. The transport closes with its code.
    pub fn broken(&self) -> Option<H3Error> {
        self.broken
    }

    /// Handles the loss of the connection: all streams end.
    pub fn handle_eof(&mut self) {
        if self.broken.is_none() {
            let reason = "the connection was closed";
            self.broken = Some(H3Error { code: H3ErrorCode::NO_ERROR, reason });
        }
        for key in self.requests.keys_where(|stream| stream.reset.is_none()) {
            self.requests.get_mut(key).into_iter().for_each(|stream| stream.is_lost = true);
        }
        self.end_streams();
    }

    /// Whether input is over.
    pub fn has_input_ended(&self) -> bool {
        self.broken.is_some()
    }

    /// Ends the connection for a protocol error of the peer.
    pub(super) fn fail(&mut self, code: H3ErrorCode, reason: &'static str) -> H3Error {
        if self.broken.is_none() {
            self.counters.connection_errors += 1;
            self.count_glitch();
        }
        self.end(code, reason)
    }

    fn end(&mut self, code: H3ErrorCode, reason: &'static str) -> H3Error {
        let error = H3Error { code, reason };
        if self.broken.is_none() {
            self.broken = Some(error);
            self.end_streams();
        }
        error
    }

    fn end_streams(&mut self) {
        let reset = H3Reset { code: H3ErrorCode::REQUEST_CANCELLED, by_peer: true };
        for key in self.requests.keys_where(|_| true) {
            self.mark_reset(key, reset);
        }
        for key in self.requests.keys_where(|stream| stream.is_released) {
            self.forget(key);
        }
        self.aborts.clear();
        self.dirty.clear();
        self.resumed.clear();
        self.control = Outgoing::default();
        self.decoder_stream = Outgoing::default();
        self.pending = 0;
    }

    /// Ends the connection because a rule has rejected a request.
    pub fn reject_connection(&mut self, key: Key) {
        self.reset(key, H3ErrorCode::EXCESSIVE_LOAD);
        self.end(H3ErrorCode::EXCESSIVE_LOAD, "a rule has rejected a request");
    }

    /// Takes the counts since the last call.
    pub fn take_counters(&mut self) -> H3Counters {
        std::mem::take(&mut self.counters)
    }

    /// Glitches of the peer so far (`fc_glitches`).
    pub fn glitches(&self) -> u32 {
        self.glitches
    }

    pub(super) fn count_glitch(&mut self) {
        self.glitches = self.glitches.saturating_add(1);
        self.counters.glitches += 1;
    }

    /// Takes the token of a stream to wake.
    pub fn take_woken(&mut self) -> Option<u64> {
        self.woken.pop()
    }

    /// Whether the output has room, because the peer reads it.
    pub fn has_room(&self) -> bool {
        self.pending < TOTAL_OUTPUT
    }

    // ---- its requests

    /// The identifier of a stream; 0 if it was released.
    pub fn id(&self, key: Key) -> u64 {
        self.requests.get(key).map_or(0, |stream| stream.id)
    }

    /// Registers `token` to be woken once a stream is ready. `true`: it is ready already.
    pub fn want(&mut self, key: Key, ready: Ready, token: u64) -> bool {
        let Some(stream) = self.requests.get_mut(key) else { return true };
        let ready_now = stream.reset.is_some()
            || match ready {
                Ready::READ => stream.is_readable(),
                Ready::WRITE | Ready::ROOM => stream.pending() < super::send::OUTPUT,
                _ => false,
            };
        if !ready_now {
            stream.token = token;
            stream.wants |= ready.0;
        }
        ready_now
    }

    /// Cancels the wake-up of a stream.
    pub fn want_nothing(&mut self, key: Key) {
        if let Some(stream) = self.requests.get_mut(key) {
            stream.wants = 0;
        }
    }

    pub(super) fn wake(&mut self, key: Key, ready: Ready) {
        if let Some(stream) = self.requests.get_mut(key)
            && stream.wants & ready.0 != 0
        {
            stream.wants = 0;
            self.woken.push(stream.token);
        }
    }

    /// Whether a read of the stream would return bytes or its end.
    pub fn is_readable(&self, key: Key) -> bool {
        self.requests.get(key).is_none_or(RequestStream::is_readable)
    }

    /// Whether a stream was reset, by either side, or its connection is gone.
    pub fn is_reset(&self, key: Key) -> bool {
        self.requests.get(key).is_none_or(|stream| stream.reset.is_some())
    }

    /// Whether a stream was reset by us for a protocol error of the peer.
    pub fn is_malformed(&self, key: Key) -> bool {
        let reset = self.requests.get(key).and_then(|stream| stream.reset);
        reset.is_some_and(|reset| !reset.by_peer && reset.code == H3ErrorCode::MESSAGE_ERROR)
    }

    /// Whether a stream was cut off by the loss of its connection.
    pub fn is_lost(&self, key: Key) -> bool {
        self.requests.get(key).is_some_and(|stream| stream.is_lost)
    }

    /// Whether the incoming message is complete and was read.
    pub fn has_received_all(&self, key: Key) -> bool {
        let all = |it: &RequestStream| it.recv == H3RecvPhase::Ended && it.unread().is_empty();
        self.requests.get(key).is_none_or(all)
    }

    /// Whether the outgoing message is complete.
    pub fn has_sent_all(&self, key: Key) -> bool {
        self.requests.get(key).is_some_and(|stream| stream.send == H3SendPhase::Ended)
    }

    /// Whether the final head of the outgoing message was encoded.
    pub fn has_sent_head(&self, key: Key) -> bool {
        self.requests.get(key).is_none_or(|stream| stream.send != H3SendPhase::Head)
    }

    /// Whether a response accepts the upgrade that was asked for with a key of our making, with the
    /// right value (RFC 6455 section 4.1).
    pub fn is_accepted_by(&self, key: Key, head: &Head) -> bool {
        let expected = self.requests.get(key).and_then(|stream| stream.accept.as_deref());
        let said = || head.first(HeaderId::SecWebSocketAccept).map(|field| field.value);
        head.status() != 101 || expected.is_none_or(|expected| said() == Some(&expected[..]))
    }

    /// Whether the stream carries opaque bytes.
    pub fn is_tunnel(&self, key: Key) -> bool {
        self.requests.get(key).is_some_and(|stream| stream.is_tunnel)
    }

    /// Payload bytes received of the current message.
    pub fn payload_received(&self, key: Key) -> u64 {
        self.requests.get(key).map_or(0, |stream| stream.received)
    }

    /// Payload that has not arrived; `u64::MAX` if no length was announced.
    pub fn payload_left(&self, key: Key) -> u64 {
        self.requests.get(key).map_or(0, |stream| match (stream.recv, stream.length) {
            (H3RecvPhase::Ended, _) => stream.unread().len() as u64,
            (_, Some(left)) => left + stream.unread().len() as u64,
            (_, None) => u64::MAX,
        })
    }

    /// Releases a stream. An incomplete exchange is aborted; output of a complete one still goes
    /// out.
    pub fn release(&mut self, key: Key) {
        let Some(stream) = self.requests.get(key) else { return };
        if stream.reset.is_none() && self.broken.is_none() {
            match (stream.recv, stream.send) {
                (H3RecvPhase::Ended, H3SendPhase::Ended) => {
                    self.idle_frames = self.idle_frames.saturating_sub(super::recv::REWARD);
                }
                // The response is complete: the rest of the request is not needed (RFC 9114
                // section 4.1).
                (_, H3SendPhase::Ended) => self.stop_receiving(key, H3ErrorCode::NO_ERROR),
                (_, H3SendPhase::Head) => self.reset(key, H3ErrorCode::INTERNAL_ERROR),
                _ => self.reset(key, H3ErrorCode::REQUEST_CANCELLED),
            }
        }
        let Some(stream) = self.requests.get_mut(key) else { return };
        stream.wants = 0;
        if !std::mem::replace(&mut stream.is_released, true) {
            self.requests.in_use -= 1;
        }
        self.forget_if_done(key);
    }

    /// Forgets a released stream whose output is taken.
    pub(super) fn forget_if_done(&mut self, key: Key) {
        let done = |stream: &RequestStream| {
            stream.is_released && (stream.reset.is_some() || stream.pending() == 0 && !stream.ends)
        };
        if self.requests.get(key).is_some_and(done) {
            self.forget(key);
        }
    }

    fn forget(&mut self, key: Key) {
        let Some(mut stream) = self.requests.remove(key) else { return };
        self.pending -= stream.pending();
        self.blocked -= u64::from(stream.is_blocked);
        if let Some((head, _)) = stream.head.take() {
            self.give_head(head);
        }
    }

    pub(super) fn give_head(&mut self, mut head: Box<Head>) {
        if self.spares.len() < SPARES {
            head.clear();
            self.spares.push(head);
        }
    }

    /// Resets both directions of a stream.
    pub fn reset(&mut self, key: Key, code: H3ErrorCode) {
        let Some(stream) = self.requests.get(key) else { return };
        if stream.reset.is_none() && self.broken.is_none() {
            let (stream, receives) = (stream.id, !(stream.has_end || stream.is_stopped));
            self.counters.resets_sent += 1;
            self.aborts.push_back(Abort { stream, code, sends: true, receives });
            self.mark_reset(key, H3Reset { code, by_peer: false });
        }
    }

    /// Asks the peer to send no more on a stream.
    pub(super) fn stop_receiving(&mut self, key: Key, code: H3ErrorCode) {
        let Some(stream) = self.requests.get_mut(key) else { return };
        if !stream.has_end && !std::mem::replace(&mut stream.is_stopped, true) {
            let stream = stream.id;
            self.aborts.push_back(Abort { stream, code, sends: false, receives: true });
        }
    }

    /// Records a reset. Output and held bytes are dropped.
    pub(super) fn mark_reset(&mut self, key: Key, reset: H3Reset) {
        let Some(stream) = self.requests.get_mut(key) else { return };
        if stream.reset.is_some() {
            return;
        }
        stream.reset = Some(reset);
        self.pending -= stream.pending();
        stream.out.clear();
        stream.sent = 0;
        stream.ends = false;
        stream.held = Vec::new();
        if std::mem::take(&mut stream.is_blocked) {
            self.blocked -= 1;
            let id = stream.id;
            self.cancel_section(id);
        }
        self.wake(key, Ready::ANY);
    }
}
