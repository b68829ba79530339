//! Log lines on their way out: filter, envelope, datagram. Never waits, and never formats what a line says.
//!
//! Envelopes are those of the manual's `log` keyword (section 4.2); every message ends with a
//! newline.

use crate::settings::{LogAddress, LogSample, LogTarget, LogTransport, Logs};
use crate::worker::Worker;
use reactor::Address;
use std::fmt::Write as _;
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

/// Sends one message to all targets that want it.
pub fn send(worker: &Worker, logs: &Logs, level: u8, message: &[u8]) {
    send_structured(worker, logs, level, b"-", message);
}

/// As [`send`], with the structured data that RFC 5424 envelopes carry (`-` for none).
pub fn send_structured(worker: &Worker, logs: &Logs, level: u8, data: &[u8], message: &[u8]) {
    for target in logs.targets.iter().filter(|target| level <= target.level) {
        if target.sample.as_ref().is_some_and(|sample| !sample.takes_next()) {
            continue;
        }
        let mut line = worker.take_scratch();
        envelope(worker, logs, target, level.max(target.min_level), data, &mut line);
        let text = message.split(|byte| *byte == b'\n' || *byte == 0).next().unwrap_or(message);
        let room = target.max_len.saturating_sub(1).saturating_sub(line.len());
        line.extend_from_slice(&text[..text.len().min(room)]);
        line.push(b'\n');
        deliver(worker, target, &line);
        worker.give_scratch(line);
    }
}

fn deliver(worker: &Worker, target: &LogTarget, line: &[u8]) {
    let kernel = worker.thread.kernel();
    let sent = match &target.address {
        LogAddress::Udp(address) => kernel.datagram(&Address::Inet(*address), line),
        LogAddress::Unix(path) => kernel.datagram(&Address::Unix(path.clone()), line),
        LogAddress::Fd(number) => kernel.write(*number, line).map(drop),
    };
    if sent.is_err() {
        worker.shared.dropped_logs.fetch_add(1, Relaxed);
    }
}

impl LogSample {
    /// Whether the next message is one that the target gets.
    fn takes_next(&self) -> bool {
        let number = self.seen.fetch_add(1, Relaxed) % self.size.max(1) + 1;
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&number))
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn envelope(
    worker: &Worker,
    logs: &Logs,
    target: &LogTarget,
    level: u8,
    data: &[u8],
    line: &mut Vec<u8>,
) {
    let mut text = String::with_capacity(96);
    let priority = u32::from(target.facility) * 8 + u32::from(level);
    let (tag, pid) = (&logs.tag, worker.shared.settings.pid);
    let host = logs.hostname.as_deref();
    // Writing to a string cannot fail.
    let _ = match target.transport {
        LogTransport::Raw => Ok(()),
        LogTransport::Priority => write!(text, "<{priority}>"),
        LogTransport::Short => write!(text, "<{level}>"),
        LogTransport::Timed => write!(text, "<{level}>{} ", date_iso(worker)),
        LogTransport::Iso => write!(text, "{} {tag}[{pid}]: ", date_iso(worker)),
        LogTransport::Local => write!(text, "<{priority}>{} {tag}[{pid}]: ", date_short(worker)),
        LogTransport::Rfc3164 => {
            let host = host.map(|host| format!(" {host}")).unwrap_or_default();
            write!(text, "<{priority}>{}{host} {tag}[{pid}]: ", date_short(worker))
        }
        LogTransport::Rfc5424 => {
            let host = host.unwrap_or(&worker.shared.settings.hostname);
            let date = date_iso(worker);
            write!(text, "<{priority}>1 {date} {host} {tag} {pid} - ")
        }
    };
    line.extend_from_slice(text.as_bytes());
    if target.transport == LogTransport::Rfc5424 {
        line.extend_from_slice(data);
        line.push(b' ');
    }
}

/// `Nov 21 11:20:33`, local time.
fn date_short(worker: &Worker) -> String {
    let t = worker.local_date();
    let month = MONTHS[t.month.min(11)];
    format!("{month} {:2} {:02}:{:02}:{:02}", t.day, t.hour, t.minute, t.second)
}

/// `2026-11-21T11:20:33.123456+01:00`.
fn date_iso(worker: &Worker) -> String {
    let t = worker.local_date();
    let micros = worker.thread.wall() / 1_000 % 1_000_000;
    let (sign, offset) = if t.offset < 0 { ('-', -t.offset) } else { ('+', t.offset) };
    format!(
        "{}-{:02}-{:02}T{:02}:{:02}:{:02}.{micros:06}{sign}{:02}:{:02}",
        t.year,
        t.month + 1,
        t.day,
        t.hour,
        t.minute,
        t.second,
        offset / 3600,
        offset / 60 % 60
    )
}
