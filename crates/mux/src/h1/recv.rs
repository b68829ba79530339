//! Bytes from the peer: heads, bodies, the end of the stream. Each step returns how many bytes the
//! caller may drop.

use htx::{Fields, Head, Method};
use wire::h1::{ChunkDecoder, Exceptions, HeadKind, HeadParser, TrailersParser};
use wire::trailer_rules;

use super::conn::{Flags, H1Conn, RecvState, SendState};
use super::persistence::Options;
use super::upgrade::RequestedUpgrade;
use super::{framing, host, persistence, upgrade};
use crate::{BodyKind, BodyStep, Eof, HeadStep, MessageError, Side};

/// Progress of repeated checks of a body ([`H1Conn::check_more`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckedBody {
    conn: Option<H1Conn>,
    at: usize,
}

impl H1Conn {
    /// Parses the head at the front of `input` and applies the rules on length, host, persistence
    /// and upgrades to it. `head` is the same one until the step is not `NeedMore`. After an error,
    /// nothing more can be read.
    #[inline]
    pub fn handle_head(&mut self, input: &[u8], head: &mut Head) -> Result<HeadStep, MessageError> {
        // Frequent case: no byte has come yet.
        if input.is_empty() { Ok(HeadStep::NeedMore) } else { self.parse_head(input, head) }
    }

    fn parse_head(&mut self, input: &[u8], head: &mut Head) -> Result<HeadStep, MessageError> {
        let kind = match self.side {
            Side::Client => HeadKind::Request,
            Side::Server => HeadKind::Response,
        };
        let RecvState::Head(parser) = &mut self.recv else {
            debug_assert!(false, "a head is not what comes next");
            return Ok(HeadStep::NeedMore);
        };
        let consumed = match parser.parse(kind, input, self.limits, head) {
            Ok(Some(consumed)) => consumed,
            Ok(None) => return Ok(HeadStep::NeedMore),
            Err(error) => return Err(self.fail(400, Some(error.at), error.reason.text())),
        };
        let mut options = persistence::options(head);
        // Options that concern this connection are hidden from rules, as in HAProxy; options
        // present when a head is sent were added by a rule.
        persistence::strip(head);
        match self.side {
            Side::Client => {
                options.upgrade = upgrade::prune(head, options);
                self.request_received(head, options, consumed)
            }
            Side::Server => self.response_received(head, options, consumed),
        }
    }

    fn request_received(
        &mut self,
        head: &mut Head,
        options: Options,
        consumed: usize,
    ) -> Result<HeadStep, MessageError> {
        let host = host::normalize(head, self.limits.lenient);
        host.map_err(|reason| self.fail(400, None, reason))?;
        let framing = match framing::read(head, self.limits.lenient) {
            Ok(framing) => framing,
            Err(bad) => {
                if bad.status == 422 {
                    self.check_may_have_body(head)?;
                }
                return Err(self.fail(bad.status, None, bad.reason));
            }
        };
        let body = framing.length.unwrap_or(BodyKind::None);
        if !body.is_empty() {
            self.check_may_have_body(head)?;
        }
        let asked = upgrade::of_request(head, options);
        if asked.websocket && body.is_empty() && !upgrade::has_key(head) {
            return Err(self.fail(400, None, "websocket without sec-websocket-key"));
        }
        self.note_request(head, asked);
        self.flags.set(Flags::AMBIGUOUS, framing.ambiguous);
        self.flags.set(Flags::PEER_CLOSES, persistence::peer_closes(head, options));
        self.begin_body(body);
        Ok(HeadStep::Complete { consumed, body })
    }

    /// Refuses bodies that some servers ignore and take for the next request: in HTTP/1.0 with
    /// methods that usually have none (`h1-accept-payload-with-any-method`), and with CONNECT,
    /// where the following bytes belong to the tunnel (RFC 9110 section 9.3.6).
    fn check_may_have_body(&mut self, head: &Head) -> Result<(), MessageError> {
        let usually_none = matches!(head.method_id(), Method::Get | Method::Head | Method::Delete);
        let old = !head.version().at_least_11();
        if head.method_id() == Method::Connect {
            return Err(self.fail(400, None, "CONNECT with a body"));
        }
        if old && usually_none && !self.limits.exceptions.has(Exceptions::PAYLOAD_WITH_ANY_METHOD) {
            return Err(self.fail(413, None, "a body that HTTP/1.0 has for other methods only"));
        }
        Ok(())
    }

    fn response_received(
        &mut self,
        head: &mut Head,
        options: Options,
        consumed: usize,
    ) -> Result<HeadStep, MessageError> {
        let status = head.status();
        if status != 101 {
            upgrade::prune(head, options);
        }
        if (100..200).contains(&status) && status != 101 {
            framing::remove_length_fields(head);
            self.recv = RecvState::Head(HeadParser::new());
            return Ok(HeadStep::Interim { consumed });
        }
        if status == 101 {
            let asked = RequestedUpgrade {
                asked: self.flags.has(Flags::UPGRADE),
                websocket: self.flags.has(Flags::WEBSOCKET),
            };
            if let Some(reason) = upgrade::refusal(head, options, asked) {
                return Err(self.fail(502, None, reason));
            }
        }
        let body = self.response_body(head)?;
        let closes = body == BodyKind::UntilClose || persistence::peer_closes(head, options);
        self.flags.set(Flags::PEER_CLOSES, closes);
        self.begin_body(body);
        Ok(HeadStep::Complete { consumed, body })
    }

    /// Body of a final response (RFC 9112 section 6.3).
    fn response_body(&mut self, head: &mut Head) -> Result<BodyKind, MessageError> {
        let framing = framing::read(head, self.limits.lenient);
        let framing = framing.map_err(|bad| self.fail(bad.status, None, bad.reason))?;
        if head.status() == 101 {
            framing::remove_length_fields(head);
            return Ok(BodyKind::Tunnel);
        }
        if self.flags.has(Flags::CONNECT) && (200..300).contains(&head.status()) {
            return Ok(BodyKind::Tunnel);
        }
        // The length fields of a 204 are dropped, so that no other implementation misreads them.
        self.flags.set(Flags::AMBIGUOUS, framing.ambiguous && head.status() != 204);
        if self.flags.has(Flags::HEAD) || matches!(head.status(), 204 | 304) {
            return Ok(BodyKind::None);
        }
        Ok(framing.length.unwrap_or(BodyKind::UntilClose))
    }

    /// Remembers properties of the request on which the response depends; a server connection calls
    /// it for the request that it sends.
    pub(super) fn note_request(&mut self, head: &Head, asked: RequestedUpgrade) {
        self.flags.set(Flags::OLD_REQUEST, !head.version().at_least_11());
        self.flags.set(Flags::HEAD, head.method_id() == Method::Head);
        self.flags.set(Flags::CONNECT, head.method_id() == Method::Connect);
        self.flags.set(Flags::UPGRADE, asked.asked);
        self.flags.set(Flags::WEBSOCKET, asked.websocket);
    }

    fn begin_body(&mut self, body: BodyKind) {
        self.recv = match body {
            BodyKind::None | BodyKind::Length(0) => RecvState::Done,
            BodyKind::Length(n) => RecvState::Length(n),
            BodyKind::Chunked => RecvState::Chunked(ChunkDecoder::default()),
            BodyKind::UntilClose => RecvState::UntilClose,
            BodyKind::Tunnel => return self.become_tunnel(),
        };
    }

    /// Consumes body bytes from the front of `input`, up to the end of the next piece of payload;
    /// call it again until it needs more or is done. Trailers are appended to `trailers`, which the
    /// caller has cleared at the start of the body.
    pub fn handle_body(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
    ) -> Result<BodyStep, MessageError> {
        let step = match &mut self.recv {
            RecvState::Length(left) => {
                let data = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= data as u64;
                BodyStep { skip: 0, data, done: *left == 0 }
            }
            RecvState::Chunked(_) | RecvState::Trailers(_) => {
                return self.chunked_body(input, trailers);
            }
            RecvState::UntilClose | RecvState::Tunnel => {
                BodyStep { skip: 0, data: input.len(), done: false }
            }
            RecvState::Done => BodyStep { skip: 0, data: 0, done: true },
            RecvState::Head(_) | RecvState::Failed => BodyStep::default(),
        };
        self.count(step)
    }

    /// Checks whether the body bytes available in the input are well-formed. Nothing is consumed:
    /// the bytes still have to be passed to [`H1Conn::handle_body`].
    ///
    /// # Errors
    /// The bytes are malformed, and the message should be refused as a whole. Nothing more can be
    /// read then.
    #[inline]
    pub fn check_body(&mut self, input: &[u8]) -> Result<(), MessageError> {
        self.check_more(input, &mut CheckedBody::default())
    }

    /// As [`H1Conn::check_body`], continuing at `ahead`; valid as long as nothing is consumed
    /// between the calls.
    ///
    /// # Errors
    /// As [`H1Conn::check_body`].
    pub fn check_more(
        &mut self,
        input: &[u8],
        ahead: &mut CheckedBody,
    ) -> Result<(), MessageError> {
        if !matches!(self.recv, RecvState::Chunked(_)) {
            return Ok(());
        }
        let (mut conn, mut at) = (ahead.conn.unwrap_or(*self), ahead.at);
        let mut trailers = Fields::default();
        loop {
            let step = match conn.handle_body(&input[at..], &mut trailers) {
                Ok(step) => step,
                Err(error) => {
                    self.recv = RecvState::Failed;
                    return Err(MessageError { at: error.at.map(|offset| at + offset), ..error });
                }
            };
            at += step.skip + step.data;
            if step.done || step.skip + step.data == 0 {
                break;
            }
        }
        // Trailers are parsed as a whole, so their start is not a place to resume.
        if matches!(conn.recv, RecvState::Chunked(_)) {
            *ahead = CheckedBody { conn: Some(conn), at };
        }
        Ok(())
    }

    fn chunked_body(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
    ) -> Result<BodyStep, MessageError> {
        let mut step = BodyStep::default();
        if let RecvState::Chunked(decoder) = &mut self.recv {
            let chunk = match decoder.decode(input, self.limits) {
                Ok(chunk) => chunk,
                Err(e) => return Err(self.fail(400, Some(e.at), e.reason.text())),
            };
            step = BodyStep { skip: chunk.skip, data: chunk.data, done: false };
            if chunk.last {
                self.recv = RecvState::Trailers(TrailersParser::default());
            }
        }
        if let RecvState::Trailers(parser) = &mut self.recv {
            let section = match parser.parse(&input[step.skip..], self.limits, trailers) {
                Ok(section) => section,
                Err(e) => return Err(self.fail(400, Some(step.skip + e.at), e.reason.text())),
            };
            step.skip += section.consumed;
            step.done = section.done;
            if step.done {
                self.check_trailers(trailers)?;
            }
        }
        self.count(step)
    }

    /// Refuses a request whose trailers a server could use as length or host; discards fields that
    /// are not allowed in trailers.
    fn check_trailers(&mut self, trailers: &mut Fields) -> Result<(), MessageError> {
        if self.side == Side::Client
            && !self.limits.lenient
            && trailer_rules::has_framing_or_routing(trailers)
        {
            return Err(self.fail(400, None, "length, coding or host in trailers"));
        }
        trailer_rules::discard(trailers);
        Ok(())
    }

    fn count(&mut self, step: BodyStep) -> Result<BodyStep, MessageError> {
        self.payload_received += step.data as u64;
        if step.done {
            self.recv = RecvState::Done;
        }
        Ok(step)
    }

    /// Payload bytes that may be forwarded without `handle_body`, for instance by splicing;
    /// `u64::MAX` if the end of the stream ends the body.
    pub fn payload_left(&self) -> u64 {
        match &self.recv {
            RecvState::Length(left) => *left,
            RecvState::Chunked(decoder) => decoder.data_left(),
            RecvState::UntilClose | RecvState::Tunnel => u64::MAX,
            _ => 0,
        }
    }

    /// Counts payload that was forwarded without `handle_body`, at most [`H1Conn::payload_left`].
    /// Returns whether the message has ended.
    pub fn skip_payload(&mut self, bytes: u64) -> bool {
        debug_assert!(bytes <= self.payload_left(), "more than the message holds");
        self.payload_received += bytes;
        match &mut self.recv {
            RecvState::Length(left) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    self.recv = RecvState::Done;
                }
            }
            RecvState::Chunked(decoder) => decoder.skip_data(bytes),
            _ => {}
        }
        matches!(self.recv, RecvState::Done)
    }

    /// Handles the end of the peer's stream.
    pub fn handle_eof(&mut self) -> Eof {
        self.flags.set(Flags::PEER_CLOSES, true);
        match self.recv {
            RecvState::Head(parser) if parser.in_progress() || self.is_awaited() => {
                self.truncated()
            }
            RecvState::Head(_) => Eof::Idle,
            RecvState::UntilClose => {
                self.recv = RecvState::Done;
                Eof::MessageEnd
            }
            RecvState::Tunnel => {
                self.recv = RecvState::Done;
                Eof::MessageEnd
            }
            RecvState::Done => Eof::AfterMessage,
            RecvState::Length(_)
            | RecvState::Chunked(_)
            | RecvState::Trailers(_)
            | RecvState::Failed => self.truncated(),
        }
    }

    /// Whether a request was sent, so that a response is expected.
    fn is_awaited(&self) -> bool {
        self.side == Side::Server && self.send != SendState::Head
    }

    fn truncated(&mut self) -> Eof {
        self.recv = RecvState::Failed;
        Eof::Truncated
    }
}
