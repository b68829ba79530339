//! One connection of the load, and its requests under way.

use crate::LoadResult;
use bytes::Bytes;
use quinn_proto::{Connection, Dir, Event, ReadError, StreamEvent, StreamId, VarInt};
use std::collections::HashMap;
use std::time::Instant;
use wire::h3::qpack::{self, QpackDecoder};
use wire::h3::{H3FrameHeader, H3FrameType, H3Settings, StreamType, encode};

/// A request under way.
struct LoadRequest {
    since: Instant,
    /// Bytes of the response until its first frame is complete.
    head: Vec<u8>,
    is_good: Option<bool>,
}

/// A connection of the load.
pub(crate) struct LoadConnection {
    pub(crate) conn: Connection,
    requests: HashMap<StreamId, LoadRequest>,
    /// Requests that may still begin.
    left: u64,
    is_connected: bool,
    pub(crate) is_lost: bool,
    /// Requests that are over.
    pub(crate) done: u64,
}

impl LoadConnection {
    pub(crate) fn new(conn: Connection, left: u64) -> Self {
        let requests = HashMap::new();
        Self { conn, requests, left, is_connected: false, is_lost: false, done: 0 }
    }

    /// Handles the datagrams that have arrived, and starts requests.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        (request, streams): (&[u8], u32),
        result: &mut LoadResult,
    ) {
        while let Some(event) = self.conn.poll() {
            match event {
                Event::Connected => self.greet(),
                Event::Stream(StreamEvent::Readable { id }) => self.read(id, now, result),
                Event::ConnectionLost { .. } => {
                    self.is_lost = true;
                    result.broken += 1;
                    result.failed += self.requests.len() as u64;
                    self.requests.clear();
                }
                _ => {}
            }
        }
        let most = streams as usize;
        while self.is_connected && !self.is_lost && self.left > 0 && self.requests.len() < most {
            let Some(id) = self.conn.streams().open(Dir::Bi) else { return };
            let mut stream = self.conn.send_stream(id);
            // A request is shorter than any window that a server grants.
            let sent = stream.write(request).is_ok_and(|count| count == request.len());
            if !sent || stream.finish().is_err() {
                result.failed += 1;
                continue;
            }
            self.left -= 1;
            let exchange = LoadRequest { since: now, head: Vec::new(), is_good: None };
            self.requests.insert(id, exchange);
        }
    }

    /// Opens the control stream.
    fn greet(&mut self) {
        self.is_connected = true;
        let mut hello = Vec::new();
        encode::stream_type(StreamType::CONTROL, &mut hello);
        encode::settings(&H3Settings::default(), &mut hello);
        if let Some(id) = self.conn.streams().open(Dir::Uni) {
            let _ = self.conn.send_stream(id).write(&hello);
        }
    }

    fn read(&mut self, id: StreamId, now: Instant, result: &mut LoadResult) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        let mut stream = self.conn.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => request.receive(&chunk.bytes, result),
                Ok(None) => break request.is_good.or(Some(false)),
                Err(ReadError::Blocked) => break None,
                Err(ReadError::Reset(_)) => break Some(false),
            }
        };
        let _ = chunks.finalize();
        let Some(is_good) = over else { return };
        match is_good {
            true => result.latencies.push((now - request.since).as_micros() as u32),
            false => result.failed += 1,
        }
        self.requests.remove(&id);
        self.done += 1;
    }

    pub(crate) fn close(&mut self, now: Instant) {
        self.conn.close(now, VarInt::from_u32(0x100), Bytes::new());
    }
}

impl LoadRequest {
    fn receive(&mut self, bytes: &[u8], result: &mut LoadResult) {
        if self.is_good.is_some() {
            result.bytes += bytes.len() as u64;
            return;
        }
        self.head.extend_from_slice(bytes);
        let Some((header, size)) = H3FrameHeader::decode(&self.head) else { return };
        let Some(section) = self.head.get(size..size + header.len as usize) else { return };
        let mut is_good = false;
        let note = |name: &[u8], value: &[u8]| is_good |= (name, value) == (b":status", b"200");
        let decoded = QpackDecoder::new(0).decode_within(section, usize::MAX, note).is_ok();
        self.is_good = Some(decoded && is_good && header.kind == H3FrameType::HEADERS);
    }
}

/// The bytes of a request.
pub(crate) fn request(authority: &str, path: &str) -> Vec<u8> {
    let mut section = Vec::new();
    qpack::prefix(&mut section);
    let fields =
        [(":method", "GET"), (":scheme", "https"), (":authority", authority), (":path", path)];
    for (name, value) in fields {
        let id = htx::HeaderId::from_lower(name.as_bytes());
        qpack::field(id, name.as_bytes(), value.as_bytes(), &mut section);
    }
    let mut bytes = Vec::new();
    encode::header(H3FrameType::HEADERS, section.len(), &mut bytes);
    bytes.extend_from_slice(&section);
    bytes
}
