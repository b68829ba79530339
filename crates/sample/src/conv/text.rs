//! Converters of texts: case, parts, replacement, comparison.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args};
use crate::context::ParseContext;
use crate::facts::{Facts, Side};
use crate::regex::Regex;
use crate::value::{Bytes, Type, Value};

const STR: (Type, Type) = (Type::Str, Type::Str);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("lower", "", STR, "Lower case.", |_, v, _| lower(v)).input_only(),
    conv("upper", "", STR, "Upper case.", |_, v, _| upper(v)).input_only(),
    conv("length", "", (Type::Str, Type::Int), "Length in bytes.", |_, v, _| Some(Value::Int(v.to_str()?.len() as i64))),
    conv("bytes", "integer[,integer]", (Type::Bin, Type::Bin), "Some bytes: offset and length.", bytes),
    conv("field", "integer,string[,integer]", STR, "The nth part between delimiters, empty ones counted.", field).prepare(delimiters).input_only(),
    conv("word", "integer,string[,integer]", STR, "The nth part between delimiters, empty ones skipped.", word).prepare(delimiters).input_only(),
    conv("ltrim", "string", STR, "Without those characters at the beginning.", ltrim),
    conv("rtrim", "string", STR, "Without those characters at the end.", rtrim),
    conv("cut_crlf", "", STR, "Up to the first CR or LF.", cut_crlf),
    conv("concat", "string[,string,string]", STR, "With a text, a variable and a text behind it.", concat).prepare(second_var),
    conv("add_item", "string,string[,string]", STR, "With a delimiter, a variable and a text behind it.", add_item).prepare(item),
    conv("strcmp", "string", (Type::Str, Type::Int), "Compared with a variable: negative, zero or positive.", strcmp).prepare(first_var),
    conv("regsub", "regex,string[,string]", STR, "With what a regular expression matches replaced.", regsub).prepare(substitution),
    conv("capture-req", "integer", STR, "Kept in a request capture slot.", |a, v, f| captured(Side::Request, a, v, f)),
    conv("capture-res", "integer", STR, "Kept in a response capture slot.", |a, v, f| captured(Side::Response, a, v, f)),
];

fn lower(value: Value<'_>) -> Option<Value<'_>> {
    mapped(value, u8::is_ascii_uppercase, u8::to_ascii_lowercase)
}

fn upper(value: Value<'_>) -> Option<Value<'_>> {
    mapped(value, u8::is_ascii_lowercase, u8::to_ascii_uppercase)
}

/// Maps every byte, without a copy when none would change.
fn mapped<'e>(value: Value<'e>, changes: fn(&u8) -> bool, map: fn(&u8) -> u8) -> Option<Value<'e>> {
    let text = value.to_str()?;
    if !text.iter().any(changes) {
        return Some(Value::Str(text));
    }
    let mut owned = text.into_vec();
    owned.iter_mut().for_each(|byte| *byte = map(byte));
    Some(Value::Str(Bytes::Owned(owned)))
}

fn bytes<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let bytes = value.to_bin()?;
    // A negative offset is beyond the end, a negative length no limit.
    let from = usize::try_from(args.int(0)?).unwrap_or(usize::MAX);
    let len = args.int(1).and_then(|len| usize::try_from(len).ok());
    let to = from.saturating_add(len.unwrap_or(usize::MAX));
    Some(Value::Bin(bytes.slice(from, to)))
}

fn delimiters(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    if args.int(0) == Some(0) {
        return Err(ArgError::Rule("index must not be zero"));
    }
    if args.bytes(1).is_empty() {
        return Err(ArgError::Rule("missing delimiters"));
    }
    Ok(())
}

/// The span of parts `index` to `index + count - 1` of `text`: counted from 1, or from the end when
/// negative, then leftwards. A count of 0 takes all to the end in the direction of counting.
fn parts(text: &[u8], args: &Args, skip_empty: bool) -> Option<(usize, usize)> {
    let delimiters = args.bytes(1);
    let is_delimiter = |byte: &u8| delimiters.contains(byte);
    let index = args.int(0)?;
    let count = args.int(2).unwrap_or(1);
    let mut spans = Vec::new();
    let mut start = 0;
    for part in text.split(is_delimiter) {
        if !(skip_empty && part.is_empty()) {
            spans.push((start, start + part.len()));
        }
        start += part.len() + 1;
    }
    let total = spans.len() as i64;
    let nth = |number: i64| spans.get(usize::try_from(number.checked_sub(1)?).ok()?).copied();
    // More than there is takes the outer delimiters of that side along.
    let count = if count > 0 { count } else { i64::MAX };
    if index > 0 {
        let last = nth(index.saturating_add(count - 1));
        Some((nth(index)?.0, last.map_or(text.len(), |span| span.1)))
    } else {
        let last = total.saturating_add(1).saturating_add(index);
        let first = nth(last.saturating_sub(count - 1));
        Some((first.map_or(0, |span| span.0), nth(last)?.1))
    }
}

fn field<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let (from, to) = parts(&text, args, false)?;
    Some(Value::Str(text.slice(from, to)))
}

fn word<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    // Unlike a field, a word that is not there is an empty one.
    let (from, to) = parts(&text, args, true).unwrap_or_default();
    Some(Value::Str(text.slice(from, to)))
}

fn ltrim<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let (text, chars) = (value.to_str()?, args.bytes(0));
    let from = text.iter().position(|byte| !chars.contains(byte)).unwrap_or(text.len());
    Some(Value::Str(text.slice(from, usize::MAX)))
}

fn rtrim<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let (text, chars) = (value.to_str()?, args.bytes(0));
    let to = text.iter().rposition(|byte| !chars.contains(byte)).map_or(0, |at| at + 1);
    Some(Value::Str(text.slice(0, to)))
}

fn cut_crlf<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let to = memchr::memchr2(b'\r', b'\n', &text).unwrap_or(text.len());
    Some(Value::Str(text.slice(0, to)))
}

fn first_var(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    args.make_var(0)
}

fn second_var(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    args.make_var(1)
}

fn item(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    if args.bytes(1).is_empty() && args.bytes(2).is_empty() {
        return Err(ArgError::Rule("one of the optional arguments has to be nonempty"));
    }
    args.make_var(1)
}

/// The text of a variable, empty when there is none.
fn var_text<'e>(args: &Args, index: usize, facts: &'e dyn Facts) -> Bytes<'e> {
    args.var(index).and_then(|name| facts.var(name)?.to_str()).unwrap_or(Bytes::Borrowed(b""))
}

fn concat<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let mut out = value.to_str()?.into_vec();
    out.extend_from_slice(args.bytes(0));
    out.extend_from_slice(&var_text(args, 1, facts));
    out.extend_from_slice(args.bytes(2));
    Some(Value::Str(Bytes::Owned(out)))
}

fn add_item<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let mut out = value.to_str()?.into_vec();
    let var = var_text(args, 1, facts);
    let suffix = args.bytes(2);
    if !out.is_empty() && (!var.is_empty() || !suffix.is_empty()) {
        out.extend_from_slice(args.bytes(0));
    }
    out.extend_from_slice(&var);
    out.extend_from_slice(suffix);
    Some(Value::Str(Bytes::Owned(out)))
}

fn strcmp<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let other = facts.var(args.var(0)?)?.to_str()?;
    // As strcmp(3): the difference of the first bytes that are not the same. Lengths only decide
    // between texts that begin alike.
    let unlike = text.iter().zip(other.iter()).find(|(one, two)| one != two);
    let order = match unlike {
        Some((one, two)) => i64::from(*one) - i64::from(*two),
        None => text.len().cmp(&other.len()) as i64,
    };
    Some(Value::Int(order))
}

fn substitution(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let mut ignore_case = false;
    let mut all = false;
    for flag in String::from_utf8_lossy(args.bytes(2)).chars() {
        match flag {
            'i' => ignore_case = true,
            'g' => all = true,
            other => {
                return Err(ArgError::Value(format!(
                    "invalid regex flag '{other}', only 'i' and 'g' are supported"
                )));
            }
        }
    }
    let regex = Regex::from_bytes(args.bytes(0), ignore_case)?;
    args.0[0] = Arg::Regex(regex);
    args.0.truncate(2);
    args.0.push(Arg::Int(i64::from(all)));
    Ok(())
}

fn regsub<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let Arg::Regex(regex) = args.get(0) else { return None };
    if !regex.is_match(&text) {
        return Some(Value::Str(text));
    }
    let mut out = Vec::with_capacity(text.len());
    regex.replace(&text, args.bytes(1), args.int(2) == Some(1), &mut out);
    Some(Value::Str(Bytes::Owned(out)))
}

fn captured<'e>(side: Side, args: &Args, value: Value<'e>, facts: &dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let slot = usize::try_from(args.int(0)?).ok()?;
    // Without such a slot the capture fails silently (manual): there is no value.
    facts.set_capture(side, slot, &text).then_some(Value::Str(text))
}
