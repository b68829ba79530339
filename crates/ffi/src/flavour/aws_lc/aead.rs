//! The ciphers of `aead`.

use crate::aead::{Aead, CipherHandle};

/// The cipher of an algorithm.
pub(crate) fn cipher(aead: Aead) -> Option<CipherHandle> {
    // SAFETY: the functions return constants.
    let cipher = unsafe {
        match aead {
            Aead::Aes128Gcm => openssl_sys::EVP_aes_128_gcm(),
            Aead::Aes256Gcm => openssl_sys::EVP_aes_256_gcm(),
            Aead::ChaCha20Poly1305 => openssl_sys::EVP_chacha20_poly1305(),
        }
    };
    (!cipher.is_null()).then_some(CipherHandle(cipher))
}
