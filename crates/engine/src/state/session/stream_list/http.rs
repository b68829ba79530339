//! The HTTP exchange in `show sess`, with HAProxy's words and numbers.

use htx::{Head, HeaderId};
use mux::BodyKind;

/// The state of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MessageState {
    /// No byte of a response has arrived.
    #[default]
    Before,
    /// A request whose head has arrived, and which goes to no server yet.
    Body,
    /// The body is forwarded.
    Data,
    /// The message is complete.
    Done,
    /// A tunnel: bytes without an end of their own.
    Tunnel,
}

impl MessageState {
    /// HAProxy's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "MSG_RPBEFORE",
            Self::Body => "MSG_BODY",
            Self::Data => "MSG_DATA",
            Self::Done => "MSG_DONE",
            Self::Tunnel => "MSG_TUNNEL",
        }
    }

    /// The state of a message whose forwarding begins.
    fn of(body: BodyKind) -> Self {
        match body {
            BodyKind::None => Self::Done,
            BodyKind::Length(_) | BodyKind::Chunked => Self::Data,
            BodyKind::UntilClose | BodyKind::Tunnel => Self::Tunnel,
        }
    }
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// The state.
    pub state: MessageState,
    /// 1: it has a length, 2: it is chunked, 4: its end is known, 8: HTTP/1.1 or later, 0x40: it
    /// has no body, 0x80: it asks for another protocol.
    pub flags: u8,
}

/// Request and response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Http {
    /// The number of the method as it was received: OPTIONS is 0, others in the order of
    /// [`htx::Method`].
    pub method: u8,
    /// The status of the response; 0 without one.
    pub status: u16,
    /// The request.
    pub request: Message,
    /// The response.
    pub response: Message,
}

impl Http {
    /// An exchange that begins with this request. `framed`: in the framing of HTTP/1.
    pub(crate) fn new(head: &Head, body: BodyKind, framed: bool) -> Self {
        Self {
            method: head.method_id() as u8,
            status: 0,
            request: Message { state: MessageState::Body, flags: flags(head, body, framed) },
            response: Message::default(),
        }
    }

    /// The request goes to a server.
    pub fn forward(&mut self, body: BodyKind) {
        let connects = self.method == htx::Method::Connect as u8;
        self.request.state = if connects { MessageState::Tunnel } else { MessageState::of(body) };
    }

    /// The response begins.
    pub fn answer(&mut self, head: &Head, body: BodyKind, framed: bool) {
        self.status = head.status();
        self.response = Message { state: MessageState::of(body), flags: flags(head, body, framed) };
    }

    /// A message is complete.
    pub(crate) fn end(message: &mut Message) {
        if message.state == MessageState::Data {
            message.state = MessageState::Done;
        }
    }
}

fn flags(head: &Head, body: BodyKind, framed: bool) -> u8 {
    let delimited = match body {
        BodyKind::None => 0x44,
        BodyKind::Length(_) => 0x05,
        BodyKind::Chunked if framed => 0x06,
        BodyKind::Chunked => 0x04,
        BodyKind::UntilClose | BodyKind::Tunnel => 0,
    };
    let recent = if head.version().at_least_11() { 0x08 } else { 0 };
    let upgrades = if head.has(HeaderId::Upgrade) { 0x80 } else { 0 };
    delimited | recent | upgrades
}
