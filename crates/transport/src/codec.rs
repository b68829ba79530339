//! Reads and writes messages on a [`crate::channel::Link`] in any protocol.

use crate::socket::Transport;
use crate::streams::Half;
use htx::{Fields, Head, Method, Version};
use mux::fcgi::ParamsError;
use mux::h1::{self, BodyStep, DataFraming, Eof, HeadStep};
use mux::{BodyKind, MessageError};
use wire::Sink;
use wire::h1::encode;

/// The protocol machine of one side of a transaction.
#[derive(Debug)]
pub enum Machine {
    /// HTTP/1: the machine is the connection's.
    H1(h1::H1Conn),
    /// HTTP/2 or FastCGI: the machine is that of many streams.
    Stream(Half),
}

impl Machine {
    /// Applies the mode of another proxy; see [`h1::Conn::raise_mode`].
    #[inline]
    pub fn raise_mode(&mut self, mode: h1::ConnectionMode) {
        match self {
            Self::H1(conn) => conn.raise_mode(mode),
            Self::Stream(_) => {}
        }
    }

    /// Decides that this connection closes after the current exchange.
    #[inline]
    pub fn close_after_message(&mut self) {
        match self {
            Self::H1(conn) => conn.close_after_message(),
            Self::Stream(_) => {}
        }
    }

    /// Breaches of the protocol by the peer; only those of HTTP/2 are counted.
    pub fn glitches(&self) -> i64 {
        match self {
            Self::H1(_) => 0,
            Self::Stream(half) => half.glitches().into(),
        }
    }

    /// Requests carry no `connection: close`.
    #[inline]
    pub fn pretend_keep_alive(&mut self) {
        match self {
            Self::H1(conn) => conn.pretend_keep_alive(),
            Self::Stream(_) => {}
        }
    }

    /// Whether the client takes interim responses.
    pub fn takes_interim(&self) -> bool {
        match self {
            Self::H1(conn) => conn.takes_interim(),
            Self::Stream(_) => true,
        }
    }

    /// Whether the incoming message had ambiguous framing.
    #[inline]
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::H1(conn) => conn.is_ambiguous(),
            Self::Stream(_) => false,
        }
    }

    /// Whether the peer has announced that it sends no further message.
    #[inline]
    pub fn peer_closes(&self) -> bool {
        match self {
            Self::H1(conn) => conn.peer_closes(),
            Self::Stream(_) => false,
        }
    }

    /// Whether both messages are complete and another exchange may follow here.
    #[inline]
    pub fn can_reuse(&self) -> bool {
        match self {
            Self::H1(conn) => conn.can_reuse(),
            Self::Stream(_) => false,
        }
    }

    /// Whether the incoming message is complete.
    #[inline]
    pub fn has_received_all(&self) -> bool {
        match self {
            Self::H1(conn) => conn.has_received_all(),
            Self::Stream(half) => half.has_received_all(),
        }
    }

    /// Whether the outgoing message is complete.
    #[inline]
    pub fn has_sent_all(&self) -> bool {
        match self {
            Self::H1(conn) => conn.has_sent_all(),
            Self::Stream(half) => half.has_sent_all(),
        }
    }

    /// Whether the final head of the outgoing message was encoded.
    #[inline]
    pub fn has_sent_head(&self) -> bool {
        match self {
            Self::H1(conn) => conn.has_sent_head(),
            Self::Stream(half) => half.has_sent_head(),
        }
    }

    /// Whether opaque bytes are carried.
    #[inline]
    pub fn is_tunnel(&self) -> bool {
        match self {
            Self::H1(conn) => conn.is_tunnel(),
            Self::Stream(half) => half.is_tunnel(),
        }
    }

    /// Whether opaque bytes go both ways, and neither direction has ended.
    pub fn is_open_tunnel(&self) -> bool {
        match self {
            Self::H1(conn) => conn.is_open_tunnel(),
            Self::Stream(half) => {
                half.is_tunnel() && !half.has_received_all() && !half.has_sent_all()
            }
        }
    }

    /// Turns the request's direction of a tunnel into opaque bytes, because the request is
    /// complete. Streams of HTTP/2 have no request with a body that begins a tunnel.
    pub fn tunnel_behind_request(&mut self) {
        if let Self::H1(conn) = self {
            conn.tunnel_behind_request();
        }
    }

    /// Payload bytes received of the current message.
    #[inline]
    pub fn payload_received(&self) -> u64 {
        match self {
            Self::H1(conn) => conn.payload_received(),
            Self::Stream(half) => half.payload_received(),
        }
    }

    /// Prepares the machine for the next exchange.
    #[inline]
    pub fn reset_for_next(&mut self) {
        match self {
            Self::H1(conn) => conn.reset_for_next(),
            Self::Stream(_) => {}
        }
    }

    /// Parses the next head, at the front of `input` for HTTP/1.
    #[inline]
    pub fn handle_head(&mut self, input: &[u8], head: &mut Head) -> Result<HeadStep, MessageError> {
        match self {
            Self::H1(conn) => conn.handle_head(input, head),
            Self::Stream(half) => half.handle_head(head),
        }
    }

    /// Finds the payload at the front of `input`.
    #[inline]
    pub fn handle_body(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
    ) -> Result<BodyStep, MessageError> {
        match self {
            Self::H1(conn) => conn.handle_body(input, trailers),
            Self::Stream(half) => Ok(half.handle_body(input, trailers)),
        }
    }

    /// Checks that the body bytes received so far are well-formed.
    #[inline]
    pub fn check_body(&mut self, input: &[u8]) -> Result<(), MessageError> {
        match self {
            Self::H1(conn) => conn.check_body(input),
            Self::Stream(_) => Ok(()),
        }
    }

    /// The same check, from the end of earlier checks.
    pub fn check_more(
        &mut self,
        input: &[u8],
        ahead: &mut h1::CheckedBody,
    ) -> Result<(), MessageError> {
        match self {
            Self::H1(conn) => conn.check_more(input, ahead),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Payload of the message to come; `u64::MAX` if its length is not announced.
    #[inline]
    pub(crate) fn payload_left(&self) -> u64 {
        match self {
            Self::H1(conn) => conn.payload_left(),
            Self::Stream(half) => half.payload_left(),
        }
    }

    /// Whether framing surrounds each piece of the outgoing payload.
    #[inline]
    pub(crate) fn frames_payload(&self) -> bool {
        match self {
            Self::H1(conn) => conn.frames_payload(),
            Self::Stream(_) => true,
        }
    }

    /// Counts payload that was forwarded without being read; returns whether the message ended with
    /// it.
    #[inline]
    pub(crate) fn skip_payload(&mut self, bytes: u64) -> bool {
        match self {
            Self::H1(conn) => conn.skip_payload(bytes),
            // Payload of streams is never forwarded unseen: their frames are in between.
            Self::Stream(half) => half.has_received_all(),
        }
    }

    /// Handles the end of the peer's bytes.
    #[inline]
    pub fn handle_eof(&mut self) -> Eof {
        match self {
            Self::H1(conn) => conn.handle_eof(),
            Self::Stream(half) => half.handle_eof(),
        }
    }

    /// Adjusts the fields of `head` and encodes it, into `out` for HTTP/1. The result is the
    /// framing of the body; see [`h1::Conn::encode_head`].
    #[inline]
    pub fn encode_head(
        &mut self,
        head: &mut Head,
        body: BodyKind,
        out: &mut impl Sink,
    ) -> BodyKind {
        match self {
            Self::H1(conn) => conn.encode_head(head, body, out),
            Self::Stream(half) => half.encode_head(head, body),
        }
    }

    /// The same with the case of field names that `adjust` gives.
    pub fn encode_head_with_case<'a>(
        &mut self,
        head: &mut Head,
        body: BodyKind,
        adjust: &dyn Fn(&[u8]) -> Option<&'a [u8]>,
        out: &mut impl Sink,
    ) -> BodyKind {
        let conn = match self {
            Self::H1(conn) => conn,
            Self::Stream(half) => return half.encode_head(head, body),
        };
        let sent_as = conn.prepare_head(head, body);
        encode::head_with_case(head, adjust, out);
        sent_as
    }

    /// The framing of the next `len` bytes of payload; see [`h1::Conn::encode_data`].
    #[inline]
    pub fn encode_data(&mut self, len: u64) -> Result<DataFraming, MessageError> {
        match self {
            Self::H1(conn) => conn.encode_data(len),
            Self::Stream(half) => {
                half.encode_data(len);
                Ok(DataFraming::default())
            }
        }
    }

    /// Appends payload with its framing. For bodies in memory: payload of a peer is not copied.
    /// Payload beyond the length of the message is dropped, and the connection closes.
    pub fn encode_payload(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Ok(framing) = self.encode_data(bytes.len() as u64) else {
            debug_assert!(false, "a body that its head does not announce");
            return self.close_after_message();
        };
        out.extend_from_slice(framing.prefix());
        out.extend_from_slice(bytes);
        out.extend_from_slice(framing.suffix());
    }

    /// Ends the outgoing message. Called for every message, with or without a body.
    #[inline]
    pub fn encode_end(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) {
        match self {
            Self::H1(conn) => conn.encode_end(trailers, out),
            Self::Stream(half) => half.encode_end(trailers),
        }
    }

    /// Aborts the outgoing message in the middle.
    #[inline]
    pub fn abort(&mut self) {
        match self {
            Self::H1(conn) => conn.abort(),
            Self::Stream(half) => half.abort(),
        }
    }

    /// Makes the client repeat its request. HTTP/1 clients do so when a connection closes without a
    /// response.
    pub fn refuse(&mut self) {
        match self {
            Self::H1(_) => {}
            Self::Stream(half) => half.refuse(),
        }
    }

    /// Whether a response accepts the upgrade that the incoming request asks for; HTTP/1 clients
    /// check that themselves.
    pub fn is_accepted_by(&self, head: &Head) -> bool {
        match self {
            Self::H1(_) => true,
            Self::Stream(half) => half.is_accepted_by(head),
        }
    }

    /// Whether the peer has refused the stream without processing its request.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::H1(_) => false,
            Self::Stream(half) => half.is_refused(),
        }
    }

    /// Whether a truncated message ended because its connection was closed.
    pub fn is_lost(&self) -> bool {
        match self {
            // HTTP/1 has no other end.
            Self::H1(_) => true,
            Self::Stream(half) => half.is_lost(),
        }
    }

    /// Whether the message ended here because the peer broke the protocol; an HTTP/1 head shows
    /// that itself.
    pub fn is_malformed(&self) -> bool {
        match self {
            Self::H1(_) => false,
            Self::Stream(half) => half.is_malformed(),
        }
    }

    /// The major version of HTTP.
    pub fn major(&self) -> u8 {
        match self {
            Self::H1(_) => 1,
            Self::Stream(half) => half.major(),
        }
    }

    /// Whether requests begin with the parameters of FastCGI instead of a head.
    #[inline]
    pub fn takes_params(&self) -> bool {
        match self {
            Self::H1(_) => false,
            Self::Stream(half) => half.is_fcgi(),
        }
    }

    /// Sends the parameters of a request with this method; `true`: it has no body, and ends with
    /// them. They are written at once if the transport is given and has no queued output.
    ///
    /// # Errors
    /// They exceed the limit.
    pub fn send_params(
        &self,
        request: (Method, bool),
        params: &[u8],
        transport: Option<&Transport>,
    ) -> Result<(), ParamsError> {
        match self {
            Self::H1(_) => Ok(()),
            Self::Stream(half) => half.send_params(request, params, transport),
        }
    }

    /// Whether the version is HTTP/1, whose input holds framed bytes.
    pub fn is_h1(&self) -> bool {
        matches!(self, Self::H1(_))
    }

    /// Makes the client send the body that it has announced (100 Continue).
    pub fn send_continue(&mut self, out: &mut impl Sink) {
        match self {
            Self::H1(_) => out.put(h1::CONTINUE),
            Self::Stream(half) => {
                let mut head = Head::default();
                head.set_response(Version::Http2, 100, b"Continue");
                half.encode_head(&mut head, BodyKind::None);
            }
        }
    }
}
