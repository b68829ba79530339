//! One connection: it moves bytes between the transport's streams and an HTTP/3 machine.

use crate::congestion::Acknowledgements;
use crate::datagram::{ConnectionKey, ConnectionMessage, Outgoing, moment};
use bytes::Bytes;
use mux::h3::{Abort, H3Conn, H3Error, Target};
use quinn_proto::{
    Chunk, Connection, ConnectionError, ConnectionEvent, Dir, EndpointEvent, Event, ReadError,
    Side, StreamEvent, StreamId, VarInt, WriteError,
};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use wire::h3::H3ErrorCode;

/// The protocol that a client has to choose.
const PROTOCOL: &[u8] = b"h3";

/// Why a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The client has closed it.
    Peer,
    /// The client was silent for too long.
    Idle,
    /// We have closed it.
    Local,
    /// The client has lost its state.
    Reset,
    /// The client has broken the protocol of the transport, or the handshake has failed.
    Transport,
}

impl CloseReason {
    fn of(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
                Self::Peer
            }
            ConnectionError::TimedOut => Self::Idle,
            ConnectionError::LocallyClosed => Self::Local,
            ConnectionError::Reset => Self::Reset,
            ConnectionError::VersionMismatch
            | ConnectionError::TransportError(_)
            | ConnectionError::CidsExhausted => Self::Transport,
        }
    }
}

/// Facts about the path of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathFacts {
    /// The round-trip time.
    pub rtt: Duration,
    /// Bytes that may be under way.
    pub window: u64,
    /// Largest datagram that is sent.
    pub mtu: u16,
    /// Packets sent and lost.
    pub sent: u64,
    /// Packets lost.
    pub lost: u64,
}

/// The code with which a side has closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// An error of the transport (RFC 9000 section 20.1).
    Transport(u64),
    /// An error of HTTP/3 (RFC 9114 section 8.1).
    Application(u64),
}

impl CloseCode {
    fn of(error: &ConnectionError, own: Option<u64>) -> Option<Self> {
        match error {
            ConnectionError::ConnectionClosed(close) => {
                Some(Self::Transport(close.error_code.into()))
            }
            ConnectionError::ApplicationClosed(close) => {
                Some(Self::Application(close.error_code.into_inner()))
            }
            ConnectionError::TransportError(error) => Some(Self::Transport(error.code.into())),
            ConnectionError::LocallyClosed => own.map(Self::Application),
            _ => None,
        }
    }
}

/// Counts of a connection since its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionTotals {
    /// Packets sent.
    pub sent: u64,
    /// Sent packets that were lost.
    pub lost: u64,
    /// Changes of the client's address.
    pub migrations: u64,
    /// DATA_BLOCKED frames received.
    pub data_blocked: u64,
    /// STREAM_DATA_BLOCKED frames received.
    pub stream_data_blocked: u64,
    /// STREAMS_BLOCKED frames received, for bidirectional and for unidirectional streams.
    pub streams_blocked: [u64; 2],
}

/// Two of these differ if the client has taken something of the responses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryProgress {
    /// Streams with output that was not acknowledged; 1 for the GOAWAY alone.
    streams: usize,
    /// Frames that have opened windows.
    windows: u64,
}

/// Errors of streams that are kept between two calls of [`QuicConnection::take_stream_errors`].
const STREAM_ERRORS: usize = 256;

/// A connection to a client.
pub struct QuicConnection {
    key: ConnectionKey,
    inner: Connection,
    origin: Instant,
    /// Our unidirectional streams, once they are open.
    control: Option<StreamId>,
    decoder: Option<StreamId>,
    /// Streams with news from before the end of the handshake. Their payload may be a replay, so it
    /// waits for the handshake; the transport's windows bound it.
    early: Vec<StreamEvent>,
    is_connected: bool,
    /// The endpoint knows that the handshake is over.
    is_counted: bool,
    session: Option<tls::Conn>,
    closed: Option<CloseReason>,
    /// The end of the machine was reported to the transport.
    is_closing: bool,
    /// The code with which we have closed the connection.
    own_code: Option<u64>,
    code: Option<CloseCode>,
    /// The client's address at the last exchange, and how often it has changed.
    address: SocketAddr,
    migrations: u64,
    /// The PATH_RESPONSE frames received when the address changed, until another one comes.
    unvalidated: Option<u64>,
    /// A datagram has arrived since the last one was sent.
    acknowledges: bool,
    /// Codes with which streams were given up by either side.
    stream_errors: Vec<u64>,
    /// The packet whose acknowledgement is awaited at the end of the connection.
    last_packet: LastPacket,
}

/// The last packet of a connection that ends, which the client has to acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastPacket {
    /// The connection does not end yet.
    Unneeded,
    /// The marked packet is the next one.
    Next,
    /// The marked packet was sent with this number.
    Sent(u64),
}

impl std::fmt::Debug for QuicConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuicConnection").field("key", &self.key).finish_non_exhaustive()
    }
}

impl QuicConnection {
    pub(crate) fn new(key: ConnectionKey, inner: Connection, origin: Instant) -> Self {
        let address = inner.remote_address();
        Self {
            key,
            inner,
            origin,
            control: None,
            decoder: None,
            early: Vec::new(),
            is_connected: false,
            is_counted: false,
            session: None,
            closed: None,
            is_closing: false,
            own_code: None,
            code: None,
            address,
            migrations: 0,
            unvalidated: None,
            acknowledges: false,
            stream_errors: Vec::new(),
            last_packet: LastPacket::Unneeded,
        }
    }

    /// Its key.
    pub fn key(&self) -> ConnectionKey {
        self.key
    }

    /// Handles a datagram.
    pub fn handle(&mut self, message: ConnectionMessage) {
        self.inner.handle_event(message.0);
        self.acknowledges = true;
    }

    /// Handles timers that are due.
    pub fn handle_time(&mut self, nanos: u64) {
        let now = moment(self.origin, nanos);
        if self.inner.poll_timeout().is_some_and(|at| at <= now) {
            self.inner.handle_timeout(now);
        }
    }

    /// When [`QuicConnection::handle_time`] is to be called, in nanoseconds.
    pub fn next_time(&mut self) -> Option<u64> {
        let at = self.inner.poll_timeout()?;
        let span = at.saturating_duration_since(self.origin);
        Some(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Moves bytes and events between the transport and the machine, as far as they go. `report`
    /// hands an event to the endpoint, which may reply.
    pub(crate) fn exchange(
        &mut self,
        nanos: u64,
        machine: &mut H3Conn,
        mut report: impl FnMut(EndpointEvent) -> Option<ConnectionEvent>,
    ) {
        loop {
            while let Some(event) = self.inner.poll_endpoint_events() {
                if let Some(reply) = report(event) {
                    self.inner.handle_event(reply);
                }
            }
            let mut news = false;
            while let Some(event) = self.inner.poll() {
                self.handle_event(nanos, event, machine);
                news = true;
            }
            self.take_output(nanos, machine);
            if !news && !self.has_work(machine) {
                break;
            }
        }
        self.note_address();
    }

    fn note_address(&mut self) {
        let address = self.inner.remote_address();
        if address != self.address {
            self.address = address;
            self.migrations += 1;
            self.unvalidated = Some(self.inner.stats().frame_rx.path_response);
        } else if self.unvalidated.is_some_and(|it| it != self.inner.stats().frame_rx.path_response)
        {
            self.unvalidated = None;
        }
    }

    /// Whether the handshake has ended, in whatever way, since the last call.
    pub(crate) fn ends_handshake(&mut self) -> bool {
        // The transport reports no event for a close of our own.
        let ended = self.is_connected || self.is_closing || self.closed.is_some();
        ended && !std::mem::replace(&mut self.is_counted, true)
    }

    /// Whether the endpoint still counts the handshake of a connection that it forgets.
    pub(crate) fn gives_up_handshake(&mut self) -> bool {
        !std::mem::replace(&mut self.is_counted, true)
    }

    /// Whether the machine has output that an exchange would take.
    pub fn has_work(&self, machine: &H3Conn) -> bool {
        let works = self.is_connected && !self.is_closing && self.closed.is_none();
        works && machine.has_news()
    }

    /// Fills `out`, which is empty, with datagrams: at most `segments` of the same size.
    pub fn transmit(&mut self, nanos: u64, segments: usize, out: &mut Vec<u8>) -> Option<Outgoing> {
        let now = moment(self.origin, nanos);
        // Until a new path is validated, each packet repeats its challenge and is padded. The
        // transport counts those that only acknowledge against its window and sets no timer for
        // them, so that it would wait forever once they are lost. A PING sets the timer.
        if std::mem::take(&mut self.acknowledges) && self.unvalidated.is_some() {
            self.inner.ping();
        }
        let transmit = self.inner.poll_transmit(now, segments, out)?;
        if self.last_packet == LastPacket::Next {
            let seen = Acknowledgements::of(self.inner.congestion_state());
            self.last_packet = LastPacket::Sent(seen.sent);
        }
        Some(Outgoing::of(&transmit))
    }

    /// Closes the connection.
    pub fn close(&mut self, nanos: u64, code: H3ErrorCode) {
        if !std::mem::replace(&mut self.is_closing, true) {
            let now = moment(self.origin, nanos);
            self.own_code = Some(code.0);
            self.inner.close(now, number(code), Bytes::new());
        }
    }

    /// Whether the handshake is over.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// The reason for the end of the connection, if it has ended.
    pub fn closed(&self) -> Option<CloseReason> {
        self.closed
    }

    /// The code with which a side has closed the connection, if one has.
    pub fn close_code(&self) -> Option<CloseCode> {
        self.code.or(self.own_code.map(CloseCode::Application))
    }

    /// Whether the connection is closing or closed.
    pub fn is_closing(&self) -> bool {
        self.is_closing || self.closed.is_some()
    }

    /// Counts since its beginning.
    pub fn totals(&self) -> ConnectionTotals {
        let stats = self.inner.stats();
        let frames = stats.frame_rx;
        ConnectionTotals {
            sent: stats.path.sent_packets,
            lost: stats.path.lost_packets,
            migrations: self.migrations,
            data_blocked: frames.data_blocked,
            stream_data_blocked: frames.stream_data_blocked,
            streams_blocked: [frames.streams_blocked_bidi, frames.streams_blocked_uni],
        }
    }

    /// Codes with which streams were given up by either side since the last call.
    pub fn take_stream_errors(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.stream_errors)
    }

    fn note_stream_error(&mut self, code: u64) {
        if self.stream_errors.len() < STREAM_ERRORS {
            self.stream_errors.push(code);
        }
    }

    /// The progress of a client that has not acknowledged all responses and the GOAWAY behind them;
    /// `None`: it has. For a connection on which nothing more begins.
    pub fn delivery(&mut self) -> Option<DeliveryProgress> {
        let own = usize::from(self.control.is_some()) + usize::from(self.decoder.is_some());
        let mut streams = self.inner.streams().send_streams().saturating_sub(own);
        if streams == 0 && !self.has_last_packet() {
            // The control stream has no end that the transport could report.
            streams = 1;
        }
        let frames = self.inner.stats().frame_rx;
        let windows = frames.max_data + frames.max_stream_data;
        (streams > 0).then_some(DeliveryProgress { streams, windows })
    }

    /// Whether the client has all that was sent. The first call asks it for an acknowledgement.
    fn has_last_packet(&mut self) -> bool {
        match self.last_packet {
            LastPacket::Unneeded => {
                self.inner.ping();
                self.last_packet = LastPacket::Next;
                false
            }
            LastPacket::Next => false,
            LastPacket::Sent(number) => {
                Acknowledgements::of(self.inner.congestion_state()).covers(number)
            }
        }
    }

    /// Asks the client for a sign of life, which [`QuicConnection::acknowledgements`] shows.
    pub fn ping(&mut self) {
        self.inner.ping();
    }

    /// Acknowledgements that the client has sent.
    pub fn acknowledgements(&self) -> u64 {
        self.inner.stats().frame_rx.acks
    }

    /// Whether nothing more will be sent or received.
    pub fn is_over(&self) -> bool {
        self.inner.is_drained()
    }

    /// Takes the TLS session, for queries, once the handshake is over.
    pub fn take_session(&mut self) -> Option<tls::Conn> {
        self.session.take()
    }

    /// The client's address now.
    pub fn remote(&self) -> SocketAddr {
        self.inner.remote_address()
    }

    /// Our address, if the system says it.
    pub fn local(&self) -> Option<IpAddr> {
        self.inner.local_ip()
    }

    /// Facts about the path now.
    pub fn path(&self) -> PathFacts {
        let stats = self.inner.stats();
        PathFacts {
            rtt: stats.path.rtt,
            window: stats.path.cwnd,
            mtu: stats.path.current_mtu,
            sent: stats.path.sent_packets,
            lost: stats.path.lost_packets,
        }
    }

    // ---- events of the transport

    fn handle_event(&mut self, nanos: u64, event: Event, machine: &mut H3Conn) {
        match event {
            Event::Connected => self.connected(nanos, machine),
            Event::ConnectionLost { reason } => {
                self.closed = Some(CloseReason::of(&reason));
                self.code = CloseCode::of(&reason, self.own_code);
                machine.handle_eof();
            }
            Event::Stream(event) if !self.is_connected => self.early.push(event),
            Event::Stream(event) => self.stream_event(nanos, event, machine),
            Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {}
        }
    }

    fn connected(&mut self, nanos: u64, machine: &mut H3Conn) {
        self.is_connected = true;
        let session = self.inner.crypto_session().handshake_data();
        self.session = session.and_then(|it| it.downcast().ok()).map(|session| *session);
        if self.session.as_ref().and_then(|session| session.alpn()) != Some(PROTOCOL) {
            return self.close(nanos, H3ErrorCode::VERSION_FALLBACK);
        }
        self.open_own(machine);
        for event in std::mem::take(&mut self.early) {
            self.stream_event(nanos, event, machine);
        }
    }

    /// Opens our unidirectional streams, as far as the client allows.
    fn open_own(&mut self, machine: &mut H3Conn) {
        if self.control.is_none() {
            self.control = self.inner.streams().open(Dir::Uni);
        }
        if self.decoder.is_none() && self.control.is_some() {
            self.decoder = self.inner.streams().open(Dir::Uni);
        }
        machine.resume_write(Target::Control);
        machine.resume_write(Target::Decoder);
    }

    fn stream_event(&mut self, nanos: u64, event: StreamEvent, machine: &mut H3Conn) {
        match event {
            StreamEvent::Opened { dir } => {
                while let Some(id) = self.inner.streams().accept(dir) {
                    if dir == Dir::Bi {
                        machine.open_request(id.into());
                    }
                    self.read(nanos, id, machine);
                }
            }
            StreamEvent::Readable { id } => self.read(nanos, id, machine),
            StreamEvent::Writable { id } => machine.resume_write(self.target(id)),
            StreamEvent::Stopped { id, error_code } => {
                self.note_stream_error(error_code.into_inner());
                // The machine may have forgotten the stream, because the transport has all of it.
                if id.dir() == Dir::Bi {
                    let _ =
                        self.inner.send_stream(id).reset(number(H3ErrorCode::REQUEST_CANCELLED));
                }
                if let Err(error) = machine.receive_stop(id.into()) {
                    self.break_off(nanos, error);
                }
            }
            StreamEvent::Available { dir: Dir::Uni } => self.open_own(machine),
            StreamEvent::Available { .. } | StreamEvent::Finished { .. } => {}
        }
    }

    /// Bytes that the machine writes to a stream.
    fn target(&self, id: StreamId) -> Target {
        match id {
            id if Some(id) == self.control => Target::Control,
            id if Some(id) == self.decoder => Target::Decoder,
            id => Target::Request(id.into()),
        }
    }

    /// Hands a stream's bytes to the machine, as far as it has room.
    fn read(&mut self, nanos: u64, id: StreamId, machine: &mut H3Conn) {
        loop {
            let room = machine.room(id.into());
            if room == 0 {
                return;
            }
            let result = match self.read_chunk(id, room) {
                Some(Ok(Some(chunk))) => machine.receive(id.into(), &chunk.bytes),
                Some(Ok(None)) => return self.end(nanos, id, machine, H3Conn::finish),
                Some(Err(ReadError::Reset(code))) => {
                    self.note_stream_error(code.into_inner());
                    return self.end(nanos, id, machine, H3Conn::receive_reset);
                }
                Some(Err(ReadError::Blocked)) | None => return,
            };
            if let Err(error) = result {
                return self.break_off(nanos, error);
            }
        }
    }

    fn end(
        &mut self,
        nanos: u64,
        id: StreamId,
        machine: &mut H3Conn,
        how: impl FnOnce(&mut H3Conn, u64) -> Result<(), H3Error>,
    ) {
        if let Err(error) = how(machine, id.into()) {
            self.break_off(nanos, error);
        }
    }

    /// The next bytes of a stream; `None` if it is not read any more.
    fn read_chunk(
        &mut self,
        id: StreamId,
        room: usize,
    ) -> Option<Result<Option<Chunk>, ReadError>> {
        let mut stream = self.inner.recv_stream(id);
        let mut chunks = stream.read(true).ok()?;
        let next = chunks.next(room);
        // Windows are announced with the next datagram in any case.
        let _ = chunks.finalize();
        Some(next)
    }

    // ---- output of the machine

    fn take_output(&mut self, nanos: u64, machine: &mut H3Conn) {
        if let Some(error) = machine.broken() {
            return self.break_off(nanos, error);
        }
        if !self.is_connected {
            return;
        }
        while let Some(target) = machine.poll_write() {
            self.write(target, machine);
        }
        while let Some(abort) = machine.poll_abort() {
            self.abort(abort);
        }
        while let Some(id) = machine.poll_resume() {
            let id = StreamId::new(Side::Client, Dir::Bi, id >> 2);
            self.read(nanos, id, machine);
        }
    }

    fn write(&mut self, target: Target, machine: &mut H3Conn) {
        let id = match target {
            Target::Control => self.control,
            Target::Decoder => self.decoder,
            Target::Request(id) => Some(StreamId::new(Side::Client, Dir::Bi, id >> 2)),
        };
        let Some(id) = id else { return };
        loop {
            let output = machine.output(target);
            if output.is_empty() {
                if machine.take_end(target) {
                    // A stream that the client has stopped needs no end.
                    let _ = self.inner.send_stream(id).finish();
                }
                return;
            }
            match self.inner.send_stream(id).write(output) {
                Ok(count) => machine.advance(target, count),
                Err(WriteError::Blocked) => return,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    let rest = machine.output(target).len();
                    return machine.advance(target, rest);
                }
            }
        }
    }

    fn abort(&mut self, abort: Abort) {
        let dir = if abort.stream & 2 == 0 { Dir::Bi } else { Dir::Uni };
        let id = StreamId::new(Side::Client, dir, abort.stream >> 2);
        self.note_stream_error(abort.code.0);
        // A direction that has ended needs no other end.
        if abort.sends {
            let _ = self.inner.send_stream(id).reset(number(abort.code));
        }
        if abort.receives {
            let _ = self.inner.recv_stream(id).stop(number(abort.code));
        }
    }

    /// Closes the connection for an error of the machine.
    fn break_off(&mut self, nanos: u64, error: H3Error) {
        self.close(nanos, error.code);
    }
}

fn number(code: H3ErrorCode) -> VarInt {
    VarInt::from_u64(code.0).unwrap_or(VarInt::MAX)
}
