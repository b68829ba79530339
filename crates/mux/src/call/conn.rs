//! The state of a call, and the wake-ups of its two ends.

use crate::BodyKind;
use crate::pipe::{Pipe, WakeRequest};
use htx::{Head, Method};
use stdx::Key;

/// The key of the only stream.
const STREAM: Key = Key { index: 0, generation: 0 };

/// The transaction's progress in reading the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestProgress {
    /// Its head was not read.
    Head,
    /// Payload; the bytes that its head still announces, if it announces a length.
    Body(Option<u64>),
    /// The body was read to its end.
    Done,
}

/// One exchange.
#[derive(Debug)]
pub struct CallConn {
    /// The head of the request, until the transaction reads it.
    pub(super) request: Option<Head>,
    pub(super) request_body: BodyKind,
    pub(super) is_head: bool,
    pub(super) up: Pipe,
    pub(super) progress: RequestProgress,
    /// Payload of the request that the transaction has read.
    pub(super) received: u64,
    /// The head of the response, until the caller takes it.
    pub(super) response: Option<(Head, BodyKind)>,
    pub(super) has_response: bool,
    pub(super) down: Pipe,
    /// Payload of the response that was announced and not sent.
    pub(super) owed: u64,
    /// The response ends when `owed` is 0.
    pub(super) is_ending: bool,
    /// The transaction has released or aborted the stream.
    pub(super) is_over: bool,
    pub(super) is_released: bool,
    /// The caller has dropped the call.
    pub(super) is_gone: bool,
    pub(super) channel: WakeRequest,
    pub(super) caller: WakeRequest,
    woken: [Option<u64>; 2],
}

impl CallConn {
    /// A call with this request; `body` is the framing of its payload.
    pub fn new(request: Head, body: BodyKind) -> Self {
        let mut up = Pipe::default();
        up.ended = body.is_empty();
        Self {
            is_head: request.method_id() == Method::Head,
            request: Some(request),
            request_body: body,
            up,
            progress: RequestProgress::Head,
            received: 0,
            response: None,
            has_response: false,
            down: Pipe::default(),
            owed: 0,
            is_ending: false,
            is_over: false,
            is_released: false,
            is_gone: false,
            channel: WakeRequest::default(),
            caller: WakeRequest::default(),
            woken: [None; 2],
        }
    }

    /// The key of the stream.
    pub fn stream(&self) -> Key {
        STREAM
    }

    /// Takes the token of an end to wake.
    pub fn take_woken(&mut self) -> Option<u64> {
        self.woken[0].take().or_else(|| self.woken[1].take())
    }

    /// Wakes the transaction, if it waits.
    pub(super) fn wake_channel(&mut self) {
        if let Some(token) = self.channel.take() {
            self.woken[0] = Some(token);
        }
    }

    /// Wakes the caller, if it waits.
    pub(super) fn wake_caller(&mut self) {
        if let Some(token) = self.caller.take() {
            self.woken[1] = Some(token);
        }
    }
}
