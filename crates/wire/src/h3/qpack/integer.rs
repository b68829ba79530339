//! Integers with a prefix (RFC 9204 section 4.1.1), where a truncated one differs from one that is
//! too large.

/// An integer above 2^62 - 1, or a string that is not Huffman code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidPrimitive;

/// Decodes an integer with a prefix of `bits` bits in its first byte; `None` if it is truncated.
#[inline]
pub(super) fn decode(
    input: &[u8],
    at: &mut usize,
    bits: u32,
) -> Result<Option<u64>, InvalidPrimitive> {
    let mask = (1u64 << bits) - 1;
    let Some(first) = input.get(*at) else { return Ok(None) };
    let first = u64::from(*first) & mask;
    let mut next = *at + 1;
    let (mut value, mut shift, mut more) = (first, 0, first == mask);
    while more {
        let Some(byte) = input.get(next) else { return Ok(None) };
        if shift > 56 {
            return Err(InvalidPrimitive);
        }
        next += 1;
        // At most 63 bits: the sum cannot overflow.
        value += u64::from(byte & 0x7f) << shift;
        shift += 7;
        more = byte & 0x80 != 0;
    }
    *at = next;
    if value > crate::h3::varint::MAX { Err(InvalidPrimitive) } else { Ok(Some(value)) }
}
