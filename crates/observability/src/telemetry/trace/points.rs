//! The trace points, and the calls that emit them.
//!
//! A call is inlined as one load and a branch; the rest is cold. Data is reported per step of an
//! exchange, never per piece.

use super::{TraceEvent, emit, text};
use engine::state::backend::trunk::Trunk;
use engine::state::records::trace::place::{Key, TracePlace};
use engine::state::records::trace::words::{Event, Level, Source};
use engine::state::session::client::Client;
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use settings::{Mode, Protocol};
use std::panic::Location;

/// Layer that emits an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceLayer {
    /// The stream.
    Stream,
    /// HTTP on the client's connection.
    Front,
    /// HTTP on the server's connection.
    Back,
}

/// The message that an event concerns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Neither,
    Request,
    Response,
}

/// A trace point of a transaction.
pub struct Point {
    pub(super) voice: TraceLayer,
    pub(super) about: About,
    pub(super) event: Event,
    pub(super) level: Level,
    pub(super) text: &'static str,
}

/// A table of points, one per line: name, layer, message, event, level and text.
macro_rules! points {
    ($($name:ident: $voice:ident, $about:ident, $event:ident, $level:ident, $text:literal;)*) => {
        $(#[doc = $text] pub static $name: Point = Point {
            voice: TraceLayer::$voice,
            about: About::$about,
            event: Event::$event,
            level: Level::$level,
            text: $text,
        };)*
    };
}

// The version of HTTP precedes the texts of `Front` and `Back`.
points! {
    STREAM_NEW: Stream, Neither, New, User, "new stream";
    REQUEST: Stream, Request, Analysed, User, "request received";
    ROUTED: Stream, Request, Routed, User, "backend chosen";
    CONNECTED: Stream, Request, Connection, User, "server connected";
    UNCONNECTED: Stream, Request, Connection, User, "attempt to reach a server failed";
    RESPONSE: Stream, Response, Analysed, User, "response received";
    FAILED: Stream, Request, Error, Error, "stream failed";
    STREAM_END: Stream, Response, End, User, "stream ended";

    HTTP_NEW: Front, Neither, New, State, "stream begun";
    HTTP_END: Front, Neither, End, State, "stream ended";
    REQUEST_IN: Front, Request, HeadReceived, User, "request headers received";
    REQUEST_BAD: Front, Neither, Error, Error, "request malformed, cut off or late";
    REQUEST_OUT: Back, Request, HeadSent, User, "request headers for the server";
    REQUEST_MOVED: Front, Neither, DataReceived, Data, "request payload received";
    REQUEST_WROTE: Back, Neither, DataSent, Data, "request bytes sent";
    REQUEST_ALL_IN: Front, Neither, EndReceived, User, "request fully received";
    REQUEST_ALL_OUT: Back, Neither, EndSent, User, "request fully sent";
    RESPONSE_IN: Back, Response, HeadReceived, User, "response headers received";
    RESPONSE_BAD: Back, Neither, Error, Error, "response malformed";
    RESPONSE_OUT: Front, Response, HeadSent, User, "response headers for the client";
    RESPONSE_MOVED: Back, Neither, DataReceived, Data, "response payload received";
    RESPONSE_WROTE: Front, Neither, DataSent, Data, "response bytes sent";
    RESPONSE_ALL_IN: Back, Neither, EndReceived, User, "response fully received";
    RESPONSE_ALL_OUT: Front, Neither, EndSent, User, "response fully sent";
}

/// Reports an event of a transaction.
#[inline]
#[track_caller]
pub fn at(tx: &Transaction, point: &'static Point) {
    if tx.worker.shared.traces.any() {
        of_transaction(tx, point, None, Location::caller());
    }
}

/// Reports the bytes that a transaction moved since `before`, if any.
#[inline]
#[track_caller]
pub fn moved(tx: &Transaction, point: &'static Point, before: u64, now: u64) {
    if tx.worker.shared.traces.any() && now != before {
        of_transaction(tx, point, Some(now.saturating_sub(before)), Location::caller());
    }
}

#[cold]
#[inline(never)]
fn of_transaction(
    tx: &Transaction,
    point: &'static Point,
    value: Option<u64>,
    at: &'static Location<'static>,
) {
    let of = |is_h1| if is_h1 { Source::H1 } else { Source::H2 };
    let source = match point.voice {
        TraceLayer::Stream => Source::Stream,
        // Opaque bytes in TCP mode are no messages.
        _ if tx.client.mode == Mode::Tcp => return,
        TraceLayer::Front if tx.client.protocol == Protocol::H3 => Source::H3,
        TraceLayer::Front => of(tx.client.mux.is_h1()),
        TraceLayer::Back => match &tx.server {
            Some(server) if server.mux.takes_params() => Source::Fcgi,
            Some(server) => of(server.mux.is_h1()),
            None => return,
        },
    };
    let place = TracePlace {
        backend: tx.backend.as_ref().map(|backend| backend.index),
        slot: tx.claim.as_ref().map(|claim| claim.slot()),
        stream: Some(tx.client.requests),
        ..of_client(&tx.client)
    };
    let said = TraceEvent { source, event: point.event, level: point.level, at };
    emit(&tx.worker, &said, &place, |style, out| {
        text::transaction(tx, (point, source), (style, value), out);
    });
}

fn of_client(client: &Client) -> TracePlace {
    TracePlace {
        thread: client.worker.thread.index,
        frontend: Some(client.proxy.index),
        bind: client.bind,
        client: Some(client.id),
        ..TracePlace::default()
    }
}

/// A trace point of a client's connection.
pub struct ClientPoint {
    source: Source,
    event: Event,
    level: Level,
    pub(super) text: &'static str,
}

/// The same for clients' connections: source, event, level and text.
macro_rules! of_clients {
    ($($name:ident: $source:ident, $event:ident, $level:ident, $text:literal;)*) => {
        $(#[doc = $text] pub static $name: ClientPoint = ClientPoint {
            source: Source::$source,
            event: Event::$event,
            level: Level::$level,
            text: $text,
        };)*
    };
}

of_clients! {
    SESSION_NEW: Session, New, User, "new session";
    SESSION_END: Session, End, User, "connection ended";
    SESSION_REFUSED: Session, Error, Error, "refused by a rule";
    H2_OPENED: H2, Opened, State, "H2 connection begun";
    H2_CLOSED: H2, Closed, State, "H2 connection ended";
    QUIC_OPENED: Quic, Opened, State, "QUIC connection begun";
    QUIC_CONNECTED: Quic, Connection, State, "QUIC handshake completed";
    QUIC_FAILED: Quic, Error, Error, "QUIC handshake failed";
    QUIC_CLOSED: Quic, Closed, State, "QUIC connection ended";
}

/// Reports an event of a client's connection.
#[inline]
#[track_caller]
pub fn client(client: &Client, point: &'static ClientPoint) {
    if client.worker.shared.traces.any() {
        of_a_client(client, point, Location::caller());
    }
}

#[cold]
#[inline(never)]
fn of_a_client(client: &Client, point: &'static ClientPoint, at: &'static Location<'static>) {
    let said = TraceEvent { source: point.source, event: point.event, level: point.level, at };
    emit(&client.worker, &said, &of_client(client), |style, out| {
        text::client(client, point.text, style, out);
    });
}

/// A trace point of a connection to a FastCGI application.
pub struct OfApplication {
    event: Event,
    level: Level,
    text: &'static str,
}

/// The connection carries requests from now on.
pub static FCGI_OPENED: OfApplication =
    OfApplication { event: Event::Opened, level: Level::State, text: "FCGI connection begun" };
/// The connection has ended.
pub static FCGI_CLOSED: OfApplication =
    OfApplication { event: Event::Closed, level: Level::State, text: "FCGI connection ended" };
/// A line of error output.
pub static FCGI_ERROR_LINE: OfApplication =
    OfApplication { event: Event::ErrorOutput, level: Level::User, text: "FCGI error output" };

/// Reports an event of a connection to an application.
#[inline]
#[track_caller]
pub fn application(worker: &Worker, trunk: &Trunk, point: &'static OfApplication) {
    if worker.shared.traces.any() {
        of_application(worker, trunk, point, Location::caller());
    }
}

#[cold]
#[inline(never)]
fn of_application(
    worker: &Worker,
    trunk: &Trunk,
    point: &'static OfApplication,
    at: &'static Location<'static>,
) {
    let place = TracePlace {
        thread: worker.thread.index,
        backend: Some(trunk.backend.index),
        slot: Some(trunk.server.slot()),
        ..TracePlace::default()
    };
    let said = TraceEvent { source: Source::Fcgi, event: point.event, level: point.level, at };
    let (backend, server) = (trunk.backend.name(), trunk.server.state.name());
    emit(worker, &said, &place, |style, out| {
        text::application((backend, &server), point.text, style, out);
    });
}

/// A health check in a trace line.
pub struct Check {
    /// Name of the backend.
    pub backend: String,
    /// Name of the server.
    pub server: String,
    /// Index of the backend and slot of the server.
    pub key: Key,
    /// Whether the check queries the agent.
    pub agent: bool,
    /// Result of the check, once it ended.
    pub result: Option<balance::CheckResult>,
}

/// Reports the start or the end of a check.
#[inline]
#[track_caller]
pub fn check(worker: &Worker, check: impl FnOnce() -> Option<Check>) {
    if worker.shared.traces.any()
        && let Some(check) = check()
    {
        of_check(worker, &check, Location::caller());
    }
}

#[cold]
#[inline(never)]
fn of_check(worker: &Worker, check: &Check, at: &'static Location<'static>) {
    let place =
        TracePlace { thread: worker.thread.index, check: Some(check.key), ..TracePlace::default() };
    let say = |event, level, words: &str| {
        let said = TraceEvent { source: Source::Check, event, level, at };
        emit(worker, &said, &place, |style, out| text::check(check, words, style, out));
    };
    let Some(result) = &check.result else {
        return say(Event::New, Level::User, "check started");
    };
    match result.status.verdict() {
        balance::Verdict::Failed => say(Event::Failed, Level::Error, "check failed"),
        _ => say(Event::Passed, Level::User, "check passed"),
    }
    say(Event::End, Level::State, "check ended");
}
