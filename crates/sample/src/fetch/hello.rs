//! Fetches of TLS hello messages in raw streams (RFC 8446 section 4.1, RFC 6066).

use super::Source::Call;
use super::{Fetch, REQUEST, RESPONSE, fetch};
use crate::args::Args;
use crate::facts::{Facts, Side};
use crate::value::{Missing, Outcome, Type, Value};
use std::borrow::Cow;

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("req.ssl_hello_type", "", Type::Int, REQUEST, "Type of the TLS hello that the client sent: 1.", Call(req_type)).unparsed(),
    fetch("req_ssl_hello_type", "", Type::Int, REQUEST, "Same as req.ssl_hello_type.", Call(req_type)).unparsed(),
    fetch("req.ssl_sni", "", Type::Str, REQUEST, "Server name in the client's hello.", Call(sni)).unparsed(),
    fetch("req_ssl_sni", "", Type::Str, REQUEST, "Same as req.ssl_sni.", Call(sni)).unparsed(),
    fetch("req.ssl_ver", "", Type::Int, REQUEST, "TLS version that the client's hello offers: 65536 times major, plus minor; 3.3 is TLS 1.2 and 1.3.", Call(version)).unparsed(),
    fetch("req_ssl_ver", "", Type::Int, REQUEST, "Same as req.ssl_ver.", Call(version)).unparsed(),
    fetch("req.ssl_alpn", "", Type::Str, REQUEST, "Protocol that the client's hello prefers: the first of those that it offers (as measured; the manual says all).", Call(alpn)).unparsed(),
    fetch("req.ssl_ec_ext", "", Type::Bool, REQUEST, "Whether the client's hello names elliptic curves.", Call(curves)).unparsed(),
    fetch("req.ssl_st_ext", "", Type::Int, REQUEST, "0 without a session ticket extension, 1 with an empty one, 2 with a ticket.", Call(ticket)).unparsed(),
    fetch("res.ssl_hello_type", "", Type::Int, RESPONSE, "Type of the TLS hello that the server sent: 2.", Call(res_type)).unparsed(),
    fetch("rep_ssl_hello_type", "", Type::Int, RESPONSE, "Same as res.ssl_hello_type.", Call(res_type)).unparsed(),
];

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// Bytes of the header of a handshake message.
const MESSAGE_HEADER: usize = 4;
/// Extensions.
const SERVER_NAME: u16 = 0;
const SUPPORTED_GROUPS: u16 = 10;
const ALPN: u16 = 16;
const SESSION_TICKET: u16 = 35;

/// The unread rest of a message.
struct HelloReader<'b>(&'b [u8]);

impl<'b> HelloReader<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, len: usize) -> Option<usize> {
        Some(self.take(len)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// The bytes behind a length field of `len` bytes.
    fn block(&mut self, len: usize) -> Option<HelloReader<'b>> {
        let size = self.number(len)?;
        self.take(size).map(HelloReader)
    }
}

fn stream(facts: &dyn Facts, side: Side) -> Result<(&[u8], Missing), Missing> {
    let short = if facts.is_final() { Missing::Absent } else { Missing::NotYet };
    facts.payload(side).map(|bytes| (bytes, short)).ok_or(Missing::Absent)
}

/// The part `find` returns, borrowed from the buffer or, where records were joined, owned.
fn part<'e>(
    whole: Cow<'e, [u8]>,
    find: impl for<'b> Fn(&'b [u8]) -> Option<&'b [u8]>,
) -> Option<Cow<'e, [u8]>> {
    match whole {
        Cow::Borrowed(bytes) => find(bytes).map(Cow::Borrowed),
        Cow::Owned(bytes) => find(&bytes).map(|found| Cow::Owned(found.to_vec())),
    }
}

/// Takes the received content of a handshake record off the front of a stream; returns whether it
/// is complete.
fn record<'b>(stream: &mut HelloReader<'b>, short: Missing) -> Result<(&'b [u8], bool), Missing> {
    let expected = [HANDSHAKE, 3];
    for (at, expected) in expected.iter().enumerate() {
        if stream.0.get(at).ok_or(short)? != expected {
            return Err(Missing::Absent);
        }
    }
    let mut rest = HelloReader(stream.0.get(3..).ok_or(short)?);
    let length = rest.number(2).ok_or(short)?;
    // Messages may not be cut into records of nothing (RFC 8446 section 5.1).
    if length == 0 {
        return Err(Missing::Absent);
    }
    let content = &rest.0[..length.min(rest.0.len())];
    stream.0 = &rest.0[content.len()..];
    Ok((content, content.len() == length))
}

/// The beginning of the first message of a stream, from its type on: what is there of its first
/// record, or, where that is not enough bytes, of as many as it takes (RFC 8446 section 5.1).
fn beginning<'e>(
    stream: &mut HelloReader<'e>,
    (wanted, enough): (u8, impl Fn(&[u8]) -> Option<usize>),
    short: Missing,
) -> Result<Cow<'e, [u8]>, Missing> {
    let mut message = Cow::Borrowed(&[][..]);
    loop {
        let (content, whole) = record(stream, short)?;
        match message.is_empty() {
            true => message = Cow::Borrowed(content),
            false => message.to_mut().extend_from_slice(content),
        }
        if message.first().is_some_and(|kind| *kind != wanted) {
            return Err(Missing::Absent);
        }
        if enough(&message).is_some_and(|enough| message.len() >= enough) {
            return Ok(message);
        }
        if !whole {
            return Err(short);
        }
    }
}

/// The body of the hello at the beginning of the stream. A hello may span several records; its size
/// is bounded by the buffer that contains it.
fn hello<'e>(facts: &'e dyn Facts, side: Side, wanted: u8) -> Result<Cow<'e, [u8]>, Missing> {
    let (bytes, short) = stream(facts, side)?;
    let enough = |message: &[u8]| Some(MESSAGE_HEADER + HelloReader(message.get(1..)?).number(3)?);
    let message = beginning(&mut HelloReader(bytes), (wanted, enough), short)?;
    part(message, |message| HelloReader(message.get(1..)?).block(3).map(|body| body.0)).ok_or(short)
}

fn kind<'e>(facts: &'e dyn Facts, side: Side, wanted: u8) -> Outcome<'e> {
    hello(facts, side, wanted).map(|_| Value::Int(wanted.into()))
}

fn req_type<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    kind(facts, Side::Request, CLIENT_HELLO)
}

fn res_type<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    kind(facts, Side::Response, SERVER_HELLO)
}

/// The content of an extension of the client's hello.
fn extension(facts: &dyn Facts, wanted: u16) -> Result<Option<Cow<'_, [u8]>>, Missing> {
    let hello = hello(facts, Side::Request, CLIENT_HELLO)?;
    Ok(part(hello, |hello| find_extension(hello, wanted)))
}

fn find_extension(hello: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut hello = HelloReader(hello);
    // Version and random, session id, cipher suites, compression methods.
    hello.take(2 + 32)?;
    hello.block(1)?;
    hello.block(2)?;
    hello.block(1)?;
    let mut extensions = hello.block(2)?;
    while !extensions.0.is_empty() {
        let (id, content) = (extensions.number(2)?, extensions.block(2)?);
        if id == usize::from(wanted) {
            return Some(content.0);
        }
    }
    None
}

fn text(found: Cow<'_, [u8]>) -> Value<'_> {
    match found {
        Cow::Borrowed(bytes) => Value::str(bytes),
        Cow::Owned(bytes) => Value::Str(bytes.into()),
    }
}

fn sni<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let content = extension(facts, SERVER_NAME)?.ok_or(Missing::Absent)?;
    let name = part(content, |content| {
        let mut list = HelloReader(content).block(2)?;
        // Number 0 is the only kind of name that is defined (RFC 6066 section 3).
        let name = (list.number(1)? == 0).then(|| list.block(2)).flatten();
        name.map(|name| name.0)
    });
    name.map(text).ok_or(Missing::Absent)
}

fn alpn<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let content = extension(facts, ALPN)?.ok_or(Missing::Absent)?;
    let first = part(content, |content| HelloReader(content).block(2)?.block(1).map(|it| it.0));
    first.map(text).ok_or(Missing::Absent)
}

fn curves<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(extension(facts, SUPPORTED_GROUPS)?.is_some()))
}

fn ticket<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Int(match extension(facts, SESSION_TICKET)?.as_deref() {
        None => 0,
        Some(b"") => 1,
        Some(_) => 2,
    }))
}

/// The version that a hello offers (RFC 5246 section 7.4.1.2): not that of its record, which is 3.1
/// with most clients, nor those of `supported_versions`, so that TLS 1.3 is 3.3. As measured, there
/// is no value before the whole hello has arrived, in one record or in several.
fn version<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (bytes, short) = stream(facts, Side::Request)?;
    let first = *bytes.first().ok_or(short)?;
    let version = match first {
        HANDSHAKE => {
            if *bytes.get(1).ok_or(short)? < 3 {
                return Err(Missing::Absent);
            }
            return version_of_records(bytes, short);
        }
        first if first & 0x80 != 0 => {
            let mut stream = HelloReader(bytes);
            let length = stream.number(2).ok_or(short)? & 0x7fff;
            old_version(stream.take(length).ok_or(short)?)
        }
        _ => None,
    };
    version.map(number_of_version).ok_or(Missing::Absent)
}

/// The version in a hello behind the type and length of its message.
fn version_of_records(bytes: &[u8], short: Missing) -> Outcome<'_> {
    let (mut stream, mut message, mut count) = (HelloReader(bytes), [0; MESSAGE_HEADER + 2], 0);
    while count < message.len() {
        let (content, whole) = record(&mut stream, short)?;
        if !whole {
            return Err(short);
        }
        let taken = content.len().min(message.len() - count);
        message[count..count + taken].copy_from_slice(&content[..taken]);
        count += taken;
    }
    Ok(number_of_version(&message[MESSAGE_HEADER..]))
}

fn number_of_version(version: &[u8]) -> Value<'static> {
    Value::Int(i64::from(version[0]) << 16 | i64::from(version[1]))
}

/// That of a hello of SSLv2 (RFC 5246 section E.2), whose three lengths must add up.
fn old_version(message: &[u8]) -> Option<&[u8]> {
    let mut hello = HelloReader(message);
    let kind = hello.number(1)?;
    let version = hello.take(2)?;
    let (suites, session, challenge) = (hello.number(2)?, hello.number(2)?, hello.number(2)?);
    let fits = suites + session + challenge == hello.0.len();
    (kind == usize::from(CLIENT_HELLO) && fits).then_some(version)
}
