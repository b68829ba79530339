//! The first bytes of a client, and the detection of HTTP/2.

use buf::Buf;
use engine::state::session::client::Client;
use engine::state::session::client::idle_deadline;
use engine::state::session::transaction::Arrival;
use reactor::{Tick, Urgency};
use std::io;
use stdx::prefetch;
use wire::h2::PREFACE;

/// Bytes of empty lines that are skipped between requests. Further empty lines of the same read are
/// left to the parser.
const EMPTY_LINES: usize = 16;

/// Waits for the first bytes of a request, and reads them.
pub async fn first_bytes(client: &mut Client) -> Arrival {
    let deadline = idle_deadline(client);
    loop {
        if client.socket.is_readable() {
            // Bytes that have arrived already are read without a future of their own.
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
            // The deadline stays while a client sends nothing but empty lines, and other tasks get
            // their turn.
        }
        let thread = &client.worker.thread;
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Arrival::TimedOut;
        }
        let last = client.last_idle_moment().filter(|_| client.requests > 0);
        if last.is_some_and(|last| last.is_due(thread.tick())) {
            return Arrival::Closed;
        }
        let memory = &client.worker.shared.memory;
        let since = Tick::from_nanos(client.since);
        if client.requests > 0 && memory.closes_idle(since, thread.tick()) {
            return Arrival::Closed;
        }
        let limit = memory.idle_limit(since).filter(|_| client.requests > 0);
        client.socket.want_read();
        if client.requests == 0 && client.session().is_some() {
            // The handshake was heavy work; the first request behind it gives way to connections
            // that are older.
            thread.scheduler().next_wake_as_bulk();
        }
        thread.scheduler().wait(Tick::earlier(limit, Tick::earlier(deadline, last))).await;
        prefetch::prefetch(client);
    }
}

/// Drops empty lines before a request that is not the first. Clients send them after a body; they
/// begin no request (RFC 9112 section 2.2), so the deadline of the next request is not affected
/// (manual, `timeout http-keep-alive`).
pub fn skip_empty_lines(client: &mut Client) {
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

/// Tries to read; `None` when there were no bytes after all.
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

/// Whether the received bytes may be the beginning of HTTP/2.
pub fn may_begin(client: &Client) -> bool {
    let clear = client.session().is_none();
    let upgrades = clear && !client.proxy.front.settings.disable_h2_upgrade;
    upgrades && begins(client.input.data())
}

/// Whether the received bytes are a prefix of the preface.
pub(crate) fn begins(input: &[u8]) -> bool {
    let count = input.len().min(PREFACE.len());
    count > 0 && input[..count] == PREFACE[..count]
}

/// Waits until it is clear whether a connection begins with the preface of HTTP/2.
pub async fn recognize(client: &mut Client) -> bool {
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
