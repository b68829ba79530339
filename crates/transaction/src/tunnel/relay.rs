//! Both directions of a tunnel, with the time limits of its two peers.

use super::pipe::{Fault, Pipe, PipeEnd, Step};
use crate::filters;
use buf::Buf;
use engine::state::session::transaction::{Transaction, TunnelTimes};
use engine::state::worker::Worker;
use reactor::{Tick, Urgency};
use settings::Mode;
use transport::splice::Splicing;
use transport::stats::transaction_log::{Cause, Failure, Phase};
use transport::thread::buffers::Claim;

/// The event that each direction waits for: to the server, to the client.
pub(crate) type Steps = (Step, Step);

/// The ends of a tunnel, for one turn.
pub(crate) struct RelayEnds<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) client: PipeEnd<'a>,
    pub(crate) server: PipeEnd<'a>,
}

/// Milliseconds, or no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span(u32);

impl Span {
    const NONE: Self = Self(u32::MAX);

    fn of(span: Option<u32>) -> Self {
        span.map_or(Self::NONE, Self)
    }

    fn get(self) -> Option<u32> {
        (self != Self::NONE).then_some(self.0)
    }
}

/// The time limits of a tunnel, and how it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelayLimits {
    /// `timeout tunnel`, otherwise `timeout client`.
    client: Span,
    /// `timeout tunnel`, otherwise `timeout server`.
    server: Span,
    /// `timeout client-fin`, once the client has got the end of the stream.
    client_fin: Span,
    /// `timeout server-fin`, as for the client.
    server_fin: Span,
    /// `option independent-streams` of the frontend.
    client_alone: bool,
    /// `option independent-streams` of the backend.
    server_alone: bool,
    /// Whether it began as a message of HTTP.
    pub(crate) http: bool,
    /// Whether a service of the process is the server.
    service: bool,
}

impl RelayLimits {
    /// The limits of a stream, as its frontend, its backend and its rules set them.
    pub(crate) fn of(tx: &Transaction) -> Self {
        let (front, back) = (&tx.client.proxy.settings.timeouts, &tx.side().settings.timeouts);
        Self {
            client: Span::of(tx.tunnel_timeout().or(front.client)),
            server: Span::of(tx.tunnel_timeout().or(tx.server_timeout())),
            client_fin: Span::of(front.client_fin),
            server_fin: Span::of(back.server_fin),
            client_alone: tx.client.proxy.front.settings.independent_streams,
            server_alone: tx.back_settings().is_some_and(|it| it.independent_streams),
            http: tx.client.mode == Mode::Http,
            service: tx.server.as_ref().is_some_and(|server| server.server().is_none()),
        }
    }
}

/// Both directions.
pub(crate) struct Relay {
    pub(crate) up: Pipe,
    pub(crate) down: Pipe,
    pub(crate) limits: RelayLimits,
    /// When each peer last received or sent bytes, and when it has last sent bytes.
    pub(crate) times: TunnelTimes,
    /// The place in the line for buffers, while there are none.
    claim: Claim,
}

impl Relay {
    pub(crate) fn new(up: Pipe, down: Pipe, limits: RelayLimits, times: TunnelTimes) -> Self {
        Self { up, down, limits, times, claim: Claim::default() }
    }

    /// A tunnel whose directions hold no bytes.
    pub(crate) fn at_rest(limits: RelayLimits, times: TunnelTimes) -> Self {
        let pipe = |need| Pipe::new(0, need, Splicing::Never, None);
        Self::new(pipe(Urgency::Ordinary), pipe(Urgency::Urgent), limits, times)
    }

    /// Moves both directions along; `held` is the step of the direction to the client while its
    /// bytes are held back.
    ///
    /// # Errors
    /// A peer has gone, or a filter has failed.
    pub(crate) fn step(
        &mut self,
        ends: &mut RelayEnds<'_>,
        held: Option<Step>,
    ) -> Result<Steps, Failure> {
        let RelayEnds { worker, client, server } = ends;
        let before = [self.up.read, self.up.sent, self.down.read, self.down.sent];
        let shut = (self.up.is_shut(), self.down.is_shut());
        let up = self.up.step(worker, client, server);
        let down = match held {
            Some(step) => Ok(step),
            None => self.down.step(worker, server, client),
        };
        self.note_progress(worker.thread.tick(), before, shut);
        let client_gone = Failure::close(Cause::ClientAbort, Phase::Data);
        let server_gone = Failure::close(Cause::ServerAbort, Phase::Data);
        let up = match up {
            Err(Fault::Write) if self.limits.service || self.limits.http => {
                self.give_up_request(client, server);
                Step::Done
            }
            up => up.map_err(|fault| match fault {
                Fault::Read => client_gone,
                Fault::Write => server_gone,
                Fault::Filter => filters::failed(),
            })?,
        };
        let down = down.map_err(|fault| match fault {
            Fault::Read => server_gone,
            Fault::Write => client_gone,
            Fault::Filter => filters::failed(),
        })?;
        Ok((up, down))
    }

    /// The server takes no more bytes; what it still sends counts.
    #[cold]
    fn give_up_request(&mut self, client: &mut PipeEnd<'_>, server: &mut PipeEnd<'_>) {
        self.up.abandon(client);
        if let (Some(client), Some(server)) = (&mut client.machine, &mut server.machine) {
            server.abort();
            client.close_after_message();
        }
    }

    fn note_progress(&mut self, now: Tick, before: [u64; 4], shut: (bool, bool)) {
        let times = &mut self.times;
        if (self.up.read, self.down.sent) != (before[0], before[3]) {
            times.client_seen = now;
        }
        if (self.down.read, self.up.sent) != (before[2], before[1]) {
            times.server_seen = now;
        }
        if self.up.read != before[0] {
            times.client_heard = now;
        }
        if self.down.read != before[2] {
            times.server_heard = now;
        }
        // Limits of half-closed connections begin with the end of the other direction.
        if self.up.is_shut() != shut.0 && self.limits.server_fin != Span::NONE {
            (times.server_seen, times.server_heard) = (now, now);
        }
        if self.down.is_shut() != shut.1 && self.limits.client_fin != Span::NONE {
            (times.client_seen, times.client_heard) = (now, now);
        }
    }

    /// Whether both directions are over. A service that has ended has no use for what the client
    /// still sends.
    pub(crate) fn is_over(&self, steps: Steps) -> bool {
        steps.1 == Step::Done && (steps.0 == Step::Done || self.limits.service)
    }

    /// Whether both directions wait for their sources and hold nothing.
    pub(crate) fn is_at_rest(&self, steps: Steps) -> bool {
        steps == (Step::AwaitsSource, Step::AwaitsSource)
            && !self.up.is_filtered()
            && !self.down.is_filtered()
            && !self.limits.service
    }

    /// The earlier deadline of the two peers.
    pub(crate) fn deadline(&self, steps: Steps) -> Option<Tick> {
        Tick::earlier(self.client_deadline(steps), self.server_deadline(steps))
    }

    /// The client's deadline: `timeout tunnel` replaces `timeout client`, and once the client has
    /// got the end of the stream, `timeout client-fin` replaces both.
    fn client_deadline(&self, steps: Steps) -> Option<Tick> {
        let limits = &self.limits;
        let fin = limits.client_fin.get().filter(|_| self.down.is_shut());
        let span = fin.or(limits.client.get())?;
        let reading = self.awaits(&self.up, steps.0);
        let alone = reading && limits.client_alone;
        let since = if alone { self.times.client_heard } else { self.times.client_seen };
        (reading || self.is_stuck(&self.down, steps.1)).then(|| since.plus_ms(span))
    }

    /// As the client's, for the server.
    fn server_deadline(&self, steps: Steps) -> Option<Tick> {
        let limits = &self.limits;
        let fin = limits.server_fin.get().filter(|_| self.up.is_shut());
        let span = fin.or(limits.server.get())?;
        let reading = self.awaits(&self.down, steps.1);
        let alone = reading && limits.server_alone;
        let since = if alone { self.times.server_heard } else { self.times.server_seen };
        (reading || self.is_stuck(&self.up, steps.0)).then(|| since.plus_ms(span))
    }

    /// Whether bytes of the direction's source are due.
    fn awaits(&self, pipe: &Pipe, step: Step) -> bool {
        if self.limits.http { step == Step::AwaitsSource } else { !pipe.has_ended() }
    }

    /// Whether the direction's destination owes room.
    fn is_stuck(&self, pipe: &Pipe, step: Step) -> bool {
        if self.limits.http { step == Step::AwaitsDestination } else { pipe.holds_data() }
    }

    /// As in HAProxy, a client of TCP mode that is silent for too long counts as half-closed: the
    /// server has its own time to finish. The result is the cause to note then.
    ///
    /// # Errors
    /// The server takes too long, or the client does not take what there is for it.
    pub(crate) fn timed_out(&mut self, steps: Steps, now: Tick) -> Result<Cause, Failure> {
        let by_client = self.client_deadline(steps).is_some_and(|deadline| deadline.is_due(now));
        let cause = if by_client { Cause::ClientTimeout } else { Cause::ServerTimeout };
        let ends = self.limits.http || !by_client;
        if ends || self.up.has_ended() || self.down.holds_data() {
            return Err(Failure::close(cause, Phase::Data));
        }
        self.up.end();
        Ok(cause)
    }

    /// When a filter that holds bytes back lets some pass.
    pub(crate) fn resumes(&self, (up, down): Steps) -> Option<Tick> {
        let of = |step, pipe: &Pipe| pipe.resumes().filter(|_| step == Step::AwaitsTime);
        Tick::earlier(of(up, &self.up), of(down, &self.down))
    }

    /// Registers for the events that both directions wait for.
    pub(crate) fn want(&self, steps: Steps, ends: &RelayEnds<'_>) {
        self.up.want(steps.0, ends.client.link, ends.server.link);
        self.down.want(steps.1, ends.server.link, ends.client.link);
    }

    /// Joins the line for buffers, if a direction lacks one, and leaves it otherwise.
    pub(crate) fn queue_for_buffer(&mut self, worker: &Worker, steps: Steps) {
        self.claim.renew(&worker.buffers, needs_buffer(steps));
    }

    /// Puts a buffer that was waited for where it is needed.
    pub(crate) fn collect_buffer(&mut self, ends: &mut RelayEnds<'_>) {
        let RelayEnds { worker, client, server } = ends;
        let Some((need, buffer)) = self.claim.collect(&worker.buffers) else { return };
        let input = match need {
            Urgency::Ordinary => &mut client.input,
            Urgency::Urgent => &mut server.input,
        };
        worker.release(std::mem::replace(&mut **input, buffer));
    }

    /// Gives buffers back and enters the bytes into the books.
    pub(crate) fn close(self, tx: &mut Transaction) {
        if !self.limits.http {
            tx.notes.journal.bytes_in = self.up.sent;
        }
        tx.space.down.sent = self.down.sent;
        tx.worker.release(std::mem::replace(&mut tx.client.input, Buf::empty()));
        if let Some(server) = &mut tx.server {
            tx.worker.release(server.take_input());
        }
    }
}

/// The urgency of the buffer that a direction waits for, if one does: bytes from the server go
/// first.
fn needs_buffer((up, down): Steps) -> Option<Urgency> {
    if down == Step::AwaitsBuffer {
        return Some(Urgency::Urgent);
    }
    (up == Step::AwaitsBuffer).then_some(Urgency::Ordinary)
}
