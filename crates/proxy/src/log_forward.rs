//! `log-forward` sections (configuration manual, section 3.10): log messages of others, received and sent on.
//! Never writes one of its own.
//!
//! A section runs on one thread: its connections count against one limit, and its messages keep
//! their order.

use crate::handshake;
use crate::listener::Part;
use crate::log;
use crate::settings::{LogBind, LogForward, LogTransport};
use crate::transport::Transport;
use crate::worker::Worker;
use message::{Envelope, Message};
use reactor::{Class, Handle, Listener, Socket};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wire::proxy_protocol::{self, Step};

mod frame;
mod message;
#[cfg(test)]
mod tests;

/// How soon a listener that ran out of descriptors looks again, in milliseconds.
const RETRY_MS: u32 = 100;
/// Datagrams taken before others have their turn.
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
        for bind in &section.binds {
            let host = Host { section: section.clone(), bind: bind.clone() };
            let run = accept(worker.clone(), host, clients.clone());
            scheduler.spawn(Class::Normal, run);
        }
        for handle in &section.datagrams {
            scheduler.spawn(Class::Normal, hear(worker.clone(), section.clone(), *handle));
        }
    }
}

/// What a listener has to know.
#[derive(Clone)]
struct Host {
    section: Arc<LogForward>,
    bind: LogBind,
}

async fn accept(worker: Rc<Worker>, host: Host, clients: Rc<Cell<u32>>) {
    let (thread, handle) = (&worker.thread, host.bind.handle);
    let _part = Part::new(&worker, handle);
    let mut listener = Listener::new(thread, handle);
    while !worker.shared.is_stopping() {
        let most = host.section.maxconn;
        let full = most > 0 && clients.get() >= most;
        let later = thread.tick().plus_ms(RETRY_MS);
        let deadline =
            match if full { Ok(false) } else { accept_one(&worker, &host, &listener, &clients) } {
                Ok(true) => continue,
                Ok(false) if !full => listener.resume().is_err().then_some(later),
                _ => {
                    listener.pause();
                    Some(later)
                }
            };
        thread.scheduler().pause(deadline).await;
    }
    // As HAProxy does, those who had come before the stop are heard as long as they stay.
    listener.pause();
    let most = host.section.maxconn;
    while (most == 0 || clients.get() < most)
        && matches!(accept_one(&worker, &host, &listener, &clients), Ok(true))
    {}
}

/// `Ok(false)`: nobody waits.
fn accept_one(
    worker: &Rc<Worker>,
    host: &Host,
    listener: &Listener,
    clients: &Rc<Cell<u32>>,
) -> io::Result<bool> {
    match listener.accept() {
        Ok((socket, _)) => {
            let place = Place::take(worker, clients);
            let run = listen(worker.clone(), host.clone(), socket, place);
            worker.thread.scheduler().spawn(Class::Normal, run);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// A connection's place among those allowed, and among all of the process, which ends with the
/// last.
struct Place {
    worker: Rc<Worker>,
    clients: Rc<Cell<u32>>,
}

impl Place {
    fn take(worker: &Rc<Worker>, clients: &Rc<Cell<u32>>) -> Self {
        clients.set(clients.get() + 1);
        worker.shared.connections.enter();
        Self { worker: worker.clone(), clients: clients.clone() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clients.set(self.clients.get() - 1);
        let shared = &self.worker.shared;
        shared.connections.leave();
        if shared.is_stopping() && shared.connections.current() == 0 {
            shared.rouse();
        }
    }
}

/// One connection: forwards its messages until it ends, is silent for too long, or says something
/// that is no message.
async fn listen(worker: Rc<Worker>, host: Host, socket: Socket, _place: Place) {
    socket.own();
    let Host { section, bind } = host;
    let mut socket = Transport::from(socket);
    let mut announced = bind.announced;
    if let Some(acceptor) = bind.tls {
        let until = section.client_ms.map(|span| worker.thread.tick().plus_ms(span));
        if handshake::answer(&worker, &mut socket, &acceptor, until).await.is_err() {
            return;
        }
    }
    let most = worker.shared.settings.buffer_size;
    let mut input = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let until = section.client_ms.map(|span| worker.thread.tick().plus_ms(span));
        let count = loop {
            match socket.recv(&mut chunk) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    if until.is_some_and(|until| until.is_due(worker.thread.tick())) {
                        return;
                    }
                    socket.want_read();
                    worker.thread.scheduler().pause(until).await;
                }
            }
        };
        input.extend_from_slice(&chunk[..count]);
        if announced {
            match header(&input) {
                Ok(Some(length)) => drop(input.drain(..length)),
                Ok(None) if count > 0 && input.len() <= most => continue,
                _ => return,
            }
            announced = false;
        }
        let mut used = 0;
        while let Some(frame) = frame::next(&input[used..], count == 0) {
            forward(&worker, &section, frame.message);
            used += frame.len;
        }
        input.drain(..used);
        if count == 0 || input.len() > most + frame::PREFIX || frame::is_broken(&input, most) {
            return;
        }
        worker.thread.scheduler().yield_as(Class::Bulk).await;
    }
}

/// Bytes of the PROXY protocol header in front, or nothing while it goes on.
fn header(input: &[u8]) -> Result<Option<usize>, proxy_protocol::Error> {
    Ok(match proxy_protocol::decode(input)? {
        Step::Complete { len, .. } => Some(len),
        Step::Partial => None,
    })
}

/// Datagrams, one message each.
async fn hear(worker: Rc<Worker>, section: Arc<LogForward>, handle: Handle) {
    let socket = Socket::adopt(&worker.thread, handle);
    socket.own();
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
                // An error of an earlier answer tells nothing about what comes.
                Err(_) => taken += 1,
            }
        }
        if taken == BUDGET {
            worker.thread.scheduler().yield_as(Class::Bulk).await;
        } else {
            socket.want_read();
            worker.thread.scheduler().pause(None).await;
        }
    }
}

/// Sends one message to all targets that want it.
fn forward(worker: &Worker, section: &LogForward, bytes: &[u8]) {
    let message = Message::parse(bytes);
    if message.is_empty() {
        return;
    }
    worker.shared.received_logs.fetch_add(1, Relaxed);
    let now = worker.local_date();
    let micros = (worker.thread.wall() / 1_000 % 1_000_000) as u32;
    for target in &section.logs.targets {
        let priority = message.priority.unwrap_or(u32::from(target.facility) << 3);
        let level = (priority & 7) as u8;
        if level > target.level || target.sample.as_ref().is_some_and(|it| !it.takes_next()) {
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
        log::deliver(worker, target, message.text, &mut line);
        worker.give_scratch(line);
    }
}

impl Message<'_> {
    /// The envelope that loses least of what came.
    fn usual(&self) -> LogTransport {
        self.kept().unwrap_or(match self.priority {
            Some(_) => LogTransport::Priority,
            None => LogTransport::Raw,
        })
    }
}
