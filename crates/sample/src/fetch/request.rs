//! Fetches of start lines: method, target and its parts, versions, status.

use super::Source::Call;
use super::{Fetch, REQUEST, RESPONSE, SERVER_CONN, TXN, fetch};
use crate::args::Args;
use crate::facts::Facts;
use crate::value::{Bytes, Missing, Outcome, Type, Value};
use htx::target::split_port;
use htx::{Head, Target, Version};
use std::net::IpAddr;

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("method", "", Type::Meth, TXN, "The request's method.", Call(method)),
    fetch("url", "", Type::Str, REQUEST, "The request's target as it stands.", Call(url)).pure(),
    fetch("path", "", Type::Str, REQUEST, "The target's path, from the first slash to the question mark.", Call(path)).pure(),
    fetch("pathq", "", Type::Str, REQUEST, "The path with the query string.", Call(pathq)).pure(),
    fetch("query", "", Type::Str, REQUEST, "What follows the first question mark.", Call(query)).pure(),
    fetch("base", "", Type::Str, REQUEST, "The Host header followed by the path.", Call(base)).pure(),
    fetch("base32", "", Type::Int, REQUEST, "The SDBM hash of base, avalanched.", Call(base32)),
    fetch("base32+src", "", Type::Bin, REQUEST, "base32 in 4 bytes, then the client's address.", Call(base32_src)),
    fetch("url32", "", Type::Int, REQUEST, "The SDBM hash of the Host header with path and query, avalanched.", Call(url32)),
    fetch("url32+src", "", Type::Bin, REQUEST, "url32 in 4 bytes, then the client's address.", Call(url32_src)),
    fetch("baseq", "", Type::Str, REQUEST, "The Host header followed by path and query.", Call(baseq)).pure(),
    fetch("url_ip", "", Type::Ipv4, REQUEST, "The address in an absolute target.", Call(url_ip)),
    fetch("url_port", "", Type::Int, REQUEST, "The port in an absolute target whose host is an address, by default that of its scheme.", Call(url_port)),
    fetch("url_param", "[string,string]", Type::Str, REQUEST, "A parameter of the query string, not decoded.", Call(param)).each(each_param).pure(),
    fetch("urlp", "[string,string]", Type::Str, REQUEST, "Same as url_param.", Call(param)).each(each_param).pure(),
    fetch("urlp_val", "[string,string]", Type::Int, REQUEST, "The same as an integer.", Call(param_val)),
    fetch("req.ver", "", Type::Str, REQUEST, "The request's HTTP version, such as 1.1.", Call(req_ver)),
    fetch("req_ver", "", Type::Str, REQUEST, "Same as req.ver.", Call(req_ver)),
    fetch("res.ver", "", Type::Str, RESPONSE, "The response's HTTP version.", Call(res_ver)),
    fetch("resp_ver", "", Type::Str, RESPONSE, "Same as res.ver.", Call(res_ver)),
    fetch("status", "", Type::Int, SERVER_CONN, "The response's status code.", Call(status)),
    fetch("req.proto_http", "", Type::Bool, TXN, "Whether the request is HTTP.", Call(proto_http)),
    fetch("req_proto_http", "", Type::Bool, TXN, "Same as req.proto_http.", Call(proto_http)),
    fetch("http_first_req", "", Type::Bool, TXN, "Whether this is the first request of its connection.", Call(first_req)),
];

/// The request, or why there is none: on a TCP stream it may still arrive.
pub(super) fn request(facts: &dyn Facts) -> Result<&Head, Missing> {
    facts.request().ok_or(if facts.is_final() { Missing::Absent } else { Missing::NotYet })
}

fn text<'e>(bytes: Option<&'e [u8]>) -> Outcome<'e> {
    bytes.map(Value::str).ok_or(Missing::Absent)
}

/// An absolute target may end with its authority: it has no path then, not an empty one.
fn nonempty(path: Option<&[u8]>) -> Outcome<'_> {
    text(path.filter(|path| !path.is_empty()))
}

/// The method that the client sent, even after `set-method`. Responses and logs may read it after
/// the request has been sent.
fn method<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let noted = facts.record().map(|record| &record.method[..]).filter(|it| !it.is_empty());
    let method = noted.or_else(|| facts.request().map(Head::method));
    Ok(Value::Meth(Bytes::Borrowed(method.ok_or(Missing::Absent)?)))
}

fn url<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::str(request(facts)?.uri()))
}

fn path<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    nonempty(request(facts)?.path())
}

fn pathq<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    nonempty(request(facts)?.target().path_and_query())
}

fn query<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    text(request(facts)?.query())
}

/// The first of the hosts that the request names.
fn first_host(head: &Head) -> Option<&[u8]> {
    let host = head.host()?;
    Some(host.split(|byte| *byte == b',').next().unwrap_or(host).trim_ascii())
}

fn with_host<'e>(host: Option<&'e [u8]>, path: Option<&'e [u8]>) -> Outcome<'e> {
    let path = path.filter(|path| path.starts_with(b"/")).unwrap_or_default();
    match host {
        None => text(Some(path).filter(|path| !path.is_empty())),
        Some(host) => Ok(Value::Str(Bytes::Owned([host, path].concat()))),
    }
}

fn base<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let head = request(facts)?;
    with_host(first_host(head), head.path())
}

fn baseq<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let head = request(facts)?;
    with_host(first_host(head), head.target().path_and_query())
}

/// The hash of a text; without one, that of the empty text.
fn hash_of(value: &Outcome<'_>) -> u32 {
    let bytes = match value {
        Ok(Value::Str(bytes)) => &bytes[..],
        _ => &[],
    };
    stdx::hash::avalanche(stdx::hash::sdbm(bytes))
}

fn base_hash(facts: &dyn Facts) -> Result<u32, Missing> {
    let head = request(facts)?;
    Ok(hash_of(&with_host(first_host(head), head.path())))
}

/// Unlike `base32` it hashes the whole Host header.
fn url_hash(facts: &dyn Facts) -> Result<u32, Missing> {
    let head = request(facts)?;
    Ok(hash_of(&with_host(head.host(), head.target().path_and_query())))
}

/// A hash followed by the client's address, both as bytes of the network.
fn with_source<'e>(hash: u32, facts: &'e dyn Facts) -> Outcome<'e> {
    let mut bytes = hash.to_be_bytes().to_vec();
    match facts.source().ok_or(Missing::Absent)?.ip() {
        IpAddr::V4(ip) => bytes.extend(ip.octets()),
        IpAddr::V6(ip) => bytes.extend(ip.octets()),
    }
    Ok(Value::Bin(Bytes::Owned(bytes)))
}

fn base32<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    base_hash(facts).map(|hash| Value::Int(hash.into()))
}

fn base32_src<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    with_source(base_hash(facts)?, facts)
}

fn url32<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    url_hash(facts).map(|hash| Value::Int(hash.into()))
}

fn url32_src<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    with_source(url_hash(facts)?, facts)
}

/// Address and port of an absolute target whose host is an address.
fn endpoint(facts: &dyn Facts) -> Result<(IpAddr, u16), Missing> {
    let Target::Absolute { scheme, authority, .. } = request(facts)?.target() else {
        return Err(Missing::Absent);
    };
    let (host, port) = split_port(htx::target::without_userinfo(authority));
    let host = host.strip_prefix(b"[").and_then(|h| h.strip_suffix(b"]")).unwrap_or(host);
    let address = std::str::from_utf8(host).ok().and_then(|host| host.parse().ok());
    let port = port.and_then(|port| std::str::from_utf8(port).ok()?.parse().ok());
    let usual = if scheme.eq_ignore_ascii_case(b"https") { 443 } else { 80 };
    Ok((address.ok_or(Missing::Absent)?, port.unwrap_or(usual)))
}

fn url_ip<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::from(endpoint(facts)?.0))
}

fn url_port<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Int(endpoint(facts)?.1.into()))
}

/// The name and value of every parameter behind the first delimiter.
fn params(uri: &[u8], delimiter: u8) -> impl Iterator<Item = (&[u8], &[u8])> {
    let start = memchr::memchr(delimiter, uri).map_or(uri.len(), |at| at + 1);
    let is_end = move |byte: &u8| matches!(byte, b'&' | b';') || *byte == delimiter;
    // A part without an equals sign is no parameter.
    uri[start..].split(is_end).filter_map(|pair| {
        let equals = memchr::memchr(b'=', pair)?;
        Some((&pair[..equals], &pair[equals + 1..]))
    })
}

fn each_param<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    let Ok(head) = request(facts) else { return false };
    let name = args.some_text(0);
    let delimiter = args.bytes(1).first().copied().unwrap_or(b'?');
    params(head.uri(), delimiter)
        .filter(|(found, _)| name.is_none_or(|name| *found == name.as_bytes()))
        .any(|(_, value)| visit(Value::str(value)))
}

fn param<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    request(facts)?;
    let mut first = None;
    each_param(args, facts, &mut |value| {
        first = Some(value);
        true
    });
    first.ok_or(Missing::Absent)
}

fn param_val<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    // A parameter without a value is zero.
    Ok(param(args, facts)?.cast(Type::Int).unwrap_or(Value::Int(0)))
}

fn version<'e>(version: Version) -> Value<'e> {
    match version.numbers() {
        (1, 0) => Value::str(b"1.0"),
        (1, 1) => Value::str(b"1.1"),
        (2, 0) => Value::str(b"2.0"),
        (3, 0) => Value::str(b"3.0"),
        (major, minor) => Value::Str(Bytes::Owned(format!("{major}.{minor}").into_bytes())),
    }
}

fn req_ver<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(version(request(facts)?.version()))
}

fn res_ver<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.response().map(|head| version(head.version())).ok_or(Missing::Absent)
}

fn status<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.response().map(|head| Value::Int(head.status().into())).ok_or(Missing::Absent)
}

fn proto_http<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    match request(facts) {
        Ok(_) => Ok(Value::Bool(true)),
        // Rules of responses and logs have no request to look at.
        Err(Missing::Absent) if facts.carries_messages() => Err(Missing::Absent),
        Err(Missing::Absent) => Ok(Value::Bool(false)),
        Err(not_yet) => Err(not_yet),
    }
}

fn first_req<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(facts.is_first_request()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{World, request};

    #[test]
    fn parameters_have_an_equals_sign() {
        for (uri, c, e) in [
            ("/?b=&c&=d", "undefined", "undefined"),
            ("/?e;e=5", "undefined", "5"),
            ("/?c=&e==1", "", "=1"),
            ("/?c=1&c", "1", "undefined"),
        ] {
            let world = World { request: Some(request("GET", uri, &[])), ..World::full() };
            assert_eq!([world.eval("urlp(c)"), world.eval("urlp(e)")], [c, e], "{uri}");
        }
        let world = World { request: Some(request("GET", "/?c", &[])), ..World::full() };
        assert_eq!(world.eval("urlp_val(c)"), "undefined");
    }

    #[test]
    fn a_part_that_a_target_lacks_is_not_an_empty_one() {
        #[rustfmt::skip]
        let rows = [
            ("GET", "/a", ["/a", "/a", "undefined", "undefined"]),
            ("GET", "/a?", ["/a", "/a?", "", "undefined"]),
            ("GET", "/?b?c", ["/", "/?b?c", "b?c", "undefined"]),
            ("OPTIONS", "*", ["undefined", "undefined", "undefined", "undefined"]),
            ("CONNECT", "192.0.2.1:80", ["undefined", "undefined", "undefined", "undefined"]),
            ("GET", "http://192.0.2.1", ["undefined", "undefined", "undefined", "80"]),
            ("GET", "https://192.0.2.1/", ["/", "/", "undefined", "443"]),
            ("GET", "http://name:81/", ["/", "/", "undefined", "undefined"]),
        ];
        for (method, uri, expected) in rows {
            let world = World { request: Some(request(method, uri, &[])), ..World::full() };
            let got = ["path", "pathq", "query", "url_port"].map(|text| world.eval(text));
            assert_eq!(got, expected, "{method} {uri}");
        }
    }

    #[test]
    fn hashes_of_nothing_are_those_of_the_empty_text() {
        let world = World { request: Some(request("OPTIONS", "*", &[])), ..World::full() };
        assert_eq!([world.eval("base"), world.eval("base32")], ["undefined", "2874071335"]);
        assert_eq!(world.eval("url32"), "2874071335");
    }

    #[test]
    fn a_target_without_a_leading_slash_has_a_path_and_a_query() {
        for (uri, path, pathq, query) in [
            ("foo/bar?x=1", "foo/bar", "foo/bar?x=1", "x=1"),
            ("foo?x=1", "foo", "foo?x=1", "x=1"),
            ("http:foo?x=1", "http:foo", "http:foo?x=1", "x=1"),
            ("1http://h/p?x=1", "1http://h/p", "1http://h/p?x=1", "x=1"),
        ] {
            let world = World { request: Some(request("GET", uri, &[])), ..World::full() };
            let seen = ["path", "pathq", "query", "urlp(x)"].map(|it| world.eval(it));
            assert_eq!(seen, [path, pathq, query, "1"], "{uri}");
        }
    }
}
