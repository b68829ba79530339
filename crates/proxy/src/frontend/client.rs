//! A client connection: waits for requests and hands each to a transaction. Never parses.
//!
//! While idle it holds neither a buffer nor a transaction: this future is all that there is.

use crate::frontend::h2_connection;
use crate::settings::{ConnectionMode, Mode};
use crate::state::client::Client;
use crate::state::private_pool::Own;
use crate::state::transaction::{Arrival, Outcome, Parts};
use crate::transaction::run;
use buf::Buf;
use mux::h1;
use reactor::{Class, Tick, Urgency};
use std::io;
use stdx::prefetch;

/// How long a client may go on sending after its last answer, in milliseconds.
const FAREWELL_MS: u32 = 5_000;
/// How much it may send then.
const FAREWELL_BYTES: usize = 1 << 20;

/// Bytes of empty lines between requests that mean nothing. What a client sends beyond that at once
/// is for the parser to judge.
const EMPTY_LINES: usize = 16;

/// Serves a client until one side closes.
pub(crate) async fn run(mut client: Box<Client>) {
    client.socket.own();
    if client.mode == Mode::Tcp {
        match Box::pin(crate::transaction::tcp::run(client)).await {
            Outcome::Again(back) => client = back,
            Outcome::Farewell(back) => return Box::pin(say_farewell(back)).await,
            Outcome::Over => return,
        }
    }
    let chosen = || client.protocol().is_some_and(|name| &*name == b"h2");
    if client.speaks_h2.unwrap_or_else(chosen) {
        return Box::pin(h2_connection::run(client)).await;
    }
    loop {
        skip_empty_lines(&mut client);
        let arrival = match client.input.is_empty() {
            true => first_bytes(&mut client).await,
            false => Arrival::Data,
        };
        let idle_end = arrival != Arrival::Data && client.requests > 0;
        if idle_end || (arrival != Arrival::Data && ignores_probes(&client)) {
            return;
        }
        let undecided = client.requests == 0 && client.speaks_h2.is_none();
        if undecided && h2_connection::may_begin(&client) {
            let recognized = Box::pin(h2_connection::recognize(&mut client)).await;
            if recognized {
                return Box::pin(h2_connection::run(client)).await;
            }
        }
        let worker = client.worker.clone();
        match worker.seats.run(run::run, Parts { client, arrival }).await {
            Outcome::Again(back) if !back.must_end() => client = back,
            Outcome::Again(back) | Outcome::Farewell(back) => {
                return Box::pin(say_farewell(back)).await;
            }
            Outcome::Over => return,
        }
        if client.has_had_its_share() {
            client.worker.thread.scheduler().yield_as(Class::Bulk).await;
        }
    }
}

/// Whether the end of a connection on which nothing was ever sent is nobody's business.
fn ignores_probes(client: &Client) -> bool {
    client.proxy.settings.front.as_ref().is_some_and(|front| front.ignore_probes)
}

/// Ends our side of the stream, and drops what still comes until the client ends its own.
async fn say_farewell(mut client: Box<Client>) {
    let thread = client.worker.thread.clone();
    let deadline = thread.tick().plus_ms(FAREWELL_MS);
    let input = std::mem::replace(&mut client.input, Buf::empty());
    client.worker.release(input);
    client.own = Own::default();
    if client.socket.shutdown_write().is_err() {
        return;
    }
    let mut dropped = 0;
    while dropped < FAREWELL_BYTES && !deadline.is_due(thread.tick()) {
        let Some(mut waste) = client.worker.buffers.try_take(Urgency::Urgent) else { return };
        let read = client.socket.recv(waste.space());
        client.worker.release(waste);
        match read {
            Ok(count @ 1..) => dropped += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                client.socket.want_read();
                thread.scheduler().wait(Some(deadline)).await;
            }
            _ => return,
        }
    }
}

/// Waits for the first bytes of a request, and reads them.
pub(crate) async fn first_bytes(client: &mut Client) -> Arrival {
    let deadline = idle_deadline(client);
    loop {
        if client.socket.is_readable() {
            // What is there is taken without a future of its own.
            let read = match read_at_once(client) {
                Some(read) => read,
                None => Box::pin(read_later(client, deadline)).await,
            };
            match read {
                Some(Arrival::Data) => skip_empty_lines(client),
                Some(arrival) => return arrival,
                None => continue,
            }
            if !client.input.is_empty() {
                return Arrival::Data;
            }
            // Time goes on while a client sends nothing else, and others have their turn.
        }
        let thread = &client.worker.thread;
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Arrival::TimedOut;
        }
        let last = client.last_idle_moment().filter(|_| client.requests > 0);
        if last.is_some_and(|last| last.is_due(thread.tick())) {
            return Arrival::Closed;
        }
        if client.requests > 0 && client.worker.shared.memory.closes_idle() {
            return Arrival::Closed;
        }
        client.socket.want_read();
        if client.requests == 0 && client.session().is_some() {
            // Its handshake was heavy work; what it asks first gives way to connections that have
            // stood for longer.
            thread.scheduler().next_wake_as_bulk();
        }
        thread.scheduler().wait(Tick::earlier(deadline, last)).await;
        prefetch::prefetch(client);
    }
}

/// Drops empty lines before a request that is not the first. Clients send them after a body; they
/// begin no request (RFC 9112 section 2.2), and one is waited for as long as without them (manual,
/// `timeout http-keep-alive`).
fn skip_empty_lines(client: &mut Client) {
    if client.requests == 0 {
        return;
    }
    let (data, mut count) = (client.input.data(), 0);
    while count < EMPTY_LINES {
        match &data[count..] {
            [b'\r', b'\n', ..] => count += 2,
            [b'\n', ..] => count += 1,
            _ => break,
        }
    }
    if count == 0 {
        return;
    }
    client.input.consume(count);
    if client.input.is_empty() {
        client.worker.release(std::mem::replace(&mut client.input, Buf::empty()));
    }
}

/// Tries to read, unless there is no buffer to read into. (No future holds that buffer.)
fn read_at_once(client: &mut Client) -> Option<Option<Arrival>> {
    let input = client.worker.buffers.try_take(Urgency::Ordinary)?;
    Some(read_first(client, input))
}

/// Tries to read as soon as there is a buffer to read into.
async fn read_later(client: &mut Client, deadline: Option<Tick>) -> Option<Arrival> {
    match client.worker.buffers.take(Urgency::Ordinary, deadline).await {
        Some(input) => read_first(client, input),
        None => Some(Arrival::TimedOut),
    }
}

/// Tries to read; `None` when there was nothing after all.
fn read_first(client: &mut Client, mut input: Buf) -> Option<Arrival> {
    let result = client.socket.recv(input.space());
    if let Ok(count @ 1..) = result {
        input.filled(count);
        client.input = input;
        return Some(Arrival::Data);
    }
    client.worker.release(input);
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        _ => Some(Arrival::Closed),
    }
}

pub(crate) fn idle_deadline(client: &Client) -> Option<Tick> {
    let timeouts = &client.proxy.settings.timeouts;
    let first = client.requests == 0;
    let keep_alive = client.rare.keep_alive.or(timeouts.http_keep_alive).filter(|_| !first);
    let span = keep_alive.or(timeouts.http_request).or(timeouts.client)?;
    Some(Tick::from_nanos(client.since).plus_ms(span))
}

impl From<ConnectionMode> for h1::ConnectionMode {
    fn from(mode: ConnectionMode) -> Self {
        match mode {
            ConnectionMode::KeepAlive => Self::KeepAlive,
            ConnectionMode::ServerClose => Self::ServerClose,
            ConnectionMode::Close => Self::Close,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How large the future is that a function makes.
    fn size<F: Future>(_: fn(Box<Client>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn an_idle_client_is_small() {
        assert!(size_of::<Client>() <= 256, "{}", size_of::<Client>());
        assert!(size(run) <= 120, "{}", size(run));
    }
}
