//! The record of a transaction for logs and statistics: times, bytes, termination state.

use std::sync::Arc;

/// Party that ended a transaction: the first character of the termination state (manual section
/// 8.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cause {
    /// No party: the transaction was complete.
    #[default]
    Normal,
    /// The client aborted.
    ClientAbort,
    /// The client took too long.
    ClientTimeout,
    /// The server aborted or refused.
    ServerAbort,
    /// The server took too long.
    ServerTimeout,
    /// The proxy refused it.
    Proxy,
    /// The proxy answered by itself.
    Local,
    /// A resource was exhausted.
    Resource,
    /// A fault of our own.
    Internal,
    /// The server was marked down and its sessions were closed.
    Down,
    /// An active server came up, and the sessions of backup servers were closed.
    Up,
    /// An operator ended it.
    Killed,
}

impl Cause {
    /// The character shown.
    pub fn letter(self) -> u8 {
        match self {
            Self::Normal => b'-',
            Self::ClientAbort => b'C',
            Self::ClientTimeout => b'c',
            Self::ServerAbort => b'S',
            Self::ServerTimeout => b's',
            Self::Proxy => b'P',
            Self::Local => b'L',
            Self::Resource => b'R',
            Self::Internal => b'I',
            Self::Down => b'D',
            Self::Up => b'U',
            Self::Killed => b'K',
        }
    }
}

/// When it ended: the second character.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// At its end.
    #[default]
    End,
    /// Before the request was complete.
    Request,
    /// In a queue.
    Queue,
    /// While connecting.
    Connect,
    /// Before the response's headers were complete.
    Headers,
    /// While data was passed on.
    Data,
    /// While the last data went to the client.
    Last,
    /// In a tarpit.
    Tarpit,
}

impl Phase {
    /// The character shown.
    pub fn letter(self) -> u8 {
        match self {
            Self::End => b'-',
            Self::Request => b'R',
            Self::Queue => b'Q',
            Self::Connect => b'C',
            Self::Headers => b'H',
            Self::Data => b'D',
            Self::Last => b'L',
            Self::Tarpit => b'T',
        }
    }
}

/// Log data of one transaction. Moments are monotonic nanoseconds; 0 is "not reached".
#[derive(Debug, Default)]
pub struct Journal {
    /// The connection was accepted, or the previous request ended.
    pub began: u64,
    /// Date of that, nanoseconds since 1970.
    pub began_wall: u64,
    /// The first byte of the request came.
    pub first_byte: u64,
    /// The request's head was complete.
    pub request: u64,
    /// A server's turn came (end of the queue).
    pub queued: u64,
    /// Start of the server's turn (end of the queue).
    pub connected: u64,
    /// Moment at which the server connection was established.
    pub fresh: bool,
    /// Whether that connection was made for this request.
    pub on_stream: bool,
    /// Whether it was a stream of an HTTP/2 connection.
    pub response: u64,
    /// Moment at which the response's head was complete.
    pub ended: u64,
    /// Status sent to the client; 0 for none. For a replaced error, the original status.
    pub status: u16,
    /// Bytes received from the client.
    pub bytes_in: u64,
    /// Bytes sent to the client.
    pub bytes_out: u64,
    /// Repeated connection attempts.
    pub retries: u32,
    /// Attempts among them after a kept connection turned out to be closed.
    pub stale: u32,
    /// Whether another server was chosen than at first.
    pub redispatched: bool,
    /// Requests served while this one was in the server's queue, and in the backend's, itself
    /// included.
    pub queue_positions: (u32, u32),
    /// The party that ended it.
    pub cause: Cause,
    /// Phase in which it ended.
    pub phase: Phase,
    /// State of the request's persistence cookie, and action on that of the response.
    pub cookie: (u8, u8),
    /// Whether the transaction has no log line.
    pub silent: bool,
    /// Whether the process itself makes the request: its frontend does not count it.
    pub background: bool,
    /// The level set by a rule.
    pub level: Option<u8>,
    /// The line was written already (`logasap`).
    pub logged: bool,
    /// A rule has refused the response.
    pub denied: bool,
    /// The body of the response breaks the rules.
    pub garbled: bool,
    /// The request was counted on what is tracked.
    pub counted: bool,
    /// The request was not parsed: `<BADREQ>`.
    pub bad_request: bool,
    /// Origin of the choice of the server.
    pub chooser: Chooser,
    /// Number among the streams of the process, once it may be queried.
    pub number: Option<u64>,
    /// Name in logs of the statistics page or service that responded in place of a server.
    pub applet: Option<&'static str>,
    /// File and line of the rule that ended a rule set.
    pub last_rule: Option<(Arc<str>, u32)>,
}

impl Journal {
    /// Records the end, unless one is recorded already.
    pub fn end(&mut self, cause: Cause, phase: Phase) {
        if self.cause == Cause::Normal && self.phase == Phase::End {
            (self.cause, self.phase) = (cause, phase);
        }
    }

    /// Attempts that have failed by the server.
    pub fn failed_attempts(&self) -> u32 {
        self.retries.saturating_sub(self.stale)
    }

    /// Milliseconds between two moments; -1 if one was not reached.
    pub fn span(from: u64, to: u64) -> i64 {
        if from == 0 || to == 0 { -1 } else { (to.saturating_sub(from) / 1_000_000) as i64 }
    }
}

/// The consequence of a failure for the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The connection closes without a response.
    Close,
    /// An error response of this status, if no byte of another one was sent.
    Error(u16),
    /// The response in the workspace that a rule has made, under the same condition.
    Prepared,
    /// None: the stored response in the workspace passes the rules about responses, and is sent.
    FromCache,
    /// 425: the server has refused the early data, and the client can repeat its request.
    TooEarly,
    /// 502: the server does not speak the protocol that its line says, and another attempt would
    /// show the same.
    WrongProtocol,
    /// No status yet: the request is sent again, as its server has failed.
    RetryFailed,
    /// The same, where the connection is to blame and not the server.
    RetryStale,
}

impl Ending {
    /// The status of the error response, if it is one.
    pub fn error(self) -> Option<u16> {
        match self {
            Self::Error(status) => Some(status),
            Self::TooEarly => Some(425),
            Self::WrongProtocol => Some(502),
            Self::Close
            | Self::Prepared
            | Self::FromCache
            | Self::RetryFailed
            | Self::RetryStale => None,
        }
    }
}

/// How a transaction ends when it does not end well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The consequence for the client.
    pub ending: Ending,
    /// Party at fault.
    pub cause: Cause,
    /// Phase of the failure.
    pub phase: Phase,
}

impl Failure {
    /// A failure with this consequence.
    pub const fn new(ending: Ending, cause: Cause, phase: Phase) -> Self {
        Self { ending, cause, phase }
    }

    /// A failure with an error response.
    pub const fn error(status: u16, cause: Cause, phase: Phase) -> Self {
        Self::new(Ending::Error(status), cause, phase)
    }

    /// A failure without a response.
    pub const fn close(cause: Cause, phase: Phase) -> Self {
        Self::new(Ending::Close, cause, phase)
    }

    /// A failure whose response is in the workspace.
    pub const fn prepared(cause: Cause, phase: Phase) -> Self {
        Self::new(Ending::Prepared, cause, phase)
    }

    /// Whether the server is at fault: neither the client nor a command ended the stream.
    pub fn blames_server(self) -> bool {
        !matches!(self.cause, Cause::ClientAbort | Cause::Down | Cause::Up | Cause::Killed)
    }
}

/// Origin of the choice of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Chooser {
    /// The balancing algorithm, or the existing connection.
    #[default]
    Algorithm,
    /// `use-server`.
    Rule,
    /// The client's persistence cookie.
    Cookie,
    /// A `stick` rule.
    Table,
    /// The proxy names one address (`dispatch`, `option transparent`).
    Address,
}

impl Journal {
    /// Whether the client left without having sent anything.
    pub fn is_empty(&self) -> bool {
        self.status == 0 && self.bytes_in == 0 && self.request == 0
    }
}
