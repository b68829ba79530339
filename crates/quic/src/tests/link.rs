//! A server and a client joined by queues, with a clock of their own.

use super::peer::{Identity, Peer};
use crate::{Arrival, ConnectionKey, Datagram, QuicConnection, QuicEndpoint, QuicSettings};
use htx::{Head, Version};
use mux::BodyKind;
use mux::h3::{H3Conn, H3ConnSettings, Key};
use std::collections::HashMap;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::sync::Arc;
use tls::Acceptor;

/// Milliseconds that a datagram takes.
const DELAY_MS: u64 = 10;

/// A request that the server echoes.
struct Echo {
    key: Key,
    method: Vec<u8>,
    body: Vec<u8>,
    sent: usize,
    has_head: bool,
}

/// A connection of the server.
pub(super) struct Served {
    pub(super) conn: Box<QuicConnection>,
    pub(super) machine: H3Conn,
    echoes: Vec<Echo>,
    pub(super) session: Option<tls::Conn>,
}

/// The two sides.
pub(super) struct Net {
    pub(super) nanos: u64,
    pub(super) endpoint: QuicEndpoint,
    pub(super) served: HashMap<ConnectionKey, Served>,
    pub(super) peer: Peer,
    pub(super) client_address: SocketAddr,
    server_address: SocketAddr,
    /// Datagrams under way: the time of arrival, whether the server gets it, and its bytes.
    under_way: Vec<(u64, bool, Vec<u8>)>,
    /// Loses a datagram if it returns true for its number.
    pub(super) loses: fn(u64) -> bool,
    count: u64,
    /// Datagrams of the server that are no part of a connection.
    pub(super) answers: u32,
    pub(super) admits: bool,
}

pub(super) fn server_settings() -> QuicSettings {
    QuicSettings { secret: b"secret of the cluster".to_vec(), ..QuicSettings::default() }
}

impl Net {
    pub(super) fn new(acceptor: Arc<Acceptor>, identity: &Identity) -> Self {
        Self::with(server_settings(), acceptor, identity, "a.test")
    }

    pub(super) fn with(
        settings: QuicSettings,
        acceptor: Arc<Acceptor>,
        identity: &Identity,
        name: &str,
    ) -> Self {
        let server_address = "127.0.0.1:443".parse().unwrap();
        Self {
            nanos: 0,
            endpoint: QuicEndpoint::new(settings, acceptor, 3, [9; 32]),
            served: HashMap::new(),
            peer: Peer::new(identity, server_address, name),
            client_address: "127.0.0.1:5000".parse().unwrap(),
            server_address,
            under_way: Vec::new(),
            loses: |_| false,
            count: 0,
            answers: 0,
            admits: true,
        }
    }

    /// Another client of the same server.
    pub(super) fn reconnect(&mut self, identity: &Identity) {
        self.peer = Peer::new(identity, self.server_address, "a.test");
        self.nanos = 0;
        self.under_way.clear();
    }

    fn send(&mut self, to_server: bool, bytes: Vec<u8>) {
        self.count += 1;
        if !(self.loses)(self.count) {
            self.under_way.push((self.nanos + DELAY_MS * 1_000_000, to_server, bytes));
        }
    }

    /// Lets both sides run until nothing moves before the deadline, or `done` holds.
    pub(super) fn run_until(&mut self, ms: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.nanos + ms * 1_000_000;
        loop {
            self.run_server();
            for bytes in self.peer.run(self.nanos) {
                self.send(true, bytes);
            }
            if done(self) {
                return true;
            }
            let mut next = self.under_way.iter().map(|it| it.0).min();
            for time in self.served.values_mut().map(|it| it.conn.next_time()) {
                next = [next, time].into_iter().flatten().min();
            }
            next = [next, self.peer.next_time()].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { return false };
            self.nanos = self.nanos.max(next);
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        let now = self.nanos;
        let (due, later) =
            std::mem::take(&mut self.under_way).into_iter().partition(|it| it.0 <= now);
        self.under_way = later;
        let due: Vec<(u64, bool, Vec<u8>)> = due;
        for (_, to_server, bytes) in due {
            match to_server {
                true => self.serve(&bytes),
                false => self.peer.receive(now, self.server_address, &bytes),
            }
        }
    }

    /// Hands a datagram to the server.
    pub(super) fn serve(&mut self, bytes: &[u8]) {
        let (from, to) = (self.client_address, Some(self.server_address.ip()));
        let datagram = Datagram { from, to, ecn: 0, bytes };
        let (mut out, admits) = (Vec::new(), self.admits);
        match self.endpoint.receive(self.nanos, datagram, || admits, &mut out) {
            Arrival::Ignored => {}
            Arrival::Answer(answer) => {
                self.answers += 1;
                assert_eq!((answer.to, answer.len), (from, out.len()));
                self.send(false, out);
            }
            Arrival::Known(key, message) => {
                if let Some(served) = self.served.get_mut(&key) {
                    served.conn.handle(message);
                }
            }
            Arrival::New(key, conn) => {
                let machine = H3Conn::new(H3ConnSettings::default());
                let served = Served { conn, machine, echoes: Vec::new(), session: None };
                self.served.insert(key, served);
            }
        }
    }

    fn run_server(&mut self) {
        let (nanos, mut sent) = (self.nanos, Vec::new());
        for served in self.served.values_mut() {
            served.conn.handle_time(nanos);
            loop {
                self.endpoint.exchange(nanos, &mut served.conn, &mut served.machine);
                served.echo();
                if !served.conn.has_work(&served.machine) {
                    break;
                }
            }
            if let Some(session) = served.conn.take_session() {
                served.session = Some(session);
            }
            let mut out = Vec::new();
            while let Some(train) = served.conn.transmit(nanos, 10, &mut out) {
                assert!(train.segment > 0);
                sent.extend(out[..train.len].chunks(train.segment).map(<[u8]>::to_vec));
                out.clear();
            }
        }
        sent.into_iter().for_each(|bytes| self.send(false, bytes));
        self.served.retain(|_, served| !served.conn.is_over());
    }

    /// The connection of the server, if there is exactly one.
    pub(super) fn only(&mut self) -> &mut Served {
        assert_eq!(self.served.len(), 1);
        self.served.values_mut().next().unwrap()
    }
}

impl Served {
    /// Answers requests with their bodies, or their methods if those are empty.
    fn echo(&mut self) {
        while let Some(key) = self.machine.poll_opened() {
            let mut head = Head::default();
            self.machine.handle_head(key, &mut head).unwrap();
            let method = head.method().to_vec();
            self.echoes.push(Echo { key, method, body: Vec::new(), sent: 0, has_head: false });
        }
        let machine = &mut self.machine;
        self.echoes.retain_mut(|echo| {
            let keeps = echo.step(machine);
            if !keeps {
                machine.release(echo.key);
            }
            keeps
        });
    }
}

impl Echo {
    /// Goes on; `false`: it is done.
    fn step(&mut self, machine: &mut H3Conn) -> bool {
        let mut buffer = [0; 4_096];
        while !self.has_head {
            match machine.read(self.key, &mut buffer) {
                Ok(Some(0)) => break,
                Ok(Some(count)) => self.body.extend_from_slice(&buffer[..count]),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        if !std::mem::replace(&mut self.has_head, true) {
            if self.body.is_empty() {
                self.body.clone_from(&self.method);
            }
            let mut head = Head::default();
            head.set_response(Version::Http11, 200, b"OK");
            let length = self.body.len() as u64;
            machine.encode_head(self.key, &mut head, BodyKind::Length(length));
            machine.encode_data(self.key, length);
            machine.encode_end(self.key, None);
        }
        while self.sent < self.body.len() {
            match machine.send(self.key, &[IoSlice::new(&self.body[self.sent..])]) {
                Ok(0) => return true,
                Ok(count) => self.sent += count,
                Err(_) => return false,
            }
        }
        false
    }
}
