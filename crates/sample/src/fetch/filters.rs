//! Fetches about the filters of a response.

use super::Source::Call;
use super::{Fetch, SERVER_CONN, fetch};
use crate::args::Args;
use crate::facts::Facts;
use crate::value::{Missing, Outcome, Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("res.comp", "", Type::Bool, SERVER_CONN, "Whether the response is compressed here.", Call(is_compressed)),
    fetch("res.comp_algo", "", Type::Str, SERVER_CONN, "The algorithm that the response is compressed with.", Call(algorithm)),
];

fn is_compressed<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(facts.compression().is_some()))
}

fn algorithm<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.compression().map(|name| Value::str(name.as_bytes())).ok_or(Missing::Absent)
}
