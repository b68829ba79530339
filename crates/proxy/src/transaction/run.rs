//! The life of one HTTP request, top to bottom.

use crate::settings::Mode;
use crate::state::records::flight_recorder::Text;
use crate::state::runtime::ProxyRef;
use crate::state::session::client::Last;
use crate::state::session::request_buffers::Lease;
use crate::state::session::stream_list::Listed;
use crate::state::session::stream_list::http::Http;
use crate::state::session::transaction::{Arrival, Haste, Interim, Outcome, Parts, Transaction};
use crate::stats::transaction_log::{Cause, Failure, Journal, Phase};
use crate::telemetry::accounting;
use crate::telemetry::flight_recorder;
use crate::telemetry::trace::points as trace;
use crate::transaction::connect;
use crate::transaction::forward;
use crate::transaction::http_rules;
use crate::transaction::local_response;
use crate::transaction::read_request;
use crate::transaction::route;
use crate::transaction::route::Route;
use crate::transaction::stages::cookie::Dates;
use crate::transaction::tcp_content_rules;
use crate::transport::socket::Transport;
use crate::transport::tls_facts::Failed;
use crate::upstream::traffic_health;
use mux::BodyKind;
use stdx::prefetch;
use table::DataType;

/// Serves one request.
pub(crate) async fn run(parts: Parts) -> Outcome {
    let arrival = parts.arrival;
    let mut tx = Transaction::new(parts);
    trace::at(&tx, &trace::STREAM_NEW);
    trace::at(&tx, &trace::HTTP_NEW);
    if let Err(failure) = tx.serve(arrival).await {
        tx.fail(failure).await;
    }
    tx.finish()
}

impl Transaction {
    pub(crate) fn new(Parts { mut client, arrival }: Parts) -> Self {
        let worker = client.worker.clone();
        let (space, mut notes) = (Lease::new(&worker), worker.take_notes());
        std::mem::swap(&mut notes.variables.session, &mut client.variables);
        let (now, wall) = (worker.thread.nanos(), worker.thread.wall());
        notes.journal = Journal {
            began: client.since,
            began_wall: wall - (now - client.since).min(wall),
            // All the time of one that has said nothing was spent on it.
            first_byte: if arrival == Arrival::Data { now } else { client.since },
            usage: worker.thread.scheduler().usage_before(),
            cookie: (b'-', b'-'),
            ..Journal::default()
        };
        notes.line = Text::default();
        if let Some(transport) = client.socket.transport() {
            transport.begin_message();
        }
        Self {
            worker,
            client,
            space,
            notes,
            backend: None,
            claim: None,
            server: None,
            request_body: BodyKind::None,
            wanted: None,
            selected: false,
            persistence: http_rules::Persistence::default(),
            entered: None,
            listed: None,
            interim: Interim::default(),
            kept: None,
            stashed: false,
            told: 0,
            failed_at: None,
            haste: Haste::default(),
            pieces: None,
            pause: None,
            cookie_dates: Dates::default(),
            posts: false,
            asks: false,
            challenged: false,
            left: false,
            reset_client: false,
        }
    }

    /// The way of a request that goes well; everything else is a failure with an ending of its own.
    async fn serve(&mut self, arrival: Arrival) -> Result<(), Failure> {
        if !read_request::at_once(self, arrival)? {
            read_request::head(self, arrival).await?;
        }
        self.list();
        let front = self.client.proxy.clone();
        if front.rules.content {
            Box::pin(tcp_content_rules::request(self, &front)).await?;
        }
        accounting::request_received(self);
        accounting::log_at_start(self);
        let route = route::decide(self).await?;
        self.follow(route).await
    }

    /// Has the request answered, by a server or here.
    pub(crate) async fn follow(&mut self, route: Route) -> Result<(), Failure> {
        match route {
            Route::Answer => local_response::send(self).await,
            Route::Service => {
                route::pass_service(self)?;
                local_response::send(self).await
            }
            Route::Tarpit => {
                self.hold().await;
                local_response::send(self).await
            }
            Route::Forward => {
                if let Some(listed) = &self.listed {
                    listed.change_http(|http| http.forward(self.request_body));
                }
                connect::run(self).await?;
                trace::at(self, &trace::CONNECTED);
                while let forward::End::Again(reason) = forward::run(self).await? {
                    connect::again(self, reason).await?;
                    trace::at(self, &trace::CONNECTED);
                }
                Ok(())
            }
        }
    }

    /// It runs again, and will use all that it holds.
    #[inline]
    pub(crate) fn fetch(&self) {
        prefetch::prefetch(&*self.client);
        if let Some(server) = &self.server {
            prefetch::prefetch(&**server);
        }
        prefetch::prefetch(&self.notes.journal);
    }

    /// The transaction is one of the thread's streams from now on.
    pub(crate) fn list(&mut self) {
        let http = (self.client.mode == Mode::Http).then(|| self.http());
        self.listed = Some(Listed::new(&self.worker, &self.client, self.notes.journal.usage, http));
        accounting::number(self);
    }

    /// What is told of the request.
    pub(crate) fn http(&self) -> Http {
        Http::new(&self.space.request, self.request_body, !self.client.socket.is_stream())
    }

    /// # Errors
    /// An operator, or the end of its server, ends it in this phase; `status` is for a client that
    /// was not answered yet.
    #[inline]
    pub(crate) fn go_on(&self, status: u16, phase: Phase) -> Result<(), Failure> {
        match self.listed.as_ref().and_then(Listed::ends) {
            None => Ok(()),
            Some(cause) => Err(Failure::new(status, cause, phase)),
        }
    }

    /// Tells the client what went wrong, if that is still possible.
    pub(crate) async fn fail(&mut self, failure: Failure) {
        self.notes.journal.end(failure.cause, failure.phase);
        trace::at(self, &trace::FAILED);
        let blamed = failure.blames_server();
        if failure.phase == Phase::Headers && blamed {
            traffic_health::failed(self, self.notes.journal.connected);
        }
        if matches!(failure.status, 502 | 504) && failure.phase == Phase::Headers && blamed {
            accounting::count_tracked(self, DataType::FAILURE, 1);
        }
        self.drop_server();
        // What was received of the body and not sent on must not be taken for the next request.
        self.space.up.disown(&mut self.client.input);
        self.pieces = None;
        let untold = !self.client.mux.has_sent_head();
        if failure.cause == Cause::ClientAbort {
            // It will ask for nothing more.
            self.client.mux.close_after_message();
        }
        if failure.status != 0 && untold {
            if failure.status != http_rules::REPLACED {
                local_response::prepare_error(self, failure.status);
            }
            if local_response::send(self).await.is_err() {
                self.client.mux.close_after_message();
            }
        } else {
            self.client.mux.close_after_message();
        }
    }

    /// Holds a tarpitted request for as long as configured, or until the client has gone.
    async fn hold(&mut self) {
        let timeouts = &self.side().settings.timeouts;
        let Some(span) = timeouts.tarpit.or(timeouts.connect) else { return };
        let thread = self.worker.thread.clone();
        let until = thread.tick().plus_ms(span);
        let socket = &self.client.socket;
        while !until.is_due(thread.tick()) && !socket.is_closed() {
            socket.want_close();
            socket.want_reset();
            thread.scheduler().wait(Some(until)).await;
        }
    }

    /// Closes the books and the connections, or hands them on.
    pub(crate) fn finish(mut self) -> Outcome {
        self.notes.journal.ended = self.worker.thread.nanos();
        accounting::finished(&mut self);
        trace::at(&self, &trace::HTTP_END);
        trace::at(&self, &trace::STREAM_END);
        flight_recorder::end(&mut self);
        self.keep_server();
        drop(self.claim.take());
        self.entered = None;
        self.listed = None;
        let reset = self.reset_client;
        let again = self.client.mux.can_reuse();
        let farewell = !again && !reset && self.owes_farewell();
        self.note_keep_alive();
        let Self { worker, mut client, mut space, mut notes, .. } = self;
        if !notes.trackers.is_empty() {
            notes.trackers.release(worker.millis());
        }
        client.requests += 1;
        client.since = worker.thread.nanos();
        space.release(&worker);
        worker.give_notes(notes);
        if reset {
            client.vanishes = true;
        }
        if !again {
            return if farewell { Outcome::Farewell(client) } else { Outcome::Over };
        }
        client.mux.reset_for_next();
        if client.input.is_empty() {
            worker.release(std::mem::replace(&mut client.input, buf::Buf::empty()));
        }
        Outcome::Again(client)
    }

    /// Behind a frontend in TCP mode, which knows of no requests, the backend says how long the
    /// next one is waited for (manual, `timeout http-keep-alive`).
    #[inline]
    fn note_keep_alive(&mut self) {
        let modes = (self.client.proxy.settings.mode, self.client.mode);
        if let (true, Some(backend)) = (modes == (Mode::Tcp, Mode::Http), &self.backend) {
            let timeouts = &backend.settings.timeouts;
            let span = timeouts.http_keep_alive.or(timeouts.http_request);
            self.client.rare.set_keep_alive(span);
        }
    }

    /// Hands the client back as if it had never been served.
    pub(crate) fn vanish(mut self) -> Outcome {
        trace::at(&self, &trace::STREAM_END);
        std::mem::swap(&mut self.notes.variables.session, &mut self.client.variables);
        let Self { worker, client, mut space, mut notes, .. } = self;
        if !notes.trackers.is_empty() {
            notes.trackers.release(worker.millis());
        }
        space.release(&worker);
        worker.give_notes(notes);
        Outcome::Again(client)
    }

    /// Whether the answer, or what there is of it, is on its way to a client that may be sending
    /// still: closing at once would reset the connection under it (RFC 9112 section 9.6).
    fn owes_farewell(&self) -> bool {
        let (mux, journal) = (&self.client.mux, &self.notes.journal);
        if self.client.socket.is_stream() {
            return false;
        }
        let failed = matches!(journal.cause, Cause::ServerAbort | Cause::ServerTimeout);
        if self.client.mode == Mode::Tcp {
            return failed && journal.connected == 0;
        }
        let quiet = mux.peer_closes() && mux.has_received_all() && self.client.input.is_empty();
        let left = matches!(journal.cause, Cause::ClientAbort | Cause::ClientTimeout);
        let cut = journal.bytes_out > 0 && (journal.bad_request || failed);
        let answered = mux.has_sent_all() || cut;
        !quiet && !left && !mux.is_tunnel() && answered && self.space.down.is_flushed()
    }

    /// Lays the server connection down for another request, if it is fit for one.
    fn keep_server(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        server.choose_end();
        let spare = server.take_input();
        let clean = spare.is_empty();
        self.worker.release(spare);
        if !clean || !server.mux.can_reuse() || self.worker.shared.is_stopping() {
            return;
        }
        let settings = self.side().settings.back.as_ref();
        let prefers = self.challenged || settings.is_some_and(|back| back.prefer_last);
        let place = Some(server.server()).filter(|_| prefers);
        self.client.last = place.and_then(|it| Last::new(it.backend(), it.slot(), self.challenged));
        server.mux.reset_for_next();
        server.socket().want_nothing();
        // A last read that filled its buffer or a pipe does not tell whether there is more.
        if let Some(socket) = server.socket().bare().filter(|socket| socket.is_readable()) {
            socket.recheck_readable();
        }
        if server.is_private() {
            let front = self.client.proxy.settings.front.as_ref();
            let limit = front.map_or(0, |front| front.own_connections);
            self.client.put_own(server, limit);
        } else {
            self.worker.idle.put(server);
        }
    }

    /// Gives the server connection up.
    pub(crate) fn drop_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            let session = server.socket().transport().and_then(Transport::session);
            if let Some(failed) = session.and_then(|session| Failed::fatal(&session)) {
                (self.notes.used, self.notes.unsecured) = (true, Some(Box::new(failed)));
            }
            server.choose_end();
            self.worker.release(server.take_input());
        }
    }

    /// `timeout server`, unless a rule has set another.
    pub(crate) fn server_timeout(&self) -> Option<u32> {
        self.notes.limits[0].or(self.side().settings.timeouts.server)
    }

    /// `timeout tunnel`, unless a rule has set another.
    pub(crate) fn tunnel_timeout(&self) -> Option<u32> {
        self.notes.limits[1].or(self.side().settings.timeouts.tunnel)
    }

    /// The proxy whose settings hold for the server side, else the frontend.
    pub(crate) fn side(&self) -> &ProxyRef {
        self.backend.as_ref().unwrap_or(&self.client.proxy)
    }
}
