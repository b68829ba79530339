//! Character classes of RFC 9110 section 5.6.2 as tables. Never looks at more than one byte.

/// `tchar`: what methods and field names are made of.
const TOKEN: [bool; 256] = token_table();

const fn token_table() -> [bool; 256] {
    let mut table = [false; 256];
    let extra = b"!#$%&'*+-.^_`|~";
    let mut i = 0;
    while i < extra.len() {
        table[extra[i] as usize] = true;
        i += 1;
    }
    let mut byte = 0u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = true;
        }
        byte += 1;
    }
    table
}

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
