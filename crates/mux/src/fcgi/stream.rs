//! One request of a connection: its state of sending, and received bytes that are unread.

use htx::{Head, HeaderId, Method};
use wire::fcgi::{AnswerParser, EndRequest, EndStatus};
use wire::h1::Limits;

use super::stderr::ErrorText;
use crate::{BodyKind, Fault, HeadStep, MessageError, length};

/// Bytes of an answer that a request may have waiting for its reader. Input is not read further
/// then, which delays other requests of the connection.
pub const WINDOW: usize = 64 * 1024;

const SHORT: &str = "the answer is shorter than its content-length";

/// Result of reading a body. With no bytes and not done, more input is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStep {
    /// Bytes copied.
    pub data: usize,
    /// Whether the answer ends with them.
    pub done: bool,
}

/// Phase of the outgoing half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestPhase {
    Params,
    Stdin,
    Done,
}

/// Phase of the answer, as its reader sees it.
#[derive(Clone, Copy, Debug)]
enum ReadPhase {
    Head(AnswerParser),
    Length(u64),
    UntilEnd,
    /// The reader has received everything; the rest is dropped.
    Done,
    Failed(MessageError),
}

/// One request.
#[derive(Debug)]
pub(super) struct FcgiStream {
    pub(super) id: u16,
    pub(super) send: RequestPhase,
    read: ReadPhase,
    /// Answer bytes, of which `at` were read.
    buffer: Vec<u8>,
    at: usize,
    pub(super) stderr: ErrorText,
    pub(super) stdout_ended: bool,
    pub(super) end: Option<EndRequest>,
    /// The connection closed before the request ended.
    pub(super) is_cut: bool,
    /// The request's method is HEAD.
    pub(super) is_head: bool,
    /// Bytes came beyond the length that the answer announced.
    pub(super) has_excess: bool,
    /// Whether the caller has released the request, whose records are dropped until its end.
    pub(super) released: bool,
    pub(super) is_woken: bool,
    /// Token to wake, and the events waited for.
    pub(super) token: u64,
    pub(super) wants: u8,
    /// The bytes that wait are an incomplete line of the head.
    pub(super) is_stalled: bool,
    /// Payload of the answer that was read.
    pub(super) received: u64,
    /// Payload announced and not sent.
    pub(super) owed: u64,
    /// The request ends when `owed` is 0.
    pub(super) is_ending: bool,
    /// Offset of the request in all output.
    pub(super) begins_at: u64,
    /// The connection closed before any of the request was written.
    pub(super) is_unsent: bool,
}

impl FcgiStream {
    /// A request with this id, in the memory of an earlier one.
    pub(super) fn new(id: u16, spare: Option<Box<Self>>) -> Box<Self> {
        let Some(mut stream) = spare else {
            return Box::new(Self::with(id, Vec::new(), ErrorText::default()));
        };
        let (mut buffer, mut stderr) =
            (std::mem::take(&mut stream.buffer), std::mem::take(&mut stream.stderr));
        buffer.clear();
        stderr.clear();
        *stream = Self::with(id, buffer, stderr);
        stream
    }

    fn with(id: u16, buffer: Vec<u8>, stderr: ErrorText) -> Self {
        Self {
            id,
            send: RequestPhase::Params,
            read: ReadPhase::Head(AnswerParser::default()),
            buffer,
            at: 0,
            stderr,
            stdout_ended: false,
            end: None,
            is_cut: false,
            is_head: false,
            has_excess: false,
            released: false,
            is_woken: false,
            token: 0,
            wants: 0,
            is_stalled: false,
            received: 0,
            owed: 0,
            is_ending: false,
            begins_at: u64::MAX,
            is_unsent: false,
        }
    }

    /// Records what the answer's length depends on.
    pub(super) fn note_request(&mut self, method: Method) {
        self.is_head = method == Method::Head;
    }

    /// Bytes of the answer that may be received now; `None` without a limit, because they are
    /// dropped.
    pub(super) fn room(&self) -> Option<usize> {
        let dropped = self.released || matches!(self.read, ReadPhase::Done | ReadPhase::Failed(_));
        (!dropped).then(|| WINDOW - self.waiting().len())
    }

    /// Receives bytes of the answer, at most [`FcgiStream::room`].
    pub(super) fn receive(&mut self, data: &[u8]) {
        if self.room().is_none() {
            self.has_excess |= matches!(self.read, ReadPhase::Done) && !data.is_empty();
            return;
        }
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        } else if self.buffer.len() + data.len() > self.buffer.capacity() {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(data);
        self.is_stalled = false;
    }

    fn waiting(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Whether the response has ended in accordance with the protocol.
    pub(super) fn has_ended(&self) -> bool {
        self.stdout_ended || self.end.is_some()
    }

    /// Whether the application has refused the request without processing it.
    pub(super) fn is_refused(&self) -> bool {
        self.end.is_some_and(|end| end.status != EndStatus::Complete)
    }

    /// Makes the answer fail, unless its reader has all of it. The first failure counts.
    pub(super) fn fail(&mut self, status: u16, reason: &'static str) -> MessageError {
        let error = MessageError { status, fault: Fault::Server, at: None, reason };
        match self.read {
            ReadPhase::Failed(first) => return first,
            ReadPhase::Done => {}
            _ => {
                self.read = ReadPhase::Failed(error);
                self.buffer.clear();
                self.at = 0;
            }
        }
        error
    }

    pub(super) fn failure(&self) -> Option<MessageError> {
        match self.read {
            ReadPhase::Failed(error) => Some(error),
            _ => None,
        }
    }

    pub(super) fn is_read(&self) -> bool {
        matches!(self.read, ReadPhase::Done)
    }

    /// Whether the head of the answer is not complete.
    pub(super) fn awaits_head(&self) -> bool {
        matches!(self.read, ReadPhase::Head(_))
    }

    /// Whether parsing the head would get further, or fail.
    pub(super) fn has_head_to_read(&self) -> bool {
        let more = !self.is_stalled && !self.waiting().is_empty();
        !self.awaits_head() || more || self.has_ended()
    }

    /// Whether a read would return bytes or the end.
    pub(super) fn is_readable(&self) -> bool {
        let more = !self.is_stalled && !self.waiting().is_empty();
        let done = matches!(self.read, ReadPhase::Done | ReadPhase::Failed(_));
        more || done || self.has_ended() || self.is_cut
    }

    /// Whether the application takes nothing more of the request.
    pub(super) fn is_reset(&self) -> bool {
        let is_over = self.end.is_some() && self.send != RequestPhase::Done;
        is_over || self.is_cut || self.failure().is_some()
    }

    /// Payload that has not arrived; `u64::MAX` if no length was announced.
    pub(super) fn payload_left(&self) -> u64 {
        match self.read {
            ReadPhase::Length(left) => left,
            ReadPhase::UntilEnd if self.has_ended() => self.waiting().len() as u64,
            ReadPhase::UntilEnd | ReadPhase::Head(_) => u64::MAX,
            ReadPhase::Done | ReadPhase::Failed(_) => 0,
        }
    }

    /// Parses the head from the bytes that wait.
    pub(super) fn handle_head(
        &mut self,
        limits: Limits,
        head: &mut Head,
    ) -> Result<HeadStep, MessageError> {
        let parser = match &mut self.read {
            ReadPhase::Head(parser) => parser,
            ReadPhase::Failed(error) => return Err(*error),
            _ => {
                debug_assert!(false, "a head is not what comes next");
                return Ok(HeadStep::NeedMore);
            }
        };
        match parser.parse(&self.buffer[self.at..], limits, head) {
            Err(error) => Err(self.fail(502, error.text())),
            Ok((consumed, true)) => {
                self.at += consumed;
                let body = self.body(head)?;
                self.begin_body(body);
                Ok(HeadStep::Complete { consumed: 0, body })
            }
            Ok((consumed, false)) => {
                self.at += consumed;
                match self.has_ended() {
                    true => Err(self.fail(502, "an answer without complete header")),
                    false => Ok(HeadStep::NeedMore),
                }
            }
        }
    }

    fn body(&mut self, head: &mut Head) -> Result<BodyKind, MessageError> {
        let announced = match head.has(HeaderId::ContentLength) {
            false => None,
            true => match length::announced(head) {
                None => return Err(self.fail(502, "invalid content-length")),
                length => length,
            },
        };
        if self.is_head || matches!(head.status(), 204 | 304) {
            return Ok(BodyKind::None);
        }
        let received = self.waiting().len() as u64;
        match announced {
            Some(length) if self.has_ended() && received < length => Err(self.fail(502, SHORT)),
            Some(length) => Ok(BodyKind::Length(length)),
            None if self.has_ended() => {
                length::announce(head, received);
                Ok(BodyKind::Length(received))
            }
            None => Ok(BodyKind::Chunked),
        }
    }

    fn begin_body(&mut self, body: BodyKind) {
        self.read = match body {
            BodyKind::Length(length) if length > 0 => ReadPhase::Length(length),
            BodyKind::Chunked => ReadPhase::UntilEnd,
            _ => ReadPhase::Done,
        };
        self.drop_excess();
    }

    /// Drops the bytes that follow a complete answer.
    fn drop_excess(&mut self) {
        if self.is_read() {
            self.has_excess |= !self.waiting().is_empty();
            self.buffer.clear();
            self.at = 0;
        }
    }

    /// Copies bytes of the body.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<ReadStep, MessageError> {
        let left = match self.read {
            ReadPhase::Length(left) => usize::try_from(left).unwrap_or(usize::MAX),
            ReadPhase::UntilEnd => usize::MAX,
            ReadPhase::Done => return Ok(ReadStep { data: 0, done: true }),
            ReadPhase::Failed(error) => return Err(error),
            ReadPhase::Head(_) => return Ok(ReadStep::default()),
        };
        let data = self.waiting().len().min(left).min(out.len());
        out[..data].copy_from_slice(&self.buffer[self.at..self.at + data]);
        self.at += data;
        let is_empty = self.waiting().is_empty();
        let (all, cut) = (is_empty && self.has_ended(), is_empty && self.is_cut);
        match &mut self.read {
            ReadPhase::Length(left) => {
                *left -= data as u64;
                if *left == 0 {
                    self.read = ReadPhase::Done;
                } else if (all || cut) && data == 0 {
                    return Err(self.fail(502, SHORT));
                }
            }
            _ if all => self.read = ReadPhase::Done,
            _ if cut && data == 0 => {
                return Err(self.fail(502, "the connection closed inside the answer"));
            }
            _ => {}
        }
        self.drop_excess();
        Ok(ReadStep { data, done: self.is_read() })
    }
}
