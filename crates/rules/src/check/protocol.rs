//! Answers of protocols whose frames have lengths: MySQL, LDAP, SPOP.

use super::expect::Status;

/// The expected answer of a server that speaks a well-known protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// MySQL: the greeting, which names the version.
    MysqlGreeting,
    /// MySQL: the answer to the authentication, behind the greeting.
    MysqlResult,
    /// LDAP: the answer to a bind.
    LdapBind,
    /// SPOP: the agent's HELLO.
    SpopHello,
}

/// The result of matching an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finding {
    More,
    Passed(Option<Vec<u8>>),
    Failed { status: Status, code: Option<u32>, info: Vec<u8> },
}

impl Protocol {
    /// Parses the received bytes; `ended` if no more can follow.
    pub(super) fn look(self, bytes: &[u8], ended: bool) -> Finding {
        let found = match self {
            Self::MysqlGreeting => mysql(bytes, greeting),
            Self::MysqlResult => {
                packet(bytes).and_then(|(_, rest)| mysql(rest, |_| Finding::Passed(None)))
            }
            Self::LdapBind => ldap(bytes),
            Self::SpopHello => spop(bytes),
        };
        match found {
            None if ended => invalid(""),
            found => found.unwrap_or(Finding::More),
        }
    }
}

fn invalid(info: &str) -> Finding {
    Finding::Failed { status: Status::L7Response, code: None, info: info.into() }
}

/// One packet of MySQL: three bytes of length, a number, the payload; and what follows.
fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let [a, b, c, _] = *bytes.first_chunk::<4>()?;
    let len = u32::from_le_bytes([a, b, c, 0]) as usize;
    bytes[4..].split_at_checked(len)
}

fn mysql(bytes: &[u8], judge: fn(&[u8]) -> Finding) -> Option<Finding> {
    Some(match packet(bytes)?.0 {
        [] => invalid(""),
        [0xff, low, high, text @ ..] => {
            // A marker and five letters of the SQL state, if the server is that new.
            let text = if let [b'#', _, _, _, _, _, text @ ..] = text { text } else { text };
            let code = Some(u32::from(u16::from_le_bytes([*low, *high])));
            Finding::Failed { status: Status::L7Status, code, info: text.to_vec() }
        }
        [0xff, ..] => invalid(""),
        payload => judge(payload),
    })
}

/// The protocol's number, and the version as text.
fn greeting(payload: &[u8]) -> Finding {
    let version = payload.get(1..).unwrap_or_default();
    let version = version.split(|byte| *byte == 0).next().unwrap_or_default();
    Finding::Passed(Some(version.to_vec()))
}

/// A length in BER and what follows it.
fn ber(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes {
        [short @ 0..0x80, rest @ ..] => Some((usize::from(*short), rest)),
        [long, rest @ ..] => {
            let count = usize::from(long & 0x7f);
            let digits = rest.get(..count).filter(|_| count <= 4)?;
            let len = digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit));
            Some((len, &rest[count..]))
        }
        [] => None,
    }
}

/// A sequence: message 1, then a bind response whose first element is the result.
fn ldap(bytes: &[u8]) -> Option<Finding> {
    if bytes[0] != 0x30 {
        return Some(invalid("Not LDAPv3 protocol"));
    }
    let (len, rest) = ber(&bytes[1..])?;
    let message = rest.get(..len)?;
    let response = message.strip_prefix(&[2, 1, 1, 0x61]);
    let result = response.and_then(|response| ber(response));
    Some(match result.map(|(_, result)| result) {
        Some([10, 1, 0, ..]) => Finding::Passed(Some(b"Success".to_vec())),
        Some([10, 1, code, ..]) => Finding::Failed {
            status: Status::L7Status,
            code: Some(u32::from(*code)),
            info: b"See RFC: http://tools.ietf.org/html/rfc4511#section-4.1.9".to_vec(),
        },
        _ => invalid("Not LDAPv3 protocol"),
    })
}

/// SPOP frames: AGENT-HELLO, and the bit of the last fragment.
const AGENT_HELLO: u8 = 101;
const AGENT_DISCONNECT: u8 = 102;

/// A frame: its length, a type, flags, two identifiers, then names and values.
fn spop(bytes: &[u8]) -> Option<Finding> {
    let len = u32::from_be_bytes(*bytes.first_chunk::<4>()?) as usize;
    // The shortest one has a type, flags and two identifiers.
    if len < 7 {
        return Some(invalid("invalid frame received"));
    }
    let frame = bytes.get(4..4 + len)?;
    let (kind, flags) = (frame[0], frame[4]);
    Some(match (kind, flags & 1) {
        (AGENT_HELLO, 0) => invalid("fragmentation not supported"),
        (AGENT_HELLO, _) => agent_hello(&frame[5..]),
        (AGENT_DISCONNECT, _) => invalid("disconnected by peer"),
        _ => invalid("invalid frame received"),
    })
}

/// Two identifiers, then names with their values; the version has to be among them.
fn agent_hello(bytes: &[u8]) -> Finding {
    let mut at = 2;
    let mut version = None;
    while at < bytes.len() {
        let Some((name, after)) = text(bytes, at) else { return invalid("invalid frame received") };
        let Some(end) = value_end(bytes, after) else { return invalid("invalid frame received") };
        if name == b"version" {
            version = text(bytes, after + 1).map(|(version, _)| version.trim_ascii());
        }
        at = end;
    }
    match version {
        Some(b"1.0") | None => invalid("unsupported version"),
        Some(version) if version.starts_with(b"2.") => {
            Finding::Passed(Some(b"SPOA server is ok".to_vec()))
        }
        Some(_) => invalid("unsupported version"),
    }
}

/// A length and as many bytes, from `at` on; and where they end.
fn text(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (len, from) = varint(bytes, at)?;
    let to = from.checked_add(usize::try_from(len).ok()?)?;
    Some((bytes.get(from..to)?, to))
}

/// Where the typed value at `at` ends.
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? & 15 {
        0 | 1 => Some(at + 1),
        2..=5 => varint(bytes, at + 1).map(|(_, end)| end),
        6 => Some(at + 5).filter(|end| *end <= bytes.len()),
        7 => Some(at + 17).filter(|end| *end <= bytes.len()),
        8 | 9 => text(bytes, at + 1).map(|(_, end)| end),
        _ => None,
    }
}

/// SPOP's numbers of variable length.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = u64::from(*bytes.get(at)?);
    if first < 240 {
        return Some((first, at + 1));
    }
    let (mut number, mut shift, mut at) = (first, 4, at + 1);
    loop {
        let next = u64::from(*bytes.get(at)?);
        number = number.checked_add(next.checked_shl(shift)?)?;
        at += 1;
        if next < 128 {
            return Some((number, at));
        }
        shift += 7;
        if shift > 56 {
            return None;
        }
    }
}
