//! Actions that edit header fields and the status.

use super::host::follow_host;
use super::{Action, Input, Outcome};
use crate::context::{Context, facts};

use htx::Head;
use sample::logformat::encode_line_ends;
use sample::pattern::{Match, View};
use sample::regex::Regex;
use sample::{LogFormat, LogStyle, ParseError, Side, Value};

/// Bytes that a header line takes besides name and value: `: ` and the line's end.
const LINE: usize = 4;

/// A compiled edit.
#[derive(Debug)]
pub enum HeaderEdit {
    /// `set-header`
    Set(Box<[u8]>, LogFormat),
    /// `add-header`
    Add(Box<[u8]>, LogFormat),
    /// `del-header` by exact name
    Del(Box<[u8]>),
    /// `del-header -m`
    DelMatching(View),
    /// `replace-header`
    ReplaceHeader(Box<[u8]>, Regex, LogFormat),
    /// `replace-value`
    ReplaceValue(Box<[u8]>, Regex, LogFormat),
    /// `set-status`
    Status(u16, Option<Box<[u8]>>),
}

impl HeaderEdit {
    pub(super) fn run<'r>(&'r self, side: Side, cx: &mut dyn Context) -> Outcome<'r> {
        match self {
            HeaderEdit::Set(name, format) | HeaderEdit::Add(name, format) => {
                let replaces = matches!(self, HeaderEdit::Set(..));
                with_value(format, cx, |value, cx| write(side, name, value, replaces, cx))
            }
            HeaderEdit::Del(name) => {
                if let Some(head) = cx.head_mut(side) {
                    head.remove(name);
                }
                Outcome::Next
            }
            HeaderEdit::DelMatching(names) => {
                if let Some(head) = cx.head_mut(side) {
                    head.as_fields_mut().remove_where(|f| names.matches(&Value::str(f.name)));
                }
                Outcome::Next
            }
            HeaderEdit::ReplaceHeader(name, regex, format) => {
                with_value(format, cx, |template, cx| {
                    replace(side, name, cx, |value, out| expand(regex, value, template, out))
                })
            }
            HeaderEdit::ReplaceValue(name, regex, format) => {
                with_value(format, cx, |template, cx| {
                    replace(side, name, cx, |value, out| replace_items(value, regex, template, out))
                })
            }
            HeaderEdit::Status(status, reason) => {
                let Some(head) = cx.head_mut(side).filter(|head| head.is_response()) else {
                    return Outcome::Next;
                };
                if !may_become(head, *status) {
                    return Outcome::NoRoom;
                }
                match reason {
                    Some(reason) => head.set_response(head.version(), *status, reason),
                    None => head.set_status(*status),
                }
                Outcome::Next
            }
        }
    }
}

/// Whether a rule may give a response this status. A final response with an interim status would
/// let the client wait for another one, and take the next response for it. A response with an
/// `Upgrade` field may become a 101, which ends its exchange: configurations answer websockets so.
pub(super) fn may_become(head: &Head, status: u16) -> bool {
    status >= 200 || status == head.status() || (status == 101 && head.get(b"upgrade").is_some())
}

/// Builds the format's text in the context's scratch buffer and hands it on.
pub(super) fn with_value<'r>(
    format: &LogFormat,
    cx: &mut dyn Context,
    then: impl FnOnce(&[u8], &mut dyn Context) -> Outcome<'r>,
) -> Outcome<'r> {
    if let Some(literal) = format.as_literal() {
        return then(literal, cx);
    }
    let mut scratch = cx.take_scratch();
    scratch.clear();
    format.write(facts(cx), &mut scratch);
    let outcome = then(&scratch, cx);
    cx.give_scratch(scratch);
    outcome
}

/// Appends what `template` makes of the first match in `subject`; false without a match. The
/// template may hold what the client sends, so that bytes which end a line or a text are encoded:
/// `\x0d\x0a` begins no line. Other control characters stay as they are, as in HAProxy.
pub(super) fn expand(regex: &Regex, subject: &[u8], template: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let matches = regex.expand(subject, template, out);
    encode_line_ends(start, out);
    matches
}

pub(super) fn write<'r>(
    side: Side,
    name: &[u8],
    value: &[u8],
    replaces: bool,
    cx: &mut dyn Context,
) -> Outcome<'r> {
    let room = cx.rewrite_room(side);
    let Some(head) = cx.head_mut(side) else { return Outcome::Next };
    let freed = if replaces {
        head.all(name).map(|field| field.name.len() + field.value.len() + LINE).sum()
    } else {
        0
    };
    if (name.len() + value.len() + LINE).saturating_sub(freed) > room {
        return Outcome::NoRoom;
    }
    if replaces {
        head.set(name, value);
    } else {
        head.push(name, value);
    }
    if name.eq_ignore_ascii_case(b"host") {
        follow_host(head);
    }
    Outcome::Next
}

/// Gives every line of that name the value that `change` builds, if it returns `true`.
pub(super) fn replace<'r>(
    side: Side,
    name: &[u8],
    cx: &mut dyn Context,
    change: impl Fn(&[u8], &mut Vec<u8>) -> bool,
) -> Outcome<'r> {
    let mut room = cx.rewrite_room(side);
    let Some(head) = cx.head_mut(side) else { return Outcome::Next };
    let mut value = Vec::new();
    // An index behind the last one found: replacing keeps a field's place.
    let mut from = 0;
    while let Some((index, old)) = next_field(head, name, from) {
        from = index + 1;
        value.clear();
        if !change(&old, &mut value) {
            continue;
        }
        let growth = value.len().saturating_sub(old.len());
        if growth > room {
            return Outcome::NoRoom;
        }
        room -= growth;
        head.replace_value(index, &value);
    }
    if name.eq_ignore_ascii_case(b"host") {
        follow_host(head);
    }
    Outcome::Next
}

fn next_field(head: &Head, name: &[u8], from: usize) -> Option<(usize, Vec<u8>)> {
    head.all(name)
        .find(|field| field.index >= from)
        .map(|field| (field.index, field.value.to_vec()))
}

/// Replaces each comma-separated item that matches; false when none does. Blanks around items stay,
/// as in the manual's example.
pub(super) fn replace_items(
    value: &[u8],
    regex: &Regex,
    template: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    let (mut changed, mut rest) = (false, Some(value));
    while let Some(text) = rest {
        let (item, more) = text.split_at(htx::list::item_end(text));
        rest = more.split_first().map(|(_, more)| more);
        let trimmed = htx::list::trim(item);
        let lead = item.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let tail = item.len() - trimmed.len() - lead.min(item.len() - trimmed.len());
        out.extend_from_slice(&item[..lead]);
        if expand(regex, trimmed, template, out) {
            changed = true;
        } else {
            out.extend_from_slice(trimmed);
        }
        out.extend_from_slice(&item[item.len() - tail..]);
        if rest.is_some() {
            out.push(b',');
        }
    }
    changed
}

/// A header name as configured; names go out in lower case.
fn name(input: &mut Input<'_, '_, '_>, expected: &str) -> Result<Box<[u8]>, ParseError> {
    Ok(input.take(expected)?.to_ascii_lowercase().into_bytes().into())
}

pub(super) fn format(
    input: &mut Input<'_, '_, '_>,
    expected: &str,
) -> Result<LogFormat, ParseError> {
    let text = input.take(expected)?;
    let at = input.at - 1;
    LogFormat::parse(text, LogStyle::Header, input.cx).map_err(|error| error.shifted(at))
}

pub(super) fn regex(input: &mut Input<'_, '_, '_>, expected: &str) -> Result<Regex, ParseError> {
    let text = input.take(expected)?;
    Regex::new(text, false).map_err(|message| input.fail(message))
}

const TWO: &str = "expects exactly 2 arguments";
const THREE: &str = "expects exactly 3 arguments";

pub(super) fn set(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Header(HeaderEdit::Set(name(input, TWO)?, format(input, TWO)?)))
}

pub(super) fn add(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Header(HeaderEdit::Add(name(input, TWO)?, format(input, TWO)?)))
}

pub(super) fn del(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    const EXPECTED: &str = "expects exactly 1 argument";
    let pattern = input.take(EXPECTED)?;
    let word = input.at - 1;
    if input.peek() != Some("-m") {
        let name = pattern.to_ascii_lowercase().into_bytes().into();
        return Ok(Action::Header(HeaderEdit::Del(name)));
    }
    input.at += 1;
    let method = input.take("-m flag expects exactly 1 argument")?;
    let method = match Match::find(method) {
        Some(m @ (Match::Str | Match::Beg | Match::End | Match::Sub | Match::Reg)) => m,
        _ => return Err(input.fail(format!("-m with unsupported matching method '{method}'"))),
    };
    // Stored names are in lower case, and names do not know case.
    let names =
        View::fixed(method, true, pattern).map_err(|message| ParseError::new(word, message))?;
    Ok(Action::Header(HeaderEdit::DelMatching(names)))
}

pub(super) fn replace_header(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let (name, regex) = (name(input, THREE)?, regex(input, THREE)?);
    Ok(Action::Header(HeaderEdit::ReplaceHeader(name, regex, format(input, THREE)?)))
}

pub(super) fn replace_value(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let (name, regex) = (name(input, THREE)?, regex(input, THREE)?);
    Ok(Action::Header(HeaderEdit::ReplaceValue(name, regex, format(input, THREE)?)))
}

pub(super) fn status(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    const EXPECTED: &str = "expects 1 argument: <status>; or 3 arguments: <status> reason <fmt>";
    let text = input.take(EXPECTED)?;
    let status = text.parse().ok().filter(|status| (100..=999).contains(status));
    let status =
        status.ok_or_else(|| input.fail("expects an integer status code between 100 and 999"))?;
    if status < 200 && status != 101 {
        input.cx.warn(format!(
            "an interim status ({status}) cannot replace a final one: this rule fails for final responses."
        ));
    }
    let mut reason = None;
    if input.peek() == Some("reason") {
        input.at += 1;
        reason = Some(sample::word::to_bytes(input.take(EXPECTED)?).into());
    }
    Ok(Action::Header(HeaderEdit::Status(status, reason)))
}
