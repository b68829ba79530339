//! Fetches of buffered bytes: bodies of messages and raw TCP payload.

use super::Source::Call;
use super::htx;
use super::request::request;
use super::stream::stream;
use super::{Fetch, REQUEST, RESPONSE, fetch};
use crate::args::Args;
use crate::facts::{Facts, Side};
use crate::value::{Bytes, Missing, Outcome, Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("req.body", "", Type::Bin, REQUEST, "The part of the request's body that is buffered.", Call(req_body)),
    fetch("req.body_len", "", Type::Int, REQUEST, "Its length in bytes.", Call(req_body_len)),
    fetch("req.body_size", "", Type::Int, REQUEST, "The announced length of the request's body.", Call(req_body_size)),
    fetch("req.body_param", "[string]", Type::Bin, REQUEST, "A parameter of a form in the request's body.", Call(body_param)),
    fetch("req.len", "", Type::Int, REQUEST, "Number of bytes in the request buffer.", Call(req_len)),
    fetch("req_len", "", Type::Int, REQUEST, "Same as req.len.", Call(req_len)),
    fetch("req.payload", "integer,integer", Type::Bin, REQUEST, "A part of the request buffer: offset and length, 0 for all.", Call(req_payload)).unparsed(),
    fetch("payload", "integer,integer", Type::Bin, REQUEST, "Same as req.payload.", Call(req_payload)).unparsed(),
    fetch("res.body", "", Type::Bin, RESPONSE, "The part of the response's body that is buffered.", Call(res_body)),
    fetch("res.body_len", "", Type::Int, RESPONSE, "Its length in bytes.", Call(res_body_len)),
    fetch("res.body_size", "", Type::Int, RESPONSE, "The announced length of the response's body.", Call(res_body_size)),
    fetch("res.len", "", Type::Int, RESPONSE, "Number of bytes in the response buffer.", Call(res_len)),
    fetch("res.payload", "integer,integer", Type::Bin, RESPONSE, "A part of the response buffer.", Call(res_payload)).unparsed(),
];

fn body<'e>(side: Side, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.body(side).map(Value::bin).ok_or(Missing::Absent)
}

fn body_len<'e>(side: Side, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.body(side).map(|bytes| Value::Int(bytes.len() as i64)).ok_or(Missing::Absent)
}

fn body_size<'e>(side: Side, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.body_size(side).map(|size| Value::Int(size as i64)).ok_or(Missing::Absent)
}

fn req_body<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    request(facts)?;
    body(Side::Request, facts)
}

/// A request without buffered content.
fn nothing<'e>(facts: &'e dyn Facts) -> Outcome<'e> {
    request(facts).map(|_| Value::Int(0))
}

fn req_body_len<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    body_len(Side::Request, facts).or_else(|_| nothing(facts))
}

fn req_body_size<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    body_size(Side::Request, facts).or_else(|_| nothing(facts))
}

fn res_body<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    body(Side::Response, facts)
}

fn res_body_len<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    body_len(Side::Response, facts)
}

fn res_body_size<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    body_size(Side::Response, facts)
}

fn body_param<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let body = facts.body(Side::Request).ok_or(Missing::Absent)?;
    let name = args.some_text(0);
    body.split(|byte| matches!(byte, b'&' | b';'))
        .filter_map(|pair| {
            let equals = memchr::memchr(b'=', pair)?;
            Some((&pair[..equals], &pair[equals + 1..]))
        })
        .find(|(found, _)| name.is_none_or(|name| *found == name.as_bytes()))
        .map(|(_, value)| Value::bin(value))
        .ok_or(Missing::Absent)
}

/// The number of available bytes: of the raw stream, else of the parsed body.
fn len<'e>(side: Side, facts: &'e dyn Facts) -> Outcome<'e> {
    let raw = facts.payload(side).map(<[u8]>::len);
    match raw.or_else(|| htx::message_len(side, facts)) {
        Some(len) if len > 0 || facts.is_final() => Ok(Value::Int(len as i64)),
        None if facts.is_final() => Err(Missing::Absent),
        _ => Err(Missing::NotYet),
    }
}

fn req_len<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    len(Side::Request, facts)
}

fn res_len<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    len(Side::Response, facts)
}

/// A part of the raw stream, and nothing in HTTP mode. An incomplete part may still fill up.
fn payload<'e>(side: Side, args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (bytes, short) = stream(facts, side)?;
    let offset = usize::try_from(args.int(0).unwrap_or(0)).map_err(|_| Missing::Absent)?;
    let len = usize::try_from(args.int(1).unwrap_or(0)).map_err(|_| Missing::Absent)?;
    let rest = bytes.get(offset..).ok_or(short)?;
    if len == 0 {
        // All bytes of the stream: the received ones are returned, and the sample is complete once
        // no more can arrive.
        return if rest.is_empty() { Err(short) } else { Ok(Value::Bin(Bytes::Borrowed(rest))) };
    }
    rest.get(..len).map(Value::bin).ok_or(short)
}

fn req_payload<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    payload(Side::Request, args, facts)
}

fn res_payload<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    payload(Side::Response, args, facts)
}
