//! Bytes for the peer: heads, framing of bodies, trailers. Never copies payload: it says what goes
//! around it.

use htx::{Fields, Head, HeaderId};
use wire::Sink;
use wire::h1::encode::{self, ChunkSize};

use super::conn::{Conn, Flags, Send};
use super::upgrade::Upgrade;
use super::{framing, persistence, upgrade};
use crate::{BodyKind, Error, Side, length};

/// The most that a head grows by when it is encoded: a length or a transfer coding, and a
/// connection option.
pub const HEAD_GROWTH: usize = 64;

/// What goes around a piece of payload.
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

impl Conn {
    /// Makes the fields of `head` right for this connection (length, persistence, TE, upgrade) and
    /// writes it. `body` is how the sender delimits the payload; the result is how it goes out
    /// here: `None` means that no payload may be sent, and what there is has to be discarded. An
    /// interim response leaves the connection waiting for the final head.
    ///
    /// Room for [`encode::head_len`] and [`HEAD_GROWTH`] is room enough.
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

    /// What [`Conn::encode_head`] does before it writes, for a caller that writes the head in its
    /// own way ([`encode::head_with_case`]).
    pub fn prepare_head(&mut self, head: &mut Head, body: BodyKind) -> BodyKind {
        debug_assert!(self.send == Send::Head, "a final head was already sent");
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
            framing::silence(head);
            return BodyKind::None;
        }
        if self.opens_tunnel(status) {
            persistence::strip(head);
            self.become_tunnel();
            return BodyKind::Tunnel;
        }
        let body = self.response_framing(head, body);
        let old_chunked = body == BodyKind::Chunked && !head.version().at_least_11();
        // A rule, or an error file, may say that this is the last message.
        let told = persistence::options(head).close;
        if body == BodyKind::UntilClose || old_chunked || told {
            self.flags.set(Flags::CLOSE, true);
        }
        // As HAProxy does: an upgrade that is offered stands alone.
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
            // 101 without a request for it has no body either (RFC 9112 section 6.3).
            101 | 204 => {
                framing::silence(head);
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
                length::deny(head);
                BodyKind::None
            }
            // A request cannot end with its connection.
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
            // Without a body it is refused (see `recv`); with one it is a request like any other.
            head.remove_id(HeaderId::Upgrade);
            asked = Upgrade::default();
        }
        let old_chunked = body == BodyKind::Chunked && !head.version().at_least_11();
        self.note_request(head, asked);
        let closes = self.must_close() || old_chunked || options.close;
        self.flags.set(Flags::CLOSE, closes);
        if !persistence::strip(head) {
            let told = closes && !self.flags.has(Flags::PRETENDS);
            persistence::announce(head, told, false);
        }
        self.begin_sending(body);
        body
    }

    // ---- bodies

    fn begin_sending(&mut self, body: BodyKind) {
        self.send = match body {
            BodyKind::None | BodyKind::Length(0) => Send::Done,
            BodyKind::Length(n) => Send::Length(n),
            BodyKind::Chunked => Send::Chunked,
            BodyKind::UntilClose => Send::UntilClose,
            BodyKind::Tunnel => Send::Tunnel,
        };
    }

    /// What goes around the next `len` bytes of payload. Nothing does when `len` is 0.
    ///
    /// # Errors
    /// The message has no place for them: to the peer they would be the next one.
    pub fn encode_data(&mut self, len: u64) -> Result<DataFraming, Error> {
        match &mut self.send {
            Send::Chunked if len > 0 => {
                return Ok(DataFraming { prefix: Some(ChunkSize::new(len)) });
            }
            Send::Length(left) if len <= *left => *left -= len,
            Send::Chunked | Send::UntilClose | Send::Tunnel => {}
            Send::Head | Send::Length(_) | Send::Done if len > 0 => {
                return Err(self.fail(502, None, "more payload than the message has"));
            }
            Send::Head | Send::Length(_) | Send::Done => {}
        }
        Ok(DataFraming { prefix: None })
    }

    /// Ends the outgoing message: the last chunk with the trailers, if the body is in chunks. A
    /// body shorter than announced makes the connection close, so that the peer notices. To be
    /// called for every message, bodies or not.
    pub fn encode_end(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) {
        match self.send {
            Send::Chunked => encode::last_chunk(trailers, out),
            Send::Length(left) if left > 0 => self.close_after_message(),
            Send::UntilClose | Send::Tunnel => self.close_after_message(),
            Send::Head | Send::Length(_) | Send::Done => {}
        }
        self.send = Send::Done;
    }

    /// Gives up on the outgoing message in the middle: nothing is written, the connection closes,
    /// and cannot switch protocols any more.
    pub fn abort(&mut self) {
        self.close_after_message();
        self.flags.set(Flags::UPGRADE, false);
        self.send = Send::Done;
    }
}
