//! Connections from clients that speak HTTP/2: reads, writes, and starts a transaction for each
//! stream.

use buf::Buf;
use engine::io::stream_pump::{Pump, PumpOutcome};
use engine::state::session::client::Client;
use engine::state::session::client_h2::ClientMux;
use engine::state::session::transaction::{Arrival, Outcome, Parts};
use engine::state::worker::Worker;
use mux::Side;
use mux::h2::Key;
use observability::telemetry::trace::points as trace;
use reactor::{Class, Tick};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use transaction::message::tls_wait;
use transaction::serve::http;
use transport::codec::Machine;
use transport::socket::Transport;
use transport::streams::{Half, Session, StreamMux};

/// The delay between the announcement of the shutdown (GOAWAY) and the end of the connection, in
/// milliseconds. Requests that arrive until then are served (RFC 9113 section 6.8).
const ANNOUNCEMENT_MS: u32 = 1_000;

/// Serves a client's connection until it is over. Bytes received before are in its input buffer.
pub(crate) async fn run(mut client: Box<Client>) {
    let early = client.session().is_some_and(|session| session.is_early());
    if early && !Box::pin(tls_wait::end_of(&client)).await {
        return;
    }
    let worker = client.worker.clone();
    let input = std::mem::replace(&mut client.input, Buf::empty());
    let variables = std::mem::take(&mut client.variables);
    let machine = worker.h2_conn(&client.proxy, Side::Client);
    let scheme: &'static [u8] = if client.session().is_some() { b"https" } else { b"http" };
    let session = Session::new(&worker.thread, machine, scheme);
    let pump = Pump::new(&session, input, worker.thread.tick()).answering();
    client.mux = Machine::Stream(Half::of_connection(&session));
    let (own, last) = (RefCell::default(), Cell::new(None));
    let under_way = Cell::new(0);
    let idle_since = Cell::new(worker.thread.tick());
    let front = ClientMux { client, session, own, last, under_way, idle_since, variables };
    let front = Rc::new(front);
    let mut driver = Driver { front: front.clone(), pump, streams: 0, announced: None };
    let stats = &front.client.proxy.h2.front;
    let Some(socket) = front.client.socket.transport() else { return };
    stats.open();
    trace::client(&front.client, &trace::H2_OPENED);
    driver.run(&worker, socket).await;
    stats.close();
    trace::client(&front.client, &trace::H2_CLOSED);
    driver.pump.close(&worker, socket).await;
    front.count();
}

/// State of a connection's task.
struct Driver {
    front: Rc<ClientMux>,
    pump: Pump,
    /// Streams opened so far.
    streams: u32,
    /// When GOAWAY announced the shutdown to the client.
    announced: Option<Tick>,
}

/// The reason why the task of a connection stops waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// The client does not read its output.
    Stalled,
    /// The client has sent no first request in time.
    NoRequest,
    /// The client has sent no further request in time, or the soft stop ends its connection.
    Retired,
    /// The client has had the time to receive the announced shutdown.
    Announced,
}

impl Driver {
    async fn run(&mut self, worker: &Rc<Worker>, socket: &Transport) {
        let thread = worker.thread.clone();
        loop {
            let (front, streams) = (&self.front, &mut self.streams);
            let turn = self.pump.turn(worker, socket, |key| {
                start(worker, front, key, *streams);
                *streams = streams.saturating_add(1);
                if front.client.is_frontend_shut() {
                    front.session.act_for_driver(StreamMux::begin_shutdown);
                }
            });
            self.front.count();
            match turn {
                PumpOutcome::Over => return,
                PumpOutcome::More => thread.scheduler().yield_as(Class::Bulk).await,
                PumpOutcome::Waits => {
                    self.note_announcement(thread.tick());
                    let since = self.front.idle_since.get();
                    if self.is_idle() && worker.shared.memory.closes_idle(since, thread.tick()) {
                        expire(&self.front.session, Expiry::Retired);
                        continue;
                    }
                    let next = self.next_expiry();
                    if let Some((_, reason)) = next.filter(|(at, _)| at.is_due(thread.tick())) {
                        if reason == Expiry::Stalled {
                            return;
                        }
                        expire(&self.front.session, reason);
                        continue;
                    }
                    self.pump.want(socket);
                    if self.front.is_crowded() {
                        thread.scheduler().next_wake_as_bulk();
                    }
                    thread.scheduler().wait(next.map(|(at, _)| at)).await;
                }
            }
        }
    }

    /// Whether the connection has had streams, has none now, and is not shutting down.
    fn is_idle(&self) -> bool {
        let idle = self
            .front
            .session
            .inspect(|mux| mux.streams() == 0 && mux.is_open() && !mux.announces_shutdown());
        self.streams > 0 && idle
    }

    /// Notes the moment of the announced shutdown, whether this task or the machine announced it.
    fn note_announcement(&mut self, now: Tick) {
        let announces = self.front.session.inspect(StreamMux::announces_shutdown);
        self.announced = announces.then(|| self.announced.unwrap_or(now));
    }

    /// The earliest reason to stop waiting for the client, and its moment.
    fn next_expiry(&self) -> Option<(Tick, Expiry)> {
        let timeouts = &self.front.client.proxy.settings.timeouts;
        let stall = timeouts.client.filter(|_| self.pump.is_stalled());
        let stalled = stall.map(|span| (self.pump.moved.plus_ms(span), Expiry::Stalled));
        earlier(stalled, retirement(&self.front, self.streams, self.announced))
    }
}

/// Takes the next step of the connection's end.
pub(crate) fn expire(session: &Session, reason: Expiry) {
    session.act_for_driver(|mux| {
        mux.begin_shutdown();
        if reason != Expiry::Retired {
            mux.finish_shutdown();
        }
    });
}

/// When the connection starts or continues its shutdown: idle for too long between requests, or
/// in a soft stop. `streams` is the number of requests so far.
pub(crate) fn retirement(
    front: &ClientMux,
    streams: u32,
    announced: Option<Tick>,
) -> Option<(Tick, Expiry)> {
    if let Some(since) = announced {
        return Some((since.plus_ms(ANNOUNCEMENT_MS), Expiry::Announced));
    }
    let (idle, open) = front.session.inspect(|mux| (mux.streams() == 0, mux.is_open()));
    if !open {
        return None;
    }
    let memory = &front.client.worker.shared.memory;
    let limit = memory.idle_limit(front.idle_since.get()).filter(|_| idle && streams > 0);
    let stop = Tick::earlier(front.last_moment(idle), limit).map(|at| (at, Expiry::Retired));
    let silence = if idle { end_of_silence(front, streams) } else { None };
    earlier(stop, silence)
}

/// The deadline of a client without a stream. Each stream has timeouts of its own.
fn end_of_silence(front: &ClientMux, streams: u32) -> Option<(Tick, Expiry)> {
    let timeouts = &front.client.proxy.settings.timeouts;
    let (span, reason) = match streams {
        0 => (timeouts.http_request.or(timeouts.client), Expiry::NoRequest),
        _ => {
            let span = timeouts.http_keep_alive.or(timeouts.http_request);
            (span.or(timeouts.client), Expiry::Retired)
        }
    };
    Some((front.idle_since.get().plus_ms(span?), reason))
}

fn earlier(one: Option<(Tick, Expiry)>, other: Option<(Tick, Expiry)>) -> Option<(Tick, Expiry)> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.0.is_before(one.0) { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Starts the transaction of a stream.
pub(crate) fn start(worker: &Rc<Worker>, front: &Rc<ClientMux>, key: Key, number: u32) {
    let class = if front.is_crowded() { Class::Bulk } else { Class::Urgent };
    let client = Box::new(Client::of_stream(front, key, number));
    let bind = client.proxy.front.settings.binds.get(client.bind as usize);
    let nice = bind.map_or(0, |bind| bind.nice);
    let scheduler = worker.thread.scheduler();
    let task = scheduler.spawn(class, serve(worker.clone(), front.clone(), client));
    scheduler.set_nice(task, nice);
}

/// Serves one stream.
async fn serve(worker: Rc<Worker>, front: Rc<ClientMux>, client: Box<Client>) {
    let parts = Parts { client, arrival: Arrival::Data };
    let outcome = {
        let mut run = pin!(worker.seats.run(http::run, parts));
        poll_fn(|context| yielding(&worker, &front, run.as_mut().poll(context))).await
    };
    if let Outcome::Tunnel(mut tunnel) = outcome {
        drop(poll_fn(|context| yielding(&worker, &front, tunnel.as_mut().poll(context))).await);
    }
}

/// Handles the result of a stream's poll; a stream of a crowded connection is woken as bulk work.
fn yielding(worker: &Worker, front: &ClientMux, polled: Poll<Outcome>) -> Poll<Outcome> {
    if polled.is_pending() && front.is_crowded() {
        worker.thread.scheduler().next_wake_as_bulk();
    }
    polled
}
