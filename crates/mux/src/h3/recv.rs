//! Bytes from the peer: frames of request streams, and the payload of DATA.

use super::conn::{H3Conn, H3Error};
use super::send::Abort;
use super::stream::{FramePhase, H3RecvPhase, H3Reset, RequestStream};
use crate::{BodyStep, Eof, Ready, StreamGone};
use htx::Fields;
use stdx::Key;
use wire::h3::{H3ErrorCode, H3FrameHeader, H3FrameType};

/// Bytes of unread payload beyond which a stream is not read any more.
pub(super) const INBOX: usize = 16 * 1024;

/// Idle frames that a complete request gives back.
pub(super) const REWARD: u32 = 10;

/// Whether a stream number is one of a unidirectional stream.
fn is_unidirectional(id: u64) -> bool {
    id & 2 != 0
}

impl H3Conn {
    // ---- for the transport

    /// Handles a request stream that the peer has opened. Numbers ascend.
    pub fn open_request(&mut self, id: u64) {
        if self.broken.is_some() {
            return;
        }
        if self.go_away.last_stream().is_some_and(|first| id >= first) {
            let code = H3ErrorCode::REQUEST_REJECTED;
            self.counters.resets_sent += 1;
            return self.aborts.push_back(Abort { stream: id, code, sends: true, receives: true });
        }
        self.next_request = self.next_request.max(id + 4);
        self.requests.insert(RequestStream::new(id));
        self.accepted = self.accepted.saturating_add(1);
        if self.accepted == self.settings.max_total_streams {
            self.begin_shutdown();
        }
    }

    /// Bytes of a stream that are taken now. After 0, [`H3Conn::poll_resume`] names the stream when
    /// there is room again.
    pub fn room(&mut self, id: u64) -> usize {
        if is_unidirectional(id) {
            return INBOX;
        }
        let key = self.requests.find(id);
        let Some(stream) = key.and_then(|key| self.requests.get_mut(key)) else { return INBOX };
        let full = stream.is_blocked || stream.unread().len() >= INBOX;
        stream.is_paused = full && stream.reset.is_none();
        if stream.is_paused { 0 } else { INBOX }
    }

    /// Takes a stream to read on.
    pub fn poll_resume(&mut self) -> Option<u64> {
        self.resumed.pop_front()
    }

    /// Handles the next bytes of a stream, at most as many as it has room for.
    ///
    /// # Errors
    /// The peer has broken the protocol: the connection is over.
    pub fn receive(&mut self, id: u64, bytes: &[u8]) -> Result<(), H3Error> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        if is_unidirectional(id) {
            return self.receive_control(id, bytes);
        }
        let Some(key) = self.requests.find(id) else { return Ok(()) };
        let Some(stream) = self.requests.get_mut(key) else { return Ok(()) };
        if stream.reset.is_some() || stream.is_stopped {
            return Ok(());
        }
        if stream.held.is_empty() && !stream.is_blocked {
            let taken = self.take(key, bytes)?;
            return self.hold(key, &bytes[taken..]);
        }
        stream.held.extend_from_slice(bytes);
        self.take_held(key)
    }

    /// Handles the end of a stream.
    ///
    /// # Errors
    /// The peer has broken the protocol: the connection is over.
    pub fn finish(&mut self, id: u64) -> Result<(), H3Error> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        if is_unidirectional(id) {
            return self.end_control(id);
        }
        let Some(key) = self.requests.find(id) else { return Ok(()) };
        if let Some(stream) = self.requests.get_mut(key) {
            stream.has_end = true;
        }
        self.end_if_blocked_no_more(key)
    }

    /// Handles a reset of a stream by the peer.
    ///
    /// # Errors
    /// The stream must stay open: the connection is over.
    pub fn receive_reset(&mut self, id: u64) -> Result<(), H3Error> {
        if is_unidirectional(id) {
            return self.end_control(id);
        }
        let Some(key) = self.requests.find(id) else { return Ok(()) };
        if let Some(stream) = self.requests.get_mut(key) {
            stream.has_end = true;
        }
        self.cancelled_by_peer(key)
    }

    /// Handles the peer's demand to send no more on a stream.
    ///
    /// # Errors
    /// The stream must stay open: the connection is over.
    pub fn receive_stop(&mut self, id: u64) -> Result<(), H3Error> {
        if is_unidirectional(id) {
            return Err(self.fail(H3ErrorCode::CLOSED_CRITICAL_STREAM, "stop of a critical stream"));
        }
        match self.requests.find(id) {
            Some(key) => self.cancelled_by_peer(key),
            None => Ok(()),
        }
    }

    fn cancelled_by_peer(&mut self, key: Key) -> Result<(), H3Error> {
        let Some(stream) = self.requests.get_mut(key) else { return Ok(()) };
        let (stream, receives) = (stream.id, !(stream.has_end || stream.is_stopped));
        let code = H3ErrorCode::REQUEST_CANCELLED;
        self.aborts.push_back(Abort { stream, code, sends: true, receives });
        self.counters.resets += 1;
        self.end_request(key, H3Reset { code, by_peer: true });
        self.count_idle_frame()
    }

    /// Marks a request as reset; one that no transaction has seen is forgotten.
    fn end_request(&mut self, key: Key, reset: H3Reset) {
        let unseen = self.requests.get(key).is_some_and(|it| it.recv == H3RecvPhase::Head);
        self.mark_reset(key, reset);
        match unseen {
            true => self.release(key),
            false => self.forget_if_done(key),
        }
    }

    // ---- frames

    /// Handles held bytes, with those behind a section that was blocked.
    pub(super) fn take_held(&mut self, key: Key) -> Result<(), H3Error> {
        let Some(stream) = self.requests.get_mut(key) else { return Ok(()) };
        if stream.is_blocked {
            return Ok(());
        }
        let mut held = std::mem::take(&mut stream.held);
        let taken = self.take(key, &held)?;
        held.drain(..taken);
        if let Some(stream) = self.requests.get_mut(key).filter(|it| it.reset.is_none()) {
            stream.held = held;
        }
        Ok(())
    }

    fn hold(&mut self, key: Key, rest: &[u8]) -> Result<(), H3Error> {
        if !rest.is_empty()
            && let Some(stream) = self.requests.get_mut(key)
        {
            stream.held.extend_from_slice(rest);
        }
        Ok(())
    }

    /// Handles frames; returns how many bytes are handled. The rest is an incomplete frame, or
    /// follows a blocked section.
    fn take(&mut self, key: Key, input: &[u8]) -> Result<usize, H3Error> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let Some(stream) = self.requests.get_mut(key) else { return Ok(input.len()) };
            if stream.reset.is_some() {
                return Ok(input.len());
            }
            match stream.frame {
                FramePhase::Header => {
                    let Some((header, size)) = H3FrameHeader::decode(rest) else { return Ok(at) };
                    at += size;
                    self.begin_frame(key, header)?;
                }
                FramePhase::Data(left) | FramePhase::Skip(left) => {
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    if count == 0 {
                        return Ok(at);
                    }
                    let is_data = matches!(stream.frame, FramePhase::Data(_));
                    stream.frame = match (left - count as u64, is_data) {
                        (0, _) => FramePhase::Header,
                        (left, true) => FramePhase::Data(left),
                        (left, false) => FramePhase::Skip(left),
                    };
                    at += count;
                    if is_data {
                        self.payload(key, &rest[..count]);
                    }
                }
                FramePhase::Section(len) => {
                    let Some(section) = rest.get(..len as usize) else { return Ok(at) };
                    if !self.section(key, section)? {
                        return Ok(at);
                    }
                    at += section.len();
                }
            }
        }
    }

    fn begin_frame(&mut self, key: Key, header: H3FrameHeader) -> Result<(), H3Error> {
        let Some(stream) = self.requests.get_mut(key) else { return Ok(()) };
        let (recv, connect) = (stream.recv, stream.connect);
        let unexpected = match header.kind {
            H3FrameType::DATA => matches!(recv, H3RecvPhase::Head | H3RecvPhase::Trailers),
            H3FrameType::HEADERS => recv == H3RecvPhase::Trailers || connect,
            kind => kind.is_known() || kind.is_of_h2(),
        };
        if unexpected {
            let reason = "frame that a request stream does not have there";
            return Err(self.fail(H3ErrorCode::FRAME_UNEXPECTED, reason));
        }
        match header.kind {
            H3FrameType::DATA => {
                self.counters.data += 1;
                self.set_frame(key, FramePhase::Data(header.len));
            }
            H3FrameType::HEADERS => {
                self.counters.headers += 1;
                return self.begin_section(key, header.len);
            }
            _ => self.set_frame(key, FramePhase::Skip(header.len)),
        }
        if header.kind != H3FrameType::DATA || header.len == 0 {
            self.count_idle_frame()?;
        }
        Ok(())
    }

    pub(super) fn set_frame(&mut self, key: Key, frame: FramePhase) {
        if let Some(stream) = self.requests.get_mut(key) {
            stream.frame = match frame {
                FramePhase::Data(0) | FramePhase::Skip(0) => FramePhase::Header,
                frame => frame,
            };
        }
    }

    fn payload(&mut self, key: Key, bytes: &[u8]) {
        let Some(stream) = self.requests.get_mut(key) else { return };
        if stream.is_released || stream.is_stopped {
            return;
        }
        let length = stream.length.map(|left| left.checked_sub(bytes.len() as u64));
        if length == Some(None) {
            return self.stream_error(key, H3ErrorCode::MESSAGE_ERROR);
        }
        stream.length = length.flatten();
        stream.inbox.extend_from_slice(bytes);
        self.wake(key, Ready::READ);
    }

    pub(super) fn end_if_blocked_no_more(&mut self, key: Key) -> Result<(), H3Error> {
        let Some(stream) = self.requests.get_mut(key) else { return Ok(()) };
        if !stream.has_end || stream.is_blocked || stream.reset.is_some() || stream.is_stopped {
            return Ok(());
        }
        if stream.frame != FramePhase::Header || !stream.held.is_empty() {
            return Err(self.fail(H3ErrorCode::FRAME_ERROR, "stream that ends in a frame"));
        }
        if stream.recv == H3RecvPhase::Head {
            self.stream_error(key, H3ErrorCode::REQUEST_INCOMPLETE);
        } else if stream.length.is_some_and(|left| left > 0) {
            self.stream_error(key, H3ErrorCode::MESSAGE_ERROR);
        } else {
            stream.recv = H3RecvPhase::Ended;
            self.wake(key, Ready::READ);
        }
        Ok(())
    }

    /// Resets a stream for an error of the peer.
    pub(super) fn stream_error(&mut self, key: Key, code: H3ErrorCode) {
        let unseen = self.requests.get(key).is_some_and(|it| it.recv == H3RecvPhase::Head);
        self.counters.stream_errors += 1;
        self.count_glitch();
        self.reset(key, code);
        if unseen {
            self.counters.refused += 1;
            self.release(key);
        }
    }

    /// Counts a frame that does nothing.
    pub(super) fn count_idle_frame(&mut self) -> Result<(), H3Error> {
        self.idle_frames += 1;
        if self.idle_frames > self.settings.max_idle_frames {
            return Err(self.fail(H3ErrorCode::EXCESSIVE_LOAD, "too many frames without effect"));
        }
        Ok(())
    }

    // ---- for the stream's user

    /// Moves received payload into `buffer`; `None` when there is none now, 0 at the end of the
    /// message.
    ///
    /// # Errors
    /// The stream was reset, and its payload was dropped.
    pub fn read(&mut self, key: Key, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        let stream = self.requests.get_mut(key).ok_or(StreamGone)?;
        let count = stream.unread().len().min(buffer.len());
        if count == 0 {
            return match (stream.reset, stream.recv) {
                (Some(reset), _) if reset.code != H3ErrorCode::NO_ERROR => Err(StreamGone),
                (Some(_), _) | (None, H3RecvPhase::Ended) => Ok(Some(0)),
                (None, _) => Ok(None),
            };
        }
        buffer[..count].copy_from_slice(&stream.unread()[..count]);
        stream.taken += count;
        if stream.taken == stream.inbox.len() {
            stream.taken = 0;
            stream.inbox.clear();
        } else if stream.taken > stream.inbox.len() / 2 {
            // The rest moves to the front, so that the inbox does not outgrow its bound.
            stream.inbox.drain(..stream.taken);
            stream.taken = 0;
        }
        if stream.is_paused && stream.unread().len() < INBOX {
            stream.is_paused = false;
            let id = stream.id;
            self.resumed.push_back(id);
        }
        Ok(Some(count))
    }

    /// The payload at the front of bytes read from a stream: all of them, except before a CONNECT
    /// is accepted. Trailers come with the end.
    pub fn handle_body(&mut self, key: Key, input: &[u8], trailers: &mut Fields) -> BodyStep {
        let mut step = BodyStep { skip: 0, data: input.len(), done: true };
        let Some(stream) = self.requests.get_mut(key) else { return step };
        if stream.connect && !stream.is_tunnel {
            // Bytes after a CONNECT belong to no message: they stay in place until the request is
            // accepted.
            return BodyStep { data: 0, ..step };
        }
        stream.received += input.len() as u64;
        step.done = stream.recv == H3RecvPhase::Ended && stream.unread().is_empty();
        if step.done
            && let Some(section) = stream.trailers.take()
        {
            section.iter().for_each(|field| trailers.push(field.name, field.value));
        }
        step
    }

    /// The meaning of the end of a stream that [`H3Conn::read`] has returned.
    pub fn end_of(&self, key: Key) -> Eof {
        match self.requests.get(key) {
            Some(stream) if stream.recv == H3RecvPhase::Ended => Eof::MessageEnd,
            _ => Eof::Truncated,
        }
    }
}
