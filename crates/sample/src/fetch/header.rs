//! Fetches of header fields, whole (`fhdr`) or split at commas (`hdr`).

use super::Source::Call;
use super::request::request;
use super::{Fetch, REQUEST, RESPONSE, fetch};
use crate::args::{ArgError, Args};
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::header_value::{trim, values};
use crate::value::{Bytes, Missing, Outcome, Type, Value};
use htx::Head;
use std::net::IpAddr;
use stdx::varint;

/// Fetches that look into responses and requests alike; listed among request fetches by HAProxy.
const HDR: &str = "..YYYYYYYYYYYYYYYY.Y..";

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("hdr", "[string,integer]", Type::Str, HDR, "A comma-separated value of a header of the message at hand.", Call(hdr)).prepare(name).each(each_hdr),
    fetch("hdr_cnt", "[string]", Type::Int, REQUEST, "Number of values of a request header.", Call(req_hdr_cnt)).prepare(name),
    fetch("hdr_ip", "[string,integer]", Type::Ipv4, REQUEST, "A value of a request header as an address.", Call(req_hdr_ip)).prepare(name).each(each_req_hdr_ip),
    fetch("hdr_val", "[string,integer]", Type::Int, REQUEST, "A value of a request header as an integer.", Call(req_hdr_val)).prepare(name).each(each_req_hdr_val),
    fetch("req.hdr", "[string,integer]", Type::Str, REQUEST, "A comma-separated value of a request header.", Call(req_hdr)).prepare(name).each(each_req_hdr).pure(),
    fetch("req.hdr_cnt", "[string]", Type::Int, REQUEST, "Number of values of a request header.", Call(req_hdr_cnt)).prepare(name),
    fetch("req.hdr_ip", "[string,integer]", Type::Ipv4, REQUEST, "A value of a request header as an address.", Call(req_hdr_ip)).prepare(name).each(each_req_hdr_ip),
    fetch("req.hdr_val", "[string,integer]", Type::Int, REQUEST, "A value of a request header as an integer.", Call(req_hdr_val)).prepare(name).each(each_req_hdr_val),
    fetch("req.hdr_names", "[string]", Type::Str, REQUEST, "The names of the request's headers.", Call(req_names)),
    fetch("req.hdrs", "", Type::Bin, REQUEST, "All the request's headers with the empty line behind them.", Call(req_hdrs)),
    fetch("req.hdrs_bin", "", Type::Bin, REQUEST, "The request's headers, each part behind its length.", Call(|_, f| binary(request(f)?))),
    fetch("req.fhdr", "[string,integer]", Type::Str, REQUEST, "A whole field of a request header.", Call(req_fhdr)).prepare(name).each(each_req_fhdr).pure(),
    fetch("req.fhdr_cnt", "[string]", Type::Int, REQUEST, "Number of fields of a request header.", Call(req_fhdr_cnt)).prepare(name),
    fetch("res.hdr", "[string,integer]", Type::Str, RESPONSE, "A comma-separated value of a response header.", Call(res_hdr)).prepare(name).each(each_res_hdr),
    fetch("res.hdr_cnt", "[string]", Type::Int, RESPONSE, "Number of values of a response header.", Call(res_hdr_cnt)).prepare(name),
    fetch("res.hdr_ip", "[string,integer]", Type::Ipv4, RESPONSE, "A value of a response header as an address.", Call(res_hdr_ip)).prepare(name).each(each_res_hdr_ip),
    fetch("res.hdr_val", "[string,integer]", Type::Int, RESPONSE, "A value of a response header as an integer.", Call(res_hdr_val)).prepare(name).each(each_res_hdr_val),
    fetch("res.hdr_names", "[string]", Type::Str, RESPONSE, "The names of the response's headers.", Call(res_names)),
    fetch("res.hdrs", "", Type::Bin, RESPONSE, "All the response's headers with the empty line behind them.", Call(res_hdrs)),
    fetch("res.hdrs_bin", "", Type::Bin, RESPONSE, "The response's headers, each part behind its length.", Call(|_, f| binary(response(f)?))),
    fetch("res.fhdr", "[string,integer]", Type::Str, RESPONSE, "A whole field of a response header.", Call(res_fhdr)).prepare(name).each(each_res_fhdr),
    fetch("res.fhdr_cnt", "[string]", Type::Int, RESPONSE, "Number of fields of a response header.", Call(res_fhdr_cnt)).prepare(name),
    fetch("shdr", "[string,integer]", Type::Str, RESPONSE, "Same as res.hdr.", Call(res_hdr)).prepare(name).each(each_res_hdr),
    fetch("shdr_cnt", "[string]", Type::Int, RESPONSE, "Same as res.hdr_cnt.", Call(res_hdr_cnt)).prepare(name),
    fetch("shdr_ip", "[string,integer]", Type::Ipv4, RESPONSE, "Same as res.hdr_ip.", Call(res_hdr_ip)).prepare(name).each(each_res_hdr_ip),
    fetch("shdr_val", "[string,integer]", Type::Int, RESPONSE, "Same as res.hdr_val.", Call(res_hdr_val)).prepare(name).each(each_res_hdr_val),
];

/// Most occurrences that an index may ask for from the end (manual: 10 values can be counted
/// backwards).
const MAX_BACKWARDS: i64 = 10;

fn name(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    args.make_header(0);
    if args.int(1).is_some_and(|occurrence| occurrence < -MAX_BACKWARDS) {
        return Err(ArgError::Value(format!("the occurrence must be at least -{MAX_BACKWARDS}")));
    }
    Ok(())
}

/// Offers the values of one header, or of all; whole fields or parts.
fn visit_values<'e>(
    head: &'e Head,
    args: &'e Args,
    whole: bool,
    visit: &mut dyn FnMut(&'e [u8]) -> bool,
) -> bool {
    let mut field = |value: &'e [u8]| {
        if whole { visit(trim(value)) } else { values(value).any(&mut *visit) }
    };
    match args.header(0) {
        Some(name) => name.fields(head).any(|found| field(found.value)),
        None => head.fields().any(|found| field(found.value)),
    }
}

/// The occurrence that the arguments name: the last one by default, counted from the end when
/// negative.
fn occurrence<'e>(head: &'e Head, args: &'e Args, whole: bool) -> Option<&'e [u8]> {
    if args.0.is_empty() {
        return None;
    }
    let wanted = args.int(1).unwrap_or(-1);
    let wanted = if wanted == 0 { -1 } else { wanted };
    let mut seen = 0;
    if wanted > 0 {
        let mut found = None;
        visit_values(head, args, whole, &mut |value| {
            seen += 1;
            found = Some(value);
            seen == wanted
        });
        return found.filter(|_| seen == wanted);
    }
    let mut last = [None; MAX_BACKWARDS as usize];
    let slots = last.len();
    visit_values(head, args, whole, &mut |value| {
        last[seen as usize % slots] = Some(value);
        seen += 1;
        false
    });
    let index = seen + wanted;
    if index < 0 { None } else { last[index as usize % slots] }
}

fn each<'e>(
    head: Option<&'e Head>,
    args: &'e Args,
    whole: bool,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    // A call without arguments requires nothing.
    let Some(head) = head.filter(|_| !args.0.is_empty()) else { return false };
    if args.int(1).is_some_and(|wanted| wanted != 0) {
        return occurrence(head, args, whole).is_some_and(|value| visit(Value::str(value)));
    }
    visit_values(head, args, whole, &mut |value| visit(Value::str(value)))
}

fn one<'e>(head: &'e Head, args: &'e Args, whole: bool) -> Outcome<'e> {
    occurrence(head, args, whole).map(Value::str).ok_or(Missing::Absent)
}

fn count<'e>(head: &'e Head, args: &'e Args, whole: bool) -> Outcome<'e> {
    let mut count = 0;
    visit_values(head, args, whole, &mut |_| {
        count += 1;
        false
    });
    Ok(Value::Int(count))
}

/// An address as headers carry it: bare, or of IPv4 with a port.
fn address(value: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(value).ok()?;
    if let Ok(ip) = text.parse() {
        return Some(ip);
    }
    let (host, port) = text.split_once(':')?;
    port.parse::<u16>().ok()?;
    host.parse().ok().map(IpAddr::V4)
}

fn to_ip(value: Value<'_>) -> Option<Value<'static>> {
    match value {
        Value::Str(bytes) => address(&bytes).map(Value::from),
        _ => None,
    }
}

/// The number that a value begins with; 0 when it is empty.
fn to_int(value: Value<'_>) -> Option<Value<'static>> {
    match &value {
        Value::Str(bytes) if bytes.is_empty() => Some(Value::Int(0)),
        _ => value.to_int().map(Value::Int),
    }
}

fn names<'e>(head: &'e Head, args: &'e Args) -> Outcome<'e> {
    // As in HAProxy, an empty argument stands for a NUL byte.
    let delimiter = match args.bytes(0) {
        _ if args.0.is_empty() => b",",
        b"" => b"\0",
        given => given,
    };
    let mut out = Vec::new();
    for (i, field) in head.fields().enumerate() {
        if i > 0 {
            out.extend_from_slice(delimiter);
        }
        out.extend_from_slice(field.name);
    }
    Ok(Value::Str(Bytes::Owned(out)))
}

fn all<'e>(head: &'e Head) -> Outcome<'e> {
    let mut out = Vec::with_capacity(head.wire_len() + 2);
    for field in head.fields() {
        out.extend_from_slice(field.name);
        out.extend_from_slice(b": ");
        out.extend_from_slice(field.value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    Ok(Value::Bin(Bytes::Owned(out)))
}

/// Each name and value behind its length, and two empty texts at the end (manual, `req.hdrs_bin`).
fn binary<'e>(head: &'e Head) -> Outcome<'e> {
    let mut out = Vec::with_capacity(head.wire_len());
    for field in head.fields() {
        for part in [field.name, field.value] {
            varint::put(&mut out, part.len() as u64);
            out.extend_from_slice(part);
        }
    }
    out.extend([0, 0]);
    Ok(Value::Bin(Bytes::Owned(out)))
}

fn response(facts: &dyn Facts) -> Result<&Head, Missing> {
    facts.response().ok_or(Missing::Absent)
}

/// `hdr` reads the message that is being handled: a response where there is one, else the request.
fn current(facts: &dyn Facts) -> Result<&Head, Missing> {
    match facts.response() {
        Some(head) => Ok(head),
        None => request(facts),
    }
}

fn hdr<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    one(current(facts)?, args, false)
}

fn each_hdr<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(current(facts).ok(), args, false, visit)
}

fn req_hdr<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    one(request(facts)?, args, false)
}

fn each_req_hdr<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.request(), args, false, visit)
}

fn req_fhdr<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    one(request(facts)?, args, true)
}

fn each_req_fhdr<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.request(), args, true, visit)
}

fn req_hdr_cnt<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    count(request(facts)?, args, false)
}

fn req_fhdr_cnt<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    count(request(facts)?, args, true)
}

fn req_hdr_ip<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    to_ip(req_hdr(args, facts)?).ok_or(Missing::Absent)
}

fn each_req_hdr_ip<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.request(), args, false, &mut |value| to_ip(value).is_some_and(&mut *visit))
}

fn req_hdr_val<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    to_int(req_hdr(args, facts)?).ok_or(Missing::Absent)
}

fn each_req_hdr_val<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.request(), args, false, &mut |value| to_int(value).is_some_and(&mut *visit))
}

fn req_names<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    names(request(facts)?, args)
}

fn req_hdrs<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    all(request(facts)?)
}

fn res_hdr<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    one(response(facts)?, args, false)
}

fn each_res_hdr<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.response(), args, false, visit)
}

fn res_fhdr<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    one(response(facts)?, args, true)
}

fn each_res_fhdr<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.response(), args, true, visit)
}

fn res_hdr_cnt<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    count(response(facts)?, args, false)
}

fn res_fhdr_cnt<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    count(response(facts)?, args, true)
}

fn res_hdr_ip<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    to_ip(res_hdr(args, facts)?).ok_or(Missing::Absent)
}

fn each_res_hdr_ip<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.response(), args, false, &mut |value| to_ip(value).is_some_and(&mut *visit))
}

fn res_hdr_val<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    to_int(res_hdr(args, facts)?).ok_or(Missing::Absent)
}

fn each_res_hdr_val<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.response(), args, false, &mut |value| to_int(value).is_some_and(&mut *visit))
}

fn res_names<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    names(response(facts)?, args)
}

fn res_hdrs<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    all(response(facts)?)
}
