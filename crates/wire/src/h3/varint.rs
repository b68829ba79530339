//! Integers of variable length (RFC 9000 section 16): two bits of length, then 6 to 62 bits.

use crate::sink::Sink;

/// The largest value.
pub const MAX: u64 = (1 << 62) - 1;

/// Decodes the integer at the front of `input`, with its size in bytes; `None` if it is truncated.
#[inline]
pub fn decode(input: &[u8]) -> Option<(u64, usize)> {
    let size = 1usize << (input.first()? >> 6);
    let bytes = input.get(..size)?;
    let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    // The two bits of length are the highest ones.
    Some((value & ((1 << (8 * size - 2)) - 1), size))
}

/// The number of bytes of an integer.
#[inline]
pub fn size(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Encodes an integer of at most [`MAX`].
#[inline]
pub fn encode(value: u64, out: &mut impl Sink) {
    debug_assert!(value <= MAX, "larger than any integer");
    match size(value) {
        1 => out.put(&[value as u8]),
        2 => out.put(&(value as u16 | 0x4000).to_be_bytes()),
        4 => out.put(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.put(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}
