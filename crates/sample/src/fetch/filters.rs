//! Fetches about the filters of a response.

use super::Source::Call;
use super::{Fetch, SERVER, SERVER_CONN, fetch};
use crate::args::Args;
use crate::facts::Facts;
use crate::value::{Missing, Outcome, Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("res.cache_hit", "", Type::Bool, SERVER, "Whether a cache answers the request.", Call(is_cached)),
    fetch("res.cache_name", "", Type::Str, SERVER, "The name of the cache that answers the request.", Call(cache_name)),
    fetch("res.comp", "", Type::Bool, SERVER_CONN, "Whether the response is compressed here.", Call(is_compressed)),
    fetch("res.comp_algo", "", Type::Str, SERVER_CONN, "The algorithm that the response is compressed with.", Call(algorithm)),
];

fn is_cached<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(facts.cache().is_some()))
}

fn cache_name<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.cache().map(|name| Value::str(name.as_bytes())).ok_or(Missing::Absent)
}

fn is_compressed<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(facts.compression().is_some()))
}

fn algorithm<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.compression().map(|name| Value::str(name.as_bytes())).ok_or(Missing::Absent)
}
