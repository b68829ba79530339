//! The first bytes of a client, and the detection of HTTP/2.

use buf::Buf;
use engine::state::session::client::Client;
use engine::state::session::client::idle_deadline;
use engine::state::session::transaction::Arrival;
use reactor::{Tick, Urgency};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use stdx::prefetch;
use wire::h2::PREFACE;

/// Bytes of empty lines that are skipped between requests. Further empty lines of the same read are
/// left to the parser.
const EMPTY_LINES: usize = 16;

/// Waits for the first bytes of a request, and reads them.
pub fn first_bytes(client: &mut Client) -> FirstBytes<'_> {
    FirstBytes { client, buffer: None, waits: false }
}

/// A wait for the first bytes of a request. It is a future by hand, since every idle client has
/// one: its deadline is computed when it has to wait, and a wait for a buffer is a future of its
/// own.
pub struct FirstBytes<'a> {
    client: &'a mut Client,
    /// The wait for a buffer to read into.
    buffer: Option<BufferFuture>,
    /// Whether the task has waited since the last turn.
    waits: bool,
}

type BufferFuture = Pin<Box<dyn Future<Output = Option<Buf>>>>;

impl Future for FirstBytes<'_> {
    type Output = Arrival;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Arrival> {
        let this = self.get_mut();
        if std::mem::take(&mut this.waits) {
            prefetch::prefetch(this.client);
        }
        loop {
            if this.buffer.is_some() || this.client.socket.is_readable() {
                match ready!(this.read(context)) {
                    Some(Arrival::Data) => skip_empty_lines(this.client),
                    Some(arrival) => return Poll::Ready(arrival),
                    None => continue,
                }
                if !this.client.input.is_empty() {
                    return Poll::Ready(Arrival::Data);
                }
                // The deadline stays while a client sends nothing but empty lines, and other tasks
                // get their turn.
            }
            return match end_of_wait(this.client) {
                Err(arrival) => Poll::Ready(arrival),
                Ok(until) => {
                    this.waits = true;
                    let scheduler = this.client.worker.thread.scheduler();
                    pin!(scheduler.wait(until)).poll(context).map(|_| Arrival::Closed)
                }
            };
        }
    }
}

impl FirstBytes<'_> {
    /// Reads, as soon as there is a buffer to read into; `None` when there were no bytes after all.
    /// No future holds the buffer.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Option<Arrival>> {
        let client = &mut *self.client;
        if self.buffer.is_none() {
            if let Some(input) = client.worker.buffers.try_take(Urgency::Ordinary) {
                return Poll::Ready(read_first(client, input));
            }
            let (worker, deadline) = (client.worker.clone(), idle_deadline(client));
            let wait = async move { worker.buffers.take(Urgency::Ordinary, deadline).await };
            self.buffer = Some(Box::pin(wait));
        }
        let Some(wait) = &mut self.buffer else { return Poll::Ready(None) };
        let input = ready!(wait.as_mut().poll(context));
        self.buffer = None;
        Poll::Ready(match input {
            Some(input) => read_first(client, input),
            None => Some(Arrival::TimedOut),
        })
    }
}

/// The moment until which a client without input is waited for, once it is registered for input.
///
/// # Errors
/// The wait is over.
fn end_of_wait(client: &Client) -> Result<Option<Tick>, Arrival> {
    let (deadline, thread) = (idle_deadline(client), &client.worker.thread);
    if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
        return Err(Arrival::TimedOut);
    }
    let last = client.last_idle_moment().filter(|_| client.requests > 0);
    if last.is_some_and(|last| last.is_due(thread.tick())) {
        return Err(Arrival::Closed);
    }
    let memory = &client.worker.shared.memory;
    let since = Tick::from_nanos(client.since);
    if client.requests > 0 && memory.closes_idle(since, thread.tick()) {
        return Err(Arrival::Closed);
    }
    let limit = memory.idle_limit(since).filter(|_| client.requests > 0);
    client.socket.want_read();
    if client.requests == 0 && client.session().is_some() {
        // The handshake was heavy work; the first request behind it gives way to connections that
        // are older.
        thread.scheduler().next_wake_as_bulk();
    }
    Ok(Tick::earlier(limit, Tick::earlier(deadline, last)))
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
