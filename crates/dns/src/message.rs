//! The wire format (RFC 1035, RFC 2782, RFC 6891): encodes queries and decodes answers.

use domain::base::iana::{Class, Rcode};
use domain::base::{Message, MessageBuilder, Name, ParsedName, Rtype};
use domain::rdata::{A, Aaaa, Srv};
use std::net::IpAddr;
use std::str::FromStr;

/// Most records taken from one answer, and kept for one name.
pub(crate) const MAX_RECORDS: usize = 1_024;

/// Type of the records asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RecordType {
    /// IPv4 addresses (A).
    V4,
    /// IPv6 addresses (AAAA).
    V6,
    /// Hosts and ports of a service (SRV).
    Service,
}

impl RecordType {
    fn rtype(self) -> Rtype {
        match self {
            Self::V4 => Rtype::A,
            Self::V6 => Rtype::AAAA,
            Self::Service => Rtype::SRV,
        }
    }

    /// The other address family; `None` for SRV.
    pub fn other(self) -> Option<Self> {
        match self {
            Self::V4 => Some(Self::V6),
            Self::V6 => Some(Self::V4),
            Self::Service => None,
        }
    }

    /// Whether an address is of this family.
    pub fn has(self, address: IpAddr) -> bool {
        match self {
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
            Self::Service => false,
        }
    }
}

/// An SRV record (RFC 2782).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SrvRecord {
    /// Host name, in lower case, without the trailing dot.
    pub target: Box<str>,
    /// The port.
    pub port: u16,
    /// Weight among records of the same priority.
    pub weight: u16,
    /// Its address, if the answer's additional section has it.
    pub address: Option<IpAddr>,
}

/// A record of interest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// An address.
    Address(IpAddr),
    /// An SRV record.
    Service(SrvRecord),
}

/// A valid answer, with at least one record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Records in the order of the answer.
    pub records: Vec<Record>,
    /// The smallest TTL of them, in seconds.
    pub ttl: u32,
}

/// Reason why a name does not resolve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResolveError {
    /// NXDOMAIN.
    NoSuchName,
    /// REFUSED.
    Refused,
    /// The name has no records of this type.
    Empty,
    /// The name is an alias (CNAME), and the answer lacks records of its target.
    Alias,
    /// No answer in time.
    Timeout,
    /// Any other error code.
    Other,
}

/// Interpretation of a received message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// Not an answer to the query; one may still come.
    Foreign,
    /// A malformed message.
    Malformed,
    /// Truncated: the query has to be repeated over TCP.
    Truncated,
    /// An error code, or no record of use.
    Failed(ResolveError),
    /// The answer.
    Answer(Answer),
}

/// Whether a text is a valid name: labels of 1 to 63 bytes, 255 bytes in total.
pub fn is_name(text: &str) -> bool {
    parse(text).is_some()
}

fn parse(text: &str) -> Option<Name<Vec<u8>>> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.trim_matches('.').is_empty() || !text.bytes().all(plain) {
        return None;
    }
    Name::from_str(text).ok()
}

/// Encodes a query that announces answers of up to `payload` bytes; `None` for an invalid name.
pub fn encode(id: u16, name: &str, kind: RecordType, payload: u16) -> Option<Vec<u8>> {
    let mut question = MessageBuilder::new_vec().question();
    let header = question.header_mut();
    header.set_id(id);
    header.set_rd(true);
    question.push((parse(name)?, kind.rtype())).ok()?;
    let mut additional = question.additional();
    additional
        .opt(|opt| {
            opt.set_udp_payload_size(payload);
            Ok(())
        })
        .ok()?;
    Some(additional.finish())
}

/// The id of a message, by which it is matched with its query.
pub fn id(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().map(|id| u16::from_be_bytes(*id))
}

/// Decodes a message as the answer to the query with this id, name and type.
pub fn decode(bytes: &[u8], id: u16, name: &str, kind: RecordType) -> Reply {
    let Ok(message) = Message::from_octets(bytes) else { return Reply::Malformed };
    let header = message.header();
    if header.id() != id || !header.qr() {
        return Reply::Foreign;
    }
    match message.sole_question() {
        Ok(question)
            if question.qtype() == kind.rtype()
                && question.qclass() == Class::IN
                && *text(question.qname()) == *fold(name) => {}
        Ok(_) => return Reply::Foreign,
        // A name server that could not parse the query need not repeat it.
        Err(_) if header.rcode() != Rcode::NOERROR => {}
        Err(_) => return Reply::Malformed,
    }
    match header.rcode() {
        Rcode::NOERROR if header.tc() => Reply::Truncated,
        Rcode::NOERROR => records(&message, name, kind).unwrap_or(Reply::Malformed),
        Rcode::NXDOMAIN => Reply::Failed(ResolveError::NoSuchName),
        Rcode::REFUSED => Reply::Failed(ResolveError::Refused),
        _ => Reply::Failed(ResolveError::Other),
    }
}

type Wire<'a> = Message<&'a [u8]>;

/// The records of an answer; `None` if the message is malformed.
fn records(message: &Wire<'_>, name: &str, kind: RecordType) -> Option<Reply> {
    let counts = message.header_counts();
    if counts.ancount() == 0 {
        return Some(Reply::Failed(ResolveError::Empty));
    }
    // The whole answer section has to be well-formed, also records of no use here.
    for record in message.answer().ok()? {
        record.ok()?;
    }
    let owner = text(message.canonical_name()?);
    let mut found = match kind {
        RecordType::V4 | RecordType::V6 => addresses(message, kind, &owner)?,
        RecordType::Service => services(message, &owner)?,
    };
    found.0.truncate(MAX_RECORDS);
    let (records, ttl) = found;
    Some(match records.is_empty() {
        false => Reply::Answer(Answer { records, ttl }),
        true if *owner != *fold(name) => Reply::Failed(ResolveError::Alias),
        true => Reply::Failed(ResolveError::Empty),
    })
}

fn addresses(message: &Wire<'_>, kind: RecordType, owner: &str) -> Option<(Vec<Record>, u32)> {
    let (mut records, mut ttl) = (Vec::new(), u32::MAX);
    for record in message.answer().ok()? {
        let record = record.ok()?;
        if record.class() != Class::IN || *text(record.owner()) != *owner {
            continue;
        }
        let address = match kind {
            RecordType::V4 => record.to_record::<A>().ok()?.map(|it| IpAddr::V4(it.data().addr())),
            _ => record.to_record::<Aaaa>().ok()?.map(|it| IpAddr::V6(it.data().addr())),
        };
        if let Some(address) = address.map(Record::Address)
            && !records.contains(&address)
            && records.len() < MAX_RECORDS
        {
            ttl = ttl.min(record.ttl().as_secs());
            records.push(address);
        }
    }
    Some((records, ttl))
}

fn services(message: &Wire<'_>, owner: &str) -> Option<(Vec<Record>, u32)> {
    let extra = additional(message)?;
    let (mut records, mut ttl) = (Vec::new(), u32::MAX);
    for record in message.answer().ok()?.limit_to::<Srv<ParsedName<&[u8]>>>() {
        let record = record.ok()?;
        // A target of "." says that the service is not available (RFC 2782).
        let target = text(record.data().target());
        if *text(*record.owner()) != *owner || target.is_empty() || records.len() >= MAX_RECORDS {
            continue;
        }
        ttl = ttl.min(record.ttl().as_secs());
        let address = extra.iter().find(|(host, _)| *host == target).map(|(_, address)| *address);
        let (port, weight) = (record.data().port(), record.data().weight());
        records.push(Record::Service(SrvRecord { target, port, weight, address }));
    }
    Some((records, ttl))
}

/// Addresses of the additional section, by name.
fn additional(message: &Wire<'_>) -> Option<Vec<(Box<str>, IpAddr)>> {
    let mut found = Vec::new();
    for record in message.additional().ok()? {
        let record = record.ok()?;
        if found.len() >= MAX_RECORDS {
            break;
        }
        let address = match record.rtype() {
            Rtype::A => record.to_record::<A>().ok()?.map(|it| IpAddr::V4(it.data().addr())),
            Rtype::AAAA => record.to_record::<Aaaa>().ok()?.map(|it| IpAddr::V6(it.data().addr())),
            _ => None,
        };
        found.extend(address.map(|address| (text(record.owner()), address)));
    }
    Some(found)
}

/// A name in the form in which names are compared: lower case, without the trailing dot.
fn text(name: impl domain::base::ToName) -> Box<str> {
    let name = name.to_vec().to_string();
    fold(&name)
}

/// The same for a name in text form.
fn fold(name: &str) -> Box<str> {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase().into()
}

#[cfg(test)]
mod tests;
