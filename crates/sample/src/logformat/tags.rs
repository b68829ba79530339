//! The tags of log formats, one entry each (manual section 8.2.6).

use super::encode::Flags;
use crate::calendar::Date;
use crate::cast::{write_address, write_int, write_padded};
use crate::facts::{
    Facts, Hop, Name, Number, ServerPath, Side, TlsFact, TransactionRecord, WallTime,
};
use crate::value::Value;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};

/// Writes a tag.
pub type WriteFn = fn(&dyn Facts, Flags, &mut Vec<u8>);

/// One tag.
#[derive(Debug)]
pub struct Tag {
    /// The name behind the percent sign.
    pub name: &'static str,
    /// Whether it needs a proxy in HTTP mode.
    pub http_only: bool,
    /// One line for help and the reference page.
    pub doc: &'static str,
    /// Appends it.
    pub write: WriteFn,
}

const fn any(name: &'static str, doc: &'static str, write: WriteFn) -> Tag {
    Tag { name, http_only: false, doc, write }
}

const fn http(name: &'static str, doc: &'static str, write: WriteFn) -> Tag {
    Tag { name, http_only: true, doc, write }
}

/// Every tag but `%o`, which is no tag but sets flags.
// One tag per line, for reading as a table.
#[rustfmt::skip]
pub const TAGS: &[Tag] = &[
    any("B", "Bytes sent to the client.", |f, _, out| early(f, out, |r| r.bytes_read as i64)),
    http("CC", "Captured request cookie.", |f, flags, out| flags.text(record(f).map(|r| &*r.request_cookie), out)),
    http("CS", "Captured response cookie.", |f, flags, out| flags.text(record(f).map(|r| &*r.response_cookie), out)),
    any("H", "Host name.", |f, flags, out| flags.plain(f.name(Name::Hostname), out)),
    http("HM", "Method.", |f, flags, out| request_part(f, flags, out, |r| Some(&r.method))),
    http("HP", "Request target without the query.", |f, flags, out| request_part(f, flags, out, |r| Some(until(&r.uri, b'?')))),
    http("HPO", "Path alone, without host and query.", |f, flags, out| request_part(f, flags, out, path)),
    http("HQ", "Query string with its question mark.", |f, flags, out| request_part(f, flags, out, query)),
    http("HU", "Request target.", |f, flags, out| request_part(f, flags, out, |r| Some(&r.uri))),
    http("HV", "Version, such as HTTP/1.1.", |f, flags, out| request_part(f, flags, out, |r| Some(&r.version))),
    any("ID", "Unique id.", |f, flags, out| flags.plain(f.unique_id().as_deref(), out)),
    any("ST", "Status code.", |f, _, out| number(f, out, |r| r.status.into())),
    any("T", "Date of the accept in UTC.", |f, _, out| date(f, out, |r| r.accepted, Zone::Utc)),
    http("Ta", "Time from the request's first byte to the end.", |f, _, out| early(f, out, |r| r.active_ms)),
    any("Tc", "Time to connect to the server.", |f, _, out| number(f, out, |r| r.connect_ms)),
    any("Td", "Time to transfer data.", |f, _, out| number(f, out, |r| r.data_ms)),
    any("Tl", "Date of the accept in local time.", |f, _, out| date(f, out, |r| r.accepted, Zone::Local)),
    any("Th", "Time of the connection's handshakes.", |f, _, out| number(f, out, |r| r.handshake_ms)),
    http("Ti", "Idle time before the request.", |f, _, out| number(f, out, |r| r.idle_ms)),
    http("Tq", "Th, Ti and TR together.", |f, _, out| number(f, out, until_request)),
    http("TR", "Time to receive the request.", |f, _, out| number(f, out, |r| r.request_ms)),
    http("Tr", "Time to the response.", |f, _, out| number(f, out, |r| r.response_ms)),
    any("tiso", "Date of the accept as in RFC 3339, in UTC with milliseconds; Weir's own.", rfc3339),
    any("Ts", "Seconds since the epoch at the accept.", timestamp),
    any("Tt", "Time from the accept to the end.", |f, _, out| early(f, out, |r| r.total_ms)),
    any("Tu", "The same without idle time.", |f, _, out| early(f, out, |r| r.user_ms)),
    any("Tw", "Time in queues.", |f, _, out| number(f, out, |r| r.queue_ms)),
    any("U", "Bytes received from the client.", |f, _, out| number(f, out, |r| r.bytes_uploaded as i64)),
    any("ac", "Connections of the process.", |f, _, out| number(f, out, |r| r.process_connections.into())),
    any("b", "Backend.", |f, flags, out| flags.plain(f.name(Name::Backend).or(f.name(Name::Frontend)), out)),
    any("bc", "Connections of the backend.", |f, _, out| number(f, out, |r| r.backend_connections.into())),
    any("bi", "Source address of the server connection.", |f, flags, out| far_address(f, source_end, flags, out)),
    any("bp", "Source port of the server connection.", |f, flags, out| far_port(f, source_end, flags, out)),
    any("bq", "Place in the backend's queue.", |f, _, out| number(f, out, |r| r.backend_queue.into())),
    any("ci", "Client address.", |f, flags, out| near_address(f, client(f), flags, out)),
    any("cp", "Client port.", |f, flags, out| near_port(f, client(f), flags, out)),
    any("f", "Frontend.", |f, flags, out| flags.plain(f.name(Name::Frontend), out)),
    any("fc", "Connections of the frontend.", |f, _, out| number(f, out, |r| r.frontend_connections.into())),
    any("fi", "Address connected to.", |f, flags, out| near_address(f, frontend(f), flags, out)),
    any("fp", "Port connected to.", |f, flags, out| near_port(f, frontend(f), flags, out)),
    any("ft", "Frontend, with a tilde when encrypted.", frontend_transport),
    any("lc", "Lines logged by the frontend.", |f, _, out| number(f, out, |r| r.log_count as i64)),
    any("hr", "Captured request headers in braces.", |f, flags, out| captures(f, Side::Request, flags, out)),
    any("hrl", "Captured request headers, each quoted.", |f, flags, out| capture_list(f, Side::Request, flags, out)),
    any("hs", "Captured response headers in braces.", |f, flags, out| captures(f, Side::Response, flags, out)),
    any("hsl", "Captured response headers, each quoted.", |f, flags, out| capture_list(f, Side::Response, flags, out)),
    any("ms", "Milliseconds of the accept's second, three digits.", milliseconds),
    any("pid", "Process number.", |f, flags, out| hexable(f, flags, out, |r| r.pid.into())),
    http("r", "Request line.", request_line),
    any("rc", "Connection retries, with a plus after a redispatch.", retries),
    any("rt", "Number of the request.", |f, flags, out| hexable(f, flags, out, |r| r.request_count)),
    any("s", "Server.", server),
    any("sc", "Connections of the server.", |f, _, out| number(f, out, |r| r.server_connections.into())),
    any("si", "Server address.", |f, flags, out| far_address(f, server_end, flags, out)),
    any("sp", "Server port.", |f, flags, out| far_port(f, server_end, flags, out)),
    any("sq", "Place in the server's queue.", |f, _, out| number(f, out, |r| r.server_queue.into())),
    any("sslc", "TLS cipher.", |f, flags, out| secure(f, TlsFact::Cipher, flags, out)),
    any("sslv", "TLS version.", |f, flags, out| secure(f, TlsFact::Version, flags, out)),
    any("t", "Date of the accept with milliseconds.", |f, _, out| date(f, out, |r| r.accepted, Zone::LocalMillis)),
    http("tr", "Date of the request with milliseconds.", |f, _, out| date(f, out, |r| r.requested, Zone::LocalMillis)),
    http("trg", "Date of the request in UTC.", |f, _, out| date(f, out, |r| r.requested, Zone::Utc)),
    http("trl", "Date of the request in local time.", |f, _, out| date(f, out, |r| r.requested, Zone::Local)),
    any("ts", "Termination state.", |f, flags, out| state(f, flags, out, false)),
    any("tsc", "Termination state with the cookie's.", |f, flags, out| state(f, flags, out, true)),
];

fn record(facts: &dyn Facts) -> Option<&TransactionRecord> {
    facts.record()
}

/// A text about the TLS of the client's connection.
fn secure(facts: &dyn Facts, fact: TlsFact<'_>, flags: Flags, out: &mut Vec<u8>) {
    let value = facts.tls(Hop::Client, fact).and_then(Value::to_str);
    flags.plain(value.as_deref(), out);
}

fn client(facts: &dyn Facts) -> Option<SocketAddr> {
    record(facts).and_then(|record| record.client).or_else(|| facts.source())
}

fn frontend(facts: &dyn Facts) -> Option<SocketAddr> {
    record(facts).and_then(|record| record.frontend).or_else(|| facts.destination())
}

fn number(facts: &dyn Facts, out: &mut Vec<u8>, pick: fn(&TransactionRecord) -> i64) {
    match record(facts) {
        Some(record) => write_int(out, pick(record)),
        None => out.push(b'-'),
    }
}

/// A number that still grows when the line is written before the end: `+` marks it.
fn early(facts: &dyn Facts, out: &mut Vec<u8>, pick: fn(&TransactionRecord) -> i64) {
    if record(facts).is_some_and(|record| record.early) {
        out.push(b'+');
    }
    number(facts, out, pick);
}

fn hexable(
    facts: &dyn Facts,
    flags: Flags,
    out: &mut Vec<u8>,
    pick: fn(&TransactionRecord) -> u64,
) {
    let value = record(facts).map_or(0, pick);
    let _ = if flags.hex { write!(out, "{value:04X}") } else { write!(out, "{value}") };
}

fn until_request(record: &TransactionRecord) -> i64 {
    if record.request_ms < 0 {
        return -1;
    }
    record.handshake_ms.max(0) + record.idle_ms.max(0) + record.request_ms
}

fn timestamp(facts: &dyn Facts, flags: Flags, out: &mut Vec<u8>) {
    let secs = record(facts).map_or(0, |record| record.accepted.secs);
    let _ = if flags.hex { write!(out, "{secs:04X}") } else { write!(out, "{secs}") };
}

fn milliseconds(facts: &dyn Facts, flags: Flags, out: &mut Vec<u8>) {
    let millis = record(facts).map_or(0, |record| record.accepted.micros / 1000);
    if flags.hex {
        let _ = write!(out, "{millis:02X}");
    } else {
        write_padded(out, millis, 3);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// `21/Nov/2026:10:52:01.123`
    LocalMillis,
    /// `21/Nov/2026:10:52:01 +0100`
    Local,
    /// `21/Nov/2026:10:52:01 +0000`
    Utc,
}

fn date(
    facts: &dyn Facts,
    out: &mut Vec<u8>,
    pick: fn(&TransactionRecord) -> WallTime,
    zone: Zone,
) {
    let wall = record(facts).map_or_else(|| facts.wall(), pick);
    let offset = if zone == Zone::Utc { 0 } else { facts.local_offset(wall.secs) };
    let date = Date::new(wall.secs, offset);
    date.write_clf(out);
    if zone == Zone::LocalMillis {
        out.push(b'.');
        write_padded(out, wall.micros / 1000, 3);
    } else {
        out.push(b' ');
        date.write_zone(out);
    }
}

/// `2026-11-21T10:52:01.123Z`
fn rfc3339(facts: &dyn Facts, flags: Flags, out: &mut Vec<u8>) {
    let wall = record(facts).map_or_else(|| facts.wall(), |record| record.accepted);
    let date = Date::new(wall.secs, 0);
    flags.quoted(out, |out| {
        let _ = write!(out, "{:04}-{:02}-{:02}T", date.year, date.month + 1, date.day);
        let _ = write!(out, "{:02}:{:02}:{:02}.", date.hour, date.minute, date.second);
        write_padded(out, wall.micros / 1000, 3);
        out.push(b'Z');
    });
}

/// The listener of a client that came over a unix socket: its number stands for the port of both
/// ends, which are called `unix`.
fn listener(facts: &dyn Facts) -> Option<i64> {
    record(facts).and_then(|_| facts.number(Number::ListenerId))
}

/// An address of the client's connection.
fn near_address(facts: &dyn Facts, known: Option<SocketAddr>, flags: Flags, out: &mut Vec<u8>) {
    match known.is_none() && listener(facts).is_some() {
        true => flags.plain(Some(b"unix"), out),
        false => address(known, flags, out),
    }
}

/// A port of the client's connection.
fn near_port(facts: &dyn Facts, known: Option<SocketAddr>, flags: Flags, out: &mut Vec<u8>) {
    match listener(facts).filter(|_| known.is_none()) {
        Some(number) => write_int(out, number),
        None => port(known, flags, out),
    }
}

/// An end of the server's connection: its address, or whether it is one of a unix socket.
type FarEnd = fn(&TransactionRecord) -> (Option<SocketAddr>, bool);

fn source_end(record: &TransactionRecord) -> (Option<SocketAddr>, bool) {
    (record.backend_source, record.path == ServerPath::Connected)
}

fn server_end(record: &TransactionRecord) -> (Option<SocketAddr>, bool) {
    (record.server, record.path != ServerPath::None)
}

/// An address of the server's connection.
fn far_address(facts: &dyn Facts, end: FarEnd, flags: Flags, out: &mut Vec<u8>) {
    match record(facts).map(end) {
        Some((None, true)) => flags.plain(Some(b"unix"), out),
        end => address(end.and_then(|(address, _)| address), flags, out),
    }
}

/// A port of the server's connection.
fn far_port(facts: &dyn Facts, end: FarEnd, flags: Flags, out: &mut Vec<u8>) {
    match record(facts).map(end) {
        Some((None, true)) => write_int(out, 0),
        end => port(end.and_then(|(address, _)| address), flags, out),
    }
}

fn address(address: Option<SocketAddr>, flags: Flags, out: &mut Vec<u8>) {
    let Some(address) = address else { return flags.missing(out) };
    if !flags.hex {
        return flags.quoted(out, |out| write_address(out, address.ip()));
    }
    let _ = match address.ip() {
        IpAddr::V4(v4) => write!(out, "{:08X}", u32::from(v4)),
        IpAddr::V6(v6) => write!(out, "{:032X}", u128::from(v6)),
    };
}

fn port(address: Option<SocketAddr>, flags: Flags, out: &mut Vec<u8>) {
    let Some(address) = address else { return flags.missing(out) };
    let port = address.port();
    if flags.hex {
        let _ = write!(out, "{port:04X}");
    } else {
        write_int(out, port.into());
    }
}

fn frontend_transport(facts: &dyn Facts, flags: Flags, out: &mut Vec<u8>) {
    let encrypted = record(facts).is_some_and(|record| record.encrypted);
    flags.quoted(out, |out| {
        Flags { quote: false, ..flags }.plain(facts.name(Name::Frontend), out);
        if encrypted {
            out.push(b'~');
        }
    });
}

fn server(facts: &dyn Facts, flags: Flags, out: &mut Vec<u8>) {
    flags.plain(Some(facts.name(Name::Server).unwrap_or(b"<NOSRV>")), out);
}

fn retries(facts: &dyn Facts, _: Flags, out: &mut Vec<u8>) {
    if record(facts).is_some_and(|record| record.redispatched) {
        out.push(b'+');
    }
    number(facts, out, |record| record.retries.into());
}

/// The termination state, which is not quoted.
fn state(facts: &dyn Facts, flags: Flags, out: &mut Vec<u8>, cookie: bool) {
    let Some(record) = record(facts) else { return flags.missing(out) };
    out.extend_from_slice(&record.termination);
    if cookie {
        out.extend_from_slice(&record.cookie_state);
    }
}

fn until(text: &[u8], end: u8) -> &[u8] {
    &text[..memchr::memchr(end, text).unwrap_or(text.len())]
}

/// The path; requests with an authority or `*` as target have none.
fn path(record: &TransactionRecord) -> Option<&[u8]> {
    Some(until(record.relative_uri(), b'?')).filter(|path| path.starts_with(b"/"))
}

fn query(record: &TransactionRecord) -> Option<&[u8]> {
    memchr::memchr(b'?', &record.uri).map(|at| &record.uri[at..])
}

/// A part of the request line; all of them are `<BADREQ>` when none was parsed.
fn request_part(
    facts: &dyn Facts,
    flags: Flags,
    out: &mut Vec<u8>,
    pick: for<'r> fn(&'r TransactionRecord) -> Option<&'r [u8]>,
) {
    match record(facts) {
        Some(record) if record.method.is_empty() => flags.plain(Some(b"<BADREQ>"), out),
        Some(record) => match pick(record) {
            Some(text) if !text.is_empty() => flags.text(Some(text), out),
            // A request without a query has an empty one, which is not missing.
            _ => flags.quoted(out, |_| {}),
        },
        None => flags.missing(out),
    }
}

fn request_line(facts: &dyn Facts, flags: Flags, out: &mut Vec<u8>) {
    let Some(record) = record(facts) else { return flags.missing(out) };
    flags.quoted(out, |out| {
        if record.method.is_empty() {
            out.extend_from_slice(b"<BADREQ>");
            return;
        }
        flags.hash_encoded(&record.method, out);
        out.push(b' ');
        flags.hash_encoded(&record.uri, out);
        if !record.version.is_empty() {
            out.push(b' ');
            flags.hash_encoded(&record.version, out);
        }
    });
}

/// `{a|b}`; empty if the proxy captures nothing.
fn captures(facts: &dyn Facts, side: Side, flags: Flags, out: &mut Vec<u8>) {
    let count = facts.capture_count(side);
    if count == 0 {
        return;
    }
    flags.quoted(out, |out| {
        out.push(b'{');
        for slot in 0..count {
            if slot > 0 {
                out.push(b'|');
            }
            if let Some(text) = facts.capture(side, slot) {
                braced(&text, flags, out);
            }
        }
        out.push(b'}');
    });
}

/// Braces and bars of a capture are encoded too, so that the line can be taken apart again.
fn braced(text: &[u8], flags: Flags, out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'{' | b'}' | b'|' => {
                let _ = write!(out, "#{byte:02X}");
            }
            byte => flags.hash_encoded(&[*byte], out),
        }
    }
}

/// `"a" "b"`, a dash for a slot that has none in every style.
fn capture_list(facts: &dyn Facts, side: Side, flags: Flags, out: &mut Vec<u8>) {
    let flags = Flags { dash: true, ..flags };
    for slot in 0..facts.capture_count(side) {
        if slot > 0 {
            out.push(b' ');
        }
        match facts.capture(side, slot) {
            None => flags.missing(out),
            Some(text) => flags.quoted(out, |out| braced(&text, flags, out)),
        }
    }
}
