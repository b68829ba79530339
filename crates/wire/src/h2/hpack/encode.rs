//! Encodes fields to header blocks (RFC 7541 section 6), without a dynamic table: look-ups cost
//! more than the bytes they save, and the length of a block reveals nothing about other messages.

use super::integer;
use super::static_table::{self, TABLE};
use htx::HeaderId;

/// Writes a dynamic table size update.
pub fn size_update(size: u32, out: &mut Vec<u8>) {
    integer::encode(size as usize, 5, 0x20, out);
}

/// A `:status` field.
pub fn status(status: u16, out: &mut Vec<u8>) {
    let known: u8 = match status {
        200 => 8,
        204 => 9,
        206 => 10,
        304 => 11,
        400 => 12,
        404 => 13,
        500 => 14,
        _ => 0,
    };
    if known != 0 {
        out.push(0x80 | known);
        return;
    }
    let digit = |n: u16| b'0' + (n % 10) as u8;
    out.extend_from_slice(&[8, 3, digit(status / 100), digit(status / 10), digit(status)]);
}

/// Writes a field with the name of an entry of the static table, counted from 1.
pub fn indexed_name(index: usize, value: &[u8], out: &mut Vec<u8>) {
    debug_assert!((1..=TABLE.len()).contains(&index), "an entry of the static table");
    integer::encode(index, 4, 0, out);
    string(value, out);
}

/// Writes a field with a name in lower case.
#[inline]
pub fn field(id: HeaderId, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    match static_table::index_of(id) {
        0 => {
            out.push(0);
            string(name, out);
            string(value, out);
        }
        index => {
            // Credentials are marked as never indexed, so that intermediaries do not store them
            // (RFC 7541 section 7.1.3).
            let secret = matches!(id, HeaderId::Authorization | HeaderId::ProxyAuthorization);
            integer::encode(index, 4, if secret { 0x10 } else { 0 }, out);
            string(value, out);
        }
    }
}

/// Writes a plain string: Huffman coding would save a fifth of its bytes for more work than
/// everything else here.
#[inline]
fn string(text: &[u8], out: &mut Vec<u8>) {
    integer::encode(text.len(), 7, 0, out);
    out.extend_from_slice(text);
}
