//! Counts transactions in the statistics and writes their log lines.

use crate::logging::log;
use crate::telemetry::flight_recorder;
use crate::telemetry::sample_context::View;
use engine::state::backend::reservation::Claim;
pub(crate) use engine::state::figures::blamed;
use engine::state::figures::wall;
use engine::state::runtime::{BackendRef, Proxy};
use engine::state::session::client::Client;
use engine::state::session::request_buffers::Notes;
pub(crate) use engine::state::session::transaction::BackendSession;
use engine::state::session::transaction::Transaction;
use htx::HeaderId;
use reactor::Address;
use rules::RuleSet;
use sample::regex::effort;
use sample::{Facts as _, Number, ServerPath, Side, TransactionRecord};
use settings::Mode;
use std::cell::OnceCell;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use table::DataType;
use transport::stats::counters::{Block, Event, Metric};
use transport::stats::latency::Span;
use transport::stats::transaction_log::{Cause, Journal, Phase};

/// Records and counts a request whose head was parsed.
pub fn request_received(tx: &mut Transaction) {
    flight_recorder::begin(tx);
    count_request(tx);
    count_tracked(tx, DataType::REQUEST, 1);
    let proxy = &tx.client.proxy;
    if proxy.settings.log_format.is_none() && !proxy.rules.any() {
        return;
    }
    tx.notes.used = true;
    let (request, record) = (&tx.space.request, &mut tx.notes.record);
    let mut room = tx.worker.shared.settings.log_uri_len;
    let parts = [
        (&mut record.method, request.method()),
        (&mut record.uri, request.uri()),
        (&mut record.version, request.version().token().as_bytes()),
    ];
    for (to, from) in parts {
        to.extend_from_slice(&from[..from.len().min(room)]);
        // The space before the next part counts.
        room = room.saturating_sub(from.len() + 1);
    }
    capture(tx, Side::Request);
    capture_cookie(tx, Side::Request);
}

/// Records a request that the process makes itself in the name of a frontend, which neither counts
/// nor logs it.
pub fn background_request(tx: &mut Transaction) {
    (tx.notes.journal.background, tx.notes.journal.silent) = (true, true);
    flight_recorder::begin(tx);
}

/// Counts a request on the frontend and on the process.
fn count_request(tx: &mut Transaction) {
    let (worker, proxy) = (&tx.worker, &tx.client.proxy);
    let second = worker.second();
    let (totals, block) = (&worker.shared.totals, worker.totals());
    block.count(Metric::Requests);
    totals.tick_in(block, Event::Request, second);
    let block = proxy.block();
    block.count(Metric::Requests);
    if tx.client.socket.is_stream() {
        block.count(Metric::StreamRequests);
    }
    proxy.front.counters.tick_in(block, Event::Request, second);
    tx.notes.journal.counted = true;
}

/// Fills the capture slots that name a header: the last one of that name, cut to the slot's length.
fn capture(tx: &mut Transaction, side: Side) {
    let slots = &tx.client.proxy.settings.captures[side as usize];
    if slots.is_empty() {
        return;
    }
    let head = match side {
        Side::Request => &tx.space.request,
        Side::Response => &tx.space.response,
    };
    let mut contents = tx.notes.captures[side as usize].borrow_mut();
    contents.resize(slots.len(), None);
    for (slot, content) in slots.iter().zip(contents.iter_mut()) {
        let Some(name) = &slot.header else { continue };
        let found = head.all(name.as_bytes()).next_back();
        if let Some(field) = found {
            *content = Some(field.value[..field.value.len().min(slot.len)].to_vec());
        }
    }
}

/// `capture cookie`: captures the first cookie whose `name=value` has the configured prefix.
fn capture_cookie(tx: &mut Transaction, side: Side) {
    let Some((prefix, limit)) = &tx.client.proxy.settings.captured_cookie else { return };
    let (space, record) = (&tx.space, &mut tx.notes.record);
    let (head, id, out) = match side {
        Side::Request => (&space.request, HeaderId::Cookie, &mut record.request_cookie),
        Side::Response => (&space.response, HeaderId::SetCookie, &mut record.response_cookie),
    };
    let found = head
        .by_id(id)
        .flat_map(|field| field.value.split(|byte| *byte == b';'))
        .map(<[u8]>::trim_ascii)
        .find(|cookie| cookie.starts_with(prefix));
    if let Some(cookie) = found {
        out.clear();
        out.extend_from_slice(&cookie[..cookie.len().min(*limit)]);
    }
}

/// Assigns the transaction to a backend.
pub fn enter_backend(tx: &mut Transaction, backend: BackendRef) {
    let (second, block) = (tx.worker.second(), backend.block());
    block.count(Metric::Sessions);
    backend.back.counters.tick_in(block, Event::Session, second);
    if tx.client.mode == Mode::Http {
        block.count(Metric::Requests);
        backend.back.counters.tick_in(block, Event::Request, second);
    }
    backend.back.sessions.enter();
    tx.backend_session = Some(BackendSession(backend.clone()));
    if let Some(listed) = &tx.stream_entry {
        listed.set_backend(backend.index);
    }
    tx.backend = Some(backend);
}

/// Counts an interim response: for the server alone, as measured.
pub fn interim(tx: &Transaction) {
    if let Some(claim) = &tx.claim {
        let block = claim.server().block();
        block.count(Metric::Status1xx);
        block.count(Metric::Requests);
    }
}

/// Records and counts a response whose head was parsed.
pub fn response_received(tx: &mut Transaction) {
    if tx.client.proxy.settings.log_format.is_some() {
        capture(tx, Side::Response);
        capture_cookie(tx, Side::Response);
    }
    let status = tx.space.response.status();
    count_tracked(tx, blamed(status), 1);
    if let Some(claim) = &tx.claim {
        let block = claim.server().block();
        block.count(Metric::of_status(status));
        block.count(Metric::Requests);
    }
}

/// Counts on every entry that the session and the stream track.
pub fn count_tracked(tx: &Transaction, events: &[DataType], amount: u64) {
    if !tracks(tx) || events.is_empty() {
        return;
    }
    let now = tx.worker.millis();
    tx.notes.trackers.count(events, amount, now);
    if let Some(trackers) = tx.client.trackers.get() {
        trackers.count(events, amount, now);
    }
}

/// Whether the session or the stream tracks anything.
fn tracks(tx: &Transaction) -> bool {
    !tx.notes.trackers.is_empty() || tx.client.trackers.get().is_some()
}

/// A rule of any section refused the response. The server is not at fault.
pub fn denied_response(tx: &mut Transaction) {
    count_both(tx, Metric::DeniedResponses);
    if let Some(claim) = &tx.claim {
        claim.server().counters.of(tx.worker.thread.index).count(Metric::DeniedResponses);
    }
    tx.notes.journal.denied = true;
}

/// Counts a request refused by a rule of this proxy.
pub fn denied(tx: &Transaction, proxy: &Proxy) {
    let metric = Metric::DeniedRequests;
    if proxy.index == tx.client.proxy.index {
        tx.client.counted().for_each(|block| block.count(metric));
    }
    if let Some(backend) = tx.backend.as_ref().filter(|backend| backend.index == proxy.index) {
        backend.block().count(metric);
    }
}

/// Counts an event on the frontend, and on the backend if there is one.
pub fn count_both(tx: &Transaction, metric: Metric) {
    both(tx).for_each(|block| block.count(metric));
}

/// Adds an amount on the frontend, and on the backend if there is one.
pub fn add_both(tx: &Transaction, metric: Metric, amount: u64) {
    both(tx).for_each(|block| block.add(metric, amount));
}

/// The counters of the frontend and its listener, and of the backend if there is one.
fn both(tx: &Transaction) -> impl Iterator<Item = &Block> {
    let back = tx.backend.as_ref().map(|backend| backend.block());
    let front = (!tx.notes.journal.background).then(|| tx.client.counted());
    front.into_iter().flatten().chain(back)
}

/// Bytes from the client and to it so far.
pub fn bytes_so_far(tx: &Transaction) -> (u64, u64) {
    let journal = &tx.notes.journal;
    let received = journal.bytes_in + tx.client.mux.payload_received();
    (received, journal.bytes_out + tx.space.down.counted())
}

/// Adds the bytes from the client and to it to all counters, less the bytes counted already.
pub(crate) fn count_bytes(tx: &mut Transaction, bytes: (u64, u64)) {
    let before = std::mem::replace(&mut tx.notes.bytes_counted, bytes);
    let (bytes_in, bytes_out) =
        (bytes.0.saturating_sub(before.0), bytes.1.saturating_sub(before.1));
    let server = tx.claim.as_ref().map(|it| it.server().block());
    for block in both(tx).chain(server) {
        block.add(Metric::BytesIn, bytes_in);
        block.add(Metric::BytesOut, bytes_out);
    }
    if tx.client.socket.is_stream() && !tx.notes.journal.background {
        let block = tx.client.proxy.block();
        block.add(Metric::StreamBytesIn, bytes_in);
        block.add(Metric::StreamBytesOut, bytes_out);
    }
    if let Some(claim) = tx.claim.as_ref().filter(|_| tx.notes.journal.on_stream) {
        claim.server().block().add(Metric::StreamBytesIn, bytes_in);
        claim.server().block().add(Metric::StreamBytesOut, bytes_out);
    }
    count_spliced(tx);
    if tracks(tx) && !tx.notes.journal.bad_request {
        count_tracked(tx, DataType::BYTES_IN, bytes_in);
        count_tracked(tx, DataType::BYTES_OUT, bytes_out);
    }
}

/// Adds the bytes spliced since the last call to the counters.
pub fn count_spliced(tx: &mut Transaction) {
    if tx.space.up.spliced == 0 && tx.space.down.spliced == 0 {
        return;
    }
    let up = std::mem::take(&mut tx.space.up.spliced);
    let down = std::mem::take(&mut tx.space.down.spliced);
    for block in both(tx) {
        block.add(Metric::SplicedUp, up);
        block.add(Metric::SplicedDown, down);
    }
}

/// Ends a transaction: counts bytes, times and status, and writes its log line.
pub fn finished(tx: &mut Transaction) {
    let bytes = bytes_so_far(tx);
    let journal = &mut tx.notes.journal;
    (journal.bytes_in, journal.bytes_out) = bytes;
    count_bytes(tx, bytes);
    if tx.notes.journal.bad_request && tx.client.mode == Mode::Http {
        // Bytes that are no request, or only the start of one, count as a request too.
        count_request(tx);
    }
    let status = tx.notes.journal.status;
    // A request that was given up without an answer has a status of its own.
    if status != 0 || (tx.notes.journal.counted && tx.client.mode == Mode::Http) {
        both(tx).for_each(|block| block.count(Metric::of_status(status)));
    }
    if tx.notes.journal.counted {
        let streams = tx.client.socket.is_stream();
        tx.client.proxy.block().count(if streams { Metric::StreamsEnded } else { Metric::Ended });
    }
    count_ending(tx);
    count_times(tx);
    record_front(tx);
    let settings = &tx.client.proxy.settings;
    let unborn = tx.notes.journal.bad_request && settings.error_log_format.is_some();
    let wanted = !settings.logs_at_start || unborn;
    if wanted && !tx.notes.journal.silent && !tx.notes.journal.logged {
        write_line(tx, false);
    }
    std::mem::swap(&mut tx.notes.variables.session, &mut tx.client.variables);
}

fn count_ending(tx: &Transaction) {
    let journal = &tx.notes.journal;
    let metric = match (journal.cause, journal.phase) {
        (cause, Phase::Request) if cause != Cause::Local => {
            let withdrawn = cause == Cause::ClientAbort && tx.backend.is_some();
            if journal.bad_request || withdrawn {
                tx.client.counted().for_each(|block| block.count(Metric::FailedRequests));
            }
            if !withdrawn {
                return;
            }
            Metric::ClientAborts
        }
        (Cause::ClientAbort | Cause::ClientTimeout, _) => Metric::ClientAborts,
        (Cause::ServerAbort | Cause::ServerTimeout, Phase::Data | Phase::Last) => {
            Metric::ServerAborts
        }
        (Cause::ServerAbort | Cause::ServerTimeout | Cause::Proxy, Phase::Headers) => {
            Metric::FailedResponses
        }
        _ => return,
    };
    if journal.denied && metric == Metric::FailedResponses {
        return;
    }
    let server = tx.claim.as_ref().map(|claim| claim.server().block());
    let back = tx.backend.as_ref().map(|backend| backend.block());
    if metric == Metric::ServerAborts && journal.cause == Cause::ServerAbort {
        // As in HAProxy, a truncated response counts as failed too, and a malformed one is no
        // abort.
        let blocks = [server, back].into_iter().flatten();
        blocks.for_each(|block| block.count(Metric::FailedResponses));
        if journal.garbled {
            return;
        }
    }
    let both_sides = matches!(metric, Metric::ClientAborts | Metric::ServerAborts);
    let front = (both_sides && !journal.background).then(|| tx.client.proxy.block());
    [server, back, front].into_iter().flatten().for_each(|block| block.count(metric));
}

fn count_times(tx: &Transaction) {
    let journal = &tx.notes.journal;
    let Some(claim) = tx.claim.as_ref().filter(|_| journal.connected != 0) else { return };
    let ms = |from, to| Journal::span(from, to).max(0) as u32;
    let times = [
        ms(journal.request, journal.queued),
        ms(journal.queued, journal.connected),
        ms(journal.connected, journal.response),
        ms(journal.first_byte, journal.ended),
    ];
    claim.server().block().time(times);
    if let Some(backend) = &tx.backend {
        backend.block().time(times);
    }
    if !tx.worker.histograms {
        return;
    }
    // The latencies of a backend are the sums over its servers.
    let latencies = claim.server().counters.latencies.of(tx.worker.thread.index);
    latencies.record(Span::Queue, journal.request, journal.queued);
    if journal.fresh {
        latencies.record(Span::Connect, journal.queued, journal.connected);
    }
    latencies.record(Span::Response, journal.connected, journal.response);
    latencies.record(Span::Total, journal.first_byte, journal.ended);
}

/// The whole of a request in the histograms of its frontend, and its connection's beginning once.
fn record_front(tx: &Transaction) {
    if !tx.worker.histograms || tx.notes.journal.background {
        return;
    }
    let (journal, latencies) = (&tx.notes.journal, tx.client.proxy.latencies());
    if !journal.bad_request {
        latencies.record(Span::Total, journal.first_byte, journal.ended);
    }
    if tx.client.handshake() > 0 {
        let stood = journal.began + tx.client.handshake();
        latencies.record(Span::Handshake, journal.began, stood);
    }
}

/// `option logasap`: the line is written as soon as the response's head is known, or in TCP mode as
/// soon as the server's connection is established.
pub fn log_asap(tx: &mut Transaction) {
    let proxy = &tx.client.proxy;
    let wanted = !proxy.settings.logs_at_start && proxy.front.settings.log_asap;
    if wanted && !tx.notes.journal.silent {
        write_line(tx, true);
    }
}

/// Writes the default line, where there is no other format: before rules have changed anything,
/// with the address that the connection has (configuration manual, section 8.2.1).
#[inline]
pub fn log_at_start(tx: &mut Transaction) {
    let settings = &tx.client.proxy.settings;
    if settings.logs_at_start && !settings.logs.targets.is_empty() {
        write_start(tx);
    }
}

fn write_start(tx: &mut Transaction) {
    if tx.client.proxy.settings.mode != tx.client.mode {
        // The session's log line was written when it was accepted.
        return;
    }
    fill_record(tx, false);
    tx.notes.record.client = tx.client.rare.source.or(tx.client.peer);
    emit(tx, log::level::INFO);
}

/// Writes the transaction's log line, if the frontend logs it.
pub(crate) fn write_line(tx: &mut Transaction, early: bool) {
    let Some(level) = level(tx) else { return };
    fill_record(tx, early);
    emit(tx, level);
}

/// The default line of a client on a unix socket, which names the listener alone.
fn write_unix_start(view: &View<'_>, settings: &settings::Proxy, line: &mut Vec<u8>) {
    let listener = view.number(Number::ListenerId).unwrap_or_default();
    let mode = if settings.mode == Mode::Http { "HTTP" } else { "TCP" };
    // Writing to memory cannot fail.
    let _ = write!(line, "Connect to unix:{listener} ({}/{mode})", settings.name);
}

fn emit(tx: &mut Transaction, level: u8) {
    let proxy = tx.client.proxy.clone();
    proxy.front.lines.fetch_add(1, Relaxed);
    let mut line = tx.worker.take_scratch();
    let mut data = tx.worker.take_scratch();
    let settings = &proxy.settings;
    let unborn = settings.error_log_format.as_ref().filter(|_| tx.notes.journal.bad_request);
    let unix_start = settings.logs_at_start && unborn.is_none() && tx.notes.record.client.is_none();
    let view = View::of(tx);
    match unborn.or(settings.log_format.as_ref()) {
        Some(_) if unix_start => write_unix_start(&view, settings, &mut line),
        Some(format) => format.write(&view, &mut line),
        None => return,
    }
    match &proxy.settings.log_format_sd {
        Some(format) => format.write(&view, &mut data),
        None => data.push(b'-'),
    }
    log::send_structured(&tx.worker, &proxy.settings.logs, level, &data, &line);
    tx.worker.give_scratch(line);
    tx.worker.give_scratch(data);
    tx.notes.journal.logged = true;
}

/// The severity of the log line; `None` for no line.
fn level(tx: &Transaction) -> Option<u8> {
    let (journal, proxy) = (&tx.notes.journal, &tx.client.proxy);
    let front = &proxy.front.settings;
    if proxy.settings.logs.targets.is_empty() || proxy.settings.log_format.is_none() {
        return None;
    }
    let failed = journal.status >= 500
        || !matches!(journal.cause, Cause::Normal | Cause::Local)
        || (journal.retries > 0 && journal.cause != Cause::Local);
    if front.dont_log_normal && !failed {
        return None;
    }
    if journal.bad_request && proxy.settings.logs_requests_only {
        return None;
    }
    // A client that opened a stream has sent bytes.
    let unborn = journal.bad_request && !tx.client.socket.is_stream();
    let empty = unborn || tx.client.mode == Mode::Tcp;
    if front.dont_log_null && empty && journal.bytes_in == 0 {
        return None;
    }
    let usual = if failed && front.separate_errors { log::level::ERR } else { log::level::INFO };
    Some(journal.level.unwrap_or(usual))
}

/// Prepares the notes for rules: variables and captures are cleared later, and the log record is up
/// to date if rules read it.
pub fn prepare(tx: &mut Transaction, rules: &RuleSet) {
    tx.notes.used = true;
    if rules.wants_record() {
        fill_record(tx, false);
    }
}

/// Numbers a stream when it begins, if its log line or its id may contain the number; other streams
/// are numbered on demand. An id is made from the log record.
pub fn number(tx: &mut Transaction) {
    let settings = &tx.client.proxy.settings;
    if settings.unique_id.is_some() {
        fill_record(tx, false);
    } else if settings.log_format.is_some() && !settings.logs.targets.is_empty() {
        number_of(tx);
    }
}

/// The number of a stream, from 0 up (`%rt`).
fn number_of(tx: &mut Transaction) -> u64 {
    let worker = &tx.worker;
    *tx.notes.journal.number.get_or_insert_with(|| worker.next_number())
}

/// Names the statistics page or the service that responds in place of a server, at once, for logs.
/// `whole`: the response is the regular one, not a refusal.
pub fn by_applet(tx: &mut Transaction, name: &'static str, whole: bool) {
    let now = tx.worker.thread.nanos();
    let journal = &mut tx.notes.journal;
    journal.applet = Some(name);
    (journal.queued, journal.connected) = (now, now);
    if whole {
        journal.response = now;
    }
}

/// Whether the server that a request has been sent to, or was to be, has a path; its address
/// otherwise.
fn target(tx: &Transaction) -> (ServerPath, Option<SocketAddr>) {
    let connected = tx.server.is_some();
    let tried = connected || tx.notes.journal.queued > 0;
    let Some(claim) = tx.claim.as_ref().filter(|_| tried) else { return Default::default() };
    match &claim.server().location.now().address {
        Address::Unix(_) if connected => (ServerPath::Connected, None),
        Address::Unix(_) => (ServerPath::Server, None),
        address => (ServerPath::None, address.inet()),
    }
}

/// Updates the log record, for logs and for rules whose formats read log variables.
pub fn fill_record(tx: &mut Transaction, early: bool) {
    tx.notes.used = true;
    let (source, local) = {
        let view = View::of(tx);
        (view.source(), view.destination())
    };
    let ends = |server: &engine::state::backend::server_connection::ServerConn| {
        (server.local(), server.destination())
    };
    let server_ends = tx.server.as_deref().map(ends);
    let reached = server_ends.is_some_and(|(_, server)| server.is_some());
    let (path, target) = if reached { Default::default() } else { target(tx) };
    let encrypted = tx.client.session().is_some();
    // Rules of a response that is on its way see its status.
    let coming = tx.space.response.status();
    let under_way = tx.space.down.sent + tx.space.down.outbox.unsent().len() as u64;
    let Notes { journal, record, .. } = &mut *tx.notes;
    record.client = source;
    record.encrypted = encrypted;
    record.frontend = local;
    (record.backend_source, record.server) = server_ends.unwrap_or((None, target));
    record.path = path;
    record.accepted = wall(journal.began_wall);
    let handshake = tx.client.handshake();
    let idle = journal.first_byte.saturating_sub(journal.began + handshake);
    record.requested = wall(journal.began_wall + handshake + idle);
    let ended = if journal.ended == 0 { tx.worker.thread.nanos() } else { journal.ended };
    record.handshake_ms = (handshake / 1_000_000) as i64;
    record.idle_ms = (idle / 1_000_000) as i64;
    record.request_ms = Journal::span(journal.first_byte, journal.request);
    record.queue_ms = Journal::span(journal.request, journal.queued);
    if journal.phase == Phase::Tarpit {
        // Manual section 8.4: `Tw` is the time that the client was held.
        (record.request_ms, record.queue_ms) = (-1, Journal::span(journal.first_byte, ended));
    }
    record.connect_ms = Journal::span(journal.queued, journal.connected);
    record.response_ms = Journal::span(journal.connected, journal.response);
    record.data_ms = Journal::span(journal.response, ended);
    record.active_ms = Journal::span(journal.first_byte, ended);
    record.total_ms = Journal::span(journal.began, ended);
    record.user_ms = record.active_ms;
    record.early = early;
    record.bytes_read = journal.bytes_out + if journal.ended == 0 { under_way } else { 0 };
    record.bytes_uploaded = journal.bytes_in;
    if journal.bad_request {
        // As in HAProxy, a connection without a request has moved no bytes.
        (record.bytes_read, record.bytes_uploaded) = (0, 0);
    }
    let known = journal.status != 0 || journal.ended != 0;
    let status = if known { journal.status } else { coming };
    record.status = if status == 0 { -1 } else { status.into() };
    // A transaction under way has no cause of its end.
    let over = journal.ended != 0;
    record.termination =
        if over { [journal.cause.letter(), journal.phase.letter()] } else { *b"--" };
    record.cookie_state = [journal.cookie.0, journal.cookie.1];
    record.retries = journal.retries;
    record.redispatched = journal.redispatched;
    (record.server_queue, record.backend_queue) = journal.queue_positions;
    fill_counts(tx, over);
    tx.notes.record.request_count = number_of(tx);
}

/// Evaluates formats for a connection without a session, or a request without a transaction, once
/// `adapt` has put known values into the log record.
pub fn show_unborn<T>(
    client: &Client,
    adapt: impl FnOnce(&mut TransactionRecord),
    write: impl FnOnce(&View<'_>) -> T,
) -> T {
    let worker = &client.worker;
    let (mut space, mut notes) = (worker.take_workspace(), worker.take_notes());
    notes.used = true;
    notes.journal.bad_request = true;
    fill_unborn(client, &mut notes.record);
    adapt(&mut notes.record);
    effort::open(notes.account());
    let written = write(&View {
        worker,
        client,
        space: &mut space,
        notes: &mut notes,
        backend: None,
        slot: None,
        server: None,
        stream: true,
        server_name: OnceCell::new(),
    });
    worker.give_workspace(space);
    worker.give_notes(notes);
    written
}

/// The log record of a connection without a session.
fn fill_unborn(client: &Client, record: &mut TransactionRecord) {
    let (worker, shared) = (&client.worker, &client.worker.shared);
    let elapsed = worker.thread.nanos().saturating_sub(client.since);
    let accepted = wall(worker.thread.wall().saturating_sub(elapsed));
    let front = &client.proxy.front;
    let elapsed = (elapsed / 1_000_000) as i64;
    *record = TransactionRecord {
        client: client.rare.source.or(client.peer),
        encrypted: is_encrypted(client),
        frontend: client.rare.destination.or_else(|| client.local()),
        accepted,
        requested: accepted,
        handshake_ms: -1,
        request_ms: -1,
        queue_ms: -1,
        connect_ms: -1,
        response_ms: -1,
        data_ms: -1,
        active_ms: elapsed,
        total_ms: elapsed,
        user_ms: elapsed,
        status: 0,
        termination: [Cause::Proxy.letter(), Phase::Request.letter()],
        cookie_state: *b"--",
        process_connections: shared.connections.current(),
        frontend_connections: front.connections.current(),
        log_count: front.lines.load(Relaxed),
        request_count: client.worker.next_number(),
        pid: shared.settings.pid,
        ..TransactionRecord::default()
    };
}

/// Whether the bind line of the client has TLS.
fn is_encrypted(client: &Client) -> bool {
    let bind = client.proxy.front.settings.binds.get(client.bind as usize);
    bind.is_some_and(|bind| bind.preamble.tls.is_some())
}

/// Fills the counts of connections into the log record; a transaction that is over is not counted.
fn fill_counts(tx: &mut Transaction, over: bool) {
    let shared = tx.worker.shared.clone();
    let front = &tx.client.proxy.front;
    let record = &mut tx.notes.record;
    record.pid = shared.settings.pid;
    record.process_connections = shared.connections.current();
    record.frontend_connections = front.connections.current();
    record.log_count = front.lines.load(Relaxed);
    let back = tx.backend.as_ref().map(|backend| &backend.back);
    let own = u32::from(tx.backend_session.is_some() && over);
    record.backend_connections = back.map_or(0, |back| back.sessions.current().saturating_sub(own));
    let claim = tx.claim.as_ref();
    let own = u32::from(claim.is_some_and(Claim::is_present) && over);
    record.server_connections =
        claim.map_or(0, |claim| claim.server().sessions.current().saturating_sub(own));
}
