//! Fetches that know the beginning of some protocols: length-prefixed blocks, RDP, distcc.

use super::Source::Call;
use super::{Fetch, REQUEST, RESPONSE, fetch};
use crate::args::{Arg, ArgError, Args};
use crate::context::ParseContext;
use crate::facts::{Facts, Side};
use crate::value::{Missing, Outcome, Type, Value};

/// Valid wherever a message is at hand.
const BOTH: &str = "..YYYYYYYYYYYYYYYY.Y..";

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("req.payload_lv", "integer,integer[,string]", Type::Bin, REQUEST, "A block of the request buffer behind its length: where, how many bytes, and where the block begins.", Call(req_lv)).prepare(lv).unparsed(),
    fetch("res.payload_lv", "integer,integer[,string]", Type::Bin, RESPONSE, "The same of the response buffer.", Call(res_lv)).prepare(lv).unparsed(),
    fetch("payload_lv", "integer,integer[,string]", Type::Bin, BOTH, "The same of the buffer at hand.", Call(any_lv)).prepare(lv).unparsed(),
    fetch("req.rdp_cookie", "[string]", Type::Str, REQUEST, "The cookie of an RDP connection request.", Call(rdp_cookie)).unparsed(),
    fetch("rdp_cookie", "[string]", Type::Str, REQUEST, "Same as req.rdp_cookie.", Call(rdp_cookie)).unparsed(),
    fetch("req.rdp_cookie_cnt", "[string]", Type::Int, REQUEST, "1 when there is such a cookie, else 0.", Call(rdp_count)).unparsed(),
    fetch("rdp_cookie_cnt", "[string]", Type::Int, REQUEST, "Same as req.rdp_cookie_cnt.", Call(rdp_count)).unparsed(),
    fetch("distcc_param", "string[,integer]", Type::Int, BOTH, "The parameter of a token of a distcc message.", Call(distcc_param)).prepare(token).unparsed(),
    fetch("distcc_body", "string[,integer]", Type::Bin, BOTH, "The body of a token of a distcc message.", Call(distcc_body)).prepare(token).unparsed(),
];

/// Bytes of the stream, and the meaning of a lack of bytes. A stream of messages has none.
pub(super) fn stream(facts: &dyn Facts, side: Side) -> Result<(&[u8], Missing), Missing> {
    let short = if facts.is_final() { Missing::Absent } else { Missing::NotYet };
    let none = if facts.carries_messages() { Missing::Absent } else { short };
    facts.payload(side).map(|bytes| (bytes, short)).ok_or(none)
}

/// The side at hand: the response once there is one.
fn current(facts: &dyn Facts) -> Side {
    if facts.payload(Side::Response).is_some_and(|bytes| !bytes.is_empty()) {
        Side::Response
    } else {
        Side::Request
    }
}

/// `offset1,length[,offset2]`; the second offset may be relative, with a sign, to the end of the
/// length.
fn lv(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let (at, len) = (args.int(0).unwrap_or(0), args.int(1).unwrap_or(0));
    if at < 0 {
        return Err(ArgError::Rule("payload offset1 must be positive"));
    }
    if !(1..=8).contains(&len) {
        return Err(ArgError::Rule("payload length must be between 1 and 8"));
    }
    let text = args.text(2);
    let end = at.saturating_add(len);
    let start = match text.parse::<i64>() {
        _ if text.is_empty() => end,
        Ok(offset) if text.starts_with(['+', '-']) => end.saturating_add(offset),
        Ok(offset) => offset,
        Err(_) => return Err(ArgError::Value(format!("'{text}' is not an offset"))),
    };
    if start < 0 {
        return Err(ArgError::Rule("payload offset2 is before the beginning of the buffer"));
    }
    args.0.truncate(2);
    args.0.push(Arg::Int(start));
    Ok(())
}

fn block<'e>(side: Side, args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (bytes, short) = stream(facts, side)?;
    let at = |index: usize| args.int(index).and_then(|int| usize::try_from(int).ok());
    let (from, len, start) = (at(0), at(1), at(2));
    let (Some(from), Some(len), Some(start)) = (from, len, start) else {
        return Err(Missing::Absent);
    };
    let prefix = bytes.get(from..from.saturating_add(len)).ok_or(short)?;
    let size = prefix.iter().fold(0usize, |size, byte| size << 8 | usize::from(*byte));
    if size == 0 {
        return Err(Missing::Absent);
    }
    bytes.get(start..start.saturating_add(size)).map(Value::bin).ok_or(short)
}

fn req_lv<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    block(Side::Request, args, facts)
}

fn res_lv<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    block(Side::Response, args, facts)
}

fn any_lv<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    block(current(facts), args, facts)
}

/// The bytes in front of the cookie: TPKT header, X.224 connection request.
const RDP_PREFIX: usize = 11;

/// The cookie of that name (in any case), or any (MS-RDPBCGR section 2.2.1.1).
fn rdp<'e>(args: &'e Args, facts: &'e dyn Facts) -> Result<&'e [u8], Missing> {
    let (bytes, short) = stream(facts, Side::Request)?;
    for (at, expected) in [(0, 3), (1, 0), (5, 0xe0)] {
        if *bytes.get(at).ok_or(short)? != expected {
            return Err(Missing::Absent);
        }
    }
    let total = usize::from(bytes[2]) << 8 | usize::from(bytes[3]);
    let request = bytes.get(RDP_PREFIX..total).ok_or(short)?;
    let cookie = request.strip_prefix(b"Cookie: ").ok_or(Missing::Absent)?;
    let end = memchr::memmem::find(cookie, b"\r\n").ok_or(Missing::Absent)?;
    let equals = memchr::memchr(b'=', &cookie[..end]).ok_or(Missing::Absent)?;
    let named = args.some_text(0);
    if named.is_some_and(|name| !cookie[..equals].eq_ignore_ascii_case(name.as_bytes())) {
        return Err(Missing::Absent);
    }
    Ok(&cookie[equals + 1..end])
}

fn rdp_cookie<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    rdp(args, facts).map(Value::str)
}

fn rdp_count<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    match rdp(args, facts) {
        Ok(_) => Ok(Value::Int(1)),
        Err(Missing::Absent) => Ok(Value::Int(0)),
        Err(not_yet) => Err(not_yet),
    }
}

/// Letters of a distcc token, and hexadecimal digits of its parameter.
const TOKEN: usize = 4;
const PARAMETER: usize = 8;

/// Tokens whose parameter is the length of a body.
const WITH_BODY: &[&[u8; TOKEN]] =
    &[b"ARGV", b"CDIR", b"DOTD", b"DOTI", b"DOTO", b"LINK", b"NAME", b"SERR", b"SOUT"];

fn token(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    if args.text(0).len() != TOKEN {
        return Err(ArgError::Rule("a distcc token has four letters"));
    }
    if args.int(1).is_some_and(|occurrence| occurrence < 0) {
        return Err(ArgError::Rule("the occurrence cannot be negative"));
    }
    Ok(())
}

/// The parameter of the token asked for, and the bytes behind it.
fn distcc<'e>(args: &'e Args, facts: &'e dyn Facts) -> Result<(usize, &'e [u8], Missing), Missing> {
    let (mut rest, short) = stream(facts, current(facts))?;
    let mut left = args.int(1).unwrap_or(0).max(1);
    loop {
        let (name, tail) = rest.split_at_checked(TOKEN).ok_or(short)?;
        let (digits, tail) = tail.split_at_checked(PARAMETER).ok_or(short)?;
        let digits = std::str::from_utf8(digits).map_err(|_| Missing::Absent)?;
        let parameter = usize::from_str_radix(digits, 16).map_err(|_| Missing::Absent)?;
        left -= i64::from(name == args.bytes(0));
        if left == 0 {
            return Ok((parameter, tail, short));
        }
        let has_body = WITH_BODY.iter().any(|known| *known == name);
        rest = tail.get(if has_body { parameter } else { 0 }..).ok_or(short)?;
    }
}

fn distcc_param<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    distcc(args, facts).map(|(parameter, ..)| Value::Int(parameter as i64))
}

fn distcc_body<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (len, tail, short) = distcc(args, facts)?;
    tail.get(..len).map(Value::bin).ok_or(short)
}
