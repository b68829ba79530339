//! The text of trace lines, by verbosity.
//!
//! Bytes of peers are escaped, except printable ASCII, so that they cannot be taken for lines of
//! the proxy itself. In the anonymized mode, names are hashes: proxies, servers, addresses, URIs,
//! reasons and values of header fields.

use super::Style;
use super::points::{About, Check, Point, TraceLayer};
use crate::telemetry::accounting;
use engine::state::records::anon::Anon;
use engine::state::records::trace::words::{Event, Source, Verbosity};
use engine::state::session::client::Client;
use engine::state::session::transaction::Transaction;
use htx::Head;
use std::fmt::Write as _;

/// The line about a transaction.
pub(super) fn transaction(
    tx: &Transaction,
    (point, source): (&Point, Source),
    (style, value): (Style, Option<u64>),
    out: &mut String,
) {
    let Style { verbosity, anon } = style;
    match source {
        Source::H1 => out.push_str("H1 "),
        Source::H2 => out.push_str("H2 "),
        Source::H3 => out.push_str("H3 "),
        Source::Fcgi => out.push_str("FCGI "),
        _ => {}
    }
    out.push_str(point.text);
    if verbosity == Verbosity::Quiet {
        return;
    }
    out.push_str(match point.voice {
        TraceLayer::Stream => " :",
        TraceLayer::Front => " : [F]",
        TraceLayer::Back => " : [B]",
    });
    names(tx, anon, out);
    if let Some(value) = value {
        put(out, format_args!(" - VAL={value}"));
    }
    if matches!(point.event, Event::End | Event::Error) {
        let journal = &tx.notes.journal;
        let ends = [journal.cause.letter(), journal.phase.letter()];
        put(out, format_args!(" - status={} state={}", journal.status, ends.escape_ascii()));
    }
    if verbosity >= Verbosity::Minimal {
        connection(&tx.client, anon, out);
        put(out, format_args!(" strm={}", tx.client.requests));
    }
    if verbosity >= Verbosity::Simple {
        message(tx, point.about, style, out);
    }
    if verbosity >= Verbosity::Complete {
        progress(tx, out);
    }
}

/// Names of the frontend, the backend and the server, as far as known.
fn names(tx: &Transaction, anon: Anon, out: &mut String) {
    put(out, format_args!(" fe={}", anon.word(tx.client.proxy.name())));
    if let Some(backend) = &tx.backend {
        put(out, format_args!(" be={}", anon.word(backend.name())));
    }
    if let Some(claim) = &tx.claim {
        put(out, format_args!(" srv={}", anon.word(&claim.server().state.name())));
    }
}

fn connection(client: &Client, anon: Anon, out: &mut String) {
    put(out, format_args!(" - conn={}.{}", client.worker.thread.index, client.id));
    if let Some(peer) = client.rare.source.or(client.peer) {
        put(out, format_args!(" src={}", anon.address(peer)));
    }
}

/// The message, while its head exists.
fn message(tx: &Transaction, about: About, style: Style, out: &mut String) {
    let head = match about {
        About::Neither => return,
        About::Request => &tx.space.request,
        About::Response => &tx.space.response,
    };
    if head.is_empty() {
        return;
    }
    first_line(head, style.anon, out);
    if style.verbosity >= Verbosity::Advanced {
        for field in head.fields() {
            let (name, value) = (field.name.escape_ascii(), style.anon.bytes(field.value));
            put(out, format_args!("\n\t{name}: {value}"));
        }
    }
}

fn first_line(head: &Head, anon: Anon, out: &mut String) {
    let version = head.version();
    if head.is_request() {
        let (method, uri) = (head.method().escape_ascii(), anon.bytes(head.uri()));
        put(out, format_args!(" - \"{method} {uri} {}\"", version.token()));
    } else {
        let reason = anon.bytes(head.reason());
        put(out, format_args!(" - \"{} {} {reason}\"", version.token(), head.status()));
    }
}

/// Bytes, time and retries of the transaction so far.
fn progress(tx: &Transaction, out: &mut String) {
    let journal = &tx.notes.journal;
    let (received, sent) = match journal.ended {
        0 => accounting::bytes_so_far(tx),
        // The journal has the final sums.
        _ => (journal.bytes_in, journal.bytes_out),
    };
    let micros = tx.worker.thread.nanos().saturating_sub(journal.first_byte) / 1_000;
    put(out, format_args!("\n\trx={received} tx={sent} us={micros} retries={}", journal.retries));
}

/// The line about a client's connection.
pub(super) fn client(client: &Client, words: &str, style: Style, out: &mut String) {
    let Style { verbosity, anon } = style;
    out.push_str(words);
    if verbosity == Verbosity::Quiet {
        return;
    }
    put(out, format_args!(" : fe={}", anon.word(client.proxy.name())));
    if verbosity >= Verbosity::Minimal {
        connection(client, anon, out);
    }
    if verbosity >= Verbosity::Complete {
        put(out, format_args!("\n\treqs={}", client.requests));
    }
}

/// The line about a connection to an application, whose backend and server have these names.
pub(super) fn application(
    (backend, server): (&str, &str),
    words: &str,
    style: Style,
    out: &mut String,
) {
    out.push_str(words);
    if style.verbosity == Verbosity::Quiet {
        return;
    }
    let (backend, server) = (style.anon.word(backend), style.anon.word(server));
    put(out, format_args!(" : be={backend} srv={server}"));
}

/// The line about a health check.
pub(super) fn check(check: &Check, words: &str, style: Style, out: &mut String) {
    let Style { verbosity, anon } = style;
    out.push_str(if check.agent { "agent " } else { "health " });
    out.push_str(words);
    if verbosity == Verbosity::Quiet {
        return;
    }
    let (backend, server) = (anon.word(&check.backend), anon.word(&check.server));
    put(out, format_args!(" : be={backend} srv={server}"));
    let Some(result) = &check.result else { return };
    put(out, format_args!(" - {}", result.status.code()));
    if verbosity >= Verbosity::Simple {
        put(out, format_args!(" \"{}\"", result.status.description()));
    }
    if verbosity >= Verbosity::Complete {
        put(out, format_args!("\n\tms={}", result.duration_ms));
    }
}

/// Appends; writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
