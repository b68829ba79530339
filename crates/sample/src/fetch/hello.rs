//! Fetches of TLS hello messages in raw streams (RFC 8446 section 4.1, RFC 6066). Never decrypts: hellos are clear.

use super::Source::Call;
use super::{Fetch, REQUEST, RESPONSE, fetch};
use crate::args::Args;
use crate::facts::{Facts, Side};
use crate::value::{Missing, Outcome, Type, Value};

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
/// Bytes of a record's header, and of a handshake message's.
const HEADERS: usize = 5 + 4;
/// Extensions.
const SERVER_NAME: u16 = 0;
const SUPPORTED_GROUPS: u16 = 10;
const ALPN: u16 = 16;
const SESSION_TICKET: u16 = 35;

/// What remains of a message.
struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, len: usize) -> Option<usize> {
        Some(self.take(len)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// What stands behind its own length of `len` bytes.
    fn block(&mut self, len: usize) -> Option<Input<'b>> {
        let size = self.number(len)?;
        self.take(size).map(Input)
    }
}

fn stream(facts: &dyn Facts, side: Side) -> Result<(&[u8], Missing), Missing> {
    let short = if facts.is_final() { Missing::Absent } else { Missing::NotYet };
    facts.payload(side).map(|bytes| (bytes, short)).ok_or(Missing::Absent)
}

/// The body of the hello at the beginning of the stream.
fn hello<'e>(facts: &'e dyn Facts, side: Side, wanted: u8) -> Result<Input<'e>, Missing> {
    let (bytes, short) = stream(facts, side)?;
    let expected = [Some(HANDSHAKE), Some(3), None, None, None, Some(wanted)];
    for (at, expected) in expected.iter().enumerate() {
        let byte = bytes.get(at).ok_or(short)?;
        if expected.is_some_and(|expected| expected != *byte) {
            return Err(Missing::Absent);
        }
    }
    let mut message = Input(bytes.get(HEADERS - 3..).ok_or(short)?);
    let record = usize::from(bytes[3]) << 8 | usize::from(bytes[4]);
    let body = message.block(3).ok_or(short)?;
    // A hello that goes on in another record is not looked at.
    if body.0.len() + 4 > record { Err(Missing::Absent) } else { Ok(body) }
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
fn extension(facts: &dyn Facts, wanted: u16) -> Result<Option<&[u8]>, Missing> {
    let mut hello = hello(facts, Side::Request, CLIENT_HELLO)?;
    let mut find = || {
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
    };
    Ok(find())
}

fn sni<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let name = extension(facts, SERVER_NAME)?.and_then(|content| {
        let mut list = Input(content).block(2)?;
        // The only kind of name that there is has number 0.
        (list.number(1)? == 0).then(|| list.block(2)).flatten()
    });
    name.map(|name| Value::str(name.0)).ok_or(Missing::Absent)
}

fn alpn<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let content = extension(facts, ALPN)?.ok_or(Missing::Absent)?;
    let mut list = Input(content).block(2).ok_or(Missing::Absent)?;
    list.block(1).map(|protocol| Value::str(protocol.0)).ok_or(Missing::Absent)
}

fn curves<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(extension(facts, SUPPORTED_GROUPS)?.is_some()))
}

fn ticket<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Int(match extension(facts, SESSION_TICKET)? {
        None => 0,
        Some(b"") => 1,
        Some(_) => 2,
    }))
}

/// The version that a hello offers (RFC 5246 section 7.4.1.2): not that of its record, which is 3.1
/// with most clients, nor those of `supported_versions`, so that TLS 1.3 is 3.3. Nothing is said
/// before the whole record is there, as measured.
fn version<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (bytes, short) = stream(facts, Side::Request)?;
    let first = *bytes.first().ok_or(short)?;
    let version = match first {
        HANDSHAKE => {
            if *bytes.get(1).ok_or(short)? < 3 {
                return Err(Missing::Absent);
            }
            let record = Input(bytes.get(3..).ok_or(short)?).block(2).ok_or(short)?;
            // Behind the message's type and length.
            record.0.get(4..6)
        }
        first if first & 0x80 != 0 => {
            let mut stream = Input(bytes);
            let length = stream.number(2).ok_or(short)? & 0x7fff;
            old_version(stream.take(length).ok_or(short)?)
        }
        _ => None,
    };
    let version = version.ok_or(Missing::Absent)?;
    Ok(Value::Int(i64::from(version[0]) << 16 | i64::from(version[1])))
}

/// That of a hello of SSLv2 (RFC 5246 section E.2), whose three lengths must add up.
fn old_version(message: &[u8]) -> Option<&[u8]> {
    let mut hello = Input(message);
    let kind = hello.number(1)?;
    let version = hello.take(2)?;
    let (suites, session, challenge) = (hello.number(2)?, hello.number(2)?, hello.number(2)?);
    let fits = suites + session + challenge == hello.0.len();
    (kind == usize::from(CLIENT_HELLO) && fits).then_some(version)
}
