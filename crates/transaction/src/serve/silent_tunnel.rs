//! The end of a transaction as a tunnel: opaque bytes both ways, in little memory.
//!
//! A TCP session and an exchange of HTTP that has switched protocols become a [`Tunnel`] when both
//! directions are silent for the first time. The future of the transaction ends then, and its
//! workspace and notes serve other requests; at the end of the tunnel a transaction is made again
//! for its log line and counters. Sessions with filters or a service, and those whose response
//! rules still wait, keep their transaction ([`crate::tunnel::can_rest`]).

use crate::serve::http;
use crate::serve::resting::RestingTransaction;
use crate::tunnel::LONG_MS;
use crate::tunnel::pipe::{PipeEnd, Step};
use crate::tunnel::relay::{Relay, RelayEnds, RelayLimits, Steps};
use engine::state::backend::server_connection::ServerConn;
use engine::state::session::client::Client;
use engine::state::session::transaction::{Outcome, Transaction, TunnelTimes};
use observability::telemetry::accounting;
use observability::telemetry::trace::points as trace;
use reactor::{Class, Tick};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use stdx::prefetch;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The outcome of a transaction that has become a tunnel.
pub(crate) fn begin(mut tx: Transaction, relay: Relay) -> Outcome {
    let Some(server) = tx.server.take() else {
        relay.close(&mut tx);
        return http::finish(tx);
    };
    let stream = RestingTransaction::new(tx, server);
    Outcome::Tunnel(Box::pin(Tunnel(Some(LiveTunnel { relay, stream, waits: false }))))
}

/// As [`begin`], for an exchange of HTTP.
pub(crate) fn begin_exchange(mut tx: Transaction, times: TunnelTimes) -> Outcome {
    accounting::count_spliced(&mut tx);
    tx.notes.journal.bytes_out += tx.space.down.counted();
    let relay = Relay::at_rest(RelayLimits::of(&tx), times);
    begin(tx, relay)
}

/// A tunnel, until its end. It is a future by hand, so that it is exactly as large as what it
/// keeps.
struct Tunnel(Option<LiveTunnel>);

struct LiveTunnel {
    relay: Relay,
    stream: RestingTransaction,
    /// Whether the task has waited since its last turn.
    waits: bool,
}

impl Future for Tunnel {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let Some(live) = &mut self.0 else { return Poll::Pending };
        if std::mem::take(&mut live.waits) {
            live.wake();
        }
        let result = match live.turn() {
            Ok(Turn::Waits(until)) => {
                live.waits = true;
                let scheduler = live.stream.client.worker.thread.scheduler();
                return pin!(scheduler.wait(until)).poll(context).map(|_| Outcome::Over);
            }
            Ok(Turn::Yields) => {
                let scheduler = live.stream.client.worker.thread.scheduler();
                let again = scheduler.yield_as(Class::Bulk);
                return pin!(again).poll(context).map(|()| Outcome::Over);
            }
            Ok(Turn::Over) => Ok(()),
            Err(failure) => Err(failure),
        };
        Poll::Ready(self.0.take().map_or(Outcome::Over, |live| live.end(result)))
    }
}

/// How a turn of a tunnel ends.
enum Turn {
    /// Both directions wait, at most until this moment.
    Waits(Option<Tick>),
    /// Other tasks have their turn.
    Yields,
    /// Both directions are over.
    Over,
}

impl LiveTunnel {
    /// The task was woken: the memory is needed now, and a buffer that was waited for may be there.
    fn wake(&mut self) {
        let Self { relay, stream, .. } = self;
        prefetch::prefetch(&*stream.client);
        prefetch::prefetch(&*stream.server);
        let mut ends = ends(relay, &mut stream.client, &mut stream.server);
        // As in an exchange, a client that was silent may have reset the connection unnoticed.
        let heard = relay.times.client_heard;
        if relay.limits.http && ends.worker.thread.tick().ms_after(heard) >= LONG_MS {
            ends.client.link.send_next_at_once();
        }
        relay.collect_buffer(&mut ends);
    }

    /// Moves both directions along until they have to wait.
    ///
    /// # Errors
    /// A peer has gone or takes too long, or the stream was shut down by a command.
    fn turn(&mut self) -> Result<Turn, Failure> {
        let Self { relay, stream, .. } = self;
        loop {
            if let Some(cause) = stream.ends() {
                return Err(Failure::close(cause, Phase::End));
            }
            let mut ends = ends(relay, &mut stream.client, &mut stream.server);
            let steps = relay.step(&mut ends, None)?;
            if relay.is_over(steps) || is_cut(relay, steps, &ends) {
                return Ok(Turn::Over);
            }
            let (deadline, now) = (relay.deadline(steps), ends.worker.thread.tick());
            if deadline.is_some_and(|deadline| deadline.is_due(now)) {
                stream.note_end(relay.timed_out(steps, now)?, Phase::Data);
                continue;
            }
            if relay.limits.http {
                watch_resets(steps, &ends)?;
            }
            relay.want(steps, &ends);
            if steps.0 == Step::More || steps.1 == Step::More {
                return Ok(Turn::Yields);
            }
            relay.queue_for_buffer(ends.worker, steps);
            return Ok(Turn::Waits(deadline));
        }
    }

    /// Makes a transaction again, for the log line and the counters.
    fn end(self, result: Result<(), Failure>) -> Outcome {
        let http = self.relay.limits.http;
        let mut tx = self.stream.resume();
        self.relay.close(&mut tx);
        if let Err(failure) = result {
            tx.notes.journal.end(failure.cause, failure.phase);
            trace::at(&tx, &trace::FAILED);
            if http {
                tx.drop_server();
                tx.client.mux.close_after_message();
            }
        }
        http::finish(tx)
    }
}

/// The ends of a tunnel; messages of HTTP have machines, which count and frame what passes.
fn ends<'a>(relay: &Relay, client: &'a mut Client, server: &'a mut ServerConn) -> RelayEnds<'a> {
    let Client { worker, socket, mux, input, .. } = client;
    let (received, (link, machine)) = server.input_and_ends();
    let http = relay.limits.http;
    RelayEnds {
        worker,
        client: PipeEnd { link: socket, machine: http.then_some(mux), input },
        server: PipeEnd { link, machine: http.then_some(machine), input: received },
    }
}

/// Whether the server has reset its stream behind its last byte: it takes no more of the client's.
fn is_cut(relay: &Relay, steps: Steps, ends: &RelayEnds<'_>) -> bool {
    relay.limits.http && steps.1 == Step::Done && ends.server.link.is_cancelled()
}

/// Registers for resets of streams.
///
/// # Errors
/// The client has reset its stream, or buffers are so short that a peer that does not read has to
/// go.
fn watch_resets(steps: Steps, ends: &RelayEnds<'_>) -> Result<(), Failure> {
    let (client, server) = (ends.client.link, ends.server.link);
    if client.is_cancelled() {
        return Err(Failure::close(Cause::ClientAbort, Phase::Data));
    }
    let stuck = [steps.0, steps.1].contains(&Step::AwaitsDestination);
    if stuck && ends.worker.buffers.is_crowded(false) {
        ends.worker.shared.memory.count_request();
        return Err(Failure::close(Cause::Resource, Phase::Data));
    }
    client.want_reset();
    if steps.1 == Step::Done && !server.is_cancelled() {
        server.want_reset();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! The size of a tunnel, which the memory of a silent connection is made of.
    use super::*;

    #[test]
    fn a_silent_tunnel_is_small() {
        let sizes = (size_of::<Tunnel>(), size_of::<Relay>(), size_of::<RestingTransaction>());
        assert!(sizes.0 <= 448, "{sizes:?}");
    }
}
