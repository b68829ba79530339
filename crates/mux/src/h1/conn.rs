//! The state of one HTTP/1 connection, in 64 bytes, with its queries. `recv` and `send` handle the
//! bytes.

use wire::h1::{ChunkDecoder, HeadParser, Limits, TrailersParser};

use super::settings::{ConnectionMode, H1ConnSettings};
use crate::{Fault, MessageError, Side};

/// Phase of the incoming message.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecvState {
    Head(HeadParser),
    Length(u64),
    Chunked(ChunkDecoder),
    Trailers(TrailersParser),
    UntilClose,
    Tunnel,
    Done,
    Failed,
}

/// Phase of the outgoing message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendState {
    Head,
    Length(u64),
    Chunked,
    UntilClose,
    Tunnel,
    Done,
}

/// Flags of the current exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    /// The request's version is below 1.1.
    pub(super) const OLD_REQUEST: Self = Self(1 << 0);
    /// The request's method is HEAD.
    pub(super) const HEAD: Self = Self(1 << 1);
    /// The request's method is CONNECT.
    pub(super) const CONNECT: Self = Self(1 << 2);
    /// The request asks for an upgrade, which a 101 may accept.
    pub(super) const UPGRADE: Self = Self(1 << 3);
    /// The upgrade is to websocket.
    pub(super) const WEBSOCKET: Self = Self(1 << 4);
    /// The incoming message had both Content-Length and Transfer-Encoding, or chunks in HTTP/1.0: a
    /// framing that other implementations may read differently.
    pub(super) const AMBIGUOUS: Self = Self(1 << 5);
    /// The peer will close, or has closed its half: no further message will come.
    pub(super) const PEER_CLOSES: Self = Self(1 << 6);
    /// This connection closes after the current exchange.
    pub(super) const CLOSE: Self = Self(1 << 7);
    /// The outgoing request does not announce that this connection closes.
    pub(super) const HIDES_CLOSE: Self = Self(1 << 8);
    /// An upgrade or a CONNECT was accepted: opaque bytes follow both messages.
    pub(super) const TUNNEL: Self = Self(1 << 9);

    pub(super) fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub(super) fn set(&mut self, flag: Self, on: bool) {
        self.0 = (self.0 & !flag.0) | (flag.0 * u16::from(on));
    }
}

/// The protocol machine of one HTTP/1 connection, on either side.
#[derive(Clone, Copy, Debug)]
pub struct H1Conn {
    pub(super) recv: RecvState,
    pub(super) send: SendState,
    /// Payload bytes received of the current message.
    pub(super) payload_received: u64,
    pub(super) limits: Limits,
    /// Exchanges completed.
    exchanges: u32,
    pub(super) flags: Flags,
    pub(super) side: Side,
    pub(super) mode: ConnectionMode,
}

impl H1Conn {
    /// A connection before its first byte.
    pub fn new(side: Side, settings: H1ConnSettings) -> Self {
        Self {
            recv: RecvState::Head(HeadParser::new()),
            send: SendState::Head,
            payload_received: 0,
            limits: settings.limits,
            exchanges: 0,
            flags: Flags::default(),
            side,
            mode: settings.mode,
        }
    }

    /// The side of the proxy that this connection is on.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Applies the mode of another proxy: the stronger of the two holds. Must be called before the
    /// head is encoded.
    pub fn raise_mode(&mut self, mode: ConnectionMode) {
        self.mode = self.mode.max(mode);
    }

    /// Closes this connection after the current exchange. Called before `encode_head`, the head
    /// announces it.
    pub fn close_after_message(&mut self) {
        self.flags.set(Flags::CLOSE, true);
    }

    /// Omits the `close` from requests whose connection closes after them (`option
    /// http-pretend-keepalive`). Must be called before the head is encoded.
    pub fn pretend_keep_alive(&mut self) {
        self.flags.set(Flags::HIDES_CLOSE, true);
    }

    /// Whether interim responses may be sent: HTTP/1.0 clients do not know them (RFC 9110 section
    /// 15.2).
    pub fn takes_interim(&self) -> bool {
        !self.flags.has(Flags::OLD_REQUEST)
    }

    /// Whether the incoming message had ambiguous framing (`Transfer-Encoding` with
    /// `Content-Length`, or in HTTP/1.0). The connection that the message is forwarded to must not
    /// be reused either: `close_after_message` on it.
    pub fn is_ambiguous(&self) -> bool {
        self.flags.has(Flags::AMBIGUOUS)
    }

    /// Whether the peer has announced its last message, or has closed its half.
    pub fn peer_closes(&self) -> bool {
        self.flags.has(Flags::PEER_CLOSES)
    }

    /// Whether the connection has to be closed when the current exchange is over.
    pub fn must_close(&self) -> bool {
        self.flags.has(Flags::CLOSE)
            || self.flags.has(Flags::PEER_CLOSES)
            || self.flags.has(Flags::AMBIGUOUS)
            || self.mode_closes()
            || self.is_tunnel()
            || matches!(self.recv, RecvState::Failed | RecvState::UntilClose)
            || self.send == SendState::UntilClose
    }

    /// Whether both messages are complete and another exchange may follow on this connection.
    pub fn can_reuse(&self) -> bool {
        self.is_complete() && !self.must_close()
    }

    /// Whether both messages of the exchange are complete.
    pub fn is_complete(&self) -> bool {
        self.has_received_all() && self.has_sent_all()
    }

    /// Whether the incoming message is complete.
    pub fn has_received_all(&self) -> bool {
        matches!(self.recv, RecvState::Done)
    }

    /// Whether the outgoing message is complete.
    pub fn has_sent_all(&self) -> bool {
        self.send == SendState::Done
    }

    /// Whether each piece of the outgoing payload needs framing bytes.
    pub fn frames_payload(&self) -> bool {
        self.send == SendState::Chunked
    }

    /// Whether the final head of the outgoing message was encoded.
    pub fn has_sent_head(&self) -> bool {
        self.send != SendState::Head
    }

    /// Whether no exchange is under way and no byte of one was seen.
    pub fn is_idle(&self) -> bool {
        let untouched = matches!(self.recv, RecvState::Head(parser) if !parser.in_progress());
        untouched && self.send == SendState::Head
    }

    /// Whether the connection carries opaque bytes.
    pub fn is_tunnel(&self) -> bool {
        self.send == SendState::Tunnel || matches!(self.recv, RecvState::Tunnel)
    }

    /// Whether opaque bytes go both ways, and neither direction has ended.
    pub fn is_open_tunnel(&self) -> bool {
        self.send == SendState::Tunnel && matches!(self.recv, RecvState::Tunnel)
    }

    /// Exchanges completed before the current one.
    pub fn exchanges(&self) -> u32 {
        self.exchanges
    }

    /// Payload bytes received of the current message, framing not counted.
    pub fn payload_received(&self) -> u64 {
        self.payload_received
    }

    /// Prepares the next exchange. The rest of the caller's input buffer belongs to it.
    pub fn reset_for_next(&mut self) {
        debug_assert!(self.can_reuse(), "an exchange is under way, or the connection closes");
        self.recv = RecvState::Head(HeadParser::new());
        self.send = SendState::Head;
        self.payload_received = 0;
        self.flags = Flags::default();
        self.exchanges = self.exchanges.saturating_add(1);
    }

    /// Whether the mode closes this side's connection after each exchange.
    pub(super) fn mode_closes(&self) -> bool {
        match self.side {
            Side::Client => self.mode == ConnectionMode::Close,
            Side::Server => self.mode != ConnectionMode::KeepAlive,
        }
    }

    /// Turns the connection into a tunnel. A request whose body is under way ends first: its
    /// direction follows with [`H1Conn::tunnel_behind_request`] (RFC 9110 section 7.8).
    pub(super) fn become_tunnel(&mut self) {
        self.flags.set(Flags::TUNNEL, true);
        let complete = match self.side {
            Side::Client => !self.awaits_body(),
            Side::Server => self.has_sent_all(),
        };
        match self.side {
            Side::Client => self.send = SendState::Tunnel,
            Side::Server => self.recv = RecvState::Tunnel,
        }
        if complete {
            self.tunnel_behind_request();
        }
    }

    /// Switches the request direction of a tunnel to opaque bytes, because the request is complete.
    /// Does nothing on a connection that is not a tunnel.
    pub fn tunnel_behind_request(&mut self) {
        match self.side {
            _ if !self.flags.has(Flags::TUNNEL) => {}
            Side::Client => self.recv = RecvState::Tunnel,
            Side::Server => self.send = SendState::Tunnel,
        }
    }

    fn awaits_body(&self) -> bool {
        matches!(self.recv, RecvState::Length(_) | RecvState::Chunked(_) | RecvState::Trailers(_))
    }

    /// Records that the peer broke the protocol; nothing more is read from it.
    pub(super) fn fail(
        &mut self,
        status: u16,
        at: Option<usize>,
        reason: &'static str,
    ) -> MessageError {
        self.recv = RecvState::Failed;
        match self.side {
            Side::Client => MessageError { status, fault: Fault::Client, at, reason },
            Side::Server => MessageError { status: 502, fault: Fault::Server, at, reason },
        }
    }
}
