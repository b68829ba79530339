//! The first bytes of a client, and whether they begin HTTP/2.

use buf::Buf;
use engine::state::session::client::Client;
use engine::state::session::client::idle_deadline;
use engine::state::session::transaction::Arrival;
use reactor::{Tick, Urgency};
use std::io;
use stdx::prefetch;
use wire::h2::PREFACE;

/// Bytes of empty lines between requests that mean nothing. What a client sends beyond that at once
/// is for the parser to judge.
const EMPTY_LINES: usize = 16;

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
pub(crate) fn skip_empty_lines(client: &mut Client) {
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

/// Whether what has come of a connection may be the beginning of HTTP/2.
pub(crate) fn may_begin(client: &Client) -> bool {
    let settings = client.proxy.settings.front.as_ref();
    let clear = client.session().is_none();
    let upgrades = clear && settings.is_some_and(|front| !front.disable_h2_upgrade);
    upgrades && begins(client.input.data())
}

/// Whether all that there is agrees with the preface.
pub(crate) fn begins(input: &[u8]) -> bool {
    let count = input.len().min(PREFACE.len());
    count > 0 && input[..count] == PREFACE[..count]
}

/// Waits until it is clear whether a connection begins with the preface of HTTP/2.
pub(crate) async fn recognize(client: &mut Client) -> bool {
    let deadline = idle_deadline(client);
    let thread = client.worker.thread.clone();
    while begins(client.input.data()) {
        if client.input.len() >= PREFACE.len() {
            return true;
        }
        match client.read() {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                    return false;
                }
                client.socket.want_read();
                thread.scheduler().wait(deadline).await;
            }
            _ => return false,
        }
    }
    false
}
