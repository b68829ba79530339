//! The pooled memory of a transaction, so that it allocates nothing in steady state.
//!
//! Two parts. [`Notes`] stay with the transaction from its first byte to its line in the log.
//! [`Workspace`] holds the heads and outgoing bytes that forwarding needs; a transaction that only
//! waits for the server's answer gives it back, and the next to run finds it warm in the cache.

use crate::state::records::flight_recorder::Text;
use crate::state::session::bandwidth_limits::BandwidthLimits;
use crate::state::session::cache_use::CacheUse;
use crate::state::session::credentials::Credentials;
use crate::state::session::pending::AwaitedAnswer;
use crate::state::session::script_filters::AttachedFilter;
use crate::state::session::sticking::Pending;
use crate::state::worker::Worker;
use htx::Head;
use mux::BodyKind;
use sample::{Side, TransactionRecord, Variables};
use sched::Usage;
use settings::Expected;
use std::cell::{Cell, OnceCell, RefCell};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::rc::Rc;
use stdx::Tick;
use table::Trackers;
use transport::forwarder::Flow;
use transport::stats::transaction_log::Journal;
use transport::tls_facts::Failed;

/// Memory that forwarding needs.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Head of the request.
    pub request: Head,
    /// Head of the response.
    pub response: Head,
    /// The early hints that rules have put together, until they go out.
    pub hints: Head,
    /// From the client to the server.
    pub up: Flow,
    /// From the server, or from the proxy itself, to the client.
    pub down: Flow,
    /// The body of a local answer.
    pub body: Vec<u8>,
}

impl Workspace {
    fn clear(&mut self) {
        self.request.clear();
        self.response.clear();
        self.hints.clear();
        self.up.clear();
        self.down.clear();
        self.body.clear();
    }
}

/// The state of a transaction, kept to its end.
#[derive(Debug, Default)]
pub struct Notes {
    /// Times, bytes and states for the log.
    pub journal: Journal,
    /// Framing of the bodies of request and response, while each body is unread behind its head.
    pub ahead: [Option<BodyKind>; 2],
    /// CPU use of the connection's task before the transaction.
    pub usage: Usage,
    /// Bytes from the client and to it that the counters include already.
    pub bytes_counted: (u64, u64),
    /// Method and URI, for the recorder; begun again by each transaction.
    pub line: Text,
    /// The head of the request, as [`crate::transaction::retry::stash_head`] has stored it, or the
    /// head of an earlier request.
    pub request: Head,
    /// Whether any of the following is in use; unused fields are not cleared.
    pub used: bool,
    /// `tcp` rules are evaluated while more bytes may come.
    pub partial: bool,
    /// The bytes of each direction after edits by scripts, until they replace the received bytes.
    pub edited: [Option<script::ChannelBytes>; 2],
    /// Bytes at the front of each direction that scripts have forwarded.
    pub passed: [usize; 2],
    /// The moment at which rules that wait for bytes are evaluated again in any case
    /// (`act:wake_time`).
    pub wake: Option<Tick>,
    /// The record for logs, filled in when they are written; the texts of the request from its
    /// arrival.
    pub record: TransactionRecord,
    /// Variables of the session, transaction and streams.
    pub variables: Variables,
    /// The entries of stick tables that the stream tracks.
    pub trackers: Trackers,
    /// Keys that `stick` rules will store.
    pub stores: Vec<Pending>,
    /// `unique-id-format`, built at first use.
    pub unique_id: OnceCell<Vec<u8>>,
    /// Whether `unique-id-format` is being evaluated, so that it cannot contain itself.
    pub naming: Cell<bool>,
    /// `set-src`: the client's address, when a rule has changed it.
    pub source: Option<SocketAddr>,
    /// The address that the client connected to, when a rule has changed it.
    pub destination: Option<SocketAddr>,
    /// Headers that rules expect before the first byte.
    pub expects: Expected,
    /// `set-timeout`: server, tunnel.
    pub limits: [Option<u32>; 2],
    /// `set-priority-class`, `set-priority-offset`.
    pub priority: (i16, i32),
    /// `disable-l7-retry`
    pub no_retry: bool,
    /// The server has been sent too much of the request for a retry.
    pub sent_once: bool,
    /// Payloads as far as they were waited for: the request's, the response's.
    pub bodies: [Option<Vec<u8>>; 2],
    /// The same without waiting: decoded from chunks when asked for.
    pub decoded: [OnceCell<Vec<u8>>; 2],
    /// Bytes of each head when it arrived.
    pub arrived: [usize; 2],
    /// The answer from outside that rules wait for.
    pub asked: AwaitedAnswer,
    /// Passwords that took time to verify.
    pub credentials: Credentials,
    /// Records of engines of SPOE, by the number of their lines.
    pub spoe: Vec<SpoeProgress>,
    /// Values that scripts keep with the transaction.
    pub private: script::Private,
    /// The filters of scripts, in their order.
    pub script_filters: Vec<Rc<AttachedFilter>>,
    /// The use that the transaction makes of caches.
    pub cache: Option<Box<CacheUse>>,
    /// The algorithm of `compression` that the client takes.
    pub coding: Option<compression::Algorithm>,
    /// The algorithm that the response is compressed with.
    pub compressed: Option<compression::Algorithm>,
    /// The algorithm that the body of the request is compressed with.
    pub compressed_request: Option<compression::Algorithm>,
    /// Bandwidth limits that rules have enabled.
    pub bandwidth: BandwidthLimits,
    /// FastCGI parameters of the request, encoded.
    pub params: Vec<u8>,
    /// Why the last connection to a server could not be encrypted.
    pub unsecured: Option<Box<Failed>>,
    /// Contents of the capture slots of the request and of the response.
    pub captures: [RefCell<Vec<Option<Vec<u8>>>>; 2],
}

/// The record of an engine of SPOE for a stream.
#[derive(Clone, Copy, Debug)]
pub struct SpoeProgress {
    /// Number of its line.
    pub number: usize,
    /// Payloads sent.
    pub frames: u64,
    /// Milliseconds that its payloads have taken.
    pub total_ms: u64,
    /// An error has ended its work for the stream.
    pub failed: bool,
}

impl Notes {
    /// The number under which regular expressions are counted.
    #[inline]
    pub fn account(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Forgets everything and keeps the memory. The journal is begun again by the next transaction.
    pub(crate) fn clear(&mut self) {
        // Rules on connections look at notes before there is a transaction.
        self.journal.bad_request = false;
        if !std::mem::take(&mut self.used) {
            return;
        }
        self.record.reset();
        self.variables.transaction.clear();
        self.variables.request.clear();
        self.variables.response.clear();
        self.stores.clear();
        (self.wake, self.edited, self.passed) = Default::default();
        (self.source, self.destination) = (None, None);
        (self.bodies, self.no_retry, self.sent_once) = Default::default();
        self.decoded = Default::default();
        (self.limits, self.priority, self.arrived) = Default::default();
        self.asked.take();
        self.credentials.clear();
        self.spoe.clear();
        self.private.clear();
        self.script_filters.clear();
        self.bandwidth.clear();
        self.unique_id.take();
        self.params.clear();
        (self.unsecured, self.cache) = (None, None);
        (self.coding, self.compressed, self.compressed_request) = (None, None, None);
        self.captures.iter().for_each(|slots| slots.borrow_mut().clear());
    }
}

/// A workspace on loan. The transaction holds it while it runs, and returns it while it waits,
/// unless its content is needed.
#[derive(Debug)]
pub struct Lease(Option<Box<Workspace>>);

impl Lease {
    /// A cleared workspace.
    pub fn new(worker: &Worker) -> Self {
        Self(Some(worker.take_workspace()))
    }

    /// Gives the workspace back.
    pub fn release(&mut self, worker: &Worker) {
        if let Some(mut workspace) = self.0.take() {
            workspace.clear();
            worker.give_workspace(workspace);
        }
    }

    /// Takes a cleared workspace, unless one is held.
    pub fn renew(&mut self, worker: &Worker) {
        if self.0.is_none() {
            self.0 = Some(worker.take_workspace());
        }
    }
}

impl Deref for Lease {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        self.0.as_ref().expect("a transaction that runs holds its workspace")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Workspace {
        self.0.as_mut().expect("a transaction that runs holds its workspace")
    }
}

/// The position of a parser in a body whose received bytes stay in the buffer: bytes are parsed
/// once when more of the body comes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Where the next chunk begins.
    pub at: usize,
    /// Bytes of payload before that.
    pub payload: usize,
}

/// The received part of a body that is unconsumed at the front of `input`.
pub fn untouched<'n>(notes: &'n Notes, side: Side, input: &'n [u8]) -> Option<&'n [u8]> {
    match notes.ahead[side as usize]? {
        BodyKind::None => Some(&[]),
        BodyKind::Length(length) => {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            Some(&input[..input.len().min(length)])
        }
        BodyKind::Chunked => Some(notes.decoded[side as usize].get_or_init(|| {
            let mut body = Vec::new();
            chunks(input, &mut body, &mut Seen::default());
            body
        })),
        BodyKind::UntilClose => Some(input),
        BodyKind::Tunnel => None,
    }
}

/// The chunks at the front of `input`, as far as they were parsed; none of them was forwarded.
pub fn seen_chunks(notes: &Notes, side: Side, input: &[u8]) -> Option<Chunks> {
    let chunked = notes.ahead[side as usize] == Some(BodyKind::Chunked);
    chunked.then(|| chunks(input, &mut Vec::new(), &mut Seen::default()))
}

/// The payload of chunks (RFC 9112 section 7.1). Malformed chunks end it: the forwarder reports the
/// error.
pub fn chunks(input: &[u8], body: &mut Vec<u8>, seen: &mut Seen) -> Chunks {
    let end_of_line = |rest: &[u8]| memchr::memchr(b'\n', rest);
    let until = |missing| Chunks { missing, ..Chunks::default() };
    loop {
        let at = seen.at;
        let left = &input[at..];
        let Some(end) = end_of_line(left) else { return until(0) };
        let digits = left[..end].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = std::str::from_utf8(&left[..digits]).ok();
        let size = size.and_then(|text| usize::from_str_radix(text, 16).ok());
        let whole = Chunks { complete: true, missing: 0, trailers: at + end + 1 };
        let Some(size) = size else { return Chunks { trailers: input.len(), ..whole } };
        let rest = &left[end + 1..];
        if size == 0 {
            return if ends_trailers(rest) { whole } else { until(0) };
        }
        body.extend_from_slice(&rest[..rest.len().min(size)]);
        let Some(next) = rest.get(size..) else { return until(size - rest.len()) };
        let Some(behind) = end_of_line(next) else { return until(0) };
        *seen = Seen { at: at + end + 1 + size + behind + 1, payload: body.len() };
    }
}

/// Whether the empty line behind the trailers has arrived.
fn ends_trailers(trailers: &[u8]) -> bool {
    let mut lines = trailers.split_inclusive(|byte| *byte == b'\n');
    lines.any(|line| line == b"\r\n" || line == b"\n")
}

/// Framing of chunks, without their payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Chunks {
    /// All is there.
    pub complete: bool,
    /// Bytes of the last chunk that are announced and not there.
    pub missing: usize,
    /// The offset of the trailers, once all payload has arrived.
    pub trailers: usize,
}
