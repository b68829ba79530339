//! The `language` converter: the best of an accept-language list.

use super::{Converter, conv};
use crate::args::Args;
use crate::facts::Facts;
use crate::header_value::{trim, values};
use crate::value::{Bytes, Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("language", "string[,string]", (Type::Str, Type::Str), "The one of the languages given (a;b;c) that the list prefers, or the default.", language),
];

/// A weight in thousandths (RFC 9110 section 12.4.2): `0.8` is 800. A malformed weight counts as 1.
fn weight(parameters: &[u8]) -> u32 {
    const WHOLE: u32 = 1000;
    let Some(text) = trim(parameters).strip_prefix(b"q=") else { return WHOLE };
    let (whole, decimals) = match text.split_first() {
        Some((b'0', rest)) => (0, rest),
        Some((b'1', rest)) => (WHOLE, rest),
        _ => return WHOLE,
    };
    let digits = decimals.strip_prefix(b".").unwrap_or_default().iter().take(3);
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).zip([100, 10, 1]);
    let fraction: u32 = digits.map(|(digit, unit)| u32::from(digit - b'0') * unit).sum();
    (whole + fraction).min(WHOLE)
}

/// The entry of `offered` that `wanted` means: the variant itself, else its base language.
fn offer<'o>(offered: &'o [u8], wanted: &[u8]) -> Option<&'o [u8]> {
    let find = |name: &[u8]| offered.split(|byte| *byte == b';').find(|entry| *entry == name);
    let base = wanted.split(|byte| *byte == b'-').next().unwrap_or_default();
    find(wanted).or_else(|| find(base)).filter(|entry| !entry.is_empty())
}

fn language<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let (list, offered) = (value.to_str()?, args.bytes(0));
    let mut best: Option<(u32, &'e [u8])> = None;
    for item in values(&list) {
        let end = memchr::memchr(b';', item).unwrap_or(item.len());
        let weight = weight(item.get(end + 1..).unwrap_or_default());
        // The first among equals wins, and what weighs nothing is refused.
        if weight == 0 || best.is_some_and(|(found, _)| found >= weight) {
            continue;
        }
        if let Some(entry) = offer(offered, trim(&item[..end])) {
            best = Some((weight, entry));
        }
    }
    let default = || Some(args.bytes(1)).filter(|text| !text.is_empty());
    best.map(|(_, entry)| entry).or_else(default).map(|text| Value::Str(Bytes::Borrowed(text)))
}
