//! The connection of a client that speaks HTTP/3: moves bytes between the transport and the streams,
//! and starts a transaction for each request.

use crate::frontend::h2_connection::{self, Expiry};
use crate::frontend::handshake_limit::HandshakePlace;
use crate::frontend::quic_host::{ConnectionEntry, QuicHost};
use crate::frontend::quic_presence::Presence;
use crate::frontend::session_rules::{self, Admission};
use engine::state::session::client::Client;
use engine::state::session::client_h2::ClientMux;
use engine::state::session::client_quic::QuicCarrier;
use observability::telemetry::trace::points as trace;
use quic::{CloseCode, CloseReason, ConnectionTotals, DeliveryProgress};
use reactor::{Class, Tick};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use transport::codec::Machine;
use transport::quic_stats::QuicField;
use transport::streams::{Half, Session, StreamMux};
use wire::h3::H3ErrorCode;

/// Datagrams per call.
const SEGMENTS: usize = 10;

/// Calls in a row before other tasks run.
const TRAINS: usize = 16;

/// The time in milliseconds that a client has to read the responses that it has acknowledged, and
/// the GOAWAY with the last request that is served.
const FAREWELL_MS: u32 = 1_000;

/// The longest time for which a process that stops answers packets of a closed connection, in
/// milliseconds. The transport does so for three probe timeouts, which are long after late
/// acknowledgements.
const CLOSING_MS: u32 = 3_000;

/// The longest time between an event and its count, in milliseconds.
const COUNT_MS: u32 = 1_000;

/// Serves a connection until it is over.
pub(crate) async fn run(host: Rc<QuicHost>, entry: Rc<ConnectionEntry>) {
    let worker = host.worker.clone();
    let (key, local, remote) = {
        let conn = entry.conn.borrow();
        let local = conn.local().map(|ip| SocketAddr::new(ip, host.local_port()));
        (conn.key(), local, conn.remote())
    };
    // The session wakes the task that makes it.
    let session = Session::new(&worker.thread, worker.h3_conn(&host.proxy), b"https");
    let _ = entry.session.set(session.clone());
    let carrier = QuicCarrier::new(&session, local);
    let client = Client::of_quic(&worker, &host.proxy, host.place, &carrier, remote);
    let mut driver = QuicDriver {
        session,
        carrier,
        client: Some(Box::new(client)),
        front: None,
        handshake: Some(HandshakePlace::enter(&worker)),
        announced: None,
        delivery: None,
        closes: None,
        closed: None,
        presence: None,
        vanishes: false,
        counted: (ConnectionTotals::default(), worker.thread.tick()),
        is_counted: true,
        out: Vec::new(),
        host,
        entry,
    };
    driver.trace(&trace::QUIC_OPENED);
    if !driver.admits().await {
        driver.refuse();
    }
    driver.run().await;
    driver.session.act_for_driver(|mux| mux.handle_eof());
    driver.end();
    driver.host.forget(key);
}

/// State of a connection's task.
struct QuicDriver {
    host: Rc<QuicHost>,
    entry: Rc<ConnectionEntry>,
    session: Rc<Session>,
    carrier: Rc<QuicCarrier>,
    /// The client until its session begins.
    client: Option<Box<Client>>,
    /// The state that its streams share, from then on.
    front: Option<Rc<ClientMux>>,
    /// The place among the handshakes under way.
    handshake: Option<HandshakePlace>,
    /// When GOAWAY announced the shutdown to the client.
    announced: Option<Tick>,
    /// The last progress of a client that takes the responses of an ended connection; none: it has
    /// acknowledged all of them.
    delivery: Option<(Option<DeliveryProgress>, Tick)>,
    /// The moment at which a connection without requests is closed, unless the client closes it.
    closes: Option<Tick>,
    /// The moment at which either side has closed the connection.
    closed: Option<Tick>,
    /// The client's last sign of life while the process stops, and when it is looked at again.
    presence: Option<(Presence, Tick)>,
    /// The connection ends without a packet to its client.
    vanishes: bool,
    /// The counts of the connection that the frontend has, and since when.
    counted: (ConnectionTotals, Tick),
    /// No event has happened since.
    is_counted: bool,
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
            if self.front.is_none() && self.entry.conn.borrow().is_connected() {
                self.begin().await;
            }
            self.start_requests();
            self.retire();
            let more = self.transmit();
            if self.is_over(thread.tick()) {
                return;
            }
            if more {
                thread.scheduler().yield_as(Class::Bulk).await;
                continue;
            }
            let deadline = self.deadline(thread.tick());
            thread.scheduler().wait(deadline).await;
        }
    }

    /// When the task has to run again without an event.
    fn deadline(&mut self, now: Tick) -> Option<Tick> {
        let count = self.counted.1.plus_ms(COUNT_MS);
        if !self.is_counted && count.is_due(now) {
            self.count(now);
        }
        let next = self.entry.conn.borrow_mut().next_time().map(Tick::from_nanos);
        let expiry = self.next_expiry().map(|(at, _)| at);
        let count = (!self.is_counted).then_some(count);
        let ends = Tick::earlier(self.closes, self.closing_end());
        let ends = Tick::earlier(ends, self.presence.map(|(_, at)| at));
        Tick::earlier(Tick::earlier(next, expiry), Tick::earlier(ends, count))
    }

    /// Whether the connection needs its task no more.
    fn is_over(&mut self, now: Tick) -> bool {
        let conn = self.entry.conn.borrow();
        if self.closed.is_none() && conn.is_closing() {
            self.closed = Some(now);
        }
        conn.is_over() || self.vanishes || self.closing_end().is_some_and(|at| at.is_due(now))
    }

    /// The moment at which a process that stops forgets a closed connection.
    fn closing_end(&self) -> Option<Tick> {
        let closed = self.closed.filter(|_| self.host.worker.shared.is_stopping())?;
        Some(closed.plus_ms(CLOSING_MS))
    }

    /// Handles datagrams, timers, and the output of the streams.
    fn exchange(&mut self) {
        let nanos = self.host.worker.thread.nanos();
        let mut conn = self.entry.conn.borrow_mut();
        while let Some(message) = self.entry.pop() {
            conn.handle(message);
            self.is_counted = false;
        }
        conn.handle_time(nanos);
        let mut endpoint = self.host.endpoint.borrow_mut();
        self.session.act_for_driver(|mux| {
            if let Some(machine) = mux.h3() {
                endpoint.exchange(nanos, &mut conn, machine);
            }
        });
        self.host.count(&mut endpoint);
    }

    /// Adds the events since the last count to the statistics of the frontend.
    fn count(&mut self, now: Tick) {
        let stats = &self.host.proxy.quic;
        let mut conn = self.entry.conn.borrow_mut();
        let (before, all) = (self.counted.0, conn.totals());
        stats.add(QuicField::Sent, all.sent.saturating_sub(before.sent));
        stats.add(QuicField::Lost, all.lost.saturating_sub(before.lost));
        stats.add(QuicField::Migrations, all.migrations - before.migrations);
        stats.add(QuicField::DataBlocked, all.data_blocked - before.data_blocked);
        let blocked = all.stream_data_blocked - before.stream_data_blocked;
        stats.add(QuicField::StreamDataBlocked, blocked);
        let [bidi, uni] = [0, 1].map(|n| all.streams_blocked[n] - before.streams_blocked[n]);
        stats.add(QuicField::StreamsBlockedBidi, bidi);
        stats.add(QuicField::StreamsBlockedUni, uni);
        conn.take_stream_errors().iter().for_each(|code| stats.count_h3_error(*code));
        (self.counted, self.is_counted) = ((all, now), true);
        if let Some(front) = &self.front {
            front.count();
        }
    }

    /// Counts the end of the connection, and forgets it.
    fn end(&mut self) {
        self.count(self.host.worker.thread.tick());
        let stats = &self.host.proxy.quic;
        let mut conn = self.entry.conn.borrow_mut();
        match conn.close_code() {
            Some(CloseCode::Transport(code)) => stats.count_transport_error(code),
            Some(CloseCode::Application(code)) => stats.count_h3_error(code),
            None => {}
        }
        match conn.is_connected() {
            true => stats.close(),
            false => {
                stats.add(QuicField::FailedHandshakes, 1);
                // As in HAProxy, a client that has sent nothing in time is no failed handshake.
                let failed = conn.closed() == Some(CloseReason::Transport);
                if let Some(client) = self.client.as_ref().filter(|_| failed) {
                    client.counted().for_each(|block| block.count_handshake(false, false));
                }
            }
        }
        self.host.endpoint.borrow_mut().discard(&mut conn);
        self.host.count(&mut self.host.endpoint.borrow_mut());
        let failed = !conn.is_connected();
        drop(conn);
        self.trace(if failed { &trace::QUIC_FAILED } else { &trace::QUIC_CLOSED });
    }

    /// Reports an event of the connection.
    fn trace(&self, point: &'static trace::ClientPoint) {
        let client = self.client.as_deref().or(self.front.as_ref().map(|front| &*front.client));
        if let Some(client) = client {
            trace::client(client, point);
        }
    }

    /// Closes the connection of a client that rules refuse. `silent-drop` sends no packet.
    fn refuse(&mut self) {
        let client = self.client.take();
        self.vanishes = client.is_some_and(|client| client.vanishes);
        if !self.vanishes {
            let nanos = self.host.worker.thread.nanos();
            self.entry.conn.borrow_mut().close(nanos, H3ErrorCode::REQUEST_REJECTED);
        }
    }

    /// Begins the session after the handshake, unless rules refuse it.
    async fn begin(&mut self) {
        let Some(mut client) = self.client.take() else { return };
        self.handshake = None;
        self.host.proxy.quic.open();
        trace::client(&client, &trace::QUIC_CONNECTED);
        self.carrier.set_tls(self.entry.conn.borrow_mut().take_session());
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
        self.front = Some(Rc::new(ClientMux {
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
            let number = self.entry.requests.get();
            h2_connection::start(&self.host.worker, front, key, number);
            self.entry.requests.set(number.saturating_add(1));
            if front.client.is_frontend_shut() {
                self.session.act_for_driver(StreamMux::begin_shutdown);
            }
        }
    }

    /// Ends the connection gracefully when its process or frontend ends or the client is idle for
    /// too long, and closes it when nothing is left to do.
    fn retire(&mut self) {
        let now = self.host.worker.thread.tick();
        if !self.has_client(now) {
            self.vanishes = true;
            return;
        }
        let due = self.next_expiry().filter(|(at, _)| at.is_due(now)).map(|(_, reason)| reason);
        let Some(front) = &self.front else {
            // Handshakes continue in a soft stop: the client may have no other process to go to.
            if self.client.is_some() && due.is_some() {
                self.refuse();
            }
            return;
        };
        let session = front.session.clone();
        let threshold = self.host.worker.shared.settings.quic.glitches_threshold;
        if threshold > 0 && session.inspect(StreamMux::glitches) >= threshold {
            let nanos = self.host.worker.thread.nanos();
            return self.entry.conn.borrow_mut().close(nanos, H3ErrorCode::EXCESSIVE_LOAD);
        }
        let idle = self.entry.requests.get() > 0
            && session
                .inspect(|mux| mux.streams() == 0 && mux.is_open() && !mux.announces_shutdown());
        let since = front.idle_since.get();
        let closes = idle && self.host.worker.shared.memory.closes_idle(since, now);
        if let Some(reason) = due.or(closes.then_some(Expiry::Retired)) {
            h2_connection::expire(&session, reason);
        }
        let announces = session.inspect(StreamMux::announces_shutdown);
        self.announced = announces.then(|| self.announced.unwrap_or(now));
        if due.is_some() || closes {
            self.exchange();
        }
        if session.inspect(|mux| mux.is_over()) && self.may_close(now) {
            self.closes = None;
            let nanos = self.host.worker.thread.nanos();
            self.entry.conn.borrow_mut().close(nanos, H3ErrorCode::NO_ERROR);
        }
    }

    /// Whether the client is there. A process that stops does not wait for one that is gone.
    fn has_client(&mut self, now: Tick) -> bool {
        let mut conn = self.entry.conn.borrow_mut();
        if !self.host.worker.shared.is_stopping() || conn.is_closing() {
            self.presence = None;
            return true;
        }
        let known = self.presence.map(|(presence, _)| presence);
        let mut presence = known.unwrap_or_else(|| Presence::new(now, &conn));
        let next = presence.check(now, &mut conn);
        self.presence = next.map(|at| (presence, at));
        next.is_some()
    }

    /// Whether a close loses nothing: a close discards bytes that the client has not acknowledged,
    /// and clients drop bytes that they have not read. The wait ends when the client takes nothing
    /// any more.
    fn may_close(&mut self, now: Tick) -> bool {
        let Some(front) = self.front.as_ref() else { return true };
        let progress = self.entry.conn.borrow_mut().delivery();
        let (before, since) = self.delivery.unwrap_or((progress, now));
        let since = if before == progress { since } else { now };
        self.delivery = Some((progress, since));
        self.closes = match progress {
            Some(_) => self.host.proxy.settings.timeouts.client.map(|span| since.plus_ms(span)),
            None => Some(since.plus_ms(FAREWELL_MS)),
        };
        let is_lost = front.session.inspect(StreamMux::has_input_ended);
        is_lost || self.closes.is_some_and(|at| at.is_due(now))
    }

    /// The next step of the connection's end, and its moment.
    fn next_expiry(&self) -> Option<(Tick, Expiry)> {
        if let Some(front) = &self.front {
            let open = front.session.inspect(|mux| mux.is_open());
            let (requests, announced) = (self.entry.requests.get(), self.announced);
            return h2_connection::retirement(front, requests, announced).filter(|_| open);
        }
        let span = self.client.as_ref()?.proxy.settings.timeouts.client?;
        Some((self.entry.since.plus_ms(span), Expiry::NoRequest))
    }

    /// Sends datagrams; `true`: more datagrams are ready.
    fn transmit(&mut self) -> bool {
        if self.vanishes {
            return false;
        }
        let nanos = self.host.worker.thread.nanos();
        let segments = if self.host.worker.shared.settings.quic.segments { SEGMENTS } else { 1 };
        for _ in 0..TRAINS {
            self.out.clear();
            let mut conn = self.entry.conn.borrow_mut();
            let Some(train) = conn.transmit(nanos, segments, &mut self.out) else {
                return false;
            };
            self.host.send(&train, &self.out);
        }
        true
    }
}
