//! Message length from `Content-Length` and `Transfer-Encoding` (RFC 9112 section 6.3), and the
//! fields that announce it. Never looks at a status or a method: the callers do.

use htx::{Head, HeaderId, list};

use crate::BodyKind;
use crate::length::{self, decimal};

/// What the fields of a message say about its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Framing {
    /// `None` when the fields say nothing.
    pub(super) length: Option<BodyKind>,
    /// `Content-Length` came along with `Transfer-Encoding` and was dropped, or chunks came in
    /// HTTP/1.0.
    pub(super) ambiguous: bool,
}

/// Fields that make the length unknowable, with the status for a request that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadFraming {
    pub(super) status: u16,
    pub(super) reason: &'static str,
}

const fn bad(status: u16, reason: &'static str) -> BadFraming {
    BadFraming { status, reason }
}

/// Reads the framing fields, merges equal lengths into one field and drops a length that chunks
/// override.
#[inline]
pub(super) fn read(head: &mut Head) -> Result<Framing, BadFraming> {
    let length = match sole_length(head) {
        None if head.has(HeaderId::ContentLength) => Some(content_length(head)?),
        sole => sole,
    };
    if !head.has(HeaderId::TransferEncoding) {
        return Ok(Framing { length: length.map(BodyKind::Length), ambiguous: false });
    }
    transfer_encoding(head)?;
    head.remove_id(HeaderId::ContentLength);
    let ambiguous = length.is_some() || !head.version().at_least_11();
    Ok(Framing { length: Some(BodyKind::Chunked), ambiguous })
}

/// The value of `Content-Length` when there is one field with one number.
#[inline]
fn sole_length(head: &Head) -> Option<u64> {
    decimal(head.as_fields().sole(HeaderId::ContentLength)?.value)
}

/// The value that every item of every `Content-Length` agrees on.
#[inline(never)]
fn content_length(head: &mut Head) -> Result<u64, BadFraming> {
    const BAD: BadFraming = bad(400, "invalid content-length");
    let (mut agreed, mut items) = (None, 0);
    for field in head.by_id(HeaderId::ContentLength) {
        for item in field.value.split(|&b| b == b',') {
            let value = decimal(list::trim(item)).ok_or(BAD)?;
            if agreed.is_some_and(|before| before != value) {
                return Err(bad(400, "conflicting content-length values"));
            }
            agreed = Some(value);
            items += 1;
        }
    }
    if items > 1 {
        merge_lengths(head);
    }
    agreed.ok_or(BAD)
}

/// Keeps the first item of the first `Content-Length` alone, as it was written.
fn merge_lengths(head: &mut Head) {
    let Some(first) = head.first(HeaderId::ContentLength) else { return };
    let (kept, whole) = (first.index, first.value.len());
    let item = list::trim(first.value.split(|&b| b == b',').next().unwrap_or_default());
    if item.len() != whole {
        let item = item.to_vec();
        head.replace_value(kept, &item);
    }
    head.as_fields_mut().remove_where(|f| f.id == HeaderId::ContentLength && f.index != kept);
}

/// Checks that `chunked` is the only coding. Another one before it is well-formed and not
/// supported: 422. An empty one counts as another one, unless it is the last of its field.
fn transfer_encoding(head: &Head) -> Result<(), BadFraming> {
    let (mut chunked, mut others) = (false, false);
    for field in head.by_id(HeaderId::TransferEncoding) {
        let trimmed = list::trim(field.value);
        let value = trimmed.strip_suffix(b",").unwrap_or(trimmed);
        for coding in value.split(|&b| b == b',').map(list::trim) {
            if chunked {
                return Err(bad(400, "transfer-encoding: chunked is not the last coding"));
            }
            match coding.eq_ignore_ascii_case(b"chunked") {
                true => chunked = true,
                false => others = true,
            }
        }
    }
    match (chunked, others) {
        (true, false) => Ok(()),
        (true, true) => Err(bad(422, "unsupported transfer coding")),
        (false, _) => Err(bad(400, "transfer-encoding without chunked")),
    }
}

/// Makes the fields announce a body of this kind; leaves them alone when they already do.
pub(super) fn announce(head: &mut Head, body: BodyKind) {
    match body {
        BodyKind::Length(n) => {
            head.remove_id(HeaderId::TransferEncoding);
            length::announce(head, n);
        }
        BodyKind::Chunked => {
            head.remove_id(HeaderId::ContentLength);
            let sole = length::only(head, HeaderId::TransferEncoding);
            // A rule may have written another coding, which nobody has applied.
            if !sole.is_some_and(|field| field.value.eq_ignore_ascii_case(b"chunked")) {
                head.remove_id(HeaderId::TransferEncoding);
                head.push(b"transfer-encoding", b"chunked");
            }
        }
        BodyKind::None | BodyKind::UntilClose => silence(head),
        BodyKind::Tunnel => {}
    }
}

/// Removes every field that announces a length.
pub(super) fn silence(head: &mut Head) {
    head.remove_id(HeaderId::ContentLength);
    head.remove_id(HeaderId::TransferEncoding);
}
