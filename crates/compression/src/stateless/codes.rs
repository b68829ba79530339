//! The fixed Huffman codes of RFC 1951, section 3.2.6, in the bit order in which they are written.
//!
//! Codes are packed from their most significant bit on, all other fields from their least: the
//! codes here are reversed, so that a writer only shifts.

/// Bits to write, the first one lowest, and their number.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) bits: u32,
    pub(super) count: u32,
}

/// Shortest and longest match that a code has.
pub(super) const MIN_MATCH: usize = 3;
pub(super) const MAX_MATCH: usize = 258;

/// Longest distance of a match.
pub(super) const WINDOW: usize = 32_768;

/// End of block: seven zero bits.
pub(super) const END_OF_BLOCK: Code = Code { bits: 0, count: 7 };

/// The first literal whose code has nine bits instead of eight.
pub(super) const NINE_BITS_FROM: u8 = 144;

const LITERALS: [u16; 256] = literals();
const LENGTHS: [u32; MAX_MATCH - MIN_MATCH + 1] = lengths();
const REVERSED_FIVE: [u8; 32] = reversed_five();

/// The code of a literal byte.
#[inline]
pub(super) fn literal(byte: u8) -> Code {
    let count = if byte < NINE_BITS_FROM { 8 } else { 9 };
    Code { bits: u32::from(LITERALS[usize::from(byte)]), count }
}

/// The codes of eight literals below [`NINE_BITS_FROM`] at once: 64 bits, the first literal lowest.
#[inline]
pub(super) fn eight_literals(bytes: u64) -> u64 {
    // No byte carries into the next one: 0x8f + 0x30 = 0xbf.
    let codes = bytes.wrapping_add(0x3030_3030_3030_3030);
    codes.reverse_bits().swap_bytes()
}

/// Whether one of eight bytes is [`NINE_BITS_FROM`] or more.
#[inline]
pub(super) fn has_nine_bits(bytes: u64) -> bool {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const TOP: u64 = !LOW;
    // 0x90 is 144: the upper half begins there when its other bits are at least 0x10.
    ((bytes & LOW) + 0x7070_7070_7070_7070) & bytes & TOP != 0
}

/// The code of a match length from [`MIN_MATCH`] to [`MAX_MATCH`] with its extra bits.
#[inline]
pub(super) fn length(length: usize) -> Code {
    let packed = LENGTHS[(length - MIN_MATCH) & 0xff];
    Code { bits: packed & 0x00ff_ffff, count: packed >> 24 }
}

/// The code of a distance from 1 to [`WINDOW`] with its extra bits.
#[inline]
pub(super) fn distance(distance: usize) -> Code {
    let offset = (distance - 1) as u32;
    if offset < 4 {
        return Code { bits: u32::from(REVERSED_FIVE[offset as usize & 31]), count: 5 };
    }
    let top = 31 - offset.leading_zeros();
    let extra = top - 1;
    let symbol = 2 * top + ((offset >> extra) & 1);
    let below = offset & ((1 << extra) - 1);
    let bits = u32::from(REVERSED_FIVE[symbol as usize & 31]) | (below << 5);
    Code { bits, count: 5 + extra }
}

const fn reversed(code: u32, count: u32) -> u32 {
    code.reverse_bits() >> (32 - count)
}

const fn literals() -> [u16; 256] {
    let mut codes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        codes[byte] = if byte < NINE_BITS_FROM as usize {
            reversed(0x30 + byte as u32, 8) as u16
        } else {
            reversed(0x190 + (byte as u32 - NINE_BITS_FROM as u32), 9) as u16
        };
        byte += 1;
    }
    codes
}

const fn lengths() -> [u32; MAX_MATCH - MIN_MATCH + 1] {
    let mut codes = [0; MAX_MATCH - MIN_MATCH + 1];
    let mut index = 0;
    while index < codes.len() {
        codes[index] = length_code(index as u32);
        index += 1;
    }
    codes
}

/// The packed code of the length `offset + MIN_MATCH`.
const fn length_code(offset: u32) -> u32 {
    // The longest length has a symbol of its own.
    let (symbol, extra) = if offset == (MAX_MATCH - MIN_MATCH) as u32 {
        (285, 0)
    } else if offset < 8 {
        (257 + offset, 0)
    } else {
        let top = 31 - offset.leading_zeros();
        let extra = top - 2;
        (257 + 4 * extra + (offset >> extra), extra)
    };
    let below = offset & ((1 << extra) - 1);
    let (code, count) = if symbol < 280 {
        (reversed(symbol - 256, 7), 7)
    } else {
        (reversed(0xc0 + symbol - 280, 8), 8)
    };
    code | (below << count) | ((count + extra) << 24)
}

const fn reversed_five() -> [u8; 32] {
    let mut codes = [0; 32];
    let mut code = 0;
    while code < 32 {
        codes[code] = reversed(code as u32, 5) as u8;
        code += 1;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First length and number of extra bits of the symbols from 257 on, as RFC 1951 lists them.
    const LENGTH_SYMBOLS: [(usize, u32); 29] = [
        (3, 0),
        (4, 0),
        (5, 0),
        (6, 0),
        (7, 0),
        (8, 0),
        (9, 0),
        (10, 0),
        (11, 1),
        (13, 1),
        (15, 1),
        (17, 1),
        (19, 2),
        (23, 2),
        (27, 2),
        (31, 2),
        (35, 3),
        (43, 3),
        (51, 3),
        (59, 3),
        (67, 4),
        (83, 4),
        (99, 4),
        (115, 4),
        (131, 5),
        (163, 5),
        (195, 5),
        (227, 5),
        (258, 0),
    ];

    fn symbol_bits(symbol: u32) -> (u32, u32) {
        if symbol < 280 { (reversed(symbol - 256, 7), 7) } else { (reversed(symbol - 88, 8), 8) }
    }

    #[test]
    fn every_length_has_the_symbol_and_the_extra_bits_of_the_table() {
        for wanted in MIN_MATCH..=MAX_MATCH {
            let index = LENGTH_SYMBOLS.iter().rposition(|(first, _)| *first <= wanted).unwrap();
            let (first, extra) = LENGTH_SYMBOLS[index];
            let (bits, count) = symbol_bits(257 + index as u32);
            let code = length(wanted);
            assert_eq!(code.count, count + extra, "length {wanted}");
            assert_eq!(code.bits, bits | (((wanted - first) as u32) << count), "length {wanted}");
        }
    }

    #[test]
    fn every_distance_has_the_symbol_and_the_extra_bits_of_the_table() {
        let mut first = 1;
        for symbol in 0..30_u32 {
            let extra = if symbol < 4 { 0 } else { symbol / 2 - 1 };
            for wanted in first..first + (1 << extra) {
                let code = distance(wanted);
                assert_eq!(code.count, 5 + extra, "distance {wanted}");
                let below = ((wanted - first) as u32) << 5;
                assert_eq!(code.bits, reversed(symbol, 5) | below, "distance {wanted}");
            }
            first += 1 << extra;
        }
        assert_eq!(first, WINDOW + 1);
    }

    #[test]
    fn eight_literals_have_the_codes_of_single_ones() {
        for start in 0..137_u8 {
            let bytes: [u8; 8] = std::array::from_fn(|index| start + index as u8);
            let together = eight_literals(u64::from_le_bytes(bytes)).to_le_bytes();
            for (byte, code) in bytes.into_iter().zip(together) {
                assert_eq!(u32::from(code), literal(byte).bits);
                assert_eq!(literal(byte).count, 8);
            }
        }
    }

    #[test]
    fn a_byte_from_144_on_is_found_wherever_it_is() {
        for index in 0..8 {
            for byte in 0..=255_u8 {
                for fill in [0, 0x7f, 0x8f] {
                    let mut bytes = [fill; 8];
                    bytes[index] = byte;
                    assert_eq!(has_nine_bits(u64::from_le_bytes(bytes)), byte >= 144);
                }
            }
        }
    }
}
