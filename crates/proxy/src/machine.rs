//! How messages are read and written on a [`crate::link::Link`], whatever the version of HTTP. Never
//! touches bytes itself: the machines in `mux` do.

use htx::{Fields, Head};
use mux::h1::{self, BodyStep, DataFraming, Eof, HeadStep};
use mux::{BodyKind, Error};
use wire::Sink;
use wire::h1::encode;

/// The protocol machine of one side of a transaction.
#[derive(Debug)]
pub(crate) enum Machine {
    /// HTTP/1: the machine is the connection's.
    H1(h1::Conn),
}

impl Machine {
    /// Applies the mode of the chosen backend; see [`h1::Conn::raise_mode`].
    #[inline]
    pub(crate) fn raise_mode(&mut self, mode: h1::Mode) {
        let Self::H1(conn) = self;
        conn.raise_mode(mode);
    }

    /// Decides that this connection closes after the current exchange.
    #[inline]
    pub(crate) fn close_after_message(&mut self) {
        let Self::H1(conn) = self;
        conn.close_after_message();
    }

    /// A request does not say that its connection closes behind it.
    #[inline]
    pub(crate) fn pretend_keep_alive(&mut self) {
        let Self::H1(conn) = self;
        conn.pretend_keep_alive();
    }

    /// Whether the incoming message had ambiguous framing.
    #[inline]
    pub(crate) fn is_ambiguous(&self) -> bool {
        let Self::H1(conn) = self;
        conn.is_ambiguous()
    }

    /// Whether the peer has said that it sends no further message.
    #[inline]
    pub(crate) fn peer_closes(&self) -> bool {
        let Self::H1(conn) = self;
        conn.peer_closes()
    }

    /// Whether both messages are complete and another exchange may follow here.
    #[inline]
    pub(crate) fn can_reuse(&self) -> bool {
        let Self::H1(conn) = self;
        conn.can_reuse()
    }

    /// Whether the incoming message is complete.
    #[inline]
    pub(crate) fn has_received_all(&self) -> bool {
        let Self::H1(conn) = self;
        conn.has_received_all()
    }

    /// Whether the outgoing message is complete.
    #[inline]
    pub(crate) fn has_sent_all(&self) -> bool {
        let Self::H1(conn) = self;
        conn.has_sent_all()
    }

    /// Whether the final head of the outgoing message was encoded.
    #[inline]
    pub(crate) fn has_sent_head(&self) -> bool {
        let Self::H1(conn) = self;
        conn.has_sent_head()
    }

    /// Whether opaque bytes are carried.
    #[inline]
    pub(crate) fn is_tunnel(&self) -> bool {
        let Self::H1(conn) = self;
        conn.is_tunnel()
    }

    /// Payload bytes received of the current message.
    #[inline]
    pub(crate) fn payload_received(&self) -> u64 {
        let Self::H1(conn) = self;
        conn.payload_received()
    }

    /// Gets ready for the next exchange.
    #[inline]
    pub(crate) fn reset_for_next(&mut self) {
        let Self::H1(conn) = self;
        conn.reset_for_next();
    }

    /// Looks for the next head, at the front of `input` where that is where heads are.
    #[inline]
    pub(crate) fn handle_head(&mut self, input: &[u8], head: &mut Head) -> Result<HeadStep, Error> {
        let Self::H1(conn) = self;
        conn.handle_head(input, head)
    }

    /// Says what is payload at the front of `input`.
    #[inline]
    pub(crate) fn handle_body(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
    ) -> Result<BodyStep, Error> {
        let Self::H1(conn) = self;
        conn.handle_body(input, trailers)
    }

    /// Looks whether the body bytes in the input are well-formed, as far as they have come.
    #[inline]
    pub(crate) fn check_body(&mut self, input: &[u8]) -> Result<(), Error> {
        let Self::H1(conn) = self;
        conn.check_body(input)
    }

    /// Payload that is still to come; `u64::MAX` when nothing announces how much.
    #[inline]
    pub(crate) fn payload_left(&self) -> u64 {
        let Self::H1(conn) = self;
        conn.payload_left()
    }

    /// Whether something goes around each piece of the outgoing payload.
    #[inline]
    pub(crate) fn frames_payload(&self) -> bool {
        let Self::H1(conn) = self;
        conn.frames_payload()
    }

    /// Counts payload that was forwarded unseen; whether the message ended with it.
    #[inline]
    pub(crate) fn skip_payload(&mut self, bytes: u64) -> bool {
        let Self::H1(conn) = self;
        conn.skip_payload(bytes)
    }

    /// Takes note that the peer will send nothing more.
    #[inline]
    pub(crate) fn handle_eof(&mut self) -> Eof {
        let Self::H1(conn) = self;
        conn.handle_eof()
    }

    /// Makes the fields of `head` right and sends it on its way, into `out` where that is what goes
    /// to the peer. The result is how the body goes out; see [`h1::Conn::encode_head`].
    #[inline]
    pub(crate) fn encode_head(
        &mut self,
        head: &mut Head,
        body: BodyKind,
        out: &mut impl Sink,
    ) -> BodyKind {
        let Self::H1(conn) = self;
        conn.encode_head(head, body, out)
    }

    /// The same with field names in the case that `adjust` gives, where names have one.
    pub(crate) fn encode_head_with_case<'a>(
        &mut self,
        head: &mut Head,
        body: BodyKind,
        adjust: &dyn Fn(&[u8]) -> Option<&'a [u8]>,
        out: &mut impl Sink,
    ) -> BodyKind {
        let Self::H1(conn) = self;
        let sent_as = conn.prepare_head(head, body);
        encode::head_with_case(head, adjust, out);
        sent_as
    }

    /// What goes around the next `len` bytes of payload.
    #[inline]
    pub(crate) fn encode_data(&mut self, len: u64) -> DataFraming {
        let Self::H1(conn) = self;
        conn.encode_data(len)
    }

    /// Ends the outgoing message. To be called for every message, bodies or not.
    #[inline]
    pub(crate) fn encode_end(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) {
        let Self::H1(conn) = self;
        conn.encode_end(trailers, out);
    }

    /// Gives up on the outgoing message in the middle.
    #[inline]
    pub(crate) fn abort(&mut self) {
        let Self::H1(conn) = self;
        conn.abort();
    }
}
