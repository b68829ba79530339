//! `set-bandwidth-limit`: enables a bandwidth limit of the section for the stream.

use super::{Action, Input, Outcome};
use crate::bandwidth::{BandwidthLimit, BandwidthScope, BandwidthValues};
use crate::context::{Context, facts};
use sample::{Expr, Missing, ParseError, Type};
use std::sync::{Arc, OnceLock};

/// A compiled action of this kind.
#[derive(Debug)]
pub struct BandwidthEdit {
    name: Box<str>,
    /// Filled in when all lines of the section are read.
    filter: OnceLock<Arc<BandwidthLimit>>,
    limit: Option<Expr>,
    period: Option<Expr>,
}

impl BandwidthEdit {
    /// The name of the filter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `limit` or `period`, whichever is given.
    pub fn given(&self) -> Option<&'static str> {
        let limit = self.limit.as_ref().map(|_| "limit");
        limit.or(self.period.as_ref().map(|_| "period"))
    }

    /// Fills the filter in; the first one stays.
    pub fn resolve(&self, filter: &Arc<BandwidthLimit>) {
        let _ = self.filter.set(filter.clone());
    }

    pub(super) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        let Some(filter) = self.filter.get() else { return Outcome::Next };
        match self.values(filter, cx) {
            Ok(values) => {
                cx.set_bandwidth_limit(filter, values);
                Outcome::Next
            }
            Err(Missing::NotYet) => Outcome::Suspend,
            Err(Missing::Absent) => Outcome::Next,
        }
    }

    /// # Errors
    /// A sample is missing: bytes, or the key of a shared limit.
    fn values(
        &self,
        filter: &BandwidthLimit,
        cx: &dyn Context,
    ) -> Result<BandwidthValues, Missing> {
        match &filter.scope {
            BandwidthScope::Stream { limit, period } => Ok(BandwidthValues::Stream {
                limit: positive(self.limit.as_ref(), *limit, cx)?,
                period: positive(self.period.as_ref(), *period, cx)?,
            }),
            BandwidthScope::Shared { limit, key, table } => {
                let table = table.number().ok_or(Missing::Absent)?;
                let kind = facts(cx).table(table).map(table::Table::kind);
                let kind = kind.ok_or(Missing::Absent)?;
                let value = key.eval(facts(cx))?;
                let key = sample::tables::with_key(value, kind, |key| key.clone().into_owned());
                let key = key.ok_or(Missing::Absent)?;
                Ok(BandwidthValues::Shared { limit: *limit, table, key })
            }
        }
    }
}

/// The value of an expression where it is a positive number, as far as a limit can be; else the
/// default.
fn positive(expr: Option<&Expr>, default: u32, cx: &dyn Context) -> Result<u32, Missing> {
    let Some(expr) = expr else { return Ok(default) };
    let value = match expr.eval_as(Type::Int, facts(cx)) {
        Ok(value) => value.to_int(),
        Err(Missing::NotYet) => return Err(Missing::NotYet),
        Err(Missing::Absent) => None,
    };
    let value = value.filter(|value| *value > 0);
    Ok(value.map_or(default, |value| u32::try_from(value).unwrap_or(u32::MAX)))
}

pub(super) fn set(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let name = input.take("missing bwlim filter name")?.into();
    let (mut limit, mut period) = (None, None);
    while let Some(word) = input.peek() {
        let place = match word {
            "limit" => &mut limit,
            "period" => &mut period,
            other => {
                let message = format!("expects 'limit', 'period', 'if' or 'unless', got '{other}'");
                return Err(ParseError::new(input.at, message));
            }
        };
        input.at += 1;
        *place = Some(number(input, word)?);
    }
    Ok(Action::Bandwidth(BandwidthEdit { name, filter: OnceLock::new(), limit, period }))
}

/// An expression that can be a number.
fn number(input: &mut Input<'_, '_, '_>, word: &str) -> Result<Expr, ParseError> {
    let (start, mut used) = (input.at, 0);
    if input.peek().is_none() {
        let message = format!("expects an expression behind '{word}'");
        return Err(ParseError::new(start - 1, message));
    }
    let expr = Expr::parse(input.rest(), &mut used, input.cx).map_err(|e| e.shifted(start))?;
    if !expr.output().casts_to(Type::Int) {
        let message = format!("fetch method '{}' cannot be cast to an integer", expr.keyword());
        return Err(ParseError::new(start, message));
    }
    input.at += used;
    Ok(expr)
}

#[cfg(test)]
mod tests;
