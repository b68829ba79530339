//! The protocol machine of a connection that carries many streams, in any protocol.
//!
//! Calls are dispatched by the variant. Where FastCGI lacks what HTTP/2 has (flow control by
//! windows, a graceful shutdown, counters of abuse), the answer is the one without effect.

use htx::{Fields, Head, Method};
use mux::call::CallConn;
use mux::fcgi::{FcgiConn, ParamsError};
use mux::h2::{Counters, H2Conn, Key};
use mux::h3::{H3Conn, H3Counters};
use mux::local::LocalConn;
use mux::{BodyKind, BodyStep, Eof, HeadStep, MessageError, Ready, StreamGone};
use std::io::IoSlice;
use wire::h2::ErrorCode;
use wire::h3::H3ErrorCode;

/// The machine of one connection, in the allocation of its session.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost each HTTP/2 call a load")]
pub enum StreamMux {
    /// HTTP/2, of a client or a server.
    H2(H2Conn),
    /// HTTP/3, of a client. The transport's streams have the bytes: `quic` moves them.
    H3(Box<H3Conn>),
    /// FastCGI, of a server.
    Fcgi(FcgiConn),
    /// One exchange with a service inside the process.
    Local(LocalConn),
    /// A request of the process itself.
    Call(CallConn),
}

impl From<H2Conn> for StreamMux {
    fn from(conn: H2Conn) -> Self {
        Self::H2(conn)
    }
}

impl From<H3Conn> for StreamMux {
    fn from(conn: H3Conn) -> Self {
        Self::H3(Box::new(conn))
    }
}

impl From<FcgiConn> for StreamMux {
    fn from(conn: FcgiConn) -> Self {
        Self::Fcgi(conn)
    }
}

impl From<LocalConn> for StreamMux {
    fn from(conn: LocalConn) -> Self {
        Self::Local(conn)
    }
}

impl From<CallConn> for StreamMux {
    fn from(conn: CallConn) -> Self {
        Self::Call(conn)
    }
}

impl StreamMux {
    // ---- the connection

    /// Streams that are in use.
    #[inline]
    pub fn streams(&self) -> usize {
        match self {
            Self::H2(conn) => conn.streams(),
            Self::H3(conn) => conn.streams(),
            Self::Fcgi(conn) => conn.in_use(),
            Self::Local(conn) => conn.in_use(),
            Self::Call(conn) => conn.in_use(),
        }
    }

    /// Takes the next stream that the peer has opened.
    #[inline]
    pub fn poll_opened(&mut self) -> Option<Key> {
        match self {
            Self::H2(conn) => conn.poll_opened(),
            Self::H3(conn) => conn.poll_opened(),
            Self::Fcgi(_) => None,
            Self::Local(_) => None,
            Self::Call(_) => None,
        }
    }

    /// Whether another stream can be opened by us.
    #[inline]
    pub fn can_open(&self) -> bool {
        match self {
            Self::H2(conn) => conn.can_open(),
            Self::H3(_) => false,
            Self::Fcgi(conn) => conn.can_open(),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Opens a stream for a request; `None` if none can be opened.
    #[inline]
    pub fn open(&mut self) -> Option<Key> {
        match self {
            Self::H2(conn) => conn.open(),
            Self::H3(_) => None,
            Self::Fcgi(conn) => conn.open(),
            Self::Local(_) => None,
            Self::Call(_) => None,
        }
    }

    /// Whether new streams may be opened, by us or by the peer.
    #[inline]
    pub fn is_open(&self) -> bool {
        match self {
            Self::H2(conn) => conn.is_open(),
            Self::H3(conn) => conn.is_open(),
            Self::Fcgi(conn) => conn.is_open(),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Whether the connection has nothing left to do and can be closed.
    #[inline]
    pub fn is_over(&self) -> bool {
        match self {
            Self::H2(conn) => conn.is_over(),
            Self::H3(conn) => conn.is_over(),
            Self::Fcgi(conn) => conn.is_over(),
            Self::Local(conn) => conn.in_use() == 0,
            Self::Call(conn) => conn.in_use() == 0,
        }
    }

    /// Whether the peer has broken the protocol, or the connection has ended.
    #[inline]
    pub fn is_broken(&self) -> bool {
        match self {
            Self::H2(conn) => conn.broken().is_some(),
            Self::H3(conn) => conn.broken().is_some(),
            Self::Fcgi(conn) => conn.has_input_ended(),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Whether the capabilities of the peer are known; if not, `token` is woken when they are.
    #[inline]
    pub fn has_peer_settings(&mut self, token: u64) -> bool {
        match self {
            Self::H2(conn) => conn.has_peer_settings(token),
            Self::H3(_) => true,
            Self::Fcgi(_) => true,
            Self::Local(_) => true,
            Self::Call(_) => true,
        }
    }

    /// Whether the peer accepts extended CONNECT (RFC 8441 section 3).
    #[inline]
    pub fn accepts_extended_connect(&self) -> bool {
        match self {
            Self::H2(conn) => conn.accepts_extended_connect(),
            Self::H3(_) => false,
            Self::Fcgi(_) => false,
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Begins a graceful shutdown: open streams continue.
    #[inline]
    pub fn begin_shutdown(&mut self) {
        match self {
            Self::H2(conn) => conn.begin_shutdown(),
            Self::H3(conn) => conn.begin_shutdown(),
            Self::Fcgi(conn) => conn.begin_shutdown(),
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Names the last stream that is served.
    #[inline]
    pub fn finish_shutdown(&mut self) {
        match self {
            Self::H2(conn) => conn.finish_shutdown(),
            Self::H3(conn) => conn.finish_shutdown(),
            Self::Fcgi(_) => {}
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Whether the peer was asked to open no more streams, and may not know it yet.
    #[inline]
    pub fn announces_shutdown(&self) -> bool {
        match self {
            Self::H2(conn) => conn.announces_shutdown(),
            Self::H3(conn) => conn.announces_shutdown(),
            Self::Fcgi(_) => false,
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Ends a connection that cannot serve its purpose.
    #[inline]
    pub fn abandon(&mut self) {
        match self {
            Self::H2(conn) => conn.abandon(),
            Self::H3(conn) => conn.begin_shutdown(),
            Self::Fcgi(conn) => conn.begin_shutdown(),
            Self::Local(conn) => conn.fail(),
            Self::Call(conn) => conn.reset(),
        }
    }

    /// Handles a half-close by the peer.
    #[inline]
    pub fn end_input(&mut self) {
        match self {
            Self::H2(conn) => conn.end_input(),
            Self::H3(conn) => conn.handle_eof(),
            Self::Fcgi(conn) => conn.handle_eof(),
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Handles the loss of the connection: all streams end.
    #[inline]
    pub fn handle_eof(&mut self) {
        match self {
            Self::H2(conn) => conn.handle_eof(),
            Self::H3(conn) => conn.handle_eof(),
            Self::Fcgi(conn) => conn.handle_eof(),
            Self::Local(conn) => conn.fail(),
            Self::Call(conn) => conn.reset(),
        }
    }

    /// Whether the peer's side of the connection has ended.
    #[inline]
    pub fn has_input_ended(&self) -> bool {
        match self {
            Self::H2(conn) => conn.has_input_ended(),
            Self::H3(conn) => conn.has_input_ended(),
            Self::Fcgi(conn) => conn.has_input_ended(),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Handles bytes from the peer; returns how many of them to drop. `None`: the peer has broken
    /// the protocol, and the connection ends once its output is written.
    #[inline]
    pub fn handle_input(&mut self, input: &[u8], now_ms: u64) -> Option<usize> {
        match self {
            Self::H2(conn) => conn.handle_input(input, now_ms).ok(),
            Self::H3(_) => None,
            Self::Fcgi(conn) => conn.handle_input(input).ok(),
            Self::Local(_) => None,
            Self::Call(_) => None,
        }
    }

    /// Whether input can be handled now.
    #[inline]
    pub fn takes_input(&self) -> bool {
        match self {
            Self::H2(conn) => conn.takes_input(),
            Self::H3(_) => false,
            Self::Fcgi(conn) => conn.takes_input(),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Begins a turn, in which frames are handled up to the limits of the settings.
    #[inline]
    pub fn begin_turn(&mut self) {
        match self {
            Self::H2(conn) => conn.begin_turn(),
            Self::H3(_) => {}
            Self::Fcgi(_) => {}
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Whether the turn has reached its limits.
    #[inline]
    pub fn turn_limit_reached(&self) -> bool {
        match self {
            Self::H2(conn) => conn.turn_limit_reached(),
            Self::H3(_) => false,
            Self::Fcgi(_) => false,
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Sets whether floods are tolerated.
    #[inline]
    pub fn set_flood_tolerance(&mut self, tolerant: bool) {
        match self {
            Self::H2(conn) => conn.set_flood_tolerance(tolerant),
            Self::H3(_) => {}
            Self::Fcgi(_) => {}
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Takes the counts since the last call.
    #[inline]
    pub fn take_counters(&mut self) -> Counters {
        match self {
            Self::H2(conn) => conn.take_counters(),
            Self::H3(_) => Counters::default(),
            Self::Fcgi(_) => Counters::default(),
            Self::Local(_) => Counters::default(),
            Self::Call(_) => Counters::default(),
        }
    }

    /// Protocol breaches of the peer so far.
    #[inline]
    pub fn glitches(&self) -> u32 {
        match self {
            Self::H2(conn) => conn.glitches(),
            Self::H3(conn) => conn.glitches(),
            Self::Fcgi(_) => 0,
            Self::Local(_) => 0,
            Self::Call(_) => 0,
        }
    }

    /// Bytes to be written to the peer.
    #[inline]
    pub fn output(&self) -> &[u8] {
        match self {
            Self::H2(conn) => conn.output(),
            Self::H3(_) => &[],
            Self::Fcgi(conn) => conn.output(),
            Self::Local(_) => &[],
            Self::Call(_) => &[],
        }
    }

    /// A measure of the work for the connection's task, which grows when there is more.
    #[inline]
    pub fn pending_work(&self) -> usize {
        match self {
            Self::H3(conn) => usize::from(conn.has_news()),
            Self::H2(_) | Self::Fcgi(_) | Self::Local(_) | Self::Call(_) => self.output().len(),
        }
    }

    /// Records written output; streams that wait for room may be woken.
    #[inline]
    pub fn advance_output(&mut self, count: usize) {
        match self {
            Self::H2(conn) => conn.advance_output(count),
            Self::H3(_) => {}
            Self::Fcgi(conn) => conn.advance_output(count),
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Records that all output may leave before its write is reported, as TLS records may.
    #[inline]
    pub fn note_offered(&mut self) {
        match self {
            Self::H2(conn) => conn.note_offered(),
            Self::H3(_) => {}
            Self::Fcgi(conn) => conn.note_offered(),
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Records that the last `count` bytes reported as written were not sent.
    #[inline]
    pub fn take_back(&mut self, count: u64) {
        match self {
            Self::H2(conn) => conn.take_back(count),
            Self::H3(_) => {}
            Self::Fcgi(conn) => conn.take_back(count),
            Self::Local(_) => {}
            Self::Call(_) => {}
        }
    }

    /// Takes the token of a stream to wake.
    #[inline]
    pub fn take_woken(&mut self) -> Option<u64> {
        match self {
            Self::H2(conn) => conn.take_woken(),
            Self::H3(conn) => conn.take_woken(),
            Self::Fcgi(conn) => conn.take_woken_token(),
            Self::Local(conn) => conn.take_woken(),
            Self::Call(conn) => conn.take_woken(),
        }
    }

    /// Whether the output has room, because the peer reads it.
    #[inline]
    pub fn has_room(&self) -> bool {
        match self {
            Self::H2(conn) => conn.has_room(),
            Self::H3(conn) => conn.has_room(),
            Self::Fcgi(conn) => conn.has_room(),
            Self::Local(_) => true,
            Self::Call(_) => true,
        }
    }

    /// Whether waiting for a stream may add output.
    #[inline]
    pub fn is_short(&self) -> bool {
        match self {
            Self::H2(conn) => conn.is_short(),
            Self::H3(_) => false,
            Self::Fcgi(_) => false,
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Whether the peer has answered any request of ours.
    #[inline]
    pub fn has_answered(&self) -> bool {
        match self {
            Self::H2(conn) => conn.has_answered(),
            Self::H3(_) => false,
            Self::Fcgi(conn) => conn.has_answered(),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Takes a line of the error text of an application; `false` if there is none.
    #[inline]
    pub fn take_error_line(&mut self, line: &mut Vec<u8>) -> bool {
        match self {
            Self::H2(_) | Self::H3(_) | Self::Local(_) | Self::Call(_) => {
                line.clear();
                false
            }
            Self::Fcgi(conn) => conn.take_any_error_line(line),
        }
    }

    // ---- its streams

    /// Registers `token` to be woken once a stream is ready. `true`: it is ready already.
    #[inline]
    pub fn want(&mut self, key: Key, ready: Ready, token: u64) -> bool {
        match self {
            Self::H2(conn) => conn.want(key, ready, token),
            Self::H3(conn) => conn.want(key, ready, token),
            Self::Fcgi(conn) => conn.want(key, ready, token),
            Self::Local(conn) => conn.want(ready, token),
            Self::Call(conn) => conn.want(ready, token),
        }
    }

    /// Cancels the wake-up of a stream.
    #[inline]
    pub fn want_nothing(&mut self, key: Key) {
        match self {
            Self::H2(conn) => conn.want_nothing(key),
            Self::H3(conn) => conn.want_nothing(key),
            Self::Fcgi(conn) => conn.want_nothing(key),
            Self::Local(conn) => conn.want_nothing(),
            Self::Call(conn) => conn.want_nothing(),
        }
    }

    /// Whether a read of the stream would return bytes or its end.
    #[inline]
    pub fn is_readable(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.is_readable(key),
            Self::H3(conn) => conn.is_readable(key),
            Self::Fcgi(conn) => conn.is_readable(key),
            Self::Local(conn) => conn.is_readable(),
            Self::Call(conn) => conn.is_readable(),
        }
    }

    /// Whether a stream was reset, by either side, or its connection is gone.
    #[inline]
    pub fn is_reset(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.is_reset(key),
            Self::H3(conn) => conn.is_reset(key),
            Self::Fcgi(conn) => conn.is_reset(key),
            Self::Local(conn) => conn.is_reset(),
            Self::Call(conn) => conn.is_reset(),
        }
    }

    /// Whether the peer has not processed the request, so that it may be sent again elsewhere.
    #[inline]
    pub fn is_refused(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.is_refused(key),
            Self::H3(_) => false,
            Self::Fcgi(conn) => conn.is_unprocessed(key),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Whether a stream was reset by us for a protocol error of the peer.
    #[inline]
    pub fn is_malformed(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.is_malformed(key),
            Self::H3(conn) => conn.is_malformed(key),
            Self::Fcgi(_) => false,
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Whether a stream was cut off by the loss of its connection.
    #[inline]
    pub fn is_lost(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.is_lost(key),
            Self::H3(conn) => conn.is_lost(key),
            Self::Fcgi(conn) => conn.is_lost(key),
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Whether the incoming message is complete and was read.
    #[inline]
    pub fn has_received_all(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.has_received_all(key),
            Self::H3(conn) => conn.has_received_all(key),
            Self::Fcgi(conn) => conn.has_received_all(key),
            Self::Local(conn) => conn.has_received_all(),
            Self::Call(conn) => conn.has_received_all(),
        }
    }

    /// Whether the outgoing message is complete.
    #[inline]
    pub fn has_sent_all(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.has_sent_all(key),
            Self::H3(conn) => conn.has_sent_all(key),
            Self::Fcgi(conn) => conn.has_sent_all(key),
            Self::Local(conn) => conn.has_sent_all(),
            Self::Call(conn) => conn.has_sent_all(),
        }
    }

    /// Whether the final head of the outgoing message was encoded.
    #[inline]
    pub fn has_sent_head(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.has_sent_head(key),
            Self::H3(conn) => conn.has_sent_head(key),
            Self::Fcgi(conn) => conn.has_sent_head(key),
            Self::Local(conn) => conn.has_sent_head(),
            Self::Call(conn) => conn.has_sent_head(),
        }
    }

    /// Whether a response accepts the upgrade that was asked for.
    #[inline]
    pub fn is_accepted_by(&self, key: Key, head: &Head) -> bool {
        match self {
            Self::H2(conn) => conn.is_accepted_by(key, head),
            Self::H3(conn) => conn.is_accepted_by(key, head),
            Self::Fcgi(_) => true,
            Self::Local(_) => true,
            Self::Call(_) => true,
        }
    }

    /// Whether the stream carries opaque bytes.
    #[inline]
    pub fn is_tunnel(&self, key: Key) -> bool {
        match self {
            Self::H2(conn) => conn.is_tunnel(key),
            Self::H3(conn) => conn.is_tunnel(key),
            Self::Fcgi(_) => false,
            Self::Local(_) => false,
            Self::Call(_) => false,
        }
    }

    /// Payload bytes received of the current message.
    #[inline]
    pub fn payload_received(&self, key: Key) -> u64 {
        match self {
            Self::H2(conn) => conn.payload_received(key),
            Self::H3(conn) => conn.payload_received(key),
            Self::Fcgi(conn) => conn.payload_received(key),
            Self::Local(conn) => conn.payload_received(),
            Self::Call(conn) => conn.payload_received(),
        }
    }

    /// Payload that has not arrived; `u64::MAX` if no length was announced.
    #[inline]
    pub fn payload_left(&self, key: Key) -> u64 {
        match self {
            Self::H2(conn) => conn.payload_left(key),
            Self::H3(conn) => conn.payload_left(key),
            Self::Fcgi(conn) => conn.payload_left(key),
            Self::Local(conn) => conn.payload_left(),
            Self::Call(conn) => conn.payload_left(),
        }
    }

    /// Reads the next head.
    ///
    /// # Errors
    /// The message is malformed, or the peer has refused the request.
    #[inline]
    pub fn handle_head(&mut self, key: Key, head: &mut Head) -> Result<HeadStep, MessageError> {
        match self {
            Self::H2(conn) => conn.handle_head(key, head),
            Self::H3(conn) => conn.handle_head(key, head),
            Self::Fcgi(conn) => conn.read_head(key, head),
            Self::Local(conn) => conn.handle_head(head),
            Self::Call(conn) => Ok(conn.handle_head(head)),
        }
    }

    /// Moves received payload into `buffer`; `None` when there is none now, 0 at the end of the
    /// message.
    ///
    /// # Errors
    /// The stream was reset, and its payload was dropped.
    #[inline]
    pub fn read(&mut self, key: Key, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        match self {
            Self::H2(conn) => conn.read(key, buffer),
            Self::H3(conn) => conn.read(key, buffer),
            Self::Fcgi(conn) => conn.receive(key, buffer),
            Self::Local(conn) => conn.read(buffer),
            Self::Call(conn) => conn.read(buffer),
        }
    }

    /// The payload at the front of bytes read from a stream.
    #[inline]
    pub fn handle_body(&mut self, key: Key, input: &[u8], trailers: &mut Fields) -> BodyStep {
        match self {
            Self::H2(conn) => conn.handle_body(key, input, trailers),
            Self::H3(conn) => conn.handle_body(key, input, trailers),
            Self::Fcgi(conn) => conn.handle_body(key, input, trailers),
            Self::Local(conn) => conn.handle_body(input, trailers),
            Self::Call(conn) => conn.handle_body(input),
        }
    }

    /// The meaning of the end of a stream that [`StreamMux::read`] has returned.
    #[inline]
    pub fn end_of(&self, key: Key) -> Eof {
        match self {
            Self::H2(conn) => conn.end_of(key),
            Self::H3(conn) => conn.end_of(key),
            Self::Fcgi(conn) => conn.end_of(key),
            Self::Local(conn) => conn.end_of(),
            Self::Call(conn) => conn.end_of(),
        }
    }

    /// Sends a head; see [`H2Conn::encode_head`]. A request of FastCGI begins with
    /// [`StreamMux::send_params`] instead.
    #[inline]
    pub fn encode_head(
        &mut self,
        key: Key,
        head: &mut Head,
        body: BodyKind,
        scheme: &[u8],
    ) -> BodyKind {
        match self {
            Self::H2(conn) => conn.encode_head(key, head, body, scheme),
            Self::H3(conn) => conn.encode_head(key, head, body),
            Self::Fcgi(_) => {
                debug_assert!(false, "FastCGI requests have parameters");
                body
            }
            Self::Local(conn) => conn.encode_head(head, body),
            Self::Call(conn) => conn.encode_head(head, body),
        }
    }

    /// Sends the parameters of a request to an application.
    ///
    /// # Errors
    /// They exceed the limit.
    #[inline]
    pub fn send_params(
        &mut self,
        key: Key,
        method: Method,
        params: &[u8],
    ) -> Result<(), ParamsError> {
        match self {
            Self::H2(_) => Ok(()),
            Self::H3(_) => Ok(()),
            Self::Fcgi(conn) => conn.send_params(key, method, params),
            Self::Local(_) => Ok(()),
            Self::Call(_) => Ok(()),
        }
    }

    /// Announces payload that will be sent.
    #[inline]
    pub fn encode_data(&mut self, key: Key, len: u64) {
        match self {
            Self::H2(conn) => conn.encode_data(key, len),
            Self::H3(conn) => conn.encode_data(key, len),
            Self::Fcgi(conn) => conn.encode_data(key, len),
            Self::Local(conn) => conn.encode_data(len),
            Self::Call(conn) => conn.encode_data(len),
        }
    }

    /// Ends the outgoing message once all payload that was announced is sent.
    #[inline]
    pub fn encode_end(&mut self, key: Key, trailers: Option<&Fields>) {
        match self {
            Self::H2(conn) => conn.encode_end(key, trailers),
            Self::H3(conn) => conn.encode_end(key, trailers),
            Self::Fcgi(conn) => conn.encode_end(key),
            Self::Local(conn) => conn.encode_end(),
            Self::Call(conn) => conn.encode_end(),
        }
    }

    /// Sends payload; 0: the stream has to wait.
    ///
    /// # Errors
    /// The stream was reset, or its connection is over.
    #[inline]
    pub fn send(&mut self, key: Key, parts: &[IoSlice<'_>]) -> Result<usize, StreamGone> {
        match self {
            Self::H2(conn) => conn.send(key, parts),
            Self::H3(conn) => conn.send(key, parts),
            Self::Fcgi(conn) => conn.send_parts(key, parts),
            Self::Local(conn) => conn.send(parts),
            Self::Call(conn) => conn.send(parts),
        }
    }

    /// Ends the outgoing direction of a tunnel.
    #[inline]
    pub fn shutdown(&mut self, key: Key) {
        match self {
            Self::H2(conn) => conn.shutdown(key),
            Self::H3(conn) => conn.shutdown(key),
            Self::Fcgi(_) => {}
            Self::Local(conn) => conn.encode_end(),
            Self::Call(_) => {}
        }
    }

    /// Resets a stream; a request of FastCGI is aborted when it is released.
    #[inline]
    pub fn reset(&mut self, key: Key, code: ErrorCode) {
        match self {
            Self::H2(conn) => conn.reset(key, code),
            Self::H3(conn) => conn.reset(key, h3_code(code)),
            Self::Fcgi(_) => {}
            Self::Local(conn) => conn.reset(),
            Self::Call(conn) => conn.reset(),
        }
    }

    /// Ends the connection because a rule has rejected a request.
    #[inline]
    pub fn reject_connection(&mut self, key: Key) {
        match self {
            Self::H2(conn) => conn.reject_connection(key),
            Self::H3(conn) => conn.reject_connection(key),
            Self::Fcgi(conn) => conn.begin_shutdown(),
            Self::Local(conn) => conn.reset(),
            Self::Call(conn) => conn.reset(),
        }
    }

    /// Releases a stream. An incomplete one is reset.
    #[inline]
    pub fn release(&mut self, key: Key) {
        match self {
            Self::H2(conn) => conn.release(key),
            Self::H3(conn) => conn.release(key),
            Self::Fcgi(conn) => conn.release(key),
            Self::Local(conn) => conn.release(),
            Self::Call(conn) => conn.release(),
        }
    }

    /// The exchange with a service inside the process, if it is one.
    pub fn local(&mut self) -> Option<&mut LocalConn> {
        match self {
            Self::Local(conn) => Some(conn),
            Self::H2(_) | Self::H3(_) | Self::Fcgi(_) | Self::Call(_) => None,
        }
    }

    /// The call of the process itself, if the machine is one.
    pub fn call(&mut self) -> Option<&mut CallConn> {
        match self {
            Self::Call(conn) => Some(conn),
            Self::H2(_) | Self::H3(_) | Self::Fcgi(_) | Self::Local(_) => None,
        }
    }

    /// Whether it is a call of the process itself.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }

    /// The HTTP/3 machine, if this is one.
    pub fn h3(&mut self) -> Option<&mut H3Conn> {
        match self {
            Self::H3(conn) => Some(conn),
            Self::H2(_) | Self::Fcgi(_) | Self::Local(_) | Self::Call(_) => None,
        }
    }

    /// Takes the counts of an HTTP/3 connection since the last call.
    pub fn take_h3_counters(&mut self) -> Option<H3Counters> {
        self.h3().map(H3Conn::take_counters)
    }

    /// Whether the protocol is HTTP/3.
    #[inline]
    pub fn is_h3(&self) -> bool {
        matches!(self, Self::H3(_))
    }

    /// Whether the streams are requests of FastCGI, which begin with parameters.
    #[inline]
    pub fn is_fcgi(&self) -> bool {
        matches!(self, Self::Fcgi(_))
    }
}

/// The error code of HTTP/3 for one of HTTP/2.
fn h3_code(code: ErrorCode) -> H3ErrorCode {
    match code {
        ErrorCode::NO_ERROR => H3ErrorCode::NO_ERROR,
        ErrorCode::REFUSED_STREAM => H3ErrorCode::REQUEST_REJECTED,
        ErrorCode::CANCEL => H3ErrorCode::REQUEST_CANCELLED,
        ErrorCode::PROTOCOL_ERROR => H3ErrorCode::MESSAGE_ERROR,
        ErrorCode::ENHANCE_YOUR_CALM => H3ErrorCode::EXCESSIVE_LOAD,
        _ => H3ErrorCode::INTERNAL_ERROR,
    }
}
