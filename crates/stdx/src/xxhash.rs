//! xxHash of 32 and 64 bits and XXH3. Load balancing and cookies depend on the values.

use twox_hash::{XxHash3_64, XxHash32, XxHash64};

/// XXH32 of `bytes`.
pub fn xxh32(bytes: &[u8], seed: u32) -> u32 {
    XxHash32::oneshot(seed, bytes)
}

/// XXH64 of `bytes`.
pub fn xxh64(bytes: &[u8], seed: u64) -> u64 {
    XxHash64::oneshot(seed, bytes)
}

/// XXH3 of `bytes` with 64 bits.
pub fn xxh3(bytes: &[u8], seed: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors() {
        assert_eq!(xxh32(b"", 0), 0x02cc_5d05);
        assert_eq!(xxh32(b"abc", 0), 0x32d1_53ff);
        assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"abc", 0), 0x44bc_2cf5_ad77_0999);
        assert_eq!(xxh3(b"abc", 0), 0x78af_5f94_892f_3950);
    }
}
