//! Bytes to the peer: heads, framing of bodies, trailers. Payload is not copied; the functions
//! return the bytes around it.

use htx::{Fields, Head, HeaderId};
use wire::Sink;
use wire::h1::encode::{self, ChunkSize};

use super::conn::{Flags, H1Conn, SendState};
use super::upgrade::RequestedUpgrade;
use super::{framing, persistence, upgrade};
use crate::{BodyKind, MessageError, Side, length};

/// Most bytes by which a head grows when it is encoded: a length or a transfer coding, and a
/// connection option.
pub const HEAD_GROWTH: usize = 64;

/// Framing bytes around a piece of payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataFraming {
    prefix: Option<ChunkSize>,
}

impl DataFraming {
    /// Bytes before the payload; at most [`encode::CHUNK_SIZE_MAX`].
    pub fn prefix(&self) -> &[u8] {
        self.prefix.as_ref().map_or(&[], ChunkSize::as_bytes)
    }

    /// Bytes after the payload; at most 2.
    pub fn suffix(&self) -> &'static [u8] {
        if self.prefix.is_some() { encode::CHUNK_END } else { &[] }
    }
}

impl H1Conn {
    /// Adapts the fields of `head` to this connection (length, persistence, TE, upgrade) and writes
    /// it. `body` is the framing of the incoming message; the result is the framing on this
    /// connection: `None` means that payload must not be sent and has to be discarded. After an
    /// interim response the connection expects another head.
    ///
    /// [`encode::head_len`] plus [`HEAD_GROWTH`] bytes of room are enough.
    pub fn encode_head(
        &mut self,
        head: &mut Head,
        body: BodyKind,
        out: &mut impl Sink,
    ) -> BodyKind {
        let body = self.prepare_head(head, body);
        encode::head(head, out);
        body
    }

    /// Performs the state changes of [`H1Conn::encode_head`] without writing, for a caller that
    /// writes the head itself ([`encode::head_with_case`]).
    pub fn prepare_head(&mut self, head: &mut Head, body: BodyKind) -> BodyKind {
        debug_assert!(self.send == SendState::Head, "a final head was already sent");
        persistence::reduce_te(head);
        match self.side {
            Side::Client => self.prepare_response(head, body),
            Side::Server => self.prepare_request(head, body),
        }
    }

    // ---- responses, to a client

    fn prepare_response(&mut self, head: &mut Head, body: BodyKind) -> BodyKind {
        let status = head.status();
        if (100..200).contains(&status) && status != 101 {
            framing::remove_length_fields(head);
            return BodyKind::None;
        }
        if self.opens_tunnel(status) {
            persistence::strip(head);
            self.become_tunnel();
            return BodyKind::Tunnel;
        }
        let body = self.response_framing(head, body);
        let old_chunked = body == BodyKind::Chunked && !head.version().at_least_11();
        // A rule or an error file may have set `close`.
        let told = persistence::options(head).close;
        if body == BodyKind::UntilClose || old_chunked || told {
            self.flags.set(Flags::CLOSE, true);
        }
        // As in HAProxy: with an offered upgrade, no other connection option is announced.
        if !persistence::strip(head) {
            let old = self.flags.has(Flags::OLD_REQUEST);
            persistence::announce(head, self.must_close(), old);
        }
        self.begin_sending(body);
        body
    }

    fn opens_tunnel(&self, status: u16) -> bool {
        (status == 101 && self.flags.has(Flags::UPGRADE))
            || (self.flags.has(Flags::CONNECT) && (200..300).contains(&status))
    }

    fn response_framing(&self, head: &mut Head, body: BodyKind) -> BodyKind {
        match head.status() {
            // A 101 to a request without an upgrade has no body either (RFC 9112 section 6.3).
            101 | 204 => {
                framing::remove_length_fields(head);
                return BodyKind::None;
            }
            304 => return BodyKind::None,
            _ if self.flags.has(Flags::HEAD) => return BodyKind::None,
            _ => {}
        }
        let body = match body {
            BodyKind::None => BodyKind::Length(0),
            BodyKind::Tunnel => BodyKind::UntilClose,
            BodyKind::Chunked if self.flags.has(Flags::OLD_REQUEST) => BodyKind::UntilClose,
            other => other,
        };
        framing::announce(head, body);
        body
    }

    // ---- requests, to a server

    fn prepare_request(&mut self, head: &mut Head, body: BodyKind) -> BodyKind {
        let mut options = persistence::options(head);
        options.upgrade = upgrade::prune(head, options);
        let body = match body {
            BodyKind::None | BodyKind::Tunnel => {
                head.remove_id(HeaderId::TransferEncoding);
                length::allow_only_zero(head);
                BodyKind::None
            }
            // The end of the connection cannot delimit a request.
            BodyKind::UntilClose | BodyKind::Chunked => {
                framing::announce(head, BodyKind::Chunked);
                BodyKind::Chunked
            }
            BodyKind::Length(n) => {
                framing::announce(head, BodyKind::Length(n));
                body
            }
        };
        let mut asked = upgrade::of_request(head, options);
        if asked.websocket && !body.is_empty() && !upgrade::has_key(head) {
            // Without a body such a request is refused (see `recv`); with one it is forwarded
            // without the upgrade.
            head.remove_id(HeaderId::Upgrade);
            asked = RequestedUpgrade::default();
        }
        let old_chunked = body == BodyKind::Chunked && !head.version().at_least_11();
        self.note_request(head, asked);
        let closes = self.must_close() || old_chunked || options.close;
        self.flags.set(Flags::CLOSE, closes);
        if !persistence::strip(head) {
            let told = closes && !self.flags.has(Flags::HIDES_CLOSE);
            persistence::announce(head, told, false);
        }
        self.begin_sending(body);
        body
    }

    // ---- bodies

    fn begin_sending(&mut self, body: BodyKind) {
        self.send = match body {
            BodyKind::None | BodyKind::Length(0) => SendState::Done,
            BodyKind::Length(n) => SendState::Length(n),
            BodyKind::Chunked => SendState::Chunked,
            BodyKind::UntilClose => SendState::UntilClose,
            BodyKind::Tunnel => SendState::Tunnel,
        };
    }

    /// The framing bytes around the next `len` bytes of payload; none if `len` is 0.
    ///
    /// # Errors
    /// The message has ended or is shorter: the peer would take the bytes for the next message.
    pub fn encode_data(&mut self, len: u64) -> Result<DataFraming, MessageError> {
        match &mut self.send {
            SendState::Chunked if len > 0 => {
                return Ok(DataFraming { prefix: Some(ChunkSize::new(len)) });
            }
            SendState::Length(left) if len <= *left => *left -= len,
            SendState::Chunked | SendState::UntilClose | SendState::Tunnel => {}
            SendState::Head | SendState::Length(_) | SendState::Done if len > 0 => {
                return Err(self.fail(502, None, "more payload than the message has"));
            }
            SendState::Head | SendState::Length(_) | SendState::Done => {}
        }
        Ok(DataFraming { prefix: None })
    }

    /// Ends the outgoing message, with the last chunk and the trailers if the body is chunked. A
    /// body shorter than announced closes the connection, so that the peer notices. Must be called
    /// for every message, with or without a body.
    pub fn encode_end(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) {
        match self.send {
            SendState::Chunked => encode::last_chunk(trailers, out),
            SendState::Length(left) if left > 0 => self.close_after_message(),
            SendState::UntilClose | SendState::Tunnel => self.close_after_message(),
            SendState::Head | SendState::Length(_) | SendState::Done => {}
        }
        self.send = SendState::Done;
    }

    /// Abandons the outgoing message: nothing is written, the connection will close, and it cannot
    /// switch protocols any more.
    pub fn abort(&mut self) {
        self.close_after_message();
        self.flags.set(Flags::UPGRADE, false);
        self.send = SendState::Done;
    }
}
