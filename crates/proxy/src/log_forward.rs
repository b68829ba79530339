//! `log-forward` sections (configuration manual, section 3.10): log messages are received from
//! senders and forwarded to log targets.
//!
//! A section runs on one thread: its connections count against one limit, and its messages keep
//! their order.

use crate::frontend::listener::ListenerRef;
use crate::frontend::preamble;
use engine::state::os_handles::LOG_FORWARD;
use engine::state::worker::Worker;
use message::{Envelope, Message};
use observability::logging::log;
use reactor::{Class, Handle, Socket};
use settings::{LogBind, LogForward, LogTransport};
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transport::acceptor;
use transport::socket::Transport;

mod frame;
mod message;
#[cfg(test)]
mod tests;

/// Datagrams received in a row before the task yields.
const BUDGET: usize = 64;
/// The longest datagram.
const DATAGRAM: usize = 65_536;

/// Starts the sections of this thread.
pub(crate) fn start(worker: &Rc<Worker>) {
    let settings = &worker.shared.settings;
    let own = |place: usize| place % settings.threads == worker.thread.index;
    let sections = settings.log_forwards.iter().enumerate().filter(|(place, _)| own(*place));
    for (_, section) in sections {
        let scheduler = worker.thread.scheduler();
        let clients = Rc::new(Cell::new(0));
        let sockets = worker.shared.handles.section(LOG_FORWARD, &section.name);
        for (bind, handle) in section.binds.iter().zip(sockets.listeners) {
            let clients = Clients { section: clients.clone(), line: Rc::default() };
            let (worker, section, bind) = (worker.clone(), section.clone(), bind.clone());
            let host = Host { worker, section, bind, handle, clients };
            scheduler.spawn(Class::Normal, accept(host));
        }
        for handle in sockets.datagrams {
            scheduler
                .spawn(Class::Normal, receive_datagrams(worker.clone(), section.clone(), handle));
        }
    }
}

/// A listener of a section, and its connection counters.
#[derive(Clone)]
struct Host {
    worker: Rc<Worker>,
    section: Arc<LogForward>,
    bind: LogBind,
    handle: Handle,
    clients: Clients,
}

/// Counters of connections: of the section, and of this `bind` line.
#[derive(Clone)]
struct Clients {
    section: Rc<Cell<u32>>,
    line: Rc<Cell<u32>>,
}

impl Host {
    /// Whether the section or the line has reached its limit of connections.
    fn is_full(&self) -> bool {
        let reached = |most: u32, now: &Cell<u32>| most > 0 && now.get() >= most;
        reached(self.section.maxconn, &self.clients.section)
            || reached(self.bind.maxconn, &self.clients.line)
    }
}

async fn accept(host: Host) {
    let (worker, handle) = (host.worker.clone(), host.handle);
    let _part = ListenerRef::new(&worker, handle);
    acceptor::run(&worker.thread, handle, &host).await;
}

impl acceptor::Host for Host {
    fn is_over(&self) -> bool {
        self.worker.shared.is_stopping()
    }

    fn limit_ms(&self) -> Option<u32> {
        self.is_full().then_some(acceptor::RETRY_MS)
    }

    fn serve(&self, handle: Handle, _: Option<SocketAddr>) {
        let socket = Socket::adopt(&self.worker.thread, handle);
        let place = Place::take(&self.worker, &self.clients);
        let task = listen(self.clone(), socket, place);
        self.worker.thread.scheduler().spawn(Class::Normal, task);
    }
}

/// A connection's share in the counters of its section, its line and the process; dropping it
/// decrements them.
struct Place {
    worker: Rc<Worker>,
    clients: Clients,
}

impl Place {
    fn take(worker: &Rc<Worker>, clients: &Clients) -> Self {
        for count in [&clients.section, &clients.line] {
            count.set(count.get() + 1);
        }
        worker.shared.connections.enter();
        Self { worker: worker.clone(), clients: clients.clone() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for count in [&self.clients.section, &self.clients.line] {
            count.set(count.get() - 1);
        }
        let shared = &self.worker.shared;
        shared.connections.leave();
        if shared.is_stopping() && shared.connections.current() == 0 {
            shared.wake_threads();
        }
    }
}

/// Serves one connection: forwards its messages until the sender closes, is idle for too long, or
/// sends bytes that are no message.
async fn listen(host: Host, socket: Socket, _place: Place) {
    let (worker, section) = (host.worker, host.section);
    let opened = preamble::open(&worker, socket, &host.bind.preamble, section.client_ms).await;
    let Some((transport, mut input)) = opened else { return };
    let most = worker.shared.settings.buffer_size;
    let mut over = false;
    loop {
        let mut used = 0;
        while let Some(frame) = frame::next(&input[used..], over) {
            forward(&worker, &section, frame.message);
            used += frame.len;
        }
        input.drain(..used);
        if over || input.len() > most + frame::PREFIX || frame::is_broken(&input, most) {
            return;
        }
        worker.thread.scheduler().yield_as(Class::Bulk).await;
        let received = receive(&worker, &transport, section.client_ms, &mut input).await;
        let Some(count) = received else { return };
        over = count == 0;
    }
}

/// Waits for more bytes; 0 at the end of the stream. `None`: the idle timeout expired, or the
/// connection failed.
async fn receive(
    worker: &Worker,
    transport: &Transport,
    patience: Option<u32>,
    input: &mut Vec<u8>,
) -> Option<usize> {
    let mut chunk = [0; 4096];
    let until = patience.map(|span| worker.thread.tick().plus_ms(span));
    loop {
        match transport.recv(&mut chunk) {
            Ok(count) => {
                input.extend_from_slice(&chunk[..count]);
                return Some(count);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return None,
            Err(_) => {
                if until.is_some_and(|until| until.is_due(worker.thread.tick())) {
                    return None;
                }
                transport.want_read();
                worker.thread.scheduler().wait(until).await;
            }
        }
    }
}

/// Receives datagrams, one message each.
async fn receive_datagrams(worker: Rc<Worker>, section: Arc<LogForward>, handle: Handle) {
    let socket = Socket::adopt(&worker.thread, handle);
    socket.assign_to_current_task();
    let mut buffer = vec![0; DATAGRAM];
    while !worker.shared.is_stopping() {
        let mut taken = 0;
        while taken < BUDGET {
            match socket.recv_datagram(&mut buffer) {
                Ok(count) => {
                    taken += 1;
                    forward(&worker, &section, &buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A pending ICMP error concerns an earlier datagram; the next datagram may be good.
                Err(_) => taken += 1,
            }
        }
        if taken == BUDGET {
            worker.thread.scheduler().yield_as(Class::Bulk).await;
        } else {
            socket.want_read();
            worker.thread.scheduler().wait(None).await;
        }
    }
}

/// Sends one message to all targets whose level and sampling select it.
fn forward(worker: &Worker, section: &LogForward, bytes: &[u8]) {
    let message = Message::parse(bytes);
    if message.is_empty() {
        return;
    }
    worker.shared.received_logs.fetch_add(1, Relaxed);
    let now = worker.local_date();
    let micros = (worker.thread.wall() / 1_000 % 1_000_000) as u32;
    for (index, target) in section.logs.targets.iter().enumerate() {
        let priority = message.priority.unwrap_or(u32::from(target.facility) << 3);
        let level = (priority & 7) as u8;
        let skips = |it| !worker.shared.log_samples.takes_next(it);
        if level > target.level || target.sample.as_ref().is_some_and(skips) {
            continue;
        }
        let envelope = Envelope {
            transport: match (log::ring_of(worker, target), target.keeps) {
                (Some(of_ring), _) => of_ring,
                (None, true) => message.usual(),
                (None, false) => target.transport,
            },
            priority: priority & !7 | u32::from(level.max(target.min_level)),
            now: (now, micros),
        };
        let mut line = worker.take_scratch();
        message.write(&envelope, &mut line);
        log::deliver(worker, (target, index), message.text, &mut line);
        worker.give_scratch(line);
    }
}

impl Message<'_> {
    /// The envelope of the same format as the received message, so that the least is lost.
    fn usual(&self) -> LogTransport {
        self.kept().unwrap_or(match self.priority {
            Some(_) => LogTransport::Priority,
            None => LogTransport::Raw,
        })
    }
}
