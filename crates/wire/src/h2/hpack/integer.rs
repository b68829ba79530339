//! Integers with a prefix (RFC 7541 section 5.1), limited to 28 bits beyond the prefix.

/// Decodes an integer with a prefix of `bits` bits in its first byte; `None` if it is truncated or
/// above the limit.
#[inline]
pub(super) fn decode(input: &[u8], at: &mut usize, bits: u32) -> Option<usize> {
    let mask = (1usize << bits) - 1;
    let first = usize::from(*input.get(*at)?) & mask;
    *at += 1;
    if first < mask {
        return Some(first);
    }
    let (mut value, mut shift) = (first, 0);
    while shift <= 21 {
        let byte = usize::from(*input.get(*at)?);
        *at += 1;
        value += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
    None
}

/// Encodes an integer; `flags` are the bits before it in the first byte.
#[inline]
pub(crate) fn encode(value: usize, bits: u32, flags: u8, out: &mut Vec<u8>) {
    let mask = (1usize << bits) - 1;
    if value < mask {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}
