//! Hash functions of `hash-type`, whose values are part of the contract. Never a defence against floods.

use std::net::IpAddr;

/// `hash-type <method> <function>`: the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Function {
    /// The hash of the public-domain sdbm library.
    #[default]
    Sdbm,
    /// Bernstein's times-33 hash.
    Djb2,
    /// The CRC-32 of Ethernet, gzip and PNG.
    Crc32,
}

impl Function {
    /// The hash of `bytes`, without avalanche.
    pub fn hash(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Sdbm => {
                bytes.iter().fold(0, |h: u32, b| h.wrapping_mul(65599).wrapping_add((*b).into()))
            }
            Self::Djb2 => {
                bytes.iter().fold(5381, |h: u32, b| h.wrapping_mul(33).wrapping_add((*b).into()))
            }
            Self::Crc32 => !bytes.iter().fold(!0, |h, b| (h >> 8) ^ CRC[usize::from(h as u8 ^ b)]),
        }
    }
}

/// What `balance source` hashes: IPv4 addresses as they are, IPv6 folded to 32 bits by exclusive
/// or.
pub fn source(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(v4) => v4.to_bits(),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            (bits >> 96) as u32 ^ (bits >> 64) as u32 ^ (bits >> 32) as u32 ^ bits as u32
        }
    }
}

/// The 4-byte full avalanche of `hash-type ... avalanche`: Bob Jenkins' six-shift integer hash
/// (burtleburtle.net/bob/hash/integer.html), multiplied by 2^31 + 2^30 + 1.
pub fn avalanche(mut a: u32) -> u32 {
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09) ^ (a >> 16);
    a.wrapping_mul(0xc000_0001)
}

static CRC: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_measured() {
        let plain = [
            ("a", [97, 177670, 3904355907]),
            ("abc", [807794786, 193485963, 891568578]),
            ("hello world", [430867652, 894552257, 222957957]),
        ];
        let mixed = [
            [1830748055, 3548763807, 1288200982],
            [659243622, 2235766107, 930845320],
            [261123301, 2328455893, 2832483188],
        ];
        for ((text, plain), mixed) in plain.into_iter().zip(mixed) {
            let functions = [Function::Sdbm, Function::Djb2, Function::Crc32];
            let hashes = functions.map(|f| f.hash(text.as_bytes()));
            assert_eq!((hashes, hashes.map(avalanche)), (plain, mixed), "{text}");
        }
    }

    #[test]
    fn sources_are_numbers() {
        assert_eq!(source("10.0.0.1".parse().unwrap()), 0x0a00_0001);
        assert_eq!(source("2001:db8::1".parse().unwrap()), 0x2001_0db9);
    }
}
