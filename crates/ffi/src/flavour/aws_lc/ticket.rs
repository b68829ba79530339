//! Tickets of AWS-LC, which authenticates by HMAC alone.

use crate::ticket::{Tickets, answer};
use openssl::ssl::SslContextBuilder;
use std::ffi::c_int;

/// Seals tickets of the context's sessions with keys of `T`; the context is the one that sessions
/// begin with.
pub fn seal_tickets<T: Tickets>(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and exclusively borrowed; the function lives forever.
    unsafe {
        openssl_sys::SSL_CTX_set_tlsext_ticket_key_cb(context.as_ptr(), Some(called::<T>));
    }
}

unsafe extern "C" fn called<T: Tickets>(
    ssl: *mut openssl_sys::SSL,
    name: *mut u8,
    iv: *mut u8,
    cipher: *mut openssl_sys::EVP_CIPHER_CTX,
    mac: *mut openssl_sys::HMAC_CTX,
    seals: c_int,
) -> c_int {
    // SAFETY: the library lends all of this for the length of the call, and copies what it needs of
    // the key.
    unsafe {
        answer::<T>(ssl, (name, iv), cipher, seals != 0, |key| {
            openssl_sys::HMAC_Init_ex(
                mac,
                key.mac.as_ptr().cast(),
                key.mac.len(),
                openssl_sys::EVP_sha256(),
                std::ptr::null_mut(),
            ) == 1
        })
    }
}
