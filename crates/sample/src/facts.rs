//! `Facts`: all that an evaluation may know about the world.

use crate::value::{Bytes, Missing, Value};
use crate::vars::{SharedVars, VarName, VarState};
use htx::Head;
use std::net::SocketAddr;
use table::{Entry, Table};

mod record;
mod tls;

pub use record::{ServerPath, TransactionRecord};
pub use tls::{CertificateFact, Hop, NamePart, Offered, Owner, TlsFact};

/// Names that belong to the transaction at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// The frontend.
    Frontend,
    /// The backend, once chosen (or the frontend itself in a `listen` section).
    Backend,
    /// The server, once chosen.
    Server,
    /// The `bind` line (`name`, else its number).
    Listener,
    /// The frontend's `default_backend`.
    DefaultBackend,
    /// The machine's host name.
    Hostname,
    /// The document root of the backend's FastCGI application.
    FcgiDocroot,
    /// The index script of that application.
    FcgiIndex,
}

/// Texts about connections, mostly filled by the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// `fc_err_str`
    ClientError,
    /// `bc_err_str`
    ServerError,
    /// `fc_pp_authority`
    ProxyAuthority,
    /// `fc_pp_unique_id`
    ProxyUniqueId,
}

/// Numbers about the transaction, its proxies and the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// `fe_id`
    FrontendId,
    /// `be_id`
    BackendId,
    /// `srv_id`
    ServerId,
    /// `so_id`
    ListenerId,
    /// `thread`
    Thread,
    /// `fc_http_major`
    ClientHttpMajor,
    /// `bc_http_major`
    ServerHttpMajor,
    /// `fe_client_timeout`, milliseconds
    ClientTimeout,
    /// `be_server_timeout`, milliseconds
    BackendServerTimeout,
    /// `be_tunnel_timeout`, milliseconds
    BackendTunnelTimeout,
    /// `cur_server_timeout`, milliseconds
    CurrentServerTimeout,
    /// `cur_tunnel_timeout`, milliseconds
    CurrentTunnelTimeout,
    /// `prio_class`
    PriorityClass,
    /// `prio_offset`
    PriorityOffset,
    /// `fc_err`
    ClientError,
    /// `fc_rcvd_proxy`, `fc_pp_*`: 1 when the client connection began with a PROXY header
    ReceivedProxy,
    /// `stopping`: 1 while the process is soft-stopping
    Stopping,
    /// Connections currently on the `bind` line (`dst_conn`)
    ListenerConnections,
    /// `bc_err`
    ServerError,
    /// `cpu_calls`: turns of the task that serves the request.
    Turns,
    /// `cpu_ns_tot`: nanoseconds in these turns.
    TurnTime,
    /// `lat_ns_tot`: nanoseconds from wake-ups to these turns.
    TurnLatency,
    /// `fc_glitches`: breaches of the protocol by the client
    ClientGlitches,
    /// `bc_glitches`: the same by the server
    ServerGlitches,
}

/// The kernel's figures about the client's TCP connection; times are microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpState {
    /// `fc_rtt`
    pub rtt: i64,
    /// `fc_rttvar`
    pub rttvar: i64,
    /// `fc_unacked`, segments
    pub unacked: i64,
    /// `fc_sacked`, segments
    pub sacked: i64,
    /// `fc_lost`, segments
    pub lost: i64,
    /// `fc_retrans`, segments
    pub retrans: i64,
    /// `fc_fackets`, segments
    pub fackets: i64,
    /// `fc_reordering`, segments
    pub reordering: i64,
}

/// Counters of a proxy, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// `be_conn`
    BackendConnections,
    /// `be_conn_free`: free slots over the usable servers; -1 when a server has no limit
    BackendFree,
    /// `be_sess_rate`
    BackendSessionRate,
    /// `nbsrv`: usable servers
    UsableServers,
    /// `queue`: requests queued in the backend and its servers
    Queue,
    /// `avg_queue`: queued requests per usable server
    AverageQueue,
    /// `connslots`: free connection and queue slots
    ConnectionSlots,
    /// `fe_conn`
    FrontendConnections,
    /// `fe_req_rate`
    FrontendRequestRate,
    /// `fe_sess_rate`
    FrontendSessionRate,
}

/// Counters of one server, by backend and server name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerCount {
    /// `srv_conn`
    Connections,
    /// `srv_conn_free`
    Free,
    /// `srv_is_up`: 1 or 0
    Up,
    /// `srv_queue`
    Queue,
    /// `srv_sess_rate`
    SessionRate,
    /// `srv_weight`: the weight in effect
    Weight,
    /// `srv_iweight`: the initial weight
    InitialWeight,
    /// `srv_uweight`: the weight last set by the user
    UserWeight,
}

/// Which message a capture or a body belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The request.
    Request,
    /// The response.
    Response,
}

/// A moment of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WallTime {
    /// Seconds since the Unix epoch.
    pub secs: i64,
    /// Microseconds within the second.
    pub micros: u32,
}

/// The world as expressions see it. Every method answers from memory, in constant time where it
/// can, and answers "nothing" when the question has no meaning yet: a response before there is one,
/// a server before it is chosen.
///
/// Variables and captures are written through `&self`: converters such as `set-var` write them
/// while the expression still borrows the message.
pub trait Facts {
    /// The request's head, with the edits made so far.
    fn request(&self) -> Option<&Head> {
        None
    }

    /// The response's head, with the edits made so far.
    fn response(&self) -> Option<&Head> {
        None
    }

    /// The part of a message's body that is buffered.
    fn body(&self, _side: Side) -> Option<&[u8]> {
        None
    }

    /// Where the end of a body is marked in the body itself, and there: its trailers, a line each,
    /// and the empty line behind them.
    fn trailers(&self, _side: Side) -> Option<&[u8]> {
        None
    }

    /// The name of the algorithm that compresses the response, if one does.
    fn compression(&self) -> Option<&'static str> {
        None
    }

    /// The name of the cache that answers the request, if one does.
    fn cache(&self) -> Option<&str> {
        None
    }

    /// The announced length of a body, else the length received so far.
    fn body_size(&self, side: Side) -> Option<u64> {
        self.body(side).map(|bytes| bytes.len() as u64)
    }

    /// Raw bytes buffered on a TCP stream, before any parsing.
    fn payload(&self, _side: Side) -> Option<&[u8]> {
        None
    }

    /// Whether nothing more can arrive for this evaluation: always true outside of `tcp-request
    /// content`.
    fn is_final(&self) -> bool {
        true
    }

    /// Whether the stream carries HTTP messages rather than bytes.
    fn carries_messages(&self) -> bool {
        true
    }

    /// `src`: the client's address as the layer at hand sees it.
    fn source(&self) -> Option<SocketAddr> {
        None
    }

    /// `dst`: the address that the client connected to.
    fn destination(&self) -> Option<SocketAddr> {
        None
    }

    /// `fc_src`: the client's address at the transport or PROXY level.
    fn transport_source(&self) -> Option<SocketAddr> {
        self.source()
    }

    /// `fc_dst`: the destination at the transport or PROXY level.
    fn transport_destination(&self) -> Option<SocketAddr> {
        self.destination()
    }

    /// `bc_src`: our address of the server connection.
    fn server_source(&self) -> Option<SocketAddr> {
        None
    }

    /// `bc_dst`: the server's address of it.
    fn server_destination(&self) -> Option<SocketAddr> {
        None
    }

    /// The state of the client's TCP connection, as the system gives it.
    fn tcp_state(&self) -> Option<TcpState> {
        None
    }

    /// Bytes that a buffer holds (`tune.bufsize`).
    fn buffer_size(&self) -> usize {
        16_384
    }

    /// Whether `address` belongs to this machine.
    fn is_local(&self, _address: SocketAddr) -> bool {
        false
    }

    /// A name of something at hand.
    fn name(&self, _name: Name) -> Option<&[u8]> {
        None
    }

    /// A text about the connections.
    fn text(&self, _text: Text) -> Option<Bytes<'_>> {
        None
    }

    /// A fact about the TLS session of a connection; `None` if it does not exist.
    fn tls(&self, _hop: Hop, _fact: TlsFact<'_>) -> Option<Value<'static>> {
        None
    }

    /// A number about the transaction.
    fn number(&self, _number: Number) -> Option<i64> {
        None
    }

    /// A counter of the proxy called `proxy`; without a name, of the current one.
    fn count(&self, _count: Count, _proxy: Option<&str>) -> Option<i64> {
        None
    }

    /// A counter of a server; without a backend name, in the current backend.
    fn server_count(
        &self,
        _count: ServerCount,
        _backend: Option<&str>,
        _server: &str,
    ) -> Option<i64> {
        None
    }

    /// The value of a variable.
    fn var(&self, _name: &VarName) -> Option<Value<'static>> {
        None
    }

    /// Whether a variable exists and is set.
    fn var_state(&self, _name: &VarName) -> VarState {
        VarState::Absent
    }

    /// Sets a variable, or unsets it.
    fn set_var(&self, _name: &VarName, _value: Option<Value<'static>>) {}

    /// The content of a capture slot.
    fn capture(&self, _side: Side, _slot: usize) -> Option<Bytes<'_>> {
        None
    }

    /// Number of capture slots of the frontend.
    fn capture_count(&self, _side: Side) -> usize {
        0
    }

    /// Fills a capture slot; the owner truncates to the declared length. False when there is no
    /// such slot.
    fn set_capture(&self, _side: Side, _slot: usize, _content: &[u8]) -> bool {
        false
    }

    /// Whether `userlist` has this user with this password. `NotYet`: the answer takes time and
    /// will arrive.
    fn is_user(&self, _list: &str, _user: &[u8], _password: &[u8]) -> Result<bool, Missing> {
        Ok(false)
    }

    /// The groups of a user.
    fn groups<'f>(&'f self, _list: &str, _user: &[u8]) -> std::slice::Iter<'f, String> {
        [].iter()
    }

    /// Whether the client takes us for its proxy and wants to be asked for credentials as by one
    /// (`option http-use-proxy-header`).
    fn is_proxied(&self) -> bool {
        false
    }

    /// Whether this is the first request of its connection.
    fn is_first_request(&self) -> bool {
        true
    }

    /// File and line of the rule that ended the last rule set.
    fn last_rule(&self) -> Option<(&str, u32)> {
        None
    }

    /// Hands a line to a sink: the name of a ring, `stdout` or `stderr`.
    fn write_to_sink(&self, _sink: &str, _line: &[u8]) {}

    /// Wall clock, as of the current turn of the event loop.
    fn wall(&self) -> WallTime {
        WallTime::default()
    }

    /// Seconds east of UTC at `secs` since the epoch.
    fn local_offset(&self, _secs: i64) -> i32 {
        0
    }

    /// 64 random bits.
    fn random(&self) -> u64 {
        0
    }

    /// The transaction's unique id (`unique-id-format`), built on first use.
    fn unique_id(&self) -> Option<Bytes<'_>> {
        None
    }

    /// The log record of the transaction.
    fn record(&self) -> Option<&TransactionRecord> {
        None
    }

    /// The stick table of this number.
    fn table(&self, _number: usize) -> Option<&Table> {
        None
    }

    /// The entry tracked in a place by the stream, or else by the session.
    fn tracked(&self, _slot: usize) -> Option<&Entry> {
        None
    }

    /// Milliseconds of a clock that only goes forward, for stick tables.
    fn now_ms(&self) -> u64 {
        0
    }

    /// Number of worker threads.
    fn threads(&self) -> u32 {
        1
    }
}

/// Facts without values, for expressions evaluated while the configuration is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFacts;

impl Facts for NoFacts {}

/// Expressions that are evaluated outside of any connection see the variables of the process only.
impl Facts for SharedVars {
    fn var(&self, name: &VarName) -> Option<Value<'static>> {
        self.get(name)
    }

    fn var_state(&self, name: &VarName) -> VarState {
        self.state(name)
    }

    fn set_var(&self, name: &VarName, value: Option<Value<'static>>) {
        self.set(name, value);
    }
}
