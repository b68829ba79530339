//! The ciphers of `aead`, fetched from their provider once.

use crate::aead::{Aead, CipherHandle};
use std::ffi::CStr;
use std::ptr;
use std::sync::OnceLock;

/// The cipher of an algorithm; `None` if no provider has it.
pub(crate) fn cipher(aead: Aead) -> Option<CipherHandle> {
    static FETCHED: [OnceLock<Option<CipherHandle>>; 3] = [const { OnceLock::new() }; 3];
    let (place, name) = match aead {
        Aead::Aes128Gcm => (0, c"AES-128-GCM"),
        Aead::Aes256Gcm => (1, c"AES-256-GCM"),
        Aead::ChaCha20Poly1305 => (2, c"ChaCha20-Poly1305"),
    };
    *FETCHED[place].get_or_init(|| fetch(name))
}

fn fetch(name: &CStr) -> Option<CipherHandle> {
    // SAFETY: the name is terminated; null pointers stand for the default library context and
    // properties.
    let cipher =
        unsafe { openssl_sys::EVP_CIPHER_fetch(ptr::null_mut(), name.as_ptr(), ptr::null()) };
    (!cipher.is_null()).then_some(CipherHandle(cipher))
}
