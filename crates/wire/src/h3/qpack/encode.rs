//! Encodes fields to field sections (RFC 9204 section 4.5), without a dynamic table: look-ups cost
//! more than the bytes they save, no section waits for the encoder stream, and the length of a
//! section reveals nothing about other messages.

use super::static_table::{self, TABLE};
use crate::h2::hpack::integer;
use htx::HeaderId;

/// Writes the prefix of a section without references to the dynamic table.
#[inline]
pub fn prefix(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// A `:status` field.
pub fn status(status: u16, out: &mut Vec<u8>) {
    let known = match status {
        103 => 24,
        200 => 25,
        304 => 26,
        404 => 27,
        503 => 28,
        100 => 63,
        204 => 64,
        206 => 65,
        302 => 66,
        400 => 67,
        403 => 68,
        421 => 69,
        425 => 70,
        500 => 71,
        _ => {
            let digit = |n: u16| b'0' + (n % 10) as u8;
            integer::encode(24, 4, 0x50, out);
            return out.extend_from_slice(&[
                3,
                digit(status / 100),
                digit(status / 10),
                digit(status),
            ]);
        }
    };
    debug_assert_eq!(TABLE[known].0, b":status", "an entry with a status");
    integer::encode(known, 6, 0xc0, out);
}

/// Writes a field with a name in lower case.
#[inline]
pub fn field(id: HeaderId, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    // Credentials are marked as never indexed, so that intermediaries do not store them (RFC 9204
    // section 7.1.3).
    let secret = matches!(id, HeaderId::Authorization | HeaderId::ProxyAuthorization);
    match static_table::index_of(id) {
        Some(index) => {
            integer::encode(usize::from(index), 4, if secret { 0x70 } else { 0x50 }, out);
        }
        None => {
            integer::encode(name.len(), 3, if secret { 0x30 } else { 0x20 }, out);
            out.extend_from_slice(name);
        }
    }
    // Huffman coding would save a fifth of the bytes for more work than everything else here.
    integer::encode(value.len(), 7, 0, out);
    out.extend_from_slice(value);
}
