//! The `Content-Length` of outgoing messages, which matches the body whatever rules have written.

use htx::{FieldRef, Head, HeaderId};

/// Parses digits, at least one; `None` beyond 64 bits.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    match text.len() {
        0 => None,
        // So few digits cannot overflow.
        1..=19 => text.iter().try_fold(0, |n, b| Some(10 * n + digit(b)?)),
        _ => text.iter().try_fold(0u64, |n, b| n.checked_mul(10)?.checked_add(digit(b)?)),
    }
}

/// The only field of a name, also if others of it were removed.
#[inline]
pub(crate) fn only(head: &Head, id: HeaderId) -> Option<FieldRef<'_>> {
    let mut fields = head.by_id(id);
    fields.next().filter(|_| fields.next().is_none())
}

/// As [`decimal`], without leading zeros, which some implementations read as octal.
#[inline]
pub(crate) fn canonical(text: &[u8]) -> Option<u64> {
    decimal(text).filter(|_| text.len() == 1 || text[0] != b'0')
}

/// The length announced by a single, canonical field.
#[inline]
pub(crate) fn announced(head: &Head) -> Option<u64> {
    canonical(only(head, HeaderId::ContentLength)?.value)
}

/// Makes a single field announce `n` bytes, in the place of the first one; changes nothing if it
/// does already.
#[inline]
pub(crate) fn announce(head: &mut Head, n: u64) {
    if announced(head) != Some(n) {
        write(head, n);
    }
}

#[inline(never)]
fn write(head: &mut Head, n: u64) {
    let mut digits = [0; 20];
    let text = format_decimal(n, &mut digits);
    match head.first(HeaderId::ContentLength).map(|field| field.index) {
        Some(kept) => {
            head.replace_value(kept, text);
            let again =
                |field: FieldRef<'_>| field.id == HeaderId::ContentLength && field.index != kept;
            head.as_fields_mut().remove_where(again);
        }
        None => head.push(b"content-length", text),
    }
}

/// Lets a request without a body announce at most a length of 0: a server would take the next
/// request for a body of any other length.
#[inline]
pub(crate) fn allow_only_zero(head: &mut Head) {
    if head.has(HeaderId::ContentLength) && announced(head) != Some(0) {
        head.remove_id(HeaderId::ContentLength);
    }
}

pub(crate) fn format_decimal(mut n: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return &buffer[at..];
        }
    }
}
