//! The sources of traces, and the names of events, levels and criteria in commands. Data only.

/// A source of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Connections over HTTP/2 and their messages.
    H2,
    /// Messages over HTTP/1.
    H1,
    /// Transactions, and the sessions of proxies in TCP mode.
    Stream,
    /// Health checks.
    Check,
    /// Connections of clients.
    Session,
    /// Connections of QUIC.
    Quic,
    /// Messages over HTTP/3.
    H3,
    /// Connections to FastCGI applications and their messages.
    Fcgi,
}

/// An event, under one name for all sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Event {
    /// A connection over HTTP/2, QUIC or FastCGI has begun.
    Opened,
    /// The connection has ended.
    Closed,
    /// The subject of the source has begun: a stream, a check, a session.
    New,
    /// The subject of the source has ended.
    End,
    /// The subject has failed, or was refused.
    Error,
    /// The head of a message was parsed.
    HeadReceived,
    /// The head was encoded for the other side.
    HeadSent,
    /// Payload was received.
    DataReceived,
    /// Payload was sent.
    DataSent,
    /// A message was received to its end.
    EndReceived,
    /// A message was sent to its end.
    EndSent,
    /// The backend of a stream is known.
    Routed,
    /// A message was analysed.
    Analysed,
    /// The connection to the server is established or has failed.
    Connection,
    /// A check has passed.
    Passed,
    /// A check has failed.
    Failed,
    /// Error output of an application was received.
    ErrorOutput,
}

impl Event {
    /// Its bit in the sets of events.
    pub fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// An event of a source, its name and its meaning.
pub type Named = (Event, &'static str, &'static str);

#[rustfmt::skip]
const H2: &[Named] = &[
    (Event::Opened, "h2c_new", "new H2 connection of a client"),
    (Event::Closed, "h2c_end", "H2 connection of a client terminated"),
    (Event::HeadReceived, "rx_hdr", "receipt of H2 headers"),
    (Event::DataReceived, "rx_data", "receipt of payload"),
    (Event::EndReceived, "rx_eoi", "receipt of the end of a message"),
    (Event::HeadSent, "tx_hdr", "transmission of H2 headers"),
    (Event::DataSent, "tx_data", "transmission of payload"),
    (Event::EndSent, "tx_eoi", "transmission of the end of a message"),
    (Event::New, "h2s_new", "new H2 stream"),
    (Event::End, "h2s_end", "H2 stream terminated"),
    (Event::Error, "h2s_err", "error on H2 stream"),
];

#[rustfmt::skip]
const H1: &[Named] = &[
    (Event::HeadReceived, "rx_headers", "receipt of H1 headers"),
    (Event::DataReceived, "rx_data", "receipt of payload"),
    (Event::EndReceived, "rx_eoi", "receipt of the end of a message"),
    (Event::HeadSent, "tx_headers", "transmission of H1 headers"),
    (Event::DataSent, "tx_data", "transmission of payload"),
    (Event::EndSent, "tx_eoi", "transmission of the end of a message"),
    (Event::New, "h1s_new", "new H1 stream"),
    (Event::End, "h1s_end", "H1 stream terminated"),
    (Event::Error, "h1s_err", "error on H1 stream"),
];

#[rustfmt::skip]
const STREAM: &[Named] = &[
    (Event::New, "strm_new", "new stream"),
    (Event::End, "strm_free", "release stream"),
    (Event::Error, "strm_err", "error during stream processing"),
    (Event::Routed, "strm_ana", "backend chosen"),
    (Event::Connection, "sc_state", "server connected, or attempt failed"),
    (Event::Analysed, "http_ana", "request or response received"),
];

#[rustfmt::skip]
const CHECK: &[Named] = &[
    (Event::New, "hchck_start", "Health-check started"),
    (Event::End, "hchck_end", "Health-check terminated"),
    (Event::Passed, "hchck_succ", "Health-check success"),
    (Event::Failed, "hchck_err", "Health-check failure"),
];

#[rustfmt::skip]
const SESSION: &[Named] = &[
    (Event::New, "sess_new", "new session of a client"),
    (Event::End, "sess_end", "connection of a client terminated"),
    (Event::Error, "sess_err", "connection or session refused by a rule"),
];

#[rustfmt::skip]
const QUIC: &[Named] = &[
    (Event::Opened, "new_conn", "new QUIC connection"),
    (Event::Connection, "hdshk", "QUIC handshake completed"),
    (Event::Error, "conn_err", "error on QUIC connection"),
    (Event::Closed, "conn_end", "QUIC connection terminated"),
];

#[rustfmt::skip]
const H3: &[Named] = &[
    (Event::HeadReceived, "rx_hdr", "receipt of H3 headers"),
    (Event::DataReceived, "rx_data", "receipt of payload"),
    (Event::EndReceived, "rx_eoi", "receipt of the end of a message"),
    (Event::HeadSent, "tx_hdr", "transmission of H3 headers"),
    (Event::DataSent, "tx_data", "transmission of payload"),
    (Event::EndSent, "tx_eoi", "transmission of the end of a message"),
    (Event::New, "h3s_new", "new H3 stream"),
    (Event::End, "h3s_end", "H3 stream terminated"),
    (Event::Error, "h3s_err", "error on H3 stream"),
];

#[rustfmt::skip]
const FCGI: &[Named] = &[
    (Event::Opened, "fconn_new", "new FCGI connection"),
    (Event::Closed, "fconn_end", "FCGI connection terminated"),
    (Event::HeadSent, "tx_params", "transmission of FCGI parameters"),
    (Event::DataSent, "tx_stding", "transmission of payload"),
    (Event::EndSent, "tx_eoi", "transmission of the end of a message"),
    (Event::HeadReceived, "rsp_headers", "receipt of the headers of a response"),
    (Event::DataReceived, "rsp_body", "receipt of payload"),
    (Event::EndReceived, "rsp_eom", "receipt of the end of a message"),
    (Event::ErrorOutput, "rx_stderr", "receipt of error output"),
    (Event::Error, "fstrm_err", "error on FCGI stream"),
];

impl Source {
    /// All sources, each at its own number.
    pub const ALL: [Self; 8] = [
        Self::H2,
        Self::H1,
        Self::Stream,
        Self::Check,
        Self::Session,
        Self::Quic,
        Self::H3,
        Self::Fcgi,
    ];

    /// The source of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::H2 => "h2",
            Self::H1 => "h1",
            Self::Stream => "stream",
            Self::Check => "check",
            Self::Session => "session",
            Self::Quic => "quic",
            Self::H3 => "h3",
            Self::Fcgi => "fcgi",
        }
    }

    /// The subject of the source.
    pub fn about(self) -> &'static str {
        match self {
            Self::H2 => "HTTP/2 multiplexer",
            Self::H1 => "HTTP/1 multiplexer",
            Self::Stream => "Applicative stream",
            Self::Check => "Health-check",
            Self::Session => "Client session",
            Self::Quic => "QUIC transport",
            Self::H3 => "HTTP/3 transcoder",
            Self::Fcgi => "FastCGI multiplexer",
        }
    }

    /// The events of the source.
    pub fn events(self) -> &'static [Named] {
        match self {
            Self::H2 => H2,
            Self::H1 => H1,
            Self::Stream => STREAM,
            Self::Check => CHECK,
            Self::Session => SESSION,
            Self::Quic => QUIC,
            Self::H3 => H3,
            Self::Fcgi => FCGI,
        }
    }

    /// All events of the source, as a set.
    pub fn all_events(self) -> u32 {
        self.events().iter().fold(0, |set, (event, ..)| set | event.bit())
    }

    /// Whether a trace of this source can lock on a place of this kind.
    pub fn knows(self, criterion: Criterion) -> bool {
        use Criterion as C;
        match criterion {
            C::Nothing | C::Thread => true,
            C::Check => self == Self::Check,
            C::H1Stream => self == Self::H1,
            C::H2Stream => self == Self::H2,
            C::Stream => self == Self::Stream,
            C::Frontend | C::Listener | C::Session => self != Self::Check,
            C::Connection => !matches!(self, Self::Stream | Self::Check),
            C::Backend | C::Server => {
                matches!(self, Self::H1 | Self::H2 | Self::H3 | Self::Fcgi | Self::Stream)
            }
        }
    }

    /// Its bit in the set of sources.
    pub fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// A kind of place that a trace can lock on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Criterion {
    /// Nothing.
    #[default]
    Nothing,
    /// The backend.
    Backend,
    /// The connection of the client.
    Connection,
    /// The frontend.
    Frontend,
    /// The listener.
    Listener,
    /// The server.
    Server,
    /// The session of the client.
    Session,
    /// The stream.
    Stream,
    /// The thread.
    Thread,
    /// The check.
    Check,
    /// The stream, as HTTP/1 calls it.
    H1Stream,
    /// The stream, as HTTP/2 calls it.
    H2Stream,
}

/// All criteria, with their names and what they mean, in the order of their list.
#[rustfmt::skip]
pub const CRITERIA: [(Criterion, &str, &str); 12] = [
    (Criterion::Backend, "backend", "lock on the backend that started the trace"),
    (Criterion::Check, "check", "lock on the check that started the trace"),
    (Criterion::Connection, "connection", "lock on the connection that started the trace"),
    (Criterion::Frontend, "frontend", "lock on the frontend that started the trace"),
    (Criterion::Listener, "listener", "lock on the listener that started the trace"),
    (Criterion::Nothing, "nothing", "do not lock on anything"),
    (Criterion::Server, "server", "lock on the server that started the trace"),
    (Criterion::Session, "session", "lock on the session that started the trace"),
    (Criterion::Stream, "stream", "lock on the stream that started the trace"),
    (Criterion::Thread, "thread", "lock on the thread that started the trace"),
    (Criterion::H1Stream, "h1s", "H1 stream"),
    (Criterion::H2Stream, "h2s", "H2 stream"),
];

/// The level of an event; a trace shows events up to its own level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Level {
    /// Errors.
    Error,
    /// Events that users of the proxy look for.
    #[default]
    User,
    /// Events of the protocol.
    Proto,
    /// Changes of states.
    State,
    /// Data that moves.
    Data,
    /// All events.
    Developer,
}

impl Level {
    /// All events, with their names and descriptions.
    #[rustfmt::skip]
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Error, "error", "report errors"),
        (Self::User, "user", "also information useful to the end user"),
        (Self::Proto, "proto", "also protocol-level updates"),
        (Self::State, "state", "also report internal state changes"),
        (Self::Data, "data", "also report data transfers"),
        (Self::Developer, "developer", "also report information useful only to the developer"),
    ];
}

/// The detail of each report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Verbosity {
    /// The event alone.
    Quiet,
    /// Also its subject.
    #[default]
    Clean,
    /// Also the connection.
    Minimal,
    /// Also the first line of the message.
    Simple,
    /// Also its header fields.
    Advanced,
    /// Also bytes, times and retries so far.
    Complete,
}

impl Verbosity {
    /// All levels, with their names and descriptions.
    #[rustfmt::skip]
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Quiet, "quiet", "only report basic information with no decoding"),
        (Self::Clean, "clean", "only user-friendly stuff, generally suitable for level \"user\""),
        (Self::Minimal, "minimal", "add connection, stream and address of the client"),
        (Self::Simple, "simple", "add request/response status line when available"),
        (Self::Advanced, "advanced", "add header fields when available"),
        (Self::Complete, "complete", "add bytes, times and retries so far"),
    ];
}
