//! Comparisons of sixteen bytes at once (SIMD); bit n of the result belongs to byte n.

/// Bytes compared at once.
pub const LANES: usize = 16;

/// Bits of the bytes that are at most `limit`.
#[inline(always)]
pub fn at_most(bytes: &[u8; LANES], limit: u8) -> u16 {
    native::at_most(bytes, limit)
}

/// Bits of the bytes that equal `byte`.
#[inline(always)]
pub fn equal_to(bytes: &[u8; LANES], byte: u8) -> u16 {
    native::equal_to(bytes, byte)
}

#[cfg(target_arch = "x86_64")]
mod native {
    use super::LANES;
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_set1_epi8,
    };

    #[inline(always)]
    pub(super) fn at_most(bytes: &[u8; LANES], limit: u8) -> u16 {
        // SAFETY: SSE2 is part of x86_64; the load reads the sixteen bytes of the reference and
        // needs no alignment.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>());
            let lower = _mm_min_epu8(bytes, _mm_set1_epi8(limit.cast_signed()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(lower, bytes)) as u16
        }
    }

    #[inline(always)]
    pub(super) fn equal_to(bytes: &[u8; LANES], byte: u8) -> u16 {
        // SAFETY: as above.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>());
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed()))) as u16
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod native {
    use super::{LANES, plain};

    pub(super) fn at_most(bytes: &[u8; LANES], limit: u8) -> u16 {
        plain(bytes, |byte| byte <= limit)
    }

    pub(super) fn equal_to(bytes: &[u8; LANES], byte: u8) -> u16 {
        plain(bytes, |other| other == byte)
    }
}

/// The same one byte at a time, for other processors and as the reference in tests.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn plain(bytes: &[u8; LANES], matches: impl Fn(u8) -> bool) -> u16 {
    let bit = |(i, byte): (usize, &u8)| u16::from(matches(*byte)) << i;
    bytes.iter().enumerate().map(bit).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn vector_and_scalar_comparisons_agree(bytes: [u8; LANES], byte: u8) {
            prop_assert_eq!(at_most(&bytes, byte), plain(&bytes, |other| other <= byte));
            prop_assert_eq!(equal_to(&bytes, byte), plain(&bytes, |other| other == byte));
            prop_assert_eq!(equal_to(&bytes, bytes[3]) >> 3 & 1, 1);
        }
    }
}
