//! Actions on stick counters: tracking, incrementing, tagging.

use super::{Action, Input, Outcome};
use crate::context::{Context, Track, facts};
use crate::rule_set_kind::RuleSetKind;
use sample::{Expr, Missing, ParseError, TableUse, Type};
use table::{DataType, SLOTS};

/// A compiled action of this kind.
#[derive(Debug)]
pub enum CounterEdit {
    /// `track-sc*`
    Track(Track),
    /// `sc-inc-gpc0`, `sc-inc-gpc1`: a counter and its rate, of the entry tracked in a place.
    Increment(DataType, DataType, usize),
    /// `sc-inc-gpc`: the same for an element of arrays.
    IncrementElement(u32, usize),
    /// `sc-set-gpt0`, `sc-set-gpt`: an element of a tag, of the entry tracked in a place.
    Tag(DataType, u32, usize, Tag),
}

/// The new value of a tag.
#[derive(Debug)]
pub enum Tag {
    /// Always the same.
    Fixed(u32),
    /// A sample.
    Expr(Expr),
}

impl CounterEdit {
    pub(super) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        match self {
            CounterEdit::Track(track) => return start_tracking(track, cx),
            CounterEdit::Increment(data, rate, slot) => increment(cx, *slot, (*data, *rate), 0),
            CounterEdit::IncrementElement(index, slot) => {
                increment(cx, *slot, (DataType::Gpc, DataType::GpcRate), *index);
            }
            CounterEdit::Tag(data, index, slot, tag) => {
                let value = match tag {
                    Tag::Fixed(value) => Some(*value),
                    Tag::Expr(expr) => match expr.eval_as(Type::Int, facts(cx)) {
                        Ok(value) => value.to_int().map(|value| value as u32),
                        Err(Missing::NotYet) => return Outcome::Suspend,
                        Err(Missing::Absent) => None,
                    },
                };
                let cx = facts(cx);
                if let (Some(value), Some(entry)) = (value, cx.tracked(*slot)) {
                    entry.change(cx.now_ms(), |counters| counters.set(*data, *index, value.into()));
                }
            }
        }
        Outcome::Next
    }
}

fn increment(cx: &dyn Context, slot: usize, (data, rate): (DataType, DataType), index: u32) {
    let cx = facts(cx);
    if let Some(entry) = cx.tracked(slot) {
        entry.change(cx.now_ms(), |counters| {
            counters.add(data, index, 1);
            counters.add(rate, index, 1);
        });
    }
}

fn start_tracking<'r>(track: &'r Track, cx: &mut dyn Context) -> Outcome<'r> {
    let cx: &dyn Context = cx;
    // The first rule that fills the place wins.
    if facts(cx).tracked(track.slot).is_some() {
        return Outcome::Next;
    }
    let Some(number) = track.table.number() else { return Outcome::Next };
    let Some(kind) = facts(cx).table(number).map(table::Table::kind) else {
        return Outcome::Next;
    };
    match track.key.eval(facts(cx)) {
        Ok(value) => {
            sample::tables::with_key(value, kind, |key| cx.track(track, number, key));
            Outcome::Next
        }
        Err(Missing::NotYet) => Outcome::Suspend,
        Err(Missing::Absent) => Outcome::Next,
    }
}

pub(super) fn track(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let slot = slot_of_name(input)?;
    let start = input.at;
    let mut used = 0;
    let key =
        Expr::parse(input.rest(), &mut used, input.cx).map_err(|error| error.shifted(start))?;
    input.at += used;
    let name = match input.peek() {
        Some("table") => {
            input.take("missing table name")?;
            Some(input.take("missing table name")?)
        }
        _ => None,
    };
    let table = input.cx.refer(name, TableUse::Track(slot, key.output()));
    let session = matches!(input.ruleset, RuleSetKind::TcpConnection | RuleSetKind::TcpSession);
    Ok(Action::Counter(CounterEdit::Track(Track { slot, session, key, table })))
}

/// The number behind `track-sc`.
fn slot_of_name(input: &Input<'_, '_, '_>) -> Result<usize, ParseError> {
    let word = input.word(0);
    let digits = word.strip_prefix("track-sc").unwrap_or("");
    if digits.is_empty() {
        return Ok(0);
    }
    let slot: usize = digits.parse().map_err(|_| {
        ParseError::at(0, word.len() - digits.len(), format!("Wrong track-sc number '{digits}'."))
    })?;
    let message =
        format!("{slot} track-sc number exceeding {} (MAX_SESS_STKCTR-1) value", SLOTS - 1);
    (slot < SLOTS).then_some(slot).ok_or_else(|| ParseError::at(0, 8, message))
}

/// The place that parentheses name, 0 without any.
fn slot(input: &Input<'_, '_, '_>, at: usize, expected: &str) -> Result<usize, ParseError> {
    let text = input.parens.get(at).map_or("", String::as_str);
    let slot = if text.is_empty() && at == 0 { Some(0) } else { text.parse().ok() };
    let name = input.name();
    let slot: usize = slot.filter(|_| input.parens.len() <= at + 1).ok_or_else(|| {
        ParseError::new(0, format!("invalid stick table track ID. Expects {name}({expected})."))
    })?;
    let message = format!("invalid stick table track ID. The max allowed ID is {}.", SLOTS - 1);
    (slot < SLOTS).then_some(slot).ok_or_else(|| ParseError::new(0, message))
}

/// The index and the place that parentheses name.
fn element(input: &Input<'_, '_, '_>, what: &str) -> Result<(u32, usize), ParseError> {
    let (name, lower) = (input.name(), what.to_ascii_lowercase());
    let expected = format!("<{what} ID>,<Track ID>");
    if input.parens.len() < 2 {
        let message = format!("Missing {lower} ID '{name}'. Expects {name}({expected}).");
        return Err(ParseError::new(0, message));
    }
    let index = input.parens[0].parse().map_err(|_| {
        ParseError::new(0, format!("invalid {lower} ID '{name}'. Expects {name}({expected})."))
    })?;
    Ok((index, slot(input, 1, &expected)?))
}

pub(super) fn increment_first(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let slot = slot(input, 0, "<Track ID>")?;
    Ok(Action::Counter(CounterEdit::Increment(DataType::Gpc0, DataType::Gpc0Rate, slot)))
}

pub(super) fn increment_second(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let slot = slot(input, 0, "<Track ID>")?;
    Ok(Action::Counter(CounterEdit::Increment(DataType::Gpc1, DataType::Gpc1Rate, slot)))
}

pub(super) fn increment_element(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let (index, slot) = element(input, "GPC")?;
    Ok(Action::Counter(CounterEdit::IncrementElement(index, slot)))
}

pub(super) fn tag_first(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let slot = slot(input, 0, "<Track ID>")?;
    Ok(Action::Counter(CounterEdit::Tag(DataType::Gpt0, 0, slot, tag(input)?)))
}

pub(super) fn tag_element(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let (index, slot) = element(input, "GPT")?;
    Ok(Action::Counter(CounterEdit::Tag(DataType::Gpt, index, slot, tag(input)?)))
}

/// A number, or an expression.
fn tag(input: &mut Input<'_, '_, '_>) -> Result<Tag, ParseError> {
    let Some(word) = input.peek() else {
        // A missing value is zero; a condition would be read as an expression.
        return match input.rest().first() {
            None | Some(&"") => Ok(Tag::Fixed(0)),
            Some(_) => Err(ParseError::new(input.at, "expects a number or an expression")),
        };
    };
    if let Ok(value) = word.parse::<i64>() {
        input.at += 1;
        return Ok(Tag::Fixed(value as u32));
    }
    let start = input.at;
    let mut used = 0;
    let expr =
        Expr::parse(input.rest(), &mut used, input.cx).map_err(|error| error.shifted(start))?;
    if !expr.output().casts_to(Type::Int) {
        let message = format!("fetch method '{}' cannot be cast to an integer", expr.keyword());
        return Err(ParseError::new(start, message));
    }
    input.at += used;
    Ok(Tag::Expr(expr))
}

#[cfg(test)]
mod tests;
