//! Character classes of RFC 9110 section 5.6.2 as tables, and searches over eight bytes at a time.

use stdx::byte_set::alphanumeric_and;

/// `tchar`: the bytes of methods and field names.
const TOKEN: [bool; 256] = alphanumeric_and(b"!#$%&'*+-.^_`|~");

#[inline]
pub(super) fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// Length of the token that `text` starts with.
#[inline]
pub(super) fn token_len(text: &[u8]) -> usize {
    text.iter().position(|&b| !is_token(b)).unwrap_or(text.len())
}

#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Number of spaces and tabs that `text` starts with.
#[inline]
pub(super) fn blank_len(text: &[u8]) -> usize {
    text.iter().position(|&b| !is_blank(b)).unwrap_or(text.len())
}

/// Number of spaces and tabs that `text` ends with.
#[inline]
pub(super) fn trailing_blank_len(text: &[u8]) -> usize {
    text.iter().rev().position(|&b| !is_blank(b)).unwrap_or(text.len())
}

/// A machine word with this byte in each position.
const fn each(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// Sets the high bit of the bytes of a little-endian word that are below `limit`, at most 0x80.
/// Exact up to the first such byte.
#[inline(always)]
fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(each(limit)) & !word & each(0x80)
}

/// Index of the first marked byte.
#[inline(always)]
fn first(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

/// Offset of the first colon, if it is in the words that hold the first 32 bytes of `text`.
#[inline]
pub(super) fn near_colon(text: &[u8]) -> Option<usize> {
    let near = text.first_chunk::<32>().map_or(text, |near| near);
    let mut at = 0;
    for &word in near.as_chunks::<8>().0 {
        let colons = below(u64::from_le_bytes(word) ^ each(b':'), 1);
        if colons != 0 {
            return Some(at + first(colons));
        }
        at += 8;
    }
    None
}

/// Whether a byte may occur in a request target: visible ASCII except `#`, which begins a fragment
/// (RFC 9112 section 3.2).
#[inline]
pub(super) fn is_target(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'#'
}

/// Length of the request target at the front of `text`.
#[inline]
pub(super) fn target_len(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (i, &word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(word);
        let above = (word | word.wrapping_add(each(1))) & each(0x80);
        let others = below(word, b'!') | above | below(word ^ each(b'#'), 1);
        if others != 0 {
            return 8 * i + first(others);
        }
    }
    let end = rest.iter().position(|&b| !is_target(b));
    text.len() - rest.len() + end.unwrap_or(rest.len())
}

/// Bytes searched inline before a call of memchr pays.
const NEAR: usize = 64;

/// Offset of the CRLF that ends the line, if there is one and neither NUL nor a line end comes
/// before; within the first 64 bytes, no other control character below CR either.
#[inline]
pub(super) fn crlf(text: &[u8]) -> Option<usize> {
    let near = text.first_chunk::<NEAR>().map_or(text, |near| near);
    let mut at = 0;
    for &word in near.as_chunks::<8>().0 {
        let controls = below(u64::from_le_bytes(word), b'\r' + 1);
        if controls != 0 {
            return crlf_at(text, at + first(controls));
        }
        at += 8;
    }
    far_crlf(text, at)
}

#[inline(always)]
fn crlf_at(text: &[u8], at: usize) -> Option<usize> {
    text[at..].starts_with(b"\r\n").then_some(at)
}

/// As [`crlf`], beyond the words that were searched.
#[inline(never)]
fn far_crlf(text: &[u8], from: usize) -> Option<usize> {
    let found = memchr::memchr3(b'\r', b'\n', b'\0', &text[from..])?;
    crlf_at(text, from + found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            20 => 0x20..=0x7eu8,
            1 => any::<u8>(),
            1 => proptest::sample::select(&b":\r\n \t!#~\x7f\x80\xff"[..]),
        ];
        let line = proptest::collection::vec(byte, 0..150);
        (line, any::<bool>()).prop_map(|(line, ends)| match ends {
            true => [&line, &b"\r\n"[..]].concat(),
            false => line,
        })
    }

    proptest! {
        #[test]
        fn word_and_byte_searches_agree(text in text()) {
            let target = text.iter().position(|&b| !is_target(b)).unwrap_or(text.len());
            prop_assert_eq!(target_len(&text), target);

            let seen = &text[..(text.len() & !7).min(32)];
            prop_assert_eq!(near_colon(&text), seen.iter().position(|&b| b == b':'));

            let end = text.iter().position(|b| matches!(b, b'\r' | b'\n' | b'\0'));
            let whole = end.filter(|&at| text[at..].starts_with(b"\r\n"));
            match crlf(&text) {
                Some(at) => prop_assert_eq!(Some(at), whole),
                None => prop_assert!(whole.is_none_or(|at| text[..at].iter().any(|&b| b < b' '))),
            }
        }
    }
}
