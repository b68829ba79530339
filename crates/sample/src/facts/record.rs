//! The record of a transaction for log lines, filled in by the proxy as the transaction proceeds.

use super::WallTime;
use std::net::SocketAddr;

/// The transaction as logs see it. Times are milliseconds; -1 means the phase was not reached.
#[derive(Debug, Clone)]
pub struct TransactionRecord {
    /// Client address as accepted (`%ci`, `%cp`).
    pub client: Option<SocketAddr>,
    /// Address that accepted it (`%fi`, `%fp`).
    pub frontend: Option<SocketAddr>,
    /// Our end of the server connection (`%bi`, `%bp`).
    pub backend_source: Option<SocketAddr>,
    /// The server's end (`%si`, `%sp`).
    pub server: Option<SocketAddr>,
    /// Whether the server is at a path, and whether a connection to it is established: both ends
    /// are `unix` with port 0 then.
    pub path: ServerPath,
    /// When the connection was accepted (`%t`, `%T`, `%Tl`, `%Ts`, `%ms`).
    pub accepted: WallTime,
    /// When the request's first byte arrived (`%tr`, `%trg`, `%trl`).
    pub requested: WallTime,
    /// `%Th`: handshakes of the connection.
    pub handshake_ms: i64,
    /// `%Ti`: idle before the request.
    pub idle_ms: i64,
    /// `%TR`: receiving the request.
    pub request_ms: i64,
    /// `%Tw`: waiting in queues.
    pub queue_ms: i64,
    /// `%Tc`: connecting to the server.
    pub connect_ms: i64,
    /// `%Tr`: waiting for the response.
    pub response_ms: i64,
    /// `%Td`: transferring data.
    pub data_ms: i64,
    /// `%Ta`: from the request's first byte to the end.
    pub active_ms: i64,
    /// `%Tt`: from the accept to the end.
    pub total_ms: i64,
    /// `%Tu`: what the user waited, total without idle time.
    pub user_ms: i64,
    /// Whether the line is written before the end (`option logasap`): times and sizes get a `+`.
    pub early: bool,
    /// Bytes sent to the client (`%B`).
    pub bytes_read: u64,
    /// Bytes received from the client (`%U`).
    pub bytes_uploaded: u64,
    /// Status sent to the client; -1 when none was.
    pub status: i32,
    /// First two characters of the termination state (`%ts`).
    pub termination: [u8; 2],
    /// Its two cookie characters (`%tsc`).
    pub cookie_state: [u8; 2],
    /// Connections of the process (`%ac`).
    pub process_connections: u32,
    /// Connections of the frontend (`%fc`).
    pub frontend_connections: u32,
    /// Connections of the backend (`%bc`).
    pub backend_connections: u32,
    /// Connections of the server (`%sc`).
    pub server_connections: u32,
    /// Connection attempts repeated (`%rc`).
    pub retries: u32,
    /// Whether another server was chosen in the end: `%rc` gets a `+`.
    pub redispatched: bool,
    /// Requests before this one in the server's queue (`%sq`).
    pub server_queue: u32,
    /// Requests before this one in the backend's queue (`%bq`).
    pub backend_queue: u32,
    /// Lines logged by the frontend so far (`%lc`).
    pub log_count: u64,
    /// Requests (or TCP sessions) of the process so far (`%rt`).
    pub request_count: u64,
    /// Process number (`%pid`).
    pub pid: u32,
    /// Method as received; empty when no request was parsed.
    pub method: Vec<u8>,
    /// Request target as received; empty when no request was parsed.
    pub uri: Vec<u8>,
    /// Version token as received, such as `HTTP/1.1`.
    pub version: Vec<u8>,
    /// `capture cookie`: `name=value` as the client sent it (`%CC`).
    pub request_cookie: Vec<u8>,
    /// `capture cookie`: `name=value` as the server set it (`%CS`).
    pub response_cookie: Vec<u8>,
    /// Whether the client connection is encrypted: `%ft` ends with `~`.
    pub encrypted: bool,
}

/// A server at a path, as log formats see it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum ServerPath {
    /// The server has an address, or no server was chosen.
    #[default]
    None,
    /// The server has a path.
    Server,
    /// A connection to the path was made.
    Connected,
}

impl Default for TransactionRecord {
    fn default() -> Self {
        TransactionRecord {
            client: None,
            frontend: None,
            backend_source: None,
            server: None,
            path: ServerPath::None,
            accepted: WallTime::default(),
            requested: WallTime::default(),
            handshake_ms: 0,
            idle_ms: 0,
            request_ms: -1,
            queue_ms: -1,
            connect_ms: -1,
            response_ms: -1,
            data_ms: -1,
            active_ms: -1,
            total_ms: 0,
            user_ms: 0,
            early: false,
            bytes_read: 0,
            bytes_uploaded: 0,
            status: -1,
            termination: *b"--",
            cookie_state: *b"--",
            process_connections: 0,
            frontend_connections: 0,
            backend_connections: 0,
            server_connections: 0,
            retries: 0,
            redispatched: false,
            server_queue: 0,
            backend_queue: 0,
            log_count: 0,
            request_count: 0,
            pid: 0,
            method: Vec::new(),
            uri: Vec::new(),
            version: Vec::new(),
            request_cookie: Vec::new(),
            response_cookie: Vec::new(),
            encrypted: false,
        }
    }
}

impl TransactionRecord {
    /// Back to the state of a new transaction; the memory of the texts is kept.
    pub fn reset(&mut self) {
        let mut texts = [
            std::mem::take(&mut self.method),
            std::mem::take(&mut self.uri),
            std::mem::take(&mut self.version),
            std::mem::take(&mut self.request_cookie),
            std::mem::take(&mut self.response_cookie),
        ];
        texts.iter_mut().for_each(Vec::clear);
        let [method, uri, version, request_cookie, response_cookie] = texts;
        *self = TransactionRecord {
            method,
            uri,
            version,
            request_cookie,
            response_cookie,
            ..TransactionRecord::default()
        };
    }

    /// The target without scheme and authority.
    pub fn relative_uri(&self) -> &[u8] {
        let method = htx::Method::of(&self.method);
        htx::Target::parse(method, &self.uri).path_and_query().unwrap_or(&self.uri)
    }
}
