//! Log lines on their way out: level filter, syslog header, datagram.
//!
//! Syslog headers are those of the manual's `log` keyword (section 4.2); every message ends with a
//! newline.

use engine::state::worker::Worker;
use reactor::Address;
use sample::write_int;
use settings::{LogAddress, LogTarget, LogTransport, Logs};
use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;

/// Syslog severities, by their numbers.
pub mod level {
    /// A panic condition.
    pub const EMERG: u8 = 0;
    /// To be corrected at once.
    pub const ALERT: u8 = 1;
    /// Critical.
    pub const CRIT: u8 = 2;
    /// An error.
    pub const ERR: u8 = 3;
    /// A warning.
    pub const WARNING: u8 = 4;
    /// Normal but significant.
    pub const NOTICE: u8 = 5;
    /// Informational.
    pub const INFO: u8 = 6;
    /// For debugging.
    pub const DEBUG: u8 = 7;
}

/// Sends one message to all targets that accept its level.
pub fn send(worker: &Worker, logs: &Logs, level: u8, message: &[u8]) {
    send_structured(worker, logs, level, b"-", message);
}

/// As [`send`], with the structured data of RFC 5424 headers (`-` for none).
pub fn send_structured(worker: &Worker, logs: &Logs, level: u8, data: &[u8], message: &[u8]) {
    let targets = logs.targets.iter().enumerate();
    for (index, target) in targets.filter(|(_, target)| level <= target.level) {
        let skips = |sample| !worker.shared.log_samples.takes_next(sample);
        if target.sample.as_ref().is_some_and(skips) {
            continue;
        }
        let mut line = worker.take_scratch();
        let transport = ring_of(worker, target).unwrap_or(target.transport);
        let level = level.max(target.min_level);
        envelope(worker, logs, (target.facility, level, transport), data, &mut line);
        match memchr::memchr2(b'\n', 0, message) {
            None => deliver(worker, (target, index), message, &mut line),
            Some(_) => deliver(worker, (target, index), &on_one_line(message), &mut line),
        }
        worker.give_scratch(line);
    }
}

/// The message on one line, with line feeds and NULs escaped: receivers take bytes behind a line
/// feed or a NUL for another message, or drop them.
#[cold]
fn on_one_line(message: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(message.len() + 8);
    for byte in message {
        match byte {
            b'\n' => text.extend_from_slice(b"#0A"),
            0 => text.extend_from_slice(b"#00"),
            byte => text.push(*byte),
        }
    }
    text
}

/// A text of a script with dots in place of control characters, as in HAProxy: values of clients
/// are in it, and must not forge lines or control a terminal.
pub fn without_controls(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.iter().any(u8::is_ascii_control) {
        return Cow::Borrowed(text);
    }
    let shown = |byte: &u8| if byte.is_ascii_control() { b'.' } else { *byte };
    Cow::Owned(text.iter().map(shown).collect())
}

/// The syslog header of a target that is a ring.
pub fn ring_of(worker: &Worker, target: &LogTarget) -> Option<LogTransport> {
    match target.address {
        LogAddress::Ring(index) => Some(worker.shared.rings.get(index)?.settings.transport),
        _ => None,
    }
}

/// Sends a text to the target of this index, behind the syslog header in `line`, cut to the
/// target's longest message.
pub fn deliver(
    worker: &Worker,
    (target, index): (&LogTarget, usize),
    text: &[u8],
    line: &mut Vec<u8>,
) {
    // The line feed is added to the longest message.
    let room = target.max_len.saturating_sub(line.len());
    line.extend_from_slice(&text[..text.len().min(room)]);
    line.truncate(target.max_len);
    if let LogAddress::Ring(index) = target.address {
        // The ring counts messages without room.
        let ring = worker.shared.rings.get(index);
        ring.map(|ring| ring.write(line));
        return;
    }
    line.push(b'\n');
    let kernel = worker.thread.kernel();
    let sent = match &target.address {
        LogAddress::Ring(_) => Ok(()),
        LogAddress::Udp(address) => kernel.datagram(&Address::Inet(*address), line),
        LogAddress::Unix(path) => kernel.datagram(&Address::Unix(path.clone()), line),
        LogAddress::Fd(number) => kernel.write(*number, line),
    };
    if let Err(error) = sent {
        worker.shared.dropped_logs.fetch_add(1, Relaxed);
        report_failure(worker, index, &error);
    }
}

/// Prints an alert about a target that cannot be reached, once per process, in HAProxy's words. A
/// target without room for a line is no cause.
#[cold]
fn report_failure(worker: &Worker, index: usize, error: &std::io::Error) {
    let full = error.kind() == std::io::ErrorKind::WouldBlock;
    if full || worker.shared.told_of_logs.swap(true, Relaxed) {
        return;
    }
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    let (logger, number) = (index + 1, error.raw_os_error().unwrap_or_default());
    let text = format!("sendmsg()/writev() failed in logger #{logger}: {words} (errno={number})");
    complain(worker, "[ALERT]", &text);
}

/// Writes a line to a sink by name, a ring or a standard stream, for messages outside any section.
/// A line without a sink is dropped. `false`: the sink has no room for it.
pub fn write_to_sink(worker: &Worker, sink: &str, text: &[u8]) -> bool {
    let mut line = worker.take_scratch();
    let ring = worker.shared.rings.iter().find(|ring| *ring.settings.name == *sink);
    let mut found_room = true;
    if let Some(ring) = ring {
        let head = (0, level::EMERG, ring.settings.transport);
        envelope(worker, &Logs::default(), head, b"-", &mut line);
        line.extend_from_slice(text);
        // The ring counts messages without room.
        found_room = ring.write(&line);
    } else if let Some(number) = ["stdout", "stderr"].iter().position(|stream| *stream == sink) {
        line.extend_from_slice(text);
        line.push(b'\n');
        found_room = worker.thread.kernel().write(number as i32 + 1, &line).is_ok();
        if !found_room {
            worker.shared.dropped_logs.fetch_add(1, Relaxed);
        }
    }
    worker.give_scratch(line);
    found_room
}

/// Writes a message to the standard error output, unless the process is quiet. A message without
/// room there is counted as a dropped log line.
pub fn complain(worker: &Worker, label: &str, text: &str) {
    let settings = &worker.shared.settings;
    if settings.quiet {
        return;
    }
    let line = format!("{label:10} ({}) : {text}\n", settings.pid);
    if worker.thread.kernel().write(2, line.as_bytes()).is_err() {
        worker.shared.dropped_logs.fetch_add(1, Relaxed);
    }
}

fn envelope(
    worker: &Worker,
    logs: &Logs,
    (facility, level, transport): (u8, u8, LogTransport),
    data: &[u8],
    line: &mut Vec<u8>,
) {
    let priority = u32::from(facility) * 8 + u32::from(level);
    let bracket = |number: u32, line: &mut Vec<u8>| {
        line.push(b'<');
        write_int(line, number.into());
        line.push(b'>');
    };
    match transport {
        LogTransport::Raw => {}
        LogTransport::Priority => bracket(priority, line),
        LogTransport::Short => bracket(level.into(), line),
        LogTransport::Timed => {
            bracket(level.into(), line);
            date_iso(worker, line);
            line.push(b' ');
        }
        LogTransport::Iso => {
            date_iso(worker, line);
            line.push(b' ');
        }
        LogTransport::Local | LogTransport::Rfc3164 => {
            bracket(priority, line);
            worker.local_date().write_syslog(line);
            if transport == LogTransport::Rfc3164 {
                line.push(b' ');
                let host = logs.hostname.as_deref().unwrap_or("localhost");
                line.extend_from_slice(host.as_bytes());
            }
            sender(worker, logs, line);
        }
        LogTransport::Rfc5424 => {
            bracket(priority, line);
            line.extend_from_slice(b"1 ");
            date_iso(worker, line);
            line.push(b' ');
            line.extend_from_slice(logs.hostname.as_deref().unwrap_or("-").as_bytes());
            if logs.tag.is_empty() {
                line.extend_from_slice(b" - - - ");
            } else {
                line.push(b' ');
                line.extend_from_slice(logs.tag.as_bytes());
                line.push(b' ');
                write_int(line, worker.shared.settings.pid.into());
                line.extend_from_slice(b" - ");
            }
            line.extend_from_slice(data);
            line.push(b' ');
        }
    }
}

/// ` tag[pid]: `, or a space without a tag.
fn sender(worker: &Worker, logs: &Logs, line: &mut Vec<u8>) {
    line.push(b' ');
    if logs.tag.is_empty() {
        return;
    }
    line.extend_from_slice(logs.tag.as_bytes());
    line.push(b'[');
    write_int(line, worker.shared.settings.pid.into());
    line.extend_from_slice(b"]: ");
}

pub(crate) fn date_iso(worker: &Worker, line: &mut Vec<u8>) {
    let micros = worker.thread.wall() / 1_000 % 1_000_000;
    worker.local_date().write_iso(micros as u32, line);
}
