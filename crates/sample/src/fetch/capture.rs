//! Fetches of what was captured earlier in the transaction.

use super::Source::Call;
use super::{Fetch, SERVER_CONN, TXN, fetch};
use crate::args::Args;
use crate::facts::TransactionRecord;
use crate::facts::{Facts, Side};
use crate::value::{Missing, Outcome, Type, Value};
use htx::{Method, Target};

const RES_CAPTURE: &str = "...........YYYYYYYYY..";

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("capture.req.hdr", "integer", Type::Str, TXN, "A request capture slot, from 0.", Call(req_hdr)),
    fetch("capture.res.hdr", "integer", Type::Str, RES_CAPTURE, "A response capture slot, from 0.", Call(res_hdr)),
    fetch("capture.req.method", "", Type::Str, TXN, "The request's method as received.", Call(method)),
    fetch("capture.req.uri", "", Type::Str, TXN, "The request's path and query as received.", Call(uri)),
    fetch("capture.req.ver", "", Type::Str, TXN, "The request's version, such as HTTP/1.1.", Call(req_ver)),
    fetch("capture.res.ver", "", Type::Str, TXN, "The response's version, such as HTTP/1.1.", Call(res_ver)),
];

// The validity of response captures is that of what needs the server connection.
const _: () = assert!(RES_CAPTURE.len() == SERVER_CONN.len());

fn slot<'e>(side: Side, args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let slot = usize::try_from(args.int(0).unwrap_or(-1)).map_err(|_| Missing::Absent)?;
    facts.capture(side, slot).map(Value::Str).ok_or(Missing::Absent)
}

fn req_hdr<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    slot(Side::Request, args, facts)
}

fn res_hdr<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    slot(Side::Response, args, facts)
}

fn logged<'e>(facts: &'e dyn Facts, pick: fn(&TransactionRecord) -> &[u8]) -> Outcome<'e> {
    facts.record().map(pick).filter(|text| !text.is_empty()).map(Value::str).ok_or(Missing::Absent)
}

fn method<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    logged(facts, |record| &record.method)
}

fn uri<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let record = facts.record().ok_or(Missing::Absent)?;
    let target = Target::parse(Method::of(&record.method), &record.uri).path_and_query();
    target.filter(|text| text.starts_with(b"/")).map(Value::str).ok_or(Missing::Absent)
}

fn req_ver<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    // Manual section 7.3.6: HTTP/1.0 or HTTP/1.1, whatever the version of the message.
    logged(facts, |record| match &record.version[..] {
        version if version < &b"HTTP/2"[..] => version,
        _ => b"HTTP/1.1",
    })
}

fn res_ver<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let head = facts.response().ok_or(Missing::Absent)?;
    Ok(Value::str(head.version().h1_token().as_bytes()))
}
