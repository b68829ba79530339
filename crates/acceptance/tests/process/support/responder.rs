//! Applications that speak FastCGI by script: each connection is handed to the test's own function.
//!
//! Records are read and written here, by the specification alone.

use super::scripted_server::{ScriptedServer, Seen};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const BEGIN_REQUEST: u8 = 1;
const ABORT_REQUEST: u8 = 2;
pub(crate) const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
pub(crate) const STDOUT: u8 = 6;
pub(crate) const STDERR: u8 = 7;
const GET_VALUES: u8 = 9;
const GET_VALUES_RESULT: u8 = 10;

/// Aborted requests, queries, and connections that have ended.
#[derive(Default)]
struct Counts {
    ended: AtomicUsize,
    aborts: AtomicUsize,
    queries: AtomicUsize,
}

/// A request as an application sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppRequest {
    pub(crate) id: u16,
    pub(crate) keep_conn: bool,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) stdin: Vec<u8>,
    encoded: Vec<u8>,
}

impl AppRequest {
    /// The values of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let found = self.params.iter().filter(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a parameter that is there at most once.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() <= 1, "{name}: {all:?}");
        all.first().copied()
    }
}

/// An application that listens on a port given by the system until it is dropped.
pub(crate) struct Responder {
    server: ScriptedServer<AppRequest>,
    counts: Arc<Counts>,
}

/// A connection as the script has it.
pub(crate) struct AppConn {
    pub(crate) stream: TcpStream,
    seen: Arc<Seen<AppRequest>>,
    counts: Arc<Counts>,
    begun: BTreeMap<u16, AppRequest>,
}

impl Responder {
    /// Starts one whose connections are each served by `script` on a thread of their own.
    pub(crate) fn new(script: impl Fn(&mut AppConn) + Send + Sync + 'static) -> Self {
        let counts = Arc::new(Counts::default());
        let shared = counts.clone();
        let server = ScriptedServer::new(move |stream: TcpStream, seen| {
            stream.set_nodelay(true).expect("a TCP socket");
            let (counts, begun) = (shared.clone(), BTreeMap::new());
            let mut conn = AppConn { stream, seen, counts, begun };
            script(&mut conn);
            conn.counts.ended.fetch_add(1, Ordering::Relaxed);
        });
        Self { server, counts }
    }

    /// A responder that gives every request the same output, and keeps connections open.
    pub(crate) fn answering(output: impl Into<Vec<u8>>) -> Self {
        let output = output.into();
        Self::new(move |conn| {
            while let Some(request) = conn.request() {
                conn.answer(&request, &output);
            }
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Connections that have ended.
    pub(crate) fn ended(&self) -> usize {
        self.counts.ended.load(Ordering::Relaxed)
    }

    /// Requests that were aborted.
    pub(crate) fn aborts(&self) -> usize {
        self.counts.aborts.load(Ordering::Relaxed)
    }

    /// Queries of the application's capacity.
    pub(crate) fn queries(&self) -> usize {
        self.counts.queries.load(Ordering::Relaxed)
    }

    /// Complete requests so far.
    pub(crate) fn requests(&self) -> Vec<AppRequest> {
        self.server.requests()
    }

    /// Waits for the request with this number, from 0.
    pub(crate) fn request(&self, number: usize) -> AppRequest {
        self.server.request(number)
    }
}

impl AppConn {
    /// Takes the next request that is complete; `None` when the proxy closed.
    pub(crate) fn request(&mut self) -> Option<AppRequest> {
        loop {
            let (kind, id, content) = self.record()?;
            if kind == STDIN && content.is_empty() {
                let mut request = self.begun.remove(&id)?;
                request.params = pairs(&request.encoded);
                self.seen.push(request.clone());
                return Some(request);
            }
            self.note(kind, id, content);
        }
    }

    /// Takes records up to the end of the parameters of a request, whose body may follow.
    pub(crate) fn head(&mut self) -> Option<AppRequest> {
        loop {
            let (kind, id, content) = self.record()?;
            if kind == PARAMS && content.is_empty() {
                let mut request = self.begun.get(&id)?.clone();
                request.params = pairs(&request.encoded);
                return Some(request);
            }
            self.note(kind, id, content);
        }
    }

    fn note(&mut self, kind: u8, id: u16, content: Vec<u8>) {
        match kind {
            BEGIN_REQUEST => {
                assert_eq!(content[..2], [0, 1], "the role is that of a responder");
                assert_eq!(content[3..], [0; 5], "reserved bytes are zero");
                let keep_conn = content[2] & 1 == 1;
                let request = AppRequest { id, keep_conn, ..AppRequest::default() };
                self.begun.insert(id, request);
            }
            PARAMS => self.begun.entry(id).or_default().encoded.extend(content),
            STDIN => self.begun.entry(id).or_default().stdin.extend(content),
            ABORT_REQUEST => _ = self.counts.aborts.fetch_add(1, Ordering::Relaxed),
            GET_VALUES => {
                self.counts.queries.fetch_add(1, Ordering::Relaxed);
                assert_eq!(id, 0, "queries belong to no request");
                let names: Vec<String> =
                    pairs(&content).into_iter().map(|(name, _)| name).collect();
                assert_eq!(names, ["FCGI_MAX_REQS", "FCGI_MPXS_CONNS"]);
                self.send(GET_VALUES_RESULT, 0, b"\x0d\x01FCGI_MAX_REQS3\x0f\x01FCGI_MPXS_CONNS1");
            }
            other => panic!("a record of type {other}"),
        }
    }

    /// The next record; `None` at the end.
    fn record(&mut self) -> Option<(u8, u16, Vec<u8>)> {
        let mut header = [0; 8];
        self.stream.read_exact(&mut header).ok()?;
        let [version, kind, id1, id0, len1, len0, padding, _] = header;
        assert_eq!(version, 1);
        let mut content = vec![0; usize::from(u16::from_be_bytes([len1, len0]))];
        self.stream.read_exact(&mut content).ok()?;
        let mut waste = vec![0; padding.into()];
        self.stream.read_exact(&mut waste).ok()?;
        Some((kind, u16::from_be_bytes([id1, id0]), content))
    }

    /// Sends a record.
    pub(crate) fn send(&mut self, kind: u8, id: u16, content: &[u8]) {
        // Several tests have a proxy that closes its connections.
        let _ = self.stream.write_all(&record(kind, id, content));
    }

    /// Sends output, and ends the request, in one write.
    pub(crate) fn answer(&mut self, request: &AppRequest, output: &[u8]) {
        let mut bytes = Vec::new();
        for piece in output.chunks(60_000) {
            bytes.extend(record(STDOUT, request.id, piece));
        }
        bytes.extend(record(STDOUT, request.id, b""));
        bytes.extend(end(request.id, 0));
        let _ = self.stream.write_all(&bytes);
    }
}

/// A record with some padding.
pub(crate) fn record(kind: u8, id: u16, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).expect("a record").to_be_bytes();
    let [id1, id0] = id.to_be_bytes();
    let header = [1, kind, id1, id0, len[0], len[1], 3, 0];
    [&header[..], content, b"pad"].concat()
}

/// The end of a request with a protocol status.
pub(crate) fn end(id: u16, status: u8) -> Vec<u8> {
    record(END_REQUEST, id, &[0, 0, 0, 0, status, 0, 0, 0])
}

fn pairs(mut rest: &[u8]) -> Vec<(String, String)> {
    let mut list = Vec::new();
    while !rest.is_empty() {
        let (name, value) = (length(&mut rest), length(&mut rest));
        let (name, behind) = rest.split_at(name);
        let (value, behind) = behind.split_at(value);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        list.push((text(name), text(value)));
        rest = behind;
    }
    list
}

fn length(rest: &mut &[u8]) -> usize {
    let (len, size) = match rest[0] {
        short @ 0..0x80 => (short.into(), 1),
        _ => (u32::from_be_bytes([rest[0] & 0x7f, rest[1], rest[2], rest[3]]) as usize, 4),
    };
    *rest = &rest[size..];
    len
}
