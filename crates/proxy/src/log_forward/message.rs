//! A received log message: its parts, and the same message in another envelope (RFC 3164, RFC
//! 5424).
//!
//! A message of neither format is plain text. As in HAProxy, the word behind the date of an RFC
//! 3164 message is always taken for the host: senders that leave the host out keep their tag in
//! that place.

use sample::calendar::{Date, MONTHS};
use sample::write_int;
use settings::LogTransport;

/// The placeholder of an empty part (RFC 5424 section 6.2).
const NONE: &[u8] = b"-";

/// Length of `Oct 11 22:14:15`.
const STAMP: usize = 15;

/// The parts of a message. Missing fields are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Message<'a> {
    /// Facility and level.
    pub(super) priority: Option<u32>,
    shape: Shape,
    stamp: &'a [u8],
    host: &'a [u8],
    tag: &'a [u8],
    pid: &'a [u8],
    id: &'a [u8],
    data: &'a [u8],
    /// The text behind the header.
    pub(super) text: &'a [u8],
}

/// The format of a received message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Shape {
    #[default]
    Text,
    Rfc3164,
    Rfc5424,
}

/// The format of an outgoing message.
pub(super) struct Envelope {
    pub(super) transport: LogTransport,
    pub(super) priority: u32,
    /// The date, and microseconds, for messages without one.
    pub(super) now: (Date, u32),
}

impl<'a> Message<'a> {
    /// Splits a message into its parts. A message with an octet count, or in a datagram, may
    /// contain line ends (RFC 6587 section 3.4.1).
    pub(super) fn parse(bytes: &'a [u8]) -> Self {
        let text = bytes.trim_ascii_end();
        let (priority, rest) = match priority(text) {
            Some((priority, rest)) => (Some(priority), rest),
            None => (None, text),
        };
        let found = rfc5424(rest).or_else(|| rfc3164(rest));
        Self { priority, ..found.unwrap_or(Message { text: rest, ..Message::default() }) }
    }

    /// Whether the message has neither a text nor a priority.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.priority.is_none()
    }

    /// The envelope of the received format, if the message has parts that need it.
    pub(super) fn kept(&self) -> Option<LogTransport> {
        match self.shape {
            Shape::Rfc3164 => Some(LogTransport::Rfc3164),
            Shape::Rfc5424 if self.host.is_empty() && self.tag.is_empty() => None,
            Shape::Rfc5424 => Some(LogTransport::Rfc5424),
            Shape::Text => None,
        }
    }

    /// Writes the header in front of the text.
    pub(super) fn write(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let priority = |number: u32, out: &mut Vec<u8>| {
            out.push(b'<');
            write_int(out, number.into());
            out.push(b'>');
        };
        match envelope.transport {
            LogTransport::Raw => {}
            LogTransport::Priority => priority(envelope.priority, out),
            LogTransport::Short => priority(envelope.priority & 7, out),
            LogTransport::Timed => {
                priority(envelope.priority & 7, out);
                self.iso_date(envelope, out);
                out.push(b' ');
            }
            LogTransport::Iso => {
                self.iso_date(envelope, out);
                out.push(b' ');
            }
            LogTransport::Local | LogTransport::Rfc3164 => {
                priority(envelope.priority, out);
                self.syslog_date(envelope, out);
                out.push(b' ');
                if envelope.transport == LogTransport::Rfc3164 {
                    let host = if self.host.is_empty() { b"localhost" } else { self.host };
                    out.extend_from_slice(host);
                    out.push(b' ');
                }
                self.sender(out);
            }
            LogTransport::Rfc5424 => {
                priority(envelope.priority, out);
                out.extend_from_slice(b"1 ");
                self.iso_date(envelope, out);
                for part in [self.host, self.tag, self.pid, self.id, self.data] {
                    out.push(b' ');
                    out.extend_from_slice(if part.is_empty() { b"-" } else { part });
                }
                out.push(b' ');
            }
        }
    }

    /// `tag[pid]: `
    fn sender(&self, out: &mut Vec<u8>) {
        if self.tag.is_empty() {
            return;
        }
        out.extend_from_slice(self.tag);
        if !self.pid.is_empty() {
            out.push(b'[');
            out.extend_from_slice(self.pid);
            out.push(b']');
        }
        out.extend_from_slice(b": ");
    }

    fn iso_date(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let (now, micros) = envelope.now;
        match self.shape {
            Shape::Rfc5424 if self.stamp == NONE && envelope.transport != LogTransport::Rfc5424 => {
                now.write_iso(micros, out);
            }
            Shape::Rfc5424 => out.extend_from_slice(self.stamp),
            Shape::Rfc3164 => {
                // The date of RFC 3164 has neither a year nor an offset.
                let month = MONTHS.iter().position(|name| self.stamp.starts_with(name.as_bytes()));
                let day = match self.stamp[4] {
                    b' ' => b'0',
                    digit => digit,
                };
                write_int(out, now.year);
                out.push(b'-');
                let month = month.map_or(1, |month| month + 1);
                out.extend_from_slice(&[b'0' + (month / 10) as u8, b'0' + (month % 10) as u8]);
                out.extend_from_slice(&[b'-', day, self.stamp[5], b'T']);
                out.extend_from_slice(&self.stamp[7..STAMP]);
                out.extend_from_slice(b"-00:00");
            }
            Shape::Text => now.write_iso(micros, out),
        }
    }

    fn syslog_date(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        match self.shape {
            Shape::Rfc3164 => out.extend_from_slice(self.stamp),
            Shape::Rfc5424 if is_iso(self.stamp) => {
                let digit = |at: usize| usize::from(self.stamp[at] - b'0');
                let month = (digit(5) * 10 + digit(6)).clamp(1, 12) - 1;
                out.extend_from_slice(MONTHS[month].as_bytes());
                let tens = if self.stamp[8] == b'0' { b' ' } else { self.stamp[8] };
                out.extend_from_slice(&[b' ', tens, self.stamp[9], b' ']);
                out.extend_from_slice(&self.stamp[11..19]);
            }
            _ => envelope.now.0.write_syslog(out),
        }
    }
}

/// `<134>`
fn priority(text: &[u8]) -> Option<(u32, &[u8])> {
    let rest = text.strip_prefix(b"<")?;
    let end = rest.iter().position(|byte| *byte == b'>').filter(|end| (1..=3).contains(end))?;
    let digits = std::str::from_utf8(&rest[..end]).ok()?;
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
    Some((number.flatten()?, &rest[end + 1..]))
}

/// `1 date host tag pid id data text`
fn rfc5424(text: &[u8]) -> Option<Message<'_>> {
    let rest = text.strip_prefix(b"1 ")?;
    let (stamp, rest) = word(rest)?;
    if !is_iso(stamp) && stamp != NONE {
        return None;
    }
    let (host, rest) = word(rest)?;
    let (tag, rest) = word(rest)?;
    let (pid, rest) = word(rest)?;
    let (id, rest) = word(rest)?;
    let end = structured(rest)?;
    let (data, rest) = rest.split_at(end);
    let text = rest.strip_prefix(b" ").unwrap_or(rest);
    let [host, tag, pid, id, data] =
        [host, tag, pid, id, data].map(|part| if part == NONE { b"" } else { part });
    let shape = Shape::Rfc5424;
    Some(Message { priority: None, shape, stamp, host, tag, pid, id, data, text })
}

/// `2003-10-11T22:14:15`, with any suffix.
fn is_iso(stamp: &[u8]) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, kind): (&u8, &u8)| match kind {
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    };
    stamp.len() >= shape.len() && stamp.iter().zip(shape).all(fits)
}

/// The length of structured data: `-`, or elements in brackets.
fn structured(text: &[u8]) -> Option<usize> {
    if text.first() == Some(&b'-') {
        return Some(1);
    }
    let (mut at, mut quoted) = (0, false);
    while text.get(at) == Some(&b'[') {
        loop {
            at += 1;
            match text.get(at)? {
                b'\\' if quoted => at += 1,
                b'"' => quoted = !quoted,
                b']' if !quoted => break,
                _ => {}
            }
        }
        at += 1;
    }
    (at > 0).then_some(at)
}

/// `Oct 11 22:14:15 host tag[pid]: text`
fn rfc3164(text: &[u8]) -> Option<Message<'_>> {
    let (stamp, rest) = text.split_at_checked(STAMP)?;
    let rest = rest.strip_prefix(b" ")?;
    if !is_syslog(stamp) {
        return None;
    }
    let shape = Shape::Rfc3164;
    let Some((host, rest)) = word(rest) else {
        return Some(Message { shape, stamp, text: rest, ..Message::default() });
    };
    let message = Message { shape, stamp, host, text: rest, ..Message::default() };
    let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    let Some(sender) = rest[..end].strip_suffix(b":") else { return Some(message) };
    let text = rest.get(end + 1..).unwrap_or_default();
    match sender.iter().position(|byte| *byte == b'[') {
        Some(open) if sender.ends_with(b"]") => {
            let (tag, pid) = (&sender[..open], &sender[open + 1..sender.len() - 1]);
            Some(Message { tag, pid, text, ..message })
        }
        _ => Some(Message { tag: sender, text, ..message }),
    }
}

/// `Oct 11 22:14:15`, the day perhaps after a space.
fn is_syslog(stamp: &[u8]) -> bool {
    let shape = b"    d dd:dd:dd";
    let month = MONTHS.iter().any(|name| stamp.starts_with(name.as_bytes()));
    let fits = |(byte, kind): (&u8, &u8)| match kind {
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    };
    let tens = stamp.get(4).is_some_and(|byte| *byte == b' ' || byte.is_ascii_digit());
    let rest = stamp.iter().skip(5).zip(shape.iter().skip(4)).all(fits);
    month && tens && stamp.get(3) == Some(&b' ') && stamp.len() == STAMP && rest
}

/// The word up to the next space, and the rest.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b' ').filter(|end| *end > 0)?;
    Some((&text[..end], &text[end + 1..]))
}
