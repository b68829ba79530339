//! Hexadecimal digits and base64 (RFC 4648): bytes to text and back.

use stdx::base64::{self, Padding, STANDARD, URL_SAFE};

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Two upper-case digits per byte, with `separator` between groups of `chunk` bytes.
pub(crate) fn hex(bytes: &[u8], separator: &[u8], chunk: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    for (i, group) in bytes.chunks(chunk.max(1)).enumerate() {
        if i > 0 {
            out.extend_from_slice(separator);
        }
        for byte in group {
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        }
    }
    out
}

/// The bytes of an even number of hexadecimal digits.
pub(crate) fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits
        .chunks_exact(2)
        .map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
        .collect()
}

/// The standard base64 of `bytes`, with padding.
pub(crate) fn base64(bytes: &[u8]) -> Vec<u8> {
    base64::encode(bytes, STANDARD, Padding::Required)
}

/// The URL-safe base64 of `bytes`, without padding.
pub(crate) fn url_base64(bytes: &[u8]) -> Vec<u8> {
    base64::encode(bytes, URL_SAFE, Padding::None)
}

/// The bytes of standard base64 with padding.
pub(crate) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    base64::decode(text, STANDARD, Padding::Required)
}

/// The bytes of URL-safe base64 without padding (RFC 7515 section 2).
pub(crate) fn decode_url_base64(text: &[u8]) -> Option<Vec<u8>> {
    base64::decode(text, URL_SAFE, Padding::None)
}
