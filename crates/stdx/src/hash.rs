//! The 32-bit hash functions whose values configurations depend on. They are not cryptographic and
//! do not resist collision attacks.

/// The hash of the public-domain sdbm library, the default of `hash-type`.
pub fn sdbm(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0u32, |hash, byte| hash.wrapping_mul(65599).wrapping_add((*byte).into()))
}

/// Bernstein's times-33 hash.
pub fn djb2(bytes: &[u8]) -> u32 {
    bytes.iter().fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()))
}

/// The CRC-32 of Ethernet, gzip and PNG.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc(&CRC32, bytes)
}

/// The CRC-32C (Castagnoli) of RFC 4960 appendix B.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc(&CRC32C, bytes)
}

/// HAProxy's `wt6`, derived from its outputs because it is published nowhere (`docs/balancing.md`,
/// "How `wt6` was measured"): each byte is XORed into one word and added to the other, both are
/// complemented, rotated and swapped, and their bits give the next rotation counts.
pub fn wt6(bytes: &[u8]) -> u32 {
    let (mut mixed, mut summed) = (0xa53c_965a_u32, 0x5ca6_953a_u32);
    let (mut mixed_by, mut summed_by) = (18, 6);
    for byte in bytes {
        let turned = (!(mixed ^ u32::from(*byte))).rotate_left(mixed_by);
        mixed = (!summed.wrapping_add((*byte).into())).rotate_left(summed_by);
        summed = turned;
        let steps = mixed >> 16 ^ summed;
        (mixed_by, summed_by) = (steps >> 11 & 31, steps & 31);
    }
    mixed ^ summed
}

/// The 4-byte full avalanche of `hash-type ... avalanche` and of converters such as `sdbm(1)`: Bob
/// Jenkins' six-shift integer hash (burtleburtle.net/bob/hash/integer.html), multiplied by
/// 2^31 + 2^30 + 1.
pub fn avalanche(mut a: u32) -> u32 {
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09) ^ (a >> 16);
    a.wrapping_mul(0xc000_0001)
}

static CRC32: [u32; 256] = crc_table(0xedb8_8320);
static CRC32C: [u32; 256] = crc_table(0x82f6_3b78);

/// The table of a reflected CRC with the given polynomial.
const fn crc_table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ polynomial } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

fn crc(table: &[u32; 256], bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| crc >> 8 ^ table[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTIONS: [fn(&[u8]) -> u32; 4] = [sdbm, djb2, crc32, wt6];

    #[test]
    fn published_vectors() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(djb2(b""), 5381);
        assert_eq!(sdbm(b""), 0);
    }

    /// Each row: the bytes; `sdbm`, `djb2`, `crc32` and `wt6`; the same with avalanche.
    #[test]
    fn hashes_match_measured_values() {
        for (bytes, plain, mixed) in [
            (
                &b"\0"[..],
                [0, 177573, 3523407757, 1892670053],
                [2874071335, 876829347, 1927583040, 2004952122],
            ),
            (
                b"\xff",
                [255, 177828, 4278190080, 1932728997],
                [1649002269, 716132404, 1923158056, 2141853082],
            ),
            (
                b"\x01\0",
                [65599, 5859942, 1489118142, 314074605],
                [3620973516, 358152671, 122251126, 2782014045],
            ),
            (
                b"a",
                [97, 177670, 3904355907, 1900802597],
                [1830748055, 3548763807, 1288200982, 1986649387],
            ),
            (
                b"abc",
                [807794786, 193485963, 891568578, 2483038440],
                [659243622, 2235766107, 930845320, 266135527],
            ),
            (
                b"hello world",
                [430867652, 894552257, 222957957, 1866899626],
                [261123301, 2328455893, 2832483188, 2174767729],
            ),
        ] {
            let hashes = FUNCTIONS.map(|function| function(bytes));
            assert_eq!((hashes, hashes.map(avalanche)), (plain, mixed), "{bytes:?}");
        }
    }
}
