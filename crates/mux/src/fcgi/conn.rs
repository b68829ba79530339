//! The state of one FastCGI connection, with its queries. `recv` and `send` handle the records.

use std::fmt;

use htx::Head;
use stdx::Key;
use stdx::slab::Slab;
use wire::fcgi::{RecordError, RecordType, values};

use super::settings::FcgiSettings;
use super::stderr::ErrorText;
use super::stream::{FcgiStream, ReadStep};
use crate::{HeadStep, MessageError};

/// Records without effect (unknown types, empty ones, those of no request) that are accepted until
/// a request ends.
pub const MAX_QUIET: u32 = 1_000;

/// Finished requests that are kept for reuse.
const MAX_SPARES: usize = 4;

/// Why a connection is unusable. The application has broken the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FcgiError {
    /// A record of another version.
    Version,
    /// A record of a fixed-size type has another length.
    Length,
    /// A record of a request for the connection.
    NullRequest,
    /// A record that only clients send.
    Direction,
    /// Malformed name-value pairs.
    Values,
    /// More than [`MAX_QUIET`] records without effect.
    Flood,
}

impl fmt::Display for FcgiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for FcgiError {}

impl FcgiError {
    /// A short text for logs.
    pub fn text(self) -> &'static str {
        match self {
            Self::Version => "a record of another version of FastCGI",
            Self::Length => "a record of an invalid length",
            Self::NullRequest => "an answer without request id",
            Self::Direction => "a record that only clients send",
            Self::Values => "malformed capacity",
            Self::Flood => "too many records without effect",
        }
    }
}

impl From<RecordError> for FcgiError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Version => Self::Version,
            RecordError::Length => Self::Length,
        }
    }
}

/// The next element of the input.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordInput {
    Header,
    /// The content of a record of a request.
    Content {
        key: Key,
        kind: RecordType,
        left: u16,
        padding: u8,
    },
    /// Bytes that are dropped.
    Skip(u32),
}

/// The protocol machine of one connection to a FastCGI application.
///
/// Bounds on its memory: per request, [`super::stream::WINDOW`] of unread answer and
/// [`super::stderr::CAPACITY`] of error text; unsent output, [`super::send::OUTPUT`] plus the
/// parameters of its requests.
#[derive(Debug)]
pub struct FcgiConn {
    pub(super) settings: FcgiSettings,
    /// Concurrent requests, at least 1.
    pub(super) limit: u16,
    pub(super) awaits_values: bool,
    pub(super) streams: Slab<Box<FcgiStream>>,
    /// Requests by id, from 1 on.
    pub(super) by_id: Vec<Key>,
    /// Index in `by_id` of the next request.
    next: usize,
    pub(super) input: RecordInput,
    pub(super) quiet: u32,
    pub(super) out: Vec<u8>,
    pub(super) sent: usize,
    /// Bytes of output written so far.
    pub(super) written: u64,
    /// Upper bound of the bytes that may have been written.
    pub(super) offered: u64,
    /// The application has answered a request.
    pub(super) has_answered: bool,
    /// The application's stream has ended.
    pub(super) has_ended: bool,
    /// Error text of requests that are forgotten.
    pub(super) late_errors: ErrorText,
    /// Requests may have error text.
    pub(super) has_error_text: bool,
    /// Requests that wait for room in the output.
    pub(super) awaiting_room: Vec<Key>,
    woken: Vec<Key>,
    #[allow(clippy::vec_box, reason = "streams move between this list and the slab")]
    spares: Vec<Box<FcgiStream>>,
    /// No further request can use the connection.
    pub(super) is_draining: bool,
    pub(super) broken: Option<FcgiError>,
}

impl FcgiConn {
    /// A connection before its first byte.
    pub fn new(settings: FcgiSettings) -> Self {
        let max_reqs = settings.max_reqs.max(1);
        // More ids than requests, so that late records of a request rarely meet the next one.
        let ids = if max_reqs == 1 { 1 } else { usize::from(max_reqs.saturating_mul(2)) };
        let mut out = Vec::new();
        if settings.get_values {
            values::get_values(&mut out);
        }
        Self {
            settings,
            limit: if settings.get_values { 1 } else { max_reqs },
            awaits_values: settings.get_values,
            streams: Slab::new(),
            by_id: vec![Key::NONE; ids],
            next: 0,
            input: RecordInput::Header,
            quiet: 0,
            out,
            sent: 0,
            written: 0,
            offered: 0,
            has_answered: false,
            has_ended: false,
            late_errors: ErrorText::default(),
            has_error_text: false,
            awaiting_room: Vec::new(),
            woken: Vec::new(),
            spares: Vec::new(),
            is_draining: false,
            broken: None,
        }
    }

    /// Whether another request can be opened now.
    pub fn can_open(&self) -> bool {
        !self.is_draining && self.broken.is_none() && self.streams.len() < usize::from(self.limit)
    }

    /// Concurrent requests that the connection takes, as far as known.
    pub fn limit(&self) -> u16 {
        self.limit
    }

    /// Requests that have not ended, including those that the caller has released.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether no request is under way and another one may follow, on a connection without unread
    /// input.
    pub fn can_reuse(&self) -> bool {
        self.streams.is_empty() && matches!(self.input, RecordInput::Header) && self.can_open()
    }

    /// Whether the connection has to be closed once its output is written.
    pub fn must_close(&self) -> bool {
        self.broken.is_some() || (self.is_draining && self.streams.is_empty())
    }

    /// Opens a request; `None` if [`FcgiConn::can_open`] is false.
    pub fn open(&mut self) -> Option<Key> {
        if !self.can_open() {
            return None;
        }
        let ids = self.by_id.len();
        let mut indexes = (0..ids).map(|step| (self.next + step) % ids);
        let index = indexes.find(|&index| self.by_id[index] == Key::NONE)?;
        let stream = FcgiStream::new(index as u16 + 1, self.spares.pop());
        let key = self.streams.insert(stream);
        self.by_id[index] = key;
        self.next = (index + 1) % ids;
        // Without keep-conn, the application closes after this request.
        self.is_draining |= !self.settings.keep_conn;
        Some(key)
    }

    /// Reads the head of an answer. There are no interim answers, and no bytes to drop.
    ///
    /// # Errors
    /// The answer is malformed, or the application has refused the request: 503 for an overloaded
    /// one, else 502.
    pub fn handle_head(&mut self, key: Key, head: &mut Head) -> Result<HeadStep, MessageError> {
        let limits = self.settings.limits;
        let Some(stream) = self.streams.get_mut(key) else { return Ok(HeadStep::NeedMore) };
        match stream.handle_head(limits, head) {
            Ok(HeadStep::NeedMore) if stream.is_cut => {
                Err(stream.fail(502, "the connection closed before the header"))
            }
            step => step,
        }
    }

    /// Copies bytes of an answer's body. The caller passes waiting input again afterwards, because
    /// there is room for it.
    ///
    /// # Errors
    /// The answer is shorter than it announced, or its connection has closed.
    pub fn read(&mut self, key: Key, out: &mut [u8]) -> Result<ReadStep, MessageError> {
        self.streams.get_mut(key).map_or(Ok(ReadStep::default()), |stream| stream.read(out))
    }

    /// Takes a line of error text of a request. Returns whether there was one.
    pub fn take_error_line(&mut self, key: Key, line: &mut Vec<u8>) -> bool {
        let Some(stream) = self.streams.get_mut(key) else { return false };
        let ended = stream.end.is_some() || stream.is_cut;
        stream.stderr.take_line(ended, line)
    }

    /// Takes a line of error text of any request, also of one that is forgotten. Returns whether
    /// there was one.
    pub fn take_any_error_line(&mut self, line: &mut Vec<u8>) -> bool {
        if !self.has_error_text {
            return false;
        }
        let found = self.late_errors.take_line(true, line)
            || self.streams.iter_mut().any(|(_, stream)| {
                let ended = stream.end.is_some() || stream.is_cut;
                stream.stderr.take_line(ended, line)
            });
        // An incomplete line is completed by a further record, or by the end of its request.
        self.has_error_text = found;
        found
    }

    /// Bytes of error text that were dropped, because the caller did not take the lines in time.
    pub fn dropped_error_text(&self, key: Key) -> u64 {
        self.streams.get(key).map_or(0, |stream| stream.stderr.dropped())
    }

    /// Whether the application has refused the request without processing it, so that it can be
    /// repeated elsewhere.
    pub fn is_refused(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|it| it.is_refused())
    }

    /// Whether the application has sent more than the answer announced. The excess is dropped.
    pub fn has_excess(&self, key: Key) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.has_excess)
    }

    /// Exit status of the application, after the request has ended.
    pub fn app_status(&self, key: Key) -> Option<u32> {
        Some(self.streams.get(key)?.end?.app_status)
    }

    /// The next request with news. Each request is reported once until its data is read.
    pub fn take_woken(&mut self) -> Option<Key> {
        while let Some(key) = self.woken.pop() {
            if let Some(stream) = self.streams.get_mut(key) {
                stream.is_woken = false;
                if !stream.released {
                    return Some(key);
                }
            }
        }
        None
    }

    pub(super) fn wake(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if !stream.is_woken && !stream.released {
            stream.is_woken = true;
            self.woken.push(key);
        }
    }

    /// Forgets a request, whose id becomes free.
    pub(super) fn remove(&mut self, key: Key) {
        let Some(stream) = self.streams.remove(key) else { return };
        if stream.stderr.move_to(&mut self.late_errors) {
            self.has_error_text = true;
        }
        self.by_id[usize::from(stream.id) - 1] = Key::NONE;
        self.woken.retain(|woken| *woken != key);
        self.awaiting_room.retain(|waiting| *waiting != key);
        if self.spares.len() < MAX_SPARES {
            self.spares.push(stream);
        }
    }
}
