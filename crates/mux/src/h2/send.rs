//! Bytes to the peer: heads, payload, ends of messages; a stream without room has to wait.

use super::conn::H2Conn;
use super::flood::cost;
use super::flow::TINY;
use super::stream::{PendingUpgrade, Reset, SendPhase};
use crate::stream_response::{self, ResponsePart, StreamResponse};
use crate::{BodyKind, Ready, Side, StreamGone, length};
use htx::{Fields, Head, HeaderId, Method};
use std::io::IoSlice;
use stdx::Key;
use wire::h2::{DEFAULT_FRAME_SIZE, ErrorCode, encode, hpack, request, response, trailers};
use wire::websocket;

impl H2Conn {
    // ---- the connection's output

    /// Bytes to be written to the peer.
    pub fn output(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    pub(super) fn pending(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Records that all output may leave before its write is reported, as TLS records may.
    pub fn note_offered(&mut self) {
        self.offered = self.written + self.pending() as u64;
    }

    /// Records written output; streams that wait for room may be woken.
    pub fn advance_output(&mut self, count: usize) {
        let count = count.min(self.pending());
        self.sent += count;
        self.written += count as u64;
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
            self.out.shrink_to(2 * super::conn::OUTPUT);
        } else if self.sent > super::conn::OUTPUT {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        while self.has_room()
            && let Some(key) = self.awaiting_room.pop()
        {
            self.wake(key, Ready::ROOM);
        }
        self.call_waiting_streams();
    }

    /// Records that the last `count` bytes reported as written were not sent.
    pub fn take_back(&mut self, count: u64) {
        self.written = self.written.saturating_sub(count);
    }

    // ---- a stream's message

    /// Sends a head. `body` is the framing of the incoming message; the result is the framing on
    /// this stream: `None` means that payload must not be sent and has to be discarded. After an
    /// interim response the stream expects another head; before the next one the caller waits for
    /// [`Ready::ROOM`], because heads are queued without a limit.
    ///
    /// `scheme` is that of the connection, for requests without one.
    pub fn encode_head(
        &mut self,
        key: Key,
        head: &mut Head,
        body: BodyKind,
        scheme: &[u8],
    ) -> BodyKind {
        match self.side {
            Side::Client => self.encode_response(key, head, body),
            Side::Server => self.encode_request(key, head, body, scheme),
        }
    }

    fn encode_response(&mut self, key: Key, head: &mut Head, body: BodyKind) -> BodyKind {
        let Some(stream) = self.streams.get_mut(key) else { return BodyKind::None };
        let (id, gone) = (stream.id, stream.reset.is_some());
        let StreamResponse { status, body, part } =
            stream_response::prepare(head, body, stream.response_to());
        match part {
            ResponsePart::Interim => {}
            ResponsePart::Tunnel => (stream.is_tunnel, stream.send) = (true, SendPhase::Body),
            ResponsePart::Final { ends: true } => stream.send = SendPhase::Ended,
            ResponsePart::Final { ends: false } => stream.send = SendPhase::Body,
        }
        let end = part == ResponsePart::Final { ends: true };
        if !gone && self.broken.is_none() {
            let at = self.begin_block();
            response::encode(head, status, &mut self.out);
            encode::end_headers(at, id, end, self.peer.max_frame_size, &mut self.out);
        }
        self.close_if_done(key);
        body
    }

    fn encode_request(
        &mut self,
        key: Key,
        head: &mut Head,
        body: BodyKind,
        scheme: &[u8],
    ) -> BodyKind {
        let at = self.written + self.pending() as u64;
        let takes = self.peer.enable_connect_protocol && body.is_empty();
        let upgrade = request::protocol(head).filter(|_| takes);
        let upgrade = upgrade.map(|protocol| Box::new(requested_upgrade(head, protocol)));
        let extended = upgrade.is_some();
        let Some(stream) = self.streams.get_mut(key) else { return BodyKind::None };
        stream.head_at = Some(at);
        stream.upgrade = upgrade;
        let (id, gone) = (stream.id, stream.reset.is_some());
        stream.head_only = head.method_id() == Method::Head;
        stream.connect = head.method_id() == Method::Connect || extended;
        stream.extended = extended;
        let body = match body {
            BodyKind::UntilClose | BodyKind::Chunked => BodyKind::Chunked,
            BodyKind::Tunnel => BodyKind::None,
            other => other,
        };
        announce_length(head, body);
        let end = body.is_empty() && !stream.connect;
        stream.send = if end { SendPhase::Ended } else { SendPhase::Body };
        if !gone && self.broken.is_none() {
            let at = self.begin_block();
            request::encode(head, scheme, extended, &mut self.out);
            encode::end_headers(at, id, end, self.peer.max_frame_size, &mut self.out);
        }
        if body.is_empty() { BodyKind::None } else { body }
    }

    fn begin_block(&mut self) -> usize {
        let at = encode::begin_headers(&mut self.out);
        if std::mem::take(&mut self.announces_table_size) {
            hpack::size_update(0, &mut self.out);
            self.table_size = 0;
        }
        at
    }

    /// Announces payload that will be sent.
    pub fn encode_data(&mut self, key: Key, len: u64) {
        if let Some(stream) = self.streams.get_mut(key) {
            stream.owed += len;
        }
    }

    /// Ends the outgoing message once all payload that was announced is sent.
    pub fn encode_end(&mut self, key: Key, trailers: Option<&Fields>) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        // Bytes of a tunnel follow its request.
        let begins = self.side == Side::Server && stream.connect && !stream.is_tunnel;
        if stream.send != SendPhase::Body || stream.ending || begins {
            return;
        }
        stream.ending = true;
        stream.last_trailers = trailers.filter(|it| !it.is_empty()).cloned().map(Box::new);
        if stream.owed == 0 {
            self.end_sent(key);
        }
    }

    /// Ends the message, with the trailers if any, because all announced payload is sent.
    fn end_sent(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        let (id, last, gone) = (stream.id, stream.last_trailers.take(), stream.reset.is_some());
        stream.send = SendPhase::Ended;
        if !gone && self.broken.is_none() {
            match last {
                Some(section) => {
                    let at = self.begin_block();
                    trailers::encode(&section, &mut self.out);
                    encode::end_headers(at, id, true, self.peer.max_frame_size, &mut self.out);
                }
                None => encode::data(id, 0, true, &mut self.out),
            }
        }
        self.close_if_done(key);
    }

    fn close_if_done(&mut self, key: Key) {
        if self.streams.get(key).is_some_and(|stream| stream.is_closed()) {
            self.streams.uncount(key);
        }
    }

    /// Sends payload, up to one frame; 0: the stream has to wait.
    ///
    /// # Errors
    /// The stream was reset, or its connection is over.
    pub fn send(&mut self, key: Key, parts: &[IoSlice<'_>]) -> Result<usize, StreamGone> {
        let total = parts.iter().map(|part| part.len()).sum::<usize>();
        if self.broken.is_some() {
            return Err(StreamGone);
        }
        let count = if total > 0 { self.may_send(key, total)? } else { 0 };
        if count == 0 {
            return Ok(0);
        }
        let Some(stream) = self.streams.get_mut(key) else { return Err(StreamGone) };
        let id = stream.id;
        stream.send_window -= count as i64;
        stream.owed = stream.owed.saturating_sub(count as u64);
        let all = stream.ending && stream.owed == 0;
        let end = all && stream.last_trailers.is_none();
        stream.served = true;
        self.send_window -= count as i64;
        self.budget.note_payload();
        encode::data(id, count, end, &mut self.out);
        let mut left = count;
        for part in parts {
            let piece = &part[..part.len().min(left)];
            self.out.extend_from_slice(piece);
            left -= piece.len();
        }
        if end {
            if let Some(stream) = self.streams.get_mut(key) {
                stream.send = SendPhase::Ended;
            }
            self.close_if_done(key);
        } else if all {
            self.end_sent(key);
        }
        Ok(count)
    }

    /// Bytes of `total` that a stream may send now; it is queued if that is 0 for lack of room.
    fn may_send(&mut self, key: Key, total: usize) -> Result<usize, StreamGone> {
        let (room, shared) = (self.room(), self.send_window.max(0) as usize);
        self.end_turn(key);
        let deaf = self.has_input_ended();
        let others_wait = !self.send_queue.is_empty() || self.streams_called > 0;
        let stream = self.streams.get_mut(key).ok_or(StreamGone)?;
        if stream.reset.is_some() {
            return Err(StreamGone);
        }
        if stream.queued {
            return Ok(0);
        }
        let own = stream.send_window.max(0) as usize;
        if deaf && (own == 0 || shared == 0) {
            // After the peer's half-close no window update can come.
            self.mark_reset(key, Reset { code: ErrorCode::CANCEL, by_peer: true });
            return Err(StreamGone);
        }
        if own == 0 {
            // The stream waits for its own window only, so the next in line may send.
            self.call_waiting_streams();
            return Ok(0);
        }
        if room == 0 || shared == 0 || (others_wait && stream.served) {
            self.queue_to_send(key);
            if room > 0 {
                self.call_waiting_streams();
            }
            return Ok(0);
        }
        let frame = self.peer.max_frame_size.min(DEFAULT_FRAME_SIZE) as usize;
        let count = total.min(own).min(shared).min(room).min(frame);
        if count < total && own.min(shared) < TINY as usize {
            // A tiny window makes us send more framing than payload.
            self.glitch(cost::TINY).map_err(|_| StreamGone)?;
        }
        Ok(count)
    }

    /// Ends the outgoing direction of a tunnel.
    pub fn shutdown(&mut self, key: Key) {
        self.encode_end(key, None);
    }
}

/// The upgrade that a request asks for.
fn requested_upgrade(head: &Head, protocol: &[u8]) -> PendingUpgrade {
    let key = head.first(HeaderId::SecWebSocketKey).map(|field| field.value);
    let key = key.filter(|_| protocol.eq_ignore_ascii_case(b"websocket"));
    PendingUpgrade { protocol: protocol.to_vec(), accept: key.map(websocket::accept) }
}

/// Announces a known length, for recipients behind the peer that need it, and removes any other
/// length, which would make the message malformed.
fn announce_length(head: &mut Head, body: BodyKind) {
    match body {
        BodyKind::Length(n) => length::announce(head, n),
        BodyKind::Chunked => _ = head.remove_id(HeaderId::ContentLength),
        _ => length::allow_only_zero(head),
    }
}
