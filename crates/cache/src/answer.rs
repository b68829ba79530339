//! The answer that a stored response gives to a request: all of it, 304, a part, or 416.

use crate::conditional::{Validators, is_not_modified};
use crate::hit::Hit;
use crate::range::{self, RangeAnswer};
use htx::{Head, HeaderId};
use std::io::Write;

/// The answer to a request, decided by its conditions (RFC 9110 sections 13.2.2 and 14.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredAnswer {
    /// 304: the client has the response.
    NotModified,
    /// The response or a part of it.
    Content(RangeAnswer),
}

impl StoredAnswer {
    /// The answer of a response of `len` bytes with these validators; ranges are ignored unless
    /// `ranges` is set. `now` is the date in seconds since the epoch.
    pub fn to(
        request: &Head,
        len: u64,
        validators: &Validators<'_>,
        ranges: bool,
        now: i64,
    ) -> Self {
        if is_not_modified(request, validators, now) {
            return Self::NotModified;
        }
        Self::Content(match ranges {
            true => range::answer(request, len, validators, now),
            false => RangeAnswer::Whole,
        })
    }

    /// Changes the head of the stored response to that of the answer, and selects the content.
    pub fn apply(self, head: &mut Head, hit: &mut Hit) {
        match self {
            Self::NotModified => head.set_status(304),
            Self::Content(RangeAnswer::Whole) => {}
            Self::Content(answer) => apply_range(answer, head, hit),
        }
    }
}

fn apply_range(answer: RangeAnswer, head: &mut Head, hit: &mut Hit) {
    let mut range = Vec::new();
    range::write_content_range(answer, hit.content_len(), &mut range);
    let (status, part) = match answer {
        RangeAnswer::Part { first, last } => (206, first..last + 1),
        _ => (416, 0..0),
    };
    let len = part.end - part.start;
    hit.select(part);
    head.set_status(status);
    head.remove_id(HeaderId::ContentLength);
    let mut digits = [0; 20];
    let mut rest = &mut digits[..];
    // Twenty digits are enough for any number.
    let _ = write!(rest, "{len}");
    let left = rest.len();
    head.push(b"content-length", &digits[..digits.len() - left]);
    head.push(b"content-range", &range);
}
