//! The connections of one thread, over one socket.

use crate::LoadResult;
use crate::connection::{self, LoadConnection};
use crate::options::Options;
use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    EndpointEvent, TransportConfig, VarInt,
};
use std::collections::HashMap;
use std::io::Write as _;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::udp::{UdpBatch, UdpTrain};
use testkit::quic_client::NoResets;

/// The longest wait for datagrams, and the time between two looks at timers.
const TICK: Duration = Duration::from_millis(1);

/// Handshakes at the same time of connections that stay idle.
const OPENING: u32 = 64;

/// Datagrams per call.
const SEGMENTS: usize = 10;

/// The state of a thread.
struct Load<'a> {
    options: &'a Options,
    config: ClientConfig,
    endpoint: Endpoint,
    socket: UdpSocket,
    connections: HashMap<ConnectionHandle, LoadConnection>,
    /// Connections with pending work.
    touched: Vec<ConnectionHandle>,
    request: Vec<u8>,
    result: LoadResult,
    out: Vec<u8>,
}

/// Makes requests until `end`; connections that are held, until the process is ended.
pub(crate) fn run(
    options: &Options,
    crypto: Arc<QuicClientConfig>,
    index: u32,
    end: Instant,
) -> LoadResult {
    let share = options.connections / options.threads
        + u32::from(index < options.connections % options.threads);
    let mut load = Load::new(options, crypto);
    let (mut begun, mut batch, mut looked, mut reported) = (0, UdpBatch::default(), end, false);
    while options.hold || Instant::now() < end {
        let now = Instant::now();
        while begun < share && (!options.hold || load.opening() < OPENING) {
            load.connect(now);
            begun += 1;
        }
        load.receive(&mut batch);
        if looked.max(now) - looked.min(now) >= TICK {
            load.handle_timers(now);
            looked = now;
        }
        load.step(now);
        if options.hold && !reported && begun == share && load.opening() == 0 {
            println!("open: {}", load.connections.len());
            let _ = std::io::stdout().flush();
            reported = true;
        }
    }
    load.result
}

impl<'a> Load<'a> {
    fn new(options: &'a Options, crypto: Arc<QuicClientConfig>) -> Self {
        let any = if options.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).expect("a port");
        socket.set_read_timeout(Some(TICK)).expect("an open socket");
        sys::udp::prepare(socket.as_raw_fd()).expect("an open socket");
        let mut transport = TransportConfig::default();
        transport
            .max_idle_timeout(Some(VarInt::from_u32(600_000).into()))
            .stream_receive_window(VarInt::from_u32(2 << 20))
            .receive_window(VarInt::from_u32(16 << 20));
        let mut config = ClientConfig::new(crypto);
        config.transport_config(Arc::new(transport));
        let endpoint = EndpointConfig::new(Arc::new(NoResets));
        Self {
            options,
            config,
            endpoint: Endpoint::new(Arc::new(endpoint), None, true, None),
            socket,
            connections: HashMap::new(),
            touched: Vec::new(),
            request: connection::request("localhost", &options.path),
            result: LoadResult::default(),
            out: Vec::new(),
        }
    }

    /// Connections without an answer.
    fn opening(&self) -> u32 {
        let waits = |it: &&LoadConnection| it.done == 0 && !it.is_lost;
        self.connections.values().filter(waits).count() as u32
    }

    fn connect(&mut self, now: Instant) {
        let single = self.options.handshakes || self.options.hold;
        let (config, to) = (self.config.clone(), self.options.address);
        let Ok((handle, conn)) = self.endpoint.connect(now, config, to, "localhost") else {
            self.result.broken += 1;
            return;
        };
        let left = if single { 1 } else { u64::MAX };
        self.connections.insert(handle, LoadConnection::new(conn, left));
        self.touched.push(handle);
    }

    /// Receives a batch of datagrams, after a wait if there are none.
    fn receive(&mut self, batch: &mut UdpBatch) {
        let fd = self.socket.as_raw_fd();
        if self.touched.is_empty() && sys::udp::receive(fd, batch).is_err() {
            let _ = self.socket.peek(&mut [0]);
        }
        if batch.iter().next().is_none() && sys::udp::receive(fd, batch).is_err() {
            return;
        }
        let now = Instant::now();
        for arrived in batch.iter() {
            let ecn = EcnCodepoint::from_bits(arrived.ecn);
            let bytes = BytesMut::from(arrived.bytes);
            let event = self.endpoint.handle(now, arrived.from, None, ecn, bytes, &mut self.out);
            self.out.clear();
            if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
                && let Some(connection) = self.connections.get_mut(&handle)
            {
                connection.conn.handle_event(event);
                self.touched.push(handle);
            }
        }
        batch.clear();
    }

    fn handle_timers(&mut self, now: Instant) {
        for (handle, connection) in &mut self.connections {
            if connection.conn.poll_timeout().is_some_and(|at| at <= now) {
                connection.conn.handle_timeout(now);
                self.touched.push(*handle);
            }
        }
    }

    /// Runs connections that have received datagrams, and sends their output.
    fn step(&mut self, now: Instant) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for handle in touched.drain(..) {
            let Some(connection) = self.connections.get_mut(&handle) else { continue };
            let load = (&self.request[..], self.options.streams);
            connection.step(now, load, &mut self.result);
            let ends = connection.is_lost || self.options.handshakes && connection.done > 0;
            if ends && !connection.is_lost {
                connection.close(now);
            }
            self.transmit(handle, now);
            if ends {
                self.connections.remove(&handle);
                self.endpoint.handle_event(handle, EndpointEvent::drained());
                self.connect(now);
            }
        }
        if self.touched.is_empty() {
            self.touched = touched;
        }
    }

    fn transmit(&mut self, handle: ConnectionHandle, now: Instant) {
        let Some(connection) = self.connections.get_mut(&handle) else { return };
        loop {
            while let Some(event) = connection.conn.poll_endpoint_events() {
                if let Some(reply) = self.endpoint.handle_event(handle, event) {
                    connection.conn.handle_event(reply);
                }
            }
            self.out.clear();
            let conn = &mut connection.conn;
            let Some(transmit) = conn.poll_transmit(now, SEGMENTS, &mut self.out) else { return };
            let train = UdpTrain {
                to: transmit.destination,
                from: None,
                ecn: transmit.ecn.map_or(0, |ecn| ecn as u8),
                bytes: &self.out[..transmit.size],
                segment: transmit.segment_size.unwrap_or(transmit.size),
            };
            // Datagrams without room are lost, as in a network.
            let _ = sys::udp::send(self.socket.as_raw_fd(), &train);
        }
    }
}
