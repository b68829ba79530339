//! The state of an exchange inside the process, and the wake-ups of its two ends.

use crate::BodyKind;
use crate::pipe::{Pipe, WakeRequest};
use htx::{Fields, Head};
use stdx::Key;

/// The key of the only stream.
pub(super) const STREAM: Key = Key { index: 0, generation: 0 };

/// The end of the response as the transaction sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The head was not read.
    Head,
    /// Payload; the bytes that its head still announces, if it announces a length.
    Body(Option<u64>),
    /// The response was read to its end.
    Done,
}

/// One exchange.
#[derive(Debug)]
pub struct LocalConn {
    /// The request, until the service takes it.
    pub(super) request: Option<Head>,
    /// How the request's body is delimited.
    pub(super) request_body: BodyKind,
    pub(super) has_request: bool,
    pub(super) up: Pipe,
    /// Payload of the request that was announced and not sent.
    pub(super) owed: u64,
    /// The request ends when `owed` is 0.
    pub(super) is_ending: bool,
    /// The request's method is HEAD.
    pub(super) is_head: bool,
    pub(super) response: Option<Head>,
    pub(super) has_response: bool,
    pub(super) down: Pipe,
    pub(super) trailers: Fields,
    /// Payload that the head of the response still announces to its writer.
    pub(super) unwritten: Option<u64>,
    pub(super) progress: Progress,
    pub(super) received: u64,
    /// The service has ended, by itself or by a fault.
    pub(super) served: bool,
    /// The transaction has released or aborted the stream.
    pub(super) is_gone: bool,
    pub(super) is_released: bool,
    pub(super) client: WakeRequest,
    pub(super) service: WakeRequest,
    woken: [Option<u64>; 2],
}

impl Default for LocalConn {
    fn default() -> Self {
        Self {
            request: None,
            request_body: BodyKind::None,
            has_request: false,
            up: Pipe::default(),
            owed: 0,
            is_ending: false,
            is_head: false,
            response: None,
            has_response: false,
            down: Pipe::default(),
            trailers: Fields::default(),
            unwritten: None,
            progress: Progress::Head,
            received: 0,
            served: false,
            is_gone: false,
            is_released: false,
            client: WakeRequest::default(),
            service: WakeRequest::default(),
            woken: [None; 2],
        }
    }
}

impl LocalConn {
    /// An exchange that carries bytes in both directions, without messages.
    pub fn of_bytes() -> Self {
        Self {
            request_body: BodyKind::UntilClose,
            has_request: true,
            has_response: true,
            progress: Progress::Body(None),
            ..Self::default()
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
    pub(super) fn wake_client(&mut self) {
        if let Some(token) = self.client.take() {
            self.woken[0] = Some(token);
        }
    }

    /// Wakes the service, if it waits.
    pub(super) fn wake_service(&mut self) {
        if let Some(token) = self.service.take() {
            self.woken[1] = Some(token);
        }
    }
}
