//! Fetches of cookies: `Cookie` in requests, `Set-Cookie` in responses. Never inserts one.

use super::Source::Call;
use super::header::trim;
use super::request::request;
use super::{Fetch, REQUEST, RESPONSE, fetch};
use crate::args::Args;
use crate::facts::Facts;
use crate::value::{Missing, Outcome, Type, Value};
use htx::{Head, HeaderId};

const COOKIE: &str = "..YYYYYYYYYYYYYYYY.Y..";

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("req.cook", "[string]", Type::Str, REQUEST, "A cookie of the request.", Call(req_cook)).each(each_req).pure(),
    fetch("req.cook_cnt", "[string]", Type::Int, REQUEST, "Number of cookies of that name.", Call(req_cnt)),
    fetch("req.cook_val", "[string]", Type::Int, REQUEST, "A cookie as an integer.", Call(req_val)),
    fetch("cook", "[string]", Type::Str, REQUEST, "Same as req.cook.", Call(req_cook)).each(each_req).pure(),
    fetch("cook_cnt", "[string]", Type::Int, REQUEST, "Same as req.cook_cnt.", Call(req_cnt)),
    fetch("cook_val", "[string]", Type::Int, REQUEST, "Same as req.cook_val.", Call(req_val)),
    fetch("cookie", "[string]", Type::Str, COOKIE, "A cookie of the message at hand.", Call(cookie)).each(each_current),
    fetch("res.cook", "[string]", Type::Str, RESPONSE, "A cookie set by the response.", Call(res_cook)).each(each_res),
    fetch("res.cook_cnt", "[string]", Type::Int, RESPONSE, "Number of cookies of that name set.", Call(res_cnt)),
    fetch("res.cook_val", "[string]", Type::Int, RESPONSE, "A cookie set, as an integer.", Call(res_val)),
    fetch("scook", "[string]", Type::Str, RESPONSE, "Same as res.cook.", Call(res_cook)).each(each_res),
    fetch("scook_cnt", "[string]", Type::Int, RESPONSE, "Same as res.cook_cnt.", Call(res_cnt)),
    fetch("scook_val", "[string]", Type::Int, RESPONSE, "Same as res.cook_val.", Call(res_val)),
];

/// Name and value of a `name=value` pair; what has no `=` is no cookie.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = memchr::memchr(b'=', text)?;
    Some((trim(&text[..equals]), trim(&text[equals + 1..])))
}

/// Offers the value of every cookie of that name, or of any name.
fn visit<'e>(
    head: &'e Head,
    name: Option<&str>,
    visitor: &mut dyn FnMut(&'e [u8]) -> bool,
) -> bool {
    let mut offer = |text: &'e [u8], last: bool| {
        let Some((found, value)) = pair(text) else { return false };
        let wanted = match name {
            // As measured: nothing at the end of a field is no value of that name, elsewhere it is.
            Some(name) => found == name.as_bytes() && !(last && value.is_empty()),
            None => !found.is_empty(),
        };
        wanted && visitor(value)
    };
    if head.is_request() {
        return head.by_id(HeaderId::Cookie).any(|field| {
            let mut pairs = field.value.split(|byte| *byte == b';').peekable();
            std::iter::from_fn(|| Some((pairs.next()?, pairs.peek().is_none())))
                .any(|(text, last)| offer(text, last))
        });
    }
    // Attributes follow the pair behind semicolons.
    head.by_id(HeaderId::SetCookie).any(|field| {
        let mut parts = field.value.split(|byte| *byte == b';');
        parts.next().is_some_and(|text| offer(text, parts.next().is_none()))
    })
}

/// The last cookie of that name; without a name, the first cookie.
fn one<'e>(head: &'e Head, args: &'e Args) -> Outcome<'e> {
    let name = args.some_text(0);
    let mut found = None;
    visit(head, name, &mut |value| {
        found = Some(value);
        name.is_none()
    });
    found.map(Value::str).ok_or(Missing::Absent)
}

fn count<'e>(head: &'e Head, args: &'e Args) -> Outcome<'e> {
    let mut count = 0;
    visit(head, args.some_text(0), &mut |_| {
        count += 1;
        false
    });
    Ok(Value::Int(count))
}

/// As an integer; one that says nothing is 0.
fn number<'e>(found: Outcome<'e>) -> Outcome<'e> {
    let found = found?;
    let silent = found.clone().to_str().is_some_and(|text| text.is_empty());
    if silent { Ok(Value::Int(0)) } else { found.cast(Type::Int).ok_or(Missing::Absent) }
}

fn response(facts: &dyn Facts) -> Result<&Head, Missing> {
    facts.response().ok_or(Missing::Absent)
}

fn each<'e>(
    head: Option<&'e Head>,
    args: &'e Args,
    visitor: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    head.is_some_and(|head| visit(head, args.some_text(0), &mut |value| visitor(Value::str(value))))
}

fn req_cook<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    one(request(facts)?, args)
}

fn each_req<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visitor: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.request(), args, visitor)
}

fn req_cnt<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    count(request(facts)?, args)
}

fn req_val<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    number(req_cook(args, facts))
}

fn cookie<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    match facts.response() {
        Some(head) => one(head, args),
        None => req_cook(args, facts),
    }
}

fn each_current<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visitor: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.response().or(facts.request()), args, visitor)
}

fn res_cook<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    one(response(facts)?, args)
}

fn each_res<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visitor: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    each(facts.response(), args, visitor)
}

fn res_cnt<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    count(response(facts)?, args)
}

fn res_val<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    number(res_cook(args, facts))
}
