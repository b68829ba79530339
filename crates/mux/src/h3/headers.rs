//! Field sections: requests and trailers.

use super::conn::{H3Conn, H3Error};
use super::send::Target;
use super::stream::{FramePhase, H3RecvPhase};
use crate::websocket_upgrade::{expected_accept, websocket_key};
use crate::{BodyKind, Fault, HeadStep, MessageError, Ready};
use htx::{Fields, Head, Method};
use stdx::Key;
use wire::h2::MalformedMessage;
use wire::h2::request::RequestInfo;
use wire::h2::trailers::TrailersReader;
use wire::h3::H3ErrorCode;
use wire::h3::qpack::{SectionError, SectionPrefix};
use wire::trailer_rules;

/// Header lists of the largest size that a section may decode to. A list slightly too large is
/// refused with its request; no honest client needs more.
const MAX_LISTS: usize = 4;

impl H3Conn {
    /// Begins the field section of a HEADERS frame; one that is far too large is skipped.
    pub(super) fn begin_section(&mut self, key: Key, len: u64) -> Result<(), H3Error> {
        if len <= 2 * u64::from(self.settings.list.bytes) {
            self.set_frame(key, FramePhase::Section(len));
            return Ok(());
        }
        self.set_frame(key, FramePhase::Skip(len));
        self.refuse_section(key)
    }

    /// Refuses a section that is too large, with its request.
    fn refuse_section(&mut self, key: Key) -> Result<(), H3Error> {
        let Some(stream) = self.requests.get(key) else { return Ok(()) };
        let (id, recv) = (stream.id, stream.recv);
        self.cancel_section(id);
        self.count_glitch();
        match recv {
            H3RecvPhase::Head => self.refuse_request(key, 400, "header list too large"),
            _ => self.stream_error(key, H3ErrorCode::EXCESSIVE_LOAD),
        }
        Ok(())
    }

    /// Reports that a section will not be decoded.
    pub(super) fn cancel_section(&mut self, id: u64) {
        if self.settings.announced.qpack_max_table_capacity > 0 {
            let mut instruction = Vec::new();
            self.decoder.cancel(id, &mut instruction);
            self.write_own(Target::Decoder, |out| out.extend_from_slice(&instruction));
        }
    }

    /// Handles a whole field section. `false`: it waits for the peer's encoder stream.
    pub(super) fn section(&mut self, key: Key, section: &[u8]) -> Result<bool, H3Error> {
        let Some(stream) = self.requests.get(key) else { return Ok(true) };
        let decoded = match stream.recv {
            H3RecvPhase::Head => self.request_section(key, section),
            _ => self.trailers_section(key, section),
        };
        match decoded {
            Ok(prefix) => self.acknowledge(key, prefix),
            Err(SectionError::Blocked) => return self.block(key),
            Err(SectionError::TooLarge) => self.refuse_section(key)?,
            Err(SectionError::Broken) => {
                let reason = "field section that cannot be decoded";
                return Err(self.fail(H3ErrorCode::QPACK_DECOMPRESSION_FAILED, reason));
            }
        }
        self.set_frame(key, FramePhase::Header);
        Ok(true)
    }

    fn acknowledge(&mut self, key: Key, prefix: SectionPrefix) {
        if prefix.required > 0 {
            let id = self.id(key);
            let mut instruction = Vec::new();
            self.decoder.acknowledge(prefix, id, &mut instruction);
            self.write_own(Target::Decoder, |out| out.extend_from_slice(&instruction));
        }
    }

    /// Lets a section wait, within the limit that was announced.
    fn block(&mut self, key: Key) -> Result<bool, H3Error> {
        if self.blocked >= self.settings.announced.qpack_blocked_streams {
            let reason = "too many blocked field sections";
            return Err(self.fail(H3ErrorCode::QPACK_DECOMPRESSION_FAILED, reason));
        }
        if let Some(stream) = self.requests.get_mut(key) {
            stream.is_blocked = true;
            self.blocked += 1;
            self.counters.blocked_sections += 1;
        }
        Ok(false)
    }

    /// Handles blocked sections again, because entries have arrived.
    pub(super) fn unblock(&mut self) -> Result<(), H3Error> {
        for key in self.requests.keys_where(|stream| stream.is_blocked) {
            let Some(stream) = self.requests.get_mut(key) else { continue };
            stream.is_blocked = false;
            self.blocked -= 1;
            // The block may wait for the table again, and is then counted again.
            self.take_held(key)?;
            self.end_if_blocked_no_more(key)?;
            if let Some(stream) = self.requests.get_mut(key)
                && !stream.is_blocked
                && std::mem::take(&mut stream.is_paused)
            {
                let id = stream.id;
                self.resumed.push_back(id);
            }
        }
        Ok(())
    }

    fn request_section(&mut self, key: Key, section: &[u8]) -> Result<SectionPrefix, SectionError> {
        let mut head = self.spares.pop().unwrap_or_default();
        self.reader.begin(self.settings.list);
        let (reader, most) = (&mut self.reader, MAX_LISTS * self.settings.list.bytes as usize);
        let decoded = self.decoder.decode_within(section, most, |name, value| {
            reader.field(name, value, &mut head);
        });
        if decoded.is_err() {
            self.give_head(head);
            return decoded;
        }
        let seed = &mut self.seed;
        match self.reader.finish(&mut head, || websocket_key(seed)) {
            Ok(info) if head.host().is_some() || head.scheme().is_none_or(needs_no_host) => {
                self.receive_request(key, head, info);
            }
            Ok(_) | Err(MalformedMessage::Stream(_)) => {
                self.give_head(head);
                self.stream_error(key, H3ErrorCode::MESSAGE_ERROR);
            }
            Err(MalformedMessage::Status(status, reason)) => {
                self.give_head(head);
                self.refuse_request(key, status, reason);
            }
            Err(MalformedMessage::TooLarge(reason)) => {
                self.give_head(head);
                self.count_glitch();
                self.refuse_request(key, 400, reason);
            }
        }
        decoded
    }

    fn receive_request(&mut self, key: Key, head: Box<Head>, info: RequestInfo) {
        let Some(stream) = self.requests.get_mut(key) else { return };
        stream.connect = info.connect;
        stream.extended = info.extended;
        stream.accept = expected_accept(&head, info.extended);
        stream.head_only = head.method_id() == Method::Head;
        stream.length = info.length;
        stream.recv = H3RecvPhase::Body;
        let body = match (info.connect, info.length) {
            (true, _) => BodyKind::None,
            (false, Some(length)) => BodyKind::Length(length),
            (false, None) => BodyKind::Chunked,
        };
        stream.head = Some((head, body));
        self.unaccepted.push_back(key);
        self.wake(key, Ready::READ);
    }

    /// Answers a request with an error.
    fn refuse_request(&mut self, key: Key, status: u16, reason: &'static str) {
        if let Some(stream) = self.requests.get_mut(key) {
            stream.recv = H3RecvPhase::Body;
            stream.refusal = Some(MessageError { status, fault: Fault::Client, at: None, reason });
            self.unaccepted.push_back(key);
        }
    }

    fn trailers_section(&mut self, key: Key, bytes: &[u8]) -> Result<SectionPrefix, SectionError> {
        let mut section = Box::<Fields>::default();
        let mut reader = TrailersReader::new(self.settings.list);
        let most = MAX_LISTS * self.settings.list.bytes as usize;
        let decoded = self.decoder.decode_within(bytes, most, |name, value| {
            reader.field(name, value, &mut section);
        })?;
        let refuses = !self.settings.tolerance.hosts;
        let misleads = refuses && trailer_rules::has_framing_or_routing(&section);
        if reader.finish().is_err() || misleads {
            self.stream_error(key, H3ErrorCode::MESSAGE_ERROR);
            return Ok(decoded);
        }
        trailer_rules::discard(&mut section);
        if let Some(stream) = self.requests.get_mut(key) {
            stream.recv = H3RecvPhase::Trailers;
            stream.trailers = Some(section);
        }
        Ok(decoded)
    }

    /// Swaps the head of a request with `head`.
    ///
    /// # Errors
    /// The request is refused with this error.
    pub fn handle_head(&mut self, key: Key, head: &mut Head) -> Result<HeadStep, MessageError> {
        let Some(stream) = self.requests.get_mut(key) else { return Ok(HeadStep::NeedMore) };
        if let Some(error) = stream.refusal.take() {
            return Err(error);
        }
        let Some((mut arrived, body)) = stream.head.take() else {
            return Ok(HeadStep::NeedMore);
        };
        // The end may have come with the head.
        let ended = stream.recv == H3RecvPhase::Ended && stream.unread().is_empty();
        let body = if ended && stream.trailers.is_none() { BodyKind::None } else { body };
        std::mem::swap(&mut *arrived, head);
        self.give_head(arrived);
        Ok(HeadStep::Complete { consumed: 0, body })
    }
}

/// Whether a scheme has no mandatory authority (RFC 9114 section 4.3.1).
fn needs_no_host(scheme: &[u8]) -> bool {
    !(scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https"))
}
