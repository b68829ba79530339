//! The connection of a client that speaks HTTP/3: moves bytes between the transport and the streams,
//! and starts a transaction for each request.

use crate::frontend::h2_connection::{self, Expiry};
use crate::frontend::quic_host::{Inbox, QuicHost};
use crate::frontend::session_rules::{self, Admission};
use engine::state::session::client::Client;
use engine::state::session::client_h2::Front;
use engine::state::session::client_quic::QuicCarrier;
use quic::QuicConnection;
use reactor::{Class, Tick};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use transport::codec::Machine;
use transport::streams::{Half, Session};
use wire::h3::H3ErrorCode;

/// Datagrams per call.
const SEGMENTS: usize = 10;

/// Calls in a row before other tasks run.
const TRAINS: usize = 16;

/// Serves a connection until it is over.
pub(crate) async fn run(host: Rc<QuicHost>, conn: Box<QuicConnection>, inbox: Rc<Inbox>) {
    let worker = host.worker.clone();
    let key = conn.key();
    let session = Session::new(&worker.thread, worker.h3_conn(&host.proxy), b"https");
    let local = conn.local().map(|ip| SocketAddr::new(ip, host.local_port()));
    let carrier = QuicCarrier::new(&session, local);
    let client = Client::of_quic(&worker, &host.proxy, host.place, &carrier, conn.remote());
    let client = Some(Box::new(client));
    let mut driver = QuicDriver {
        host,
        conn,
        inbox,
        session,
        carrier,
        client,
        front: None,
        streams: 0,
        announced: None,
        since: worker.thread.tick(),
        vanishes: false,
        out: Vec::new(),
    };
    if !driver.admits().await {
        driver.refuse();
    }
    driver.run().await;
    driver.session.drive(|mux| mux.handle_eof());
    driver.host.endpoint.borrow_mut().discard(&mut driver.conn);
    driver.host.forget(key);
}

/// State of a connection's task.
struct QuicDriver {
    host: Rc<QuicHost>,
    conn: Box<QuicConnection>,
    inbox: Rc<Inbox>,
    session: Rc<Session>,
    carrier: Rc<QuicCarrier>,
    /// The client until its session begins.
    client: Option<Box<Client>>,
    /// The state that its streams share, from then on.
    front: Option<Rc<Front>>,
    /// Requests so far.
    streams: u32,
    /// When GOAWAY announced the shutdown to the client.
    announced: Option<Tick>,
    /// When the handshake began.
    since: Tick,
    /// The connection ends without a packet to its client.
    vanishes: bool,
    /// Memory for datagrams.
    out: Vec<u8>,
}

impl QuicDriver {
    /// Whether the `tcp-request connection` rules admit the client.
    async fn admits(&mut self) -> bool {
        let Some(client) = self.client.as_deref_mut() else { return false };
        match session_rules::admits(client) {
            Admission::Granted => true,
            Admission::Refused => false,
            Admission::Waits(rules) => session_rules::resume(client, rules).await,
        }
    }

    async fn run(&mut self) {
        let thread = self.host.worker.thread.clone();
        loop {
            self.exchange();
            if self.front.is_none() && self.conn.is_connected() {
                self.begin().await;
            }
            self.start_requests();
            self.retire();
            let more = self.transmit();
            if self.conn.is_over() || self.vanishes {
                return;
            }
            if more {
                thread.scheduler().yield_as(Class::Bulk).await;
                continue;
            }
            let next = self.conn.next_time().map(Tick::from_nanos);
            let deadline = match (next, self.next_expiry()) {
                (Some(one), Some((other, _))) if other.is_before(one) => Some(other),
                (one, other) => one.or(other.map(|(at, _)| at)),
            };
            thread.scheduler().wait(deadline).await;
        }
    }

    /// Handles datagrams, timers, and the output of the streams.
    fn exchange(&mut self) {
        let nanos = self.host.worker.thread.nanos();
        while let Some(message) = self.inbox.pop() {
            self.conn.handle(message);
        }
        self.conn.handle_time(nanos);
        let (conn, mut endpoint) = (&mut self.conn, self.host.endpoint.borrow_mut());
        self.session.drive(|mux| {
            if let Some(machine) = mux.h3() {
                endpoint.exchange(nanos, conn, machine);
            }
        });
    }

    /// Closes the connection of a client that rules refuse. `silent-drop` sends it nothing.
    fn refuse(&mut self) {
        let client = self.client.take();
        self.vanishes = client.is_some_and(|client| client.vanishes);
        if !self.vanishes {
            self.conn.close(self.host.worker.thread.nanos(), H3ErrorCode::REQUEST_REJECTED);
        }
    }

    /// Begins the session after the handshake, unless rules refuse it.
    async fn begin(&mut self) {
        let Some(mut client) = self.client.take() else { return };
        self.carrier.set_tls(self.conn.take_session());
        client.handshake_over();
        let resumed = client.session().is_some_and(|session| session.is_resumed());
        client.counted().for_each(|block| block.count_handshake(true, resumed));
        let opens = match session_rules::opens_session(&mut client) {
            Admission::Granted => true,
            Admission::Refused => false,
            Admission::Waits(rules) => session_rules::resume(&mut client, rules).await,
        };
        if !opens {
            self.client = Some(client);
            return self.refuse();
        }
        let variables = std::mem::take(&mut client.variables);
        client.mux = Machine::Stream(Half::of_connection(&self.session));
        self.front = Some(Rc::new(Front {
            client,
            session: self.session.clone(),
            own: RefCell::default(),
            last: Cell::new(None),
            under_way: Cell::new(0),
            idle_since: Cell::new(self.host.worker.thread.tick()),
            variables,
        }));
    }

    fn start_requests(&mut self) {
        let Some(front) = &self.front else { return };
        while let Some(key) = self.session.poll_opened() {
            h2_connection::start(&self.host.worker, front, key, self.streams);
            self.streams = self.streams.saturating_add(1);
        }
    }

    /// Ends the connection gracefully when its process or frontend ends or the client is idle for
    /// too long, and closes it when nothing is left to do.
    fn retire(&mut self) {
        let now = self.host.worker.thread.tick();
        let due = self.next_expiry().filter(|(at, _)| at.is_due(now)).map(|(_, reason)| reason);
        let stopping = self.host.worker.shared.is_stopping();
        let Some(front) = &self.front else {
            // Handshakes go on in a soft stop: the client may have no other process to go to.
            if self.client.is_some() && due.is_some() {
                self.refuse();
            }
            return;
        };
        let ends = (stopping || front.client.is_frontend_shut()) && self.announced.is_none();
        let open = self.session.look(|mux| mux.is_open());
        if let Some(reason) = due.or(ends.then_some(Expiry::Retired)).filter(|_| open) {
            h2_connection::expire(&self.session, reason);
            let announces = self.session.look(|mux| mux.announces_shutdown());
            self.announced = announces.then(|| self.announced.unwrap_or(now));
            self.exchange();
        }
        if self.session.look(|mux| mux.is_over()) {
            self.conn.close(self.host.worker.thread.nanos(), H3ErrorCode::NO_ERROR);
        }
    }

    /// The next step of the connection's end, and its moment.
    fn next_expiry(&self) -> Option<(Tick, Expiry)> {
        if let Some(front) = &self.front {
            let open = self.session.look(|mux| mux.is_open());
            let announced = self.announced;
            return h2_connection::retirement(front, self.streams, announced).filter(|_| open);
        }
        let span = self.client.as_ref()?.proxy.settings.timeouts.client?;
        Some((self.since.plus_ms(span), Expiry::NoRequest))
    }

    /// Sends datagrams; `true`: there are more.
    fn transmit(&mut self) -> bool {
        if self.vanishes {
            return false;
        }
        let nanos = self.host.worker.thread.nanos();
        for _ in 0..TRAINS {
            self.out.clear();
            let Some(train) = self.conn.transmit(nanos, SEGMENTS, &mut self.out) else {
                return false;
            };
            self.host.send(&train, &self.out);
        }
        true
    }
}
