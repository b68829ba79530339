//! The variable-length integer of the peers protocol and of SPOP (peers.txt, "Encoding"; SPOE.txt,
//! section 3.1).
//!
//! A value below 240 is one byte. A greater one has its low four bits in the first byte, whose high
//! bits are set, and seven bits in each byte that follows; each continuation takes off what the
//! marks of its bytes add.

/// The most bytes of an encoded value.
pub const MAX_LEN: usize = 10;

/// A value that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarintError {
    /// The bytes end inside of it.
    Truncated,
    /// The number does not end within [`MAX_LEN`] bytes, or does not fit in 64 bits.
    TooLong,
}

/// Bytes of an encoded value.
pub fn len(value: u64) -> usize {
    if value < 0xf0 {
        return 1;
    }
    let (mut rest, mut len) = ((value - 0xf0) >> 4, 2);
    while rest >= 0x80 {
        rest = (rest - 0x80) >> 7;
        len += 1;
    }
    len
}

/// Appends a value.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    if value < 0xf0 {
        out.push(value as u8);
        return;
    }
    out.push(value as u8 | 0xf0);
    value = (value - 0xf0) >> 4;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value = (value - 0x80) >> 7;
    }
    out.push(value as u8);
}

/// Takes a value off the front.
pub fn take(bytes: &mut &[u8]) -> Result<u64, VarintError> {
    let (first, mut rest) = bytes.split_first().ok_or(VarintError::Truncated)?;
    let mut value = u128::from(*first);
    let mut shift = 4;
    let mut more = *first >= 0xf0;
    while more {
        if shift > 60 {
            return Err(VarintError::TooLong);
        }
        let (byte, behind) = rest.split_first().ok_or(VarintError::Truncated)?;
        value += u128::from(*byte) << shift;
        shift += 7;
        more = *byte >= 0x80;
        rest = behind;
    }
    *bytes = rest;
    u64::try_from(value).map_err(|_| VarintError::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, value);
        out
    }

    #[test]
    fn lengths_are_those_of_the_specification() {
        let bounds = [(0, 1), (239, 1), (240, 2), (2287, 2), (2288, 3), (264_431, 3)];
        let larger = [(264_432, 4), (33_818_863, 4), (33_818_864, 5), (4_328_786_159, 5)];
        for (value, len) in bounds.into_iter().chain(larger) {
            assert_eq!(encoded(value).len(), len, "{value}");
        }
        assert_eq!(encoded(0x1234), [0xf4, 0x94, 0x01], "the example of peers.txt");
        assert_eq!(encoded(u64::MAX).len(), MAX_LEN);
    }

    #[test]
    fn values_without_end_or_beyond_64_bits_are_refused() {
        assert_eq!(take(&mut &[0xff; 12][..]), Err(VarintError::TooLong));
        assert_eq!(take(&mut &[0xff; 10][..]), Err(VarintError::TooLong));
        assert_eq!(take(&mut &[0xff; 9][..]), Err(VarintError::Truncated));
        assert_eq!(take(&mut &[][..]), Err(VarintError::Truncated));
        let mut beyond = encoded(u64::MAX);
        beyond[9] += 1;
        assert_eq!(take(&mut &beyond[..]), Err(VarintError::TooLong));
    }

    proptest! {
        #[test]
        fn values_come_back(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let mut bytes = encoded(value);
            prop_assert_eq!(len(value), bytes.len());
            bytes.push(7);
            let mut rest = &bytes[..];
            prop_assert_eq!(take(&mut rest), Ok(value));
            prop_assert_eq!(rest, [7]);
        }
    }
}
