//! Fetches of cookies: `Cookie` in requests, `Set-Cookie` in responses.

use super::Source::Call;
use super::request::request;
use super::{Fetch, REQUEST, RESPONSE, fetch};
use crate::args::Args;
use crate::facts::Facts;
use crate::header_value::trim;
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

/// Name and value of a cookie, and the byte that ended it.
type Pair<'v> = (&'v [u8], &'v [u8], Option<u8>);

/// The cookies of a field's value (RFC 2965 section 3). A comma separates as a semicolon does;
/// neither does within quotes, which only values have. A part without `=` is no cookie, nor is an
/// attribute, whose name begins with a dollar.
struct Pairs<'v> {
    rest: &'v [u8],
}

impl<'v> Iterator for Pairs<'v> {
    type Item = Pair<'v>;

    fn next(&mut self) -> Option<Pair<'v>> {
        loop {
            let rest = self.rest;
            let stop = rest.iter().position(|byte| matches!(byte, b'=' | b';' | b','))?;
            let behind = &rest[stop + 1..];
            self.rest = behind;
            if rest[stop] != b'=' {
                continue;
            }
            let end = end_of_value(behind);
            self.rest = behind.get(end + 1..).unwrap_or_default();
            let name = trim(&rest[..stop]);
            if !name.starts_with(b"$") {
                return Some((name, trim(&behind[..end]), behind.get(end).copied()));
            }
        }
    }
}

fn end_of_value(text: &[u8]) -> usize {
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => at += 1,
            b';' | b',' if !quoted => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// Offers the value of every cookie of that name, or of any name.
fn visit<'e>(
    head: &'e Head,
    name: Option<&str>,
    visitor: &mut dyn FnMut(&'e [u8]) -> bool,
) -> bool {
    let mut offer = |(found, value, end): Pair<'e>| {
        let wanted = match name {
            // As in HAProxy, an empty value counts only in front of a semicolon.
            Some(name) => found == name.as_bytes() && (!value.is_empty() || end == Some(b';')),
            None => true,
        };
        wanted && visitor(value)
    };
    if head.is_request() {
        let mut fields = head.by_id(HeaderId::Cookie);
        return fields.any(|field| Pairs { rest: field.value }.any(&mut offer));
    }
    head.by_id(HeaderId::SetCookie).any(|field| {
        let mut attributes = false;
        // Attributes follow the cookie behind semicolons; they count where no name is asked for.
        Pairs { rest: field.value }
            .take_while(|pair| {
                name.is_none() || !std::mem::replace(&mut attributes, pair.2 == Some(b';'))
            })
            .any(&mut offer)
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

/// The value as an integer; a value without digits is 0.
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

#[cfg(test)]
mod tests {
    use crate::testing::{World, request, response};

    #[test]
    fn cookies_end_where_they_should() {
        #[rustfmt::skip]
        let rows: &[(&str, &[(&str, &str)])] = &[
            ("x=1, a=3; b=\"q;r\"", &[("x", "1"), ("a", "3"), ("b", "\"q;r\"")]),
            ("a=1;a=2,a=3", &[("a", "3")]),
            ("a=\"x\\\";y\";b=2", &[("a", "\"x\\\";y\""), ("b", "2")]),
            ("a=x\"y;b=2\";c=3", &[("a", "x\"y;b=2\""), ("b", "undefined"), ("c", "3")]),
            ("a=1; \"b=2\"; c=3", &[("a", "1"), ("c", "undefined")]),
            ("a=1;b=\"a=2;a=3\"", &[("a", "1")]),
            ("a=,b=2", &[("a", "undefined"), ("b", "2")]),
            ("a=;b=2", &[("a", ""), ("b", "2")]),
            ("a,b=2", &[("a", "undefined"), ("b", "2")]),
            ("a = 1 , b = 2", &[("a", "1"), ("b", "2")]),
            ("a=\"x;b=2", &[("a", "\"x;b=2"), ("b", "undefined")]),
            ("$a=1; a=2", &[("a", "2"), ("$a", "undefined")]),
        ];
        for (text, cookies) in rows {
            let head = request("GET", "/", &[("cookie", text)]);
            let world = World { request: Some(head), ..World::full() };
            for (name, value) in *cookies {
                assert_eq!(world.eval(&format!("req.cook({name})")), *value, "{name} of {text}");
            }
        }
        for (text, count, first) in [
            ("=5;a=1", "2", "5"),
            ("$Version=1; a=2", "1", "2"),
            ("x=1, a=3; b=\"q;r\"; d = 8", "4", "1"),
        ] {
            let head = request("GET", "/", &[("cookie", text)]);
            let world = World { request: Some(head), ..World::full() };
            assert_eq!(
                [world.eval("req.cook_cnt"), world.eval("req.cook")],
                [count, first],
                "{text}"
            );
        }
    }

    #[test]
    fn attributes_are_cookies_only_where_no_name_is_asked_for() {
        for (text, a, b, count) in [
            ("a=1; path=/; b=2", "1", "undefined", "3"),
            ("a=1, b=2", "1", "2", "2"),
            ("a=\"x;y\"; path=/", "\"x;y\"", "undefined", "2"),
            ("b; a=1", "1", "undefined", "1"),
            ("a=1; httponly", "1", "undefined", "1"),
            ("a=1; x; y=z", "1", "undefined", "2"),
        ] {
            let head = response(200, &[("set-cookie", text)]);
            let world = World { response: Some(head), ..World::full() };
            let got = ["res.cook(a)", "res.cook(b)", "res.cook_cnt"].map(|text| world.eval(text));
            assert_eq!(got, [a, b, count], "{text}");
        }
    }
}
