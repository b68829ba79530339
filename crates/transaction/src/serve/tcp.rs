//! Sessions of proxies in TCP mode: bytes both ways until both sides have ended.
//!
//! Choice of the server, queues and retries are those of every transaction
//! ([`crate::connect`]); the differences are how an established connection is
//! detected, and that the payload is opaque.

mod pipe;
#[cfg(test)]
mod tests;

use crate::connect;
use crate::filters;
use crate::forward::splicing;
use crate::serve::http;
use crate::serve::service;
use crate::serve::switch_mode;
use crate::serve::switch_mode::Upgrade;
use crate::stages::stage;
use crate::stages::stage::{Respond, StageOutcome};
use crate::stages::table::{END, Pass, ServerPass, response_rows};
use buf::Buf;
use engine::state::services::Service;
use engine::state::session::client::Client;
use engine::state::session::transaction::{Arrival, Outcome, Parts, Progress, Transaction};
use engine::state::worker::Worker;
use observability::telemetry::accounting;
use observability::telemetry::contstats::Meter;
use observability::telemetry::trace::points as trace;
use pipe::{Fault, Pipe, Step};
use reactor::{Class, Tick, Urgency};
use rules::Need;
use sample::Side;
use settings::Mode;
use transport::channel::Link;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use transport::thread::buffers::Claim;
use upstream::client_presence::gather;

/// The continuation of a session.
enum SessionNext {
    /// The session is over.
    Over,
    /// The session continues in HTTP mode.
    Http(Upgrade),
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
    let mut relay = Relay::new(tx, inspection);
    let result = relay.run(tx).await;
    relay.close(tx);
    result.map(|()| SessionNext::Over)
}

/// Has a service of the process serve the session.
async fn serve_by(tx: &mut Transaction, service: Service) -> Result<SessionNext, Failure> {
    service::attach(tx, service);
    tx.notes.journal.response = tx.worker.thread.nanos();
    accounting::log_asap(tx);
    let mut relay = Relay::new(tx, None);
    let result = relay.run(tx).await;
    relay.close(tx);
    // Unread bytes would turn the close of the connection into a reset.
    gather(tx);
    result.map(|()| SessionNext::Over)
}

/// Both directions of a session.
struct Relay {
    up: Pipe,
    down: Pipe,
    /// When each peer last received or sent bytes.
    client_seen: Tick,
    server_seen: Tick,
    /// When each peer has last sent bytes.
    client_heard: Tick,
    server_heard: Tick,
    /// The stage of the response that holds the server's bytes back.
    inspection: Option<Progress>,
    /// The need of the suspended stage, unless it waits for bytes.
    asks: Option<Need>,
    /// The place in the line for buffers, while there are none.
    claim: Claim,
    meter: Meter,
}

impl Relay {
    fn new(tx: &mut Transaction, inspection: Option<Progress>) -> Self {
        let now = tx.worker.thread.tick();
        let input = std::mem::replace(&mut tx.client.input, Buf::empty());
        let splicing = splicing::of(tx);
        let filters = [Side::Request, Side::Response].map(|side| filters::of_session(tx, side));
        let [up, down] = filters;
        let up = Pipe::new(input, tx.space.up.sent, Urgency::Ordinary, splicing[0], up);
        let down = Pipe::new(Buf::empty(), 0, Urgency::Urgent, splicing[1], down);
        let (claim, meter) = (Claim::default(), Meter::begin(tx));
        Self {
            up,
            down,
            client_seen: now,
            server_seen: now,
            client_heard: now,
            server_heard: now,
            inspection,
            asks: None,
            claim,
            meter,
        }
    }

    /// Passes bytes on until both directions are over.
    async fn run(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        loop {
            tx.go_on(Ending::Close, Phase::End)?;
            let steps = self.step(tx)?;
            if let Some(need) = self.asks.take() {
                Box::pin(self.answer(tx, need)).await?;
                continue;
            }
            // After the end of a service nothing reads what the client still sends.
            if steps.1 == Step::Done && (steps.0 == Step::Done || is_service(tx)) {
                return Ok(());
            }
            let thread = tx.worker.thread.clone();
            let deadline = Tick::earlier(self.client_deadline(tx), self.server_deadline(tx));
            let inspection = self.inspection.and_then(|inspection| inspection.until);
            let inspection = Tick::earlier(inspection, tx.notes.wake.take());
            if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                self.timed_out(tx)?;
                continue;
            }
            let bytes = (self.up.sent, self.down.sent);
            let count = self.meter.read(tx, |_| bytes);
            self.up.want(steps.0, &tx.client.socket, server(tx)?);
            self.down.want(steps.1, server(tx)?, &tx.client.socket);
            if steps.0 == Step::More || steps.1 == Step::More {
                thread.scheduler().yield_as(Class::Bulk).await;
            } else {
                self.claim.renew(&tx.worker.buffers, needs_buffer(steps));
                let resumes = self.resumes(steps);
                let until = Tick::earlier(deadline, Tick::earlier(inspection, count));
                let until = Tick::earlier(until, resumes);
                thread.scheduler().wait(until).await;
                self.collect_buffer(tx);
            }
        }
    }

    /// When a filter that holds bytes back lets some pass.
    fn resumes(&self, (up, down): (Step, Step)) -> Option<Tick> {
        let of = |step, pipe: &Pipe| pipe.resumes().filter(|_| step == Step::AwaitsTime);
        Tick::earlier(of(up, &self.up), of(down, &self.down))
    }

    /// Meets the need of the stage of the response. Both directions rest; their time-outs begin
    /// again behind the wait.
    async fn answer(&mut self, tx: &mut Transaction, need: Need) -> Result<(), Failure> {
        if let Some(at) = &mut self.inspection {
            stage::answer(tx, at, need).await?;
        }
        let now = tx.worker.thread.tick();
        (self.client_seen, self.server_seen) = (now, now);
        (self.client_heard, self.server_heard) = (now, now);
        Ok(())
    }

    /// Puts a buffer that was waited for where it is needed.
    fn collect_buffer(&mut self, tx: &mut Transaction) {
        let Some((need, buffer)) = self.claim.collect(&tx.worker.buffers) else { return };
        let unused = match (need, &self.inspection, &mut tx.server) {
            (Urgency::Ordinary, ..) => self.up.give_buffer(buffer),
            (Urgency::Urgent, Some(_), Some(server)) => server.give_input(buffer),
            (Urgency::Urgent, ..) => self.down.give_buffer(buffer),
        };
        tx.worker.release(unused);
    }

    /// Evaluates the rules over the server's bytes, which pass once the rules accept them.
    fn inspect(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        let Some(at) = &mut self.inspection else { return Ok(()) };
        let before = received(tx);
        let need = stage::response(tx, at, END)?;
        self.asks = need.filter(|need| *need != Need::Bytes);
        if need.is_some() {
            if received(tx) > before {
                self.server_seen = tx.worker.thread.tick();
                self.server_heard = self.server_seen;
            }
            return Ok(());
        }
        let closes = at.closes;
        self.inspection = None;
        let input = tx.server.as_mut().map(|server| server.take_input());
        let filters = filters::of_session(tx, Side::Response);
        self.down = Pipe::new(
            input.unwrap_or_else(Buf::empty),
            0,
            Urgency::Urgent,
            splicing::of(tx)[1],
            filters,
        );
        if closes {
            self.up.end();
            self.down.end();
        }
        Ok(())
    }

    /// Moves both directions along.
    fn step(&mut self, tx: &mut Transaction) -> Result<(Step, Step), Failure> {
        self.inspect(tx)?;
        let lacks_buffer = tx.server.as_ref().is_some_and(|server| server.lacks_buffer());
        let (worker, client, server): (&Worker, _, _) =
            (&tx.worker, &tx.client.socket, server(tx)?);
        let now = worker.thread.tick();
        let before = [self.up.read, self.up.sent, self.down.read, self.down.sent];
        let shut = (self.up.is_shut(), self.down.is_shut());
        let up = self.up.step(worker, client, server);
        let down = match &self.inspection {
            Some(_) if lacks_buffer => Ok(Step::AwaitsBuffer),
            Some(_) => Ok(Step::AwaitsSource),
            None => self.down.step(worker, server, client),
        };
        if (self.up.read, self.down.sent) != (before[0], before[3]) {
            self.client_seen = now;
        }
        if (self.down.read, self.up.sent) != (before[2], before[1]) {
            self.server_seen = now;
        }
        if self.up.read != before[0] {
            self.client_heard = now;
        }
        if self.down.read != before[2] {
            self.server_heard = now;
        }
        // Limits of half-closed connections begin with the end of the other direction.
        if self.up.is_shut() != shut.0 && tx.side().settings.timeouts.server_fin.is_some() {
            (self.server_seen, self.server_heard) = (now, now);
        }
        let front = &tx.client.proxy.settings.timeouts;
        if self.down.is_shut() != shut.1 && front.client_fin.is_some() {
            (self.client_seen, self.client_heard) = (now, now);
        }
        let client_gone = Failure::close(Cause::ClientAbort, Phase::Data);
        let server_gone = Failure::close(Cause::ServerAbort, Phase::Data);
        let up = match up {
            Err(Fault::Write) if is_service(tx) => {
                self.up.end();
                Ok(Step::Done)
            }
            up => up,
        };
        let up = up.map_err(|fault| match fault {
            Fault::Read => client_gone,
            Fault::Write => server_gone,
            Fault::Filter => filters::failed(),
        })?;
        let down = down.map_err(|fault| match fault {
            Fault::Read => server_gone,
            Fault::Write => client_gone,
            Fault::Filter => filters::failed(),
        })?;
        Ok((up, down))
    }

    /// The client's deadline: `timeout tunnel` replaces `timeout client`, and once the client has
    /// got the end of the stream, `timeout client-fin` replaces both.
    fn client_deadline(&self, tx: &Transaction) -> Option<Tick> {
        let own = &tx.client.proxy.settings.timeouts;
        let fin = own.client_fin.filter(|_| self.down.is_shut());
        let span = fin.or(tx.side().settings.timeouts.tunnel).or(own.client)?;
        let reading = !self.up.has_ended();
        let alone = tx.client.proxy.front.settings.independent_streams;
        let since = if reading && alone { self.client_heard } else { self.client_seen };
        (reading || self.down.holds_data()).then(|| since.plus_ms(span))
    }

    /// As the client's, for the server.
    fn server_deadline(&self, tx: &Transaction) -> Option<Tick> {
        let own = &tx.side().settings.timeouts;
        let fin = own.server_fin.filter(|_| self.up.is_shut());
        let span = fin.or(own.tunnel).or(own.server)?;
        let reading = !self.down.has_ended();
        let alone = tx.back_settings().is_some_and(|it| it.independent_streams);
        let since = if reading && alone { self.server_heard } else { self.server_seen };
        (reading || self.up.holds_data()).then(|| since.plus_ms(span))
    }

    /// As in HAProxy, a client that is silent for too long counts as half-closed: the server has
    /// its own time to finish.
    ///
    /// # Errors
    /// The server's timeout has expired, or that of a client that does not read.
    fn timed_out(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        let now = tx.worker.thread.tick();
        let by_client = self.client_deadline(tx).is_some_and(|deadline| deadline.is_due(now));
        let cause = if by_client { Cause::ClientTimeout } else { Cause::ServerTimeout };
        if !by_client || self.up.has_ended() || self.down.holds_data() {
            return Err(Failure::close(cause, Phase::Data));
        }
        tx.notes.journal.end(cause, Phase::Data);
        self.up.end();
        Ok(())
    }

    /// Gives buffers back and enters the bytes into the books.
    fn close(self, tx: &mut Transaction) {
        tx.notes.journal.bytes_in = self.up.sent;
        tx.space.down.sent = self.down.sent;
        tx.worker.release(self.up.into_buffer());
        tx.worker.release(self.down.into_buffer());
    }
}

/// Bytes of the server that have arrived and not passed.
fn received(tx: &Transaction) -> usize {
    tx.server.as_ref().map_or(0, |server| server.received().len())
}

/// The urgency of the buffer that a direction waits for, if one does: bytes from the server go
/// first.
fn needs_buffer((up, down): (Step, Step)) -> Option<Urgency> {
    if down == Step::AwaitsBuffer {
        return Some(Urgency::Urgent);
    }
    (up == Step::AwaitsBuffer).then_some(Urgency::Ordinary)
}

/// Whether a service of the process serves the session.
fn is_service(tx: &Transaction) -> bool {
    tx.server.as_ref().is_some_and(|server| server.server().is_none())
}

fn server(tx: &Transaction) -> Result<&Link, Failure> {
    let server = tx.server.as_ref().map(|server| server.socket());
    server.ok_or(Failure::close(Cause::Internal, Phase::Data))
}
