//! One request or TCP stream: the data that its stages work on.

use crate::state::backend::reservation::Claim;
use crate::state::backend::server_connection::ServerConn;
use crate::state::records::flight_recorder::Text;
use crate::state::runtime::{BackendRef, Proxy, ProxyRef};
use crate::state::services::piece_stream::PieceStream;
use crate::state::session::client::Client;
use crate::state::session::cookie_dates::Dates;
use crate::state::session::request_buffers::{Lease, Notes};
use crate::state::session::stream_list::Listed;
use crate::state::session::stream_list::http::Http;
use crate::state::worker::Worker;
use cache::Hit;
use htx::{Fields, Head};
use mux::BodyKind;
use rules::{Cursor, Need};
use std::pin::Pin;
use std::rc::Rc;
use stdx::{Tick, prefetch};
use transport::socket::Transport;
use transport::stats::transaction_log::{Ending, Failure, Journal, Phase};
use transport::thread::future_pool::SeatPool;
use transport::tls_facts::Failed;

/// The event that began a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The client sent bytes.
    Data,
    /// The client closed without a byte.
    Closed,
    /// The client sent no byte in time.
    TimedOut,
}

/// The input of a transaction.
pub struct Parts {
    /// The client.
    pub client: Box<Client>,
    /// The event that began the transaction.
    pub arrival: Arrival,
}

/// The state of the client after a transaction.
pub enum Outcome {
    /// The client may send another request.
    Again(Box<Client>),
    /// The client has its answer, and may still send bytes, which are dropped.
    Farewell(Box<Client>),
    /// Its connection is over.
    Over,
    /// The stream continues as a tunnel; its outcome is that of this future.
    Tunnel(Pin<Box<dyn Future<Output = Outcome>>>),
}

/// When the peers of a tunnel were last heard of.
#[derive(Clone, Copy, Debug)]
pub struct TunnelTimes {
    /// The client last received or sent bytes.
    pub client_seen: Tick,
    /// The server did.
    pub server_seen: Tick,
    /// The client last sent bytes.
    pub client_heard: Tick,
    /// The server did.
    pub server_heard: Tick,
}

impl TunnelTimes {
    /// Both peers were heard of at this moment.
    pub fn at(now: Tick) -> Self {
        Self { client_seen: now, server_seen: now, client_heard: now, server_heard: now }
    }
}

/// A transaction under way.
pub struct Transaction {
    /// The thread that serves it.
    pub worker: Rc<Worker>,
    /// The client.
    pub client: Box<Client>,
    /// Buffers and heads, leased from the thread.
    pub space: Lease,
    /// Variables, captures, times and what rules have changed.
    pub notes: Box<Notes>,
    /// The backend, once it is chosen.
    pub backend: Option<BackendRef>,
    /// The claim on the server in use or last tried.
    pub claim: Option<Claim>,
    /// The connection to the server.
    pub server: Option<Box<ServerConn>>,
    /// How the request's body is delimited.
    pub request_body: BodyKind,
    /// The server that the request's cookie names.
    pub persistent_server: Option<usize>,
    /// `use-server` has named the server, instead of the cookie.
    pub selected_by_rule: bool,
    /// The effect of rules on the cookie.
    pub persistence: Persistence,
    /// The request is counted in its backend's sessions.
    pub backend_session: Option<BackendSession>,
    /// Its line in the list of streams.
    pub stream_entry: Option<Listed>,
    /// The interim responses that the client has got.
    pub interim: Interim,
    /// The request as kept for a retry, with `retry-on`.
    pub retry_copy: Option<Box<RetryCopy>>,
    /// The head of the request is stored in the notes.
    pub head_in_notes: bool,
    /// Bytes sent to the server from workspaces that have been given back.
    pub sent_earlier: u64,
    /// When a connection that was kept has failed the request, in nanoseconds: the next one has to
    /// be younger.
    pub failed_at: Option<u64>,
    /// Early data: a request sent before the end of the handshakes.
    pub early_data: EarlyDataState,
    /// The body of a local answer, as far as it is not in the workspace.
    pub local_body: Option<LocalBody>,
    /// The wait of the response's rules.
    pub suspended_rules: Option<Box<Pause>>,
    /// The dates in the client's persistence cookie.
    pub cookie_dates: Dates,
    /// The request is a POST; set where cookies are used.
    pub is_post: bool,
    /// The method only reads; set with `option checkcache`.
    pub only_reads: bool,
    /// The server has asked for credentials.
    pub challenged: bool,
    /// The client closed while the proxy waited for its body.
    pub client_aborted: bool,
    /// `silent-drop`: the connection ends without a packet to the client.
    pub reset_client: bool,
    /// The exchange has become a tunnel that is silent now.
    pub tunnel: Option<Box<TunnelTimes>>,
}

/// The body of a local answer.
pub enum LocalBody {
    /// Made in pieces.
    Pieces(Box<PieceStream>),
    /// An object of a cache.
    Stored(Box<Hit>),
}

/// A place in the rules of a proxy: the section, and the next rule in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RulePlace {
    /// Number of the section, its own or that of its defaults; of the rule where a stage has no
    /// sections.
    pub section: usize,
    /// The next rule.
    pub cursor: Cursor,
}

/// The position of a message in its list of stages.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Number of the stage in its table.
    pub stage: usize,
    /// Where a stage runs for two proxies: 0 is the backend, 1 the frontend.
    pub proxy: usize,
    /// The next rule.
    pub place: RulePlace,
    /// How the body of a response is delimited.
    pub body: BodyKind,
    /// The end of the stage's wait for more bytes.
    pub until: Option<Tick>,
    /// A rule closes the connection to the server behind the bytes that have arrived.
    pub closes: bool,
}

impl Progress {
    /// The start of a stage.
    pub fn at(stage: usize, body: BodyKind) -> Self {
        let place = RulePlace::default();
        Self { stage, proxy: 0, place, body, until: None, closes: false }
    }

    /// The start of a later stage of the same message.
    #[must_use]
    pub fn next(self, stage: usize) -> Self {
        Self { closes: self.closes, ..Self::at(stage, self.body) }
    }
}

/// A wait of the rules of a response.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// Where the rules continue.
    pub at: Progress,
    /// The event that they wait for.
    pub need: Need,
}

/// The effect of rules on persistence by cookies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Persistence {
    /// Nothing.
    #[default]
    Usual,
    /// `force-persist`: also to a server that is down.
    Forced,
    /// `ignore-persist`
    Ignored,
}

/// A request counted in a backend's sessions, until dropped.
pub struct BackendSession(pub BackendRef);

impl Drop for BackendSession {
    fn drop(&mut self) {
        self.0.back.sessions.leave();
    }
}

/// A request that is kept for a retry once it was sent.
#[derive(Debug)]
pub struct RetryCopy {
    /// Head of the request.
    pub head: Head,
    /// The payload so far.
    pub payload: Vec<u8>,
    /// Trailers of the request.
    pub trailers: Fields,
    /// The payload is complete.
    pub whole: bool,
}

impl RetryCopy {
    /// Its head as it will go out again.
    pub fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }
}

/// The interim responses to a request, from all servers that it was sent to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interim {
    /// There was none.
    #[default]
    None,
    /// The client has got a 100 of the current server.
    Continue,
    /// The current server has sent one that the client does not get.
    Dropped,
    /// Failed servers have sent a 100: the client has no use for another one.
    Continued,
    /// The client has got the beginning of an answer, as a 103: no other answer may follow it.
    Begun,
}

impl Interim {
    /// Whether the current server has sent an interim response.
    pub fn is_of_this_server(self) -> bool {
        matches!(self, Self::Continue | Self::Dropped | Self::Begun)
    }
}

/// The state of a transaction's early data.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarlyDataState {
    /// The proxy has added the header `early-data`.
    pub header_added: bool,
    /// A server has got the request as early data although the client did not send it so.
    pub sent_by_proxy: bool,
    /// A server has refused early data: none is sent again.
    pub disabled: bool,
}

/// The outcome of early data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlyDataResult {
    /// No early data was sent.
    Unsaid,
    /// The server has accepted it.
    Taken,
    /// The server has rejected it.
    Refused,
}

/// The pool of a worker's HTTP transactions.
pub(crate) type Seats = SeatPool<Parts, Outcome>;

impl Transaction {
    /// Begins a transaction of a client.
    pub fn new(Parts { mut client, arrival }: Parts) -> Self {
        let worker = client.worker.clone();
        let (space, mut notes) = (Lease::new(&worker), worker.take_notes());
        std::mem::swap(&mut notes.variables.session, &mut client.variables);
        let (now, wall) = (worker.thread.nanos(), worker.thread.wall());
        notes.journal = Journal {
            began: client.since,
            began_wall: wall - (now - client.since).min(wall),
            // A client that sent no byte was waited for all the time.
            first_byte: if arrival == Arrival::Data { now } else { client.since },
            cookie: (b'-', b'-'),
            ..Journal::default()
        };
        notes.line = Text::default();
        (notes.ahead, notes.bytes_counted) = Default::default();
        notes.usage = worker.thread.scheduler().usage_before();
        if let Some(transport) = client.socket.transport() {
            transport.begin_message();
        }
        Self::over(worker, client, space, notes)
    }

    /// A transaction that has done nothing, over this memory.
    pub fn over(worker: Rc<Worker>, client: Box<Client>, space: Lease, notes: Box<Notes>) -> Self {
        Self {
            worker,
            client,
            space,
            notes,
            backend: None,
            claim: None,
            server: None,
            request_body: BodyKind::None,
            persistent_server: None,
            selected_by_rule: false,
            persistence: Persistence::default(),
            backend_session: None,
            stream_entry: None,
            interim: Interim::default(),
            retry_copy: None,
            head_in_notes: false,
            sent_earlier: 0,
            failed_at: None,
            early_data: EarlyDataState::default(),
            local_body: None,
            suspended_rules: None,
            cookie_dates: Dates::default(),
            is_post: false,
            only_reads: false,
            challenged: false,
            client_aborted: false,
            reset_client: false,
            tunnel: None,
        }
    }

    /// Prefetches the memory of the transaction, after a wake-up.
    #[inline]
    pub fn prefetch(&self) {
        prefetch::prefetch(&*self.client);
        if let Some(server) = &self.server {
            prefetch::prefetch(&**server);
        }
        prefetch::prefetch(&self.notes.journal);
    }

    /// The exchange for the list of streams.
    pub fn http(&self) -> Http {
        Http::new(&self.space.request, self.request_body, !self.client.socket.is_stream())
    }

    /// # Errors
    /// An operator, or the end of its server, ends it in this phase, with this consequence for the
    /// client.
    #[inline]
    pub fn go_on(&self, ending: Ending, phase: Phase) -> Result<(), Failure> {
        match self.stream_entry.as_ref().and_then(Listed::ends) {
            None => Ok(()),
            Some(cause) => Err(Failure::new(ending, cause, phase)),
        }
    }

    /// Gives the server connection up.
    pub fn drop_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            let session = server.socket().transport().and_then(Transport::session);
            if let Some(failed) = session.and_then(|session| Failed::fatal(&session)) {
                (self.notes.used, self.notes.unsecured) = (true, Some(Box::new(failed)));
            }
            server.choose_end();
            self.worker.release(server.take_input());
        }
    }

    /// `timeout server`, unless a rule has set another.
    pub fn server_timeout(&self) -> Option<u32> {
        self.notes.limits[0].or(self.side().settings.timeouts.server)
    }

    /// `timeout tunnel`, unless a rule has set another.
    pub fn tunnel_timeout(&self) -> Option<u32> {
        self.notes.limits[1].or(self.side().settings.timeouts.tunnel)
    }

    /// The proxy whose settings hold for the server side, else the frontend.
    pub fn side(&self) -> &Proxy {
        self.backend.as_ref().map_or(&**self.client.proxy, |backend| backend)
    }

    /// A handle on the same proxy.
    pub fn side_ref(&self) -> &ProxyRef {
        self.backend.as_ref().map_or(&self.client.proxy.common, |backend| &backend.common)
    }

    /// Settings of the backend: the chosen one, else that of a `listen` section.
    pub fn back_settings(&self) -> Option<&settings::Backend> {
        let backend = self.backend.as_ref().or(self.client.proxy.itself.as_ref());
        backend.map(|backend| &backend.back.settings)
    }
}
