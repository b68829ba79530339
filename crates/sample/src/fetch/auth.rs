//! Fetches of credentials in requests: `Authorization`, or `Proxy-Authorization` where the client
//! has asked a proxy.

use super::Source::Call;
use super::request::request;
use super::{Fetch, REQUEST, fetch};
use crate::args::{ArgError, Args};
use crate::context::ParseContext;
use crate::encoding::decode_base64;
use crate::facts::Facts;
use crate::value::{Bytes, Missing, Outcome, Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("http_auth", "user list", Type::Bool, REQUEST, "Whether the client is a user of the list; nothing without Basic credentials.", Call(is_user)).prepare(listed),
    fetch("http_auth_group", "user list", Type::Str, REQUEST, "The user's name, in ACLs its groups.", Call(user_of_list))
        .each(each_group).prepare(listed).slow(),
    fetch("http_auth_type", "", Type::Str, REQUEST, "The scheme of the credentials, Basic or Bearer; nothing when they cannot be decoded.", Call(scheme)),
    fetch("http_auth_user", "", Type::Str, REQUEST, "The user name of Basic credentials.", Call(user)),
    fetch("http_auth_pass", "", Type::Str, REQUEST, "The password of Basic credentials.", Call(password)),
    fetch("http_auth_bearer", "[string]", Type::Str, REQUEST, "The token of Bearer credentials.", Call(bearer)),
];

/// Whether the list exists is checked once all sections are read.
fn listed(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.some_text(0) {
        Some(_) => Ok(()),
        None => Err(ArgError::Rule("expects the name of a userlist")),
    }
}

/// The header field that has the credentials.
fn field(facts: &dyn Facts) -> &'static str {
    if facts.is_proxied() { "proxy-authorization" } else { "authorization" }
}

/// Scheme and credentials of a header field.
fn credentials<'e>(name: &str, facts: &'e dyn Facts) -> Result<(&'e [u8], &'e [u8]), Missing> {
    let value = request(facts)?.get(name.as_bytes()).ok_or(Missing::Absent)?;
    let blank = value.iter().position(|byte| *byte == b' ').ok_or(Missing::Absent)?;
    Ok((&value[..blank], value[blank..].trim_ascii()))
}

/// User and password of Basic credentials.
fn basic(facts: &dyn Facts) -> Result<(Vec<u8>, Vec<u8>), Missing> {
    let (scheme, text) = credentials(field(facts), facts)?;
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return Err(Missing::Absent);
    }
    let decoded = decode_base64(text).ok_or(Missing::Absent)?;
    let colon = decoded.iter().position(|byte| *byte == b':').ok_or(Missing::Absent)?;
    Ok((decoded[..colon].to_vec(), decoded[colon + 1..].to_vec()))
}

/// The user that the Basic credentials of a request name, unverified.
pub fn basic_user(facts: &dyn Facts) -> Option<Vec<u8>> {
    basic(facts).ok().map(|(user, _)| user)
}

fn is_user<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (user, password) = basic(facts)?;
    facts.is_user(args.text(0), &user, &password).map(Value::Bool)
}

fn user_of_list<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (user, password) = basic(facts)?;
    match facts.is_user(args.text(0), &user, &password)? {
        true => Ok(Value::Str(Bytes::Owned(user))),
        false => Err(Missing::Absent),
    }
}

fn each_group<'e>(
    args: &'e Args,
    facts: &'e dyn Facts,
    visit: &mut dyn FnMut(Value<'e>) -> bool,
) -> bool {
    let Ok((user, password)) = basic(facts) else { return false };
    let list = args.text(0);
    if facts.is_user(list, &user, &password) != Ok(true) {
        return false;
    }
    facts.groups(list, &user).any(|group| visit(Value::str(group.as_bytes())))
}

fn scheme<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (scheme, _) = credentials(field(facts), facts)?;
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(Value::str(b"Bearer"));
    }
    basic(facts).map(|_| Value::str(b"Basic"))
}

fn user<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Str(Bytes::Owned(basic(facts)?.0)))
}

fn password<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Str(Bytes::Owned(basic(facts)?.1)))
}

fn bearer<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let name = args.some_text(0).unwrap_or(field(facts));
    let (scheme, token) = credentials(&name.to_ascii_lowercase(), facts)?;
    match scheme.eq_ignore_ascii_case(b"bearer") {
        true => Ok(Value::str(token)),
        false => Err(Missing::Absent),
    }
}
