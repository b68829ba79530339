//! Ranges (RFC 9110 section 14) answered from a stored response that is whole.

use crate::conditional::{Validators, is_same_strong};
use crate::http_date;
use htx::list::trim;
use htx::{Head, HeaderId, Method};
use std::io::Write;

/// The part of a stored response that a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeAnswer {
    /// All of it, with status 200.
    Whole,
    /// A part, with status 206.
    Part {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// No part of the object, with status 416.
    Unsatisfiable,
}

/// The answer to a request for a response of `len` bytes. Several ranges, other units and
/// malformed ones are ignored, as a server may do; so is a range with `If-Range` for another
/// version.
pub fn answer(request: &Head, len: u64, stored: &Validators<'_>, now: i64) -> RangeAnswer {
    let mut fields = request.by_id(HeaderId::Range);
    let (Some(field), None) = (fields.next(), fields.next()) else { return RangeAnswer::Whole };
    if request.method_id() != Method::Get || !is_current(request, stored, now) {
        return RangeAnswer::Whole;
    }
    part(field.value, len).unwrap_or(RangeAnswer::Whole)
}

/// Whether `If-Range` is absent or names the stored response (RFC 9110 section 13.1.5).
fn is_current(request: &Head, stored: &Validators<'_>, now: i64) -> bool {
    let Some(field) = request.first(HeaderId::IfRange) else { return true };
    match field.value {
        tag @ ([b'"', ..] | [b'W', b'/', ..]) => {
            stored.etag.is_some_and(|etag| is_same_strong(etag, tag))
        }
        date => http_date::parse(date, now) == Some(stored.modified),
    }
}

/// The range of `bytes=first-last`, `bytes=first-` or `bytes=-count`; `None` if it has another
/// form.
fn part(value: &[u8], len: u64) -> Option<RangeAnswer> {
    let (unit, ranges) = value.split_at_checked(b"bytes=".len())?;
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return None;
    }
    let range = trim(ranges);
    let dash = range.iter().position(|&byte| byte == b'-')?;
    let (first, last) = (&range[..dash], &range[dash + 1..]);
    if first.is_empty() {
        return Some(suffix(number(last)?, len));
    }
    let first = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    if first >= len {
        return Some(RangeAnswer::Unsatisfiable);
    }
    Some(RangeAnswer::Part { first, last: last.min(len - 1) })
}

fn suffix(count: u64, len: u64) -> RangeAnswer {
    if count == 0 || len == 0 {
        return RangeAnswer::Unsatisfiable;
    }
    RangeAnswer::Part { first: len.saturating_sub(count), last: len - 1 }
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |n: u64, digit: &u8| n.saturating_mul(10).saturating_add((digit - b'0').into());
    Some(digits.iter().fold(0, add))
}

/// Appends the value of `Content-Range` for an answer from a response of `len` bytes; nothing for a
/// whole one.
pub fn write_content_range(answer: RangeAnswer, len: u64, out: &mut Vec<u8>) {
    // A vector takes all that is written.
    let _ = match answer {
        RangeAnswer::Whole => Ok(()),
        RangeAnswer::Part { first, last } => write!(out, "bytes {first}-{last}/{len}"),
        RangeAnswer::Unsatisfiable => write!(out, "bytes */{len}"),
    };
}

#[cfg(test)]
mod tests {
    use super::RangeAnswer::*;
    use super::*;

    const STORED: Validators<'_> = Validators { etag: Some(b"\"a\""), modified: 784_111_777 };

    fn of(method: &str, lines: &[(&str, &str)]) -> RangeAnswer {
        let mut head = Head::default();
        head.set_request(method.as_bytes(), b"/", htx::Version::Http11);
        lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
        answer(&head, 10, &STORED, 1_795_000_000)
    }

    #[test]
    fn one_range_is_answered_from_the_whole() {
        for (range, expected) in [
            ("bytes=0-0", Part { first: 0, last: 0 }),
            ("bytes=2-5", Part { first: 2, last: 5 }),
            ("Bytes=2-", Part { first: 2, last: 9 }),
            ("bytes=2-100", Part { first: 2, last: 9 }),
            ("bytes=9-99999999999999999999999", Part { first: 9, last: 9 }),
            ("bytes=-3", Part { first: 7, last: 9 }),
            ("bytes=-30", Part { first: 0, last: 9 }),
            ("bytes=10-", Unsatisfiable),
            ("bytes=10-20", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=5-2", Whole),
            ("bytes=0-1,3-4", Whole),
            ("bytes=", Whole),
            ("bytes=-", Whole),
            ("bytes=a-b", Whole),
            ("bytes=1 - 2", Whole),
            ("items=0-1", Whole),
            ("byte", Whole),
            ("", Whole),
        ] {
            assert_eq!(of("GET", &[("range", range)]), expected, "{range}");
        }
        assert_eq!(of("HEAD", &[("range", "bytes=0-0")]), Whole);
        assert_eq!(of("GET", &[("range", "bytes=0-0"), ("range", "bytes=1-1")]), Whole);
    }

    #[test]
    fn if_range_needs_the_same_version() {
        for (value, expected) in [
            ("\"a\"", Part { first: 0, last: 0 }),
            ("W/\"a\"", Whole),
            ("\"b\"", Whole),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Part { first: 0, last: 0 }),
            ("Sun, 06 Nov 1994 08:49:38 GMT", Whole),
            ("garbage", Whole),
        ] {
            assert_eq!(
                of("GET", &[("range", "bytes=0-0"), ("if-range", value)]),
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn content_range_has_part_and_length() {
        let text = |answer| {
            let mut out = Vec::new();
            write_content_range(answer, 10, &mut out);
            out
        };
        assert_eq!(text(Part { first: 2, last: 5 }), b"bytes 2-5/10");
        assert_eq!(text(Unsatisfiable), b"bytes */10");
        assert_eq!(text(Whole), b"");
    }

    #[test]
    fn an_empty_response_has_no_part() {
        assert_eq!(part(b"bytes=0-", 0), Some(Unsatisfiable));
        assert_eq!(part(b"bytes=-1", 0), Some(Unsatisfiable));
    }
}
