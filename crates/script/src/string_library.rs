//! `string.find`, `match`, `gmatch` and `gsub` of scripts, with steps counted for the message.
//!
//! The functions give `true` and their results, or `false` and a message: the built-in code raises
//! it, so that scripts see the error values and places of the interpreter's own library.

use crate::arguments::{NativeArgs, NativeResult};
use crate::error::ScriptError;
use crate::pattern::{Captured, Matcher, PatternError};
use mlua::{BorrowedBytes, Function, Lua, MultiValue, Result, Table, Value};
use sample::regex::effort;

/// Steps that a call may take without being counted, beside [`PER_BYTE`] for each byte.
const FREE: u64 = 10_000;
const PER_BYTE: u64 = 16;

/// Characters that make a text a pattern.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// The results of a function, or the message of its error.
type Found = NativeResult<Vec<Value>>;

/// Adds the functions to the table that the built-in code takes them from.
pub(crate) fn add(lua: &Lua, native: &Table) -> Result<()> {
    native.set("string_find", function(lua, |lua, args| find(lua, args, "find"))?)?;
    native.set("string_match", function(lua, |lua, args| find(lua, args, "match"))?)?;
    native.set("string_gmatch", function(lua, gmatch)?)?;
    native.set("string_gsub", function(lua, gsub)?)
}

fn function(lua: &Lua, call: fn(&Lua, &NativeArgs) -> Found) -> Result<Function> {
    lua.create_function(move |lua, values: MultiValue| {
        results(lua, call(lua, &NativeArgs::new(values)))
    })
}

fn results(lua: &Lua, found: Found) -> Result<MultiValue> {
    let mut values = MultiValue::new();
    match found {
        Ok(found) => {
            values.extend(found);
            values.push_front(Value::Boolean(true));
        }
        Err(error) => {
            values.push_front(Value::String(lua.create_string(error.to_string())?));
            values.push_front(Value::Boolean(false));
        }
    }
    Ok(values)
}

/// The place from 0 at which a search begins; `None` behind the end.
fn beginning(init: Option<i64>, length: usize) -> Option<usize> {
    let place = match init.unwrap_or(1) {
        number if number > 0 => usize::try_from(number - 1).unwrap_or(usize::MAX),
        0 => 0,
        number => {
            let back = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
            length.saturating_sub(back)
        }
    };
    (place <= length).then_some(place)
}

/// A search for one pattern in one subject.
struct Search<'s> {
    matcher: Matcher<'s>,
    subject: &'s [u8],
    anchored: bool,
    /// Steps that count for nobody.
    free: u64,
}

impl<'s> Search<'s> {
    fn new(subject: &'s [u8], pattern: &'s [u8]) -> Search<'s> {
        let anchored = pattern.first() == Some(&b'^');
        Search::of(subject, &pattern[usize::from(anchored)..], anchored)
    }

    fn of(subject: &'s [u8], pattern: &'s [u8], anchored: bool) -> Search<'s> {
        let free = FREE + PER_BYTE * subject.len() as u64;
        let matcher = Matcher::new(subject, pattern, free.saturating_add(effort::left()));
        Search { matcher, subject, anchored, free }
    }

    /// The next match from this place on.
    fn next(&mut self, from: usize) -> NativeResult<Option<(usize, usize)>> {
        for start in from..=self.subject.len() {
            match self.matcher.at(start) {
                Ok(Some(end)) => return Ok(Some((start, end))),
                Ok(None) if self.anchored => break,
                Ok(None) => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
        Ok(None)
    }

    fn failure(&self, error: PatternError) -> ScriptError {
        match error {
            PatternError::Malformed(text) => ScriptError::Argument(text),
            PatternError::OutOfSteps => {
                ScriptError::refused("pattern too complex (the steps of the message are used up)")
            }
        }
    }

    fn capture(&self, lua: &Lua, index: usize, whole: (usize, usize)) -> NativeResult<Value> {
        match self.matcher.capture(index, whole).map_err(|error| self.failure(error))? {
            Captured::Position(place) => Ok(Value::Integer(place as i64)),
            Captured::Text(from, to) => made(lua, &self.subject[from..to]),
        }
    }

    /// All captures of a match; without any, the whole match where that is `wanted`.
    fn captures(&self, lua: &Lua, whole: (usize, usize), wanted: bool) -> NativeResult<Vec<Value>> {
        let count = self.matcher.captures().max(usize::from(wanted));
        (0..count).map(|index| self.capture(lua, index, whole)).collect()
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        let beyond = self.matcher.steps.saturating_sub(self.free);
        if beyond > 0 {
            let left = effort::left();
            effort::charge(beyond.min(left), beyond > left);
        }
    }
}

fn made(lua: &Lua, text: &[u8]) -> NativeResult<Value> {
    lua.create_string(text).map(Value::String).map_err(|_| ScriptError::out_of_memory())
}

/// `string.find` and `string.match`
fn find(lua: &Lua, args: &NativeArgs, name: &str) -> Found {
    let (text, pattern) = (args.text(lua, 0, name)?, args.text(lua, 1, name)?);
    let (subject, pattern) = (text.as_bytes(), pattern.as_bytes());
    let Some(from) = beginning(args.integer(lua, 2, name)?, subject.len()) else {
        return Ok(vec![Value::Nil]);
    };
    let finds = name == "find";
    let plain =
        args.get(3).is_some_and(|value| !matches!(value, Value::Nil | Value::Boolean(false)));
    if finds && (plain || !pattern.iter().any(|byte| SPECIAL.contains(byte))) {
        let place = memchr::memmem::find(&subject[from..], &pattern).map(|place| from + place);
        return Ok(match place {
            Some(place) => span((place, place + pattern.len())).into(),
            None => vec![Value::Nil],
        });
    }
    let mut search = Search::new(&subject, &pattern);
    let Some(whole) = search.next(from)? else { return Ok(vec![Value::Nil]) };
    let mut values = if finds { span(whole).into() } else { Vec::new() };
    values.extend(search.captures(lua, whole, !finds)?);
    Ok(values)
}

/// The first and the last position, from 1.
fn span((start, end): (usize, usize)) -> [Value; 2] {
    [Value::Integer(start as i64 + 1), Value::Integer(end as i64)]
}

/// `string.gmatch`: the function that gives the next match.
fn gmatch(lua: &Lua, args: &NativeArgs) -> Found {
    let (text, pattern) = (args.text(lua, 0, "gmatch")?, args.text(lua, 1, "gmatch")?);
    let length = text.as_bytes().len();
    let mut from = beginning(args.integer(lua, 2, "gmatch")?, length).unwrap_or(length + 1);
    let mut last = None;
    let next = lua.create_function_mut(move |lua, ()| {
        let found = next_of(lua, (&text.as_bytes(), &pattern.as_bytes()), &mut from, &mut last);
        results(lua, found)
    });
    let next = next.map_err(|_| ScriptError::out_of_memory())?;
    Ok(vec![Value::Function(next)])
}

fn next_of(
    lua: &Lua,
    (subject, pattern): (&BorrowedBytes, &BorrowedBytes),
    from: &mut usize,
    last: &mut Option<usize>,
) -> Found {
    // A `^` is no anchor here.
    let mut search = Search::of(subject, pattern, false);
    while let Some((start, end)) = search.next(*from)? {
        // An empty match at the end of the last one is none.
        if *last == Some(end) {
            *from = start + 1;
            continue;
        }
        (*from, *last) = (end, Some(end));
        return search.captures(lua, (start, end), true);
    }
    *from = subject.len() + 1;
    Ok(vec![Value::Nil])
}

/// `string.gsub`
fn gsub(lua: &Lua, args: &NativeArgs) -> Found {
    let (text, pattern) = (args.text(lua, 0, "gsub")?, args.text(lua, 1, "gsub")?);
    let with = match args.get(2) {
        Some(value @ (Value::Table(_) | Value::Function(_))) => value.clone(),
        Some(Value::String(_) | Value::Integer(_) | Value::Number(_)) => {
            Value::String(args.text(lua, 2, "gsub")?)
        }
        _ => return Err(args.bad(2, "gsub", "string/function/table")),
    };
    let (subject, pattern) = (text.as_bytes(), pattern.as_bytes());
    let most = args.integer(lua, 3, "gsub")?.unwrap_or(i64::MAX);
    let mut search = Search::new(&subject, &pattern);
    let (mut out, mut at, mut last, mut count) = (Vec::new(), 0, None, 0);
    while count < most {
        let here = search.matcher.at(at).map_err(|error| search.failure(error))?;
        match here {
            Some(end) if last != Some(end) => {
                count += 1;
                replace(lua, &search, (at, end), &with, &mut out)?;
                (at, last) = (end, Some(end));
            }
            _ if at < subject.len() => {
                out.push(subject[at]);
                at += 1;
            }
            _ => break,
        }
        if search.anchored {
            break;
        }
    }
    out.extend_from_slice(subject.get(at..).unwrap_or_default());
    Ok(vec![made(lua, &out)?, Value::Integer(count)])
}

/// Appends the replacement of a match.
fn replace(
    lua: &Lua,
    search: &Search<'_>,
    whole: (usize, usize),
    with: &Value,
    out: &mut Vec<u8>,
) -> NativeResult<()> {
    let called = |error: mlua::Error| ScriptError::raised(&error);
    let value = match with {
        Value::String(text) => return fill(search, whole, &text.as_bytes(), out),
        Value::Table(table) => {
            table.get::<Value>(search.capture(lua, 0, whole)?).map_err(called)?
        }
        Value::Function(function) => {
            let captures = search.captures(lua, whole, true)?;
            function.call::<Value>(MultiValue::from_vec(captures)).map_err(called)?
        }
        _ => Value::Nil,
    };
    match &value {
        Value::Nil | Value::Boolean(false) => {
            out.extend_from_slice(&search.subject[whole.0..whole.1]);
        }
        Value::String(_) | Value::Integer(_) | Value::Number(_) => {
            let text = lua.coerce_string(value).ok().flatten();
            let text = text.ok_or_else(ScriptError::out_of_memory)?;
            out.extend_from_slice(&text.as_bytes());
        }
        other => {
            let text = format!("invalid replacement value (a {})", other.type_name());
            return Err(ScriptError::Argument(text));
        }
    }
    Ok(())
}

/// Appends a replacement text with its captures.
fn fill(
    search: &Search<'_>,
    whole: (usize, usize),
    text: &[u8],
    out: &mut Vec<u8>,
) -> NativeResult<()> {
    let mut rest = text;
    while let Some(place) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..place]);
        let index = match rest.get(place + 1) {
            Some(b'%') => {
                out.push(b'%');
                None
            }
            Some(b'0') => {
                out.extend_from_slice(&search.subject[whole.0..whole.1]);
                None
            }
            Some(digit @ b'1'..=b'9') => Some(usize::from(digit - b'1')),
            _ => {
                let text = "invalid use of '%' in replacement string";
                return Err(ScriptError::Argument(text.to_owned()));
            }
        };
        if let Some(index) = index {
            let capture = search.matcher.capture(index, whole);
            match capture.map_err(|error| search.failure(error))? {
                Captured::Position(place) => out.extend_from_slice(place.to_string().as_bytes()),
                Captured::Text(from, to) => out.extend_from_slice(&search.subject[from..to]),
            }
        }
        rest = &rest[place + 2..];
    }
    out.extend_from_slice(rest);
    Ok(())
}
