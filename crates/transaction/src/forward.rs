//! Forwarding of request and response: both directions of a transaction at once.

pub(crate) mod splicing;

use crate::connect::Reason;
use crate::filters;
use crate::message::body_buffer;
use crate::message::header_case;
use crate::retry;
use crate::stages::fcgi;
use crate::stages::stage;
use crate::stages::table::END;
use crate::tunnel;
use crate::tunnel::LONG_MS;
use balance::Sign;
use buf::Buf;
use engine::state::session::transaction::{Pause, Progress, Transaction, TunnelTimes};
use mux::BodyKind;
use mux::h1::{self, HeadStep};
use observability::telemetry::accounting;
use observability::telemetry::contstats::Meter;
use observability::telemetry::h2_byte_count;
use observability::telemetry::last_invalid;
use observability::telemetry::trace::points as trace;
use reactor::{Class, Urgency};
use sample::Side;
use settings::RetryOn;
use std::io;
use stdx::Tick;
use transport::forwarder::{Ends, Fault, Flow, Step};
use transport::splice::Splicing;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use transport::thread::buffers::Claim;
use upstream::traffic_health;

/// Reads and interim responses before the head of a response, after which the task yields.
const HEAD_STEPS: u32 = 16;

/// The state of the response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Response {
    /// Its head is awaited.
    Head,
    /// Its rules wait.
    Rules,
    /// Its body is passed on.
    Body,
}

/// The successful end of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Both messages are complete.
    Done,
    /// The request has to be sent again; see [`retry`].
    Again(Reason),
    /// A stored response takes the place of that of the server.
    FromCache,
}

struct Exchange {
    response: Response,
    /// Whether the request's side of the exchange is over, by success or failure.
    up_over: bool,
    /// The request could not be written whole; the server's response still counts.
    up_broken: bool,
    /// A tunnel has just begun: the client's side has to be examined again.
    up_again: bool,
    /// The server has accepted an upgrade while the request is under way: the rest of the request
    /// goes first, then the client's side of the tunnel begins.
    up_switches: bool,
    /// Whether the exchange has waited for more of a body before.
    midway: bool,
    /// How the server delimits the body of its response.
    body: BodyKind,
    /// `option abortonclose` on both sides: a client that closes aborts the request, even once the
    /// server has received it. The manual promises that for queues and connections alone; HAProxy
    /// does it where the option holds for the frontend too, by `defaults` or in `listen`.
    minds_close: bool,
    up: Step,
    down: Step,
    /// The place in the line for buffers, while there are none.
    claim: Claim,
    /// Whether payload goes through pipes, by direction.
    splicing: [Splicing; 2],
    /// When each peer last received or sent bytes, and when it has last sent bytes.
    times: TunnelTimes,
    meter: Meter,
}

/// Forwards the request's body and the response until both are complete.
pub(crate) async fn run(tx: &mut Transaction) -> Result<End, Failure> {
    filters::request(tx);
    let now = tx.worker.thread.tick();
    let mut state = Exchange {
        response: Response::Head,
        up_over: false,
        up_broken: false,
        up_again: false,
        up_switches: false,
        midway: false,
        body: BodyKind::None,
        minds_close: minds_close(tx),
        up: Step::AwaitsDestination,
        down: Step::AwaitsSource,
        splicing: splicing::of(tx),
        claim: Claim::default(),
        times: TunnelTimes::at(now),
        meter: Meter::begin(tx),
    };
    match state.pass(tx).await {
        Ok(()) => Ok(End::Done),
        Err(failure) => match failure.ending {
            Ending::RetryFailed => Ok(End::Again(Reason::Failed)),
            Ending::RetryStale => Ok(End::Again(Reason::Stale)),
            Ending::FromCache => Ok(End::FromCache),
            _ => Err(failure),
        },
    }
}

impl Exchange {
    async fn pass(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        loop {
            self.go_on(tx)?;
            self.upload(tx)?;
            if self.download(tx)? && (self.up_over || withholds_body(tx) || spares(tx)) {
                return Ok(());
            }
            if self.response == Response::Rules {
                Box::pin(self.rules(tx)).await?;
                continue;
            }
            if std::mem::take(&mut self.up_again) {
                continue;
            }
            let deadline = self.deadline(tx);
            let thread = tx.worker.thread.clone();
            if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                return Err(self.timed_out(tx));
            }
            if self.becomes_tunnel(tx) {
                return Ok(());
            }
            self.ask_to_be_woken(tx)?;
            if self.up == Step::More || self.down == Step::More {
                thread.scheduler().yield_as(Class::Bulk).await;
                continue;
            }
            self.claim.renew(&tx.worker.buffers, self.needs_buffer());
            let count = self.meter.read(tx, accounting::bytes_so_far);
            let resumes = self.resumes(tx);
            if self.only_waits(tx) {
                tx.notes.journal.bytes_out += tx.space.down.sent;
                tx.sent_earlier += tx.space.up.sent;
                accounting::count_spliced(tx);
                retry::stash_head(tx);
                tx.space.release(&tx.worker);
            }
            if self.awaits_body(tx) && std::mem::replace(&mut self.midway, true) {
                thread.scheduler().next_wake_as_bulk();
            }
            let until = Tick::earlier(deadline, Tick::earlier(count, resumes));
            thread.scheduler().wait(until).await;
            self.doubt_client(tx);
            tx.prefetch();
            tx.space.renew(&tx.worker);
            if let Some((need, buffer)) = self.claim.collect(&tx.worker.buffers) {
                take_buffer(tx, need, buffer);
            }
        }
    }

    /// Whether the exchange has become a tunnel whose two directions are silent: it needs the
    /// transaction no more.
    #[inline]
    fn becomes_tunnel(&self, tx: &mut Transaction) -> bool {
        let silent = (self.up, self.down) == (Step::AwaitsSource, Step::AwaitsSource);
        if self.response != Response::Body || !silent || !tunnel::can_exchange_rest(tx) {
            return false;
        }
        if self.splicing != [Splicing::Never; 2] {
            return false;
        }
        tx.tunnel = Some(Box::new(self.times));
        true
    }

    /// Forwards the request.
    fn upload(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        if self.up_over {
            return Ok(());
        }
        let Some(server) = &mut tx.server else { return Ok(()) };
        let (space, client) = (&mut *tx.space, &mut tx.client);
        let before = (space.up.sent, space.up.read);
        let from = (&client.socket, &mut client.mux);
        let mut ends =
            Ends { from, to: server.ends(), need: Urgency::Ordinary, splicing: self.splicing[0] };
        let result = space.up.step(tx.worker.pools(), &mut client.input, &mut ends);
        let now = tx.worker.thread.tick();
        if space.up.sent != before.0 {
            self.times.server_seen = now;
        }
        if space.up.read != before.1 {
            (self.times.client_seen, self.times.client_heard) = (now, now);
        }
        trace::moved(tx, &trace::REQUEST_MOVED, before.1, tx.space.up.read);
        trace::moved(tx, &trace::REQUEST_WROTE, before.0, tx.space.up.sent);
        if matches!(result, Ok(Step::Done)) {
            h2_byte_count::request_end(tx);
            trace::at(tx, &trace::REQUEST_ALL_IN);
            trace::at(tx, &trace::REQUEST_ALL_OUT);
            if let Some(listed) = tx.stream_entry.as_ref().filter(|_| !tx.request_body.is_empty()) {
                listed.end_message(|http| &mut http.request);
            }
        }
        if tx.retry_copy.is_some() {
            retry::keep_payload(tx, matches!(result, Ok(Step::Done)));
        }
        let (client, Some(server)) = (&mut tx.client, &mut tx.server) else { return Ok(()) };
        match result {
            Ok(step) => {
                self.up = step;
                self.up_over = step == Step::Done;
                if client.input.is_empty() && self.up_over {
                    // A waiting task needs no buffer: another one can use it.
                    tx.worker.release(std::mem::replace(&mut client.input, Buf::empty()));
                }
                if self.up_over && self.up_switches {
                    self.begin_tunnel(tx);
                } else if self.up_over && client.mux.is_tunnel() {
                    let _ = server.socket().shutdown_write();
                    if tx.side().settings.timeouts.server_fin.is_some() {
                        // The server's timeouts begin now.
                        (self.times.server_seen, self.times.server_heard) = (now, now);
                    }
                }
                Ok(())
            }
            Err(Fault::Truncated | Fault::Read(_)) => {
                Err(Failure::close(Cause::ClientAbort, Phase::Data))
            }
            Err(Fault::Filter) => Err(filters::failed()),
            Err(Fault::Protocol(error)) => {
                let begun = self.response == Response::Body;
                let phase = if begun { Phase::Data } else { Phase::Headers };
                Err(Failure::error(error.status, Cause::Proxy, phase))
            }
            Err(Fault::Write(_)) => {
                (self.up, self.up_over, self.up_broken) = (Step::Done, true, true);
                server.mux.abort();
                if self.response != Response::Head {
                    client.mux.close_after_message();
                }
                Ok(())
            }
        }
    }

    /// Forwards the response; `true` when it is complete.
    fn download(&mut self, tx: &mut Transaction) -> Result<bool, Failure> {
        let mut steps = 0;
        while self.response == Response::Head {
            if !self.head(tx)? {
                return Ok(false);
            }
            steps += 1;
            if steps == HEAD_STEPS && self.response == Response::Head {
                self.down = Step::More;
                return Ok(false);
            }
        }
        if self.response != Response::Body {
            return Ok(false);
        }
        let Some(server) = &mut tx.server else { return Ok(true) };
        let (space, client) = (&mut *tx.space, &mut tx.client);
        let before = (space.down.sent, space.down.read);
        let (input, from) = server.input_and_ends();
        let to = (&client.socket, &mut client.mux);
        let mut ends = Ends { from, to, need: Urgency::Urgent, splicing: self.splicing[1] };
        let result = space.down.step(tx.worker.pools(), input, &mut ends);
        let now = tx.worker.thread.tick();
        if space.down.sent != before.0 {
            self.times.client_seen = now;
        }
        if space.down.read != before.1 {
            (self.times.server_seen, self.times.server_heard) = (now, now);
        }
        trace::moved(tx, &trace::RESPONSE_MOVED, before.1, tx.space.down.read);
        trace::moved(tx, &trace::RESPONSE_WROTE, before.0, tx.space.down.sent);
        match result {
            Ok(step) => {
                let before = std::mem::replace(&mut self.down, step);
                let ended = before != Step::Done && step == Step::Done;
                if ended {
                    h2_byte_count::response_end(tx, self.body);
                    trace::at(tx, &trace::RESPONSE_ALL_IN);
                    trace::at(tx, &trace::RESPONSE_ALL_OUT);
                    if let Some(listed) = tx.stream_entry.as_ref().filter(|_| !self.up_over) {
                        listed.end_message(|http| &mut http.response);
                    }
                }
                if ended && tx.client.proxy.settings.timeouts.client_fin.is_some() {
                    // The timeouts of the tunnel begin now.
                    (self.times.client_seen, self.times.client_heard) = (now, now);
                }
                Ok(step == Step::Done && self.tunnel_is_over(tx))
            }
            Err(Fault::Write(_)) => Err(Failure::close(Cause::ClientAbort, Phase::Data)),
            Err(Fault::Filter) => Err(filters::failed()),
            Err(fault) => Err(server_broke_off(tx, &fault)),
        }
    }

    /// A tunnel is over when both directions are; half of it is passed on as a half-close.
    fn tunnel_is_over(&self, tx: &mut Transaction) -> bool {
        let Some(server) = &tx.server else { return true };
        if !server.mux.is_tunnel() && !tx.client.mux.is_tunnel() {
            return true;
        }
        let _ = tx.client.socket.shutdown_write();
        self.up_over || server.socket().is_cancelled()
    }

    /// Parses the head of the response; `false` when more bytes are needed.
    fn head(&mut self, tx: &mut Transaction) -> Result<bool, Failure> {
        // An interim response that the client has not taken yet holds the next head back.
        let held = self.down == Step::AwaitsDestination || !tx.space.down.is_flushed();
        if held && !self.flush_interim(tx)? {
            return Ok(false);
        }
        let Some(server) = &mut tx.server else { return Err(no_answer(tx)) };
        if server.has_nothing() {
            self.down = Step::AwaitsSource;
            return Ok(false);
        }
        let (input, (_, mux)) = server.input_and_ends();
        match mux.handle_head(input.data(), &mut tx.space.response) {
            Ok(HeadStep::NeedMore) => self.read_head(tx),
            Ok(HeadStep::Interim { consumed }) => {
                input.consume(consumed);
                self.interim(tx)?;
                Ok(true)
            }
            Ok(HeadStep::Complete { consumed, body }) => {
                input.consume(consumed);
                let sound = mux.check_body(input.data()).is_ok();
                if mux.takes_params() {
                    fcgi::add_date(&tx.worker, &mut tx.space.response);
                }
                trace::at(tx, &trace::RESPONSE_IN);
                if !sound || !tx.client.mux.is_accepted_by(&tx.space.response) {
                    return Err(Failure::error(502, Cause::Proxy, Phase::Headers));
                }
                self.complete_head(tx, body)?;
                Ok(true)
            }
            Err(error) => {
                if retry::was_refused(tx) {
                    return Err(retry::again(tx));
                }
                last_invalid::response(tx, error);
                Err(malformed(tx, error.status))
            }
        }
    }

    /// Reads more of the head; `false` if no bytes are available.
    fn read_head(&mut self, tx: &mut Transaction) -> Result<bool, Failure> {
        let Some(server) = &mut tx.server else { return Err(no_answer(tx)) };
        if !server.has_buffer(&tx.worker) {
            self.down = Step::AwaitsBuffer;
            return Ok(false);
        }
        match server.read(&tx.worker) {
            Ok(0) => {
                self.down = Step::AwaitsSource;
                Err(no_answer(tx))
            }
            Ok(_) => {
                self.hear_server(tx);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.down = Step::AwaitsSource;
                Ok(false)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(_) => Err(no_answer(tx)),
        }
    }

    fn interim(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        accounting::interim(tx);
        h2_byte_count::response(tx);
        let passes = retry::passes_interim(tx);
        let space = &mut *tx.space;
        let out = &mut space.down.outbox.bytes;
        let (proxy, mux) = (&tx.client.proxy, &mut tx.client.mux);
        if passes {
            header_case::response(
                &tx.worker,
                proxy,
                mux,
                (&mut space.response, BodyKind::None),
                out,
            );
        }
        space.response.clear();
        self.flush_interim(tx).map(drop)
    }

    fn flush_interim(&mut self, tx: &mut Transaction) -> Result<bool, Failure> {
        let flushed = tx.space.down.flush(&mut Buf::empty(), &tx.client.socket);
        let flushed = flushed.map_err(|_| Failure::close(Cause::ClientAbort, Phase::Data))?
            && tx.client.socket.has_room();
        self.down = if flushed { Step::AwaitsSource } else { Step::AwaitsDestination };
        Ok(flushed)
    }

    /// The head of the response is complete: applies rules and cookies, then forwards it to the
    /// client.
    fn complete_head(&mut self, tx: &mut Transaction, body: BodyKind) -> Result<(), Failure> {
        traffic_health::sign(tx, Sign::Status(tx.space.response.status()));
        if retry::refuses_status(tx, tx.space.response.status()) {
            return Err(retry::again(tx));
        }
        tx.notes.journal.response = tx.worker.thread.nanos();
        traffic_health::answered(tx, tx.notes.journal.connected);
        self.hear_server(tx);
        let old = !tx.space.response.version().at_least_11();
        if self.up_broken
            || tx.client.must_end()
            || (old && tx.server.as_ref().is_some_and(|server| server.mux.is_ambiguous()))
        {
            tx.client.mux.close_after_message();
        }
        h2_byte_count::response(tx);
        self.body = body;
        let framed = tx.server.as_ref().is_some_and(|server| server.mux.is_h1());
        body_buffer::begin(tx, Side::Response, body, framed);
        if let Some(listed) = &tx.stream_entry {
            listed.change_http(|http| http.answer(&tx.space.response, body, framed));
        }
        tx.notes.arrived[1] = tx.space.response.wire_len();
        let mut at = Progress::at(0, body);
        if let Some(need) = stage::response(tx, &mut at, END)? {
            tx.suspended_rules = Some(Box::new(Pause { at, need }));
            self.response = Response::Rules;
            return Ok(());
        }
        self.begin_body(tx, at.body);
        Ok(())
    }

    /// Resumes rules that wait.
    async fn rules(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        let Some(pause) = tx.suspended_rules.take() else { return Ok(()) };
        let at = stage::resume(tx, *pause, END).await?;
        self.hear_server(tx);
        self.begin_body(tx, at.body);
        Ok(())
    }

    /// Encodes the head; the body follows, delimited in this way behind the filters.
    fn begin_body(&mut self, tx: &mut Transaction, body: BodyKind) {
        self.response = Response::Body;
        body_buffer::pass_on(tx, Side::Response);
        let space = &mut *tx.space;
        let out = &mut space.down.outbox.bytes;
        let (proxy, mux) = (&tx.client.proxy, &mut tx.client.mux);
        let sent_as =
            header_case::response(&tx.worker, proxy, mux, (&mut space.response, body), out);
        tx.notes.journal.status = space.response.status();
        trace::at(tx, &trace::RESPONSE_OUT);
        accounting::log_asap(tx);
        let space = &mut *tx.space;
        space.down.discards = sent_as == BodyKind::None && body != BodyKind::None;
        if sent_as == BodyKind::Tunnel {
            self.up_switches = true;
            self.times.client_seen = tx.worker.thread.tick();
            self.times.client_heard = self.times.client_seen;
            if self.up_over {
                self.begin_tunnel(tx);
            }
        }
    }

    /// The request is complete and an upgrade accepted: from now on the client's direction carries
    /// opaque bytes too (RFC 9110 section 7.8).
    fn begin_tunnel(&mut self, tx: &mut Transaction) {
        tx.client.mux.tunnel_behind_request();
        if let Some(server) = &mut tx.server {
            server.mux.tunnel_behind_request();
        }
        tx.space.up.clear();
        tx.notes.compressed_request = None;
        filters::request(tx);
        (self.up_over, self.up_again, self.up_switches) = (false, true, false);
    }

    fn hear_server(&mut self, tx: &Transaction) {
        self.times.server_seen = tx.worker.thread.tick();
        self.times.server_heard = self.times.server_seen;
    }

    /// The earliest deadline of the two peers.
    fn deadline(&self, tx: &Transaction) -> Option<Tick> {
        Tick::earlier(self.client_deadline(tx), self.server_deadline(tx))
    }

    fn in_tunnel(&self, tx: &Transaction) -> bool {
        self.response == Response::Body && tx.client.mux.is_tunnel()
    }

    /// The client's deadline. In a tunnel `timeout tunnel` replaces `timeout client`, and `timeout
    /// client-fin` replaces both once the end of the response has been sent. While the server owes
    /// a response, `timeout server` counts, as in HAProxy: a client that stalls in its request ends
    /// the exchange only if the server has no timeout.
    fn client_deadline(&self, tx: &Transaction) -> Option<Tick> {
        let owed = self.response == Response::Head && tx.server_timeout().is_some();
        let reading = !self.up_over && self.up == Step::AwaitsSource && !owed;
        let writing = self.down == Step::AwaitsDestination;
        if !reading && !writing {
            return None;
        }
        let own = &tx.client.proxy.settings.timeouts;
        let span = match self.in_tunnel(tx) {
            true => {
                let fin = own.client_fin.filter(|_| self.down == Step::Done);
                fin.or(tx.tunnel_timeout()).or(own.client)
            }
            false => own.client,
        };
        let alone = tx.client.proxy.front.settings.independent_streams;
        let since = if reading && alone { self.times.client_heard } else { self.times.client_seen };
        span.map(|span| since.plus_ms(span))
    }

    /// The server's deadline, by the same rules.
    fn server_deadline(&self, tx: &Transaction) -> Option<Tick> {
        let writing = !self.up_over && self.up == Step::AwaitsDestination;
        let reading = self.down == Step::AwaitsSource;
        if !reading && !writing {
            return None;
        }
        let span = match self.in_tunnel(tx) {
            true => {
                let own = &tx.side().settings.timeouts;
                let fin = own.server_fin.filter(|_| self.up_over);
                fin.or(tx.tunnel_timeout()).or(tx.server_timeout())
            }
            false => tx.server_timeout(),
        };
        let alone = tx.back_settings().is_some_and(|it| it.independent_streams);
        let since = if reading && alone { self.times.server_heard } else { self.times.server_seen };
        span.map(|span| since.plus_ms(span))
    }

    fn timed_out(&self, tx: &mut Transaction) -> Failure {
        let now = tx.worker.thread.tick();
        let by_client = self.client_deadline(tx).is_some_and(|deadline| deadline.is_due(now));
        match (self.response, by_client) {
            (_, true) => Failure::close(Cause::ClientTimeout, Phase::Data),
            (Response::Head | Response::Rules, false) => {
                traffic_health::sign(tx, Sign::Silent);
                let failure = Failure::error(504, Cause::ServerTimeout, Phase::Headers);
                retry::instead_of(tx, RetryOn::TIMEOUT, failure)
            }
            (Response::Body, false) => Failure::close(Cause::ServerTimeout, Phase::Data),
        }
    }

    /// # Errors
    /// The stream was shut down by a command.
    #[inline]
    fn go_on(&self, tx: &Transaction) -> Result<(), Failure> {
        match self.response {
            Response::Head | Response::Rules => tx.go_on(Ending::Error(502), Phase::Headers),
            Response::Body if tx.client.mux.is_tunnel() => tx.go_on(Ending::Close, Phase::End),
            Response::Body => tx.go_on(Ending::Close, Phase::Data),
        }
    }

    /// A client silent for [`LONG_MS`] may have reset the connection unnoticed, because the poller
    /// reports a reset only to tasks that wait for it. The next bytes are written at once, so that
    /// an error is seen before the log line is written.
    fn doubt_client(&self, tx: &Transaction) {
        if tx.worker.thread.tick().ms_after(self.times.client_heard) >= LONG_MS {
            tx.client.socket.send_next_at_once();
        }
    }

    /// Whether the request is sent and no byte of the response has arrived.
    fn only_waits(&self, tx: &Transaction) -> bool {
        self.up_over
            && !self.up_broken
            && self.response == Response::Head
            && tx.space.response.is_empty()
            && tx.space.down.is_flushed()
            && tx.space.up.is_flushed()
    }

    /// Whether the task waits for the rest of a body. Tasks at the start of a message, and tunnels,
    /// which may be interactive, have priority over it.
    fn awaits_body(&self, tx: &Transaction) -> bool {
        match self.response {
            Response::Head | Response::Rules => !self.up_over,
            Response::Body => !tx.client.mux.is_tunnel(),
        }
    }

    /// When a filter that holds payload back next releases some.
    fn resumes(&self, tx: &Transaction) -> Option<Tick> {
        let of = |step, flow: &Flow| flow.resumes().filter(|_| step == Step::AwaitsTime);
        Tick::earlier(of(self.up, &tx.space.up), of(self.down, &tx.space.down))
    }

    /// The urgency of the buffer that a direction waits for, if one does.
    fn needs_buffer(&self) -> Option<Urgency> {
        if self.down == Step::AwaitsBuffer {
            return Some(Urgency::Urgent);
        }
        (!self.up_over && self.up == Step::AwaitsBuffer).then_some(Urgency::Ordinary)
    }

    /// # Errors
    /// The client has aborted the request.
    fn ask_to_be_woken(&self, tx: &Transaction) -> Result<(), Failure> {
        let Some(server) = &tx.server else { return Ok(()) };
        if tx.client.socket.is_cancelled() {
            return Err(Failure::close(Cause::ClientAbort, Phase::Data));
        }
        let stuck = [self.up, self.down].contains(&Step::AwaitsDestination);
        if stuck && tx.worker.buffers.is_crowded(false) {
            tx.worker.shared.memory.count_request();
            return Err(Failure::error(503, Cause::Resource, Phase::Data));
        }
        tx.client.socket.want_reset();
        if !self.up_over {
            match self.up {
                Step::AwaitsSource => tx.client.socket.want_read(),
                Step::AwaitsDestination => server.socket().want_write(),
                Step::AwaitsBuffer | Step::AwaitsTime | Step::More | Step::Done => {}
            }
        } else if self.minds_close && self.response == Response::Head {
            if tx.client.socket.is_closed() {
                return Err(Failure::error(400, Cause::ClientAbort, Phase::Headers));
            }
            tx.client.socket.want_close();
        }
        match self.down {
            Step::AwaitsSource => server.socket().want_read(),
            Step::AwaitsDestination if self.response == Response::Head => {
                tx.client.socket.want_room();
            }
            Step::AwaitsDestination => tx.client.socket.want_write(),
            // The server may still reset the stream, which makes the rest of the request
            // unnecessary.
            Step::Done if !self.up_over && !server.socket().is_cancelled() => {
                server.socket().want_reset();
            }
            Step::AwaitsBuffer | Step::AwaitsTime | Step::More | Step::Done => {}
        }
        Ok(())
    }
}

/// Whether both sides have `option abortonclose`.
fn minds_close(tx: &Transaction) -> bool {
    let back = tx.back_settings();
    tx.client.proxy.front.settings.abort_on_close && back.is_some_and(|it| it.abort_on_close)
}

/// Gives a buffer that was waited for to the side that needs it.
fn take_buffer(tx: &mut Transaction, need: Urgency, buffer: Buf) {
    let unused = match (need, &mut tx.server) {
        (Urgency::Urgent, Some(server)) => server.give_input(buffer),
        (Urgency::Ordinary, _) => std::mem::replace(&mut tx.client.input, buffer),
        (Urgency::Urgent, None) => buffer,
    };
    tx.worker.release(unused);
}

/// Whether the client has got its answer without the `100 Continue` that it waits for: it need not
/// send its body (RFC 9110 section 10.1.1). Other clients may continue sending, and the server may
/// continue reading.
fn withholds_body(tx: &Transaction) -> bool {
    let begun = tx.client.mux.payload_received() > 0 || !tx.client.input.is_empty();
    !begun && h1::expects_continue(&tx.space.request)
}

/// Whether the rest of a request is obsolete: its server has reset the stream. A client's HTTP/2
/// stream can end without it, with NO_ERROR (RFC 9113 section 8.1); for a client of HTTP/1 the
/// connection has to be closed.
fn spares(tx: &mut Transaction) -> bool {
    let spared = tx.server.as_ref().is_some_and(|server| server.socket().is_cancelled());
    if spared && !tx.client.socket.is_stream() {
        tx.client.mux.close_after_message();
    }
    spared
}

/// The server has reset or ended its connection, or broken the protocol, in the middle of a body.
/// The client's connection closes (a stream is reset), because the head of the response has left.
fn server_broke_off(tx: &mut Transaction, fault: &Fault) -> Failure {
    tx.notes.journal.garbled = matches!(fault, Fault::Protocol(_));
    Failure::close(Cause::ServerAbort, Phase::Data)
}

/// The response is malformed.
fn malformed(tx: &mut Transaction, status: u16) -> Failure {
    trace::at(tx, &trace::RESPONSE_BAD);
    traffic_health::sign(tx, Sign::Invalid);
    let failure = Failure::error(status, Cause::Proxy, Phase::Headers);
    retry::instead_of(tx, RetryOn::JUNK, failure)
}

/// The server closed before it answered. If it had closed an idle connection when the request came,
/// another connection is tried if that does no harm. Otherwise a client that has had answers before
/// may simply repeat the request: it sees its connection closed, as with a stale keep-alive
/// connection, or its stream refused. (HAProxy does so in both cases, and logs nothing; Weir logs a
/// line.)
fn no_answer(tx: &mut Transaction) -> Failure {
    let empty = tx.space.response.is_empty()
        && !tx.interim.is_of_this_server()
        && tx.server.as_ref().is_none_or(|server| server.received().is_empty());
    let reused = tx.server.as_ref().is_some_and(|server| server.is_kept());
    if (reused && retry::was_not_sent(tx)) || retry::was_refused(tx) {
        return retry::elsewhere(tx);
    }
    // Once: a connection that other requests have used meanwhile is not comparable to the failed
    // one.
    if reused && empty && tx.failed_at.is_none() && retry::may_ask_anew(tx) {
        return retry::anew(tx);
    }
    if tx.server.as_ref().is_some_and(|server| server.mux.is_malformed()) {
        return malformed(tx, 502);
    }
    traffic_health::sign(tx, Sign::Closed);
    let later = tx.client.requests > 0 || tx.client.socket.is_stream();
    let silent = reused && empty && later && retry::may_client_repeat(tx);
    let ending = if silent { Ending::Close } else { Ending::Error(502) };
    let event = if empty { RetryOn::EMPTY } else { RetryOn::JUNK };
    let failure = Failure::new(ending, Cause::ServerAbort, Phase::Headers);
    let failure = retry::instead_of(tx, event, failure);
    if failure.ending == Ending::Close {
        tx.client.mux.refuse();
    }
    failure
}
