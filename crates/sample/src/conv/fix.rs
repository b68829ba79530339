//! Converters of FIX messages (Financial Information eXchange, fixtrading.org).

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args};
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::value::{Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("fix_is_valid", "", (Type::Bin, Type::Bool), "Whether it begins with a valid FIX message.", is_valid),
    conv("fix_tag_value", "string", (Type::Bin, Type::Bin), "The value of a tag, by number or name.", tag_value).prepare(tag),
];

/// Ends every field.
const SOH: u8 = 1;

const BEGIN_STRING: i64 = 8;
const BODY_LENGTH: i64 = 9;
const CHECK_SUM: i64 = 10;
const MSG_TYPE: i64 = 35;

const NAMES: &[(&str, i64)] = &[
    ("BeginString", BEGIN_STRING),
    ("BodyLength", BODY_LENGTH),
    ("CheckSum", CHECK_SUM),
    ("MsgType", MSG_TYPE),
    ("SenderCompID", 49),
    ("TargetCompID", 56),
];

const VERSIONS: &[&[u8]] =
    &[b"FIX.4.0", b"FIX.4.1", b"FIX.4.2", b"FIX.4.3", b"FIX.4.4", b"FIXT.1.1"];

/// Bytes of the check sum field: `10=123` and its end.
const TRAILER: usize = 7;

fn tag(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let text = args.text(0);
    if text.is_empty() {
        return Err(ArgError::Rule("expects a tag by number or name"));
    }
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    let number =
        named.map(|(_, number)| *number).or_else(|| text.parse().ok().filter(|tag| *tag > 0));
    args.0[0] =
        Arg::Int(number.ok_or_else(|| ArgError::Value(format!("Unknown FIX tag name '{text}'")))?);
    Ok(())
}

fn number(digits: &[u8]) -> Option<i64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A field in front of `bytes`: tag, value, and how many bytes it takes.
struct FixField<'b> {
    tag: i64,
    value: &'b [u8],
    len: usize,
}

enum Next<'b> {
    FixField(FixField<'b>),
    /// The end of the field is not there.
    Short,
    Bad,
}

fn next(bytes: &[u8]) -> Next<'_> {
    let Some(end) = memchr::memchr(SOH, bytes) else { return Next::Short };
    let field = &bytes[..end];
    let parsed = memchr::memchr(b'=', field).and_then(|equals| {
        let tag = number(&field[..equals])?;
        Some((tag, &field[equals + 1..])).filter(|(_, value)| !value.is_empty())
    });
    match parsed {
        Some((tag, value)) => Next::FixField(FixField { tag, value, len: end + 1 }),
        None => Next::Bad,
    }
}

/// Whether a whole message is valid; nothing while more bytes may be missing.
fn check(bytes: &[u8]) -> Option<bool> {
    let mut at = 0;
    let mut head = Vec::with_capacity(2);
    for tag in [BEGIN_STRING, BODY_LENGTH] {
        match next(&bytes[at..]) {
            Next::FixField(field) if field.tag == tag => {
                head.push(field.value);
                at += field.len;
            }
            Next::Short => return None,
            _ => return Some(false),
        }
    }
    if !VERSIONS.contains(&head[0]) {
        return Some(false);
    }
    let Some(len) = number(head[1]).and_then(|len| usize::try_from(len).ok()) else {
        return Some(false);
    };
    let end = at.saturating_add(len);
    let trailer = bytes.get(end..end.saturating_add(TRAILER))?;
    let body = &bytes[at..end];
    Some(body_is_valid(body) && check_sum(&bytes[..end], trailer))
}

/// Well-formed fields up to the very end, the first of them the message's type.
fn body_is_valid(mut body: &[u8]) -> bool {
    let mut first = true;
    while !body.is_empty() {
        match next(body) {
            Next::FixField(field) if !first || field.tag == MSG_TYPE => body = &body[field.len..],
            _ => return false,
        }
        first = false;
    }
    !first
}

/// The sum of all bytes before the trailer, modulo 256, in three digits.
fn check_sum(bytes: &[u8], trailer: &[u8]) -> bool {
    let sum = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    match next(trailer) {
        Next::FixField(field) => {
            field.tag == CHECK_SUM
                && field.len == TRAILER
                && number(field.value) == Some(i64::from(sum))
        }
        _ => false,
    }
}

fn is_valid<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    check(&value.to_bin()?).map(Value::Bool)
}

/// The message is validated only as far as needed to find the tag (manual).
fn tag_value<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let (bytes, wanted) = (value.to_bin()?, args.int(0)?);
    let mut at = 0;
    while let Next::FixField(field) = next(&bytes[at..]) {
        if field.tag == wanted {
            let end = at + field.len - 1;
            let start = end - field.value.len();
            return Some(Value::Bin(bytes.slice(start, end)));
        }
        at += field.len;
    }
    None
}
