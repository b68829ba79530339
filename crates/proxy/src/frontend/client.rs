//! A client connection: waits for requests and hands each to a transaction.
//!
//! While idle it holds neither a buffer nor a transaction; its whole state is this future.

use crate::frontend::h2_connection;
use buf::Buf;
pub(crate) use engine::state::backend::private_pool::PrivatePool;
use engine::state::session::client::Client;
use engine::state::session::transaction::{Arrival, Outcome, Parts};
use reactor::{Class, Urgency};
use settings::{Mode, Protocol};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use transaction::message::first_bytes;
pub(crate) use transaction::message::first_bytes::first_bytes;
use transaction::message::first_bytes::skip_empty_lines;
use transaction::serve::http;

/// How long input is still discarded after the last answer, in milliseconds.
const FAREWELL_MS: u32 = 5_000;
/// How many bytes are discarded in that time.
const FAREWELL_BYTES: usize = 1 << 20;

/// Serves a client until one side closes.
pub(crate) async fn run(mut client: Box<Client>) {
    client.socket.own();
    if client.mode == Mode::Tcp {
        match Concluded(Some(Box::pin(transaction::serve::tcp::run(client)).await)).await {
            Outcome::Again(back) => client = back,
            Outcome::Farewell(back) => return Box::pin(say_farewell(back)).await,
            Outcome::Over | Outcome::Tunnel(_) => return,
        }
    }
    let speaks_h2 = match client.protocol {
        Protocol::H2 => true,
        Protocol::Chosen => client.negotiated().is_some_and(|name| &*name == b"h2"),
        Protocol::H1 | Protocol::H3 | Protocol::Fcgi => false,
    };
    if speaks_h2 {
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
        let undecided = client.requests == 0 && client.protocol == Protocol::Chosen;
        if undecided && first_bytes::may_begin(&client) {
            let recognized = Box::pin(first_bytes::recognize(&mut client)).await;
            if recognized {
                return Box::pin(h2_connection::run(client)).await;
            }
        }
        let worker = client.worker.clone();
        match Concluded(Some(worker.seats.run(http::run, Parts { client, arrival }).await)).await {
            Outcome::Again(back) if !back.must_end() => client = back,
            Outcome::Again(back) | Outcome::Farewell(back) => {
                return Box::pin(say_farewell(back)).await;
            }
            Outcome::Over | Outcome::Tunnel(_) => return,
        }
        if client.has_had_its_share() {
            client.worker.thread.scheduler().yield_as(Class::Bulk).await;
        }
    }
}

/// The outcome of a transaction, once the tunnel is over that it may have become. It is a future by
/// hand, so that it is no larger than that.
struct Concluded(Option<Outcome>);

impl Future for Concluded {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        if let Some(Outcome::Tunnel(tunnel)) = &mut self.0 {
            let outcome = ready!(tunnel.as_mut().poll(context));
            self.0 = Some(outcome);
        }
        self.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Whether a connection that ends without any byte is ignored (`option http-ignore-probes`).
fn ignores_probes(client: &Client) -> bool {
    client.proxy.front.settings.ignore_probes
}

/// Shuts our side of the stream down, and discards input until the client ends its side.
async fn say_farewell(mut client: Box<Client>) {
    let thread = client.worker.thread.clone();
    let deadline = thread.tick().plus_ms(FAREWELL_MS);
    let input = std::mem::replace(&mut client.input, Buf::empty());
    client.worker.release(input);
    client.own = PrivatePool::default();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of the future that a function returns.
    fn size<F: Future>(_: fn(Box<Client>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn an_idle_client_is_small() {
        assert!(size_of::<Client>() <= 256, "{}", size_of::<Client>());
        assert!(size(run) <= 112, "{}", size(run));
    }
}
