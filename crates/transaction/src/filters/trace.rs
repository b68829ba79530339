//! `filter trace`: prints the checkpoints of a stream and the payload that passes, and can let it pass
//! in pieces drawn by chance (configuration manual, section 9.1).
//!
//! The lines have HAProxy's names and order; the analyzers are the rows of
//! [`crate::stages::table`].

use engine::state::runtime::Proxy;
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use htx::Head;
use observability::logging::log;
use sample::Side;
use settings::{Filter, Mode, TraceFilter};
use std::fmt::Write as _;
use std::rc::Rc;
use transport::filters::{Offer, PayloadFilter, Taken};

/// Bytes of a line of a hexadecimal dump.
const DUMPED: usize = 16;

/// A point in the life of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Checkpoint {
    /// The stream begins, and with it the filters of the frontend.
    Begins,
    /// The backend is chosen; its filters are attached.
    BackendChosen,
    /// A stage has run.
    Analyzed(Side, &'static str),
    /// The head of a message is as it goes out.
    Head(Side),
    /// A response begins.
    ResponseBegins,
    /// The stream ends.
    Ends,
}

/// Prints a checkpoint for each `filter trace` of the frontend and of the backend.
#[cold]
pub(super) fn checkpoint(tx: &Transaction, at: Checkpoint) {
    let front: &Proxy = &tx.client.proxy;
    let back: Option<&Proxy> = tx.backend.as_ref().map(|back| &***back);
    let back = back.filter(|back| back.index != front.index);
    let mut out = String::new();
    let mut print = |proxies: &[Option<&Proxy>], function: &str, rest: &str| {
        for proxy in proxies.iter().flatten() {
            for filter in &proxy.settings.filters {
                if let Filter::Trace(settings) = filter
                    && !settings.quiet
                {
                    let source = Source::new(tx, settings, proxy);
                    source.line(function, rest, &mut out);
                }
            }
        }
    };
    let (front, both) = ([Some(front)], [Some(front), back]);
    let channel = |side| channel(tx, side);
    match at {
        Checkpoint::Begins => {
            print(&front, "trace_attach", ": filter-type=frontend");
            print(&front, "trace_stream_start", "");
            print(&front, "trace_chn_start_analyze", &channel(Side::Request));
        }
        Checkpoint::BackendChosen => {
            let name = tx.backend.as_ref().map_or("", |backend| backend.name());
            print(&[back], "trace_attach", ": filter-type=backend");
            print(&both, "trace_stream_set_backend", &format!(": backend={name}"));
            print(&[back], "trace_chn_start_analyze", &channel(Side::Request));
        }
        Checkpoint::Analyzed(side, stage) => {
            let rest = format!("{} - analyzer={stage}", channel(side));
            print(&both, "trace_chn_analyze", &rest);
        }
        Checkpoint::Head(side) => {
            let head = match side {
                Side::Request => &tx.space.request,
                Side::Response => &tx.space.response,
            };
            let rest = format!("{}\t{}", channel(side), lines(head));
            print(&both, "trace_http_headers", &rest);
        }
        Checkpoint::ResponseBegins => {
            print(&both, "trace_chn_start_analyze", &channel(Side::Response));
        }
        Checkpoint::Ends => {
            print(&both, "trace_chn_end_analyze", &channel(Side::Request));
            if tx.notes.journal.response != 0 {
                print(&both, "trace_chn_end_analyze", &channel(Side::Response));
            }
            print(&[back], "trace_detach", ": filter-type=backend");
            print(&front, "trace_stream_stop", "");
            print(&front, "trace_detach", ": filter-type=frontend");
        }
    }
    write_stderr(&tx.worker, &out);
}

/// The direction and the place of a stream, as lines show them.
fn channel(tx: &Transaction, side: Side) -> String {
    let channel = if side == Side::Request { "REQUEST" } else { "RESPONSE" };
    let mode = if tx.client.mode == Mode::Tcp { "TCP" } else { "HTTP" };
    let place = if tx.backend.is_some() { "backend" } else { "frontend" };
    format!(": channel={channel:<10} - mode={mode:<5} ({place})")
}

/// The lines of a head, without bytes that could be taken for further lines.
fn lines(head: &Head) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let mut lines = match head.status() {
        0 => format!(
            "{} {} {}",
            text(head.method()),
            text(head.uri()),
            text(head.version().token().as_bytes())
        ),
        status => format!("{} {status}", text(head.version().token().as_bytes())),
    };
    for field in head.fields() {
        let _ = write!(lines, "\n\t{}: {}", text(field.name), text(field.value));
    }
    lines
}

/// Prints to the standard error as HAProxy does, but without waiting for its reader: lines without
/// room are dropped and counted.
fn write_stderr(worker: &Worker, text: &str) {
    if let Some(text) = text.strip_suffix('\n') {
        log::write_to_sink(worker, "stderr", text.as_bytes());
    }
}

/// The beginning of a line: the filter, its proxy, the number of the stream.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    stream: String,
    worker: Rc<Worker>,
}

impl Source {
    fn new(tx: &Transaction, settings: &TraceFilter, proxy: &Proxy) -> Self {
        let name = format!("{}/{}", settings.name, proxy.settings.name);
        let stream = format!("{}({})", tx.client.id, tx.client.requests);
        Self { name, stream, worker: tx.worker.clone() }
    }

    fn line(&self, function: &str, rest: &str, out: &mut String) {
        let (name, stream, micros) = (&self.name, &self.stream, self.worker.thread.wall() / 1_000);
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        let _ = writeln!(
            out,
            "{seconds}.{micros:06} [{name:<20}] [strm {stream}] {function:<25}{rest}"
        );
    }
}

/// The payload of one direction under `filter trace`.
#[derive(Debug)]
pub(super) struct PayloadTrace {
    settings: TraceFilter,
    source: Source,
    channel: String,
    http: bool,
    random: stdx::Prng,
    /// Payload bytes that have passed.
    offset: u64,
    ended: bool,
}

impl PayloadTrace {
    pub(super) fn new(tx: &Transaction, settings: &TraceFilter, proxy: &Proxy, side: Side) -> Self {
        let seed = tx.worker.thread.nanos() ^ (side as u64);
        let (source, channel) = (Source::new(tx, settings, proxy), channel(tx, side));
        let (http, random) = (tx.client.mode == Mode::Http, stdx::Prng::new(seed));
        let settings = settings.clone();
        Self { settings, source, channel, http, random, offset: 0, ended: false }
    }

    /// The line with the number of bytes that pass, with a dump if the filter has `hexdump`.
    fn describe(&self, offer: Offer<'_>, passes: usize, out: &mut String) {
        let function = if self.http { "trace_http_payload" } else { "trace_tcp_payload" };
        let rest = format!(
            "{} - offset={} - len={} - forward={passes}",
            self.channel,
            self.offset,
            offer.payload.len(),
        );
        self.source.line(function, &rest, out);
        if self.settings.hexdump {
            dump(&offer.payload[..passes], out);
        }
    }
}

impl PayloadFilter for PayloadTrace {
    fn take(&mut self, offer: Offer<'_>, _: &mut Vec<u8>) -> Taken {
        let all = offer.payload.len();
        let passes = match self.settings.random_forwarding && all > 0 {
            true => 1 + self.random.below(u32::try_from(all).unwrap_or(u32::MAX)) as usize,
            false => all,
        };
        if !self.settings.quiet {
            let mut out = String::new();
            if passes > 0 {
                self.describe(offer, passes, &mut out);
            }
            if offer.last && passes == all && self.http && !self.ended {
                self.ended = true;
                self.source.line("trace_http_end", &self.channel, &mut out);
            }
            write_stderr(&self.source.worker, &out);
        }
        self.offset += passes as u64;
        Taken::Bytes(passes)
    }
}

/// Lines of 16 bytes in hexadecimal and as text.
fn dump(bytes: &[u8], out: &mut String) {
    for (number, line) in bytes.chunks(DUMPED).enumerate() {
        let _ = write!(out, "\t0x{:06x}: ", number * DUMPED);
        line.iter().for_each(|byte| {
            let _ = write!(out, "{byte:02x} ");
        });
        let printable = |byte: &u8| if (b' '..=b'~').contains(byte) { *byte as char } else { '.' };
        let text: String = line.iter().map(printable).collect();
        let _ = writeln!(out, "{:<1$}|{text}|", "", 3 * (DUMPED - line.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_dumped_in_lines_of_sixteen_bytes() {
        let mut text = String::new();
        dump(b"GET / HTTP/1.1\r\n!", &mut text);
        let expected = "\t0x000000: 47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a |GET / HTTP/1.1..|\n\
            \t0x000010: 21                                              |!|\n";
        assert_eq!(text, expected);
    }
}
