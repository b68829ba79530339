//! Decryption with AES in Galois/Counter Mode (NIST SP 800-38D).

use openssl::symm::{Cipher, decrypt_aead};

/// Length of an AES key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeySize {
    /// 128 bits
    Aes128,
    /// 192 bits
    Aes192,
    /// 256 bits
    Aes256,
}

impl KeySize {
    /// The size with this number of bits.
    pub fn of_bits(bits: i64) -> Option<Self> {
        match bits {
            128 => Some(Self::Aes128),
            192 => Some(Self::Aes192),
            256 => Some(Self::Aes256),
            _ => None,
        }
    }

    fn cipher(self) -> Cipher {
        match self {
            Self::Aes128 => Cipher::aes_128_gcm(),
            Self::Aes192 => Cipher::aes_192_gcm(),
            Self::Aes256 => Cipher::aes_256_gcm(),
        }
    }
}

/// Decrypts `bytes`. `None` if the key has another length, or the authentication tag does not
/// match.
pub fn decrypt_gcm(
    size: KeySize,
    key: &[u8],
    nonce: &[u8],
    tag: &[u8],
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let cipher = size.cipher();
    // Short tags would be easy to forge, so only full ones are accepted.
    let fits = key.len() == cipher.key_len() && !nonce.is_empty() && tag.len() == 16;
    if !fits {
        return None;
    }
    decrypt_aead(cipher, key, Some(nonce), &[], bytes, tag).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::symm::encrypt_aead;

    #[test]
    fn only_authentic_ciphertexts_are_decrypted() {
        for (bits, length) in [(128, 16), (192, 24), (256, 32)] {
            let size = KeySize::of_bits(bits).unwrap();
            let (key, mut tag) = (vec![7; length], [0; 16]);
            let bytes =
                encrypt_aead(size.cipher(), &key, Some(b"twelve bytes"), &[], b"text", &mut tag);
            let bytes = bytes.unwrap();
            let open =
                |key: &[u8], nonce: &[u8], tag: &[u8]| decrypt_gcm(size, key, nonce, tag, &bytes);
            assert_eq!(open(&key, b"twelve bytes", &tag).as_deref(), Some(&b"text"[..]));
            assert_eq!(open(&key, b"twelve_bytes", &tag), None);
            assert_eq!(open(&key, b"twelve bytes", &tag[..12]), None);
            assert_eq!(open(&key, b"", &tag), None);
            assert_eq!(open(&key[1..], b"twelve bytes", &tag), None);
            tag[0] ^= 1;
            assert_eq!(open(&key, b"twelve bytes", &tag), None);
        }
        assert_eq!(KeySize::of_bits(100), None);
    }
}
