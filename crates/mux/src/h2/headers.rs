//! Header blocks: new streams, responses, trailers.

use super::conn::{Block, ConnectionError, H2Conn};
use super::flood::cost;
use super::stream::{PendingUpgrade, ReceivedHead, RecvPhase};
use crate::Ready;
use crate::websocket_upgrade::{expected_accept, websocket_key};
use crate::{BodyKind, Fault, HeadStep, MessageError, Side};
use htx::{Fields, Head, HeaderId, Method};
use stdx::Key;
use wire::h2::frame::{self, END_HEADERS, END_STREAM};
use wire::h2::hpack;
use wire::h2::{ErrorCode, FrameHeader, MalformedMessage, response, trailers};
use wire::trailer_rules;

impl H2Conn {
    pub(super) fn headers_frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<(), ConnectionError> {
        self.counters.headers += 1;
        let (block, parent) = match frame::headers_block(&header, payload) {
            Ok(parts) => parts,
            Err(code) => return Err(self.fail(code, "padding longer than its frame")),
        };
        let end = header.has(END_STREAM);
        let block_of = Block { stream: header.stream, end };
        let depends_on_itself = parent == Some(header.stream);
        if header.has(END_HEADERS) {
            return self.header_block(block_of, block, depends_on_itself);
        }
        self.block = Some(block_of);
        self.block_bytes.clear();
        self.extend_block(block)
    }

    pub(super) fn continuation(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<(), ConnectionError> {
        let empty = payload.is_empty();
        match empty {
            true => self.glitch(cost::EMPTY)?,
            false => self.charge(cost::CONTINUATION)?,
        }
        self.extend_block(payload)?;
        if !header.has(END_HEADERS) {
            return Ok(());
        }
        let Some(block) = self.block.take() else { return Ok(()) };
        let bytes = std::mem::take(&mut self.block_bytes);
        let result = self.header_block(block, &bytes, false);
        self.block_bytes = bytes;
        result
    }

    /// Collects a block until it is complete, up to twice the largest list; a larger one ends the
    /// connection.
    fn extend_block(&mut self, part: &[u8]) -> Result<(), ConnectionError> {
        let limit = 2 * self.settings.list.bytes as usize;
        if self.block_bytes.len() + part.len() > limit {
            return Err(self.fail(ErrorCode::ENHANCE_YOUR_CALM, "header block too large"));
        }
        self.block_bytes.extend_from_slice(part);
        Ok(())
    }

    /// Handles a complete header block: it must be decoded in any case, to keep the table in step.
    fn header_block(
        &mut self,
        block: Block,
        bytes: &[u8],
        depends_on_itself: bool,
    ) -> Result<(), ConnectionError> {
        let known = self.streams.find(block.stream);
        if let Some(key) = known {
            return match self.streams.get(key).map(|stream| (stream.recv, stream.reset)) {
                Some((_, Some(reset))) if !reset.by_peer => self.discard_block(bytes),
                Some((RecvPhase::Ended, _) | (_, Some(_))) => {
                    self.discard_block(bytes)?;
                    self.stream_error(key, ErrorCode::STREAM_CLOSED)
                }
                Some((RecvPhase::Head, None)) if self.side == Side::Server => {
                    self.response_block(key, block, bytes)
                }
                _ => self.trailers_block(key, block, bytes),
            };
        }
        if !self.is_idle(block.stream) {
            return match self.streams.was_reset(block.stream) {
                Some(true) => self.discard_block(bytes),
                Some(false) => {
                    Err(self.fail(ErrorCode::STREAM_CLOSED, "HEADERS on a closed stream"))
                }
                None => Err(self.fail(ErrorCode::PROTOCOL_ERROR, "HEADERS on an old stream")),
            };
        }
        if self.side == Side::Server || block.stream.is_multiple_of(2) {
            return Err(
                self.fail(ErrorCode::PROTOCOL_ERROR, "HEADERS on a stream that is not its own")
            );
        }
        self.request_block(block, bytes, depends_on_itself)
    }

    fn broken_block(&mut self) -> ConnectionError {
        self.fail(ErrorCode::COMPRESSION_ERROR, "header block that cannot be decoded")
    }

    fn discard_block(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        let most = self.max_decoded_size();
        let unfolded = self.decoder.decode_within(bytes, most, |_, _| ());
        self.charge_for_size(unfolded)
    }

    /// Most bytes that a block may decode to.
    fn max_decoded_size(&self) -> usize {
        let lists =
            if self.side == Side::Client { MAX_LISTS_OF_CLIENT } else { MAX_LISTS_OF_SERVER };
        lists * self.settings.list.bytes as usize
    }

    /// Charges for a block that decodes to more than one list.
    fn charge_for_size(
        &mut self,
        unfolded: Result<usize, hpack::DecodeError>,
    ) -> Result<(), ConnectionError> {
        match unfolded {
            Ok(size) if size <= self.settings.list.bytes as usize => Ok(()),
            Ok(_) => self.glitch(cost::LIST),
            Err(hpack::DecodeError::Broken) => Err(self.broken_block()),
            Err(hpack::DecodeError::TooLarge) => {
                let reason = "header block that stands for far too much";
                Err(self.fail(ErrorCode::ENHANCE_YOUR_CALM, reason))
            }
        }
    }

    /// Whether the limit of open streams is reached.
    fn is_full(&self) -> bool {
        let limit = self.settings.announced.max_concurrent_streams;
        limit.is_some_and(|limit| self.streams.open >= limit)
    }

    /// Whether a stream of a client is refused for want of memory.
    fn lacks_memory(&self) -> bool {
        self.side == Side::Client && self.spares.is_short()
    }

    /// Refuses a stream for want of memory. That is no fault of the peer, so no glitch; a flood of
    /// requests still costs points.
    fn refuse_for_memory(&mut self, stream: u32) -> Result<(), ConnectionError> {
        self.counters.memory_refused += 1;
        self.streams.remember(stream, true);
        self.send_reset(stream, ErrorCode::REFUSED_STREAM);
        self.charge(cost::STREAM_ERROR)
    }

    /// Ignores a stream above the last one of a GOAWAY, and its later frames (RFC 9113 section
    /// 6.8).
    fn ignore_late(&mut self, stream: u32, bytes: &[u8]) -> Result<(), ConnectionError> {
        self.streams.remember(stream, true);
        self.discard_block(bytes)?;
        self.charge(cost::IGNORED)
    }

    /// Handles the header block of a new stream.
    fn request_block(
        &mut self,
        block: Block,
        bytes: &[u8],
        depends_on_itself: bool,
    ) -> Result<(), ConnectionError> {
        self.highest_peer = block.stream;
        if self.shutdown.last_stream().is_some_and(|last| block.stream > last) {
            return self.ignore_late(block.stream, bytes);
        }
        self.last_peer = block.stream;
        self.count_accepted();
        let mut head = self.spares.take_head();
        self.reader.begin(self.settings.list);
        let most = self.max_decoded_size();
        let reader = &mut self.reader;
        let unfolded = self.decoder.decode_within(bytes, most, |name, value| {
            reader.field(name, value, &mut head);
        });
        self.charge_for_size(unfolded)?;
        if self.lacks_memory() {
            return self.refuse_for_memory(block.stream);
        }
        if self.is_full() {
            self.streams.remember(block.stream, true);
            return self.error_on(block.stream, ErrorCode::REFUSED_STREAM);
        }
        if depends_on_itself {
            self.streams.remember(block.stream, true);
            return self.error_on(block.stream, ErrorCode::PROTOCOL_ERROR);
        }
        let seed = &mut self.seed;
        match self.reader.finish(&mut head, || websocket_key(seed)) {
            Ok(announced) => {
                let key = self.insert(block.stream);
                if let Some(stream) = self.streams.get_mut(key) {
                    stream.connect = announced.connect;
                    stream.extended = announced.extended;
                    stream.accept = expected_accept(&head, announced.extended);
                    stream.head_only = head.method_id() == Method::Head;
                    stream.length = announced.length;
                    stream.recv = RecvPhase::Body;
                }
                let body = match (block.end, announced.connect) {
                    (true, _) | (_, true) => BodyKind::None,
                    (false, false) => Self::body_kind(announced.length),
                };
                self.receive_head(key, (head, Some(body)));
                self.unaccepted.push_back(key);
                if block.end { self.end_received(key) } else { Ok(()) }
            }
            Err(MalformedMessage::Stream(_)) => {
                self.spares.give_head(head);
                self.streams.remember(block.stream, true);
                self.error_on(block.stream, ErrorCode::PROTOCOL_ERROR)
            }
            Err(MalformedMessage::Status(status, reason)) => {
                self.spares.give_head(head);
                self.refuse_request(block, status, reason);
                Ok(())
            }
            Err(MalformedMessage::TooLarge(reason)) => {
                self.spares.give_head(head);
                self.glitch(cost::LIST_TOO_LARGE)?;
                self.refuse_request(block, 400, reason);
                Ok(())
            }
        }
    }

    /// Opens a stream whose request is answered with an error.
    fn refuse_request(&mut self, block: Block, status: u16, reason: &'static str) {
        let key = self.insert(block.stream);
        if let Some(stream) = self.streams.get_mut(key) {
            stream.recv = if block.end { RecvPhase::Ended } else { RecvPhase::Body };
            stream.refusal = Some(MessageError { status, fault: Fault::Client, at: None, reason });
        }
        self.unaccepted.push_back(key);
    }

    /// Handles the header block of a final or interim response.
    fn response_block(
        &mut self,
        key: Key,
        block: Block,
        bytes: &[u8],
    ) -> Result<(), ConnectionError> {
        let mut head = self.spares.take_head();
        let mut reader = response::ResponseReader::new(self.settings.list);
        let most = self.max_decoded_size();
        let unfolded = self.decoder.decode_within(bytes, most, |name, value| {
            reader.field(name, value, &mut head);
        });
        self.charge_for_size(unfolded)?;
        let Ok(length) = reader.finish(&mut head) else {
            return self.stream_error(key, ErrorCode::PROTOCOL_ERROR);
        };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(()) };
        if head.status() < 200 {
            if block.end {
                return self.stream_error(key, ErrorCode::PROTOCOL_ERROR);
            }
            // Real servers do not send that many, and a stream whose reader is slow must not
            // collect them.
            if stream.heads.len() >= MAX_INTERIM_RESPONSES {
                return self.stream_error(key, ErrorCode::ENHANCE_YOUR_CALM);
            }
            self.charge(cost::IGNORED)?;
            self.receive_head(key, (head, None));
            return Ok(());
        }
        stream.recv = RecvPhase::Body;
        self.peer_answers = true;
        let bodiless = stream.head_only || matches!(head.status(), 204 | 304);
        let accepted = stream.connect && (200..300).contains(&head.status());
        stream.length = length.filter(|_| !bodiless && !accepted);
        if block.end && stream.length.is_some_and(|length| length > 0) {
            // The response cannot become complete, so it is not passed on.
            return self.stream_error(key, ErrorCode::PROTOCOL_ERROR);
        }
        let body = match (accepted, block.end || bodiless) {
            (true, _) => {
                stream.is_tunnel = true;
                if let Some(upgrade) = &stream.upgrade {
                    accept_upgrade(&mut head, upgrade);
                }
                BodyKind::Tunnel
            }
            (_, true) => BodyKind::None,
            _ => Self::body_kind(length),
        };
        self.receive_head(key, (head, Some(body)));
        if block.end { self.end_received(key) } else { Ok(()) }
    }

    fn trailers_block(
        &mut self,
        key: Key,
        block: Block,
        bytes: &[u8],
    ) -> Result<(), ConnectionError> {
        let mut section = Box::<Fields>::default();
        let mut reader = trailers::TrailersReader::new(self.settings.list);
        let most = self.max_decoded_size();
        let unfolded = self.decoder.decode_within(bytes, most, |name, value| {
            reader.field(name, value, &mut section);
        });
        self.charge_for_size(unfolded)?;
        let refuses = self.side == Side::Client && !self.settings.tolerance.hosts;
        let misleads = refuses && trailer_rules::has_framing_or_routing(&section);
        if !block.end || reader.finish().is_err() || misleads {
            return self.stream_error(key, ErrorCode::PROTOCOL_ERROR);
        }
        trailer_rules::discard(&mut section);
        if let Some(stream) = self.streams.get_mut(key) {
            stream.trailers = Some(section);
        }
        self.end_received(key)
    }

    fn receive_head(&mut self, key: Key, arrived: ReceivedHead) {
        if let Some(stream) = self.streams.get_mut(key) {
            stream.heads.push(arrived);
        }
        self.wake(key, Ready::READ);
    }

    /// Swaps the next head of a stream with `head`.
    ///
    /// # Errors
    /// The request is refused with this error.
    pub fn handle_head(&mut self, key: Key, head: &mut Head) -> Result<HeadStep, MessageError> {
        let Some(stream) = self.streams.get_mut(key) else { return Ok(HeadStep::NeedMore) };
        if let Some(error) = stream.refusal.take() {
            return Err(error);
        }
        let Some((mut arrived, body)) = stream.heads.pop() else {
            return Ok(HeadStep::NeedMore);
        };
        std::mem::swap(&mut *arrived, head);
        self.spares.give_head(arrived);
        Ok(match body {
            Some(body) => HeadStep::Complete { consumed: 0, body },
            None => HeadStep::Interim { consumed: 0 },
        })
    }
}

/// Header lists of the largest size that a client's block may decode to. A list slightly too large
/// is refused with its request; no honest peer needs more.
const MAX_LISTS_OF_CLIENT: usize = 4;
/// The limit for a server, whose connection has streams of other clients.
const MAX_LISTS_OF_SERVER: usize = 64;

/// Interim responses held for a stream until they are read.
const MAX_INTERIM_RESPONSES: usize = 16;

/// Turns the acceptance of an extended CONNECT into that of an HTTP/1 upgrade, which needs more
/// fields.
fn accept_upgrade(head: &mut Head, upgrade: &PendingUpgrade) {
    head.set_status(101);
    head.remove_id(HeaderId::ContentLength);
    head.push(b"connection", b"upgrade");
    head.set(b"upgrade", &upgrade.protocol);
    if let Some(accept) = &upgrade.accept {
        head.set(b"sec-websocket-accept", accept);
    }
}
