//! Message length from `Content-Length` and `Transfer-Encoding` (RFC 9112 section 6.3), and the
//! fields that announce it. Callers apply the rules for statuses and methods.

use htx::{FieldRef, Head, HeaderId, list};

use crate::BodyKind;
use crate::length::{self, decimal};

const CHUNKED: &[u8] = b"chunked";

/// The length of a message by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Framing {
    /// `None` without such fields.
    pub(super) length: Option<BodyKind>,
    /// `Content-Length` came along with `Transfer-Encoding` and was dropped, or chunks came in
    /// HTTP/1.0.
    pub(super) ambiguous: bool,
}

/// Framing fields from which no length follows, with the status for such a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadFraming {
    pub(super) status: u16,
    pub(super) reason: &'static str,
}

const fn bad(status: u16, reason: &'static str) -> BadFraming {
    BadFraming { status, reason }
}

/// Reads the framing fields, merges equal lengths into one field, and drops a length that chunks
/// override. With `lenient`, an empty item after the last coding is accepted.
#[inline]
pub(super) fn read(head: &mut Head, lenient: bool) -> Result<Framing, BadFraming> {
    let length = match sole_length(head) {
        None if head.has(HeaderId::ContentLength) => Some(content_length(head)?),
        sole => sole,
    };
    if !head.has(HeaderId::TransferEncoding) {
        return Ok(Framing { length: length.map(BodyKind::Length), ambiguous: false });
    }
    transfer_encoding(head, lenient)?;
    announce(head, BodyKind::Chunked);
    let ambiguous = length.is_some() || !head.version().at_least_11();
    Ok(Framing { length: Some(BodyKind::Chunked), ambiguous })
}

/// The value of `Content-Length` when there is one field with one number, without zeros in front.
#[inline]
fn sole_length(head: &Head) -> Option<u64> {
    length::canonical(head.as_fields().sole(HeaderId::ContentLength)?.value)
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
    let length = agreed.ok_or(BAD)?;
    if items > 1 || length::announced(head) != Some(length) {
        length::announce(head, length);
    }
    Ok(length)
}

/// Checks that `chunked` is the only coding. Another one before it is well-formed and not
/// supported: 422. An empty value counts as a different value.
fn transfer_encoding(head: &Head, lenient: bool) -> Result<(), BadFraming> {
    let (mut chunked, mut others) = (false, false);
    for field in head.by_id(HeaderId::TransferEncoding) {
        let trimmed = list::trim(field.value);
        let last = trimmed.strip_suffix(b",").filter(|_| lenient);
        let value = last.unwrap_or(trimmed);
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
            announce_chunks(head);
        }
        BodyKind::None | BodyKind::UntilClose => remove_length_fields(head),
        BodyKind::Tunnel => {}
    }
}

/// Makes a single field announce `chunked`, in the place of the first one. A peer may spell it in
/// another case, and a rule may have added a coding that was not applied.
#[inline]
fn announce_chunks(head: &mut Head) {
    let sole = length::only(head, HeaderId::TransferEncoding);
    if sole.is_none_or(|field| field.value != CHUNKED) {
        write_chunked(head);
    }
}

#[inline(never)]
fn write_chunked(head: &mut Head) {
    match head.first(HeaderId::TransferEncoding).map(|field| field.index) {
        Some(kept) => {
            head.replace_value(kept, CHUNKED);
            let again =
                |field: FieldRef<'_>| field.id == HeaderId::TransferEncoding && field.index != kept;
            head.as_fields_mut().remove_where(again);
        }
        None => head.push(b"transfer-encoding", CHUNKED),
    }
}

/// Removes every field that announces a length.
pub(super) fn remove_length_fields(head: &mut Head) {
    head.remove_id(HeaderId::ContentLength);
    head.remove_id(HeaderId::TransferEncoding);
}
