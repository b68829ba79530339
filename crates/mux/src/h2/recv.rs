//! Bytes from the peer: frames, and the payload of DATA, which goes to its stream as it arrives.

use super::conn::{ConnectionError, H2Conn, InputState};
use super::flood::cost;
use super::squeeze::Squeeze;
use super::stream::{RecvPhase as StreamRecv, Reset};
use crate::{BodyStep, Eof, Ready, Side};
use htx::Fields;
use stdx::Key;
use wire::h2::frame::{self, ACK, END_STREAM, HEADER_LEN, PADDED};
use wire::h2::{ErrorCode, FrameHeader, FrameType, PREFACE, encode};

/// SETTINGS_ENABLE_PUSH = 1, which servers must not send (RFC 9113 section 6.5.2).
const ENABLE_PUSH: [u8; 6] = [0, 2, 0, 0, 0, 1];

impl H2Conn {
    /// Handles bytes from the peer; returns how many of them to drop. The rest has to be passed
    /// again with the bytes after it, or when [`H2Conn::takes_input`] holds again. `now_ms` is any
    /// clock in milliseconds.
    ///
    /// # Errors
    /// The peer broke the protocol, or has no points left. The output has the GOAWAY, and all
    /// streams are over.
    pub fn handle_input(&mut self, input: &[u8], now_ms: u64) -> Result<usize, ConnectionError> {
        self.budget.refill(now_ms);
        self.credit.advance(now_ms);
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        let mut at = 0;
        while self.takes_input() && !self.turn_limit_reached() {
            let taken = self.take(&input[at..])?;
            at += taken;
            if taken == 0 {
                break;
            }
        }
        self.return_window();
        self.begin_squeeze();
        Ok(at)
    }

    /// Handles one element of the input; 0 when more bytes are needed.
    fn take(&mut self, input: &[u8]) -> Result<usize, ConnectionError> {
        match self.recv {
            InputState::Preface(at) => self.preface(at, input),
            InputState::Frame => self.begin_frame(input),
            InputState::Payload(header) => self.collect_payload(header, input),
            InputState::Data { key, left, padding, end } => {
                self.take_data(key, left, padding, end, input)
            }
            InputState::Closed => Ok(0),
        }
    }

    fn preface(&mut self, at: u8, input: &[u8]) -> Result<usize, ConnectionError> {
        let expected = &PREFACE[usize::from(at)..];
        let count = expected.len().min(input.len());
        if input[..count] != expected[..count] {
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, "not the preface of HTTP/2"));
        }
        self.recv = match count == expected.len() {
            true => InputState::Frame,
            false => InputState::Preface(at + count as u8),
        };
        Ok(count)
    }

    fn begin_frame(&mut self, input: &[u8]) -> Result<usize, ConnectionError> {
        let Some(header) = FrameHeader::parse(input) else { return Ok(0) };
        self.check_frame(&header)?;
        self.turn.note(header.kind == FrameType::RstStream);
        let rest = &input[HEADER_LEN..];
        if header.kind == FrameType::Data {
            return self.begin_data(header, rest).map(|taken| taken.map_or(0, |n| n + HEADER_LEN));
        }
        match rest.get(..header.len as usize) {
            Some(payload) => {
                self.frame(header, payload)?;
                Ok(HEADER_LEN + payload.len())
            }
            None => {
                self.recv = InputState::Payload(header);
                Ok(HEADER_LEN)
            }
        }
    }

    fn check_frame(&mut self, header: &FrameHeader) -> Result<(), ConnectionError> {
        if !self.has_peer_settings && (header.kind != FrameType::Settings || header.has(ACK)) {
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, "SETTINGS do not come first"));
        }
        if let Err(code) = header.check(self.settings.announced.max_frame_size) {
            return Err(self.fail(code, "a frame of the wrong size or place"));
        }
        let continues = |stream| header.kind == FrameType::Continuation && header.stream == stream;
        match self.block {
            Some(block) if !continues(block.stream) => {
                Err(self.fail(ErrorCode::PROTOCOL_ERROR, "a header block was interrupted"))
            }
            None if header.kind == FrameType::Continuation => {
                Err(self.fail(ErrorCode::PROTOCOL_ERROR, "CONTINUATION of nothing"))
            }
            _ => Ok(()),
        }
    }

    /// Collects the payload of an incomplete frame; at most one frame is kept.
    fn collect_payload(
        &mut self,
        header: FrameHeader,
        input: &[u8],
    ) -> Result<usize, ConnectionError> {
        let missing = header.len as usize - self.partial.len();
        let count = missing.min(input.len());
        self.partial.extend_from_slice(&input[..count]);
        if count == missing {
            let mut payload = std::mem::take(&mut self.partial);
            self.recv = InputState::Frame;
            let result = self.frame(header, &payload);
            payload.clear();
            self.partial = payload;
            result?;
        }
        Ok(count)
    }

    /// Handles a whole frame other than DATA.
    fn frame(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        match header.kind {
            FrameType::Headers => self.headers_frame(header, payload),
            FrameType::Continuation => self.continuation(header, payload),
            FrameType::Settings => self.settings_frame(header, payload),
            FrameType::WindowUpdate => self.window_frame(header, payload),
            FrameType::RstStream => self.reset_frame(header, payload),
            FrameType::GoAway => self.go_away_frame(payload),
            FrameType::Priority => self.priority_frame(header, payload),
            FrameType::Ping if header.has(ACK) && self.ends_announcement(payload) => {
                self.finish_shutdown();
                Ok(())
            }
            FrameType::Ping => {
                self.charge_free(cost::PING)?;
                if !header.has(ACK) {
                    encode::ping_ack(payload, &mut self.out);
                }
                Ok(())
            }
            // Push was disabled by our SETTINGS, and clients cannot push (RFC 9113 section 8.4).
            FrameType::PushPromise => Err(self.fail(ErrorCode::PROTOCOL_ERROR, "PUSH_PROMISE")),
            FrameType::Unknown(_) | FrameType::Data => self.charge(cost::IGNORED),
        }
    }

    fn settings_frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<(), ConnectionError> {
        self.counters.settings += 1;
        if header.has(ACK) {
            return self.settings_acknowledged();
        }
        if self.has_peer_settings {
            self.charge(cost::SETTINGS)?;
        }
        self.has_peer_settings = true;
        self.woken.append(&mut self.awaiting_settings);
        if self.side == Side::Server && payload.as_chunks().0.contains(&ENABLE_PUSH) {
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, "a server that says it takes pushes"));
        }
        let before = self.peer.initial_window_size;
        if let Err(code) = self.peer.apply(payload) {
            return Err(self.fail(code, "invalid SETTINGS"));
        }
        self.shift_windows(i64::from(self.peer.initial_window_size) - i64::from(before))?;
        if self.peer.header_table_size < self.table_size {
            // Our encoder uses no table, but a reduced size must be acknowledged (RFC 7541 section
            // 4.2).
            self.table_size = self.peer.header_table_size;
            self.announces_table_size = true;
        }
        encode::settings_ack(&mut self.out);
        Ok(())
    }

    fn settings_acknowledged(&mut self) -> Result<(), ConnectionError> {
        let expected = self.unacknowledged > 0;
        self.unacknowledged = self.unacknowledged.saturating_sub(1);
        self.apply_own_window();
        self.finish_squeeze();
        if expected { Ok(()) } else { self.charge(cost::IGNORED) }
    }

    fn window_frame(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        let increment = frame::number31(payload);
        if header.stream == 0 {
            return self.window_update(increment);
        }
        self.refuse_idle(header.stream)?;
        match self.streams.find(header.stream) {
            Some(key) => self.stream_window_update(key, increment),
            None => self.charge(cost::IGNORED),
        }
    }

    fn reset_frame(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        self.counters.resets += 1;
        self.refuse_idle(header.stream)?;
        let Some(key) = self.streams.find(header.stream) else {
            return self.charge(cost::IGNORED);
        };
        let complete = self.has_sent_all(key) || self.is_reset(key);
        let early = self.streams.get(key).is_some_and(|stream| !stream.heads.is_empty());
        let code = ErrorCode(frame::number(payload));
        self.mark_reset(key, Reset { code, by_peer: true });
        match self.side {
            Side::Client if complete => Ok(()),
            Side::Client if early => self.glitch(cost::EARLY_RESET),
            Side::Client if !self.budget.spend_cancel() => self.end_for_flood(),
            _ => Ok(()),
        }
    }

    fn go_away_frame(&mut self, payload: &[u8]) -> Result<(), ConnectionError> {
        self.counters.go_aways += 1;
        let last = frame::number31(payload);
        self.peer_last_stream = Some(last);
        if self.side == Side::Server {
            // Streams above it were not processed and may be sent again (RFC 9113 section 6.8).
            let above = self.streams.keys_where(|stream| stream.id > last);
            let reset = Reset { code: ErrorCode::REFUSED_STREAM, by_peer: true };
            above.into_iter().for_each(|key| self.mark_reset(key, reset));
        }
        self.charge(cost::IGNORED)
    }

    /// Priorities are ignored (RFC 9113 section 5.3.2), but a stream must not depend on itself.
    fn priority_frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<(), ConnectionError> {
        self.charge(cost::IGNORED)?;
        if payload.len() != 5 {
            return self.error_on(header.stream, ErrorCode::FRAME_SIZE_ERROR);
        }
        if frame::number31(payload) == header.stream {
            return self.error_on(header.stream, ErrorCode::PROTOCOL_ERROR);
        }
        Ok(())
    }

    /// Whether a stream was never opened.
    pub(super) fn is_idle(&self, stream: u32) -> bool {
        let ours = stream % 2 == 1;
        match (self.side, ours) {
            (Side::Client, true) => stream > self.highest_peer,
            (Side::Server, true) => stream >= self.next_own,
            // Servers cannot open streams on either side.
            (_, false) => true,
        }
    }

    fn refuse_idle(&mut self, stream: u32) -> Result<(), ConnectionError> {
        match self.is_idle(stream) {
            true => Err(self.fail(ErrorCode::PROTOCOL_ERROR, "a frame on an idle stream")),
            false => Ok(()),
        }
    }

    // ---- errors

    /// Charges points; see [`super::flood`].
    pub(super) fn charge(&mut self, points: u32) -> Result<(), ConnectionError> {
        match self.budget.spend(points) {
            true => Ok(()),
            false => self.end_for_flood(),
        }
    }

    /// Counts a glitch, against the threshold if there is one, otherwise by points.
    pub(super) fn glitch(&mut self, points: u32) -> Result<(), ConnectionError> {
        self.count_glitch();
        match self.settings.glitches_threshold {
            None => self.charge(points),
            Some(limit) if limit > 0 && self.glitches >= limit => self.end_for_flood(),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn count_glitch(&mut self) {
        self.counters.glitches += 1;
        self.glitches = self.glitches.saturating_add(1);
    }

    /// Ends the connection for a flood, unless the process tolerates floods for now.
    fn end_for_flood(&mut self) -> Result<(), ConnectionError> {
        match self.tolerates_floods {
            true => Ok(()),
            false => Err(self.fail(ErrorCode::ENHANCE_YOUR_CALM, "too much nonsense")),
        }
    }

    /// Charges points, free ones first.
    pub(super) fn charge_free(&mut self, points: u32) -> Result<(), ConnectionError> {
        match self.budget.spend_free(points) {
            true => Ok(()),
            false => self.charge(points),
        }
    }

    /// Counts a glitch unless free points cover it.
    pub(super) fn glitch_free(&mut self, points: u32) -> Result<(), ConnectionError> {
        match self.budget.spend_free(points) {
            true => Ok(()),
            false => self.glitch(points),
        }
    }

    /// Resets a stream for a protocol error of the peer, also one that the peer has reset itself.
    pub(super) fn stream_error(
        &mut self,
        key: Key,
        code: ErrorCode,
    ) -> Result<(), ConnectionError> {
        self.counters.stream_errors += 1;
        let over = self.streams.get(key).filter(|it| it.reset.is_some_and(|reset| reset.by_peer));
        match over.map(|stream| stream.id) {
            Some(id) => self.send_reset(id, code),
            None => self.reset(key, code),
        }
        self.glitch(cost::STREAM_ERROR)
    }

    /// The same for a stream that may be closed or was not opened.
    pub(super) fn error_on(&mut self, stream: u32, code: ErrorCode) -> Result<(), ConnectionError> {
        if let Some(key) = self.streams.find(stream) {
            return self.stream_error(key, code);
        }
        self.counters.stream_errors += 1;
        // A stream that is refused because of the limit may be tried again.
        self.counters.refused += u32::from(code != ErrorCode::REFUSED_STREAM);
        self.send_reset(stream, code);
        self.glitch(cost::STREAM_ERROR)
    }

    // ---- DATA

    /// Begins a DATA frame; `None` when its first payload byte is needed as well.
    fn begin_data(
        &mut self,
        header: FrameHeader,
        rest: &[u8],
    ) -> Result<Option<usize>, ConnectionError> {
        let padded = header.has(PADDED);
        let padding = match (padded, rest.first()) {
            (true, None) => return Ok(None),
            (true, Some(count)) => u32::from(*count) + 1,
            (false, _) => 0,
        };
        if padding > header.len {
            let code = if header.len == 0 {
                ErrorCode::FRAME_SIZE_ERROR
            } else {
                ErrorCode::PROTOCOL_ERROR
            };
            return Err(self.fail(code, "padding longer than its frame"));
        }
        self.counters.data += 1;
        self.refuse_idle(header.stream)?;
        if !self.credit.receive(header.len) {
            return Err(self.fail(ErrorCode::FLOW_CONTROL_ERROR, "more than the window allows"));
        }
        let payload = header.len - padding;
        let end = header.has(END_STREAM);
        if payload == 0 && !end {
            self.glitch(cost::EMPTY)?;
        }
        let key = self.find_for_data(header, payload)?;
        if payload > 0 && key != Key::NONE {
            self.budget.note_payload();
        }
        // While streams are squeezed, a stream that is not read gets no window, not even for
        // padding.
        if padding > 0 && self.squeeze != Squeeze::Narrow {
            self.return_stream_window(key);
        }
        let after = padding.saturating_sub(1);
        self.recv = InputState::Data { key, left: payload, padding: after, end };
        self.end_of_data(key, payload, after, end)?;
        Ok(Some(usize::from(padded)))
    }

    /// The stream that payload belongs to; [`Key::NONE`] if the payload is to be dropped.
    fn find_for_data(&mut self, header: FrameHeader, payload: u32) -> Result<Key, ConnectionError> {
        let Some(key) = self.streams.find(header.stream) else {
            return match self.streams.was_reset(header.stream) {
                // The frame was sent before the peer knew of the reset.
                Some(true) => Ok(Key::NONE),
                _ => Err(self.fail(ErrorCode::STREAM_CLOSED, "DATA on a closed stream")),
            };
        };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(Key::NONE) };
        if stream.reset.is_some_and(|reset| !reset.by_peer) {
            return Ok(Key::NONE);
        }
        stream.recv_window -= i64::from(header.len);
        let wrong = if stream.recv == StreamRecv::Ended || stream.reset.is_some() {
            Some(ErrorCode::STREAM_CLOSED)
        } else if header.len > 0 && stream.recv_window < 0 {
            Some(ErrorCode::FLOW_CONTROL_ERROR)
        } else if stream.recv == StreamRecv::Head {
            Some(ErrorCode::PROTOCOL_ERROR)
        } else {
            let length = stream.length.map(|left| left.checked_sub(u64::from(payload)));
            let exceeds = length == Some(None);
            stream.length = length.flatten();
            exceeds.then_some(ErrorCode::PROTOCOL_ERROR)
        };
        match wrong {
            Some(code) => self.stream_error(key, code).map(|()| Key::NONE),
            None => Ok(key),
        }
    }

    fn take_data(
        &mut self,
        key: Key,
        left: u32,
        padding: u32,
        end: bool,
        input: &[u8],
    ) -> Result<usize, ConnectionError> {
        let count = input.len().min(if left > 0 { left } else { padding } as usize);
        if count == 0 {
            // No byte has come, so no stream is woken.
            return Ok(0);
        }
        if left == 0 {
            self.recv = InputState::Data { key, left, padding: padding - count as u32, end };
            return self.end_of_data(key, 0, padding - count as u32, end).map(|()| count);
        }
        let left = left - count as u32;
        self.recv = InputState::Data { key, left, padding, end };
        match self.streams.get_mut(key).filter(|stream| stream.reset.is_none()) {
            Some(stream) => {
                if stream.inbox.capacity() == 0 {
                    stream.inbox = self.spares.take_inbox(count);
                }
                stream.inbox.extend_from_slice(&input[..count]);
                self.credit.hold(count);
                self.wake(key, Ready::READ);
            }
            None => self.return_window(),
        }
        self.end_of_data(key, left, padding, end)?;
        Ok(count)
    }

    /// Ends the DATA frame if it is complete.
    fn end_of_data(
        &mut self,
        key: Key,
        left: u32,
        padding: u32,
        end: bool,
    ) -> Result<(), ConnectionError> {
        if left > 0 || padding > 0 {
            return Ok(());
        }
        self.recv = InputState::Frame;
        if end { self.end_received(key) } else { Ok(()) }
    }

    /// Handles the end of the peer's message on a stream.
    pub(super) fn end_received(&mut self, key: Key) -> Result<(), ConnectionError> {
        let Some(stream) = self.streams.get_mut(key) else { return Ok(()) };
        if stream.reset.is_some() {
            return Ok(());
        }
        if stream.length.is_some_and(|left| left > 0) {
            return self.stream_error(key, ErrorCode::PROTOCOL_ERROR);
        }
        stream.recv = StreamRecv::Ended;
        if stream.is_closed() {
            self.streams.uncount(key);
        }
        self.wake(key, Ready::READ);
        Ok(())
    }

    // ---- for the stream's user

    /// Moves received payload into `buffer`; `None` when there is none now, 0 at the end of the
    /// message.
    ///
    /// # Errors
    /// The stream was reset, and its payload was dropped.
    pub fn read(
        &mut self,
        key: Key,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, super::StreamGone> {
        let stream = self.streams.get_mut(key).ok_or(super::StreamGone)?;
        let count = stream.unread().len().min(buffer.len());
        if count == 0 {
            return match (stream.reset, stream.recv) {
                (Some(reset), _) if reset.code != ErrorCode::NO_ERROR => Err(super::StreamGone),
                (Some(_), _) | (None, StreamRecv::Ended) => Ok(Some(0)),
                (None, _) => Ok(None),
            };
        }
        buffer[..count].copy_from_slice(&stream.unread()[..count]);
        stream.taken += count;
        if stream.taken == stream.inbox.len() {
            stream.taken = 0;
            self.spares.give_inbox(std::mem::take(&mut stream.inbox));
        } else if stream.taken > stream.inbox.len() / 2 {
            // The rest moves to the front, so that the inbox does not outgrow the window.
            stream.inbox.drain(..stream.taken);
            stream.taken = 0;
        }
        self.credit.read(count);
        self.end_squeeze();
        self.return_stream_window(key);
        Ok(Some(count))
    }

    /// The payload at the front of bytes read from a stream: all of them, except before a CONNECT
    /// is accepted. Trailers come with the end.
    pub fn handle_body(&mut self, key: Key, input: &[u8], trailers: &mut Fields) -> BodyStep {
        let mut step = BodyStep { skip: 0, data: input.len(), done: true };
        let Some(stream) = self.streams.get_mut(key) else { return step };
        if stream.connect && !stream.is_tunnel && self.side == Side::Client {
            // Bytes after a CONNECT belong to no message: they stay in place until the request is
            // accepted.
            return BodyStep { data: 0, ..step };
        }
        stream.received += input.len() as u64;
        step.done = stream.recv == StreamRecv::Ended && stream.unread().is_empty();
        if step.done
            && let Some(section) = stream.trailers.take()
        {
            section.iter().for_each(|field| trailers.push(field.name, field.value));
        }
        step
    }

    /// The meaning of the end of a stream that [`H2Conn::read`] has returned.
    pub fn end_of(&self, key: Key) -> Eof {
        match self.streams.get(key) {
            Some(stream) if stream.recv == StreamRecv::Ended => Eof::MessageEnd,
            _ => Eof::Truncated,
        }
    }
}
