//! How what is told reads. Never decides whether it is told.
//!
//! Bytes of peers are shown so that they cannot be taken for lines of the proxy's own: what is not
//! a printing character of ASCII is escaped.

use super::points::{About, Check, Point, Voice};
use super::words::{Event, Source, Verbosity};
use crate::client::Client;
use crate::report;
use crate::transaction::Transaction;
use htx::Head;
use std::fmt::Write as _;

/// What a transaction tells.
pub(super) fn transaction(
    tx: &Transaction,
    (point, source): (&Point, Source),
    (verbosity, value): (Verbosity, Option<u64>),
    out: &mut String,
) {
    match source {
        Source::H1 => out.push_str("H1 "),
        Source::H2 => out.push_str("H2 "),
        _ => {}
    }
    out.push_str(point.text);
    if verbosity == Verbosity::Quiet {
        return;
    }
    out.push_str(match point.voice {
        Voice::Stream => " :",
        Voice::Front => " : [F]",
        Voice::Back => " : [B]",
    });
    names(tx, out);
    if let Some(value) = value {
        put(out, format_args!(" - VAL={value}"));
    }
    if matches!(point.event, Event::End | Event::Error) {
        let journal = &tx.notes.journal;
        let ends = [journal.cause.letter(), journal.phase.letter()];
        put(out, format_args!(" - status={} state={}", journal.status, ends.escape_ascii()));
    }
    if verbosity >= Verbosity::Minimal {
        connection(&tx.client, out);
        put(out, format_args!(" strm={}", tx.client.requests));
    }
    if verbosity >= Verbosity::Simple {
        message(tx, point.about, verbosity, out);
    }
    if verbosity >= Verbosity::Complete {
        progress(tx, out);
    }
}

/// Whom it is about, as far as that is known.
fn names(tx: &Transaction, out: &mut String) {
    put(out, format_args!(" fe={}", tx.client.proxy.name()));
    if let Some(backend) = &tx.backend {
        put(out, format_args!(" be={}", backend.name()));
    }
    if let Some(claim) = &tx.claim {
        put(out, format_args!(" srv={}", claim.server().state.name()));
    }
}

fn connection(client: &Client, out: &mut String) {
    put(out, format_args!(" - conn={}.{}", client.worker.thread.index, client.id));
    if let Some(peer) = client.source.or(client.peer) {
        put(out, format_args!(" src={peer}"));
    }
}

/// The message, if it is there still.
fn message(tx: &Transaction, about: About, verbosity: Verbosity, out: &mut String) {
    let head = match about {
        About::Neither => return,
        About::Request => &tx.space.request,
        About::Response => &tx.space.response,
    };
    if head.is_empty() {
        return;
    }
    first_line(head, out);
    if verbosity >= Verbosity::Advanced {
        for field in head.fields() {
            let (name, value) = (field.name.escape_ascii(), field.value.escape_ascii());
            put(out, format_args!("\n\t{name}: {value}"));
        }
    }
}

fn first_line(head: &Head, out: &mut String) {
    let version = head.version();
    if head.is_request() {
        let (method, uri) = (head.method().escape_ascii(), head.uri().escape_ascii());
        put(out, format_args!(" - \"{method} {uri} {}\"", version.token()));
    } else {
        let reason = head.reason().escape_ascii();
        put(out, format_args!(" - \"{} {} {reason}\"", version.token(), head.status()));
    }
}

/// How far it has come.
fn progress(tx: &Transaction, out: &mut String) {
    let journal = &tx.notes.journal;
    let (received, sent) = match journal.ended {
        0 => report::bytes_so_far(tx),
        // All has been added up.
        _ => (journal.bytes_in, journal.bytes_out),
    };
    let micros = tx.worker.thread.nanos().saturating_sub(journal.first_byte) / 1_000;
    put(out, format_args!("\n\trx={received} tx={sent} us={micros} retries={}", journal.retries));
}

/// What a connection of a client tells.
pub(super) fn client(client: &Client, words: &str, verbosity: Verbosity, out: &mut String) {
    out.push_str(words);
    if verbosity == Verbosity::Quiet {
        return;
    }
    put(out, format_args!(" : fe={}", client.proxy.name()));
    if verbosity >= Verbosity::Minimal {
        connection(client, out);
    }
    if verbosity >= Verbosity::Complete {
        put(out, format_args!("\n\treqs={}", client.requests));
    }
}

/// What a check tells.
pub(super) fn check(check: &Check, words: &str, verbosity: Verbosity, out: &mut String) {
    out.push_str(if check.agent { "agent " } else { "health " });
    out.push_str(words);
    if verbosity == Verbosity::Quiet {
        return;
    }
    put(out, format_args!(" : be={} srv={}", check.backend, check.server));
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
