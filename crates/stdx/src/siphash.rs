//! SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF"): a keyed hash, so that a
//! client that does not know the key cannot choose texts with equal values.

/// The key of a hash: 128 random bits.
pub type SipKey = [u64; 2];

/// SipHash-2-4 of `bytes`.
pub fn siphash(key: SipKey, bytes: &[u8]) -> u64 {
    let mut state = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        absorb(&mut state, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    absorb(&mut state, u64::from_le_bytes(last));
    state[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn absorb(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    round(state);
    state[0] ^= word;
}

#[inline(always)]
fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the paper's reference: key 00 01 .. 0f, input of n bytes 00 01 ...
    #[test]
    fn published_vectors() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let input: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(key, &input), 0xa129_ca61_49be_45e5, "appendix A of the paper");
        assert_eq!(siphash(key, b""), 0x726f_db47_dd0e_0e31);
        assert_eq!(siphash(key, &[0]), 0x74f8_39c5_93dc_67fd);
        assert_eq!(siphash(key, &input[..8]), 0x93f5_f579_9a93_2462);
    }
}
