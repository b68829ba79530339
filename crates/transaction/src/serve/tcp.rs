//! Sessions of proxies in TCP mode: bytes both ways until both sides have ended.
//!
//! Choice of the server, queues and retries are those of every transaction
//! ([`crate::connect`]); the differences are how an established connection is
//! detected, and that the payload is opaque.

#[cfg(test)]
mod tests;

use crate::connect;
use crate::filters;
use crate::forward::splicing;
use crate::serve::http;
use crate::serve::service;
use crate::serve::silent_tunnel;
use crate::serve::switch_mode;
use crate::serve::switch_mode::Upgrade;
use crate::stages::stage;
use crate::stages::stage::{Respond, StageOutcome};
use crate::stages::table::{END, Pass, ServerPass, response_rows};
use crate::tunnel;
use crate::tunnel::pipe::{Pipe, PipeEnd, Step};
use crate::tunnel::relay::{Relay, RelayEnds, RelayLimits, Steps};
use engine::state::services::Service;
use engine::state::session::client::Client;
use engine::state::session::transaction::{
    Arrival, Outcome, Parts, Progress, Transaction, TunnelTimes,
};
use observability::telemetry::accounting;
use observability::telemetry::contstats::Meter;
use observability::telemetry::trace::points as trace;
use reactor::{Class, Tick, Urgency};
use rules::Need;
use sample::Side;
use settings::Mode;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use upstream::client_presence::gather;

/// The continuation of a session.
enum SessionNext {
    /// The session is over.
    Over,
    /// The session continues in HTTP mode.
    Http(Upgrade),
    /// Both directions are silent, and nothing but bytes is expected.
    Silent(Relay),
}

/// Serves one session, and in HTTP mode the first request of a session that continues as a tunnel.
pub async fn run(client: Box<Client>) -> Outcome {
    let mut tx = Transaction::new(Parts { client, arrival: Arrival::Data });
    tx.client.mux.close_after_message();
    trace::at(&tx, &trace::STREAM_NEW);
    filters::begin(&mut tx);
    http::list(&mut tx);
    tx.notes.journal.request = tx.worker.thread.nanos();
    match serve(&mut tx).await {
        Ok(SessionNext::Over) => {}
        Ok(SessionNext::Http(upgrade)) => return switch_mode::run(tx, upgrade).await,
        Ok(SessionNext::Silent(relay)) => return silent_tunnel::begin(tx, relay),
        Err(failure) => {
            tx.notes.journal.end(failure.cause, failure.phase);
            trace::at(&tx, &trace::FAILED);
            if tx.server.is_none() {
                // Unread bytes would turn the close of the connection into a reset.
                gather(&mut tx);
            }
            let (journal, client) = (&mut tx.notes.journal, &tx.client);
            if journal.bytes_in == 0 {
                // Bytes that no server has received count as received all the same (`option
                // dontlognull`).
                journal.bytes_in = tx.space.up.sent + client.input.len() as u64;
            }
        }
    }
    http::finish(tx)
}

async fn serve(tx: &mut Transaction) -> Result<SessionNext, Failure> {
    let front = tx.client.proxy.common.clone();
    accounting::log_at_start(tx);
    let backend = match stage::request(tx, &front, Pass::Frontend).await? {
        StageOutcome::Forward(backend) if backend.settings.mode == Mode::Http => {
            return Ok(SessionNext::Http(Upgrade::ByBackend(backend)));
        }
        StageOutcome::Forward(backend) => backend,
        StageOutcome::SwitchMode(spoken) => return Ok(SessionNext::Http(Upgrade::ByRule(spoken))),
        StageOutcome::Respond(Respond::Service(service)) => return serve_by(tx, service).await,
        _ => return Ok(SessionNext::Over),
    };
    accounting::enter_backend(tx, backend.clone());
    if let StageOutcome::Respond(Respond::Service(service)) =
        stage::request(tx, &backend.common, Pass::Backend).await?
    {
        return serve_by(tx, service).await;
    }
    connect::run(tx, &backend).await?;
    trace::at(tx, &trace::CONNECTED);
    tx.notes.journal.response = tx.worker.thread.nanos();
    accounting::log_asap(tx);
    if ServerPass::Connected.rows(tx, &backend) != 0 {
        Box::pin(stage::server(tx, &backend, ServerPass::Connected)).await?;
    }
    let inspection = match response_rows(tx) {
        0 => None,
        _ => Box::pin(stage::begin_session(tx)).await?,
    };
    let mut session = Session::new(tx, inspection);
    match session.run(tx).await {
        Ok(true) => Ok(SessionNext::Silent(session.relay)),
        Ok(false) => Ok(session.close(tx)),
        Err(failure) => {
            session.close(tx);
            Err(failure)
        }
    }
}

/// Has a service of the process serve the session.
async fn serve_by(tx: &mut Transaction, service: Service) -> Result<SessionNext, Failure> {
    service::attach(tx, service);
    tx.notes.journal.response = tx.worker.thread.nanos();
    accounting::log_asap(tx);
    let mut session = Session::new(tx, None);
    let result = session.run(tx).await;
    let over = session.close(tx);
    // Unread bytes would turn the close of the connection into a reset.
    gather(tx);
    result.map(|_| over)
}

/// Both directions of a session, and the rules that hold the server's bytes back.
struct Session {
    relay: Relay,
    /// The stage of the response that holds the server's bytes back.
    inspection: Option<Progress>,
    /// The need of the suspended stage, unless it waits for bytes.
    asks: Option<Need>,
    meter: Meter,
}

impl Session {
    fn new(tx: &mut Transaction, inspection: Option<Progress>) -> Self {
        let now = tx.worker.thread.tick();
        let splicing = splicing::of(tx);
        let [up, down] = [Side::Request, Side::Response].map(|side| filters::of_session(tx, side));
        let up = Pipe::new(tx.space.up.sent, Urgency::Ordinary, splicing[0], up);
        let down = Pipe::new(0, Urgency::Urgent, splicing[1], down);
        let relay = Relay::new(up, down, RelayLimits::of(tx), TunnelTimes::at(now));
        Self { relay, inspection, asks: None, meter: Meter::begin(tx) }
    }

    /// Passes bytes on until both directions are over. `true`: they are silent, and the session can
    /// go on without its transaction.
    async fn run(&mut self, tx: &mut Transaction) -> Result<bool, Failure> {
        let may_rest = tunnel::can_rest(tx);
        loop {
            tx.go_on(Ending::Close, Phase::End)?;
            let steps = self.step(tx)?;
            if let Some(need) = self.asks.take() {
                Box::pin(self.answer(tx, need)).await?;
                continue;
            }
            if self.relay.is_over(steps) {
                return Ok(false);
            }
            let deadline = self.relay.deadline(steps);
            let inspection = self.inspection.and_then(|inspection| inspection.until);
            let inspection = Tick::earlier(inspection, tx.notes.wake.take());
            let now = tx.worker.thread.tick();
            if deadline.is_some_and(|deadline| deadline.is_due(now)) {
                tx.notes.journal.end(self.relay.timed_out(steps, now)?, Phase::Data);
                continue;
            }
            if may_rest && self.inspection.is_none() && self.relay.is_at_rest(steps) {
                return Ok(true);
            }
            let bytes = (self.relay.up.sent, self.relay.down.sent);
            let count = self.meter.read(tx, |_| bytes);
            self.relay.want(steps, &ends(tx)?);
            let thread = tx.worker.thread.clone();
            if steps.0 == Step::More || steps.1 == Step::More {
                thread.scheduler().yield_as(Class::Bulk).await;
            } else {
                self.relay.queue_for_buffer(&tx.worker, steps);
                let until = Tick::earlier(deadline, Tick::earlier(inspection, count));
                let until = Tick::earlier(until, self.relay.resumes(steps));
                thread.scheduler().wait(until).await;
                self.relay.collect_buffer(&mut ends(tx)?);
            }
        }
    }

    /// Meets the need of the stage of the response. Both directions rest; their time-outs begin
    /// again behind the wait.
    async fn answer(&mut self, tx: &mut Transaction, need: Need) -> Result<(), Failure> {
        if let Some(at) = &mut self.inspection {
            stage::answer(tx, at, need).await?;
        }
        self.relay.times = TunnelTimes::at(tx.worker.thread.tick());
        Ok(())
    }

    /// Evaluates the rules over the server's bytes, which pass once the rules accept them.
    fn inspect(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        let Some(at) = &mut self.inspection else { return Ok(()) };
        let before = received(tx);
        let need = stage::response(tx, at, END)?;
        self.asks = need.filter(|need| *need != Need::Bytes);
        if need.is_some() {
            if received(tx) > before {
                let times = &mut self.relay.times;
                times.server_seen = tx.worker.thread.tick();
                times.server_heard = times.server_seen;
            }
            return Ok(());
        }
        let closes = at.closes;
        self.inspection = None;
        let filters = filters::of_session(tx, Side::Response);
        self.relay.down = Pipe::new(0, Urgency::Urgent, splicing::of(tx)[1], filters);
        if closes {
            self.relay.up.end();
            self.relay.down.end();
        }
        Ok(())
    }

    /// Moves both directions along.
    fn step(&mut self, tx: &mut Transaction) -> Result<Steps, Failure> {
        self.inspect(tx)?;
        let lacks_buffer = tx.server.as_ref().is_some_and(|server| server.lacks_buffer());
        let held = self.inspection.map(|_| match lacks_buffer {
            true => Step::AwaitsBuffer,
            false => Step::AwaitsSource,
        });
        self.relay.step(&mut ends(tx)?, held)
    }

    /// Gives buffers back and enters the bytes into the books.
    fn close(self, tx: &mut Transaction) -> SessionNext {
        self.relay.close(tx);
        SessionNext::Over
    }
}

/// The ends of the session.
fn ends(tx: &mut Transaction) -> Result<RelayEnds<'_>, Failure> {
    let server = tx.server.as_mut().ok_or(Failure::close(Cause::Internal, Phase::Data))?;
    let (input, (link, _)) = server.input_and_ends();
    let Client { socket, input: received, .. } = &mut *tx.client;
    Ok(RelayEnds {
        worker: &tx.worker,
        client: PipeEnd { link: socket, machine: None, input: received },
        server: PipeEnd { link, machine: None, input },
    })
}

/// Bytes of the server that have arrived and not passed.
fn received(tx: &Transaction) -> usize {
    tx.server.as_ref().map_or(0, |server| server.received().len())
}
